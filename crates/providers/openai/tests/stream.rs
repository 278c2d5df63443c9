//! How a stream begins, goes on and ends.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod support;

use std::time::Duration;

use ai_provider::{Delivery, ErrorClass, Source, StreamPart, UnifiedFinish};
use ai_testkit::{Cut, MemoryEnd, MemoryReply};
use serde_json::json;
use tokio::time::Instant;

use support::{DONE, ch, data, decoded, dialect, fin, finish, reasoning, run, stream, text, whole};

const USAGE: &str =
    r#"{"id":"c1","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}"#;

fn hello() -> String {
    ch(r#"{"content":"hi"}"#)
}

/// [OA-3]
#[tokio::test]
async fn characters_cut_by_the_network_come_out_whole() {
    let body = [ch(r#"{"content":"北🙂é"}"#), fin(r#""stop""#), DONE.into()].concat();
    for at in 0..body.len() {
        let (parts, error) =
            decoded(dialect("openai"), Delivery::Stream, body.clone(), Cut::At(vec![at])).await;
        assert_eq!((text(&parts).as_str(), error), ("北🙂é", None), "cut at {at}");
    }
}

/// [OA-4]
#[tokio::test]
async fn keepalives_of_all_kinds_are_harmless() {
    let body = [
        "retry: 3000\n\nid: 7\n".to_owned(),
        ch(r#"{"content":"a"}"#),
        ": ping\n\nid: 8\n\ndata:\n\ndata:  \n\n".to_owned(),
        data(r#"{"type":"ping"}"#),
        data(r#"{"message":"still working","type":"status"}"#),
        ch(r#"{"content":"b"}"#),
        fin(r#""stop""#),
        DONE.into(),
    ];
    let (parts, error) = stream("openai", body.concat()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(text(&parts), "ab");
    assert_eq!(finish(&parts).reason.unified, UnifiedFinish::Stop);
}

/// [OA-5]
#[tokio::test]
async fn a_last_line_without_its_blank_line_counts_if_it_is_whole() {
    let last = fin(r#""stop""#)
        .replace("]}\n\n", r#"],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}"#);
    for ending in ["", "\n", "\n\n"] {
        let (parts, error) = stream("openai", [hello(), last.clone(), ending.into()].concat()).await;
        assert!(error.is_none(), "{ending:?}: {error:?}");
        let finish = finish(&parts);
        assert_eq!(finish.reason.unified, UnifiedFinish::Stop);
        assert_eq!((finish.usage.input.total, finish.usage.output.total), (Some(3), Some(1)));
    }
    for length in 1..last.len() {
        let (parts, error) = stream("openai", [hello(), last[..length].into()].concat()).await;
        assert_eq!(text(&parts), "hi");
        assert_eq!(error.unwrap().class(), ErrorClass::Incomplete, "{}", &last[..length]);
    }
}

/// [OA-8]
#[tokio::test]
async fn a_body_without_a_terminal_event_is_incomplete() {
    let call = ch(
        r#"{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{\"pa"}}]}"#,
    );
    for body in ["".to_owned(), ": x\n\n".repeat(3), DONE.into(), call.clone(), hello(), data("{}")] {
        let (parts, error) = stream("openai", body.clone()).await;
        let error = error.unwrap();
        assert_eq!(error.class(), ErrorClass::Incomplete, "{body:?}");
        assert!(error.retryable());
        let invented = |part: &StreamPart| matches!(part, StreamPart::Finish(_) | StreamPart::ToolCall(_));
        assert!(!parts.iter().any(invented), "{parts:?}");
    }
    let (parts, _) = stream("openai", call).await;
    assert!(
        parts.iter().any(|part| matches!(part, StreamPart::ToolInputDelta { delta, .. } if delta == "{\"pa"))
    );
}

/// [OA-9]
#[tokio::test]
async fn an_end_mark_behind_content_without_a_reason_is_a_missing_finish() {
    for reason in ["null", r#""""#, r#""  ""#] {
        let (parts, error) = stream("openai", [hello(), fin(reason), DONE.into()].concat()).await;
        assert_eq!(text(&parts), "hi");
        assert_eq!(error.unwrap().class(), ErrorClass::MissingFinish);
    }
    for content in
        [r#"{"reasoning_content":"hm"}"#, r#"{"tool_calls":[{"index":0,"function":{"name":"f"}}]}"#]
    {
        let (_, error) = stream("openai", [ch(content), DONE.into()].concat()).await;
        assert_eq!(error.unwrap().class(), ErrorClass::MissingFinish, "{content}");
    }
    let (parts, error) = whole("openai", r#"{"choices":[{"index":0,"message":{"content":"hi"}}]}"#).await;
    assert_eq!((text(&parts).as_str(), error.unwrap().class()), ("hi", ErrorClass::MissingFinish));
    let (_, error) = whole("openai", r#"{"choices":[]}"#).await;
    assert_eq!(error.unwrap().class(), ErrorClass::Incomplete);
}

/// [OA-10]
#[tokio::test]
async fn behind_the_finish_only_usage_is_read() {
    let body = [
        hello(),
        fin(r#""stop""#),
        ch(r#"{"content":" late","tool_calls":[{"id":"x","function":{"name":"f"}}]}"#),
        data("not json"),
        data(r#"{"error":{"message":"late","code":500}}"#),
        data(USAGE),
        hello(),
    ];
    let (parts, error) = stream("openai", body.concat()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(text(&parts), "hi");
    assert_eq!(finish(&parts).usage.input.total, Some(3));
    assert!(!parts.iter().any(|part| matches!(part, StreamPart::ToolCall(_))));
}

/// [OA-11]
#[tokio::test(start_paused = true)]
async fn usage_is_awaited_for_two_seconds_at_most() {
    let hang = |body: String| MemoryReply::sse(body).ending(MemoryEnd::Hang);
    let begin = Instant::now();
    let (parts, error) =
        run(dialect("openai"), Delivery::Stream, hang([hello(), fin(r#""stop""#)].concat())).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(finish(&parts).usage, ai_provider::Usage::default());
    assert!((2.0..3.0).contains(&begin.elapsed().as_secs_f64()), "{:?}", begin.elapsed());

    // Neither the mark nor a frame of usage lets anything be waited for.
    let combined = fin(r#""stop""#).replace("]}\n\n", "],\"usage\":{\"prompt_tokens\":3}}\n\n");
    for end in [[fin(r#""stop""#), data(USAGE)].concat(), [fin(r#""stop""#), DONE.into()].concat(), combined]
    {
        let begin = Instant::now();
        let reply = hang([hello(), end.clone()].concat());
        let (parts, error) = run(dialect("openai"), Delivery::Stream, reply).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(finish(&parts).reason.unified, UnifiedFinish::Stop);
        assert!(begin.elapsed() < Duration::from_secs(1), "{end}: {:?}", begin.elapsed());
    }
}

/// [OA-12]
#[tokio::test]
async fn zeros_with_the_finish_do_not_hide_the_usage_behind_it() {
    let zeros =
        r#"],"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}}"#.to_owned() + "\n\n";
    let end = fin(r#""stop""#).replace("]}\n\n", &zeros);
    let (parts, _) = stream("openai", [hello(), end.clone(), data(USAGE), DONE.into()].concat()).await;
    assert_eq!(finish(&parts).usage.output.total, Some(1));
    let (parts, _) = stream("openai", [hello(), end, DONE.into()].concat()).await;
    assert_eq!(finish(&parts).usage.output.total, Some(0));
}

/// [OA-13]
#[tokio::test]
async fn a_frame_that_is_no_object_of_json_is_a_protocol_error() {
    for frame in [
        "nonsense",
        "[1,2]",
        "[]",
        "5",
        "null",
        r#""text""#,
        "true",
        "{",
        r#"{"choices":"#,
        r#"{"choices":5}"#,
        r#"{"choices":{"index":0}}"#,
        r#"{"choices":["x"]}"#,
        r#"{"choices":[{"delta":"x"}]}"#,
        r#"{"choices":[{"delta":{"content":5}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":{"a":1}}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"function":"f"}]}}]}"#,
        r#"{"choices":[]} {"choices":[]}"#,
    ] {
        let (parts, error) =
            stream("openai", [hello(), data(frame), fin(r#""stop""#), DONE.into()].concat()).await;
        let error = error.unwrap();
        assert_eq!(error.class(), ErrorClass::Protocol, "{frame}");
        assert!(!error.retryable(), "{frame}");
        assert!(error.message().starts_with("event 2:"), "{}", error.message());
        assert_eq!(text(&parts), "hi");
    }
    let (_, error) = whole("openai", r#"{"status":"ok"}"#).await;
    assert_eq!(error.unwrap().class(), ErrorClass::Protocol);
}

/// [OA-14]
#[tokio::test]
async fn fields_that_are_missing_null_or_of_another_type_are_tolerated() {
    let frames = [
        "{}",
        r#"{"choices":null,"usage":null,"error":null}"#,
        r#"{"id":7,"model":null,"created":1712.9,"choices":[{"index":null,"delta":null}]}"#,
        r#"{"choices":[{"delta":[],"finish_reason":null,"logprobs":null}],"citations":null,"x_groq":null}"#,
        r#"{"choices":[{"delta":{"content":null,"tool_calls":null,"refusal":null,"annotations":null}}]}"#,
        r#"{"choices":[{"index":"0","delta":{"role":"","content":"a"}}],"usage":[],"error":{}}"#,
        r#"{"choices":[{"index":0.0,"delta":{"content":"b","unknown":{"x":[1]}}}],"error":false}"#,
        r#"{"choices":[{"delta":{"content":"c"},"error":null}],"error":"","system_fingerprint":5}"#,
        r#"{"choices":[{"delta":{"content":"d"},"finish_reason":"stop"}]}"#,
    ];
    let body: String = frames.iter().map(|frame| data(frame)).collect();
    let (parts, error) = stream("openai", body + DONE).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(text(&parts), "abcd");
    let StreamPart::ResponseMetadata(response) = &parts[1] else { panic!("{parts:?}") };
    assert_eq!((response.id.as_deref(), response.timestamp), (Some("7"), Some(1712)));
}

/// [OA-15]
#[tokio::test]
async fn frames_without_choices_are_read_for_what_they_hold() {
    let usage_alone = USAGE.replace(r#""choices":[],"#, "");
    for usage in [USAGE, usage_alone.as_str()] {
        let body = [
            data(r#"{"id":"c1","choices":[],"prompt_filter_results":[]}"#),
            hello(),
            fin(r#""stop""#),
            data(usage),
            DONE.into(),
        ];
        let (parts, error) = stream("openai", body.concat()).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(text(&parts), "hi");
        let usage = finish(&parts).usage;
        assert_eq!((usage.input.total, usage.output.total), (Some(3), Some(1)));
    }
}

/// [OA-16]
#[tokio::test]
async fn only_the_first_answer_is_read_and_it_may_be_spread_over_entries() {
    let two = r#"{"choices":[{"index":1,"delta":{"content":"other"},"finish_reason":"length"},{"index":0,"delta":{"content":"a"}}]}"#;
    let end = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let (parts, _) = stream("openai", [data(two), data(end), DONE.into()].concat()).await;
    assert_eq!((text(&parts).as_str(), finish(&parts).reason.unified), ("a", UnifiedFinish::Stop));

    let spread = r#"{"choices":[{"message":{"content":"a"},"finish_reason":"tool_calls"},{"message":{"tool_calls":[{"id":"x","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    let (parts, error) = whole("openai", spread).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(text(&parts), "a");
    assert_eq!(support::calls(&parts), [("x".into(), "f".into(), "{}".into())]);
}

/// [OA-17]
#[tokio::test]
async fn who_answers_is_said_once_by_the_first_frame_that_says_it() {
    let body = [
        data(r#"{"id":"","model":"","created":0,"choices":[]}"#),
        hello(),
        hello().replace("c1", "c2"),
        fin(r#""stop""#),
        DONE.into(),
    ];
    let (parts, _) = stream("openai", body.concat()).await;
    let said: Vec<_> = parts.iter().filter(|part| matches!(part, StreamPart::ResponseMetadata(_))).collect();
    let [StreamPart::ResponseMetadata(response)] = said.as_slice() else { panic!("{said:?}") };
    assert_eq!(response.id.as_deref(), Some("c1"));
    assert_eq!(response.asked_model.as_deref(), Some("m"));
    assert_eq!((response.model.as_deref(), response.timestamp), (Some("m"), Some(1)));
}

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
            StreamPart::Source(Source::Url { url, title, .. }) => Some((url.as_str(), title.as_deref())),
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

/// [OA-24]
#[tokio::test]
async fn a_finish_word_is_mapped_by_the_dialect_and_never_guessed() {
    use UnifiedFinish::{ContentFilter, Error, Length, Other, Stop, ToolCalls};
    for (name, word, unified) in [
        ("openai", "stop", Stop),
        ("openai", "length", Length),
        ("openai", "content_filter", ContentFilter),
        ("openai", "tool_calls", ToolCalls),
        ("openai", "function_call", ToolCalls),
        ("openai", "model_length", Other),
        ("openai", "eos", Other),
        ("mistral", "model_length", Length),
        ("mistral", "error", Error),
        ("deepseek", "insufficient_system_resource", Error),
    ] {
        let (parts, _) = stream(name, [hello(), fin(&format!("{word:?}")), DONE.into()].concat()).await;
        let reason = finish(&parts).reason;
        assert_eq!((reason.unified, reason.raw.as_deref()), (unified, Some(word)), "{name}");
    }
}

/// [OA-25]
#[tokio::test]
async fn an_answer_in_one_body_gives_the_same_parts_as_its_stream() {
    let streamed = [
        ch(r#"{"reasoning_content":"hm"}"#),
        ch(r#"{"content":"hi"}"#),
        ch(r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]}"#),
        fin(r#""tool_calls""#),
        data(USAGE),
        DONE.into(),
    ];
    let body = r#"{"id":"c1","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi","reasoning_content":"hm","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}"#;
    let (streamed, _) = stream("deepseek", streamed.concat()).await;
    let (at_once, error) = whole("deepseek", body).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(at_once, streamed);
    // A server that does not stream, though it was asked to.
    let (instead, error) = stream("deepseek", body).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(instead, streamed);
}
