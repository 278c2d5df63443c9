use std::time::Duration;

use ai_provider::{
    AttemptEnd, AttemptEvent, CallContext, Capabilities, DelaySource, ErrorClass, Event, KeyLabel,
    LanguageModel, Message, ModelError, ModelStream, Request, RequestId, RetryNotice, StreamPart, TargetId,
    UnifiedFinish,
};
use ai_testkit::{Script, ScriptedModel};
use futures_util::StreamExt;
use serde_json::{Value, json};

use crate::tests::support::SECRET;
use crate::{Agent, AgentEvent, UiChunk};

/// A model that tells of attempts while it answers.
#[derive(Clone)]
struct Telling(ScriptedModel);

fn target() -> TargetId {
    TargetId::new("acme", "large", "https://user.acme.test/v1")
}

fn attempts() -> [AttemptEvent; 4] {
    let error = ModelError::new(ErrorClass::RateLimit, SECRET).with_url("https://user.acme.test/v1").record();
    let notice = RetryNotice {
        attempt: 2,
        target: target(),
        key: Some(KeyLabel::from("team-key")),
        cause: error.clone(),
        delay: Duration::from_millis(1500),
        delay_source: DelaySource::Backoff,
        remaining: None,
    };
    let settled = |end| AttemptEvent::Settled { attempts: 2, target: target(), end };
    [
        AttemptEvent::Started {
            attempt: 1,
            target: target(),
            key: Some(KeyLabel::from("team-key")),
            request_id: RequestId::from("r1"),
        },
        AttemptEvent::Retrying(Box::new(notice)),
        settled(AttemptEnd::Answered),
        settled(AttemptEnd::Failed { error }),
    ]
}

impl LanguageModel for Telling {
    fn target(&self) -> &TargetId {
        self.0.target()
    }

    fn capabilities(&self) -> &Capabilities {
        self.0.capabilities()
    }

    fn stream(&self, request: Request, ctx: CallContext) -> ModelStream {
        let inner = self.0.stream(request, ctx.clone());
        Box::pin(inner.inspect(move |item| {
            if matches!(item, Ok(StreamPart::TextStart { .. })) {
                attempts().into_iter().for_each(|attempt| ctx.emit(Event::Attempt(attempt)));
            }
        }))
    }
}

fn agent() -> Agent {
    let model = ScriptedModel::new().reply(Script::new().text("Hi.").finish(UnifiedFinish::Stop));
    Agent::new(ai_core::ToolLoop::new(std::sync::Arc::new(Telling(model))))
}

fn start(agent: &Agent) -> crate::AgentStream {
    agent.stream([Message::user("Go.")], ai_provider::CancellationToken::new())
}

/// [AL-32]
#[tokio::test]
async fn clients_are_told_of_attempts_in_passing() {
    let chunks: Vec<_> = start(&agent()).chunks().collect().await;
    let told: Vec<_> = chunks.iter().filter(|chunk| matches!(chunk, UiChunk::Data(_))).collect();
    let data = |data: Value| json!({"type": "data-attempt", "data": data, "transient": true});
    let wanted = [
        data(json!({"type":"started","attempt":1,"provider":"acme","model":"large"})),
        data(json!({
            "type":"retrying","attempt":2,"provider":"acme","model":"large","delayMs":1500,
            "class":"rate-limit","errorText":"Something went wrong."
        })),
        data(json!({"type":"settled","attempts":2,"provider":"acme","model":"large","end":"answered"})),
        data(json!({"type":"settled","attempts":2,"provider":"acme","model":"large","end":"failed"})),
    ];
    assert_eq!(serde_json::to_value(&told).unwrap(), json!(wanted));
    let all = serde_json::to_string(&chunks).unwrap();
    for hidden in [SECRET, "team-key", "acme.test"] {
        assert!(!all.contains(hidden), "{hidden}");
    }
    assert!(matches!(chunks[0], UiChunk::Start { .. }));
    assert!(matches!(chunks.last(), Some(UiChunk::Finish { .. })));

    let plain: Vec<_> = start(&agent().with_plain_errors()).chunks().collect().await;
    assert!(serde_json::to_string(&plain).unwrap().contains(SECRET));
}

/// [AL-32]
#[tokio::test]
async fn the_full_events_stay_on_this_side() {
    let events: Vec<_> = start(&agent()).collect().await;
    let told = events.into_iter().filter_map(|event| match event {
        AgentEvent::Attempt(attempt) => Some(attempt),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), attempts());
}
