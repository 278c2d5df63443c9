use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use stream_manager::port::{
    Command, CommandHandler, Commands, Refusal, Reply,
    StoreErrorKind::{NotFound, Unavailable},
    WhenLive,
};
use stream_manager::record::{NodeId, TopicId, TopicStatus};

use super::kit::{Checked, Unmet, at_once as run_at_once, fails, said, same, turn};

type Carrier = Arc<dyn Commands>;

/// Longer than a call takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// Notes what it gets, and replies as it is told.
struct Node {
    got: Mutex<Vec<(TopicId, Command)>>,
    reply: Reply,
}

impl Node {
    fn new(reply: Reply) -> Arc<Self> {
        Arc::new(Self { got: Mutex::default(), reply })
    }

    fn got(&self) -> Vec<(TopicId, Command)> {
        std::mem::take(&mut *self.got.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl CommandHandler for Node {
    async fn handle(&self, topic: TopicId, command: Command) -> Reply {
        self.got.lock().unwrap_or_else(PoisonError::into_inner).push((topic, command));
        self.reply.clone()
    }
}

/// Replies with the number of the turn it was asked to stop, as the number of an input.
struct Echo;

#[async_trait]
impl CommandHandler for Echo {
    async fn handle(&self, _topic: TopicId, command: Command) -> Reply {
        match command {
            Command::Stop { turn } => {
                Reply::Accepted { seq: turn.number, turn: Some(turn), duplicate: false }
            }
            _ => Reply::NotOwner,
        }
    }
}

/// Never replies.
struct Silent;

#[async_trait]
impl CommandHandler for Silent {
    async fn handle(&self, _topic: TopicId, _command: Command) -> Reply {
        std::future::pending().await
    }
}

/// A command reaches the node it is for, and no other, and its reply comes back.
pub(super) async fn call(carrier: Carrier) -> Checked {
    let (one, other) = (Node::new(Reply::Done), Node::new(Reply::NotOwner));
    let _one = carrier.serve(&"one".into(), one.clone()).await?;
    let _other = carrier.serve(&"other".into(), other.clone()).await?;
    let reply = carrier.call(&"one".into(), &"t".into(), Command::Status, LONG).await?;
    same("the reply of one node", reply, Reply::Done)?;
    same("what it got", one.got(), vec![("t".into(), Command::Status)])?;
    same("what the other got", other.got(), vec![])?;
    let reply = carrier.call(&"other".into(), &"t".into(), Command::Delete, LONG).await?;
    same("the reply of the other", reply, Reply::NotOwner)?;
    same("what it got then", other.got(), vec![("t".into(), Command::Delete)])
}

/// A node that does not listen is not found.
pub(super) async fn nobody(carrier: Carrier) -> Checked {
    let call = |node: &'static str| {
        let carrier = carrier.clone();
        async move { carrier.call(&node.into(), &"t".into(), Command::Status, LONG).await }
    };
    fails("a call of nobody", call("nobody").await, NotFound)?;
    let _one = carrier.serve(&"one".into(), Node::new(Reply::Done)).await?;
    fails("a call of a node with a name like it", call("one:2").await, NotFound)
}

/// Every command and every reply comes as it was sent.
pub(super) async fn kinds(carrier: Carrier) -> Checked {
    let large = said("large", &"0123456789 ü\n".repeat(90_000)).with_models(["m"]);
    let unknown = json!({"id": "i", "body": {"type": "later", "x": [1.5, null, "\u{0}"]}});
    let unknown = serde_json::from_value(unknown).map_err(|error| Unmet(error.to_string()))?;
    let submit = |input, when_live, turn| Command::Submit { input, when_live, turn };
    let commands = [
        submit(said("i", "Hello."), WhenLive::Steer, None),
        submit(large.clone(), WhenLive::FollowUp, Some(turn(3))),
        submit(unknown, WhenLive::Interrupt, None),
        Command::Stop { turn: turn(4) },
        Command::StopRow { row: "r/1".into() },
        Command::Withdraw { input: "i".into() },
        Command::Status,
        Command::Delete,
    ];
    let mut status = TopicStatus::idle("ü".into());
    status.queued = 3;
    let replies = [
        Reply::Accepted { seq: 3, turn: Some(turn(1)), duplicate: true },
        Reply::Stopped { returned: vec![large, said("b", "")] },
        Reply::Done,
        Reply::Status { status },
        Reply::Refused { why: Refusal::TopicBusy },
        Reply::NotOwner,
    ];
    for (number, (command, reply)) in commands.iter().zip(replies.iter().cycle()).enumerate() {
        let node = Node::new(reply.clone());
        let name = NodeId::from(format!("node:{number}/ü"));
        let topic = TopicId::from(format!("t {number} 😀 / : *"));
        let _serving = carrier.serve(&name, node.clone()).await?;
        same("a reply", &carrier.call(&name, &topic, command.clone(), LONG).await?, reply)?;
        same("a command", node.got(), vec![(topic, command.clone())])?;
    }
    Ok(())
}

/// Calls at once get each their own reply.
pub(super) async fn at_once(carrier: Carrier) -> Checked {
    let _serving = carrier.serve(&"echo".into(), Arc::new(Echo)).await?;
    let tasks = (0..64).map(|number| (carrier.clone(), number));
    let results = run_at_once(tasks.map(|(carrier, number)| async move {
        let command = Command::Stop { turn: turn(number) };
        (number, carrier.call(&"echo".into(), &"t".into(), command, LONG).await)
    }))
    .await?;
    for (number, reply) in results {
        let wanted = Reply::Accepted { seq: number, turn: Some(turn(number)), duplicate: false };
        same("the reply to one of 64 calls at once", reply?, wanted)?;
    }
    Ok(())
}

/// A node that does not reply in time does not answer, and holds up no other call.
pub(super) async fn hangs(carrier: Carrier) -> Checked {
    let _silent = carrier.serve(&"silent".into(), Arc::new(Silent)).await?;
    let _echo = carrier.serve(&"echo".into(), Arc::new(Echo)).await?;
    let silent = NodeId::from("silent");
    let topic = TopicId::from("t");
    let begun = tokio::time::Instant::now();
    let limit = Duration::from_secs(1);
    let calls = (0..40).map(|_| carrier.call(&silent, &topic, Command::Status, limit));
    let calls = futures_util::future::join_all(calls);
    let echo = NodeId::from("echo");
    let other = carrier.call(&echo, &topic, Command::Stop { turn: turn(1) }, LONG);
    let (calls, other) = futures_util::future::join(calls, other).await;
    other?;
    for call in calls {
        fails("a call of a node that is silent", call, Unavailable)?;
    }
    let took = begun.elapsed();
    super::kit::ensure(took >= limit && took < LONG / 2, || {
        format!("calls with a limit of {limit:?} should end then, but took {took:?}")
    })?;
    let reply = carrier.call(&"echo".into(), &"t".into(), Command::Stop { turn: turn(2) }, LONG).await?;
    same("a call after these", reply, Reply::Accepted { seq: 2, turn: Some(turn(2)), duplicate: false })
}

/// A node that stops listening is not found, and one that listens anew is.
pub(super) async fn gone(carrier: Carrier) -> Checked {
    let node = NodeId::from("node");
    let first = carrier.serve(&node, Node::new(Reply::Done)).await?;
    same("the reply", carrier.call(&node, &"t".into(), Command::Status, LONG).await?, Reply::Done)?;
    drop(first);
    unfound(&carrier, &node).await?;
    let second = carrier.serve(&node, Node::new(Reply::NotOwner)).await?;
    same("the reply anew", carrier.call(&node, &"t".into(), Command::Status, LONG).await?, Reply::NotOwner)?;
    drop(second);
    unfound(&carrier, &node).await
}

/// Over a network the carrier learns some time later that a node is gone; a call in between is not answered.
async fn unfound(carrier: &Carrier, node: &NodeId) -> Checked {
    for _ in 0..100 {
        match carrier.call(node, &"t".into(), Command::Status, Duration::from_millis(100)).await {
            Err(error) if error.kind() == NotFound => return Ok(()),
            Err(error) if error.kind() == Unavailable => {}
            other => {
                return Err(Unmet(format!("a node that is gone should not be found, but gives {other:?}")));
            }
        }
    }
    Err(Unmet("a node that is gone should not be found, but stays without an answer".to_owned()))
}
