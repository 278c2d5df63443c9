use std::time::{Duration, SystemTime};

use ai_provider::{
    AttemptEnd, AttemptEvent, AttemptKind, CallContext, Capabilities, DelaySource, ErrorClass, Event,
    KeyLabel, LanguageModel, Message, ModelError, ModelStream, Request, RequestId, StreamPart, TargetId,
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

fn attempts() -> [AttemptEvent; 7] {
    let error =
        || ModelError::new(ErrorClass::RateLimit, SECRET).with_url("https://user.acme.test/v1").record();
    let event = |attempt, kind| {
        let event = AttemptEvent::new(attempt, target(), RequestId::from("r1"), kind);
        event.in_step(1).with_key(KeyLabel::from("team-key"))
    };
    let failed = AttemptKind::Failed { error: error(), safe: true, hint: None, usage: None };
    let waiting = AttemptKind::Waiting {
        delay: Duration::from_millis(1500),
        source: DelaySource::Backoff,
        until: SystemTime::UNIX_EPOCH,
        remaining: None,
    };
    let skipped = AttemptKind::Skipped { name: "https://user.acme.test".into(), why: SECRET.into() };
    [
        event(1, AttemptKind::Started),
        event(1, failed),
        event(2, AttemptKind::Rotated { from: Some(KeyLabel::from("team-key")) }),
        event(2, skipped),
        event(2, AttemptKind::FellBack { from: TargetId::new("acme", "small", "https://user.acme.test/v1") }),
        event(2, waiting),
        event(2, AttemptKind::Settled { end: AttemptEnd::Failed { error: error() } }),
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
    let data = |attempt: u32, mut data: Value| {
        data["attempt"] = attempt.into();
        data["provider"] = "acme".into();
        data["model"] = "large".into();
        json!({"type": "data-attempt", "data": data, "transient": true})
    };
    let wanted = [
        data(1, json!({"type":"started"})),
        data(
            1,
            json!({"type":"failed","class":"rate-limit","safe":true,"errorText":"Something went wrong."}),
        ),
        data(2, json!({"type":"rotated"})),
        data(2, json!({"type":"skipped"})),
        data(2, json!({"type":"fell-back","from":{"provider":"acme","model":"small"}})),
        data(2, json!({"type":"waiting","delayMs":1500})),
        data(2, json!({"type":"settled","end":"failed"})),
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
        AgentEvent::Attempt(attempt) => Some(*attempt),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), attempts());
}
