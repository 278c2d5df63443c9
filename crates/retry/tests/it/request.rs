//! What each target is sent.

use ai_provider::{
    AssistantMessage, AssistantPart, ErrorClass, Message, ModelError, Origin, ProviderMetadata,
    ProviderOptions, ReasoningEffort, ReasoningPart, Request, Settings, TextPart, ToolCall,
};
use retry::Fallback;
use serde_json::json;

use crate::support::{Stage, fails, fails_with, ok, policy, request, target};

/// [RT-90]
#[tokio::test(start_paused = true)]
async fn a_fallback_gets_the_neutral_request_and_what_it_states_itself() {
    let mut asked = request();
    asked.settings.temperature = Some(0.9);
    asked.settings.seed = Some(7);
    asked.extra_body.insert("only_primary".into(), json!(true));
    asked.extra_headers = vec![("x-only-primary".into(), Some("1".into()))];
    asked.options = ProviderOptions::default().with("a", "x", json!(1));
    let mut own = Settings::default();
    (own.temperature, own.max_output_tokens, own.reasoning) = (Some(0.1), Some(256), ReasoningEffort::Low);
    let options = ProviderOptions::default().with("b", "y", json!(2));
    let stage = Stage::new();
    let fallback = Fallback::to(stage.model("F", [fails(503), ok("hi")]))
        .with_retries(1)
        .with_settings(own)
        .with_options(options)
        .with_extra_body(json!({"mine": 1}).as_object().unwrap().clone())
        .with_extra_headers(vec![("x-mine".into(), Some("1".into()))]);
    let model = policy(0).with_fallback(fallback).wrap(stage.model("P", [fails(503)])).unwrap();
    stage.call_with(&*model, asked.clone(), stage.context()).await.answer();
    let calls = stage.calls();
    assert_eq!(calls[0].request, asked, "the primary gets the request as it is");
    // Its own retry has the same.
    for call in &calls[1..] {
        let request = &call.request;
        assert_eq!(request.messages, asked.messages);
        assert_eq!((request.settings.temperature, request.settings.seed), (Some(0.1), Some(7)));
        assert_eq!(
            (request.settings.max_output_tokens, request.settings.reasoning),
            (Some(256), ReasoningEffort::Low)
        );
        assert_eq!(json!(request.extra_body), json!({"mine": 1}));
        assert_eq!(request.extra_headers, [("x-mine".to_owned(), Some("1".to_owned()))]);
        assert!(request.options.get("a").is_some() && request.options.get("b").is_some());
    }
    assert_eq!(calls.len(), 3);
}

/// [RT-91]
#[tokio::test(start_paused = true)]
async fn the_id_of_a_request_is_new_where_its_body_may_differ_and_else_the_same() {
    let stage = Stage::new();
    let replies = [fails(503), fails(429), fails(503), fails(503), ok("hi")];
    let model = policy(9)
        .with_fallback(Fallback::to(stage.model("F", [fails(400)])))
        .wrap(stage.keyed("P", &["1", "2"], replies))
        .unwrap();
    stage.call(&*model).await.answer();
    let ids: Vec<_> = stage.calls().into_iter().map(|call| (call.name, call.request_id)).collect();
    let id = |at: usize| ids[at].1.as_str();
    assert_eq!(ids.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["1", "1", "2", "2", "2"]);
    assert_eq!((id(0), id(1)), ("r", "r"));
    assert_eq!((id(2), id(3)), (id(4), id(4)));
    assert_ne!(id(0), id(2));

    let stage = Stage::new();
    let model = policy(0)
        .with_fallback(Fallback::to(stage.model("F", [ok("hi")])))
        .wrap(stage.model("P", [fails(503)]))
        .unwrap();
    stage.call(&*model).await.answer();
    assert_ne!(stage.calls()[0].request_id, stage.calls()[1].request_id);
}

/// [RT-92]
#[tokio::test(start_paused = true)]
async fn a_history_that_is_refused_for_its_opaque_parts_is_sent_once_without_them() {
    let metadata = || {
        let values = ProviderOptions::default().with("test", "signature", json!("SIG"));
        Some(Box::new(ProviderMetadata::minted(Origin { target: target("P"), account: None }, values)))
    };
    let mut call = ToolCall::new("c", "clock", "{}");
    call.metadata = metadata();
    let text = TextPart { metadata: metadata(), ..TextPart::new("Hm.") };
    let reasoning = ReasoningPart { metadata: metadata(), ..ReasoningPart::new("secret") };
    let parts =
        vec![AssistantPart::Reasoning(reasoning), AssistantPart::Text(text), AssistantPart::ToolCall(call)];
    let history = Message::Assistant(AssistantMessage { parts, ..AssistantMessage::default() });
    let asked = Request::new([Message::user("Hi"), history]);
    let stale = || fails_with(ModelError::new(ErrorClass::StaleReplay, "unknown item").with_status(400));

    let stage = Stage::new();
    let model = policy(0).wrap(stage.model("P", [stale(), ok("hi")])).unwrap();
    stage.call_with(&*model, asked.clone(), stage.context()).await.answer();
    let calls = stage.calls();
    assert_eq!(calls[0].request, asked);
    let sent = serde_json::to_string(&calls[1].request.messages).unwrap();
    assert!(!sent.contains("SIG") && !sent.contains("secret"), "{sent}");
    assert!(sent.contains("Hm.") && sent.contains("clock"), "{sent}");
    assert_ne!(calls[0].request_id, calls[1].request_id);

    // Once, and no more.
    let stage = Stage::new();
    let model = policy(5).wrap(stage.model("P", [stale()])).unwrap();
    stage.call_with(&*model, asked, stage.context()).await.failure();
    assert_eq!((stage.calls().len(), stage.waits()), (2, vec![0.]));
}
