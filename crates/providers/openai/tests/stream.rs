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

use ai_provider::{Delivery, ErrorClass, StreamPart, UnifiedFinish};
use ai_testkit::{Cut, MemoryEnd, MemoryReply};
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
    for reason in ["null", r#""""#, r#""  ""#, r#""null""#] {
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

    // A null as a text in each frame, as some servers send it.
    let word = |frame: String| frame.replace(r#""finish_reason":null"#, r#""finish_reason":"null""#);
    let body = [word(hello()), word(hello()), fin(r#""stop""#), DONE.into()].concat();
    let (parts, error) = stream("openai", body).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!((text(&parts).as_str(), finish(&parts).reason.unified), ("hihi", UnifiedFinish::Stop));
}

/// [OA-10]
#[tokio::test]
async fn behind_the_finish_only_usage_and_sources_are_read() {
    let body = [
        hello(),
        fin(r#""stop""#),
        ch(r#"{"content":" late","tool_calls":[{"id":"x","function":{"name":"f"}}]}"#),
        data("not json"),
        data(r#"{"error":{"message":"late","code":500}}"#),
        data(r#"{"choices":[],"citations":["https://a"]}"#),
        data(USAGE),
        hello(),
    ];
    let (parts, error) = stream("openai", body.concat()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(text(&parts), "hi");
    assert_eq!(finish(&parts).usage.input.total, Some(3));
    assert!(!parts.iter().any(|part| matches!(part, StreamPart::ToolCall(_))));
    assert_eq!(parts.iter().filter(|part| matches!(part, StreamPart::Source(_))).count(), 1);
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
    let zeros_alone = data(r#"{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}}"#);
    let late = [hello(), fin(r#""stop""#), zeros_alone, data(USAGE), DONE.into()];
    let (parts, _) = stream("openai", late.concat()).await;
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

/// [OA-25]
#[tokio::test]
async fn a_message_behind_deltas_is_a_repetition() {
    let call = r#"{"id":"a","index":0,"function":{"name":"f","arguments":"{\"x\":1}"}}"#;
    let all = format!(
        r#"{{"content":"fine","reasoning_content":"hmm","refusal":"no","images":[{{"image_url":"https://i"}}],"tool_calls":[{call}]}}"#
    );
    let end = |message: &str, delta: &str| {
        data(&format!(
            r#"{{"id":"c1","choices":[{{"index":0,{delta}"message":{message},"finish_reason":"stop"}}]}}"#
        ))
    };
    let tokens = r#","logprobs":{"content":[1,2]},"finish_reason""#;
    let deltas = [
        ch(r#"{"reasoning_content":"h"}"#),
        ch(r#"{"reasoning_content":"mm"}"#),
        ch(r#"{"content":"fi"}"#),
        ch(r#"{"content":"ne"}"#).replace(r#","finish_reason""#, tokens),
        ch(r#"{"refusal":"no"}"#),
        ch(r#"{"images":[{"image_url":"https://i"}]}"#),
        ch(&format!(r#"{{"tool_calls":[{call}]}}"#)),
    ];
    let plain = stream("openai", [deltas.concat(), fin(r#""stop""#), DONE.into()].concat()).await;
    assert_eq!(text(&plain.0), "fineno");
    let parts =
        r#"{"content":[{"text":"fine"},{"thinking":"hmm"},{"refusal":"no"},{"image_url":"https://i"}]}"#;
    for message in [&all, parts] {
        for delta in ["", r#""delta":null,"#, r#""delta":{},"#] {
            let mut end = end(message, delta);
            if !delta.contains("{}") {
                end = end.replace(r#","finish_reason""#, tokens);
            }
            let (parts, error) = stream("openai", [deltas.concat(), end].concat()).await;
            assert!(error.is_none(), "{error:?}");
            assert_eq!(parts, plain.0, "{delta}{message}");
        }
        // Without a reason it does not end the answer.
        let early = data(&format!(r#"{{"choices":[{{"message":{message}}}]}}"#));
        let body = [deltas.concat(), early, fin(r#""stop""#), DONE.into()].concat();
        assert_eq!(stream("openai", body).await.0, plain.0, "{message}");
    }

    // What no delta brought is not lost, whatever of the rest came.
    for (came, delta) in
        [("", "{}"), ("reasoning", r#"{"reasoning_content":"hmm"}"#), ("text", r#"{"content":"fine"}"#)]
    {
        for same in ["", r#""delta":{},"#] {
            let body = [ch(delta), end(&all.replace(r#""refusal":"no","#, ""), same)].concat();
            let (parts, error) = stream("openai", body).await;
            assert!(error.is_none(), "{error:?}");
            assert_eq!((text(&parts).as_str(), reasoning(&parts).as_str()), ("fine", "hmm"), "{came}");
            assert_eq!(support::calls(&parts), [("a".into(), "f".into(), r#"{"x":1}"#.into())], "{came}");
        }
    }
    // A message so far beside each delta.
    let beside = |delta: &str, message: &str, reason: &str| {
        data(&format!(
            r#"{{"choices":[{{"delta":{{"content":"{delta}"}},"message":{{"content":"{message}"}},"finish_reason":{reason}}}]}}"#
        ))
    };
    let body = [beside("", "fi", "null"), beside("fi", "fi", "null"), beside("ne", "fine", r#""stop""#)];
    assert_eq!(text(&stream("openai", body.concat()).await.0), "fine");
}
