//! What an answer holds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod support;

use ai_provider::{ErrorClass, Source, StreamPart, UnifiedFinish};
use serde_json::json;
use support::{DONE, calls, ch, data, fin, finish, reasoning, stream, tc, text, whole};

/// [OA-18]
#[tokio::test]
async fn a_change_of_kind_ends_the_block() {
    let body = [
        ch(r#"{"reasoning_content":"r1","content":""}"#),
        ch(r#"{"reasoning_content":"r2","content":"t1"}"#),
        ch(r#"{"content":"t2","reasoning_content":null}"#),
        ch(r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}"#),
        ch(r#"{"content":"t3"}"#),
        fin(r#""tool_calls""#),
        DONE.into(),
    ];
    let (parts, _) = stream("openai", body.concat()).await;
    let shape: Vec<String> = parts
        .iter()
        .filter_map(|part| {
            Some(match part {
                StreamPart::TextStart { id, .. } => format!("text {id} ("),
                StreamPart::ReasoningStart { id, .. } => format!("reasoning {id} ("),
                StreamPart::TextDelta { delta, .. } | StreamPart::ReasoningDelta { delta, .. } => {
                    delta.clone()
                }
                StreamPart::TextEnd { .. } | StreamPart::ReasoningEnd { .. } => ")".into(),
                StreamPart::ToolInputStart { id, .. } => format!("call {id} ("),
                StreamPart::ToolInputEnd { .. } => ")".into(),
                _ => return None,
            })
        })
        .collect();
    assert_eq!(shape.join(" "), "reasoning 0 ( r1 r2 ) text 1 ( t1 t2 ) call a ( text 2 ( t3 ) )");
}

/// [OA-19]
#[tokio::test]
async fn reasoning_is_read_under_either_name_and_once() {
    for delta in [
        r#"{"reasoning_content":"hm"}"#,
        r#"{"reasoning":"hm"}"#,
        r#"{"reasoning":"hm","reasoning_content":"hm"}"#,
        r#"{"reasoning":"hm","reasoning_content":""}"#,
        r#"{"reasoning":null,"reasoning_content":"hm"}"#,
        r#"{"content":[{"type":"thinking","thinking":"hm"}]}"#,
        r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"h"},{"type":"text","text":"m"}]}]}"#,
    ] {
        let (parts, error) = stream("generic", [ch(delta), fin(r#""stop""#), DONE.into()].concat()).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(reasoning(&parts), "hm", "{delta}");
    }
}

/// [OA-20]
#[tokio::test]
async fn content_may_be_a_list_of_parts() {
    let body = [
        ch(r#"{"content":[{"type":"text","text":"a"},{"type":"reference","reference_ids":[1]}]}"#),
        ch(r#"{"content":[{"type":"image_url","image_url":"https://x/i.png"},{"type":"text","text":"b"}]}"#),
        ch(r#"{"images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}"#),
        ch(r#"{"content":{"type":"text","text":"c"}}"#),
        fin(r#""stop""#),
        DONE.into(),
    ];
    let (parts, error) = stream("mistral", body.concat()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(text(&parts), "abc");
    let files: Vec<_> = parts
        .iter()
        .filter_map(|part| match part {
            StreamPart::File(file) => Some((file.media_type.as_str(), file.data.clone())),
            _ => None,
        })
        .collect();
    let url = |url: &str| ai_provider::FileData::Url { url: url.into() };
    assert_eq!(files, [("image", url("https://x/i.png")), ("image/png", url("data:image/png;base64,AA=="))]);
}

/// [OA-21]
#[tokio::test]
async fn a_refusal_is_text_and_the_finish_says_what_it_is() {
    let body = [ch(r#"{"refusal":"I can"}"#), ch(r#"{"refusal":"not."}"#), fin(r#""stop""#), DONE.into()];
    let (parts, _) = stream("openai", body.concat()).await;
    assert_eq!(text(&parts), "I cannot.");
    let finish = finish(&parts);
    assert_eq!(finish.reason.unified, UnifiedFinish::ContentFilter);
    assert_eq!(finish.reason.raw.as_deref(), Some("stop"));
    assert_eq!(finish.metadata.unwrap().get("openai").unwrap()["refusal"], json!(true));
}

/// [OA-22]
#[tokio::test]
async fn each_source_comes_once() {
    let lists = r#"{"citations":["https://a","https://b",""],"search_results":[{"url":"https://b","title":"B"}],"choices":[{"delta":{"content":"x"}}]}"#;
    let note = r#"{"annotations":[{"type":"url_citation","url_citation":{"url":"https://c","title":"C"}},{"type":"url_citation","url":"https://a"}]}"#;
    let body = [data(lists), data(lists), ch(note), ch(note), fin(r#""stop""#), DONE.into()];
    let (parts, _) = stream("perplexity", body.concat()).await;
    let sources: Vec<_> = parts
        .iter()
        .filter_map(|part| match part {
            StreamPart::Source(source) => match &**source {
                Source::Url { url, title, .. } => Some((url.as_str(), title.as_deref())),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(sources, [("https://b", Some("B")), ("https://a", None), ("https://c", Some("C"))]);
}

/// [OA-26]
#[tokio::test]
async fn sources_without_end_are_too_large() {
    let urls: Vec<_> = (0..4_097).map(|at| format!("https://{at}")).collect();
    let frame = json!({"choices": [], "citations": urls}).to_string();
    let (_, error) = stream("perplexity", data(&frame)).await;
    assert_eq!(error.unwrap().class(), ErrorClass::TooLarge);
}

/// [OA-23]
#[tokio::test]
async fn log_probabilities_are_gathered_for_the_finish() {
    let with = |delta: &str, token: &str| {
        ch(delta).replace(
            r#","finish_reason""#,
            &format!(r#","logprobs":{{"content":[{{"token":"{token}"}}]}},"finish_reason""#),
        )
    };
    let body =
        [with(r#"{"content":"a"}"#, "a"), with(r#"{"content":"b"}"#, "b"), fin(r#""stop""#), DONE.into()];
    let (parts, _) = stream("openai", body.concat()).await;
    let metadata = finish(&parts).metadata.unwrap();
    assert_eq!(metadata.get("openai").unwrap()["logprobs"], json!([{"token": "a"}, {"token": "b"}]));
}

/// [OA-44]
#[tokio::test]
async fn calls_of_custom_tools_and_of_the_old_form_are_read() {
    let text = "say \"é\"\n";
    let piece = |fields: &str| tc(&format!(r#"{{"index":1,{fields}}}"#));
    let function = tc(r#"{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}"#);
    let custom = [
        function,
        piece(r#""id":"b","type":"custom","custom":{"name":"raw","input":""}"#),
        piece(r#""custom":{"input":"say \""}"#),
        piece(r#""custom":{"input":"é\"\n"}"#),
    ]
    .concat();
    let of = |body: String, reason: &'static str| async move {
        let (parts, error) = stream("openai", [body, fin(reason), DONE.into()].concat()).await;
        assert!(error.is_none(), "{error:?}");
        let shown = parts.iter().filter_map(|part| match part {
            StreamPart::ToolInputDelta { id, delta } if id.as_str() != "a" => Some(delta.as_str()),
            _ => None,
        });
        (calls(&parts), shown.collect::<String>())
    };
    let quoted = serde_json::to_string(text).unwrap();
    let call = |id: &str, name: &str, input: &str| (id.to_owned(), name.to_owned(), input.to_owned());
    let both = vec![call("a", "f", "{}"), call("b", "raw", &quoted)];
    assert_eq!(of(custom.clone(), r#""tool_calls""#).await, (both.clone(), quoted.clone()));
    let (cut, _) = of(custom, r#""length""#).await;
    assert_eq!(cut, both[..1], "a cut text is no call");
    // Without any text.
    let empty = tc(r#"{"index":0,"id":"b","type":"custom","custom":{"name":"raw","input":""}}"#);
    assert_eq!(of(empty, r#""tool_calls""#).await.0, [call("b", "raw", r#""""#)]);

    let message = format!(
        r#"{{"tool_calls":[{{"id":"a","type":"function","function":{{"name":"f","arguments":"{{}}"}}}},{{"id":"b","type":"custom","custom":{{"name":"raw","input":{quoted}}}}}]}}"#
    );
    let body = |message: &str, reason: &str| {
        format!(r#"{{"id":"c","choices":[{{"index":0,"message":{message},"finish_reason":"{reason}"}}]}}"#)
    };
    let (parts, error) = whole("openai", body(&message, "tool_calls")).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(calls(&parts), both);

    let old = [
        ch(r#"{"content":null,"function_call":{"name":"f","arguments":""}}"#),
        ch(r#"{"function_call":{"arguments":"{\"a\":"}}"#),
        ch(r#"{"function_call":{"arguments":"1}"}}"#),
    ]
    .concat();
    let streamed = of(old, r#""function_call""#).await.0;
    let old = r#"{"function_call":{"name":"f","arguments":"{\"a\":1}"}}"#;
    let (parts, error) = whole("openai", body(old, "function_call")).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(finish(&parts).reason.unified, UnifiedFinish::ToolCalls);
    for calls in [streamed, calls(&parts)] {
        let [(id, name, input)] = calls.try_into().unwrap();
        assert_eq!((id.is_empty(), name.as_str(), input.as_str()), (false, "f", r#"{"a":1}"#));
    }
}
