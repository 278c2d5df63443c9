//! Characters cut into two deltas as escapes of JSON.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod support;

use ai_provider::{ErrorClass, StreamPart};
use support::{DONE, calls, ch, data, fin, reasoning, stream, tc, text};

/// [OA-27]
#[tokio::test]
async fn a_character_cut_into_two_deltas_comes_out_whole() {
    for field in ["content", "reasoning_content", "refusal"] {
        for between in ["", &ch(r#"{"content":""}"#), &ch(r#"{"role":"assistant"}"#), ": ping\n\n"] {
            let body = [
                ch(&format!(r#"{{"{field}":"a\ud83d"}}"#)),
                between.to_owned(),
                ch(&format!(r#"{{"{field}":"\uDE00b\ud83d"}}"#)),
                ch(&format!(r#"{{"{field}":"\ude00"}}"#)),
                fin(r#""stop""#),
                DONE.into(),
            ];
            let (parts, error) = stream("deepseek", body.concat()).await;
            assert!(error.is_none(), "{error:?}");
            assert_eq!(text(&parts) + &reasoning(&parts), "a😀b😀", "{field}");
            let empty = |part: &StreamPart| matches!(part, StreamPart::TextDelta { delta, .. } | StreamPart::ReasoningDelta { delta, .. } if delta.is_empty());
            assert!(!parts.iter().any(empty), "{parts:?}");
        }
    }
    // In parts of a list, and in a frame with more in it.
    let body = [
        ch(
            r#"{"content":[{"thinking":[{"text":"h\ud83d"},{"text":"\ude00"}]},{"text":"\ud83d"}],"tool_calls":null}"#,
        ),
        ch(r#"{"content":[{"text":"\ude00"}]}"#),
        fin(r#""stop""#),
    ];
    let (parts, error) = stream("mistral", body.concat()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!((text(&parts).as_str(), reasoning(&parts).as_str()), ("😀", "h😀"));
}

/// [OA-27]
#[tokio::test]
async fn half_a_character_whose_other_half_never_comes_is_shown_as_lost() {
    for (body, wanted) in [
        ([ch(r#"{"content":"a\ud83d"}"#), fin(r#""stop""#)], ("a\u{FFFD}", "")),
        ([ch(r#"{"content":"a\ud83d"}"#), fin(r#""length""#)], ("a\u{FFFD}", "")),
        (
            [ch(r#"{"content":"a\ud83d"}"#) + &ch(r#"{"content":"hi"}"#), fin(r#""stop""#)],
            ("a\u{FFFD}hi", ""),
        ),
        ([ch(r#"{"content":"\ude00 \ud83d b"}"#), fin(r#""stop""#)], ("\u{FFFD} \u{FFFD} b", "")),
        // The other half of another block is none.
        (
            [ch(r#"{"reasoning":"a\ud83d"}"#) + &ch(r#"{"content":"\ude00"}"#), fin(r#""stop""#)],
            ("\u{FFFD}", "a\u{FFFD}"),
        ),
        // What looks like a stand-in is text of the server's own.
        (
            [ch("{\"content\":\"a\u{10F83D}\"}") + &ch("{\"content\":\"\u{10FA00}\"}"), fin(r#""stop""#)],
            ("a\u{10F83D}\u{10FA00}", ""),
        ),
    ] {
        let (parts, error) = stream("generic", body.concat() + DONE).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!((text(&parts).as_str(), reasoning(&parts).as_str()), wanted, "{body:?}");
    }
    let (parts, error) = stream("generic", ch(r#"{"content":"a\ud83d"}"#)).await;
    assert_eq!((text(&parts).as_str(), error.unwrap().class()), ("a", ErrorClass::Incomplete));
    // A half where nothing goes on is no text.
    for frame in [
        r#"{"model":"\ud83d","choices":[]}"#.to_owned(),
        format!(r#"{{"choices":[{{"delta":{{"content":"{}\ud83d"}}}}]}}"#, '\u{10F800}'),
    ] {
        let (_, error) = stream("generic", [data(&frame), fin(r#""stop""#)].concat()).await;
        assert_eq!(error.unwrap().class(), ErrorClass::Protocol, "{frame}");
    }
    let failure = r#"{"error":{"message":"bad \ud83d","code":429}}"#;
    let (_, error) = stream("generic", [ch(r#"{"content":"hi"}"#), data(failure)].concat()).await;
    let error = error.unwrap();
    assert_eq!((error.class(), error.message()), (ErrorClass::RateLimit, "bad \u{FFFD}"));
}

/// [OA-27]
#[tokio::test]
async fn a_character_of_an_input_may_be_cut_into_two_pieces() {
    let some = |index: u8, input: &str| {
        tc(&format!(r#"{{"index":{index},"id":"c{index}","function":{{"name":"f","arguments":"{input}"}}}}"#))
    };
    let body = [
        some(0, r#"{\"x\":\"\ud83d"#),
        some(1, r#"{\"y\":\"\ud83c"#),
        some(0, r#"\ude00"#),
        some(1, r#"\udf0d\"}"#),
        some(0, r#"\"}"#),
    ];
    let (parts, error) = stream("generic", [body.concat(), fin(r#""tool_calls""#)].concat()).await;
    assert!(error.is_none(), "{error:?}");
    let inputs: Vec<_> = calls(&parts).into_iter().map(|(.., input)| input).collect();
    assert_eq!(inputs, [r#"{"x":"😀"}"#, r#"{"y":"🌍"}"#]);

    // No tool runs with a character that is lost.
    for pieces in [
        vec![some(0, r#"{\"x\":\"\ud83d\"}"#)],
        vec![some(0, r#"{\"x\":\"\ude00\"}"#)],
        vec![some(0, r#"{\"x\":\"\ud83d"#), some(0, r#"\"}"#)],
    ] {
        let (parts, error) = stream("generic", [pieces.concat(), fin(r#""tool_calls""#)].concat()).await;
        assert_eq!((error.unwrap().class(), calls(&parts).len()), (ErrorClass::Protocol, 0), "{pieces:?}");
    }
    let end = [some(0, r#"{\"x\":\"a\ud83d"#), fin(r#""tool_calls""#)].concat();
    let (parts, _) = stream("generic", end).await;
    assert_eq!(calls(&parts), [("c0".into(), "f".into(), "{\"x\":\"a\u{FFFD}".into())]);
}
