use std::sync::Arc;

use ai_core::middleware::{PromptCall, PromptTools, TagFormat, ToolFormat};
use ai_core::run::{Outcome, ToolStatus};
use ai_core::{RunOptions, ToolError, ToolLoop, ToolSet, tool_fn};
use ai_provider::{
    Capabilities, ErrorClass, FileData, FilePart, FunctionTool, LanguageModel, Message, ModelError,
    ProviderTool, Request, StreamPart, ToolCall, ToolChoice, ToolContent, ToolDefinition, ToolOutput,
    ToolResult, UnifiedFinish, UserPart, Warning,
};
use ai_testkit::{Script, ScriptedModel};
use serde_json::json;

use super::{around, said, shape, text_block};
use crate::support::{self, Text};

fn weather() -> ToolDefinition {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    ToolDefinition::Function(FunctionTool::new("weather", "Tells the weather.", schema))
}

fn search() -> ToolDefinition {
    ToolDefinition::Provider(ProviderTool {
        id: "openai.web_search".to_owned(),
        name: "web_search".to_owned(),
        args: Default::default(),
    })
}

fn ask(tools: impl IntoIterator<Item = ToolDefinition>) -> Request {
    Request::new([Message::system("Be brief."), Message::user("go")]).with_tools(tools)
}

async fn sent(middleware: PromptTools, request: Request) -> Request {
    let model = ScriptedModel::new().reply(Script::text_reply("hi"));
    said(&around(&model, middleware), request).await;
    model.requests().remove(0)
}

fn system(request: &Request) -> &str {
    match &*request.messages[0] {
        Message::System(system) => &system.text,
        other => panic!("{other:?}"),
    }
}

const CALL: &str =
    "<tool_use>\n<name>weather</name>\n<arguments>{\"city\": \"Oslo\"}</arguments>\n</tool_use>";

async fn answer(text: &str, finish: UnifiedFinish) -> Vec<StreamPart> {
    let model = ScriptedModel::new().reply(text_block([text]).finish(finish));
    said(&around(&model, PromptTools::new()), ask([weather()])).await.0
}

fn finish(parts: &[StreamPart]) -> UnifiedFinish {
    match parts.last() {
        Some(StreamPart::Finish(finish)) => finish.reason.unified,
        other => panic!("{other:?}"),
    }
}

/// [AC-220]
#[tokio::test]
async fn function_tools_are_described_and_others_stay() {
    let request = sent(PromptTools::new(), ask([weather(), search()])).await;
    assert_eq!(*request.tools, [search()]);
    let text = system(&request);
    assert!(text.starts_with("Be brief.\n\n"), "{text}");
    for expected in ["<name>weather</name>", "Tells the weather.", r#""city":{"type":"string"}"#] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(!text.contains("web_search"));
    assert!(sent(PromptTools::new(), ask([weather()])).await.tools.is_empty());

    let mut bare = ask([weather()]);
    bare.messages.remove(0);
    assert!(system(&sent(PromptTools::new(), bare).await).contains("<name>weather</name>"));
    let mut blank = ask([weather()]);
    blank.messages[0] = Arc::new(Message::system(" "));
    assert!(!system(&sent(PromptTools::new(), blank).await).starts_with(' '));
}

/// [AC-221]
#[tokio::test]
async fn without_function_tools_or_switched_off_nothing_changes() {
    let capable = sent(PromptTools::if_needed(), ask([weather()])).await;
    assert_eq!(capable, ask([weather()]));
    assert_eq!(sent(PromptTools::new().with_enabled(false), ask([weather()])).await, ask([weather()]));
    assert_eq!(sent(PromptTools::new(), ask([search()])).await, ask([search()]));
    assert_eq!(sent(PromptTools::new(), ask([])).await, ask([]));

    let text = "a <tool_use><name>weather</name></tool_use>";
    let script = text_block([text]).finish(UnifiedFinish::Stop);
    for (middleware, tools) in
        [(PromptTools::new().with_enabled(false), vec![weather()]), (PromptTools::new(), vec![search()])]
    {
        let model = ScriptedModel::new().reply(script.clone()).reply(script.clone());
        let (plain, _) = said(&(Arc::new(model.clone()) as Arc<dyn LanguageModel>), ask([])).await;
        assert_eq!(said(&around(&model, middleware), ask(tools)).await.0, plain);
    }
}

/// [AC-222]
#[tokio::test]
async fn it_applies_where_the_model_has_no_tools() {
    let mut none = Capabilities::default();
    none.tools = false;
    none.parallel_tool_calls = false;
    let model = ScriptedModel::new().with_capabilities(none).reply(Script::text_reply("hi"));
    let wrapped = around(&model, PromptTools::if_needed());
    assert!(wrapped.capabilities().tools && wrapped.capabilities().parallel_tool_calls);
    said(&wrapped, ask([weather()])).await;
    assert!(model.requests()[0].tools.is_empty());
}

/// [AC-223]
#[tokio::test]
async fn a_tool_choice_is_asked_for_in_words() {
    let choose = |choice: ToolChoice| {
        let mut request = ask([weather(), search()]);
        request.tool_choice = choice;
        request
    };
    let named = ToolChoice::Tool { name: "weather".to_owned() };
    let request = sent(PromptTools::new(), choose(named.clone())).await;
    assert!(system(&request).ends_with("Use the tool `weather` in your next answer."));
    assert_eq!(request.tool_choice, ToolChoice::Auto);
    let request = sent(PromptTools::new(), choose(ToolChoice::Required)).await;
    assert!(system(&request).ends_with("Use at least one of them in your next answer."));
    assert_eq!(request.tool_choice, ToolChoice::Auto);
    let other = ToolChoice::Tool { name: "web_search".to_owned() };
    assert_eq!(sent(PromptTools::new(), choose(other.clone())).await.tool_choice, other);
    let request = sent(PromptTools::new(), choose(ToolChoice::None)).await;
    assert_eq!((system(&request), &request.tool_choice), ("Be brief.", &ToolChoice::None));
    let mut none = ask([weather()]);
    none.tool_choice = ToolChoice::None;
    assert_eq!(sent(PromptTools::new(), none).await.tool_choice, ToolChoice::Auto, "no tool is left");

    let model = ScriptedModel::new().repeat(Script::text_reply("hi"));
    for (choice, warned) in [(named, true), (other, false), (ToolChoice::Auto, false)] {
        let (parts, _) = said(&around(&model, PromptTools::new()), choose(choice)).await;
        let StreamPart::StreamStart { warnings } = &parts[0] else { panic!("{parts:?}") };
        let is_told =
            matches!(&warnings[..], [Warning::Compatibility { feature, .. }] if feature == "toolChoice");
        assert_eq!(is_told, warned, "{warnings:?}");
    }
}

/// [AC-224]
#[tokio::test]
async fn earlier_calls_and_results_are_written_as_text() {
    let image = FilePart::new("image/png", FileData::bytes(vec![1u8]));
    let call = |id: &str| ToolCall::new(id, "weather", r#"{"city":"Oslo"}"#);
    let mut asked = Message::assistant("I look.");
    let mut provider = call("p");
    provider.provider_executed = true;
    if let Message::Assistant(message) = &mut asked {
        message.parts.push(ai_provider::AssistantPart::ToolCall(call("1")));
        message.parts.push(ai_provider::AssistantPart::ToolCall(call("2")));
        message.parts.push(ai_provider::AssistantPart::ToolCall(provider.clone()));
    }
    let results = Message::tool([
        ToolResult::new("1", "weather", ToolOutput::Json(json!({"t": 4}))),
        ToolResult::new("2", "weather", ToolOutput::ErrorText("no".to_owned())),
        ToolResult::new(
            "3",
            "map",
            ToolOutput::Content(vec![
                ToolContent::Text(ai_provider::TextPart::new("here")),
                ToolContent::File(image.clone()),
            ]),
        ),
    ]);
    let mut request = ask([]);
    request.messages.extend([Arc::new(asked), Arc::new(results), Arc::new(Message::user("so?"))]);
    let request = sent(PromptTools::new(), request).await;
    let shown: Vec<_> = request.messages.iter().map(|message| (**message).clone()).collect();
    let call = "<tool_use>\n<name>weather</name>\n<arguments>{\"city\":\"Oslo\"}</arguments>\n</tool_use>";
    let Message::Assistant(assistant) = &shown[2] else { panic!("{shown:?}") };
    assert_eq!(assistant.text(), format!("I look.\n{call}\n{call}"));
    assert_eq!(assistant.tool_calls().collect::<Vec<_>>(), [&provider]);
    let Message::User(user) = &shown[3] else { panic!("{shown:?}") };
    let block = |name: &str, inner: &str| {
        format!("<tool_use_result>\n<name>{name}</name>\n{inner}\n</tool_use_result>")
    };
    let expected = [
        block("weather", "<result>{\"t\":4}</result>"),
        block("weather", "<error>no</error>"),
        block("map", "<result>here\n[file: image/png]</result>"),
    ];
    let [UserPart::Text(text), UserPart::File(file)] = &user.parts[..] else { panic!("{user:?}") };
    assert_eq!((text.text.as_str(), file), (expected.join("\n\n").as_str(), &image));
    assert_eq!(shown[4], Message::user("so?"));
}

/// [AC-225]
#[tokio::test]
async fn calls_are_read_from_the_text() {
    let parts = answer(&format!("I look.\n\n{CALL}\n{CALL}\n"), UnifiedFinish::Stop).await;
    let call = "C:weather:{\"city\": \"Oslo\"}";
    assert_eq!(shape(&parts), ["T:I look.", call, call]);
    assert_eq!(finish(&parts), UnifiedFinish::ToolCalls);
    let ids = parts.iter().filter_map(|part| match part {
        StreamPart::ToolCall(call) => Some(call.id.to_string()),
        _ => None,
    });
    assert_eq!(ids.collect::<Vec<_>>(), ["call_r_1", "call_r_2"]);

    let parts = answer(&format!("{CALL} so that"), UnifiedFinish::Other).await;
    assert_eq!(shape(&parts), [call, "T:so that"]);
    assert_eq!(shape(&answer(CALL, UnifiedFinish::Stop).await), [call], "no text block at all");
    let fenced = CALL.replace("{\"city\": \"Oslo\"}", "\n```json\n{\"city\": \"Oslo\"}\n```\n");
    assert_eq!(shape(&answer(&fenced, UnifiedFinish::Stop).await), [call]);
    let bare = answer("<tool_use><name>clock</name></tool_use>", UnifiedFinish::Stop).await;
    assert_eq!(shape(&bare), ["C:clock:{}"]);
}

/// [AC-226]
#[tokio::test]
async fn what_is_no_call_stays_text() {
    for text in [
        "use <tool_use> blocks",
        "<tool_use>hm</tool_use> that is it",
        "a <tool_us",
        "<tool_use><name> </name></tool_use>",
        "white space \n\n",
        "\n",
    ] {
        let parts = answer(text, UnifiedFinish::Stop).await;
        assert_eq!(shape(&parts), [format!("T:{text}")]);
        assert_eq!(finish(&parts), UnifiedFinish::Stop);
    }
}

/// [AC-227]
#[tokio::test]
async fn half_a_call_is_never_run() {
    let whole_but_its_tag = CALL.strip_suffix("\n</tool_use>").unwrap();
    let parts = answer(whole_but_its_tag, UnifiedFinish::Stop).await;
    assert_eq!(shape(&parts), ["C:weather:{\"city\": \"Oslo\"}"], "its input is whole");
    let half = CALL.split_once("lo\"").unwrap().0;
    let parts = answer(half, UnifiedFinish::Stop).await;
    assert_eq!(shape(&parts), ["C:weather:{\"city\": \"Os"], "the loop tells the model that it is no JSON");
    for text in [whole_but_its_tag, half] {
        let parts = answer(text, UnifiedFinish::Length).await;
        assert_eq!(finish(&parts), UnifiedFinish::Length);
        assert!(shape(&parts)[0].starts_with("half:weather:{\"city\": \"Os"), "{parts:?}");
    }
    let script = text_block(["so ", half]).error(ModelError::new(ErrorClass::Transport, "reset"));
    let model = ScriptedModel::new().reply(script);
    let (parts, error) = said(&around(&model, PromptTools::new()), ask([weather()])).await;
    assert_eq!(shape(&parts), ["T:so", "half:weather:{\"city\": \"Os"]);
    assert_eq!(error.unwrap().message(), "reset");
}

/// [AC-228]
#[tokio::test]
async fn a_call_past_the_limit_is_an_error() {
    let script = text_block([&*format!("<tool_use><name>f</name>{}", "x".repeat(17 << 20))]);
    let model = ScriptedModel::new().reply(script.finish(UnifiedFinish::Stop));
    let (_, error) = said(&around(&model, PromptTools::new()), ask([weather()])).await;
    assert_eq!(error.unwrap().class(), ErrorClass::TooLarge);
}

struct Lines;

impl ToolFormat for Lines {
    fn tags(&self) -> (&str, &str) {
        ("CALL ", "\n")
    }

    fn parse(&self, block: &str) -> Option<PromptCall> {
        let (name, input) = block.split_once(' ')?;
        Some(PromptCall { name: name.to_owned(), input: input.to_owned() })
    }

    fn call(&self, call: &ToolCall) -> String {
        format!("CALL {} {}\n", call.name, call.input)
    }

    fn result(&self, result: &ToolResult) -> String {
        format!("RESULT {}", result.tool_name)
    }

    fn instructions(&self, tools: &[&FunctionTool], _choice: &ToolChoice) -> String {
        format!("{} tools", tools.len())
    }
}

/// [AC-229]
#[tokio::test]
async fn a_format_of_ones_own_is_used_throughout() {
    let model = ScriptedModel::new().reply(text_block(["CALL weather {}\n"]).finish(UnifiedFinish::Stop));
    let mut request = ask([weather()]);
    request.messages.push(Arc::new(Message::tool([ToolResult::new(
        "1",
        "weather",
        ToolOutput::Text("x".to_owned()),
    )])));
    let (parts, _) = said(&around(&model, PromptTools::new().with_format(Lines)), request).await;
    assert_eq!(shape(&parts), ["C:weather:{}"]);
    let sent = &model.requests()[0];
    assert_eq!(system(sent), "Be brief.\n\n1 tools");
    assert_eq!(*sent.messages[2], Message::user("RESULT weather"));
    let short = TagFormat::default().without_example();
    assert!(!short.instructions(&[], &ToolChoice::Auto).contains("Oslo"));
}

/// [AC-230]
#[tokio::test]
async fn a_loop_runs_the_calls_and_asks_again() {
    let model = ScriptedModel::new()
        .reply(
            text_block([&*CALL.replace("weather", "echo").replace("city", "text")])
                .usage(10, 5)
                .finish(UnifiedFinish::Stop),
        )
        .reply(
            text_block(["<tool_use><name>nope</name></tool_use>"]).usage(20, 5).finish(UnifiedFinish::Stop),
        )
        .reply(
            text_block([&*CALL.replace("weather", "fails").replace("city", "text")])
                .usage(30, 5)
                .finish(UnifiedFinish::Stop),
        )
        .reply(Script::new().text("done").usage(40, 5).finish(UnifiedFinish::Stop));
    let fails = tool_fn("fails", "", |_: Text, _| async move { Err::<String, _>(ToolError::new("no")) });
    let tools = ToolSet::new().with(support::echo()).unwrap().with(fails).unwrap();
    let agent = ToolLoop::new(around(&model, PromptTools::new())).with_instructions("Hi").with_tools(tools);
    let (_, end) = support::run(&agent, RunOptions::default()).await;
    assert_eq!(end.outcome, Outcome::Finished);
    assert_eq!(end.usage.total(), Some(120), "the usage of all rounds");
    support::check_history(end.snapshot.run().messages()).unwrap();
    let tools: Vec<_> = end.steps.iter().flat_map(|step| &step.tools).collect();
    let status: Vec<_> = tools.iter().map(|tool| &tool.status).collect();
    assert_eq!(status, [&ToolStatus::Ok, &ToolStatus::Unknown, &ToolStatus::Failed]);
    let mut ids: Vec<_> = tools.iter().map(|tool| tool.result.tool_call_id.as_str()).collect();
    ids.dedup();
    assert_eq!(ids.len(), 3, "{ids:?}");

    let requests = model.requests();
    for pair in requests.windows(2) {
        assert_eq!(system(&pair[0]), system(&pair[1]), "described once, and the same each time");
        assert_eq!(pair[1].messages[..pair[0].messages.len()], pair[0].messages[..]);
    }
    assert_eq!(system(&requests[3]).matches("## Tools").count(), 1);
}
