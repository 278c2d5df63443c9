//! Thinking, sources, and what runs at the provider.

use ai_provider::{Source, StreamPart, ToolOutput, UnifiedFinish};
use serde_json::{Value, json};

use crate::support::{
    block, called, calls, delta, end, finish, input, pieces, reasoning, start, stop, streamed, text,
    text_block,
};

fn value(metadata: &Option<Box<ai_provider::ProviderMetadata>>, name: &str) -> Value {
    let metadata = metadata.as_ref().unwrap();
    let origin = metadata.origin.as_ref().unwrap();
    assert_eq!((origin.target.model.as_str(), origin.account.is_some()), (crate::support::MODEL, true));
    metadata.get("anthropic").unwrap().get(name).cloned().unwrap_or_default()
}

/// [AN-18]
#[tokio::test]
async fn signatures_and_hidden_thinking_come_with_who_made_them() {
    let body = [
        start(),
        block(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
        delta(0, r#"{"type":"thinking_delta","thinking":"t"}"#),
        delta(0, r#"{"type":"thinking_delta","thinking":""}"#),
        delta(0, r#"{"type":"signature_delta","signature":"SIG"}"#),
        stop(0),
        block(1, r#"{"type":"redacted_thinking","data":"R=="}"#),
        stop(1),
        text_block(2, "hi"),
        end("end_turn"),
    ];
    let parts = streamed(body.concat()).await;
    assert_eq!(reasoning(&parts), "t");
    let mut signatures = 0;
    let mut hidden = 0;
    for part in &parts {
        match part {
            StreamPart::ReasoningDelta { id, delta, metadata: metadata @ Some(_) } => {
                assert_eq!((id.as_str(), delta.as_str()), ("0", ""));
                assert_eq!(value(metadata, "signature"), "SIG");
                signatures += 1;
            }
            StreamPart::ReasoningStart { id, metadata: metadata @ Some(_) } => {
                assert_eq!((id.as_str(), value(metadata, "redactedData")), ("1", json!("R==")));
                hidden += 1;
            }
            _ => {}
        }
    }
    assert_eq!((signatures, hidden), (1, 1));
    // A server without signatures sends an empty one, which is none.
    let unsigned = body.concat().replace("SIG", "");
    let parts = streamed(unsigned).await;
    assert!(!parts.iter().any(|part| matches!(part, StreamPart::ReasoningDelta { metadata: Some(_), .. })));
}

/// [AN-19]
#[tokio::test]
async fn citations_become_sources() {
    let cite =
        |citation: Value| delta(0, &json!({"type": "citations_delta", "citation": citation}).to_string());
    let web = json!({"type": "web_search_result_location", "url": "https://a/b", "title": "A", "cited_text": "c", "encrypted_index": "E"});
    let body = [
        start(),
        block(0, r#"{"type":"text","text":"","citations":[]}"#),
        delta(0, r#"{"type":"text_delta","text":"x"}"#),
        cite(web.clone()),
        cite(web.clone()),
        cite(
            json!({"type": "page_location", "document_index": 0, "document_title": "Report", "start_page_number": 2}),
        ),
        cite(json!({"type": "char_location", "document_index": 1, "document_title": null})),
        cite(json!({"type": "search_result_location", "source": "https://s", "title": "S"})),
        cite(json!({"type": "search_result_location", "source": "doc-7", "title": null})),
        cite(json!({"type": "other"})),
        stop(0),
        end("end_turn"),
    ];
    let parts = streamed(body.concat()).await;
    let sources: Vec<_> = parts
        .iter()
        .filter_map(|part| match part {
            StreamPart::Source(source) => Some((**source).clone()),
            _ => None,
        })
        .collect();
    let shown: Vec<_> = sources
        .iter()
        .map(|source| match source {
            Source::Url { url, title, .. } => (url.clone(), title.clone().unwrap_or_default()),
            Source::Document { media_type, title, .. } => (media_type.clone(), title.clone()),
            other => panic!("{other:?}"),
        })
        .collect();
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(
        shown,
        [
            pair("https://a/b", "A"),
            pair("https://a/b", "A"),
            pair("application/pdf", "Report"),
            pair("text/plain", "document"),
            pair("https://s", "S"),
            pair("text/plain", "doc-7"),
        ]
    );
    let Source::Url { id, metadata, .. } = &sources[0] else { panic!() };
    let Source::Url { id: second, .. } = &sources[1] else { panic!() };
    assert_ne!(id, second);
    assert_eq!(metadata.as_ref().unwrap().get("anthropic").unwrap()["citation"], web);
}

/// [AN-20]
#[tokio::test]
async fn calls_that_run_at_the_provider_come_with_their_results() {
    let found =
        json!([{"type": "web_search_result", "url": "https://a", "title": "A", "encrypted_content": "E"}]);
    let failed = json!({"type": "web_fetch_tool_result_error", "error_code": "url_not_accessible"});
    let body = [
        start(),
        block(0, r#"{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}"#),
        input(0, r#"{"query":"#),
        input(0, r#""rust"}"#),
        stop(0),
        block(
            1,
            &json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": found})
                .to_string(),
        ),
        stop(1),
        block(
            2,
            r#"{"type":"server_tool_use","id":"srvtoolu_2","name":"web_fetch","input":{"url":"https://a"}}"#,
        ),
        stop(2),
        block(
            3,
            &json!({"type": "web_fetch_tool_result", "tool_use_id": "srvtoolu_2", "content": failed})
                .to_string(),
        ),
        stop(3),
        // Of a call in an earlier answer.
        block(
            4,
            r#"{"type":"advisor_tool_result","tool_use_id":"srvtoolu_0","content":{"type":"advisor_result","text":"t"}}"#,
        ),
        stop(4),
        end("pause_turn"),
    ];
    let parts = streamed(body.concat()).await;
    assert_eq!(
        calls(&parts),
        [
            called("srvtoolu_1", "web_search", r#"{"query":"rust"}"#),
            called("srvtoolu_2", "web_fetch", r#"{"url":"https://a"}"#),
        ]
    );
    assert_eq!(pieces(&parts, "srvtoolu_1"), r#"{"query":"rust"}"#);
    assert_eq!(pieces(&parts, "srvtoolu_2"), r#"{"url":"https://a"}"#);
    let mut results = Vec::new();
    for part in &parts {
        match part {
            StreamPart::ToolCall(call) => {
                assert!(call.provider_executed && !call.dynamic);
                assert_eq!(value(&call.metadata, "type"), "server_tool_use");
            }
            StreamPart::ToolInputStart { provider_executed, .. } => assert!(provider_executed),
            StreamPart::ToolResult(result) => {
                assert!(result.provider_executed && !result.preliminary);
                results.push((&*result.tool_call_id, &*result.tool_name, &result.output));
            }
            _ => {}
        }
    }
    let advice = json!({"type": "advisor_result", "text": "t"});
    assert_eq!(
        results,
        [
            ("srvtoolu_1", "web_search", &ToolOutput::Json(found)),
            ("srvtoolu_2", "web_fetch", &ToolOutput::ErrorJson(failed)),
            ("srvtoolu_0", "advisor", &ToolOutput::Json(advice)),
        ]
    );
    assert_eq!(finish(&parts).reason.unified, UnifiedFinish::Stop);
}

/// [AN-21]
#[tokio::test]
async fn the_tools_of_code_execution_are_one_with_the_inner_name_first() {
    let shell = |given: &str, pieces: &[&str]| {
        let begin =
            format!(r#"{{"type":"server_tool_use","id":"s","name":"bash_code_execution","input":{given}}}"#);
        let pieces: String = pieces.iter().map(|piece| input(0, piece)).collect();
        let result = block(
            1,
            r#"{"type":"bash_code_execution_tool_result","tool_use_id":"s","content":{"stdout":"1"}}"#,
        );
        [start(), block(0, &begin), pieces, stop(0), result, stop(1), end("end_turn")].concat()
    };
    let named = r#"{"type":"bash_code_execution","command":"ls"}"#;
    for (given, cut, whole) in [
        ("{}", vec![r#"{"command":"ls"}"#], named),
        ("{}", vec!["", "{", r#""command":"ls""#, "}"], named),
        ("{}", vec!["{\"", "command\":\"ls\"}"], named),
        ("{}", vec![" { ", " ", r#""command":"ls"}"#], r#" {"type":"bash_code_execution"  ,"command":"ls"}"#),
        (r#"{"command":"ls"}"#, vec![], named),
        ("{}", vec!["{}"], r#"{"type":"bash_code_execution"}"#),
        ("{}", vec![], r#"{"type":"bash_code_execution"}"#),
        ("{}", vec!["nonsense"], "nonsense"),
    ] {
        let parts = streamed(shell(given, &cut)).await;
        let [(_, name, input)] = calls(&parts).try_into().unwrap();
        assert_eq!(name, "code_execution");
        let squeezed = |text: &str| text.replace(' ', "");
        assert_eq!(squeezed(&input), squeezed(whole), "{cut:?}");
        assert!(pieces(&parts, "s") == input || cut.is_empty(), "{cut:?}");
        let result = parts.iter().find_map(|part| match part {
            StreamPart::ToolResult(result) => Some(result),
            _ => None,
        });
        assert_eq!(result.unwrap().tool_name, "code_execution");
    }
}

/// [AN-22]
#[tokio::test]
async fn tools_of_mcp_servers_are_dynamic() {
    let body = [
        start(),
        block(0, r#"{"type":"mcp_tool_use","id":"mcptoolu_1","name":"echo","server_name":"srv","input":{}}"#),
        input(0, r#"{"a":1}"#),
        stop(0),
        block(
            1,
            r#"{"type":"mcp_tool_result","tool_use_id":"mcptoolu_1","is_error":true,"content":[{"type":"text","text":"no"}]}"#,
        ),
        stop(1),
        end("end_turn"),
    ];
    let parts = streamed(body.concat()).await;
    let call = parts.iter().find_map(|part| match part {
        StreamPart::ToolCall(call) => Some(call),
        _ => None,
    });
    let call = call.unwrap();
    assert!(call.provider_executed && call.dynamic);
    assert_eq!(value(&call.metadata, "serverName"), "srv");
    let result = parts.iter().find_map(|part| match part {
        StreamPart::ToolResult(result) => Some(result),
        _ => None,
    });
    let result = result.unwrap();
    assert!(result.provider_executed && result.dynamic);
    assert_eq!((result.tool_name.as_str(), result.output.is_error()), ("echo", true));
}

/// [AN-23]
#[tokio::test]
async fn a_compaction_is_text_that_says_so() {
    let body = [
        start(),
        block(0, r#"{"type":"compaction","content":null}"#),
        delta(0, r#"{"type":"compaction_delta","content":"So far: ","encrypted_content":"old"}"#),
        delta(0, r#"{"type":"compaction_delta","content":"much.","encrypted_content":"new"}"#),
        stop(0),
        text_block(1, "On."),
        end("end_turn"),
    ];
    let parts = streamed(body.concat()).await;
    assert_eq!(text(&parts), "So far: much.On.");
    let Some(StreamPart::TextStart { metadata, .. }) =
        parts.iter().find(|part| matches!(part, StreamPart::TextStart { .. }))
    else {
        panic!("{parts:?}")
    };
    assert_eq!(value(metadata, "type"), "compaction");
    let Some(StreamPart::TextEnd { metadata, .. }) =
        parts.iter().find(|part| matches!(part, StreamPart::TextEnd { .. }))
    else {
        panic!("{parts:?}")
    };
    assert_eq!(value(metadata, "encryptedContent"), "new");
}

/// [AN-24]
#[tokio::test]
async fn a_model_that_takes_over_is_named_and_voids_the_call_before_it() {
    let models = |parts: &[StreamPart]| -> Vec<String> {
        let models = parts.iter().filter_map(|part| match part {
            StreamPart::ResponseMetadata(response) => response.model.clone(),
            _ => None,
        });
        models.collect()
    };
    let seam = r#"{"type":"fallback","from":{"model":"claude-fable-5"},"to":{"model":"claude-opus-4-8"},"trigger":{"type":"refusal"}}"#;
    let body = [
        start().replace(r#""model":"m""#, r#""model":"claude-fable-5""#),
        text_block(0, "I "),
        crate::support::tool_block(1, "toolu_1", "f", &["{}"]),
        block(2, seam),
        stop(2),
        text_block(3, "can."),
        end("end_turn"),
    ];
    let parts = streamed(body.concat()).await;
    assert_eq!(models(&parts), ["claude-fable-5", "claude-opus-4-8"]);
    assert_eq!((text(&parts).as_str(), calls(&parts).len()), ("I can.", 0));
    let custom = parts.iter().find_map(|part| match part {
        StreamPart::Custom(part) => Some(part),
        _ => None,
    });
    let custom = custom.unwrap();
    assert_eq!(custom.kind, "anthropic.fallback");
    assert_eq!(value(&custom.metadata, "block"), serde_json::from_str::<Value>(seam).unwrap());

    // A later turn goes to it at once, and only the usage says so.
    let turns = r#""iterations":[{"type":"message","model":"a","input_tokens":9,"output_tokens":0},{"type":"fallback_message","model":"claude-opus-4-8","input_tokens":4,"output_tokens":15}]"#;
    let body = [
        start(),
        text_block(0, "x"),
        end("end_turn").replace(r#""output_tokens":15"#, &format!(r#""output_tokens":15,{turns}"#)),
    ];
    let parts = streamed(body.concat()).await;
    assert_eq!(models(&parts), ["m", "claude-opus-4-8"]);
    assert_eq!(finish(&parts).usage.input.total, Some(25));
}

/// [AN-25]
#[tokio::test]
async fn a_block_nobody_knows_is_kept_as_it_came_unless_it_changed() {
    let body = |more: &str| {
        [
            start(),
            block(0, r#"{"type":"hologram","data":"D"}"#),
            more.to_owned(),
            stop(0),
            text_block(1, "a"),
            end("end_turn"),
        ]
        .concat()
    };
    let kept = |parts: &[StreamPart]| -> Vec<String> {
        let custom = parts.iter().filter_map(|part| match part {
            StreamPart::Custom(part) => {
                assert_eq!(value(&part.metadata, "block"), json!({"type": "hologram", "data": "D"}));
                Some(part.kind.clone())
            }
            _ => None,
        });
        custom.collect()
    };
    let parts = streamed(body("")).await;
    assert_eq!((kept(&parts), text(&parts).as_str()), (vec!["anthropic.hologram".to_owned()], "a"));
    let parts = streamed(body(&delta(0, r#"{"type":"hologram_delta","data":"E"}"#))).await;
    assert_eq!((kept(&parts).len(), text(&parts).as_str()), (0, "a"));
}
