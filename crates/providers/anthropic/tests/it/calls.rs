//! Calls of tools on this side.

use ai_provider::{
    Delivery, FunctionTool, Message, ProviderTool, Request, ResponseFormat, StreamPart, ToolDefinition,
    UnifiedFinish,
};
use ai_testkit::{MemoryReply, fold};
use futures_util::stream;
use serde_json::json;

use crate::support::{
    answer, block, called, calls, end, finish, input, pieces, start, stop, streamed, text, text_block,
    tool_block, whole,
};

/// [AN-40]
#[tokio::test]
async fn the_input_of_a_call_is_what_came_of_it() {
    let given = |given: &str| {
        let begin = format!(r#"{{"type":"tool_use","id":"a","name":"f","input":{given}}}"#);
        [block(0, &begin), stop(0)].concat()
    };
    for (content, whole) in [
        (tool_block(0, "a", "f", &["{\"x\"", ":", "1}"]), r#"{"x":1}"#),
        (tool_block(0, "a", "f", &[]), "{}"),
        (tool_block(0, "a", "f", &["", "  "]), "{}"),
        (tool_block(0, "a", "f", &["not json"]), "not json"),
        (given("{}"), "{}"),
        (given("{ }"), "{}"),
        (given("null"), "{}"),
        (given(r#"" ""#), "{}"),
        (given(r#"{"city": "Paris"}"#), r#"{"city": "Paris"}"#),
        (given(r#""{\"x\":1}""#), r#"{"x":1}"#),
        // The start says it all; what follows repeats it.
        (given(r#"{"x":1}"#).replace(&stop(0), &[input(0, r#"{"x":1}"#), stop(0)].concat()), r#"{"x":1}"#),
    ] {
        let parts = streamed([start(), content.clone(), end("tool_use")].concat()).await;
        assert_eq!(calls(&parts), [called("a", "f", whole)], "{content}");
        let shown = pieces(&parts, "a");
        assert!(shown == whole || shown.trim().is_empty() && whole == "{}", "{content}: {shown}");
        let ends = parts.iter().position(|part| matches!(part, StreamPart::ToolInputEnd { .. }));
        assert!(matches!(parts[ends.unwrap() + 1], StreamPart::ToolCall(_)));
        assert_eq!(finish(&parts).reason.unified, UnifiedFinish::ToolCalls);
    }
    for (given, input) in [("{}", "{}"), (r#"{"x":1}"#, r#"{"x":1}"#), ("null", "{}")] {
        let body = format!(
            r#"{{"type":"message","content":[{{"type":"tool_use","id":"a","name":"f","input":{given}}}],"stop_reason":"tool_use"}}"#
        );
        assert_eq!(calls(&whole(body).await.0), [called("a", "f", input)]);
    }
}

/// [AN-41]
#[tokio::test]
async fn the_call_an_answer_was_cut_in_is_none() {
    for reason in ["max_tokens", "model_context_window_exceeded", "refusal"] {
        for last in ["{\"path\":\"a.txt\",\"content\":\"hel", "{\"path\":\"a.txt\"}", ""] {
            let body =
                [start(), tool_block(0, "a", "f", &["{}"]), tool_block(1, "b", "g", &[last]), end(reason)];
            for body in [body.concat(), body.concat().replace(&stop(1), "")] {
                let parts = streamed(body).await;
                assert_eq!(calls(&parts), [called("a", "f", "{}")], "{reason} {last}");
                assert_eq!(pieces(&parts, "b"), last);
                let (assembled, _) = fold(stream::iter(parts.into_iter().map(Ok))).await;
                assert_eq!(assembled.incomplete_calls.len(), 1);
                assert!(assembled.incomplete);
            }
        }
        // Text behind it shows that the call was whole.
        let body = [start(), tool_block(0, "a", "f", &["{}"]), text_block(1, "and"), end(reason)];
        assert_eq!(calls(&streamed(body.concat()).await).len(), 1);
    }
    let body = r#"{"type":"message","content":[{"type":"tool_use","id":"a","name":"f","input":{"x":1}}],"stop_reason":"max_tokens"}"#;
    assert_eq!(calls(&whole(body).await.0), []);
}

/// [AN-42]
#[tokio::test]
async fn ids_that_are_missing_or_used_are_made() {
    let of = async |ids: [&str; 3]| {
        let blocks: String =
            (0..3).map(|at| tool_block(at, ids[at as usize], "f", &[&format!("{{\"n\":{at}}}")])).collect();
        let parts = streamed([start(), blocks, end("tool_use")].concat()).await;
        let calls = calls(&parts);
        let inputs: Vec<_> = calls.iter().map(|call| call.2.clone()).collect();
        assert_eq!(inputs, ["{\"n\":0}", "{\"n\":1}", "{\"n\":2}"]);
        calls.into_iter().map(|call| call.0).collect::<Vec<_>>()
    };
    assert_eq!(of(["a", "b", "c"]).await, ["a", "b", "c"]);
    let made = of(["", "a", "a"]).await;
    assert!(made[0].starts_with("toolu_") && made[1] == "a" && made[2].starts_with("toolu_"), "{made:?}");
    assert_ne!(made[0], made[2]);
    // Of the same request, the same; of the next, another.
    assert_eq!(of(["", "a", "a"]).await, made);
    let body = [start(), tool_block(0, "", "f", &[]), end("tool_use")].concat();
    let model = crate::support::model("m", ai_testkit::MemoryTransport::new().reply(MemoryReply::sse(body)));
    let ctx = ai_provider::CallContext::new().with_request_id("request-2");
    let (parts, _) = ai_testkit::collect(ai_provider::LanguageModel::stream(
        &*model,
        Request::new([Message::user("Hi")]),
        ctx,
    ))
    .await;
    assert_ne!(calls(&parts)[0].0, made[0]);
}

/// [AN-43]
#[tokio::test]
async fn pieces_of_parallel_calls_go_by_their_number() {
    let begin = |index, id: &str| {
        block(index, &json!({"type": "tool_use", "id": id, "name": "f", "input": {}}).to_string())
    };
    let body = [
        start(),
        begin(0, "a"),
        begin(1, "b"),
        input(0, "{\"t\":\"A"),
        input(1, "{\"t\":\"B"),
        input(0, "\"}"),
        input(1, "\"}"),
        stop(0),
        stop(1),
        end("tool_use"),
    ];
    let both = [called("a", "f", r#"{"t":"A"}"#), called("b", "f", r#"{"t":"B"}"#)];
    assert_eq!(calls(&streamed(body.concat()).await), both);
    // A server that leaves out the ends.
    let open = body.concat().replace(&stop(0), "").replace(&stop(1), "");
    assert_eq!(calls(&streamed(open).await), both);
    let half = [start(), begin(0, "a"), input(0, "{\"t\":"), end("tool_use")];
    assert_eq!(calls(&streamed(half.concat()).await), []);
}

/// [AN-44]
#[tokio::test]
async fn whole_calls_come_out_whatever_the_stop_reason_is_called() {
    for (reason, unified) in [("end_turn", UnifiedFinish::Stop), ("new_word", UnifiedFinish::Other)] {
        let body = [start(), text_block(0, "On it."), tool_block(1, "a", "f", &["{}"]), end(reason)];
        let parts = streamed(body.concat()).await;
        assert_eq!((calls(&parts).len(), finish(&parts).reason.unified), (1, unified));
    }
}

/// [AN-45]
#[tokio::test]
async fn a_tool_of_the_provider_is_called_by_the_callers_name() {
    let tool = |id: &str, name: &str| {
        ToolDefinition::Provider(ProviderTool { id: id.into(), name: name.into(), args: Default::default() })
    };
    let request = Request::new([Message::user("Hi")]).with_tools([
        tool("anthropic.bash_20250124", "shell"),
        tool("anthropic.web_search_20250305", "find"),
    ]);
    let body = [
        start(),
        tool_block(0, "a", "bash", &["{}"]),
        block(1, r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#),
        stop(1),
        block(2, r#"{"type":"web_search_tool_result","tool_use_id":"s","content":[]}"#),
        stop(2),
        end("tool_use"),
    ];
    let (parts, error) =
        answer(crate::support::MODEL, request, Delivery::Stream, MemoryReply::sse(body.concat())).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(calls(&parts), [called("a", "shell", "{}"), called("s", "find", "{}")]);
    let results: Vec<_> = parts
        .iter()
        .filter_map(|part| match part {
            StreamPart::ToolResult(result) => Some(result.tool_name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(results, ["find"]);
}

/// [AN-46]
#[tokio::test]
async fn the_input_of_a_forced_tool_is_the_answer_as_text() {
    let request = || {
        let mut request = Request::new([Message::user("Hi")]);
        let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
        request.response_format =
            ResponseFormat::Json { schema: Some(schema), name: None, description: None };
        request
    };
    let old = "claude-3-7-sonnet-latest";
    let of = async |request: Request, delivery, body: String| {
        let (parts, error) = answer(old, request, delivery, MemoryReply::ok(body)).await;
        assert!(error.is_none(), "{error:?}");
        parts
    };
    let streams = |pieces: &[&str], reason: &str| {
        [start(), text_block(0, "I'll call json."), tool_block(1, "a", "json", pieces), end(reason)].concat()
    };
    for (pieces, reason, whole, unified) in [
        (vec!["{\"a\"", ":1}"], "tool_use", r#"{"a":1}"#, UnifiedFinish::Stop),
        (vec![], "tool_use", "{}", UnifiedFinish::Stop),
        (vec!["{\"a\""], "max_tokens", r#"{"a""#, UnifiedFinish::Length),
    ] {
        let parts = of(request(), Delivery::Stream, streams(&pieces, reason)).await;
        assert_eq!((text(&parts).as_str(), calls(&parts).len()), (whole, 0));
        let finish = finish(&parts).reason;
        assert_eq!((finish.unified, finish.raw.as_deref()), (unified, Some(reason)));
    }
    let body = r#"{"type":"message","content":[{"type":"text","text":"I'll"},{"type":"tool_use","id":"a","name":"json","input":{"a":1}}],"stop_reason":"tool_use"}"#;
    let parts = of(request(), Delivery::Whole, body.into()).await;
    assert_eq!((text(&parts).as_str(), finish(&parts).reason.unified), (r#"{"a":1}"#, UnifiedFinish::Stop));

    // Another tool on the way is a call.
    let tool = ToolDefinition::Function(FunctionTool::new("f", "d", json!({"type": "object"})));
    let body = [start(), tool_block(0, "a", "f", &["{}"]), end("tool_use")].concat();
    let parts = of(request().with_tools([tool]), Delivery::Stream, body).await;
    assert_eq!((calls(&parts).len(), finish(&parts).reason.unified), (1, UnifiedFinish::ToolCalls));

    // Where nobody asked for it, a tool of this name is one like any other.
    let parts = streamed(streams(&["{}"], "tool_use")).await;
    assert_eq!((text(&parts).as_str(), calls(&parts).len()), ("I'll call json.", 1));
}
