//! Calls this side runs.

use ai_provider::{ErrorClass, StreamPart, UnifiedFinish};
use serde_json::{Value, json};

use crate::support::{
    added, called, calls, completed, created, delta, done, events, finish, function_call, incomplete, parts,
    stream, values,
};

fn call(id: &str, name: &str, input: &str) -> (String, String, String) {
    (id.into(), name.into(), input.into())
}

/// The input as it was shown, of all calls.
fn shown(parts: &[StreamPart]) -> String {
    let deltas = parts.iter().filter_map(|part| match part {
        StreamPart::ToolInputDelta { delta, .. } => Some(delta.as_str()),
        _ => None,
    });
    deltas.collect()
}

async fn of(list: &[Value]) -> Vec<StreamPart> {
    parts("openai", events(&[&[created()], list, &[completed()]].concat())).await
}

/// [OA-210]
#[tokio::test]
async fn the_input_is_what_its_item_says_or_what_came() {
    let begun = added(0, function_call("fc", "call_1", "f", ""));
    let piece = |text: &str| delta("function_call_arguments", 0, "fc", text);
    let late = |text: &str| json!({"type": "response.function_call_arguments.done", "item_id": "fc", "output_index": 0, "arguments": text});
    let end = |arguments: Value| {
        let mut item = function_call("fc", "call_1", "f", "");
        item["arguments"] = arguments;
        done(0, item)
    };
    for (list, input) in [
        (vec![begun.clone(), piece(r#"{"x":"#), piece("1}"), end(r#"{"x":1}"#.into())], r#"{"x":1}"#),
        (vec![begun.clone(), end(r#"{"x":1}"#.into())], r#"{"x":1}"#),
        (vec![end(r#"{"x":1}"#.into())], r#"{"x":1}"#),
        // What the item says holds.
        (vec![begun.clone(), piece(r#"{"y"#), end(r#"{"x":1}"#.into())], r#"{"x":1}"#),
        (vec![begun.clone(), piece(r#"{"x":1}"#), end(Value::Null)], r#"{"x":1}"#),
        (vec![begun.clone(), late(r#"{"x":1}"#), end("".into())], r#"{"x":1}"#),
        // It was whole, and its end never came.
        (vec![begun.clone(), late(r#"{"x":1}"#)], r#"{"x":1}"#),
        (vec![begun.clone(), end("".into())], "{}"),
        (vec![begun.clone(), end("  ".into())], "{}"),
        (vec![begun.clone(), end(json!({}))], "{}"),
        (vec![begun.clone(), end(json!({"city": "Paris"}))], r#"{"city":"Paris"}"#),
    ] {
        let parts = of(&list).await;
        assert_eq!(calls(&parts), [call("call_1", "f", input)], "{list:?}");
        assert_eq!(finish(&parts).reason.unified, UnifiedFinish::ToolCalls);
        let done = parts.iter().find_map(|part| match part {
            StreamPart::ToolCall(call) => Some(call),
            _ => None,
        });
        assert_eq!(values(&done.unwrap().metadata, "openai")["itemId"], "fc");
    }
}

/// [OA-210]
#[tokio::test]
async fn parallel_calls_get_their_own_input() {
    let begun = |at: usize, id: &str| added(at, function_call(&format!("fc_{id}"), id, "f", ""));
    let piece =
        |at: usize, id: &str, text: &str| delta("function_call_arguments", at, &format!("fc_{id}"), text);
    let end = |at: usize, id: &str, input: &str| done(at, function_call(&format!("fc_{id}"), id, "f", input));
    let parts = of(&[
        begun(0, "a"),
        begun(1, "b"),
        piece(0, "a", r#"{"t":"A"#),
        piece(1, "b", r#"{"t":"B"#),
        piece(0, "a", r#""}"#),
        piece(1, "b", r#""}"#),
        end(1, "b", r#"{"t":"B"}"#),
        end(0, "a", r#"{"t":"A"}"#),
    ])
    .await;
    assert_eq!(calls(&parts), [call("b", "f", r#"{"t":"B"}"#), call("a", "f", r#"{"t":"A"}"#)]);
}

/// [OA-209]
#[tokio::test]
async fn ids_that_change_from_event_to_event_lose_no_call() {
    let parts = of(&[
        added(0, function_call("x1", "a", "f", "")),
        added(1, function_call("x2", "b", "g", "")),
        delta("function_call_arguments", 1, "x3", r#"{"y":2}"#),
        delta("function_call_arguments", 0, "x4", r#"{"x":1}"#),
        json!({"type": "response.function_call_arguments.done", "item_id": "x5", "output_index": 0,
            "arguments": "{\"x\":1}"}),
        done(0, function_call("x6", "a", "f", "")),
        done(1, function_call("x7", "b", "g", "")),
    ])
    .await;
    assert_eq!(calls(&parts), [call("a", "f", r#"{"x":1}"#), call("b", "g", r#"{"y":2}"#)]);
}

/// [OA-211]
#[tokio::test]
async fn half_a_call_never_becomes_one() {
    let mut cut = function_call("fc_2", "b", "g", r#"{"x":1}"#);
    cut["status"] = "incomplete".into();
    let begun = added(1, function_call("fc_2", "b", "g", ""));
    // Cut text that happens to be JSON is cut all the same.
    let piece = delta("function_call_arguments", 1, "fc_2", r#"{"x":1}"#);
    for list in [
        vec![begun.clone(), piece.clone(), done(1, cut.clone())],
        vec![begun.clone(), piece.clone()],
        vec![done(1, cut)],
    ] {
        let list = [called(0, "fc_1", "a", "f", &["{}"]), list].concat();
        let body = [vec![created()], list, vec![incomplete("max_output_tokens")]].concat();
        let parts = parts("openai", events(&body)).await;
        assert_eq!(calls(&parts), [call("a", "f", "{}")]);
        let reason = finish(&parts).reason;
        assert_eq!(
            (reason.unified, reason.raw.as_deref()),
            (UnifiedFinish::Length, Some("max_output_tokens"))
        );
        let folded = ai_testkit::check_order(&parts);
        assert_eq!(folded, Ok(()));
        let begun = parts.iter().filter(|part| matches!(part, StreamPart::ToolInputStart { .. })).count();
        let ended = parts.iter().filter(|part| matches!(part, StreamPart::ToolInputEnd { .. })).count();
        assert_eq!((begun, ended), (2, 1), "what came stays visible");
    }
    // Cut off by the network.
    let body = [vec![created()], vec![begun, piece]].concat();
    let (parts, error) = stream("openai", events(&body)).await;
    assert_eq!(error.unwrap().class(), ErrorClass::Incomplete);
    assert_eq!((calls(&parts).len(), shown(&parts).as_str()), (0, r#"{"x":1}"#));
}

/// [OA-212]
#[tokio::test]
async fn ids_are_never_empty_nor_used_twice() {
    let list = [
        called(0, "fc_1", "", "f", &["{}"]),
        called(1, "fc_2", "same", "f", &["{}"]),
        called(2, "fc_3", "same", "g", &["{}"]),
    ];
    let parts = of(&list.concat()).await;
    let ids: Vec<_> = calls(&parts).into_iter().map(|(id, ..)| id).collect();
    assert!(ids[0].starts_with("call_") && ids[1] == "same" && ids[2].starts_with("call_"), "{ids:?}");
    assert_ne!(ids[0], ids[2]);
    assert_eq!(calls(&of(&list.concat()).await).len(), 3);
    assert_eq!(of(&list.concat()).await, parts, "the same request gives the same ids");
}

/// [OA-212]
#[tokio::test]
async fn a_call_starts_once_it_has_its_name_and_its_id() {
    for begun in [
        json!({"type": "function_call", "id": "fc"}),
        json!({"type": "function_call", "id": "fc", "name": "f", "call_id": ""}),
        json!({"type": "function_call", "id": "fc", "name": "", "call_id": "a"}),
    ] {
        let parts = of(&[
            added(0, begun),
            delta("function_call_arguments", 0, "fc", r#"{"x":"#),
            delta("function_call_arguments", 0, "fc", "1}"),
            done(0, function_call("fc", "a", "f", r#"{"x":1}"#)),
        ])
        .await;
        assert_eq!(calls(&parts), [call("a", "f", r#"{"x":1}"#)]);
        assert_eq!(shown(&parts), r#"{"x":1}"#);
    }
    // Never added at all.
    let parts = of(&[
        delta("function_call_arguments", 0, "fc", r#"{"x":1}"#),
        done(0, function_call("fc", "a", "f", r#"{"x":1}"#)),
    ])
    .await;
    assert_eq!(calls(&parts), [call("a", "f", r#"{"x":1}"#)]);
}

/// [OA-213]
#[tokio::test]
async fn the_input_of_a_custom_tool_is_a_json_string() {
    let item = |input: &str| json!({"type": "custom_tool_call", "id": "ct", "call_id": "a", "name": "sql", "input": input});
    let parts = of(&[
        added(0, item("")),
        delta("custom_tool_call_input", 0, "ct", "SELECT \"x\"\n"),
        delta("custom_tool_call_input", 0, "ct", "\\ é"),
        done(0, item("SELECT \"x\"\n\\ é")),
    ])
    .await;
    let input = Value::from("SELECT \"x\"\n\\ é").to_string();
    assert_eq!(calls(&parts), [call("a", "sql", &input)]);
    assert_eq!(shown(&parts), input);
    assert_eq!(finish(&parts).reason.unified, UnifiedFinish::ToolCalls);
    // Without a text there is still a string, and the item may not repeat what came.
    assert_eq!(calls(&of(&[added(0, item("")), done(0, item(""))]).await), [call("a", "sql", "\"\"")]);
    let mut bare = item("");
    bare.as_object_mut().unwrap().remove("input");
    let parts = of(&[added(0, item("")), delta("custom_tool_call_input", 0, "ct", "a"), done(0, bare)]).await;
    assert_eq!(calls(&parts), [call("a", "sql", "\"a\"")]);
}

/// [OA-214]
#[tokio::test]
async fn calls_that_a_model_put_into_one_are_taken_apart() {
    let inputs = [
        r#"{"tool_uses":[{"recipient_name":"functions.f","parameters":{"x":1}},{"recipient_name":"functions.g","parameters":{}}]}"#,
        r#"[{"name":"f","arguments":"{\"x\":1}"},{"name":"g"}]"#,
        r#"{"calls":[{"name":"f","input":{"x":1}},{"name":"g","arguments":null}]}"#,
    ];
    for name in ["parallel", "multi_tool_use.parallel"] {
        for input in inputs {
            let parts = of(&called(0, "fc", "a", name, &[input])).await;
            assert_eq!(calls(&parts), [call("a_0", "f", r#"{"x":1}"#), call("a_1", "g", "{}")], "{input}");
            assert_eq!(finish(&parts).reason.unified, UnifiedFinish::ToolCalls);
        }
    }
    // What is no list of calls stays the call it is.
    for input in
        ["{}", r#"{"tool_uses":[]}"#, r#"{"tool_uses":[{"parameters":{}}]}"#, r#"[{"name":"f","input":[1]}]"#]
    {
        assert_eq!(
            calls(&of(&called(0, "fc", "a", "parallel", &[input])).await),
            [call("a", "parallel", input)]
        );
    }
}

/// [OA-214]
#[tokio::test]
async fn a_tool_of_the_callers_own_is_not_taken_apart() {
    use ai_provider::{Delivery, FunctionTool, Message, Request, ToolDefinition};
    let tool = ToolDefinition::Function(FunctionTool::new("parallel", "d", json!({"type": "object"})));
    let request = Request::new([Message::user("Hi")]).with_tools([tool]);
    let input = r#"{"tool_uses":[{"recipient_name":"functions.f","parameters":{}}]}"#;
    let list = [vec![created()], called(0, "fc", "a", "parallel", &[input]), vec![completed()]].concat();
    let reply = ai_testkit::MemoryReply::sse(events(&list));
    let (parts, error) = crate::support::answer("openai", request, Delivery::Stream, reply).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(calls(&parts), [call("a", "parallel", input)]);
}

/// [OA-233]
#[tokio::test]
async fn half_a_character_inside_an_input_is_an_error() {
    let piece = |text: &str| {
        format!(
            "data: {{\"type\":\"response.function_call_arguments.delta\",\"item_id\":\"fc\",\"output_index\":0,\"delta\":\"{text}\"}}\n\n"
        )
    };
    let begun = events(&[created(), added(0, function_call("fc", "a", "f", ""))]);
    let whole = [
        begun.clone(),
        piece(r#"{\"x\":\"\ud83d"#),
        piece(r#"\ude42\"}"#),
        events(&[done(0, function_call("fc", "a", "f", "")), completed()]),
    ];
    assert_eq!(calls(&parts("openai", whole.concat()).await), [call("a", "f", r#"{"x":"🙂"}"#)]);
    let lost = [begun, piece(r#"{\"x\":\"\ud83d"#), piece(r#"\"}"#), events(&[completed()])];
    let (parts, error) = stream("openai", lost.concat()).await;
    assert_eq!((calls(&parts).len(), error.unwrap().class()), (0, ErrorClass::Protocol));
}

/// [OA-234]
#[tokio::test]
async fn an_answer_without_end_is_too_large() {
    let endless = |one: Value, count: usize| {
        let one = events(&[one]);
        [events(&[created()]), one.repeat(count)].concat()
    };
    let message = json!({"type": "message", "content": []});
    for (body, class) in [
        (endless(added(0, message.clone()), 4_096), ErrorClass::Incomplete),
        (endless(added(0, message), 4_097), ErrorClass::TooLarge),
    ] {
        assert_eq!(stream("openai", body).await.1.unwrap().class(), class);
    }
    // Of a call that is not shown yet, where no assembler counts.
    let piece = events(&[delta("function_call_arguments", 0, "fc", &" ".repeat(1 << 20))]);
    for (count, class) in [(64, ErrorClass::Incomplete), (65, ErrorClass::TooLarge)] {
        let body = [events(&[created()]), piece.repeat(count)].concat();
        assert_eq!(stream("openai", body).await.1.unwrap().class(), class);
    }
}
