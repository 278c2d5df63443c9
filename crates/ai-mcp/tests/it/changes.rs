use std::sync::Arc;
use std::time::Duration;

use ai_core::{LoopControl, NoControl, ToolError, ToolSet, tool_json};
use ai_mcp::McpServers;
use ai_provider::UnifiedFinish;
use ai_testkit::{Script, ScriptedModel};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::fake::{Answer, Fake, agent, run};

fn names(servers: &McpServers) -> Vec<String> {
    servers.tools().iter().map(|tool| tool.definition().name).collect()
}

/// A model that calls three tools one after the other.
fn steps(tools: [&str; 2]) -> ScriptedModel {
    let [first, second] = tools;
    let calls =
        |id: &str, tool: &str| Script::new().tool_call(id, tool, "{}").finish(UnifiedFinish::ToolCalls);
    ScriptedModel::new()
        .reply(calls("c1", first))
        .reply(calls("c2", second))
        .reply(Script::text_reply("done"))
}

/// The names of the tools in each request.
fn shown(model: &ScriptedModel) -> Vec<Vec<String>> {
    let names =
        |request: &ai_provider::Request| request.tools.iter().map(|tool| tool.name().to_owned()).collect();
    model.requests().iter().map(names).collect()
}

/// A server that has a further tool once the first one was called.
fn growing() -> Arc<Fake> {
    let fake = Fake::new(&["a"]);
    let grows = Arc::downgrade(&fake);
    fake.on("tools/call", move |talk, _| {
        grows.upgrade().unwrap().offer(&["a", "b"]);
        talk.notify("notifications/tools/list_changed", json!({}));
        Answer::Result(json!({"content": [{"type": "text", "text": "ok"}]}))
    })
}

/// [MC-42]
#[tokio::test(start_paused = true)]
async fn the_next_step_sees_tools_that_came_meanwhile() {
    let fake = growing();
    let servers = fake.connect().await;
    let own =
        tool_json("own", "Ours.", json!({"type": "object"}), |_: Value, _| async { Ok::<_, ToolError>("") });
    let others = ToolSet::new().with(own).unwrap();
    let model = steps(["srv__a", "srv__b"]);
    let follow = servers.follow(others.clone());
    let (_, end) = run(&agent(&model, servers.add_to(others)), follow).await;
    let before = vec!["own", "srv__a"];
    let after = vec!["own", "srv__a", "srv__b"];
    assert_eq!(shown(&model), [before, after.clone(), after]);
    assert_eq!(end.steps[1].tools[0].status.as_str(), "ok", "it can be called too");
}

/// [MC-42]
#[tokio::test(start_paused = true)]
async fn without_the_control_the_next_run_sees_them() {
    let fake = growing();
    let servers = fake.connect().await;
    let model = steps(["srv__a", "srv__b"]);
    let (_, end) = run(&agent(&model, servers.add_to(ToolSet::new())), Arc::new(NoControl)).await;
    assert_eq!(shown(&model), vec![vec!["srv__a"]; 3]);
    assert_eq!(end.steps[1].tools[0].status.as_str(), "unknown");
    assert_eq!(names(&servers), ["srv__a", "srv__b"]);
}

/// [MC-43]
#[tokio::test(start_paused = true)]
async fn steps_are_left_alone_while_the_tools_are_the_same() {
    let fake = Fake::new(&["a"]).says("ok");
    let servers = fake.connect().await;
    let before = servers.tools();
    // Told of a change that is none, and started again.
    fake.talk().notify("notifications/tools/list_changed", json!({}));
    fake.nth("tools/list", 2).await;
    fake.talk().close();
    fake.nth("tools/list", 3).await;
    sleep(Duration::from_millis(10)).await;
    let after = servers.tools();
    assert!(before.iter().zip(&after).all(|(before, after)| Arc::ptr_eq(before, after)));
    let follow: Arc<dyn LoopControl> = servers.follow(ToolSet::new());
    // The control gives no tools: those of the loop, which are fewer, are shown.
    let model = steps(["srv__a", "srv__a"]);
    run(&agent(&model, ToolSet::new()), follow).await;
    assert_eq!(shown(&model), vec![Vec::<String>::new(); 3]);
}

/// [MC-42]
#[tokio::test(start_paused = true)]
async fn a_list_that_does_not_come_holds_up_a_step_for_two_seconds_and_the_old_tools_stay() {
    let fake = Fake::new(&["a"]).says("ok");
    let servers = fake.connect().await;
    let fake = fake.on("tools/list", |_, _| Answer::Silence);
    fake.talk().notify("notifications/tools/list_changed", json!({}));
    fake.nth("tools/list", 2).await;
    let start = tokio::time::Instant::now();
    let model = ScriptedModel::new().reply(Script::text_reply("done"));
    run(&agent(&model, servers.add_to(ToolSet::new())), servers.follow(ToolSet::new())).await;
    assert_eq!(start.elapsed().as_secs(), 2);
    assert_eq!(names(&servers), ["srv__a"]);
}
