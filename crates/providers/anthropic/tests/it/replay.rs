//! What only the provider understands, on its way back.

use std::sync::Arc;

use ai_provider::{
    AssistantPart, CallContext, Message, Origin, ProviderMetadata, ProviderOptions, ReasoningPart, Request,
    TargetId,
};
use ai_testkit::{MemoryReply, MemoryTransport, fold};
use serde_json::{Value, json};

use crate::support::history::{assistant, healed, result, said, text, tool_result, tool_use, turn};
use crate::support::{ENDPOINT, MODEL, betas, block, delta, end, model, start, stop, text_block, tool_block};

/// What a model says to one reply after another, with results for its calls, and the bodies it was sent.
async fn conversation(ids: &[&str], replies: &[String]) -> (Vec<Value>, Vec<Arc<Message>>) {
    let mut request = Request::new([Message::user("Hi")]);
    let mut bodies = Vec::new();
    for (at, id) in ids.iter().enumerate() {
        let transport = MemoryTransport::new().reply(MemoryReply::sse(replies[at].clone()));
        let model = model(id, transport.clone());
        let (answer, error) = fold(model.stream(request.clone(), CallContext::new())).await;
        assert!(error.is_none(), "{error:?}");
        bodies.push(serde_json::from_slice(&transport.calls()[0].body).unwrap());
        let calls: Vec<_> = answer.message.tool_calls().filter(|call| !call.provider_executed).collect();
        let results: Vec<_> = calls.iter().map(|call| result(&call.id, "1")).collect();
        // Stored and loaded again.
        let stored = serde_json::to_string(&Message::Assistant(answer.message.clone())).unwrap();
        request.messages.push(Arc::new(serde_json::from_str(&stored).unwrap()));
        match results.is_empty() {
            false => request.messages.push(Arc::new(Message::tool(results))),
            true => request.messages.push(Arc::new(Message::user("And?"))),
        }
    }
    (bodies, request.messages)
}

fn thoughtful() -> String {
    [
        start(),
        block(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
        delta(0, r#"{"type":"thinking_delta","thinking":" t\u00e9"}"#),
        delta(0, r#"{"type":"signature_delta","signature":"SIG+/=="}"#),
        stop(0),
        block(1, r#"{"type":"redacted_thinking","data":"R=="}"#),
        stop(1),
        tool_block(2, "toolu_1", "f", &[r#"{ "x": 1 }"#]),
        end("tool_use"),
    ]
    .concat()
}

/// [AN-111]
#[tokio::test]
async fn thinking_goes_back_as_it_came_and_where_it_stood() {
    let answer = [start(), text_block(0, "ok"), end("end_turn")].concat();
    let (bodies, _) = conversation(&[MODEL, MODEL], &[thoughtful(), answer]).await;
    let sent = &bodies[1]["messages"][1]["content"];
    assert_eq!(
        *sent,
        json!([
            {"type": "thinking", "thinking": " té", "signature": "SIG+/=="},
            {"type": "redacted_thinking", "data": "R=="},
            tool_use("toolu_1", json!({"x": 1})),
        ])
    );
    assert_eq!(bodies[1]["messages"][2]["content"], json!([tool_result("toolu_1", "1")]));
}

/// [AN-112]
#[tokio::test]
async fn thinking_of_another_model_is_left_out_and_stays_in_the_history() {
    let answer = || [start(), text_block(0, "ok"), end("end_turn")].concat();
    let other = "claude-opus-4-6";
    let (bodies, history) = conversation(&[MODEL, other, MODEL], &[thoughtful(), answer(), answer()]).await;
    let kinds = |body: &Value| -> Vec<String> {
        let blocks = body["messages"][1]["content"].as_array().unwrap();
        blocks.iter().map(|block| block["type"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(kinds(&bodies[1]), ["tool_use"]);
    assert!(!bodies[1].to_string().contains("té"));
    assert_eq!(kinds(&bodies[2]), ["thinking", "redacted_thinking", "tool_use"]);
    let Message::Assistant(first) = &*history[1] else { panic!() };
    let thought = first.parts.iter().filter(|part| matches!(part, AssistantPart::Reasoning(_)));
    assert_eq!(thought.count(), 2);
    // Nobody knows who made it, or nobody signed it.
    for reasoning in [AssistantPart::Reasoning(ReasoningPart::new("secret")), {
        let values = ProviderOptions::default().with("anthropic", "signature", json!("S"));
        let metadata = ProviderMetadata { origin: None, values };
        let metadata = Some(Box::new(metadata));
        AssistantPart::Reasoning(ReasoningPart { metadata, ..ReasoningPart::new("secret") })
    }] {
        let (sent, warnings) = healed([Message::user("Hi"), assistant([reasoning, said("a")])]);
        assert!(!sent.to_string().contains("secret") && warnings.len() == 1, "{warnings:?}");
    }
    // The same model at another endpoint or under another account is another maker.
    let ours = Origin { target: TargetId::new("anthropic", MODEL, ENDPOINT), account: Some("key".into()) };
    let endpoint = TargetId::new("anthropic", MODEL, "https://elsewhere");
    for (origin, is_ours) in [
        (ours.clone(), true),
        (Origin { target: endpoint, ..ours.clone() }, false),
        (Origin { account: Some("other".into()), ..ours.clone() }, false),
        (Origin { account: None, ..ours }, false),
    ] {
        let values = ProviderOptions::default().with("anthropic", "signature", json!("S"));
        let metadata = Some(Box::new(ProviderMetadata::minted(origin.clone(), values)));
        let thought = AssistantPart::Reasoning(ReasoningPart { metadata, ..ReasoningPart::new("secret") });
        let (sent, warnings) = healed([Message::user("Hi"), assistant([thought, said("a")])]);
        assert_eq!(sent.to_string().contains("secret"), is_ours, "{origin:?}");
        assert_eq!(warnings.is_empty(), is_ours, "{warnings:?}");
    }
}

/// [AN-113]
#[tokio::test]
async fn thinking_never_ends_a_message() {
    let thought =
        |index| [block(index, r#"{"type":"thinking","thinking":"t","signature":"S"}"#), stop(index)].concat();
    let alone = [start(), thought(0), end("max_tokens")].concat();
    let behind = [start(), text_block(0, "a"), thought(1), end("max_tokens")].concat();
    let answer = [start(), text_block(0, "ok"), end("end_turn")].concat();
    let (bodies, _) = conversation(&[MODEL, MODEL], &[alone, answer.clone()]).await;
    assert_eq!(bodies[1]["messages"], json!([turn("user", [text("Hi"), text("And?")])]));
    let (bodies, _) = conversation(&[MODEL, MODEL], &[behind, answer]).await;
    assert_eq!(bodies[1]["messages"][1], turn("assistant", [text("a")]));
}

fn searched() -> [Value; 5] {
    [
        json!({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}}),
        json!({"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web_search_result", "url": "https://a", "encrypted_content": "E"}]}),
        json!({"type": "server_tool_use", "id": "s2", "name": "bash_code_execution", "input": {"command": "ls"}}),
        json!({"type": "bash_code_execution_tool_result", "tool_use_id": "s2", "content": {"type": "bash_code_execution_tool_result_error", "error_code": "unavailable"}}),
        json!({"type": "mcp_tool_use", "id": "s3", "name": "echo", "server_name": "srv", "input": {}}),
    ]
}

/// [AN-114]
#[tokio::test]
async fn calls_that_ran_at_the_provider_go_back_to_it_as_they_were() {
    let failed =
        json!({"type": "mcp_tool_result", "tool_use_id": "s3", "content": [text("no")], "is_error": true});
    let blocks = [searched().to_vec(), vec![failed.clone()]].concat();
    let answer = || [start(), text_block(0, "ok"), end("end_turn")].concat();
    let reply = |blocks: &[Value], reason: &str| {
        let content: String = (0..)
            .zip(blocks)
            .map(|(at, content)| [block(at, &content.to_string()), stop(at)].concat())
            .collect();
        [start(), content, end(reason)].concat()
    };
    let (bodies, _) =
        conversation(&[MODEL, MODEL, "claude-opus-4-6"], &[reply(&blocks, "end_turn"), answer(), answer()])
            .await;
    assert_eq!(bodies[1]["messages"][1], turn("assistant", blocks.clone()));
    // Another model gets none of it.
    assert_eq!(bodies[2]["messages"].as_array().unwrap().len(), 3);
    assert!(!bodies[2].to_string().contains("s1"));

    // A call without a result goes back only where the turn was paused in it.
    let transport = MemoryTransport::new().reply(MemoryReply::sse(reply(&searched(), "pause_turn")));
    let target = model(MODEL, transport);
    let request = Request::new([Message::user("Hi")]);
    let (paused, _) = fold(target.stream(request, CallContext::new())).await;
    let paused = Message::Assistant(paused.message);
    let (sent, warnings) = healed([Message::user("Hi"), paused.clone()]);
    assert_eq!((&sent[1]["content"][4], warnings.len()), (&searched()[4], 0));
    let (sent, warnings) = healed([Message::user("Hi"), paused, Message::user("never mind")]);
    assert_eq!((sent[1]["content"].as_array().unwrap().len(), warnings.len()), (4, 1));
}

/// [AN-115]
#[tokio::test]
async fn blocks_without_a_neutral_form_go_back_as_they_came() {
    let seam = json!({"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}});
    let odd = json!({"type": "hologram", "data": "D"});
    let compacted = json!({"type": "compaction", "content": "So far.", "encrypted_content": "E"});
    let blocks = [
        compacted.clone(),
        json!({"type": "thinking", "thinking": "t", "signature": "S"}),
        text("I "),
        seam.clone(),
        odd.clone(),
        text("can."),
    ];
    let content: String = (0..)
        .zip(&blocks)
        .map(|(at, content)| [block(at, &content.to_string()), stop(at)].concat())
        .collect();
    let replies = [
        [start(), content, end("end_turn")].concat(),
        [start(), text_block(0, "ok"), end("end_turn")].concat(),
        [start(), text_block(0, "ok"), end("end_turn")].concat(),
    ];
    let (bodies, history) = conversation(&[MODEL, MODEL, "claude-opus-4-6"], &replies).await;
    assert_eq!(bodies[1]["messages"][1], turn("assistant", [compacted, text("I "), seam, odd, text("can.")]));
    assert_eq!(bodies[2]["messages"][1], turn("assistant", [text("So far."), text("I "), text("can.")]));
    let request = Request::from_shared(history);
    assert_eq!(betas(MODEL, &request), ["compact-2026-01-12", "server-side-fallback-2026-06-01"]);
}
