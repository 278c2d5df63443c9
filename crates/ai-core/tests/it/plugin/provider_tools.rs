use std::sync::Arc;

use ai_core::plugin::{Plugins, ProviderTools};
use ai_core::{
    NoSettings, ProviderExtension, Registry, RunOptions, ToolCapability, ToolPatch, ToolSet, Variant,
    create_agent, generate_text, tool_fn,
};
use ai_provider::{
    FunctionTool, LanguageModel, ProviderOptions, Request, StreamPart, TargetId, ToolCall, ToolDefinition,
    ToolOutput, ToolResult, UnifiedFinish,
};
use ai_testkit::{Script, ScriptedModel};
use serde_json::{Value, json};

use super::recorder::{Log, OneModel, ask};
use crate::support::{Text, echo, run};

fn reply() -> Script {
    Script::new().text("ok").finish(UnifiedFinish::Stop)
}

/// `one` (variant `lite`, alias `uno`) offers web search; `bare` offers nothing.
fn registry(model: &ScriptedModel) -> Registry {
    let extension = |name: &'static str| {
        let one = OneModel(model.clone(), Log::default(), name);
        ProviderExtension::new(name, move |NoSettings {}| {
            let one = one.clone();
            async move { Ok(one) }
        })
    };
    let mut patch = ToolPatch::tool("one.web_search", "search").and_tool("one.x_search", "x");
    patch.tools[0].args.insert("depth".to_owned(), json!({"min": 1, "max": 2}));
    let options = json!({"size": "patch", "region": "patch"});
    let patch = patch.with_options(ProviderOptions::default().with("one", "search", options));
    let one =
        extension("one").alias("uno").variant(Variant::new("lite")).tool(ToolCapability::WebSearch, patch);
    Registry::new().with_extension(one).unwrap().with_extension(extension("bare")).unwrap()
}

fn search() -> ProviderTools {
    ProviderTools::new(ToolCapability::WebSearch)
        .with_args("one", "search", json!({"depth": {"max": 9}, "site": "a"}))
        .with_args("one-lite", "search", json!({"site": "b"}))
        .with_args("bare", "search", json!({"site": "c"}))
        .with_args("one", "x", json!("no object"))
}

fn with_tools(tools: impl IntoIterator<Item = ToolDefinition>) -> Request {
    let mut request = ask().with_tools(tools);
    request.options = ProviderOptions::default().with("one", "search", json!({"size": "mine"}));
    request
}

fn function(name: &str) -> ToolDefinition {
    ToolDefinition::Function(FunctionTool::new(name, "d", json!({"type": "object"})))
}

fn args(request: &Request, name: &str) -> Value {
    let found = request.tools.iter().find_map(|tool| match tool {
        ToolDefinition::Provider(tool) if tool.name == name => Some(Value::Object(tool.args.clone())),
        _ => None,
    });
    found.unwrap_or(Value::Null)
}

/// [AC-170] [AC-172]
#[tokio::test]
async fn what_the_provider_offers_is_put_into_the_request() {
    let model = ScriptedModel::new().repeat(reply());
    let registry = registry(&model);
    let list = Plugins::new().with(search());
    for (asked, site) in [("one:m", "a"), ("uno:m", "a"), ("one-lite:m", "b")] {
        let request = with_tools([function("search"), function("other")]);
        generate_text(&registry, asked, request).with_plugins(&list).await.unwrap();
        let sent = model.requests().pop().unwrap();
        let names: Vec<_> = sent.tools.iter().map(|tool| tool.name().to_owned()).collect();
        assert_eq!(names, ["other", "search", "x"], "{asked}");
        assert_eq!(sent.tools[0], function("other"));
        assert_eq!(args(&sent, "search"), json!({"depth": {"min": 1, "max": 9}, "site": site}));
        assert_eq!(args(&sent, "x"), json!({}));
        let options = &sent.options.get("one").unwrap()["search"];
        assert_eq!(*options, json!({"size": "mine", "region": "patch"}), "the caller's word counts");
    }
    assert_eq!(list.names().collect::<Vec<_>>(), ["provider-tools:web-search"]);
    assert_eq!(list.count(ai_core::plugin::Stage::Pre), 1);
}

/// [AC-171]
#[tokio::test]
async fn where_nothing_is_offered_all_stays_as_it_is() {
    let model = ScriptedModel::new().repeat(reply());
    let registry = registry(&model);
    let files =
        ProviderTools::new(ToolCapability::FileSearch).with_args("one", "search", json!({"site": "a"}));
    for (asked, plugin) in [("bare:m", search()), ("one:m", files)] {
        let request = with_tools([function("search"), function("other")]);
        generate_text(&registry, asked, request.clone())
            .with_plugins(&Plugins::new().with(plugin))
            .await
            .unwrap();
        let mut sent = model.requests().pop().unwrap();
        sent.delivery = request.delivery;
        assert_eq!(sent, request);
    }
    let ready: Arc<dyn LanguageModel> = Arc::new(model.clone());
    let request = with_tools([function("search")]);
    generate_text(&Registry::new(), ready, request)
        .with_plugins(&Plugins::new().with(search()))
        .await
        .unwrap();
    assert_eq!(model.requests().pop().unwrap().tools.len(), 1);
}

/// [AC-173]
#[tokio::test]
async fn a_model_behind_an_aggregator_gets_the_tools_of_its_maker() {
    let behind = ScriptedModel::new().with_target(TargetId::new("bare.one", "m", "memory")).repeat(reply());
    let registry = registry(&behind);
    let list = Plugins::new().with(search());
    let ready: Arc<dyn LanguageModel> = Arc::new(behind.clone());
    generate_text(&registry, ready, ask()).with_plugins(&list).await.unwrap();
    let sent = behind.requests().pop().unwrap();
    assert_eq!(sent.tools.iter().map(|tool| tool.name()).collect::<Vec<_>>(), ["search", "x"]);
    assert_eq!(
        args(&sent, "search"),
        json!({"depth": {"min": 1, "max": 2}}),
        "arguments are for the provider asked"
    );
}

/// [AC-170]
#[tokio::test]
async fn an_agents_own_tool_of_that_name_gives_way() {
    let mut call = ToolCall::new("c", "search", "{}");
    call.provider_executed = true;
    let mut result = ToolResult::new("c", "search", ToolOutput::Text("found".to_owned()));
    result.provider_executed = true;
    let script = Script::new()
        .part(StreamPart::ToolCall(Box::new(call)))
        .part(StreamPart::ToolResult(Box::new(result)))
        .text("ok")
        .finish(UnifiedFinish::Stop);
    let model = ScriptedModel::new().reply(script);
    let own = tool_fn("search", "Mine.", |_: Text, _| async { Ok::<_, ai_core::ToolError>("never") });
    let agent =
        create_agent(&registry(&model), "one:m").with_plugins(&Plugins::new().with(search())).await.unwrap();
    let agent = agent.with_tools(ToolSet::new().with(own).unwrap().with(echo()).unwrap());
    let (_, end) = run(&agent, RunOptions::default()).await;
    assert_eq!(end.outcome.as_str(), "finished");
    let sent = &model.requests()[0];
    assert_eq!(sent.tools.iter().map(|tool| tool.name()).collect::<Vec<_>>(), ["echo", "search", "x"]);
    assert!(matches!(sent.tools[1], ToolDefinition::Provider(_)));
    assert_eq!(agent.tools().names().collect::<Vec<_>>(), ["search", "echo"]);
}
