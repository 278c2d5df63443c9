//! Tool calls, put together from what servers send.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod support;

use ai_provider::{ErrorClass, StreamPart, UnifiedFinish};
use ai_testkit::fold;
use support::{DONE, calls, ch, fin, finish, stream, tc, whole};

fn call(id: &str, name: &str, input: &str) -> (String, String, String) {
    (id.into(), name.into(), input.into())
}

/// A piece with these fields in front and this function.
fn piece(front: &str, name: &str, input: &str) -> String {
    let input = serde_json::to_string(input).unwrap();
    let comma = if front.is_empty() { "" } else { "," };
    tc(&format!(r#"{{{front}{comma}"type":"function","function":{{"name":"{name}","arguments":{input}}}}}"#))
}

async fn of(pieces: &[String]) -> Vec<(String, String, String)> {
    let body = [pieces.concat(), fin(r#""tool_calls""#), DONE.into()].concat();
    let (parts, error) = stream("generic", body).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(finish(&parts).reason.unified, UnifiedFinish::ToolCalls);
    calls(&parts)
}

/// [OA-30]
#[tokio::test]
async fn without_an_index_a_new_id_opens_a_call_and_a_bare_piece_continues_the_only_one() {
    let two = [call("a", "f", r#"{"x":1}"#), call("b", "g", r#"{"y":2}"#)];
    let split = [
        piece(r#""id":"a""#, "f", r#"{"x":"#),
        tc(r#"{"function":{"arguments":"1}"}}"#),
        piece(r#""id":"b""#, "g", r#"{"y":2}"#),
    ];
    assert_eq!(of(&split).await, two);
    let at_once = tc(
        r#"{"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"b","function":{"name":"g","arguments":"{\"y\":2}"}}"#,
    );
    assert_eq!(of(&[at_once]).await, two);
    // Some gateways give every call the index 0.
    let reused = [
        piece(r#""index":0,"id":"a""#, "f", r#"{"x":"#),
        piece(r#""index":0"#, "", "1}"),
        piece(r#""index":0,"id":"b""#, "g", r#"{"y":"#),
        piece(r#""index":0"#, "", "2}"),
    ];
    assert_eq!(of(&reused).await, two);
}

/// [OA-31]
#[tokio::test]
async fn a_piece_that_may_belong_to_several_calls_is_a_protocol_error() {
    for bare in [r#"{"function":{"arguments":"1}"}}"#, r#"{"index":7,"function":{"arguments":"1}"}}"#] {
        let body = [
            piece(r#""id":"a""#, "f", r#"{"x":"#),
            piece(r#""id":"b""#, "g", r#"{"y":"#),
            tc(bare),
            fin(r#""tool_calls""#),
            DONE.into(),
        ];
        let (parts, error) = stream("generic", body.concat()).await;
        assert_eq!(error.unwrap().class(), ErrorClass::Protocol, "{bare}");
        assert_eq!(calls(&parts), []);
    }
}

/// [OA-32]
#[tokio::test]
async fn calls_start_in_the_order_in_which_they_began_whatever_they_wait_for() {
    let bodies = [
        // The first is never whole; the second comes in one piece.
        vec![
            piece(r#""index":0,"id":"a""#, "f", r#"{\"x\": oops"#),
            piece(r#""index":1,"id":"b""#, "g", "{}"),
        ],
        // The first has no id until the second is whole.
        vec![
            piece(r#""index":0"#, "f", ""),
            piece(r#""index":1,"id":"b""#, "g", "{}"),
            piece(r#""index":0,"id":"a""#, "", "{}"),
        ],
        // The first has its name alone.
        vec![
            piece(r#""index":0,"id":"a""#, "f", ""),
            piece(r#""index":1,"id":"b""#, "g", "{}"),
            piece(r#""index":0"#, "", "{}"),
        ],
    ];
    for body in bodies {
        let frames = [body.concat(), fin(r#""tool_calls""#), DONE.to_owned()];
        let (parts, error) = stream("openai", frames.concat()).await;
        assert!(error.is_none(), "{error:?}");
        let started = parts.iter().filter_map(|part| match part {
            StreamPart::ToolInputStart { id, .. } => Some(id.as_str()),
            _ => None,
        });
        assert_eq!(started.collect::<Vec<_>>(), ["a", "b"]);
        let called: Vec<_> = calls(&parts).into_iter().map(|(id, ..)| id).collect();
        assert_eq!(called, ["a", "b"]);
    }
}

/// [OA-32]
#[tokio::test]
async fn an_index_is_a_label_and_no_position() {
    let body = [
        ch(r#"{"content":"Let me look."}"#),
        piece(r#""index":1,"id":"a""#, "f", "{}"),
        piece(r#""index":4,"id":"b""#, "g", "{}"),
    ];
    assert_eq!(of(&body).await, [call("a", "f", "{}"), call("b", "g", "{}")]);
    let huge = [
        piece(r#""index":-1,"id":"a""#, "f", "{}"),
        piece(r#""index":9223372036854775807,"id":"b""#, "g", "{}"),
    ];
    assert_eq!(of(&huge).await.len(), 2);
    let texts = [
        piece(r#""index":"1","id":"a""#, "f", "{"),
        piece(r#""index":"2","id":"b""#, "g", "{"),
        piece(r#""index":"1""#, "", "}"),
        piece(r#""index":"2""#, "", "}"),
    ];
    assert_eq!(of(&texts).await, [call("a", "f", "{}"), call("b", "g", "{}")]);
}

/// [OA-33]
#[tokio::test]
async fn empty_and_null_fields_say_nothing() {
    let body = [
        piece(r#""index":0,"id":"call_a""#, "bash", ""),
        tc(r#"{"index":0,"id":"","function":{"name":"","arguments":"{\"c\":"}}"#),
        tc(r#"{"index":0,"id":null,"type":null,"function":{"name":null,"arguments":"1}"}}"#),
        tc(r#"{"index":0,"id":null,"function":null}"#),
        tc("{}"),
    ];
    assert_eq!(of(&body).await, [call("call_a", "bash", r#"{"c":1}"#)]);
    let numbers = [tc(r#"{"index":0,"id":42,"function":{"name":"f","arguments":"{}"}}"#)];
    assert_eq!(of(&numbers).await, [call("42", "f", "{}")]);
}

/// [OA-34]
#[tokio::test]
async fn a_name_may_be_repeated_or_come_in_pieces() {
    let repeated = [
        piece(r#""index":0,"id":"a""#, "get_item", ""),
        piece(r#""index":0"#, "get_item", r#"{"i""#),
        piece(r#""index":0,"id":"a""#, "get_item", ":1}"),
        piece(r#""index":0"#, "get_item", ""),
    ];
    assert_eq!(of(&repeated).await, [call("a", "get_item", r#"{"i":1}"#)]);
    let pieces = [
        piece(r#""id":"a""#, "sear", ""),
        piece(r#""id":"a""#, "ch_web", ""),
        piece(r#""id":"a""#, "", "{}"),
    ];
    assert_eq!(of(&pieces).await, [call("a", "search_web", "{}")]);
    let (parts, _) = stream("generic", pieces.concat()).await;
    let names: Vec<_> = parts
        .iter()
        .filter_map(|part| match part {
            StreamPart::ToolInputStart { tool_name, .. } => Some(tool_name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(names, ["search_web"]);
}

/// [OA-34]
#[tokio::test]
async fn a_start_waits_for_a_piece_of_input_without_a_piece_of_the_name() {
    let last = piece(r#""index":0"#, "", "1}");
    let first = |name: &str, input: &str| piece(r#""index":0,"id":"a""#, name, input);
    for (shown, pieces) in [
        ("search_web", vec![first("sear", ""), first("ch_web", r#"{"x":"#), last.clone()]),
        ("search_web", vec![first("sear", "{"), first("ch_web", r#""x":"#), last.clone()]),
        ("search_web", vec![first("sear", "{"), first("ch_", r#""x""#), first("web", ":"), last.clone()]),
        ("search_web", vec![first("search_web", r#"{"x":1}"#)]),
        // Too late to be shown; the call has all of it.
        ("sear", vec![first("sear", ""), piece(r#""index":0"#, "", r#"{"x":"#), first("ch_web", "1}")]),
    ] {
        let body = [pieces.concat(), fin(r#""tool_calls""#), DONE.into()].concat();
        let (parts, error) = stream("generic", body).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(calls(&parts), [call("a", "search_web", r#"{"x":1}"#)]);
        let start = parts.iter().find_map(|part| match part {
            StreamPart::ToolInputStart { tool_name, .. } => Some(tool_name.as_str()),
            _ => None,
        });
        assert_eq!(start, Some(shown), "{pieces:?}");
        let input: String = parts
            .iter()
            .filter_map(|part| match part {
                StreamPart::ToolInputDelta { delta, .. } => Some(delta.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(input, r#"{"x":1}"#);
    }
    // A call that is whole in one piece is shown at once, not at the end.
    let body = [first("search_web", "{}"), ch(r#"{"content":"then"}"#)].concat();
    let (parts, _) = stream("generic", body).await;
    let at = |wanted: fn(&StreamPart) -> bool| parts.iter().position(wanted).unwrap();
    assert!(
        at(|part| matches!(part, StreamPart::ToolInputStart { .. }))
            < at(|part| matches!(part, StreamPart::TextStart { .. }))
    );
}

/// [OA-43]
#[tokio::test]
async fn a_signature_in_a_piece_of_its_own_is_the_calls() {
    let signed = |labels: &str| {
        tc(&format!(r#"{{{labels}"extra_content":{{"google":{{"thought_signature":"sig"}}}}}}"#))
    };
    let first = piece(r#""index":0,"id":"a""#, "f", r#"{"x":"#);
    let rest = piece(r#""index":0"#, "", "1}");
    let bare = signed("");
    for pieces in [
        [first.clone(), rest.clone(), signed(r#""index":0,"#)],
        [first.clone(), rest.clone(), signed(r#""id":"a","#)],
        [first.clone(), rest.clone(), bare.clone()],
        [first.clone(), signed(r#""index":0,"id":"","function":{"name":"","arguments":""},"#), rest.clone()],
        [signed(r#""index":0,"#), first.clone(), rest.clone()],
        [bare.clone(), first.clone(), rest.clone()],
    ] {
        let body = [pieces.concat(), fin(r#""tool_calls""#), DONE.into()].concat();
        let (parts, error) = stream("generic", body).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(calls(&parts), [call("a", "f", r#"{"x":1}"#)], "{pieces:?}");
        let signatures: Vec<_> = parts
            .iter()
            .filter_map(|part| match part {
                StreamPart::ToolCall(call) => {
                    Some(call.metadata.as_ref()?.get("generic")?["thoughtSignature"].clone())
                }
                _ => None,
            })
            .collect();
        assert_eq!(signatures, ["sig"], "{pieces:?}");
    }

    // Of several calls, nothing says whose it is.
    let two = [piece(r#""id":"a""#, "f", "{}"), piece(r#""id":"b""#, "g", "{}")].concat();
    let (parts, error) =
        stream("generic", [two.clone(), bare.clone(), fin(r#""tool_calls""#)].concat()).await;
    assert_eq!((error.unwrap().class(), calls(&parts).len()), (ErrorClass::Protocol, 0));
    // It is no call of its own, and does not say which call was cut.
    let (parts, error) = stream("generic", [ch(r#"{"content":"t"}"#), bare, fin(r#""stop""#)].concat()).await;
    assert!(error.is_none(), "{error:?}");
    assert!(!parts.iter().any(|part| matches!(part, StreamPart::ToolInputStart { .. })), "{parts:?}");
    let (parts, _) = stream("generic", [two, signed(r#""id":"a","#), fin(r#""length""#)].concat()).await;
    assert_eq!(calls(&parts), [call("b", "g", "{}")]);
}

/// [OA-35]
#[tokio::test]
async fn pieces_of_parallel_calls_may_interleave() {
    let body = [
        piece(r#""index":0,"id":"A""#, "f", ""),
        piece(r#""index":1,"id":"B""#, "g", ""),
        piece(r#""index":0"#, "", r#"{"t":"A"#),
        piece(r#""index":1"#, "", r#"{"t":"B"#),
        piece(r#""index":0"#, "", r#""}"#),
        piece(r#""index":1"#, "", r#""}"#),
    ];
    let both = [call("A", "f", r#"{"t":"A"}"#), call("B", "g", r#"{"t":"B"}"#)];
    assert_eq!(of(&body).await, both);
    // An id says more than an index.
    let by_id = [
        piece(r#""index":0,"id":"A""#, "f", r#"{"t":"#),
        piece(r#""index":1,"id":"B""#, "g", r#"{"t":"#),
        tc(r#"{"id":"A","function":{"arguments":"\"A\"}"}}"#),
        tc(r#"{"index":0,"id":"B","function":{"arguments":"\"B\"}"}}"#),
    ];
    assert_eq!(of(&by_id).await, both);
}

/// [OA-36]
#[tokio::test]
async fn input_may_be_blank_missing_or_an_object() {
    for (given, input) in [
        (r#","arguments":"""#, "{}"),
        (r#","arguments":"  ""#, "{}"),
        (r#","arguments":null"#, "{}"),
        ("", "{}"),
        (r#","arguments":{}"#, "{}"),
        (r#","arguments":{"city": "Paris", "a":1}"#, r#"{"city": "Paris", "a":1}"#),
        (r#","arguments":"null""#, "null"),
        (r#","arguments":"{\"a\": 1 }""#, r#"{"a": 1 }"#),
    ] {
        let entry = format!(r#"{{"id":"a","function":{{"name":"f"{given}}}}}"#);
        assert_eq!(of(&[tc(&entry)]).await, [call("a", "f", input)], "{given}");
        let body = format!(
            r#"{{"choices":[{{"message":{{"tool_calls":[{entry}]}},"finish_reason":"tool_calls"}}]}}"#
        );
        let (parts, error) = whole("generic", body).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(calls(&parts), [call("a", "f", input)], "{given}");
    }
}

/// [OA-37]
#[tokio::test]
async fn a_call_that_an_answer_broke_off_in_is_never_complete() {
    for reason in [r#""length""#, r#""content_filter""#, r#""error""#] {
        for rest in [r#"{"path":"a.txt","content":"hel"#, r#"{"path":"a.txt"}"#, ""] {
            let body = [
                piece(r#""index":0,"id":"a""#, "f", r#"{"x":1}"#),
                piece(r#""index":1,"id":"b""#, "write", rest),
                fin(reason),
                DONE.into(),
            ];
            let (parts, error) = stream("openai", body.concat()).await;
            assert!(error.is_none(), "{error:?}");
            let (folded, _) = fold(futures_util::stream::iter(parts.into_iter().map(Ok))).await;
            let whole: Vec<_> = folded.message.tool_calls().map(|call| call.id.as_str()).collect();
            assert_eq!(whole, ["a"], "{reason} {rest}");
            let [cut] = folded.incomplete_calls.as_slice() else { panic!("{folded:?}") };
            assert_eq!((cut.id.as_str(), cut.name.as_str(), cut.input.as_str()), ("b", "write", rest));
        }
    }
    // The piece that came last belongs to the call that was cut.
    let interleaved = [
        piece(r#""index":0,"id":"a""#, "f", r#"{"x":"#),
        piece(r#""index":1,"id":"b""#, "g", "{}"),
        piece(r#""index":0"#, "", "1}"),
        fin(r#""length""#),
        DONE.into(),
    ];
    let (parts, _) = stream("openai", interleaved.concat()).await;
    assert_eq!(calls(&parts), [call("b", "g", "{}")]);
    // A call that is not the last may be cut all the same.
    let both = [
        piece(r#""index":0,"id":"a""#, "f", r#"{"x":"#),
        piece(r#""index":1,"id":"b""#, "g", r#"{"y":"#),
        fin(r#""length""#),
        DONE.into(),
    ];
    let (parts, _) = stream("openai", both.concat()).await;
    assert_eq!(calls(&parts), []);
}

/// [OA-42]
#[tokio::test]
async fn complete_calls_come_out_whatever_the_reason_is_called() {
    for (reason, unified) in [("stop", UnifiedFinish::Stop), ("eos", UnifiedFinish::Other)] {
        let body = [
            ch(r#"{"content":"On it."}"#),
            piece(r#""index":0,"id":"a""#, "f", "{}"),
            piece(r#""index":1,"id":"b""#, "g", ""),
            fin(&format!("{reason:?}")),
            DONE.into(),
        ];
        let (parts, _) = stream("openai", body.concat()).await;
        assert_eq!(calls(&parts), [call("a", "f", "{}"), call("b", "g", "{}")]);
        assert_eq!(finish(&parts).reason.unified, unified);
    }
}

/// [OA-38]
#[tokio::test]
async fn a_missing_id_is_made_and_a_given_one_kept() {
    let body = [piece(r#""index":0"#, "w", r#"{"a":1}"#), piece(r#""index":1"#, "w", r#"{"b":2}"#)];
    let made = of(&body).await;
    assert_eq!(made.len(), 2);
    assert!(made.iter().all(|(id, ..)| id.starts_with("call_")), "{made:?}");
    assert_ne!(made[0].0, made[1].0);
    assert_eq!(of(&body).await, made, "the same request gives the same ids");
    let next_step = support::model(support::dialect("generic"), {
        let body = [body.concat(), fin(r#""tool_calls""#), DONE.into()].concat();
        ai_testkit::MemoryTransport::new().reply(ai_testkit::MemoryReply::sse(body))
    });
    let request = ai_provider::Request::new([ai_provider::Message::user("Hi")]);
    let (parts, _) = ai_testkit::collect(next_step.stream(request, ai_provider::CallContext::new())).await;
    assert!(calls(&parts).iter().all(|(id, ..)| made.iter().all(|(earlier, ..)| id != earlier)));

    let bare = [piece("", "f", r#"{"x":"#), tc(r#"{"id":"late","function":{"arguments":"1}"}}"#)];
    assert_eq!(of(&bare).await, [call("late", "f", r#"{"x":1}"#)]);
    let late = [piece(r#""index":0"#, "f", r#"{"x":"#), piece(r#""index":0,"id":"late""#, "", "1}")];
    assert_eq!(of(&late).await, [call("late", "f", r#"{"x":1}"#)]);
}

/// [OA-39]
#[tokio::test]
async fn whole_calls_are_told_apart_even_without_labels() {
    let named = |name: &str| piece("", name, r#"{"x":1}"#);
    let three = of(&[named("f"), named("g"), named("g")]).await;
    assert_eq!(three.iter().map(|(_, name, _)| name.as_str()).collect::<Vec<_>>(), ["f", "g", "g"]);
    assert!(three.iter().all(|(.., input)| input == r#"{"x":1}"#));

    let braces = r#"{"x":"}\"{[","y":[{}]}"#;
    let pair = of(&[piece("", "f", braces), piece("", "g", braces)]).await;
    assert_eq!(pair.iter().map(|(.., input)| input.as_str()).collect::<Vec<_>>(), [braces; 2]);

    // An id made of the tool's name: the second call gets one of ours.
    let same_id = of(&[
        piece(r#""index":0,"id":"w""#, "w", r#"{"a":1}"#),
        piece(r#""index":1,"id":"w""#, "w", r#"{"b":2}"#),
    ])
    .await;
    assert_eq!(same_id[0], call("w", "w", r#"{"a":1}"#));
    assert_eq!(same_id[1].2, r#"{"b":2}"#);
    assert_ne!(same_id[1].0, "w");
    let entries = r#"{"id":"w","function":{"name":"w","arguments":"{}"}}"#;
    let body = format!(
        r#"{{"choices":[{{"message":{{"tool_calls":[{entries},{entries}]}},"finish_reason":"tool_calls"}}]}}"#
    );
    let (parts, _) = whole("generic", body).await;
    let both = calls(&parts);
    assert_eq!(both.len(), 2);
    assert_ne!(both[0].0, both[1].0);
}

/// [OA-40]
#[tokio::test]
async fn a_name_may_come_late_or_never() {
    let late = [piece(r#""index":0,"id":"a""#, "", r#"{"x":"#), piece(r#""index":0"#, "f", "1}")];
    assert_eq!(of(&late).await, [call("a", "f", r#"{"x":1}"#)]);
    let never = [piece(r#""index":0,"id":"a""#, "", r#"{"x":1}"#)];
    assert_eq!(of(&never).await, [call("a", "", r#"{"x":1}"#)]);
}

/// [OA-41]
#[tokio::test]
async fn calls_and_names_without_end_are_too_large() {
    let many: String =
        (0..1_025).map(|at| piece(&format!(r#""index":{at},"id":"c{at}""#), "f", "{}")).collect();
    let (_, error) = stream("generic", many).await;
    assert_eq!(error.unwrap().class(), ErrorClass::TooLarge);
    let name: String = (0..300).map(|at| piece(r#""index":0,"id":"a""#, &format!("n{at}_"), "")).collect();
    let (_, error) = stream("generic", name).await;
    assert_eq!(error.unwrap().class(), ErrorClass::TooLarge);
}

/// [OA-41]
#[tokio::test]
async fn inputs_without_end_are_too_large() {
    let piece = piece(r#""index":0,"id":"a""#, "f", &"x".repeat(1 << 20));
    let (parts, error) = stream("generic", piece.repeat(65)).await;
    assert_eq!(error.unwrap().class(), ErrorClass::TooLarge);
    assert_eq!(calls(&parts), []);
}
