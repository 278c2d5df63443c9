use std::sync::{Arc, Mutex};

use ai_core::plugin::{CallParams, Plugin, Plugins, RequestContext, Stage};
use ai_core::{
    ErrorKind, ModelRef, PluginError, Registry, generate_text, resolve_language_model, stream_text,
};
use ai_provider::{
    Delivery, ErrorClass, FunctionTool, LanguageModel, Message, ModelError, ProviderOptions, ProviderTool,
    Request, StreamPart, TargetId, ToolChoice, ToolDefinition, UnifiedFinish, Warning,
};
use ai_testkit::{Script, ScriptedModel};
use async_trait::async_trait;
use futures_util::StreamExt;
use serde_json::json;

use super::recorder::{Log, Mark, ask, hooks, plugins, recorder, registry, seen};

fn reply() -> Script {
    Script::new().text("ab").usage(4, 2).finish(UnifiedFinish::Stop)
}

/// [AC-131]
#[test]
fn a_list_of_plugins_never_changes() {
    let log = Log::default();
    let three = Plugins::new()
        .with(recorder("b", &log).at(Stage::Post))
        .with(recorder("a", &log))
        .with_shared(Arc::new(recorder("c", &log).at(Stage::Pre)));
    assert_eq!(three.names().collect::<Vec<_>>(), ["b", "a", "c"]);
    assert_eq!(three.without("a").names().collect::<Vec<_>>(), ["b", "c"]);
    assert_eq!(three.without("none").len(), 3);
    assert_eq!(three.with(recorder("a", &log)).without("a").len(), 2, "both of that name");
    assert_eq!((three.len(), three.is_empty(), Plugins::new().is_empty()), (3, false, true));
    assert_eq!([Stage::Pre, Stage::Normal, Stage::Post].map(|stage| three.count(stage)), [1, 1, 1]);
    assert_eq!(three.in_order().map(|plugin| plugin.name()).collect::<Vec<_>>(), ["c", "a", "b"]);
}

/// [AC-132] [AC-136] [AC-138]
#[tokio::test]
async fn stages_come_in_order_and_lists_within_them() {
    let (log, model) = (Log::default(), ScriptedModel::new().reply(reply()));
    let list = [
        ("p1", Stage::Post),
        ("n1", Stage::Normal),
        ("p2", Stage::Post),
        ("e1", Stage::Pre),
        ("n2", Stage::Normal),
    ];
    let list = plugins(list.map(|(name, stage)| recorder(name, &log).at(stage)));
    let answer = generate_text(&registry(&model, &log), "one:m", ask()).with_plugins(&list).await.unwrap();
    let order = ["e1", "n1", "n2", "p1", "p2"];
    for hook in
        ["configure_context", "transform_params", "transform_step", "transform_stream", "transform_result"]
    {
        let called: Vec<_> =
            log.all().iter().filter_map(|l| l.strip_suffix(&format!(" {hook}")).map(str::to_owned)).collect();
        assert_eq!(called, order, "{hook}");
    }
    let sent = &model.requests()[0].settings.stop_sequences;
    let steps = order.map(|name| format!("step-1-{name}"));
    assert_eq!(*sent, [order.map(|name| format!("params-{name}")).to_vec(), steps.to_vec()].concat());
    assert_eq!(answer.text(), "ab<e1<n1<n2<p1<p2", "the stream goes through pre first and post last");
    let turns: Vec<_> =
        log.all().iter().filter_map(|l| l.strip_suffix(" middleware").map(str::to_owned)).collect();
    assert_eq!(turns, order, "the first middleware is the outermost");
}

/// [AC-133] [AC-137]
#[tokio::test]
async fn a_text_goes_through_every_hook_once() {
    let (log, model) = (Log::default(), ScriptedModel::new().reply(reply()));
    let list = plugins([recorder("x", &log), recorder("y", &log)]);
    let answer = generate_text(&registry(&model, &log), "one:m", ask()).with_plugins(&list).await.unwrap();
    for name in ["x", "y"] {
        let expected = [
            "configure_context",
            "on_request_start",
            "resolve_model",
            "transform_params",
            "transform_step",
            "transform_stream",
            "transform_result",
            "on_request_end",
            "on_stream_end",
        ];
        assert_eq!(hooks(&log, name), expected);
    }
    assert_eq!(answer.usage.input.total, Some((4 * 10 + 1) * 10 + 1), "one changed it behind the other");
    assert_eq!(log.of("y result "), ["ab<x<y"]);
    assert_eq!(log.of("y on_stream_end "), ["finished Some(2)"]);
    assert_eq!(model.requests()[0].delivery, Delivery::Whole);
}

/// [AC-134]
#[tokio::test]
async fn all_hooks_of_a_request_see_one_context() {
    struct Reader(Arc<Mutex<Vec<String>>>);
    #[async_trait]
    impl Plugin for Reader {
        fn name(&self) -> &str {
            "reader"
        }
        async fn on_request_start(&self, ctx: &RequestContext) -> Result<(), PluginError> {
            assert!(ctx.model().is_none() && ctx.target().is_none() && ctx.parent().is_none());
            assert_eq!(
                ctx.get::<Mark>().unwrap().0,
                ctx.id().to_string(),
                "what was kept in configure_context"
            );
            assert!(ctx.get::<String>().is_none());
            assert_eq!(*ctx.get_or_insert_with(|| 1_u8), 1);
            Ok(())
        }
        async fn transform_params(
            &self,
            params: CallParams,
            ctx: &RequestContext,
        ) -> Result<CallParams, PluginError> {
            assert_eq!(*ctx.get_or_insert_with(|| 2_u8), 1);
            ctx.insert(3_u8);
            assert_eq!(*ctx.get::<u8>().unwrap(), 3);
            let asked = ctx.requested().map(ToString::to_string);
            let found = ctx.model().unwrap().target().to_string();
            self.0.lock().unwrap().push(format!("{:?} {asked:?} {found}", ctx.operation()));
            assert!(ctx.registry().has("one"));
            Ok(params)
        }
    }
    let (log, model) = (Log::default(), ScriptedModel::new().repeat(reply()));
    let said = Arc::default();
    let list = plugins([recorder("x", &log), recorder("y", &log)]).with(Reader(Arc::clone(&said)));
    let registry = registry(&model, &log);
    generate_text(&registry, "one:m:1", ask()).with_plugins(&list).await.unwrap();
    assert_eq!(seen(&log).len(), 1, "one context for all hooks of both");
    let ready: Arc<dyn LanguageModel> = Arc::new(model.clone());
    drop(stream_text(&registry, ready, ask()).with_plugins(&list).await.unwrap());
    assert_eq!(seen(&log).len(), 2, "and another for the next request");
    let found = ["Text Some(\"one:m:1\") one:m:1", "Stream None scripted:model"];
    assert_eq!(*said.lock().unwrap(), found);
}

/// [AC-135]
#[tokio::test]
async fn the_first_plugin_that_knows_the_model_is_heard() {
    let own = |name: &str| -> Arc<dyn LanguageModel> {
        Arc::new(ScriptedModel::new().with_target(TargetId::new("plugin", name, "memory")).repeat(reply()))
    };
    let (log, model) = (Log::default(), ScriptedModel::new().repeat(reply()));
    let registry = registry(&model, &log);
    let (silent, mut first, mut second) = (recorder("s", &log), recorder("a", &log), recorder("b", &log));
    first.resolves = Some(own("first"));
    second.resolves = Some(own("second"));
    let list = plugins([silent.clone(), first, second]);
    let found = resolve_language_model(&registry, "nowhere:m:x").with_plugins(&list).await.unwrap();
    assert_eq!(found.target().model, "first");
    assert_eq!(log.of("s asked for "), ["nowhere:m:x"]);
    assert!(log.of("b asked for ").is_empty() && log.of("provider").is_empty());

    let silent = plugins([silent]);
    let found = resolve_language_model(&registry, "one:m:x").with_plugins(&silent).await.unwrap();
    assert_eq!((&*found.target().model, log.of("provider asked for ")), ("m:x", vec!["m:x".to_owned()]));
    let error = resolve_language_model(&registry, "oen:m").with_plugins(&silent).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownProvider);

    let asked = log.of("s asked for ").len();
    for text in [true, false] {
        let ready = own("ready");
        if text {
            generate_text(&registry, ready, ask()).with_plugins(&list).await.unwrap();
        } else {
            drop(stream_text(&registry, ready, ask()).with_plugins(&list).await.unwrap());
        }
    }
    assert_eq!(log.of("s asked for ").len(), asked, "a model that is given is not asked for");
    for choice in ["nocolon", "a b:c"] {
        let error = generate_text(&registry, choice, ask()).with_plugins(&list).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidModelRef);
    }
    let named: ModelRef = "one:n".parse().unwrap();
    assert_eq!(resolve_language_model(&registry, named).await.unwrap().target().model, "n");
}

/// [AC-146]
#[tokio::test]
async fn a_list_serves_many_requests_and_nothing_piles_up() {
    let (log, model) = (Log::default(), ScriptedModel::new().repeat(reply()));
    let (registry, list) = (registry(&model, &log), plugins([recorder("x", &log)]));
    for times in 1..=3 {
        generate_text(&registry, "one:m", ask()).with_plugins(&list).await.unwrap();
        assert_eq!(log.count("x middleware"), times, "each request has its own middleware, once");
        assert_eq!(log.count("x resolve_model"), times);
    }
    assert!(
        model.requests().iter().all(|request| request.settings.stop_sequences == ["params-x", "step-1-x"])
    );
    let other_model = ScriptedModel::new().repeat(reply());
    let other = super::recorder::registry(&other_model, &log);
    generate_text(&other, "one:m", ask()).with_plugins(&list).await.unwrap();
    assert_eq!((model.requests().len(), other_model.requests().len()), (3, 1), "each registry finds its own");
}

/// [AC-147]
#[tokio::test]
async fn what_the_caller_asks_for_reaches_the_model_as_it_is() {
    struct Idle;
    impl Plugin for Idle {
        fn name(&self) -> &str {
            "idle"
        }
    }
    let mut request = Request::new([
        Message::system("S"),
        Message::user("Hi"),
        Message::assistant("Yes?"),
        Message::user("So"),
    ]);
    request.settings.temperature = Some(0.0);
    request.settings.top_p = Some(1.0);
    request.settings.top_k = Some(5);
    request.settings.presence_penalty = Some(-2.0);
    request.settings.frequency_penalty = Some(2.0);
    request.settings.seed = Some(0);
    request.settings.max_output_tokens = Some(1);
    request.settings.stop_sequences = vec!["a".to_owned(), "b".to_owned()];
    let mut strict = FunctionTool::new("any.name at all", "d", json!({"type": "object"}));
    strict.strict = Some(true);
    strict.input_examples = vec![json!({})];
    let search =
        ProviderTool { id: "p.search".to_owned(), name: "search".to_owned(), args: Default::default() };
    request.tools = [ToolDefinition::Function(strict), ToolDefinition::Provider(search)].into();
    request.options = ProviderOptions::default().with("p", "o", json!([1]));
    request.extra_body.insert("x".to_owned(), json!(1));
    request.extra_headers = vec![("h".to_owned(), Some("v".to_owned())), ("gone".to_owned(), None)];
    request.include_raw = true;
    let choices = [
        ToolChoice::Auto,
        ToolChoice::None,
        ToolChoice::Required,
        ToolChoice::Tool { name: "search".to_owned() },
    ];
    for (plugins, choice) in
        [Plugins::new(), Plugins::new().with(Idle)].iter().flat_map(|p| choices.iter().map(move |c| (p, c)))
    {
        request.tool_choice = choice.clone();
        let warnings = vec![Warning::other("w")];
        let script = Script::new()
            .part(StreamPart::StreamStart { warnings: warnings.clone() })
            .text("ok")
            .tool_call("c", "search", "{}")
            .usage(15, 8)
            .finish(UnifiedFinish::ToolCalls);
        let model = ScriptedModel::new().repeat(script);
        let ready = || -> Arc<dyn LanguageModel> { Arc::new(model.clone()) };
        let answer =
            generate_text(&Registry::new(), ready(), request.clone()).with_plugins(plugins).await.unwrap();
        assert_eq!(
            (answer.text().as_str(), answer.usage.total(), answer.warnings),
            ("ok", Some(23), warnings)
        );
        assert_eq!(answer.finish.unified, UnifiedFinish::ToolCalls);
        assert_eq!(answer.message.tool_calls().count(), 1);
        let stream =
            stream_text(&Registry::new(), ready(), request.clone()).with_plugins(plugins).await.unwrap();
        assert_eq!(model.requests().len(), 1, "the call begins when the stream is polled");
        let parts: Vec<_> = stream.map(Result::unwrap).collect().await;
        let text = parts.iter().filter_map(|part| match part {
            StreamPart::TextDelta { delta, .. } => Some(delta.as_str()),
            _ => None,
        });
        assert_eq!(text.collect::<String>(), "ok");
        assert!(matches!(parts.last(), Some(StreamPart::Finish(finish)) if finish.usage.total() == Some(23)));
        let mut whole = request.clone();
        whole.delivery = Delivery::Whole;
        assert_eq!(model.requests(), [whole, request.clone()]);
    }
}

/// [AC-148]
#[tokio::test]
async fn a_failed_answer_keeps_what_came_of_it() {
    let (log, broken) = (Log::default(), ModelError::new(ErrorClass::Server, "gone"));
    for list in [Plugins::new(), plugins([recorder("x", &log)])] {
        let model = ScriptedModel::new().reply(Script::new().text("half").error(broken.clone()));
        let call = generate_text(&registry(&model, &log), "one:m", ask()).with_plugins(&list).await;
        let error = call.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Model);
        assert_eq!(error.model_error().unwrap().class(), ErrorClass::Server);
        assert!(error.partial().unwrap().message.text().starts_with("half"));
        assert_eq!(ModelError::from(error).message(), "gone");
    }
    assert_eq!(log.of("x error "), ["server: gone"]);
    assert_eq!(log.of("x on_stream_end "), ["failed"]);
}

/// [AC-149]
#[tokio::test]
async fn a_model_that_is_only_found_is_no_request() {
    let (log, model) = (Log::default(), ScriptedModel::new().repeat(reply()));
    let registry = registry(&model, &log);
    let list = plugins([recorder("x", &log)]);
    let found = resolve_language_model(&registry, "one:m").with_plugins(&list).await.unwrap();
    resolve_language_model(&registry, "none:m").with_plugins(&list).await.unwrap_err();
    let twice = ["configure_context", "resolve_model"].repeat(2);
    assert_eq!(hooks(&log, "x"), twice);
    let mut answer = found.stream(ask(), Default::default());
    while answer.next().await.is_some() {}
    assert_eq!(log.count("x middleware"), 1, "it keeps its middleware");
    assert_eq!(hooks(&log, "x"), twice);
}

/// [AC-136]
#[tokio::test]
async fn instructions_of_a_single_call_stand_in_front_of_its_messages() {
    struct Brief;
    #[async_trait]
    impl Plugin for Brief {
        fn name(&self) -> &str {
            "brief"
        }
        async fn transform_params(
            &self,
            mut params: CallParams,
            _: &RequestContext,
        ) -> Result<CallParams, PluginError> {
            assert_eq!(params.instructions, None, "what the caller wrote is a message");
            params.instructions = Some("Be brief.".to_owned());
            Ok(params)
        }
    }
    let model = ScriptedModel::new().repeat(reply());
    let registry = registry(&model, &Log::default());
    let request = Request::new([Message::system("S"), Message::user("Hi")]);
    generate_text(&registry, "one:m", request).with_plugins(&Plugins::new().with(Brief)).await.unwrap();
    let sent: Vec<_> = model.requests()[0].messages.iter().map(|message| Message::clone(message)).collect();
    assert_eq!(sent, [Message::system("Be brief."), Message::system("S"), Message::user("Hi")]);
}
