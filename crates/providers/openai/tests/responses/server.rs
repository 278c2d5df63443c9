//! Tools of the server, and items of other kinds.

use std::sync::Arc;

use ai_provider::{
    AssistantMessage, AssistantPart, Delivery, ErrorClass, FileData, Message, ProviderTool, Request, Source,
    StreamPart, ToolApprovalRequest, ToolCall, ToolContent, ToolDefinition, ToolOutput, ToolResult,
    UnifiedFinish,
};
use ai_testkit::MemoryReply;
use serde_json::{Value, json};

use crate::support::{
    added, answer, completed, created, delta, done, events, finish, kept, message, parts, stream, text,
    values,
};

fn the_calls(parts: &[StreamPart]) -> Vec<ToolCall> {
    let calls = parts.iter().filter_map(|part| match part {
        StreamPart::ToolCall(call) => Some((**call).clone()),
        _ => None,
    });
    calls.collect()
}

fn the_results(parts: &[StreamPart]) -> Vec<ToolResult> {
    let results = parts.iter().filter_map(|part| match part {
        StreamPart::ToolResult(result) => Some((**result).clone()),
        _ => None,
    });
    results.collect()
}

async fn of(name: &str, list: &[Value]) -> Vec<StreamPart> {
    parts(name, events(&[&[kept()], list, &[completed()]].concat())).await
}

/// [OA-215]
#[tokio::test]
async fn a_call_the_server_runs_comes_when_it_begins_and_its_result_when_it_is_done() {
    let search = json!({"type": "web_search_call", "id": "ws", "status": "in_progress"});
    let mut found = search.clone();
    found["status"] = "completed".into();
    found["action"] =
        json!({"type": "search", "query": "q", "sources": [{"type": "url", "url": "http://a"}]});
    let files = json!({"type": "file_search_call", "id": "fs", "queries": ["q"], "results": null});
    for (begun, end, name, result) in [
        (search, found.clone(), "web_search", json!({"action": found["action"]})),
        (files.clone(), files, "file_search", json!({"queries": ["q"], "results": null})),
    ] {
        let parts = of("openai", &[added(0, begun), done(0, end.clone())]).await;
        let [call] = the_calls(&parts).try_into().unwrap();
        assert_eq!(
            (call.id.as_str(), call.name.as_str(), call.input.as_str()),
            (end["id"].as_str().unwrap(), name, "{}")
        );
        assert!(call.provider_executed);
        let [done] = the_results(&parts).try_into().unwrap();
        assert_eq!((&done.tool_call_id, &done.output), (&call.id, &ToolOutput::Json(result)));
        assert!(done.provider_executed && !done.preliminary);
        assert_eq!(values(&done.metadata, "openai")["item"], end);
        assert_eq!(finish(&parts).reason.unified, UnifiedFinish::Stop);
    }
    // Never added: the same, at once.
    let parts = of("openai", &[done(0, found)]).await;
    assert_eq!((the_calls(&parts).len(), the_results(&parts).len()), (1, 1));
}

/// [OA-215]
#[tokio::test]
async fn a_call_that_failed_at_the_server_has_an_error_as_its_result() {
    let item =
        json!({"type": "web_search_call", "id": "ws", "status": "failed", "action": {"type": "search"}});
    let parts = of("openai", &[done(0, item)]).await;
    let [result] = the_results(&parts).try_into().unwrap();
    assert!(result.output.is_error(), "{result:?}");
}

/// [OA-216]
#[tokio::test]
async fn code_streams_into_the_input_of_its_call() {
    let item = |code: &str| {
        json!({"type": "code_interpreter_call", "id": "ci", "container_id": "c", "code": code,
            "outputs": [{"type": "logs", "logs": "2"}]})
    };
    let parts = of(
        "openai",
        &[
            added(0, item("")),
            delta("code_interpreter_call_code", 0, "ci", "print(\"1\")\n"),
            delta("code_interpreter_call_code", 0, "ci", "x"),
            done(0, item("print(\"1\")\nx")),
        ],
    )
    .await;
    let [call] = the_calls(&parts).try_into().unwrap();
    assert_eq!(call.input_json().unwrap(), json!({"containerId": "c", "code": "print(\"1\")\nx"}));
    let shown: String = parts
        .iter()
        .filter_map(|part| match part {
            StreamPart::ToolInputDelta { delta, .. } => Some(delta.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(
        (shown.as_str(), call.name.as_str(), call.id.as_str()),
        (call.input.as_str(), "code_interpreter", "ci")
    );
    let [result] = the_results(&parts).try_into().unwrap();
    assert_eq!(result.output, ToolOutput::Json(json!({"outputs": [{"type": "logs", "logs": "2"}]})));
    // Without pieces.
    let parts = of("openai", &[done(0, item("x"))]).await;
    assert_eq!(the_calls(&parts)[0].input_json().unwrap(), json!({"containerId": "c", "code": "x"}));
}

/// [OA-217]
#[tokio::test]
async fn an_image_comes_as_a_file_also_as_far_as_it_is_drawn() {
    let png = "iVBORw0KGgo=";
    let partial = |image: &str| {
        json!({"type": "response.image_generation_call.partial_image", "item_id": "ig", "output_index": 0,
            "partial_image_index": 0, "partial_image_b64": image})
    };
    let end = json!({"type": "image_generation_call", "id": "ig", "status": "completed", "result": png});
    let begun = added(0, json!({"type": "image_generation_call", "id": "ig"}));
    let parts = of("openai", &[begun.clone(), partial(png), partial(png), done(0, end)]).await;
    let results = the_results(&parts);
    assert_eq!(results.iter().map(|result| result.preliminary).collect::<Vec<_>>(), [true, true, false]);
    for result in &results {
        assert_eq!((result.tool_call_id.as_str(), result.tool_name.as_str()), ("ig", "image_generation"));
        let ToolOutput::Content(content) = &result.output else { panic!("{result:?}") };
        let [ToolContent::File(file)] = content.as_slice() else { panic!("{content:?}") };
        assert_eq!(file.media_type, "image/png");
        assert_eq!(file.data, FileData::bytes(&b"\x89PNG\r\n\x1a\n"[..]));
    }
    // The item is kept without the image, which is in the result already.
    assert_eq!(values(&results[2].metadata, "openai")["item"].get("result"), None);
    let body = events(&[created(), begun, partial("no base64!")]);
    assert_eq!(stream("openai", body).await.1.unwrap().class(), ErrorClass::Protocol);
}

fn mcp(kind: &str, more: Value) -> Value {
    let mut item =
        json!({"type": kind, "id": "mcp_1", "server_label": "s", "name": "tool", "arguments": "{\"x\":1}"});
    item.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    item
}

/// [OA-218]
#[tokio::test]
async fn a_call_of_an_mcp_server_comes_when_it_is_done() {
    for (more, output) in [
        (
            json!({"output": "5", "error": null}),
            ToolOutput::Json(json!({"server_label": "s", "output": "5"})),
        ),
        (
            json!({"output": null, "error": "boom"}),
            ToolOutput::ErrorJson(
                json!({"server_label": "s", "output": null, "error": "boom", "status": "failed"}),
            ),
        ),
    ] {
        let item = mcp("mcp_call", more);
        let tools =
            json!({"type": "mcp_list_tools", "id": "l", "server_label": "s", "tools": [{"name": "tool"}]});
        let list = [added(0, tools.clone()), done(0, tools), added(1, item.clone()), done(1, item)];
        let parts = of("openai", &list).await;
        let [call] = the_calls(&parts).try_into().unwrap();
        assert_eq!((call.name.as_str(), call.input.as_str()), ("mcp.tool", r#"{"x":1}"#));
        assert!(call.dynamic && call.provider_executed);
        let [result] = the_results(&parts).try_into().unwrap();
        assert_eq!((&result.tool_call_id, &result.output, result.dynamic), (&call.id, &output, true));
    }
}

/// [OA-218]
#[tokio::test]
async fn consent_is_asked_for_a_call_and_its_result_comes_in_a_later_answer() {
    let asks = mcp("mcp_approval_request", json!({"id": "mcpr_1"}));
    let first = of("openai", &[added(0, asks.clone()), done(0, asks)]).await;
    let [call] = the_calls(&first).try_into().unwrap();
    assert!(call.dynamic && call.provider_executed);
    assert_ne!(call.id.as_str(), "mcpr_1", "the id of the call is ours");
    let asked: Vec<_> = first
        .iter()
        .filter_map(|part| match part {
            StreamPart::ToolApprovalRequest(request) => Some(request.clone()),
            _ => None,
        })
        .collect();
    let expected = ToolApprovalRequest { approval_id: "mcpr_1".into(), tool_call_id: call.id.clone() };
    assert_eq!(asked, std::slice::from_ref(&expected));
    assert_eq!(finish(&first).reason.unified, UnifiedFinish::Stop);

    let history = AssistantMessage {
        parts: vec![AssistantPart::ToolCall(call.clone()), AssistantPart::ToolApprovalRequest(expected)],
        ..AssistantMessage::default()
    };
    let request =
        Request::from_shared(vec![Arc::new(Message::Assistant(history)), Arc::new(Message::user("Yes"))]);
    let runs = mcp("mcp_call", json!({"output": "5", "approval_request_id": "mcpr_1"}));
    let reply = MemoryReply::sse(events(&[created(), done(0, runs), completed()]));
    let (second, error) = answer("openai", request, Delivery::Stream, reply).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(the_calls(&second), [], "the call came already");
    assert_eq!(the_results(&second)[0].tool_call_id, call.id);
}

/// [OA-219]
#[tokio::test]
async fn tools_of_the_server_that_this_side_runs_are_ordinary_calls() {
    let patch = json!({"type": "update_file", "path": "a.rs", "diff": "+x\n"});
    let computer = json!({"type": "computer_call", "id": "i", "call_id": "c", "action": {"type": "click", "x": 1},
        "pending_safety_checks": []});
    let actions = json!({"type": "computer_call", "id": "i", "call_id": "c", "actions": [{"type": "wait"}]});
    for (item, name, input, finish_reason) in [
        (
            computer,
            "computer_use",
            json!({"action": {"type": "click", "x": 1}, "pendingSafetyChecks": []}),
            UnifiedFinish::ToolCalls,
        ),
        (
            actions,
            "computer_use",
            json!({"actions": [{"type": "wait"}], "pendingSafetyChecks": null}),
            UnifiedFinish::ToolCalls,
        ),
        (
            json!({"type": "shell_call", "id": "i", "call_id": "c", "action": {"commands": ["ls"]}}),
            "shell",
            json!({"action": {"commands": ["ls"]}}),
            UnifiedFinish::Stop,
        ),
        (
            json!({"type": "local_shell_call", "id": "i", "call_id": "c", "action": {"type": "exec", "command": ["ls"], "working_directory": "/a", "timeout_ms": null, "env": {"A_B": "c"}}}),
            "local_shell",
            json!({"action": {"type": "exec", "command": ["ls"], "workingDirectory": "/a", "env": {"A_B": "c"}}}),
            UnifiedFinish::Stop,
        ),
        (
            json!({"type": "apply_patch_call", "id": "i", "call_id": "c", "status": "completed", "operation": patch}),
            "apply_patch",
            json!({"callId": "c", "operation": patch}),
            UnifiedFinish::Stop,
        ),
        (
            json!({"type": "apply_patch_call", "id": "i", "call_id": "c",
                "operation": {"type": "delete_file", "path": "a.rs"}}),
            "apply_patch",
            json!({"callId": "c", "operation": {"type": "delete_file", "path": "a.rs"}}),
            UnifiedFinish::Stop,
        ),
        (
            json!({"type": "tool_search_call", "id": "i", "call_id": "c", "execution": "client", "arguments": {"goal": "g"}}),
            "tool_search",
            json!({"arguments": {"goal": "g"}, "call_id": "c"}),
            UnifiedFinish::Stop,
        ),
    ] {
        let parts = of("openai", &[added(0, item.clone()), done(0, item.clone())]).await;
        let [call] = the_calls(&parts).try_into().unwrap();
        assert_eq!(
            (call.id.as_str(), call.name.as_str(), call.provider_executed),
            ("c", name, false),
            "{item}"
        );
        assert_eq!(call.input_json().unwrap(), input);
        assert_eq!(values(&call.metadata, "openai")["item"], item);
        assert_eq!(the_results(&parts), []);
        assert_eq!(finish(&parts).reason.unified, finish_reason, "{item}");
    }
}

/// [OA-219]
#[tokio::test]
async fn the_difference_of_a_patch_streams_into_its_input() {
    let item = |diff: &str| {
        json!({"type": "apply_patch_call", "id": "i", "call_id": "c",
            "operation": {"type": "create_file", "path": "a \"b\"", "diff": diff}})
    };
    let parts = of(
        "openai",
        &[
            added(0, item("")),
            delta("apply_patch_call_operation_diff", 0, "i", "+\"x\"\n"),
            delta("apply_patch_call_operation_diff", 0, "i", "+y"),
            done(0, item("+\"x\"\n+y")),
        ],
    )
    .await;
    let [call] = the_calls(&parts).try_into().unwrap();
    let input =
        json!({"callId": "c", "operation": {"type": "create_file", "path": "a \"b\"", "diff": "+\"x\"\n+y"}});
    assert_eq!(call.input_json().unwrap(), input);
    let shown: String = parts
        .iter()
        .filter_map(|part| match part {
            StreamPart::ToolInputDelta { delta, .. } => Some(delta.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(shown, call.input);
}

/// [OA-220]
#[tokio::test]
async fn what_came_of_a_call_may_be_an_item_of_its_own() {
    let shell = json!({"type": "shell_call", "id": "i", "call_id": "c", "action": {"commands": ["ls"]},
        "environment": {"type": "container_reference", "container_id": "k"}});
    let output = json!({"type": "shell_call_output", "id": "o", "call_id": "c", "output": [{"stdout": "a"}]});
    let search = json!({"type": "tool_search_call", "id": "t", "call_id": null, "execution": "server",
        "arguments": {"paths": ["p"]}});
    let found =
        json!({"type": "tool_search_output", "id": "u", "call_id": null, "execution": "server", "tools": []});
    for (call, asked, result, id, name, value) in [
        (shell, "action", output, "c", "shell", json!({"output": [{"stdout": "a"}]})),
        (search, "arguments", found, "t", "tool_search", json!({"tools": []})),
    ] {
        // What it shall do is not known when it begins.
        let mut begun = call.clone();
        begun[asked] = json!({});
        let list = [added(0, begun), done(0, call.clone()), added(1, result.clone()), done(1, result)];
        let parts = of("openai", &list).await;
        let item = call;
        let [call] = the_calls(&parts).try_into().unwrap();
        assert_eq!((call.id.as_str(), call.name.as_str(), call.provider_executed), (id, name, true));
        assert_eq!(serde_json::from_str::<Value>(&call.input).unwrap()[asked], item[asked]);
        let [result] = the_results(&parts).try_into().unwrap();
        assert_eq!((result.tool_call_id.as_str(), result.output), (id, ToolOutput::Json(value)));
    }
}

/// [OA-221]
#[tokio::test]
async fn calls_come_under_the_name_the_caller_gave_the_tool() {
    let tool = |id: &str, name: &str| {
        ToolDefinition::Provider(ProviderTool { id: id.into(), name: name.into(), args: Default::default() })
    };
    let request = Request::new([Message::user("Hi")]).with_tools([
        tool("openai.web_search_preview", "look_up"),
        tool("openai.shell", "sh"),
        tool("other.file_search", "not_ours"),
    ]);
    let list = [
        created(),
        done(0, json!({"type": "web_search_call", "id": "ws"})),
        done(1, json!({"type": "shell_call", "id": "i", "call_id": "c", "action": {}})),
        done(2, json!({"type": "file_search_call", "id": "fs"})),
        completed(),
    ];
    let reply = MemoryReply::sse(events(&list));
    let (parts, error) = answer("openai", request, Delivery::Stream, reply).await;
    assert!(error.is_none(), "{error:?}");
    let names: Vec<_> = the_calls(&parts).into_iter().map(|call| call.name).collect();
    assert_eq!(names, ["look_up", "sh", "file_search"]);
}

/// [OA-222]
#[tokio::test]
async fn an_item_of_an_unknown_type_is_kept_for_its_maker() {
    let item = json!({"type": "compaction", "id": "cmp", "encrypted_content": "E"});
    let parts = of("openai", &[added(0, item.clone()), done(0, item.clone())]).await;
    let custom: Vec<_> = parts
        .iter()
        .filter_map(|part| match part {
            StreamPart::Custom(custom) => Some(custom.clone()),
            _ => None,
        })
        .collect();
    let [custom] = custom.try_into().unwrap();
    assert_eq!(custom.kind, "openai.compaction");
    assert_eq!(values(&custom.metadata, "openai")["item"], item);
}

/// [OA-223]
#[tokio::test]
async fn each_source_comes_once_though_the_done_item_repeats_it() {
    let notes = [
        json!({"type": "url_citation", "url": "http://a", "title": "A", "start_index": 1}),
        json!({"type": "url_citation", "url": "http://a", "title": "A", "start_index": 9}),
        json!({"type": "file_citation", "file_id": "file_1", "filename": "a.pdf", "index": 3}),
        json!({"type": "container_file_citation", "container_id": "c", "file_id": "file_2", "filename": "b.csv"}),
        json!({"type": "file_path", "file_id": "file_3"}),
        json!({"type": "of_the_future", "url": 7}),
        json!("no annotation"),
    ];
    let mut item = message("m", "Hi");
    item["content"][0]["annotations"] = notes.clone().into();
    let mut list = vec![added(0, json!({"type": "message", "id": "m"}))];
    list.extend(notes.iter().map(|note| {
        json!({"type": "response.output_text.annotation.added", "item_id": "m", "output_index": 0, "annotation": note})
    }));
    list.push(done(0, item.clone()));
    for list in [list, vec![done(0, item)]] {
        let parts = of("openai", &list).await;
        let sources: Vec<_> = parts
            .iter()
            .filter_map(|part| match part {
                StreamPart::Source(source) => Some((**source).clone()),
                _ => None,
            })
            .collect();
        let named: Vec<_> = sources
            .iter()
            .map(|source| match source {
                Source::Url { url, title, .. } => (url.as_str(), title.as_deref().unwrap()),
                Source::Document { title, media_type, .. } => (media_type.as_str(), title.as_str()),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(
            named,
            [
                ("http://a", "A"),
                ("text/plain", "a.pdf"),
                ("text/plain", "b.csv"),
                ("application/octet-stream", "file_3"),
            ]
        );
        let Source::Document { metadata, .. } = &sources[2] else { panic!() };
        assert_eq!(values(metadata, "openai")["container_id"], "c");
        let end = parts.iter().find_map(|part| match part {
            StreamPart::TextEnd { metadata, .. } => Some(metadata),
            _ => None,
        });
        assert_eq!(values(end.unwrap(), "openai")["annotations"][0]["start_index"], 1);
    }
}

/// [OA-234]
#[tokio::test]
async fn more_sources_than_a_search_gives_are_too_large() {
    let note = |nth: usize| {
        json!({"type": "response.output_text.annotation.added", "item_id": "m",
            "annotation": {"type": "url_citation", "url": format!("http://{nth}")}})
    };
    for (count, class) in [(4_096, None), (4_097, Some(ErrorClass::TooLarge))] {
        let mut list = vec![created(), added(0, json!({"type": "message", "id": "m"}))];
        list.extend((0..count).map(note));
        list.push(completed());
        assert_eq!(stream("openai", events(&list)).await.1.map(|error| error.class()), class);
    }
}

/// [OA-224]
#[tokio::test]
async fn xai_names_its_own_items_and_says_how_it_ended() {
    let custom = json!({"type": "custom_tool_call", "id": "ctc", "call_id": "xs_1", "name": "x_keyword_search",
        "input": "{\"query\":\"q\"}", "status": "completed"});
    let code = json!({"type": "code_interpreter_call", "id": "ci", "call_id": "", "name": "code_execution",
        "arguments": "{\"code\":\"1\"}", "status": "completed"});
    let view = json!({"type": "view_image_call", "id": "vi", "call_id": "", "arguments": "{}"});
    let piece = |field: &str, kind: &str| {
        json!({"type": format!("response.custom_tool_call_input.{kind}"), "item_id": "ctc", "output_index": 0,
            field: "{\"query\":\"q\"}"})
    };
    let list = [
        added(0, custom.clone()),
        piece("delta", "delta"),
        piece("input", "done"),
        done(0, custom),
        added(1, code.clone()),
        done(1, code),
        done(2, view),
        done(3, message("m", "Hi")),
    ];
    let parts = of("xai", &list).await;
    let calls: Vec<_> = the_calls(&parts).into_iter().map(|call| (call.name, call.input)).collect();
    let expected =
        [("x_search", r#"{"query":"q"}"#), ("code_execution", r#"{"code":"1"}"#), ("view_image", "{}")];
    assert_eq!(calls, expected.map(|(name, input)| (name.to_owned(), input.to_owned())));
    assert!(the_calls(&parts).iter().all(|call| call.provider_executed));
    assert_eq!(the_results(&parts).len(), 3);
    let begun = parts.iter().filter(|part| matches!(part, StreamPart::ToolInputStart { .. })).count();
    let ended = parts.iter().filter(|part| matches!(part, StreamPart::ToolInputEnd { .. })).count();
    assert_eq!(begun, ended, "the pieces of a call the server runs are no call of their own: {parts:?}");
    let reason = finish(&parts).reason;
    assert_eq!((reason.unified, reason.raw.as_deref()), (UnifiedFinish::Stop, Some("completed")));
    assert_eq!(text(&parts), "Hi");
}

/// [OA-291]
#[tokio::test]
async fn pieces_of_an_item_that_no_call_streams_into_open_no_call() {
    for kind in ["mcp_call", "web_search_call", "of_the_future"] {
        for event in ["function_call_arguments", "custom_tool_call_input", "code_interpreter_call_code"] {
            for (id, index) in [("x", Some(0)), ("x", None), ("y", Some(0)), ("", Some(0))] {
                let item = json!({"type": kind, "id": "x", "status": "completed", "arguments": "{\"a\":1}"});
                let piece = json!({"type": format!("response.{event}.delta"), "item_id": id,
                    "output_index": index, "delta": "{\"a\":1}"});
                let list = [added(0, item.clone()), piece, done(0, item)];
                let parts = of("openai", &list).await;
                let label = format!("{kind} {event} {id:?} {index:?}: {parts:?}");
                assert!(the_calls(&parts).iter().all(|call| call.provider_executed), "{label}");
                assert!(the_calls(&parts).len() <= 1, "{label}");
                let unnamed = |part: &StreamPart| match part {
                    StreamPart::ToolInputStart { tool_name, .. } => tool_name.is_empty(),
                    _ => false,
                };
                assert!(!parts.iter().any(unnamed), "{label}");
            }
        }
    }
}
