//! What a run shows of text, reasoning and tools.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ai_provider::{CancellationToken, Message, StreamPart, UnifiedFinish};
use ai_testkit::{Script, ScriptedModel};
use serde_json::json;

use super::support::{SECRET, agent, ask, run, tool_loop};
use crate::{Agent, UiChunk};

/// [AL-7] [AL-8] [AL-9]
#[tokio::test]
async fn reasoning_and_text() {
    let model = ScriptedModel::new()
        .reply(Script::new().reasoning("Easy.").text("Hello there").finish(UnifiedFinish::Stop));
    let ran = run(ask(&agent(&model))).await;
    ran.expect(&[
        r#"start {"messageId":"m1"}"#,
        "start-step",
        r#"reasoning-start {"id":"reasoning-1"}"#,
        r#"reasoning-delta {"id":"reasoning-1","delta":"Easy."}"#,
        r#"reasoning-end {"id":"reasoning-1"}"#,
        r#"text-start {"id":"text-2"}"#,
        r#"text-delta {"id":"text-2","delta":"Hello "}"#,
        r#"text-delta {"id":"text-2","delta":"there"}"#,
        r#"text-end {"id":"text-2"}"#,
        "finish-step",
        r#"finish {"finishReason":"stop"}"#,
    ]);
    assert_eq!(ran.steps, 1);
    assert_eq!(ran.stream.new_messages().len(), 1);
}

/// [AL-8] [AL-10] [AL-12]
#[tokio::test(start_paused = true)]
async fn two_tools_side_by_side() {
    let calls = Script::new()
        .tool_call("a", "slow", "{}")
        .tool_call("b", "echo", r#"{"text":"hi"}"#)
        .finish(UnifiedFinish::ToolCalls);
    let model = ScriptedModel::new().reply(calls).reply(Script::text_reply("Done."));
    let ran = run(ask(&agent(&model))).await;
    ran.expect(&[
        r#"start {"messageId":"m1"}"#,
        "start-step",
        r#"tool-input-start {"toolCallId":"a","toolName":"slow"}"#,
        r#"tool-input-delta {"toolCallId":"a","inputTextDelta":"{}"}"#,
        r#"tool-input-available {"toolCallId":"a","toolName":"slow","input":{}}"#,
        r#"tool-input-start {"toolCallId":"b","toolName":"echo"}"#,
        r#"tool-input-delta {"toolCallId":"b","inputTextDelta":"{\"text\":"}"#,
        r#"tool-input-delta {"toolCallId":"b","inputTextDelta":"\"hi\"}"}"#,
        r#"tool-input-available {"toolCallId":"b","toolName":"echo","input":{"text":"hi"}}"#,
        // In the order in which they come, not in that of the calls.
        r#"tool-output-available {"toolCallId":"b","output":"hi"}"#,
        r#"tool-output-available {"toolCallId":"a","output":"at last"}"#,
        "finish-step",
        "start-step",
        r#"text-start {"id":"text-1"}"#,
        r#"text-delta {"id":"text-1","delta":"Done."}"#,
        r#"text-end {"id":"text-1"}"#,
        "finish-step",
        r#"finish {"finishReason":"stop"}"#,
    ]);
    assert_eq!(ran.steps, 2);
}

/// [AL-9]
#[tokio::test]
async fn ids_of_blocks_are_unique_over_all_steps() {
    let answer = |name| Script::new().text("One.").reasoning("Two.").tool_call(name, "clock", "{}");
    let model = ScriptedModel::new()
        .reply(answer("a").finish(UnifiedFinish::ToolCalls))
        .reply(answer("b").finish(UnifiedFinish::ToolCalls))
        .reply(Script::text_reply("Three."));
    let ran = run(ask(&agent(&model))).await;
    // The checker has seen that no id comes twice; the scripts do use the same ones.
    assert_eq!(ran.only(&["text-start", "reasoning-start"]).len(), 5);
}

/// [AL-12] [AL-24] [AL-30]
#[tokio::test]
async fn tools_that_do_not_work_leave_the_others_and_the_run_alone() {
    let calls = Script::new()
        .tool_call("a", "nowhere", "{}")
        .tool_call("b", "fails", "{}")
        .tool_call("c", "panics", "{}")
        .tool_call("d", "denied", "{}")
        .tool_call("e", "clock", "{}")
        .finish(UnifiedFinish::ToolCalls);
    let model = ScriptedModel::new().repeat(Script::text_reply("Sorry.")).reply(calls);
    let ran = run(ask(&agent(&model))).await;
    let mut results = ran.only(&["tool-output-available", "tool-output-error", "tool-output-denied"]);
    results.sort_by_key(|result| result["toolCallId"].to_string());
    let masked =
        |id: &str| json!({"type":"tool-output-error","toolCallId":id,"errorText":"Something went wrong."});
    let wanted = [
        masked("a"),
        masked("b"),
        masked("c"),
        json!({"type":"tool-output-denied","toolCallId":"d"}),
        json!({"type":"tool-output-available","toolCallId":"e","output":{"hour":12}}),
    ];
    assert_eq!(results, wanted);
    assert!(!ran.json().contains(SECRET));
    assert_eq!(
        ran.last(),
        &serde_json::from_str::<UiChunk>(r#"{"type":"finish","finishReason":"stop"}"#).unwrap()
    );
    // The model does get the words of the tool.
    let told = serde_json::to_string(&model.requests()[1].messages).unwrap();
    assert!(told.contains(SECRET), "{told}");
}

/// [AL-24]
#[tokio::test]
async fn errors_of_tools_are_shown_on_request() {
    let model = ScriptedModel::new()
        .reply(Script::tool_reply("a", "fails", "{}"))
        .reply(Script::text_reply("Sorry."));
    let plain = run(ask(&agent(&model).with_plain_errors())).await;
    assert_eq!(plain.only(&["tool-output-error"])[0]["errorText"], SECRET);

    let model = ScriptedModel::new()
        .reply(Script::tool_reply("a", "fails", "{}"))
        .reply(Script::text_reply("Sorry."));
    let mapped =
        agent(&model).with_tool_error_text(|result| format!("`{}` is out of order", result.tool_name));
    assert_eq!(
        run(ask(&mapped)).await.only(&["tool-output-error"])[0]["errorText"],
        "`fails` is out of order"
    );
}

/// [AL-11]
#[tokio::test]
async fn input_that_is_not_json() {
    let model = ScriptedModel::new()
        .reply(Script::tool_reply("a", "echo", "{\"text\":"))
        .reply(Script::text_reply("Sorry."));
    let ran = run(ask(&agent(&model))).await;
    ran.expect(&[
        r#"start {"messageId":"m1"}"#,
        "start-step",
        r#"tool-input-start {"toolCallId":"a","toolName":"echo"}"#,
        r#"tool-input-delta {"toolCallId":"a","inputTextDelta":"{\"text\":"}"#,
        r#"tool-input-error {"toolCallId":"a","toolName":"echo","input":"{\"text\":","errorText":"The input is not valid JSON."}"#,
        r#"tool-output-error {"toolCallId":"a","errorText":"Something went wrong."}"#,
        "finish-step",
        "start-step",
        r#"text-start {"id":"text-1"}"#,
        r#"text-delta {"id":"text-1","delta":"Sorry."}"#,
        r#"text-end {"id":"text-1"}"#,
        "finish-step",
        r#"finish {"finishReason":"stop"}"#,
    ]);
}

/// [AL-12] [AL-13]
#[tokio::test]
async fn results_on_the_way() {
    let model = ScriptedModel::new()
        .reply(Script::tool_reply("a", "progress", "{}"))
        .reply(Script::text_reply("Good."));
    let ran = run(ask(&agent(&model))).await;
    let wanted = [
        json!({"type":"tool-output-available","toolCallId":"a","output":"half","preliminary":true}),
        json!({"type":"tool-output-available","toolCallId":"a","output":[{"type":"text","text":"whole"}]}),
    ];
    assert_eq!(ran.only(&["tool-output-available"]), wanted);
}

/// [AL-7]
#[tokio::test]
async fn the_message_id() {
    let id = |history: Vec<Message>, given: Option<&'static str>| async move {
        let model = ScriptedModel::new().reply(Script::text_reply("Hi."));
        let agent = Agent::new(tool_loop(&model));
        let agent = given.map_or(agent.clone(), |id| agent.with_message_id(id));
        let ran = run(agent.stream(history, CancellationToken::new())).await;
        match &ran.chunks[0] {
            UiChunk::Start { message_id, .. } => message_id.clone(),
            other => panic!("{other:?}"),
        }
    };
    let (question, answer) = (Message::user("Go."), Message::assistant("Well,"));
    let random = id(vec![question.clone()], None).await.unwrap();
    assert_eq!(uuid::Uuid::parse_str(&random).unwrap().get_version_num(), 4);
    assert_ne!(id(vec![question.clone()], None).await.unwrap(), random);
    assert_eq!(id(vec![question.clone()], Some("m1")).await.as_deref(), Some("m1"));
    // The client goes on with the message it has.
    assert_eq!(id(vec![question.clone(), answer.clone()], None).await, None);
    assert_eq!(id(vec![question.clone(), answer.clone(), Message::tool([])], None).await, None);
    assert_eq!(id(vec![question, answer], Some("m1")).await.as_deref(), Some("m1"));
}

/// [AL-31]
#[tokio::test]
async fn a_run_gives_the_messages_to_append() {
    let model = ScriptedModel::new()
        .reply(Script::tool_reply("a", "clock", "{}"))
        .reply(Script::text_reply("Noon."))
        .reply(Script::text_reply("Bye."));
    let agent = agent(&model);
    let mut history = vec![Arc::new(Message::user("What time is it?"))];
    let first = agent.stream(history.clone(), CancellationToken::new());
    assert!(first.new_messages().is_empty() && first.run_end().is_none());
    history.extend(run(first).await.stream.new_messages());
    let roles = |history: &[Arc<Message>]| -> String {
        history
            .iter()
            .map(|message| serde_json::to_value(message).unwrap()["role"].as_str().unwrap()[..1].to_owned())
            .collect()
    };
    assert_eq!(roles(&history), "uata");
    history.push(Arc::new(Message::user("Thanks.")));
    history.extend(run(agent.stream(history.clone(), CancellationToken::new())).await.stream.new_messages());
    assert_eq!(roles(&history), "uataua");
    // What the second run asked the model begins with what the first one gave.
    assert_eq!(model.requests()[2].messages, history[..5]);
}

/// [AL-28]
#[tokio::test(start_paused = true)]
async fn one_agent_serves_many_runs_at_once() {
    let script = Script::new().tool_call("a", "slow", "{}").text("Same.").finish(UnifiedFinish::ToolCalls);
    let model = ScriptedModel::new();
    let model = (0..8).fold(model, |model, _| model.reply(script.clone())).repeat(Script::text_reply("End."));
    let agent = agent(&model);
    let runs = futures_util::future::join_all((0..8).map(|_| run(ask(&agent)))).await;
    for ran in &runs {
        assert_eq!(ran.chunks, runs[0].chunks);
        let usage = &ran.stream.run_end().unwrap().usage;
        assert_eq!(usage.total(), None);
    }
}

/// [AL-27]
#[tokio::test]
async fn nothing_happens_before_the_first_poll_nor_after_a_drop() {
    use futures_util::StreamExt;
    let script =
        Script::new().part(StreamPart::text_start("0")).part(StreamPart::text_delta("0", "Hel")).hang();
    let model = ScriptedModel::new().reply(script);
    let mut stream = ask(&agent(&model));
    assert!(model.requests().is_empty());
    for _ in 0..4 {
        assert!(stream.next().await.is_some());
    }
    assert_eq!((model.requests().len(), model.dropped()), (1, 0));
    drop(stream);
    assert_eq!(model.dropped(), 1);
}

/// [AL-270]
#[tokio::test]
async fn ids_come_from_the_generator_if_there_is_one() {
    let play = || async {
        let model = ScriptedModel::new()
            .reply(Script::tool_reply("a", "clock", "{}"))
            .repeat(Script::text_reply("Noon."));
        let count = AtomicU32::new(0);
        let heard = super::audit::Heard::default();
        let agent = Agent::new(tool_loop(&model))
            .with_ids(move || format!("id-{}", count.fetch_add(1, Ordering::Relaxed)))
            .with_audit(heard.audit());
        let ran = run(ask(&agent)).await;
        let requests: Vec<_> = model.contexts().iter().map(|ctx| ctx.request_id.to_string()).collect();
        (ran.chunks, heard.record().entries()[0].run.clone(), requests)
    };
    let (chunks, run, requests) = play().await;
    let mut ids = vec![run];
    ids.extend(requests);
    let Some(UiChunk::Start { message_id: Some(message), .. }) = chunks.first() else { panic!("{chunks:?}") };
    ids.push(message.clone());
    assert!(ids.iter().all(|id| id.starts_with("id-")), "{ids:?}");
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4, "the run, its message and its two requests");
    assert_eq!(play().await.0, chunks, "played again it is the same");
}
