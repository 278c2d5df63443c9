//! What a row changes in the reading of an answer.

use ai_http::{CallInfo, Codec, Endpoint, IdSeed};
use ai_openai::ChatCodec;
use ai_provider::{ApiKey, CallContext, Delivery, Message, Request, RequestId, TargetId};
use ai_testkit::{Cut, MemoryReply, MemoryTransport};
use serde_json::{Value, json};

use crate::hi;
use crate::support::history::{assistant, result, said};
use crate::support::{self, DONE, ch, decoded, dialect, fin, reasoning, run, text};

/// [OA-128]
#[tokio::test]
async fn reasoning_between_tags_is_told_from_text_whatever_the_cuts() {
    let chars = |text: &str| -> Vec<String> { text.chars().map(String::from).collect() };
    for (pieces, expected_reasoning, expected_text) in [
        (
            vec!["<thi".into(), "nk>plan</th".into(), "ink>Answer: a <".into(), " b".into()],
            "plan",
            "Answer: a < b",
        ),
        (chars("<think>\n\nplan a<b</think>\n\nAnswer: a < b"), "plan a<b", "Answer: a < b"),
        (chars("a <thin b <think>x</think> c<think>y</think>"), "xy", "a <thin b c"),
        (vec!["x</think>y<".into()], "", "x</think>y<"),
        (vec!["<think>cut off</thi".into()], "cut off</thi", ""),
        (vec!["<think></think>".into(), "  \n".into(), " é".into()], "", "é"),
        (chars("北<think>🙂</think>京"), "🙂", "北京"),
    ] {
        let deltas: String = pieces.iter().map(|piece| ch(&json!({"content": piece}).to_string())).collect();
        let body = deltas + &fin("\"stop\"") + DONE;
        let mut tagged = dialect("generic");
        tagged.reasoning_tag = Some("think".into());
        for cut in [Cut::Whole, Cut::Every(1)] {
            let (parts, error) = decoded(tagged.clone(), Delivery::Stream, body.clone(), cut).await;
            assert_eq!(error, None);
            assert_eq!(
                (reasoning(&parts).as_str(), text(&parts).as_str()),
                (expected_reasoning, expected_text),
                "{pieces:?}"
            );
        }
        let whole = json!({"choices": [{"message": {"content": pieces.concat()}, "finish_reason": "stop"}]});
        let (parts, _) = decoded(tagged, Delivery::Whole, whole.to_string(), Cut::Whole).await;
        assert_eq!((reasoning(&parts).as_str(), text(&parts).as_str()), (expected_reasoning, expected_text));
        // Elsewhere tags are text like any other.
        let (parts, _) = decoded(dialect("generic"), Delivery::Stream, body, Cut::Whole).await;
        assert_eq!((reasoning(&parts).as_str(), text(&parts)), ("", pieces.concat()));
    }
}

/// [OA-128]
#[tokio::test]
async fn a_held_beginning_of_a_tag_comes_out_before_a_call() {
    let body = ch(r#"{"content":"a <"}"#)
        + &support::tc(r#"{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}"#)
        + &fin("\"tool_calls\"")
        + DONE;
    let mut tagged = dialect("generic");
    tagged.reasoning_tag = Some("think".into());
    let (parts, error) = run(tagged, Delivery::Stream, MemoryReply::sse(body)).await;
    assert!(error.is_none());
    assert_eq!((text(&parts).as_str(), support::calls(&parts).len()), ("a <", 1));
}

/// [OA-129]
#[tokio::test]
async fn xai_repeats_reasoning_and_the_text_a_request_ends_with() {
    let body = ch(r#"{"reasoning_content":"hm"}"#)
        + &ch(r#"{"reasoning_content":"hm"}"#)
        + &ch(r#"{"reasoning_content":"so"}"#)
        + &ch(r#"{"reasoning_content":"hm"}"#)
        + &ch(r#"{"content":"Once upon"}"#)
        + &ch(r#"{"content":" a"}"#)
        + &ch(r#"{"content":" a"}"#)
        + &fin("\"stop\"")
        + DONE;
    for (name, expected_reasoning, expected_text) in
        [("xai", "hmsohm", " a a"), ("generic", "hmhmsohm", "Once upon a a")]
    {
        let transport = MemoryTransport::new().reply(MemoryReply::sse(body.clone()));
        let model = support::model(dialect(name), transport);
        let history = [Message::user("Tell"), assistant([said("Once "), said("upon")])];
        let (parts, error) =
            ai_testkit::collect(model.stream(Request::new(history), CallContext::new())).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(
            (reasoning(&parts).as_str(), text(&parts).as_str()),
            (expected_reasoning, expected_text),
            "{name}"
        );
    }
}

/// [OA-131]
#[tokio::test]
async fn reasoning_in_its_makers_own_form_goes_back_as_it_came() {
    let piece = |text: &str, details: Value| {
        ch(&json!({"content": "", "reasoning": text, "reasoning_details": details}).to_string())
    };
    let summary =
        |text: &str| json!([{"type": "reasoning.summary", "summary": text, "format": "f", "index": 0}]);
    let sealed =
        json!({"type": "reasoning.encrypted", "data": "E1", "id": "rs_1", "format": "f", "index": 0});
    let late = json!({"type": "reasoning.encrypted", "data": "E2", "id": "rs_2", "format": "f", "index": 1});
    let body = piece("pl", summary("pl"))
        + &piece("an", summary("an"))
        + &piece("", json!([{"type": "reasoning.text", "text": "t", "index": 0}]))
        + &piece("", json!([{"type": "reasoning.text", "text": "u", "signature": null, "index": 0}]))
        + &piece("", json!([{"type": "reasoning.text", "signature": "S", "index": 0}]))
        + &piece("", json!([sealed]))
        + &piece("", json!([]))
        + &ch(&json!({"content": "On it."}).to_string())
        + &ch(&json!({"reasoning_details": [late]}).to_string())
        + &support::tc(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#)
        + &fin("\"tool_calls\"")
        + DONE;
    let expected = json!([
        {"type": "reasoning.summary", "summary": "plan", "format": "f", "index": 0},
        {"type": "reasoning.text", "text": "tu", "signature": "S", "index": 0},
        sealed,
        late,
    ]);
    let model =
        support::model(dialect("openrouter"), MemoryTransport::new().reply(MemoryReply::sse(body.clone())));
    let (answer, error) = ai_testkit::fold(model.stream(hi(), CallContext::new())).await;
    assert!(error.is_none(), "{error:?}");
    let stored = serde_json::to_string(&answer.message).unwrap();
    let message: ai_provider::AssistantMessage = serde_json::from_str(&stored).unwrap();
    let history = || {
        Request::new([
            Message::user("Hi"),
            Message::Assistant(message.clone()),
            Message::tool([result("a", "1")]),
        ])
    };
    let sent = |model: &str, account: Option<&ai_provider::Account>| -> (Value, usize) {
        let target = TargetId::new("openrouter", model, support::ENDPOINT);
        let ids = IdSeed::new(&RequestId::from("r"));
        let info = CallInfo { target: &target, account, delivery: Delivery::Stream, ids };
        let codec = ChatCodec::new(dialect("openrouter"), Endpoint::base(support::ENDPOINT).unwrap());
        let (call, warnings) = codec.encode(&history(), &info).unwrap();
        (serde_json::from_slice::<Value>(&call.body).unwrap()["messages"][1].clone(), warnings.len())
    };
    let account = ApiKey::new("sk-secret-of-the-test").unwrap().account().clone();
    let (own, warnings) = sent("m", Some(&account));
    assert_eq!((&own["reasoning_details"], own.get("reasoning"), warnings), (&expected, None, 0));
    for (model, account) in [("other", Some(&account)), ("m", None)] {
        let (other, warnings) = sent(model, account);
        assert_eq!(
            (other.get("reasoning_details"), &other["reasoning"], warnings),
            (None, &json!("plan"), 1)
        );
    }
    // Elsewhere the field means nothing.
    let model = support::model(dialect("generic"), MemoryTransport::new().reply(MemoryReply::sse(body)));
    let (answer, error) = ai_testkit::fold(model.stream(hi(), CallContext::new())).await;
    assert!(error.is_none(), "{error:?}");
    assert!(!serde_json::to_string(&answer.message).unwrap().contains("encrypted"));
}
