//! What the user says in the middle of an answer, in the answer.

use std::sync::Arc;

use ai_core::Decision;
use ai_provider::{
    CancellationToken, ErrorClass, FileData, FilePart, Message, ModelError, StreamPart, TextPart,
    ToolApprovalRequest, ToolCall, UnifiedFinish, UserMessage, UserPart,
};
use ai_testkit::{Script, ScriptedModel};
use futures_util::StreamExt;
use serde_json::{Value, json};

use super::support::{agent, ask, run, tool_loop};
use crate::{
    Agent, AgentEvent, AgentStream, Hooks, UiChunk, UiProtocol, UiReducer, UiRole, to_model_messages,
    to_ui_messages, to_ui_messages_with,
};

fn said(text: &str) -> UserMessage {
    UserMessage { parts: vec![UserPart::Text(TextPart::new(text))], ..UserMessage::default() }
}

fn file(data: FileData) -> UserPart {
    UserPart::File(FilePart { filename: Some("a.png".to_owned()), ..FilePart::new("image/png", data) })
}

/// A run behind an answer that was broken off for these.
fn steered(agent: &Agent, steers: &[UserMessage]) -> AgentStream {
    let mut history = vec![Message::user("Go."), Message::assistant("Long ago")];
    history.extend(steers.iter().cloned().map(Message::User));
    let mut stream = agent.stream(history, CancellationToken::new());
    for (number, steer) in steers.iter().enumerate() {
        stream.show_steering(format!("u{number}"), steer);
    }
    stream
}

fn kinds(chunks: &[UiChunk]) -> Vec<&'static str> {
    chunks.iter().map(UiChunk::kind).collect()
}

const TEXT: [&str; 3] = ["text-start", "text-delta", "text-end"];

/// [AL-240]
#[tokio::test]
async fn it_comes_before_all_output_and_the_client_goes_on_with_its_message() {
    let mut with_files = said("Like these.");
    with_files.parts.extend([
        file(FileData::bytes(&b"png"[..])),
        file(FileData::Url { url: "https://example.com/a.png".to_owned() }),
        file(FileData::Reference { ids: [("acme".to_owned(), "f1".to_owned())].into() }),
    ]);
    let steers = [said("Shorter."), with_files];
    let model = ScriptedModel::new().repeat(Script::text_reply("Well."));
    let plain = Agent::new(tool_loop(&model));
    let ran = run(steered(&plain.clone().with_ui_protocol(UiProtocol::Latest), &steers)).await;
    let frame = ["start", "steering-message", "steering-message", "start-step"];
    assert_eq!(kinds(&ran.chunks), [&frame[..], &TEXT, &["finish-step", "finish"]].concat());
    assert_eq!(ran.chunks[0], UiChunk::Start { message_id: None, message_metadata: None });
    let shown = ran.only(&["steering-message"]);
    let of_file =
        |url: &str| json!({"type": "file", "mediaType": "image/png", "url": url, "filename": "a.png"});
    let mut uploaded = of_file("");
    uploaded["providerReference"] = json!({"acme": "f1"});
    let files = [of_file("data:image/png;base64,cG5n"), of_file("https://example.com/a.png"), uploaded];
    let text = |text: &str| json!({"type": "text", "text": text});
    let parts: Vec<_> = [text("Like these.")].into_iter().chain(files).collect();
    assert_eq!(
        shown,
        [
            json!({"type": "steering-message", "id": "u0", "parts": [text("Shorter.")]}),
            json!({"type": "steering-message", "id": "u1", "parts": parts}),
        ]
    );
    let ran = run(steered(&plain.with_message_id("m1"), &steers[..1])).await;
    assert_eq!(
        serde_json::to_value(&ran.chunks[..2]).unwrap(),
        json!([
            {"type": "start", "messageId": "m1"},
            {"type": "data-steer", "data": {"id": "u0", "parts": [text("Shorter.")]}, "transient": true},
        ])
    );
    assert_eq!(model.requests().len(), 2);
    assert!(model.requests().iter().all(|request| request.messages.len() >= 3), "the model has it once");
}

/// [AL-240]
#[tokio::test]
async fn a_run_that_gives_nothing_shows_it_all_the_same() {
    let cancel = CancellationToken::new();
    cancel.cancel();
    let agent = agent(&ScriptedModel::new()).with_ui_protocol(UiProtocol::Latest);
    let mut stream = agent.stream([Message::user("Go."), Message::User(said("Stop."))], cancel);
    stream.show_steering("u1", &said("Stop."));
    let ran = run(stream).await;
    assert_eq!(kinds(&ran.chunks), ["start", "steering-message", "abort"]);
}

/// [AL-241]
#[tokio::test]
async fn said_later_it_comes_before_the_next_step_or_the_end() {
    let model = ScriptedModel::new()
        .reply(Script::tool_reply("a", "clock", "{}"))
        .repeat(Script::text_reply("Noon."));
    let agent = agent(&model).with_ui_protocol(UiProtocol::Latest);
    // Told in the middle of a step, of the first and of the last.
    for (told_at, wanted) in [
        ("tool-input-start", ["tool-output-available", "finish-step", "steering-message", "start-step"]),
        ("text-start", ["text-end", "finish-step", "steering-message", "finish"]),
    ] {
        let mut stream = ask(&agent);
        let mut shown = Vec::new();
        while let Some(event) = stream.next().await {
            if let AgentEvent::Chunk(chunk) = event {
                if chunk.kind() == told_at {
                    stream.show_steering("u1", &said("Shorter."));
                }
                shown.push(chunk.kind());
            }
        }
        let at = shown.iter().position(|kind| *kind == "steering-message").unwrap();
        assert_eq!(shown[at - 2..=at + 1], wanted, "{told_at}");
    }
}

/// [AL-241]
#[tokio::test]
async fn a_step_that_is_tried_again_does_not_take_it_back() {
    let broken = ModelError::new(ErrorClass::Incomplete, "cut");
    let model = ScriptedModel::new().reply(Script::new().text("Half").error(broken));
    let retries = Hooks::new().on_error(|_| async { Ok(ai_core::OnError::Retry) });
    let agent = agent(&model.reply(Script::text_reply("Whole.")))
        .with_ui_protocol(UiProtocol::Latest)
        .with_hooks(retries);
    let ran = run(steered(&agent, &[said("Shorter.")])).await;
    let mut reducer = UiReducer::new("");
    for chunk in ran.chunks {
        reducer.push(chunk).unwrap();
    }
    let message = serde_json::to_value(reducer.message()).unwrap();
    assert_eq!(
        message["parts"],
        json!([
            {"type": "steering-message", "id": "u0", "parts": [{"type": "text", "text": "Shorter."}]},
            {"type": "step-start"},
            {"type": "text", "text": "Whole.", "state": "done"},
        ])
    );
}

/// [AL-242]
#[tokio::test]
async fn the_message_of_a_client_and_the_history_are_made_of_each_other() {
    let model = ScriptedModel::new()
        .reply(Script::tool_reply("a", "clock", "{}"))
        .repeat(Script::text_reply("Noon."));
    let agent = agent(&model).with_ui_protocol(UiProtocol::Latest);
    let steer = said("Shorter.");
    let mut history = vec![Arc::new(Message::user("Go."))];
    let first = run(agent.stream(history.clone(), CancellationToken::new())).await;
    history.extend(first.stream.new_messages());
    history.push(Arc::new(Message::User(steer.clone())));
    let mut stream = agent.stream(history.clone(), CancellationToken::new());
    stream.show_steering("u1", &steer);
    let second = run(stream).await;
    history.extend(second.stream.new_messages());

    // One message, as a client makes it that watches both runs.
    let mut reducer = UiReducer::new("");
    for chunk in first.chunks.into_iter().chain(second.chunks) {
        reducer.push(chunk).unwrap();
    }
    let watched = reducer.into_message();
    let made = to_ui_messages_with(&history, || "m1".to_owned(), |at| (at == 4).then(|| "u1".to_owned()));
    let roles: Vec<_> = made.iter().map(|message| message.role).collect();
    assert_eq!(roles, [UiRole::User, UiRole::Assistant]);
    assert_eq!(made[1], watched);
    let known = |history: &[Arc<Message>]| -> Vec<Value> {
        history.iter().map(|message| serde_json::to_value(&**message).unwrap()["role"].take()).collect()
    };
    let again: Vec<_> = to_model_messages(&made).unwrap().into_iter().map(Arc::new).collect();
    assert_eq!(known(&again), ["user", "assistant", "tool", "assistant", "user", "assistant"]);
    assert_eq!(known(&again), known(&history));
    assert_eq!(again[4], history[4], "what the user said in the middle");
    // Without a word about it the user's message stands by itself.
    assert_eq!(to_ui_messages(&history, || "m1".to_owned()).len(), 4);
    // Said before there was any answer it begins one.
    let made =
        to_ui_messages_with(&history[4..], || "m1".to_owned(), |at| (at == 0).then(|| "u1".to_owned()));
    assert_eq!((made.len(), made[0].role, made[0].parts.len()), (1, UiRole::Assistant, 3));
}

/// [AL-243]
#[tokio::test]
async fn an_answer_about_a_call_at_the_provider_says_so() {
    let asks = |script: Script, id: &str| {
        let call = ToolCall { provider_executed: true, ..ToolCall::new(id, "web", "{}") };
        let asked = ToolApprovalRequest { approval_id: format!("ask_{id}").into(), tool_call_id: id.into() };
        script.part(StreamPart::ToolCall(Box::new(call))).part(StreamPart::ToolApprovalRequest(asked))
    };
    for in_place in [true, false] {
        let script = asks(Script::new(), "p").tool_call("a", "asks", "{}").finish(UnifiedFinish::ToolCalls);
        let model = ScriptedModel::new().reply(script).repeat(Script::text_reply("Done."));
        let approvals = if in_place { ai_core::Approvals::InPlace } else { ai_core::Approvals::EndRun };
        let agent = Agent::new(tool_loop(&model).with_approvals(approvals));
        let decide = |stream: &AgentStream| {
            for id in ["p", "a"] {
                stream.handle().decide(&id.into(), Decision::approve()).unwrap();
            }
        };
        let mut stream = ask(&agent);
        let mut asked = 0;
        let mut answers = Vec::new();
        loop {
            match stream.next().await {
                Some(AgentEvent::Chunk(UiChunk::ToolApprovalRequest { .. })) => {
                    asked += 1;
                    if asked == 2 && in_place {
                        decide(&stream);
                    }
                }
                Some(AgentEvent::Chunk(chunk @ UiChunk::ToolApprovalResponse { .. })) => {
                    let mut chunk = serde_json::to_value(chunk).unwrap();
                    answers.push((chunk["approvalId"].take(), chunk["providerExecuted"].take()));
                }
                Some(_) => {}
                None if in_place || answers.len() == 2 => break,
                None => {
                    let stored = stream.run_end().unwrap().snapshot.clone();
                    stream = agent.resume(stored, CancellationToken::new());
                    decide(&stream);
                }
            }
        }
        answers.sort_by_key(|(id, _)| id.to_string());
        assert_eq!(
            answers,
            [(json!("approval_a"), Value::Null), (json!("ask_p"), json!(true))],
            "in place: {in_place}"
        );
    }
}
