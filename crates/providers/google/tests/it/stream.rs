//! The course of an answer: how it begins, how it ends, and what is harmless in between.

use ai_provider::{Delivery, ErrorClass, ResponseMetadata, StreamPart};
use ai_testkit::{Cut, MemoryReply};
use bytes::Bytes;

use crate::support::*;

fn class(outcome: &Outcome) -> ErrorClass {
    outcome.1.as_ref().expect("an error").class()
}

/// [GG-3]
#[tokio::test]
async fn a_character_is_whole_wherever_it_is_cut() {
    let body = Bytes::from(gm(r#"[{"text":"北🙂é"}]"#) + &stop());
    for at in 0..body.len() {
        let (parts, error) = decoded(Delivery::Stream, body.clone(), Cut::At(vec![at])).await;
        assert_eq!((text(&parts).as_str(), error), ("北🙂é", None));
    }
}

/// [GG-4]
#[tokio::test]
async fn what_holds_nothing_is_harmless() {
    let body = [
        "retry: 3000\n\n: ping\n\nid: 7\n\ndata:\n\ndata:  \n\n",
        &data("{}"),
        &data(r#"{"usageMetadata":{"trafficType":"ON_DEMAND"}}"#),
        &data(r#"{"candidates":[]}"#),
        &data(r#"{"candidates":[{}]}"#),
        &data(r#"{"candidates":[{"content":{}}]}"#),
        &data(r#"{"candidates":[{"content":{"role":"model"}}]}"#),
        &gm("[]"),
        &gm("[{}]"),
        &gm(r#"[{"text":""}]"#),
        &gm(r#"[{"text":"ab"}]"#),
        ": ping\n\n",
        &stop(),
    ];
    let parts = good(body.concat()).await;
    assert_eq!(text(&parts), "ab");
    assert_eq!(parts.len(), 5, "start, text of three parts, finish: {parts:?}");
}

/// [GG-5]
#[tokio::test]
async fn a_last_event_needs_no_blank_line_but_must_be_whole() {
    let begin = gm(r#"[{"text":"hi"}]"#);
    let last = r#"data: {"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":1}}"#;
    for end in ["\n\n", "\n", ""] {
        let parts = good(format!("{begin}{last}{end}")).await;
        assert_eq!((text(&parts).as_str(), reason(&parts)), ("hi", ("stop", "STOP".into())));
        let usage = finish(&parts).usage;
        assert_eq!((usage.input.total, usage.output.total), (Some(3), Some(1)));
    }
    for length in 0..last.len() {
        let outcome = stream(format!("{begin}{}", &last[..length])).await;
        assert_eq!((text(&outcome.0).as_str(), class(&outcome)), ("hi", ErrorClass::Incomplete), "{length}");
    }
}

/// [GG-7]
#[tokio::test]
async fn every_form_of_the_framing_gives_the_same() {
    let plain = gm(r#"[{"text":"a\ufeffb"}]"#) + &stop();
    let expected = stream(plain.clone()).await.0;
    assert_eq!(text(&expected), "a\u{feff}b");
    let comma = plain.replace(r#","finishReason""#, "\ndata: ,\"finishReason\"");
    for form in [
        plain.replace('\n', "\r\n"),
        plain.replace('\n', "\r"),
        plain.replace("\n\n", "\n\r\n"),
        plain.replace("data: ", "data:"),
        format!("\u{feff}{plain}"),
        comma,
    ] {
        assert_eq!(stream(form.clone()).await.0, expected, "{form:?}");
    }
}

/// [GG-8]
#[tokio::test]
async fn an_end_without_a_reason_is_incomplete() {
    let text_only = gm(r#"[{"text":"par"}]"#);
    let call = gm(r#"[{"functionCall":{"name":"f","willContinue":true}}]"#)
        + &gm(
            r#"[{"functionCall":{"partialArgs":[{"jsonPath":"$.a","stringValue":"x","willContinue":true}],"willContinue":true}}]"#,
        );
    for (body, shown) in [
        (String::new(), ""),
        (": x\n\n: x\n\n: x\n\n".into(), ""),
        (data("[DONE]"), ""),
        (data("{}"), ""),
        (text_only.clone(), "par"),
        (call, ""),
        (text_only.clone() + &text_only[..30], "par"),
    ] {
        let outcome = stream(body.clone()).await;
        assert_eq!(class(&outcome), ErrorClass::Incomplete, "{body}");
        assert!(outcome.1.as_ref().unwrap().retryable());
        assert_eq!(text(&outcome.0), shown);
        assert_eq!(calls(&outcome.0), []);
    }
}

/// [GG-9]
#[tokio::test]
async fn an_end_mark_behind_content_without_a_reason_is_a_missing_finish() {
    let outcome = stream(gm(r#"[{"text":"hi"}]"#) + &data("[DONE]")).await;
    assert_eq!((class(&outcome), text(&outcome.0).as_str()), (ErrorClass::MissingFinish, "hi"));
    for reason in ["", r#","finishReason":null"#, r#","finishReason":"""#, r#","finishReason":" ""#] {
        let body = format!(r#"{{"candidates":[{{"content":{{"parts":[{{"text":"hi"}}]}}{reason}}}]}}"#);
        let outcome = whole(body).await;
        assert_eq!(
            (class(&outcome), text(&outcome.0).as_str()),
            (ErrorClass::MissingFinish, "hi"),
            "{reason}"
        );
    }
    assert_eq!(class(&whole(r#"{"usageMetadata":{"promptTokenCount":3}}"#).await), ErrorClass::Incomplete);
}

/// [GG-10]
#[tokio::test]
async fn nothing_is_read_behind_the_reason() {
    let expected = good(end(r#"[{"text":"hi"}]"#, "STOP")).await;
    for behind in [
        gm(r#"[{"text":" more"}]"#),
        gm(r#"[{"functionCall":{"name":"f"}}]"#),
        data(r#"{"error":{"code":500,"message":"late"}}"#),
        data("no JSON"),
        data("[DONE]"),
        data(r#"{"usageMetadata":{"promptTokenCount":3}}"#),
    ] {
        assert_eq!(good(end(r#"[{"text":"hi"}]"#, "STOP") + &behind).await, expected, "{behind}");
    }
}

/// [GG-11]
#[tokio::test]
async fn a_frame_of_another_form_names_its_event() {
    for frame in [
        "no JSON",
        "{\"candidates\":",
        "7",
        "\"text\"",
        r#"{"candidates":7}"#,
        r#"{"candidates":[{"content":7}]}"#,
        r#"{"candidates":[{"content":{"parts":"x"}}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":{}}]}}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"functionCall":7}]}}]}"#,
        "[7]",
        r#"{"candidates":[{"content":{"parts":[{"executableCode":7}]}}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"image/png","data":"§"}}]}}]}"#,
    ] {
        let outcome = stream(gm(r#"[{"text":"hi"}]"#) + &data("{}") + &data(frame)).await;
        assert_eq!((class(&outcome), text(&outcome.0).as_str()), (ErrorClass::Protocol, "hi"), "{frame}");
        let error = outcome.1.unwrap();
        assert!(error.message().contains("event 3"), "{error}");
        assert!(!error.retryable());
    }
}

/// [GG-12]
#[tokio::test]
async fn fields_that_are_null_missing_unknown_or_of_a_near_type_are_tolerated() {
    let body = [
        data(
            r#"{"candidates":null,"usageMetadata":null,"modelVersion":null,"responseId":7,"error":null,"promptFeedback":null}"#,
        ),
        data(
            r#"{"candidates":[null,{"index":null,"content":null,"finishReason":null,"groundingMetadata":null}]}"#,
        ),
        data(
            r#"{"candidates":[{"index":"0","content":{"parts":[null,{"text":"a","thought":null,"thoughtSignature":null,"functionCall":null,"new":1}],"role":null,"x":[]},"y":{}}],"z":1}"#,
        ),
        data(
            r#"{"candidates":[{"index":0.0,"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}],"error":{},"usageMetadata":{"promptTokenCount":"3","candidatesTokenCount":null,"thoughtsTokenCount":2.0}}"#,
        ),
    ];
    let parts = good(body.concat()).await;
    assert_eq!(text(&parts), "ab");
    let usage = finish(&parts).usage;
    assert_eq!((usage.input.total, usage.output.total, usage.output.text), (Some(3), Some(2), None));
}

/// [GG-13]
#[tokio::test]
async fn only_the_first_candidate_is_read() {
    let body = data(
        r#"{"candidates":[{"index":1,"content":{"parts":[{"text":"no"}]},"finishReason":"MAX_TOKENS"},{"content":{"parts":[{"text":"yes"}]}}]}"#,
    );
    let parts = good(body + &stop()).await;
    assert_eq!((text(&parts).as_str(), reason(&parts).0), ("yes", "stop"));
}

/// [GG-14]
#[tokio::test]
async fn who_answers_is_told_once_as_soon_as_it_is_known() {
    let named = |id: &str| {
        data(&format!(
            r#"{{"modelVersion":"gemini-3-pro-001","responseId":"{id}","candidates":[{{"content":{{"parts":[{{"text":"a"}}]}}}}]}}"#
        ))
    };
    let parts = good(gm(r#"[{"text":"x"}]"#) + &named("r1") + &named("r2") + &stop()).await;
    let told: Vec<_> = parts
        .iter()
        .filter_map(|part| match part {
            StreamPart::ResponseMetadata(metadata) => Some((**metadata).clone()),
            _ => None,
        })
        .collect();
    let expected = ResponseMetadata {
        id: Some("r1".into()),
        timestamp: None,
        asked_model: Some("gemini-3-pro-preview".into()),
        model: Some("gemini-3-pro-001".into()),
    };
    assert_eq!(told, [expected]);
}

/// [GG-17]
#[tokio::test]
async fn finish_reasons_have_one_meaning_each() {
    for (raw, unified) in [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content-filter"),
        ("RECITATION", "content-filter"),
        ("BLOCKLIST", "content-filter"),
        ("PROHIBITED_CONTENT", "content-filter"),
        ("SPII", "content-filter"),
        ("IMAGE_SAFETY", "content-filter"),
        ("IMAGE_RECITATION", "content-filter"),
        ("IMAGE_PROHIBITED_CONTENT", "content-filter"),
        ("MALFORMED_FUNCTION_CALL", "error"),
        ("LANGUAGE", "other"),
        ("OTHER", "other"),
        ("A_NEW_ONE", "other"),
    ] {
        assert_eq!(reason(&good(end(r#"[{"text":"a"}]"#, raw)).await), (unified, raw.to_owned()));
        // An answer may hold nothing but its reason.
        assert_eq!(
            reason(&good(data(&format!(r#"{{"candidates":[{{"finishReason":"{raw}"}}]}}"#))).await).0,
            unified
        );
    }
    let whole = whole(r#"{"candidates":[{"finishReason":"SAFETY","index":0}]}"#).await;
    assert_eq!(reason(&whole.0), ("content-filter", "SAFETY".into()));
}

/// [GG-28]
#[tokio::test]
async fn a_reason_that_says_none_ends_nothing() {
    let unspecified = |words: &str| end(&format!(r#"[{{"text":"{words}"}}]"#), "FINISH_REASON_UNSPECIFIED");
    let parts = good(unspecified("a") + &unspecified("b") + &stop()).await;
    assert_eq!((text(&parts).as_str(), reason(&parts)), ("ab", ("stop", "STOP".into())));
    let parts = good(unspecified("a")).await;
    assert_eq!(reason(&parts), ("other", "FINISH_REASON_UNSPECIFIED".into()));
    let outcome = stream(end("[]", "FINISH_REASON_UNSPECIFIED")).await;
    assert_eq!(class(&outcome), ErrorClass::Incomplete);
}

/// [GG-18]
#[tokio::test]
async fn a_refused_prompt_is_a_content_filter_finish() {
    let feedback = r#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":4},"modelVersion":"m"}"#;
    for outcome in [stream(data(feedback)).await, whole(feedback).await] {
        assert!(outcome.1.is_none());
        assert_eq!(reason(&outcome.0), ("content-filter", "PROHIBITED_CONTENT".into()));
        let finish = finish(&outcome.0);
        assert_eq!(finish.usage.input.total, Some(4));
        assert_eq!(values(&finish.metadata)["promptFeedback"]["blockReason"], "PROHIBITED_CONTENT");
    }
    let rated = data(r#"{"promptFeedback":{"safetyRatings":[]}}"#);
    let unspecified = data(r#"{"promptFeedback":{"blockReason":"BLOCK_REASON_UNSPECIFIED"}}"#);
    let parts = good(rated + &unspecified + &end(r#"[{"text":"a"}]"#, "STOP")).await;
    assert_eq!((text(&parts).as_str(), reason(&parts).0), ("a", "stop"));
}

/// [GG-21]
#[tokio::test]
async fn one_body_gives_the_parts_of_a_stream() {
    let frames = [
        r#"{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"a"}]}}],"responseId":"r"}"#,
        r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"x":1}},"thoughtSignature":"S"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1}}"#,
    ];
    let expected = good(frames.map(data).concat()).await;
    let list = format!("[{}\n,\r\n{}]", frames[0], frames[1]);
    let together = r#"{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"a"},{"functionCall":{"name":"f","args":{"x":1}},"thoughtSignature":"S"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1},"responseId":"r"}"#;
    for delivery in [Delivery::Whole, Delivery::Stream] {
        for body in [list.as_str(), together] {
            let (parts, error) = run(delivery, MemoryReply::ok(body.to_owned())).await;
            assert_eq!((parts, error.is_none()), (expected.clone(), true), "{delivery:?} {body}");
        }
    }
    let cut = whole(format!("[{}]", frames[0])).await;
    assert_eq!(class(&cut), ErrorClass::MissingFinish);
}

/// [GG-26]
#[tokio::test]
async fn a_character_cut_into_two_escapes_is_put_together() {
    let parts = good(gm(r#"[{"text":"a\ud83d"}]"#) + &gm(r#"[{"text":"\ude42b"}]"#) + &stop()).await;
    assert_eq!(text(&parts), "a🙂b");
    let parts = good(gm(r#"[{"text":"\ud83d","thought":true}]"#) + &gm(r#"[{"text":"b"}]"#) + &stop()).await;
    assert_eq!((reasoning(&parts).as_str(), text(&parts).as_str()), ("\u{fffd}", "b"));
    let outcome = stream(gm(r#"[{"functionCall":{"name":"\ud83d"}}]"#)).await;
    assert_eq!(class(&outcome), ErrorClass::Protocol);
}

/// [GG-32]
#[tokio::test]
async fn a_frame_of_text_alone_is_read_as_any_other() {
    let frame = |part: &str, rest: &str, odd: &str| {
        data(&format!(
            r#"{{"candidates":[{{"content":{{"parts":[{part}]{odd}}},"index":0{rest}}}],"usageMetadata":{{"promptTokenCount":3,"candidatesTokenCount":"4","promptTokensDetails":[{{"modality":"TEXT"}}]}},"modelVersion":"m","responseId":"r","createTime":"t"}}"#
        ))
    };
    for part in [
        r#"{"text":"a\n🙂"}"#,
        r#"{"text":"\"ü"}"#,
        r#"{"text":""}"#,
        r#"{"text":"t","thought":true}"#,
        r#"{"thought":false,"text":"t"}"#,
        r#"{"text":"a","thoughtSignature":"S"}"#,
        r#"{"text":"a"},{"text":"b"}"#,
        r#"{"text":null}"#,
        r#"{"text":7}"#,
        "",
    ] {
        for rest in ["", r#","safetyRatings":[{"a":1.5}]"#, r#","finishReason":null"#] {
            let plain = stream(frame(part, rest, "") + &stop()).await;
            let odd = stream(frame(part, rest, r#","odd":[]"#) + &stop()).await;
            assert_eq!((plain.0, plain.1.is_some()), (odd.0, odd.1.is_some()), "{part} {rest}");
        }
    }
    let second = frame(r#"{"text":"no"}"#, "", "").replace(r#""index":0"#, r#""index":1"#);
    assert_eq!(text(&good(second + &stop()).await), "");
}
