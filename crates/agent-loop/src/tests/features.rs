//! What an agent is made of, and what it replies to.

use std::sync::{Arc, Mutex};

use ai_core::plugin::RequestContext;
use ai_core::{ModelChoice, Plugin, PluginError, Plugins, Registry, StopWhen};
use ai_provider::{CancellationToken, ErrorClass, LanguageModel, Message, ModelError, Request};
use ai_testkit::{Script, ScriptedModel};
use serde_json::json;

use super::hooks::Log;
use super::support::{SECRET, agent, ask, run, tool_loop};
use crate::{Agent, Feature, Hooks, UiChunk};

/// [AL-110]
#[tokio::test]
async fn a_feature_takes_part_where_it_applies() {
    let log = Log::default();
    let chat = Feature::new("chat")
        .when(|scope| scope.context.get("kind") == Some(&json!("chat")))
        .with_hooks(log.hooks("f"))
        .with_stop(StopWhen::input_waits(|| true));
    let broken = Feature::new("broken").when(|_| panic!("{}", SECRET)).with_hooks(log.hooks("b"));
    let model = || ScriptedModel::new().repeat(Script::tool_reply("a", "clock", "{}"));
    let plain = Agent::new(tool_loop(&model()).with_step_cap(2)).with_feature(chat).with_feature(broken);
    let ran = run(ask(&plain)).await;
    assert_eq!((ran.outcome.as_str(), log.take().len()), ("step-cap", 0));
    let context = json!({"kind": "chat"}).as_object().unwrap().clone();
    let ran = run(ask(&plain.with_context(context))).await;
    assert_eq!((ran.outcome.as_str(), ran.steps), ("steer-yield", 1));
    assert!(log.take().iter().all(|line| line.starts_with("f ")));
}

/// [AL-140]
#[tokio::test]
async fn waiting_input_ends_a_run_cleanly_also_at_the_cap() {
    let model = ScriptedModel::new().repeat(Script::tool_reply("a", "clock", "{}"));
    let asked = Arc::new(Mutex::new(0));
    let waits = {
        let asked = Arc::clone(&asked);
        StopWhen::input_waits(move || {
            *asked.lock().unwrap() += 1;
            *asked.lock().unwrap() == 2
        })
    };
    let feature = Feature::new("steer").with_stop(waits);
    let ran = run(ask(&Agent::new(tool_loop(&model).with_step_cap(2)).with_feature(feature))).await;
    assert_eq!((ran.outcome.as_str(), ran.steps, *asked.lock().unwrap()), ("steer-yield", 2, 2));
    assert!(matches!(ran.last(), UiChunk::Finish { .. }));
    let run = ran.stream.run_end().unwrap().snapshot.run();
    assert_eq!(run.verdicts()[0].step, 2, "the verdict remembers its step");
}

/// [AL-139]
#[tokio::test]
async fn a_prompt_is_a_text_a_message_or_a_history() {
    let model = ScriptedModel::new().repeat(Script::text_reply("Well."));
    let agent = agent(&model);
    let go = || Message::user("Go.");
    agent.generate("Go.", CancellationToken::new()).await.unwrap();
    agent.generate("Go.".to_owned(), CancellationToken::new()).await.unwrap();
    agent.generate(go(), CancellationToken::new()).await.unwrap();
    agent.generate(vec![go()], CancellationToken::new()).await.unwrap();
    agent.generate(vec![Arc::new(go())], CancellationToken::new()).await.unwrap();
    agent.generate([go()], CancellationToken::new()).await.unwrap();
    let requests = model.requests();
    assert_eq!(requests.len(), 6);
    assert!(requests.iter().all(|request| request.messages == [Arc::new(go())]));
}

/// Writes down that it took part in a step.
struct Named(&'static str, Log);

#[async_trait::async_trait]
impl Plugin for Named {
    fn name(&self) -> &str {
        self.0
    }

    async fn transform_step(
        &self,
        request: Request,
        _: u32,
        _: &RequestContext,
    ) -> Result<Request, PluginError> {
        self.1.add(format!("plugin {}", self.0));
        Ok(request)
    }
}

/// [AL-110]
#[tokio::test]
async fn an_agent_is_assembled_of_its_features() {
    let log = Log::default();
    let feature = |name: &'static str| {
        let hooks = {
            let log = log.clone();
            Hooks::new().on_finish(move |_| {
                log.add(format!("hook {name}"));
                async { Ok(()) }
            })
        };
        Feature::new(name)
            .with_plugin(Named(name, log.clone()))
            .with_hooks(hooks)
            .when(move |scope| scope.context.get("only").is_none_or(|only| only == name))
    };
    let model: Arc<dyn LanguageModel> = Arc::new(ScriptedModel::new().repeat(Script::text_reply("Well.")));
    let registry = Registry::new();
    let wrapped = log.clone();
    let agent = Agent::assemble(&registry, ModelChoice::Ready(model))
        .with_plugins(&Plugins::new().with(Named("own", log.clone())))
        .with_feature(feature("a"))
        .with_feature(feature("b"))
        .with_context(json!({"only": "b"}).as_object().unwrap().clone())
        .wrap_model(move |model| {
            wrapped.add("wrapped");
            async move { Ok(model) }
        })
        .await
        .unwrap();
    assert_eq!(log.take(), ["wrapped"]);
    run(ask(&agent)).await;
    assert_eq!(log.take(), ["plugin own", "plugin b", "hook b"]);
    assert!(Agent::assemble(&registry, "nobody:nothing").await.is_err());
}

/// [AL-128]
#[tokio::test]
async fn a_failure_names_provider_model_and_a_key() {
    let model = ScriptedModel::new()
        .repeat(Script::new().text("It").error(ModelError::new(ErrorClass::MissingFinish, "no reason")));
    let agent = agent(&model);
    let ran = run(ask(&agent)).await;
    let failure = ran.stream.failure().unwrap();
    assert_eq!((&*failure.key, failure.class), ("model.missing-finish", Some(ErrorClass::MissingFinish)));
    assert_eq!(failure.target.as_ref(), Some(model.target()));
    assert!(
        ran.chunks.iter().any(|chunk| matches!(chunk, UiChunk::TextDelta { .. })),
        "what came is shown first"
    );
    let error = agent.generate("Go.", CancellationToken::new()).await.unwrap_err();
    assert_eq!(error.failure(), Some(failure));
    let well = ScriptedModel::new().repeat(Script::text_reply("Well."));
    assert_eq!(run(ask(&super::support::agent(&well))).await.stream.failure(), None);
}
