//! How a stream begins, goes on and ends.

use ai_provider::{Delivery, ErrorClass, StreamPart, UnifiedFinish};
use ai_testkit::Cut;
use serde_json::json;

use crate::support::{
    an, block, called, calls, decoded, delta, end, finish, input, reasoning, start, stop, stream, streamed,
    text, text_block, tool_block, whole,
};

fn hello() -> String {
    [start(), text_block(0, "hi")].concat()
}

/// [AN-3]
#[tokio::test]
async fn characters_cut_by_the_network_come_out_whole() {
    let body = [start(), text_block(0, "北🙂é"), end("end_turn")].concat();
    for at in 0..body.len() {
        let (parts, error) = decoded(Delivery::Stream, body.clone(), Cut::At(vec![at])).await;
        assert_eq!((text(&parts).as_str(), error), ("北🙂é", None), "cut at {at}");
    }
}

/// [AN-4]
#[tokio::test]
async fn keepalives_and_events_nobody_knows_are_harmless() {
    let ping = || an(r#"{"type":"ping"}"#);
    let body = [
        "retry: 3000\n\nid: 7\n".to_owned(),
        start(),
        ping(),
        block(0, r#"{"type":"text","text":""}"#),
        ": ping\n\nid: 8\n\ndata:\n\ndata:  \n\n".to_owned(),
        delta(0, r#"{"type":"text_delta","text":"a"}"#),
        ping(),
        an(r#"{"type":"content_block_progress","index":0,"delta":"odd","usage":7}"#),
        an(r#"{"type":"stream_note","index":{"a":1},"content_block":[1]}"#),
        "data: {}\n\ndata: {\"message\":\"still working\"}\n\ndata: [DONE]\n\n".to_owned(),
        delta(0, r#"{"type":"sparkle_delta","sparkle":5}"#),
        delta(0, r#"{"type":"text_delta","text":"b"}"#),
        stop(0),
        end("end_turn"),
    ];
    let parts = streamed(body.concat()).await;
    assert_eq!(text(&parts), "ab");
    assert_eq!(finish(&parts).reason.unified, UnifiedFinish::Stop);
}

/// [AN-5]
#[tokio::test]
async fn a_last_event_without_its_blank_line_counts_if_it_is_whole() {
    let progress =
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}"#;
    let last = "event: message_stop\ndata: {\"type\":\"message_stop\"}";
    let before = [hello(), an(progress)].concat();
    for ending in ["", "\n", "\n\n"] {
        let parts = streamed([before.as_str(), last, ending].concat()).await;
        let finish = finish(&parts);
        assert_eq!((finish.usage.input.total, finish.usage.output.total), (Some(25), Some(9)), "{ending:?}");
    }
    for length in 1..last.len() {
        let (parts, error) = stream([before.as_str(), &last[..length]].concat()).await;
        assert_eq!(text(&parts), "hi");
        let error = error.unwrap();
        assert_eq!((error.class(), error.retryable()), (ErrorClass::Incomplete, true), "{}", &last[..length]);
    }
}

/// [AN-8]
#[tokio::test]
async fn a_body_without_the_end_of_its_message_is_incomplete() {
    let call =
        [start(), block(0, r#"{"type":"tool_use","id":"a","name":"f","input":{}}"#), input(0, "{\"pa")];
    let reason = an(r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#);
    let bodies = [
        String::new(),
        ": x\n\n".repeat(3),
        "data: [DONE]\n\n".into(),
        an(r#"{"type":"ping"}"#),
        start(),
        call.concat(),
        [start(), tool_block(0, "a", "f", &["{}"])].concat(),
        hello(),
        [hello(), reason.clone()].concat(),
        [hello(), reason, "data: [DONE]\n\n".into()].concat(),
    ];
    for body in bodies {
        let (parts, error) = stream(body.clone()).await;
        let error = error.unwrap();
        assert_eq!((error.class(), error.retryable()), (ErrorClass::Incomplete, true), "{body}");
        let invented = |part: &StreamPart| matches!(part, StreamPart::Finish(_) | StreamPart::ToolCall(_));
        assert!(!parts.iter().any(invented), "{parts:?}");
    }
    let (parts, _) = stream(call.concat()).await;
    let shown =
        |part: &StreamPart| matches!(part, StreamPart::ToolInputDelta { delta, .. } if delta == "{\"pa");
    assert!(parts.iter().any(shown), "{parts:?}");
}

/// [AN-9]
#[tokio::test]
async fn the_end_of_a_message_without_a_reason_is_a_missing_finish() {
    let over = an(r#"{"type":"message_stop"}"#);
    for progress in [
        String::new(),
        an(r#"{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":2}}"#),
        an(r#"{"type":"message_delta","delta":{"stop_reason":"  "}}"#),
        an(r#"{"type":"message_delta"}"#),
    ] {
        for content in [text_block(0, "hi"), tool_block(0, "a", "f", &["{}"])] {
            let (parts, error) = stream([start(), content, progress.clone(), over.clone()].concat()).await;
            assert_eq!(error.unwrap().class(), ErrorClass::MissingFinish, "{progress}");
            assert!(calls(&parts).is_empty());
        }
    }
    let (_, error) = stream([start(), over].concat()).await;
    assert_eq!(error.unwrap().class(), ErrorClass::Incomplete);
    let (parts, error) = whole(r#"{"type":"message","content":[{"type":"text","text":"hi"}]}"#).await;
    assert_eq!((text(&parts).as_str(), error.unwrap().class()), ("hi", ErrorClass::MissingFinish));
}

/// [AN-10]
#[tokio::test]
async fn behind_the_end_of_a_message_nothing_is_read() {
    let body = [
        hello(),
        end("end_turn"),
        start().replace("m1", "m2"),
        text_block(0, " late"),
        "data: nonsense\n\n".into(),
        an(r#"{"type":"error","error":{"type":"api_error","message":"late"}}"#),
    ];
    let parts = streamed(body.concat()).await;
    assert_eq!(text(&parts), "hi");
    assert_eq!(finish(&parts).reason.raw.as_deref(), Some("end_turn"));
}

/// [AN-11]
#[tokio::test]
async fn an_event_that_cannot_be_read_is_a_protocol_error_with_its_number() {
    for frame in [
        "nonsense",
        "[1,2]",
        "5",
        "null",
        r#""text""#,
        "{",
        r#"{"type":"content_block_delta","index":0,"delta":"#,
        r#"{"type":"content_block_delta","index":0}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":"x"}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":{"a":1}}}"#,
        r#"{"type":"content_block_delta","index":"x","delta":{"type":"text_delta","text":"a"}}"#,
        r#"{"type":"content_block_delta","index":7,"delta":{"type":"input_json_delta","partial_json":"{"}}"#,
        r#"{"type":"content_block_delta","index":7,"delta":{"type":"signature_delta","signature":"S"}}"#,
        r#"{"type":"content_block_start","index":1}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{}}"#,
        r#"{"type":"content_block_start","index":1,"content_block":"text"}"#,
        r#"{"type":"message_start","message":"m"}"#,
        r#"{"type":"ping"} {"type":"ping"}"#,
    ] {
        let body = [hello(), format!("data: {frame}\n\n"), end("end_turn")].concat();
        let (parts, error) = stream(body).await;
        let error = error.unwrap();
        assert_eq!((error.class(), error.retryable()), (ErrorClass::Protocol, false), "{frame}");
        assert!(error.message().starts_with("event 5:"), "{frame}: {}", error.message());
        assert_eq!(text(&parts), "hi");
    }
    for body in [r#"{"status":"ok"}"#, r#"{"type":"message"}"#, r#"{"type":"message","content":"x"}"#] {
        assert_eq!(whole(body).await.1.unwrap().class(), ErrorClass::Protocol, "{body}");
    }
    let open_text = [start(), block(0, r#"{"type":"text","text":""}"#), input(0, "{")];
    assert_eq!(stream(open_text.concat()).await.1.unwrap().class(), ErrorClass::Protocol);
    let open_call = [
        start(),
        block(0, r#"{"type":"tool_use","id":"a","name":"f","input":{}}"#),
        delta(0, r#"{"type":"text_delta","text":"a"}"#),
    ];
    assert_eq!(stream(open_call.concat()).await.1.unwrap().class(), ErrorClass::Protocol);
}

/// [AN-12]
#[tokio::test]
async fn fields_that_are_missing_null_or_of_another_type_are_tolerated() {
    let body = [
        an(r#"{"type":"message_start","message":{"id":7,"content":null,"usage":null,"model":null}}"#),
        an(r#"{"type":"content_block_start","index":"0","content_block":{"type":"text","text":null,"citations":null}}"#),
        an(r#"{"type":"content_block_delta","index":0.0,"delta":{"type":"text_delta","text":"a","thinking":null,"new":[1]}}"#),
        an(r#"{"type":"content_block_delta","delta":{"text":"b","type":"text_delta"},"error":null}"#),
        an(r#"{"type":"content_block_delta","index":null,"delta":{"type":"citations_delta","citation":null}}"#),
        "data: {\"delta\":{\"type\":\"text_delta\",\"text\":\"c\"},\"index\":0,\"type\":\"content_block_delta\"}\n\n".into(),
        // The name of the event stands in for a type that is missing.
        "event: content_block_delta\ndata: {\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"d\"}}\n\n".into(),
        // A name that says something else than the type.
        "event: message\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"e\"}}\n\n".into(),
        "event: content_block_delta\ndata: {\"type\":\"content_block_stop\",\"index\":9}\n\n".into(),
        an(r#"{"type":"content_block_stop"}"#),
        an(r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_details":null},"usage":{"output_tokens":2.0,"server_tool_use":null},"context_management":null}"#),
        an(r#"{"type":"message_stop","unknown":1}"#),
    ];
    let parts = streamed(body.concat()).await;
    assert_eq!(text(&parts), "abcde");
    let StreamPart::ResponseMetadata(response) = &parts[1] else { panic!("{parts:?}") };
    assert_eq!((response.id.as_deref(), response.model.as_deref()), (Some("7"), None));
    let finish = finish(&parts);
    assert_eq!((finish.usage.output.total, finish.metadata), (Some(2), None));
}

/// [AN-13]
#[tokio::test]
async fn who_answers_is_said_once() {
    let parts = streamed([hello(), end("end_turn")].concat()).await;
    let said: Vec<_> = parts.iter().filter(|part| matches!(part, StreamPart::ResponseMetadata(_))).collect();
    let [StreamPart::ResponseMetadata(response)] = said.as_slice() else { panic!("{said:?}") };
    assert_eq!((response.id.as_deref(), response.model.as_deref()), (Some("m1"), Some("m")));
    assert_eq!(response.asked_model.as_deref(), Some(crate::support::MODEL));
    assert!(matches!(parts[1], StreamPart::ResponseMetadata(_)));
}

/// [AN-14]
#[tokio::test]
async fn a_start_that_comes_twice_is_one_and_another_message_is_an_error() {
    let again = start().replace("25", "99");
    let body = [start(), again.clone(), text_block(0, "hi"), again, text_block(1, "!"), end("end_turn")];
    let parts = streamed(body.concat()).await;
    assert_eq!(text(&parts), "hi!");
    assert_eq!(finish(&parts).usage.input.total, Some(25));
    assert_eq!(parts.iter().filter(|part| matches!(part, StreamPart::ResponseMetadata(_))).count(), 1);

    let spliced = [hello(), start().replace("m1", "m2"), text_block(0, "other"), end("end_turn")];
    let (parts, error) = stream(spliced.concat()).await;
    let error = error.unwrap();
    assert_eq!((text(&parts).as_str(), error.class()), ("hi", ErrorClass::Protocol));
    assert!(error.message().contains("another message"), "{}", error.message());
    assert!(!parts.iter().any(|part| matches!(part, StreamPart::Finish(_))));
}

/// [AN-15]
#[tokio::test]
async fn blocks_in_the_start_of_a_message_count_once() {
    let call = r#"{"type":"tool_use","id":"toolu_1","name":"f","input":{"x":1}}"#;
    let begin = start().replace(r#""content":[]"#, &format!(r#""content":[{call}]"#));
    let parts = streamed([begin.clone(), end("tool_use")].concat()).await;
    assert_eq!(calls(&parts), [called("toolu_1", "f", r#"{"x":1}"#)]);

    let repeated = tool_block(0, "toolu_1", "f", &[r#"{"x":1}"#]);
    let other = tool_block(1, "toolu_2", "f", &[]);
    let parts = streamed([begin, repeated, other, end("tool_use")].concat()).await;
    assert_eq!(calls(&parts), [called("toolu_1", "f", r#"{"x":1}"#), called("toolu_2", "f", "{}")]);
    // Without an id nobody can tell.
    let nameless =
        start().replace(r#""content":[]"#, &format!(r#""content":[{call}]"#)).replace("toolu_1", "");
    let parts = streamed([nameless, tool_block(0, "", "f", &[]), end("tool_use")].concat()).await;
    assert_eq!(calls(&parts).len(), 2);
}

/// [AN-16]
#[tokio::test]
async fn a_block_has_the_number_the_server_gave_it_unless_that_is_taken() {
    let thought = [
        block(3, r#"{"type":"thinking","thinking":"","signature":""}"#),
        delta(3, r#"{"type":"thinking_delta","thinking":"hm"}"#),
        stop(3),
    ]
    .concat();
    let body =
        [start(), thought, text_block(7, "a"), text_block(7, "b"), text_block(7, "c"), end("end_turn")];
    let parts = streamed(body.concat()).await;
    let ids: Vec<_> = parts
        .iter()
        .filter_map(|part| match part {
            StreamPart::TextStart { id, .. } | StreamPart::ReasoningStart { id, .. } => Some(id.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(ids[..2], ["3", "7"]);
    assert_eq!(ids.len(), 4);
    assert!(ids[2].starts_with("7-") && ids[3].starts_with("7-") && ids[2] != ids[3], "{ids:?}");
    assert_eq!((text(&parts).as_str(), reasoning(&parts).as_str()), ("abc", "hm"));

    // Two blocks at a time.
    let body = [
        start(),
        block(0, r#"{"type":"text","text":""}"#),
        block(1, r#"{"type":"text","text":""}"#),
        delta(0, r#"{"type":"text_delta","text":"a"}"#),
        delta(1, r#"{"type":"text_delta","text":"b"}"#),
        delta(0, r#"{"type":"text_delta","text":"c"}"#),
        stop(1),
        stop(0),
        end("end_turn"),
    ];
    let parts = streamed(body.concat()).await;
    let of = |block: &str| -> String {
        let deltas = parts.iter().filter_map(|part| match part {
            StreamPart::TextDelta { id, delta, .. } if id == block => Some(delta.as_str()),
            _ => None,
        });
        deltas.collect()
    };
    assert_eq!((of("0"), of("1")), ("ac".to_owned(), "b".to_owned()));
}

/// [AN-17]
#[tokio::test]
async fn starts_and_ends_of_text_that_are_left_out_are_made_up() {
    let text_delta =
        |index, text: &str| delta(index, &json!({"type": "text_delta", "text": text}).to_string());
    let thought = |index| delta(index, r#"{"type":"thinking_delta","thinking":"hm"}"#);
    let bodies = [
        // No start and no end.
        [start(), thought(0), text_delta(1, "a"), text_delta(1, "b")].concat(),
        // No end.
        [
            start(),
            block(0, r#"{"type":"thinking","thinking":""}"#),
            thought(0),
            block(1, r#"{"type":"text","text":""}"#),
            text_delta(1, "ab"),
        ]
        .concat(),
        // One number for all.
        [start(), thought(0), text_delta(0, "a"), text_delta(0, "b"), stop(0)].concat(),
        // No start of the message.
        [thought(0), text_delta(1, "ab"), stop(1)].concat(),
    ];
    for body in bodies {
        let parts = streamed([body.clone(), end("end_turn")].concat()).await;
        assert_eq!((text(&parts).as_str(), reasoning(&parts).as_str()), ("ab", "hm"), "{body}");
    }
    // Two that are open and no number: nobody can tell.
    let body = [
        start(),
        block(0, r#"{"type":"text","text":""}"#),
        block(1, r#"{"type":"text","text":""}"#),
        an(r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}"#),
    ];
    assert_eq!(stream(body.concat()).await.1.unwrap().class(), ErrorClass::Protocol);
}

/// [AN-29]
#[tokio::test]
async fn an_answer_has_limits() {
    let too_large = async |body: String| {
        let (_, error) = stream(body).await;
        assert_eq!(error.unwrap().class(), ErrorClass::TooLarge);
    };
    let blocks: String = (0..10_001).map(|_| block(0, r#"{"type":"text","text":""}"#)).collect();
    too_large([start(), blocks].concat()).await;
    let citation =
        delta(0, r#"{"type":"citations_delta","citation":{"type":"char_location","document_index":0}}"#);
    too_large([start(), citation.repeat(4_097)].concat()).await;
    for field in ["id", "name"] {
        let call = json!({"type": "tool_use", "id": "a", "name": "f", field: "x".repeat(1_025)});
        too_large([start(), block(0, &call.to_string())].concat()).await;
    }
    let call = block(0, r#"{"type":"tool_use","id":"a","name":"f","input":{}}"#);
    let piece = input(0, &"a".repeat(8 << 20));
    too_large([start(), call, piece.repeat(9)].concat()).await;
}

/// [AN-30]
#[tokio::test]
async fn a_character_cut_into_two_deltas_as_escapes_comes_out_whole() {
    let cut = |kind: &str, field: &str, first: &str, second: &str| {
        let piece = |text: &str| {
            let delta = format!(r#"{{"type":"{kind}_delta","{field}":"{text}"}}"#);
            format!("data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{delta}}}\n\n")
        };
        [piece(&format!("a{first}")), piece(&format!("{second}b"))].concat()
    };
    let (first, second) = (r"\ud83d", r"\ude42");
    let of = async |begin: &str, deltas: String| {
        stream([start(), block(0, begin), deltas, stop(0), end("end_turn")].concat()).await
    };
    let (parts, error) = of(r#"{"type":"text","text":""}"#, cut("text", "text", first, second)).await;
    assert_eq!((text(&parts).as_str(), error.is_none()), ("a🙂b", true));
    let (parts, error) =
        of(r#"{"type":"thinking","thinking":""}"#, cut("thinking", "thinking", first, second)).await;
    assert_eq!((reasoning(&parts).as_str(), error.is_none()), ("a🙂b", true));
    let call = r#"{"type":"tool_use","id":"c","name":"f","input":{}}"#;
    let (parts, error) = of(call, cut("input_json", "partial_json", first, second)).await;
    assert_eq!((calls(&parts)[0].2.as_str(), error.is_none()), ("a🙂b", true));

    // A half that stays alone.
    let (parts, error) = of(r#"{"type":"text","text":""}"#, cut("text", "text", first, first)).await;
    assert_eq!((text(&parts).as_str(), error.is_none()), ("a\u{fffd}\u{fffd}b", true));
    let (_, error) = of(call, cut("input_json", "partial_json", second, "")).await;
    assert_eq!(error.unwrap().class(), ErrorClass::Protocol);
}
