//! The program on recorded traffic of real providers: what a user of `chat ask --json` sees is what the recording
//! holds, field by field.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

use std::path::Path;
use std::process::{Command, Stdio};

use ai_provider::{ErrorRecord, ToolCall};
use ai_testkit::recordings::{self, Expected, Outcome, RecordedDelivery};
use ai_testkit::{Cut, WireReply, WireServer};
use http::StatusCode;
use serde_json::Value;

/// What the model says after the recorded answer, where that one calls a tool.
const LAST: &str = concat!(
    r#"data: {"id":"z","choices":[{"index":0,"delta":{"content":"Done."},"finish_reason":"stop"}]}"#,
    "\n\ndata: [DONE]\n\n"
);

fn ask(server: &WireServer, dialect: &str) -> (Vec<Value>, String, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_chat"))
        .args([
            "ask",
            "--json",
            "--model",
            "recorded:model",
            "--api-key-env",
            "RECORDED_KEY",
            "--dialect",
            dialect,
        ])
        .args(["--base-url", &format!("{}/v1", server.url()), "What does the recording say?"])
        .env_clear()
        .env("RECORDED_KEY", "sk-CANARY")
        .env("HOME", env!("CARGO_TARGET_TMPDIR"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!shown.contains("CANARY") && !said.contains("CANARY"), "the key is shown");
    (shown.lines().map(|line| serde_json::from_str(line).expect(line)).collect(), said, output.status.code())
}

/// What the chunks of the first step tell.
fn outcome(chunks: &[Value]) -> Outcome {
    let mut outcome = Outcome::default();
    for chunk in chunks {
        let text = |key: &str| chunk[key].as_str().unwrap_or_default();
        match text("type") {
            "text-start" => outcome.text_blocks += 1,
            "text-delta" => outcome.text.push_str(text("delta")),
            "reasoning-start" => outcome.reasoning_blocks += 1,
            "reasoning-delta" => outcome.reasoning.push_str(text("delta")),
            "tool-input-available" => {
                let mut call =
                    ToolCall::new(text("toolCallId"), text("toolName"), chunk["input"].to_string());
                call.provider_executed = chunk["providerExecuted"] == true;
                outcome.calls.push(call);
            }
            "tool-output-available" if chunk["providerExecuted"] == true => outcome.results += 1,
            "source-url" | "source-document" => outcome.sources += 1,
            "message-metadata" => {
                let metadata = &chunk["messageMetadata"];
                outcome.finish = serde_json::from_value(metadata["finishReason"].clone()).unwrap();
                outcome.usage = serde_json::from_value(metadata["usage"].clone()).unwrap();
                break;
            }
            "data-error" => {
                outcome.error = Some(serde_json::from_value::<ErrorRecord>(chunk["data"].clone()).unwrap());
            }
            _ => {}
        }
    }
    outcome
}

fn replay(row: &Expected, folder: &Path, cut: Cut) {
    let body = row.body(folder).unwrap();
    let status = StatusCode::from_u16(row.status).unwrap();
    let recorded = match row.delivery {
        RecordedDelivery::Stream => WireReply::sse(body),
        _ => WireReply::json(status, body),
    };
    let server = WireServer::start([recorded.cut(cut.clone()), WireReply::sse(LAST)]).unwrap();
    let (chunks, said, code) = ask(&server, &row.dialect);
    let outcome = outcome(&chunks);
    let wrong = recordings::compare(row, &outcome);
    assert!(wrong.is_empty(), "{} cut {cut:?}: {wrong:#?}\n{said}", row.file);

    let failed = outcome.error.is_some() || outcome.finish.is_none();
    // A cut answer is shown and said to be cut; it is no success for a script.
    let cut_off = outcome.finish.as_ref().is_some_and(|finish| finish.unified.as_str() == "length");
    assert_eq!(code, Some(i32::from(failed || cut_off)), "{} cut {cut:?}: {said}", row.file);
    let last = chunks.last().unwrap();
    assert_eq!(last["type"], if failed { "error" } else { "finish" }, "{}: {last}", row.file);
    assert_eq!(server.requests().len(), if outcome.calls.is_empty() { 1 } else { 2 }, "{}", row.file);
}

/// [CH-56]
#[test]
fn the_program_shows_what_was_recorded_however_the_bytes_come() {
    let Some(folder) = recordings::require() else { return };
    let mut replayed = 0;
    for row in recordings::expected(&folder).unwrap() {
        if row.api != "openai-chat" || row.delivery == RecordedDelivery::Whole {
            continue;
        }
        replay(&row, &folder, Cut::Whole);
        replay(&row, &folder, Cut::Random(replayed));
        replayed += 1;
    }
    assert!(replayed >= 15, "only {replayed} recordings of this API");
}
