//! Histories, and the items they become.

use std::sync::Arc;

use ai_http::{CallInfo, Codec, IdSeed};
use ai_provider::{
    Account, AssistantMessage, AssistantPart, Delivery, ErrorClass, FileData, FilePart, Message,
    ProviderOptions, ReasoningPart, Request, RequestId, TargetId, TextPart, ToolCall, ToolContent,
    ToolDefinition, ToolMessage, ToolOutput, ToolPart, ToolResult, UserMessage, UserPart,
};
use serde_json::{Value, json};

use crate::support::{
    ENDPOINT, account, body, called, codec, completed, created, done, encoded, events, function_call, kept,
    message, said, sent,
};

fn assistant(parts: impl IntoIterator<Item = AssistantPart>) -> Message {
    Message::Assistant(AssistantMessage { parts: parts.into_iter().collect(), ..AssistantMessage::default() })
}

fn words(text: &str) -> AssistantPart {
    AssistantPart::Text(TextPart::new(text))
}

fn call(id: &str, name: &str, input: &str) -> AssistantPart {
    AssistantPart::ToolCall(ToolCall::new(id, name, input))
}

fn result(id: &str, text: &str) -> ToolResult {
    ToolResult::new(id, "f", ToolOutput::Text(text.into()))
}

fn input(name: &str, history: impl IntoIterator<Item = Message>) -> Value {
    body(name, &Request::new(history))["input"].clone()
}

/// The items, and what was warned of.
fn healed(name: &str, history: impl IntoIterator<Item = Message>) -> (Value, Vec<String>) {
    let (body, warnings) = sent(name, "m", &Request::new(history));
    (body["input"].clone(), warnings)
}

fn unstored(history: impl IntoIterator<Item = Message>) -> Request {
    let mut request = Request::new(history);
    request.options = request.options.with("openai", "store", json!(false));
    request
}

fn wire_user(text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "input_text", "text": text}]})
}

fn wire_said(text: &str) -> Value {
    json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
}

fn wire_call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments})
}

fn wire_result(id: &str, output: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": output})
}

fn reference(id: &str) -> Value {
    json!({"type": "item_reference", "id": id})
}

fn thought(encrypted: bool) -> Value {
    let mut item = json!({"type": "reasoning", "id": "rs_1", "summary": [
        {"type": "summary_text", "text": "Hm."}, {"type": "summary_text", "text": "So."}]});
    if encrypted {
        item["encrypted_content"] = "E".into();
    }
    item
}

/// A turn that reasons, says something and calls.
async fn turn(name: &str, created: Value, encrypted: bool) -> Message {
    let mut list = vec![created, done(0, thought(encrypted)), done(1, message("msg_1", "Let me see."))];
    list.extend(called(2, "fc_1", "call_1", "f", &[r#"{ "x" : 1 }"#]));
    list.push(completed());
    said(name, events(&list)).await
}

/// [OA-255]
#[test]
fn messages_go_out_in_their_roles_and_nothing_blank() {
    let history = [
        Message::system("Be brief."),
        Message::user("Hi"),
        Message::user(" "),
        assistant([words(""), words("Hello."), words(" ")]),
        assistant([words("")]),
        Message::system(""),
        Message::user("Bye"),
    ];
    let system = json!({"role": "system", "content": "Be brief."});
    let expected = json!([system, wire_user("Hi"), wire_said("Hello."), wire_user("Bye")]);
    assert_eq!(input("openai", history.clone()), expected);
    let (reasons, _) = sent("openai", "o3", &Request::new(history));
    assert_eq!(reasons["input"][0]["role"], "developer");
    for nothing in [vec![], vec![Message::user("")], vec![assistant([words(" ")])]] {
        assert_eq!(
            encoded("openai", "m", &Request::new(nothing)).unwrap_err().class(),
            ErrorClass::InvalidRequest
        );
    }
}

/// [OA-256]
#[tokio::test]
async fn encrypted_reasoning_goes_back_right_before_its_item_with_its_summary() {
    let history = [turn("openai", created(), true).await, Message::tool([result("call_1", "5")])];
    // It survives being stored.
    let stored = serde_json::to_string(&history).unwrap();
    let history: [Message; 2] = serde_json::from_str(&stored).unwrap();
    let (body, warnings) =
        sent("openai", "m", &unstored([vec![Message::user("Hi")], history.to_vec()].concat()));
    assert_eq!(warnings, [""; 0]);
    assert_eq!(
        body["input"],
        json!([
            wire_user("Hi"),
            thought(true),
            wire_said("Let me see."),
            wire_call("call_1", "f", r#"{ "x" : 1 }"#),
            wire_result("call_1", "5"),
        ])
    );
    // A silent one too, right before its call, with an empty summary.
    let silent = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E"});
    let mut list = vec![created(), done(0, silent.clone())];
    list.extend(called(1, "fc_1", "call_1", "f", &["{}"]));
    list.push(completed());
    let history = [said("openai", events(&list)).await, Message::tool([result("call_1", "5")])];
    let (body, warnings) = sent("openai", "m", &unstored(history));
    assert_eq!(warnings, [""; 0]);
    assert_eq!(body["input"], json!([silent, wire_call("call_1", "f", "{}"), wire_result("call_1", "5")]));
}

/// [OA-257]
#[tokio::test]
async fn items_that_the_server_keeps_are_referred_to() {
    let history = [turn("openai", kept(), false).await, Message::tool([result("call_1", "5")])];
    let expected =
        json!([reference("rs_1"), reference("msg_1"), reference("fc_1"), wire_result("call_1", "5")]);
    assert_eq!(input("openai", history.clone()), expected);
    // Told not to keep anything, the request holds all there is; reasoning that cannot be said is left out.
    let (body, warnings) = sent("openai", "m", &unstored(history));
    let call = wire_call("call_1", "f", r#"{ "x" : 1 }"#);
    assert_eq!(body["input"], json!([wire_said("Let me see."), call, wire_result("call_1", "5")]));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    // A server that does not say that it keeps anything is not taken to.
    let history = [turn("openai", created(), true).await, Message::tool([result("call_1", "5")])];
    assert_eq!(input("openai", history)[0], thought(true));
}

/// [OA-258]
#[tokio::test]
async fn what_another_endpoint_model_or_account_made_is_left_out() {
    let first = turn("openai", kept(), true).await;
    let history = [first.clone(), Message::tool([result("call_1", "5")])];
    let before = serde_json::to_value(&history).unwrap();
    let request = Request::new(history);
    let ours = (TargetId::new("openai", "m", ENDPOINT), account());
    for (target, account, name) in [
        (TargetId::new("openai", "other", ENDPOINT), account(), "openai"),
        (TargetId::new("openai", "m", "http://elsewhere/v1"), account(), "openai"),
        (TargetId::new("openai", "m", ENDPOINT), Account::from("another"), "openai"),
        (TargetId::new("xai", "m", ENDPOINT), account(), "xai"),
    ] {
        let encode = |target: &TargetId, account: &Account, request: &Request| {
            let ids = IdSeed::new(&RequestId::from("request-1"));
            let info = CallInfo { target, account: Some(account), delivery: Delivery::Stream, ids };
            let (call, warnings) = codec(name).encode(request, &info).unwrap();
            (serde_json::from_slice::<Value>(&call.body).unwrap()["input"].clone(), warnings.len())
        };
        let (foreign, warnings) = encode(&target, &account, &request);
        let call = wire_call("call_1", "f", r#"{ "x" : 1 }"#);
        assert_eq!(
            foreign,
            json!([wire_said("Let me see."), call, wire_result("call_1", "5")]),
            "{target:?}"
        );
        assert_eq!(warnings, 1);
        assert!(!foreign.to_string().contains("Hm."), "reasoning is not said as text");
        if name == "openai" {
            assert_eq!(encode(&ours.0, &ours.1, &request).0[0], reference("rs_1"), "its maker gets it back");
        }
    }
    assert_eq!(serde_json::to_value(&request.messages).unwrap(), before);
    // Reasoning of nobody is nobody's.
    let bare = assistant([AssistantPart::Reasoning(ReasoningPart::new("Hm.")), words("Hi")]);
    let (items, warnings) = healed("openai", [bare]);
    assert_eq!((items, warnings.len()), (json!([wire_said("Hi")]), 1));
}

/// [OA-259]
#[tokio::test]
async fn behind_reasoning_that_was_left_out_nothing_is_referred_to() {
    let Message::Assistant(mut first) = turn("openai", kept(), false).await else { panic!() };
    first.parts.remove(1);
    let before = first.clone();
    let AssistantPart::Reasoning(thought) = &mut first.parts[0] else { panic!() };
    thought.metadata = None;
    // Its own, but from before it was done: not kept, and not encrypted.
    let mut undone = before;
    let AssistantPart::Reasoning(thought) = &mut undone.parts[0] else { panic!() };
    let mut values = thought.metadata.as_ref().unwrap().get("openai").unwrap().clone();
    values.remove("stored");
    let values = values
        .into_iter()
        .fold(ProviderOptions::default(), |all, (name, value)| all.with("openai", name, value));
    thought.metadata.as_mut().unwrap().values = values;
    for message in [first, undone] {
        let history = [Message::Assistant(message), Message::tool([result("call_1", "5")])];
        let (items, warnings) = healed("openai", history);
        let call = wire_call("call_1", "f", r#"{ "x" : 1 }"#);
        assert_eq!(items, json!([wire_said("Let me see."), call, wire_result("call_1", "5")]));
        assert_eq!(warnings.len(), 1, "{warnings:?}");
    }
}

/// [OA-260]
#[tokio::test]
async fn reasoning_that_nothing_follows_is_left_out() {
    for list in [
        vec![kept(), done(0, thought(true)), completed()],
        vec![kept(), done(0, thought(true)), done(1, message("msg_1", " ")), completed()],
    ] {
        let history = [Message::user("Hi"), said("openai", events(&list)).await, Message::user("Go on")];
        let (items, warnings) = healed("openai", history);
        assert_eq!(items, json!([wire_user("Hi"), wire_user("Go on")]));
        assert_eq!(warnings.len(), 1, "{warnings:?}");
    }
}

/// [OA-261]
#[test]
fn results_follow_their_calls_in_the_order_of_the_calls() {
    let history = [
        assistant([
            words("On it."),
            call("a", "f", "{}"),
            call("b", "g", r#"{"y": 2}"#),
            call("c", "f", "[1]"),
        ]),
        Message::tool([result("c", "C")]),
        Message::tool([result("b", "B"), result("a", "A")]),
    ];
    assert_eq!(
        input("openai", history),
        json!([
            wire_said("On it."),
            wire_call("a", "f", "{}"),
            wire_call("b", "g", r#"{"y": 2}"#),
            // What is no object is refused by servers.
            wire_call("c", "f", "{}"),
            wire_result("a", "A"),
            wire_result("b", "B"),
            wire_result("c", "C"),
        ])
    );
}

/// [OA-262]
#[test]
fn missing_results_are_filled_and_results_without_a_call_left_out() {
    let history = [
        Message::user("Hi"),
        assistant([call("a", "f", "{}"), call("a", "no name!", "{}"), call("", "f", "{}")]),
        Message::tool([result("a", ""), result("nobody", "x")]),
        Message::user("Go on"),
    ];
    let (items, warnings) = healed("openai", history);
    let items = items.as_array().unwrap();
    assert_eq!(items.len(), 8, "{items:?}");
    let ids: Vec<_> = items[1..4].iter().map(|item| item["call_id"].as_str().unwrap()).collect();
    assert!(ids[0] == "a" && ids[1] != "a" && !ids[2].is_empty(), "{ids:?}");
    assert_eq!(items[2]["name"], "no_name_");
    assert_eq!(items[4], wire_result("a", "(no output)"));
    for item in &items[5..7] {
        assert!(item["output"].as_str().unwrap().contains("no result"), "{item}");
    }
    assert_eq!(items[7], wire_user("Go on"));
    assert_eq!(warnings.len(), 4, "{warnings:?}");
}

fn png() -> FilePart {
    FilePart::new("image/png", FileData::bytes(&b"\x89PNG"[..]))
}

/// [OA-263]
#[test]
fn the_files_of_a_result_stand_in_it_or_behind_it() {
    let content = ToolOutput::Content(vec![
        ToolContent::Text(TextPart::new("Here:")),
        ToolContent::Text(TextPart::new(" ")),
        ToolContent::File(png()),
    ]);
    let history = [
        assistant([call("a", "f", "{}"), call("b", "f", "{}")]),
        Message::tool([ToolResult::new("a", "f", content), result("b", "B")]),
    ];
    let image = json!({"type": "input_image", "image_url": "data:image/png;base64,iVBORw=="});
    let parts = json!([{"type": "input_text", "text": "Here:"}, image]);
    let items = input("openai", history.clone());
    assert_eq!(items[2], json!({"type": "function_call_output", "call_id": "a", "output": parts}));
    assert_eq!(items[3], wire_result("b", "B"));
    let items = input("lmstudio", history.clone());
    assert_eq!((&items[2], &items[3]), (&wire_result("a", "Here:"), &wire_result("b", "B")));
    let label = json!({"type": "input_text", "text": "From tool call a:"});
    assert_eq!(items[4], json!({"role": "user", "content": [label, image]}));
    // A model that sees nothing gets a note.
    let (items, warnings) = {
        let codec = codec("openai").with_capabilities(ai_provider::Capabilities::default());
        let target = TargetId::new("openai", "m", ENDPOINT);
        let ids = IdSeed::new(&RequestId::from("request-1"));
        let info = CallInfo { target: &target, account: None, delivery: Delivery::Stream, ids };
        let (call, warnings) = codec.encode(&Request::new(history), &info).unwrap();
        (serde_json::from_slice::<Value>(&call.body).unwrap()["input"].clone(), warnings)
    };
    assert!(items[2]["output"].as_str().unwrap().contains("image/png was left out"), "{items}");
    assert_eq!(warnings.len(), 1);
}

/// [OA-264]
#[test]
fn every_kind_of_output_has_its_words() {
    let reason = Some("not now".to_owned());
    for (output, expected) in [
        (ToolOutput::Json(json!({"t": 1})), r#"{"t":1}"#),
        (ToolOutput::ErrorText("boom".into()), "boom"),
        (ToolOutput::ErrorJson(json!([1])), "[1]"),
        (ToolOutput::ExecutionDenied { reason }, "not now"),
        (ToolOutput::ExecutionDenied { reason: None }, "The user did not allow this call."),
        (ToolOutput::Content(vec![]), "(no output)"),
        (ToolOutput::Text(" ".into()), "(no output)"),
    ] {
        let history = [assistant([call("a", "f", "{}")]), Message::tool([ToolResult::new("a", "f", output)])];
        assert_eq!(input("openai", history)[1], wire_result("a", expected));
    }
}

/// [OA-265]
#[tokio::test]
async fn behind_a_previous_response_only_what_is_new_is_sent() {
    let history = [
        Message::system("Be brief."),
        Message::user("Hi"),
        turn("openai", kept(), false).await,
        Message::tool([result("call_1", "5")]),
        Message::user("And?"),
    ];
    let with = |id: &str| {
        let mut request = Request::new(history.clone());
        request.options = request.options.with("openai", "previous_response_id", json!(id));
        body("openai", &request)["input"].clone()
    };
    assert_eq!(with("resp_1"), json!([wire_result("call_1", "5"), wire_user("And?")]));
    // Of a response that is not in the history nothing is known.
    assert_eq!(with("resp_0").as_array().unwrap().len(), 7);
}

/// [OA-266]
#[tokio::test]
async fn in_a_conversation_the_items_it_holds_are_left_out() {
    let history =
        [turn("openai", kept(), false).await, Message::tool([result("call_1", "5")]), Message::user("And?")];
    let mut request = Request::new(history);
    request.options = request.options.with("openai", "conversation", json!("conv_1"));
    assert_eq!(body("openai", &request)["input"], json!([wire_result("call_1", "5"), wire_user("And?")]));
}

/// [OA-267]
#[tokio::test]
async fn items_of_the_server_go_back_to_it_as_they_came() {
    let search = json!({"type": "web_search_call", "id": "ws_1", "status": "completed",
        "action": {"type": "search", "query": "q"}});
    let code = json!({"type": "code_interpreter_call", "id": "ci_1", "status": "completed", "code": "1",
        "container_id": "c", "outputs": null});
    let image = json!({"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "iVBORw0KGgo="});
    let compaction = json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "E"});
    let items = [thought(true), search, code, image, compaction, message("msg_1", "Done.")];
    let list = |first: Value| {
        let mut list = vec![first];
        list.extend(items.iter().enumerate().map(|(at, item)| done(at, item.clone())));
        list.push(completed());
        events(&list)
    };
    let history = [said("openai", list(created())).await];
    let (body, warnings) = sent("openai", "m", &unstored(history.clone()));
    let mut expected = items.to_vec();
    expected[5] = wire_said("Done.");
    assert_eq!((&body["input"], warnings), (&Value::from(expected), Vec::new()));
    let ids = ["rs_1", "ws_1", "ci_1", "ig_1", "cmp_1", "msg_1"].map(reference);
    assert_eq!(input("openai", [said("openai", list(kept())).await]), json!(ids));
    // Elsewhere they mean nothing.
    let (foreign, warnings) = healed("xai", history);
    assert_eq!((foreign, warnings.len()), (json!([wire_said("Done.")]), 2));
}

/// [OA-292]
#[tokio::test]
async fn a_call_whose_result_is_an_item_of_its_own_goes_back_with_it_or_not_at_all() {
    let shell = json!({"type": "shell_call", "id": "sh_1", "call_id": "c", "status": "completed",
        "action": {"commands": ["ls"]}, "environment": {"type": "container_reference", "container_id": "k"}});
    let output =
        json!({"type": "shell_call_output", "id": "sho_1", "call_id": "c", "output": [{"stdout": "a"}]});
    let text = message("msg_1", "Done.");
    let list = |first: Value, items: &[Value]| {
        let mut list = vec![first];
        list.extend(items.iter().enumerate().map(|(at, item)| done(at, item.clone())));
        list.push(completed());
        events(&list)
    };
    let all = [shell.clone(), output.clone(), text.clone()];
    let (body, warnings) = sent("openai", "m", &unstored([said("openai", list(created(), &all)).await]));
    assert_eq!((&body["input"], warnings), (&json!([shell, output, wire_said("Done.")]), Vec::new()));
    let ids = ["sh_1", "sho_1", "msg_1"].map(reference);
    assert_eq!(input("openai", [said("openai", list(kept(), &all)).await]), json!(ids));
    // Cut off before its output came.
    let (body, warnings) =
        sent("openai", "m", &unstored([said("openai", list(created(), &[shell, text])).await]));
    assert_eq!((&body["input"], warnings.len()), (&json!([wire_said("Done.")]), 1));
}

/// [OA-268]
#[tokio::test]
async fn tools_of_the_server_that_run_here_are_answered_in_their_own_form() {
    let item = |kind: &str, more: Value| {
        let mut item = json!({"type": kind, "id": "i_1", "call_id": "c", "status": "completed"});
        item.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        item
    };
    let image = json!({"type": "computer_screenshot", "image_url": "data:image/png;base64,iVBORw=="});
    let screenshot = ToolOutput::Content(vec![ToolContent::File(png())]);
    let exit = |code: i32| json!({"type": "exit", "exit_code": code});
    for (item, output, expected) in [
        (
            item("computer_call", json!({"action": {}})),
            screenshot,
            json!({"type": "computer_call_output", "output": image}),
        ),
        (
            item("shell_call", json!({"action": {"commands": ["ls"]}})),
            ToolOutput::Text("a".into()),
            json!({"type": "shell_call_output", "output": [{"stdout": "a", "stderr": "", "outcome": exit(0)}]}),
        ),
        (
            item("shell_call", json!({"action": {"commands": ["ls"]}})),
            ToolOutput::Json(json!({"output": [{"stdout": "b"}]})),
            json!({"type": "shell_call_output", "output": [{"stdout": "b"}]}),
        ),
        (
            item("shell_call", json!({"action": {"commands": ["ls"]}})),
            ToolOutput::ErrorText("no".into()),
            json!({"type": "shell_call_output", "output": [{"stdout": "", "stderr": "no", "outcome": exit(1)}]}),
        ),
        (
            item("local_shell_call", json!({"action": {}})),
            ToolOutput::Json(json!({"output": "a"})),
            json!({"type": "local_shell_call_output", "output": "a"}),
        ),
        (
            item("apply_patch_call", json!({"operation": {"type": "delete_file", "path": "a"}})),
            ToolOutput::ErrorText("no such file".into()),
            json!({"type": "apply_patch_call_output", "status": "failed", "output": "no such file"}),
        ),
        (
            item("tool_search_call", json!({"execution": "client", "arguments": {}})),
            ToolOutput::Json(json!({"tools": [{"type": "function"}]})),
            json!({"type": "tool_search_output", "execution": "client", "status": "completed",
                "tools": [{"type": "function"}]}),
        ),
    ] {
        let first = said("openai", events(&[created(), done(0, item.clone()), completed()])).await;
        let history = [first, Message::tool([ToolResult::new("c", "x", output)])];
        let items = input("openai", history.clone());
        assert_eq!(items[0], item);
        let mut expected = expected;
        expected["call_id"] = "c".into();
        assert_eq!(items[1], expected);
        // To another model both are those of a function.
        let (items, _) = healed("xai", history);
        assert_eq!(
            (&items[0]["type"], &items[1]["type"]),
            (&json!("function_call"), &json!("function_call_output"))
        );
    }
    // A screen that was never taken is no screenshot: the call goes out in a form that takes words.
    let item = item("computer_call", json!({"action": {}}));
    let first = said("openai", events(&[kept(), done(0, item), completed()])).await;
    let (items, _) = healed("openai", [first]);
    assert_eq!(
        (&items[0]["type"], &items[1]["type"]),
        (&json!("function_call"), &json!("function_call_output"))
    );
}

/// [OA-269]
#[tokio::test]
async fn the_answer_to_a_question_of_the_server_goes_to_it() {
    let asks = json!({"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "s", "name": "t", "arguments": "{}"});
    let first = said("openai", events(&[created(), done(0, asks.clone()), completed()])).await;
    let responses = [("mcpr_1", true, None), ("approval_of_ours", false, Some("no".to_owned()))];
    let parts = responses.map(|(id, approved, reason)| {
        ToolPart::ToolApprovalResponse(ai_provider::ToolApprovalResponse {
            approval_id: id.into(),
            approved,
            reason,
        })
    });
    let tool = Message::Tool(ToolMessage { parts: parts.to_vec(), ..ToolMessage::default() });
    let answer = json!({"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": true});
    assert_eq!(input("openai", [first.clone(), tool.clone()]), json!([asks, answer]));
    // Another server never asked.
    let (items, warnings) = healed("xai", [Message::user("Hi"), first, tool]);
    assert_eq!((items, warnings.len()), (json!([wire_user("Hi")]), 1));
}

/// [OA-270]
#[tokio::test]
async fn calls_of_custom_tools_go_back_as_text() {
    let item = json!({"type": "custom_tool_call", "id": "ct_1", "call_id": "a", "name": "sql", "input": "SELECT \"x\""});
    let first = said("openai", events(&[created(), done(0, item.clone()), completed()])).await;
    let history = [first, Message::tool([result("a", "5")])];
    let output = json!({"type": "custom_tool_call_output", "call_id": "a", "output": "5"});
    assert_eq!(input("openai", history), json!([item, output]));
    // One that came from elsewhere, where the tool is offered here too.
    let args = Default::default();
    let tool = ToolDefinition::Provider(ai_provider::ProviderTool {
        id: "openai.custom".into(),
        name: "sql".into(),
        args,
    });
    let history = [assistant([call("a", "sql", r#""SELECT 1""#)]), Message::tool([result("a", "5")])];
    let items = body("openai", &Request::new(history).with_tools([tool]))["input"].clone();
    let call = json!({"type": "custom_tool_call", "call_id": "a", "name": "sql", "input": "SELECT 1"});
    assert_eq!(items, json!([call, output]));
}

fn user(files: impl IntoIterator<Item = FilePart>) -> Message {
    let parts = files.into_iter().map(UserPart::File).collect();
    Message::User(UserMessage { parts, ..UserMessage::default() })
}

/// [OA-271]
#[test]
fn a_users_files_go_in_the_form_the_api_has_for_them() {
    let url = |url: &str| FileData::Url { url: url.into() };
    let uploaded = || FileData::Reference { ids: [("openai".to_owned(), "file_1".to_owned())].into() };
    let mut pdf = FilePart::new("application/pdf", FileData::bytes(&b"%PDF"[..]));
    pdf.filename = Some("a.pdf".into());
    let mut detailed = png();
    detailed.options = ProviderOptions::default().with("openai", "detail", json!("low"));
    let text = FilePart::new("text/csv", FileData::bytes(&b"a,b"[..]));
    let files = [
        detailed,
        FilePart::new("image", FileData::bytes(&b"\xFF\xD8\xFF"[..])),
        FilePart::new("image/png", url("https://a/b.png")),
        FilePart::new("image/png", uploaded()),
        pdf,
        FilePart::new("application/pdf", url("https://a/b.pdf")),
        FilePart::new("application/pdf", uploaded()),
        text,
    ];
    assert_eq!(
        input("openai", [user(files)])[0]["content"],
        json!([
            {"type": "input_image", "image_url": "data:image/png;base64,iVBORw==", "detail": "low"},
            {"type": "input_image", "image_url": "data:image/jpeg;base64,/9j/"},
            {"type": "input_image", "image_url": "https://a/b.png"},
            {"type": "input_image", "file_id": "file_1"},
            {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="},
            {"type": "input_file", "file_url": "https://a/b.pdf"},
            {"type": "input_file", "file_id": "file_1"},
            {"type": "input_text", "text": "a,b"},
        ])
    );
    for (file, class) in [
        (FilePart::new("audio/wav", FileData::bytes(&b"x"[..])), ErrorClass::Unsupported),
        (FilePart::new("video/mp4", FileData::bytes(&b"x"[..])), ErrorClass::Unsupported),
        (FilePart::new("application/zip", FileData::bytes(&b"x"[..])), ErrorClass::Unsupported),
        (FilePart::new("image/*", FileData::bytes(&b"x"[..])), ErrorClass::InvalidRequest),
        (FilePart::new("text/plain", FileData::bytes(&b"\xFF"[..])), ErrorClass::InvalidRequest),
        (
            FilePart::new("image/png", FileData::Reference { ids: Default::default() }),
            ErrorClass::Unsupported,
        ),
    ] {
        let error = encoded("openai", "m", &Request::new([user([file.clone()])])).unwrap_err();
        assert_eq!(error.class(), class, "{file:?}");
    }
}

/// [OA-272]
#[test]
fn a_file_the_server_cannot_fetch_has_to_be_here_before() {
    let target = TargetId::new("openai", "m", ENDPOINT);
    let ids = IdSeed::new(&RequestId::from("request-1"));
    let info = CallInfo { target: &target, account: None, delivery: Delivery::Stream, ids };
    for (name, media_type, url, must) in [
        ("openai", "image/png", "https://a/b.png", false),
        ("openai", "application/pdf", "http://a/b.pdf", false),
        ("openai", "text/plain", "https://a/b.txt", true),
        ("openai", "image/png", "s3://a/b.png", true),
        ("lmstudio", "image/png", "https://a/b.png", true),
    ] {
        let file = FilePart::new(media_type, FileData::Url { url: url.into() });
        assert_eq!(codec(name).must_download(&file, &info), must, "{name} {url}");
        assert_eq!(encoded(name, "m", &Request::new([user([file])])).is_err(), must, "{name} {url}");
    }
    assert!(!codec("lmstudio").must_download(&png(), &info));
}

/// [OA-273]
#[tokio::test]
async fn the_open_variant_has_instructions_and_keeps_nothing() {
    let reasoned = json!({"type": "reasoning", "id": "rs_1", "summary": [],
        "content": [{"type": "reasoning_text", "text": "Hm."}]});
    let mut list = vec![kept(), done(0, reasoned.clone()), done(1, message("msg_1", "Let me see."))];
    list.extend(called(2, "fc_1", "call_1", "f", &["{}"]));
    list.push(completed());
    let first = said("lmstudio", events(&list)).await;
    let history = [
        Message::system("Be brief."),
        Message::system(" "),
        Message::system("Be kind."),
        Message::user("Hi"),
        first,
        Message::tool([result("call_1", "5")]),
        Message::system("Hurry."),
    ];
    let body = body("lmstudio", &Request::new(history));
    assert_eq!(body["instructions"], "Be brief.\n\nBe kind.");
    assert_eq!(
        body["input"],
        json!([
            wire_user("Hi"), reasoned, wire_said("Let me see."), wire_call("call_1", "f", "{}"),
            wire_result("call_1", "5"), {"role": "system", "content": "Hurry."},
        ])
    );
}

/// [OA-274]
#[tokio::test]
async fn phases_and_namespaces_go_back() {
    let mut item = message("msg_1", "Let me see.");
    item["phase"] = "commentary".into();
    let mut call = function_call("fc_1", "call_1", "f", "{}");
    call["namespace"] = "crm".into();
    let begun = crate::support::added(0, item.clone());
    let list = [created(), begun, done(0, item), done(1, call), completed()];
    let history = [said("openai", events(&list)).await, Message::tool([result("call_1", "5")])];
    let items = input("openai", history);
    assert_eq!((&items[0]["phase"], &items[1]["namespace"]), (&json!("commentary"), &json!("crm")));
}

/// [OA-274]
#[test]
fn options_of_a_message_or_a_part_go_into_it() {
    let options =
        || ProviderOptions::default().with("openai", "extra", json!(1)).with("other", "x", json!(1));
    let mut part = TextPart::new("Hi");
    part.options = options();
    let message = UserMessage { parts: vec![UserPart::Text(part)], options: options() };
    let items = input("openai", [Message::User(message)]);
    assert_eq!(
        items[0],
        json!({"role": "user", "extra": 1, "content": [{"type": "input_text", "text": "Hi", "extra": 1}]})
    );
    let shared = Request::from_shared(vec![Arc::new(Message::user("Hi"))]);
    assert_eq!(body("openai", &shared)["input"][0], wire_user("Hi"));
}
