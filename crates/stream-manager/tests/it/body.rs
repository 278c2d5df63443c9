//! A row as the body of an HTTP response, as clients of the AI SDK read it.

use agent_loop::UiChunk;
use stream_manager::reader::{Attach, SseBody, SseSettings};
use stream_manager::record::TopicState;

use crate::world::World;

/// [SM-297]
#[tokio::test(start_paused = true)]
async fn a_body_has_one_start_then_the_turn_then_what_was_said_in_the_middle_where_it_was() {
    let mut world = World::new().await;
    let id = world.send("q1").await.turn.unwrap();
    let turn = world.turns.next().await;
    let start = |id: &str| UiChunk::Start { message_id: Some(id.to_owned()), message_metadata: None };
    turn.chunk(start(turn.request.row.as_str())).text("one").step("one");
    world.until(TopicState::Streaming).await;
    world.send("s1").await;
    turn.waits().await;
    turn.answer("one");
    let next = world.turns.next().await;
    next.chunk(start(next.request.row.as_str()));
    next.answer("two");
    let reader = world.manager.attach(&world.topic, Attach::new().with_turn(id)).await.unwrap();
    let mut body = SseBody::new(reader, SseSettings::new().with_protocol(agent_loop::UiProtocol::Latest));
    let mut bytes = Vec::new();
    while let Some(piece) = body.next().await {
        bytes.extend(piece.unwrap());
    }
    let text = String::from_utf8(bytes).unwrap();
    let kinds: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| {
            serde_json::from_str::<serde_json::Value>(data)
                .map_or("[DONE]".to_owned(), |chunk| chunk["type"].as_str().unwrap_or_default().to_owned())
        })
        .collect();
    let said = ["text-start", "text-delta", "text-end"];
    let mut wanted = vec!["start", "data-turn"];
    wanted.extend(said);
    wanted.extend(said);
    wanted.extend(["data-turn", "steering-message"]);
    let consumed = kinds.iter().filter(|kind| *kind == "data-input").count();
    assert_eq!(consumed, 2, "the question and what was said in the middle: {kinds:?}");
    let rest: Vec<_> = kinds.iter().map(String::as_str).filter(|kind| *kind != "data-input").collect();
    wanted.extend(said);
    wanted.extend(["finish", "[DONE]"]);
    assert_eq!(rest, wanted);
}
