//! Where fuzzing begins: our own samples of every API, and what reaches the errors they do not.

use std::fs;
use std::io;
use std::path::Path;

/// A name, and an input.
pub type Seed = (String, Vec<u8>);

/// The seeds of a target.
///
/// # Errors
/// If the samples cannot be read.
pub fn of(target: &str) -> io::Result<Vec<Seed>> {
    let mut seeds = match target {
        "framer" => samples(&["openai", "anthropic", "google"])?,
        "chat" => samples(&["openai"])?,
        "responses" => samples(&["openai/responses"])?,
        "messages" => samples(&["anthropic"])?,
        "gemini" => samples(&["google"])?,
        _ => Vec::new(),
    };
    let more: Vec<(&str, String)> = match target {
        "framer" => vec![
            ("bad-utf8", String::new()),
            ("comments", ": x\n".repeat(400)),
            ("long-line", format!("data: {}", "x".repeat(9_000))),
            ("bom", "\u{feff}data: a\r\rdata: b\n\r\nid: 7\nretry: 1\n\ndata".to_owned()),
        ],
        "assembler" => assembler(),
        "schema" => schemas(),
        api => errors(api).into_iter().chain(streams(api)).collect(),
    };
    seeds.extend(more.into_iter().map(|(name, text)| (name.to_owned(), text.into_bytes())));
    for (name, bytes) in &mut seeds {
        if name == "bad-utf8" {
            *bytes = b"data: \xff\xfe\n\n".to_vec();
        }
    }
    Ok(seeds)
}

/// The samples of these adapters' tests.
fn samples(adapters: &[&str]) -> io::Result<Vec<Seed>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut seeds = Vec::new();
    for adapter in adapters {
        let (package, folder) = adapter.split_once('/').unwrap_or((adapter, ""));
        let folder = root.join("crates/providers").join(package).join("tests/samples").join(folder);
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_file() {
                let name = format!("{package}-{}", path.file_name().unwrap_or_default().to_string_lossy());
                seeds.push((name, fs::read(path)?));
            }
        }
    }
    seeds.sort();
    Ok(seeds)
}

/// An error of every class that a status or a body can tell.
fn errors(api: &str) -> Vec<(&'static str, String)> {
    let body = |status: u16, kind: &str, message: &str| match api {
        "messages" => format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}}}}"#),
        "gemini" => format!(
            r#"{{"error":{{"code":{status},"message":"{message}","status":"{}"}}}}"#,
            kind.to_uppercase()
        ),
        _ => format!(r#"{{"error":{{"message":"{message}","type":"{kind}","code":"{kind}"}}}}"#),
    };
    let stale = match api {
        "messages" => "Invalid `signature` in `thinking` block",
        "gemini" => "Function call is missing a thought_signature in functionCall parts",
        _ => "Encrypted content could not be decrypted",
    };
    let refused = match api {
        "messages" => "Output blocked by content filtering policy",
        _ => "the content policy forbids this",
    };
    let (stale_kind, refused_kind) = match api {
        "messages" => ("invalid_request_error", "invalid_request_error"),
        "gemini" => ("invalid_argument", "invalid_argument"),
        _ => ("invalid_encrypted_content", "content_policy_violation"),
    };
    [
        ("auth", 401, "authentication_error", "bad key"),
        ("not-found", 404, "not_found_error", "no such model"),
        ("invalid", 400, "invalid_argument", "bad schema"),
        ("too-long", 413, "request_too_large", "too long"),
        ("rate-limit", 429, "rate_limit_error", "slow down"),
        ("quota", 402, "insufficient_quota", "your credit balance is too low"),
        ("timeout", 408, "timeout_error", "took too long"),
        ("server", 500, "api_error", "internal error"),
        ("overloaded", 503, "overloaded_error", "overloaded"),
        ("stale", 400, stale_kind, stale),
        ("refused", 400, refused_kind, refused),
        ("gateway", 502, "", ""),
    ]
    .map(|(name, status, kind, message)| match kind {
        "" => (name, format!("HTTP {status}\n<html><h1>Bad Gateway</h1></html>")),
        kind => (name, format!("HTTP {status}\n{}", body(status, kind, message))),
    })
    .into()
}

/// Streams that end otherwise than samples do.
fn streams(api: &str) -> Vec<(&'static str, String)> {
    let begin = match api {
        "chat" => "data: {\"choices\":[{\"delta\":{\"content\":\"par\"}}]}\n\n",
        "responses" => "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\n",
        "messages" => {
            concat!(
                "event: message_start\n",
                r#"data: {"type":"message_start","message":{"id":"m","role":"assistant","content":[],"model":"m","usage":{"input_tokens":1}}}"#,
                "\n\nevent: content_block_start\n",
                r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"par"}}"#,
                "\n\n",
            )
        }
        _ => "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"par\"}]}}]}\n\n",
    };
    let reasonless = match api {
        "chat" => "data: [DONE]\n\n",
        "messages" => {
            "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
        }
        _ => "",
    };
    vec![
        ("garbage", format!("{begin}data: {{\"x\": tru\n\n")),
        ("incomplete", begin.to_owned()),
        ("no-reason", format!("{begin}{reasonless}")),
        ("comments", format!("{begin}{}", ": x\n".repeat(400))),
        ("page", "<!doctype html><html></html>".to_owned()),
        (
            "quota-in-stream",
            format!(
                "{begin}event: error\ndata: {{\"type\":\"error\",\"error\":{{\"type\":\"insufficient_quota\",\"code\":\"insufficient_quota\",\"message\":\"used up\"}}}}\n\n"
            ),
        ),
    ]
}

fn assembler() -> Vec<(&'static str, String)> {
    // What a part is, and of which block, as the bytes the target reads.
    let part = |kind: u8, block: u8, text: &str| format!("{}{}{text}\0", char::from(kind), char::from(block));
    let answer = [
        part(0, 0, ""),
        part(13, 0, ""),
        part(4, 0, ""),
        part(5, 0, "Hm."),
        part(6, 0, ""),
        part(1, 1, ""),
        part(2, 1, "Grüße"),
        part(3, 1, ""),
        part(7, 2, "weather"),
        part(8, 2, "{}"),
        part(9, 2, ""),
        part(10, 2, "{}"),
        part(11, 0, "x.y"),
        part(12, 0, "raw"),
        part(14, 0, ""),
    ];
    vec![
        ("answer", answer.concat()),
        ("cut", answer[..7].concat()),
        ("behind-the-finish", answer.concat() + &part(2, 1, "x")),
        ("never-started", part(2, 0, "x")),
        ("twice", part(1, 0, "") + &part(1, 0, "")),
        ("long", part(1, 0, "") + &part(2, 0, &"x".repeat(600))),
        ("many", part(11, 0, "x").repeat(20)),
    ]
}

fn schemas() -> Vec<(&'static str, String)> {
    [
        ("object", r##"{"type":"object","properties":{"a":{"type":["string","null"],"format":"date-time"},"b":{"enum":[1,"x",null]}},"required":["a"]}"##),
        ("refs", r##"{"$ref":"#/$defs/a","$defs":{"a":{"type":"object","properties":{"b":{"$ref":"#/$defs/b"}}},"b":{"const":"x","minLength":1}}}"##),
        ("recursive", r##"{"type":"object","properties":{"next":{"anyOf":[{"$ref":"#"},{"type":"null"}]}}}"##),
        ("loop", r##"{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}"##),
        ("nowhere", r##"{"type":"object","properties":{"a":{"$ref":"#/nowhere"},"b":{"$ref":"https://x.example/s"}}}"##),
        ("union", r##"{"type":"object","properties":{"u":{"oneOf":[{"type":"string"},{"type":"object","properties":{"k":{"const":"v"}},"required":["k"]}]},"all":{"allOf":[{"type":"object","properties":{"x":{"type":"integer"}}},{"required":["x"]}]}}}"##),
        ("map", r##"{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"number"}},"t":{"type":"array","prefixItems":[{"type":"string"},true],"items":false}}}"##),
        ("no-schema", "7"),
    ]
    .map(|(name, text)| (name, text.to_owned()))
    .into()
}
