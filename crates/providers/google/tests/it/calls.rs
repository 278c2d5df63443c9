//! Function calls.

use std::collections::HashSet;

use ai_provider::{CallContext, Delivery, ErrorClass, Message, Request, StreamPart};
use ai_testkit::{MemoryReply, MemoryTransport, collect};

use crate::support::*;

fn call(name: &str, input: &str) -> (String, String) {
    (name.to_owned(), input.to_owned())
}

/// [GG-40]
#[tokio::test]
async fn a_call_in_one_part_comes_out_at_once() {
    let (parts, error) =
        stream(gm(r#"[{"text":"a"},{"functionCall":{"name":"f","args":{ "x" : [1.50, "ü"] }}}]"#)).await;
    assert_eq!(error.unwrap().class(), ErrorClass::Incomplete);
    let [called] = tool_calls(&parts).try_into().unwrap();
    assert_eq!((called.name.as_str(), called.input.as_str()), ("f", r#"{ "x" : [1.50, "ü"] }"#));
    assert_eq!(inputs(&parts), calls(&parts));
    assert_eq!(called.metadata, None);
}

/// [GG-42]
#[tokio::test]
async fn absent_arguments_are_an_empty_object() {
    for args in ["", r#","args":{}"#, r#","args":null"#] {
        let part = format!(r#"[{{"functionCall":{{"name":"f"{args}}}}}]"#);
        let whole =
            whole(format!(r#"{{"candidates":[{{"content":{{"parts":{part}}},"finishReason":"STOP"}}]}}"#))
                .await;
        for parts in [good(gm(&part) + &stop()).await, whole.0] {
            assert_eq!(calls(&parts), [call("f", "{}")], "{args}");
        }
    }
    let parts = good(gm(r#"[{"functionCall":{"name":"f","args":{"city":"Paris"}}}]"#) + &stop()).await;
    assert_eq!(calls(&parts), [call("f", r#"{"city":"Paris"}"#)]);
}

/// [GG-43]
#[tokio::test]
async fn calls_decide_what_a_stop_is() {
    let parts = good(end(r#"[{"functionCall":{"name":"f","args":{}}}]"#, "STOP")).await;
    assert_eq!(reason(&parts), ("tool-calls", "STOP".into()));
    let text = r#"{"text":"On it."}"#;
    let three =
        r#"{"functionCall":{"name":"f"}},{"functionCall":{"name":"f"}},{"functionCall":{"name":"g"}}"#;
    let parts = good(gm(&format!("[{text},{three}]")) + &stop()).await;
    assert_eq!((calls(&parts).len(), reason(&parts).0), (3, "tool-calls"));
    assert_eq!(reason(&good(gm(&format!("[{text}]")) + &stop()).await).0, "stop");
    for (raw, unified) in [("MAX_TOKENS", "length"), ("SAFETY", "content-filter"), ("OTHER", "other")] {
        assert_eq!(reason(&good(end(&format!("[{three}]"), raw)).await).0, unified);
    }
}

/// [GG-41]
#[tokio::test]
async fn a_given_id_is_kept_and_names_one_call() {
    let parts = good(
        gm(r#"[{"functionCall":{"id":"a","name":"f","args":{"x":1}}}]"#)
            + &gm(r#"[{"functionCall":{"id":"a","name":"f","args":{"x":1}}},{"functionCall":{"id":"a","name":"g"}},{"functionCall":{"id":7,"name":"h"}},{"functionCall":{"id":"","name":"i"}}]"#)
            + &stop(),
    )
    .await;
    let ids: Vec<_> =
        tool_calls(&parts).iter().map(|call| (call.id.to_string(), call.name.clone())).collect();
    assert_eq!(ids.len(), 4, "the repeated call counts once: {ids:?}");
    assert_eq!((ids[0].0.as_str(), ids[0].1.as_str()), ("a", "f"));
    assert!(ids[1].0.starts_with("gemini_") && ids[1].1 == "g");
    assert_eq!((ids[2].0.as_str(), ids[2].1.as_str()), ("7", "h"));
    assert!(ids[3].0.starts_with("gemini_") && ids[3].0 != ids[1].0);
}

/// [GG-52]
#[tokio::test]
async fn ids_of_ours_differ_within_an_answer_and_between_answers() {
    let two =
        gm(r#"[{"functionCall":{"name":"w","args":{}}},{"functionCall":{"name":"w","args":{}}}]"#) + &stop();
    let one = gm(r#"[{"functionCall":{"name":"w","args":{}}}]"#) + &stop();
    let answer = async |body: &str, request_id: &'static str| {
        let model = model("m", MemoryTransport::new().reply(MemoryReply::sse(body.to_owned())));
        let ctx = CallContext::new().with_request_id(request_id);
        let (parts, error) = collect(model.stream(Request::new([Message::user("Hi")]), ctx)).await;
        assert!(error.is_none());
        tool_calls(&parts).into_iter().map(|call| call.id).collect::<Vec<_>>()
    };
    let first = answer(&two, "request-1").await;
    assert_eq!(first, answer(&two, "request-1").await, "the same request gives the same ids");
    let second = answer(&one, "request-2").await;
    let all: HashSet<_> = first.iter().chain(&second).collect();
    assert_eq!(all.len(), 3);
}

/// [GG-51]
#[tokio::test]
async fn a_signature_is_of_the_call_it_came_with() {
    let signed = r#"[{"functionCall":{"name":"f","args":{}},"thoughtSignature":"S"}]"#;
    let parts = good(gm(signed) + &end(r#"[{"functionCall":{"name":"g","args":{}}}]"#, "STOP")).await;
    let signatures = |parts: &[StreamPart]| -> Vec<_> {
        tool_calls(parts).iter().map(|call| (call.name.clone(), signature(&call.metadata))).collect()
    };
    assert_eq!(signatures(&parts), [("f".into(), Some("S".into())), ("g".into(), None)]);

    // The repeat of a call says no more than the call.
    let parts = good(gm(signed) + &end(r#"[{"functionCall":{"name":"f","args":{}}}]"#, "STOP")).await;
    assert_eq!(signatures(&parts)[0], ("f".into(), Some("S".into())));
    let with_id = signed.replace(r#""name""#, r#""id":"a","name""#);
    let parts =
        good(gm(&with_id) + &end(r#"[{"functionCall":{"id":"a","name":"f","args":{}}}]"#, "STOP")).await;
    assert_eq!(signatures(&parts), [("f".into(), Some("S".into()))]);

    // Of a call in pieces, on any of them.
    for at in 0..3 {
        let pieces = [
            r#"{"functionCall":{"name":"f","willContinue":true}}"#,
            r#"{"functionCall":{"partialArgs":[{"jsonPath":"$.a","numberValue":1}],"willContinue":true}}"#,
            r#"{"functionCall":{}}"#,
        ];
        let body: Vec<_> = (0..3)
            .map(|piece| match piece == at {
                true => {
                    format!("[{},\"thoughtSignature\":\"S\"}}]", &pieces[piece][..pieces[piece].len() - 1])
                }
                false => format!("[{}]", pieces[piece]),
            })
            .map(|parts| gm(&parts))
            .collect();
        let parts = good(body.concat() + &stop()).await;
        assert_eq!(signatures(&parts), [("f".into(), Some("S".into()))], "{at}");
        assert_eq!(calls(&parts), [call("f", r#"{"a":1}"#)]);
    }
}

fn begin(fields: &str) -> String {
    gm(&format!(r#"[{{"functionCall":{{{fields},"willContinue":true}}}}]"#))
}

fn piece(id: &str, path: &str, value: &str, goes_on: bool) -> String {
    gm(&format!(
        r#"[{{"functionCall":{{{id}"partialArgs":[{{"jsonPath":"{path}",{value}}}],"willContinue":{goes_on}}}}}]"#
    ))
}

/// [GG-45]
#[tokio::test]
async fn a_call_in_pieces_ends_in_one_of_three_ways() {
    let head = begin(r#""name":"f""#) + &piece("", "$.a", r#""stringValue":"x","willContinue":true"#, true);
    let expected = [call("f", r#"{"a":"xy"}"#)];
    let more = |goes_on| piece("", "$.a", r#""stringValue":"y""#, goes_on);
    // By an empty piece, and by one that announces no other, which the empty one may follow. That the answer was
    // cut then says nothing about this call.
    let empty = gm(r#"[{"functionCall":{}}]"#);
    for ends in [more(true) + &empty, more(false), more(false) + &empty] {
        for last in [stop(), end("[]", "MAX_TOKENS")] {
            let parts = good(head.clone() + &ends + &last).await;
            assert_eq!((calls(&parts), inputs(&parts)), (expected.to_vec(), expected.to_vec()));
        }
    }
    // By the end of the answer, if the model stopped and no text is open.
    let parts = good(head.clone() + &more(true) + &stop()).await;
    assert_eq!((calls(&parts), reason(&parts).0), (expected.to_vec(), "tool-calls"));
    // A call that ends at once.
    let parts = good(begin(r#""name":"f""#) + &gm(r#"[{"functionCall":{}}]"#) + &stop()).await;
    assert_eq!((calls(&parts), inputs(&parts)), (vec![call("f", "{}")], vec![call("f", "{}")]));
}

/// [GG-49]
#[tokio::test]
async fn half_a_call_never_becomes_one() {
    let whole_call = gm(r#"[{"functionCall":{"name":"w"}}]"#);
    let open = begin(r#""name":"f""#) + &piece("", "$.a", r#""stringValue":"x","willContinue":true"#, true);
    let closed = begin(r#""name":"f""#) + &piece("", "$.a", r#""stringValue":"x""#, true);
    for body in [&open, &closed] {
        for raw in ["MAX_TOKENS", "SAFETY", "MALFORMED_FUNCTION_CALL", "OTHER"] {
            let parts = good(whole_call.clone() + body + &end("[]", raw)).await;
            assert_eq!(calls(&parts), [call("w", "{}")], "{raw}");
            assert!(inputs(&parts)[1].1.starts_with(r#"{"a":"x"#));
        }
    }
    let (parts, error) = stream(open + &stop()).await;
    let error = error.unwrap();
    assert_eq!((error.class(), error.retryable()), (ErrorClass::Incomplete, true));
    assert_eq!(calls(&parts), []);
}

/// [GG-47]
#[tokio::test]
async fn pieces_of_several_calls_need_their_ids() {
    let open = |id: &str| begin(&format!(r#""id":"{id}","name":"{id}""#));
    let text = |id: &str, text: &str| {
        let value = format!(r#""stringValue":"{text}","willContinue":true"#);
        piece(&format!(r#""id":"{id}","#), "$.t", &value, true)
    };
    let close = |id: &str| gm(&format!(r#"[{{"functionCall":{{"id":"{id}"}}}}]"#));
    let parts = good(
        open("a")
            + &open("b")
            + &text("a", "1")
            + &text("b", "2")
            + &text("a", "3")
            + &close("b")
            + &close("a")
            + &stop(),
    )
    .await;
    assert_eq!(calls(&parts), [call("b", r#"{"t":"2"}"#), call("a", r#"{"t":"13"}"#)]);

    let unnamed = piece("", "$.t", r#""stringValue":"x""#, true);
    for body in [open("a") + &open("b") + &unnamed, unnamed.clone()] {
        let (parts, error) = stream(body).await;
        assert_eq!((error.unwrap().class(), calls(&parts).len()), (ErrorClass::Protocol, 0));
    }
    // With one open, a piece without an id is that one's.
    let parts = good(open("a") + &unnamed + &close("a") + &stop()).await;
    assert_eq!(calls(&parts), [call("a", r#"{"t":"x"}"#)]);
}

/// [GG-50]
#[tokio::test]
async fn calls_without_end_are_too_large() {
    let call = |name: &str| format!(r#"{{"functionCall":{{"name":"{name}"}}}}"#);
    let many = vec![call("f"); 1_024].join(",");
    assert!(stream(gm(&format!("[{many}]")) + &stop()).await.1.is_none());
    let too_many = format!("[{many},{}]", call("f"));
    let too_long = format!("[{}]", call(&"n".repeat(1_025)));
    let code = vec![r#"{"executableCode":{"code":"x"}}"#; 1_025].join(",");
    for parts in [too_many, too_long, format!("[{code}]")] {
        assert_eq!(stream(gm(&parts) + &stop()).await.1.unwrap().class(), ErrorClass::TooLarge);
    }
    // No limit of the transport stands in the way of this one.
    let mut body = begin(r#""name":"f""#);
    let text = "x".repeat(4 << 20);
    for _ in 0..17 {
        body += &piece("", "$.a", &format!(r#""stringValue":"{text}","willContinue":true"#), true);
    }
    let (parts, error) = run(Delivery::Stream, MemoryReply::sse(body + &stop())).await;
    assert_eq!((error.unwrap().class(), calls(&parts).len()), (ErrorClass::TooLarge, 0));
}
