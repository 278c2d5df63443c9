use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use redis::aio::{PubSub, PubSubSink};
use redis::{Msg, RedisError};
use stream_manager::port::StoreError;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use crate::error::unavailable;
use crate::server::Server;
use crate::task::EndOnDrop;

/// So many messages wait for who takes them; then the connection waits, and at last the server ends it.
const WAITING: usize = 1024;

/// A connection that says nothing for so long is asked whether it is there.
const PING: Duration = Duration::from_secs(5);

const RECONNECT: Duration = Duration::from_millis(100);

/// Messages of other nodes, over one connection that comes back by itself.
#[derive(Debug)]
pub(crate) struct Channels {
    requests: mpsc::Sender<Request>,
    timeout: Duration,
    _task: EndOnDrop,
}

/// What comes from a channel.
#[derive(Debug)]
pub(crate) enum Event {
    /// The channel is heard, from now on or again: what was said before may be missing.
    Heard,
    Message(String),
}

#[derive(Debug)]
enum Request {
    Subscribe { channel: String, events: mpsc::Sender<Event>, heard: oneshot::Sender<u64> },
    Unsubscribe { channel: String, number: u64 },
}

/// Ends a subscription when dropped.
#[derive(Debug)]
pub(crate) struct Subscription {
    requests: mpsc::Sender<Request>,
    channel: String,
    number: u64,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let channel = std::mem::take(&mut self.channel);
        // Where the queue is full it ends with its next message.
        self.requests.try_send(Request::Unsubscribe { channel, number: self.number }).ok();
    }
}

impl Channels {
    pub(crate) fn start(server: Arc<Server>) -> Self {
        let (requests, received) = mpsc::channel(WAITING);
        let timeout = server.timeout();
        Self { requests, timeout, _task: EndOnDrop::spawn(hear(server, received)) }
    }

    /// Hears a channel. When this returns, nothing said from now on is missed, but where an event says so.
    pub(crate) async fn subscribe(
        &self,
        channel: &str,
    ) -> Result<(Subscription, mpsc::Receiver<Event>), StoreError> {
        let (events, received) = mpsc::channel(WAITING);
        let (heard, hears) = oneshot::channel();
        let channel = channel.to_owned();
        let request = Request::Subscribe { channel: channel.clone(), events, heard };
        let asked = async {
            self.requests.send(request).await.ok()?;
            hears.await.ok()
        };
        match timeout(self.timeout, asked).await {
            Ok(Some(number)) => {
                Ok((Subscription { requests: self.requests.clone(), channel, number }, received))
            }
            _ => Err(unavailable(format!("subscribing to {channel:?}"))),
        }
    }
}

/// What is subscribed, by channel.
#[derive(Debug, Default)]
struct Heard {
    count: u64,
    channels: HashMap<String, (u64, mpsc::Sender<Event>)>,
    /// Who waits to be told that its channel is heard.
    told: Vec<(String, u64, oneshot::Sender<u64>)>,
}

impl Heard {
    /// Notes a request. Returns what to do at the server: the channel, and whether to hear it.
    fn note(&mut self, request: Request) -> Option<(String, bool)> {
        match request {
            Request::Subscribe { channel, events, heard } => {
                self.count += 1;
                self.channels.insert(channel.clone(), (self.count, events));
                self.told.push((channel.clone(), self.count, heard));
                Some((channel, true))
            }
            Request::Unsubscribe { channel, number } => {
                self.channels.get(&channel).filter(|(known, _)| *known == number)?;
                self.channels.remove(&channel);
                Some((channel, false))
            }
        }
    }

    /// All channels are heard now; those that are new are told so.
    async fn tell(&mut self) {
        for (channel, number, heard) in self.told.drain(..) {
            heard.send(number).ok();
            if let Some((_, events)) = self.channels.get(&channel) {
                events.send(Event::Heard).await.ok();
            }
        }
    }

    async fn take(&mut self, message: Msg) {
        let Some((_, events)) = self.channels.get(message.get_channel_name()) else { return };
        // What is no text is not ours.
        if let Ok(text) = message.get_payload::<String>() {
            events.send(Event::Message(text)).await.ok();
        }
    }
}

async fn hear(server: Arc<Server>, mut requests: mpsc::Receiver<Request>) {
    let mut heard = Heard::default();
    loop {
        let connected = tokio::select! {
            connected = server.subscriptions() => connected,
            request = requests.recv() => match request {
                Some(request) => {
                    heard.note(request);
                    continue;
                }
                None => return,
            },
        };
        if let Ok(connection) = connected {
            // It ends with an error: the connection broke.
            let broken = hear_connected(connection, &mut heard, &mut requests).await;
            if broken.is_ok() {
                return;
            }
        }
        sleep(RECONNECT).await;
    }
}

/// Returns `Ok` when nobody is left to hear for.
async fn hear_connected(
    connection: PubSub,
    heard: &mut Heard,
    requests: &mut mpsc::Receiver<Request>,
) -> Result<(), RedisError> {
    let (mut sink, mut messages) = connection.split();
    let channels: Vec<String> = heard.channels.keys().cloned().collect();
    let anew: Vec<_> = heard.channels.values().map(|(_, events)| events.clone()).collect();
    if !channels.is_empty() {
        sink.subscribe(&channels).await?;
    }
    heard.tell().await;
    for events in anew {
        events.send(Event::Heard).await.ok();
    }
    let mut pings = interval(PING);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            message = messages.next() => match message {
                Some(message) => heard.take(message).await,
                None => return Err(closed()),
            },
            request = requests.recv() => match request {
                Some(request) => change(&mut sink, heard, request).await?,
                None => return Ok(()),
            },
            _ = pings.tick() => {
                timeout(PING, sink.ping::<redis::Value>()).await.map_err(|_| closed())??;
            }
        }
    }
}

async fn change(sink: &mut PubSubSink, heard: &mut Heard, request: Request) -> Result<(), RedisError> {
    match heard.note(request) {
        Some((channel, true)) => {
            sink.subscribe(channel).await?;
            heard.tell().await;
        }
        Some((channel, false)) => sink.unsubscribe(channel).await?,
        None => {}
    }
    Ok(())
}

fn closed() -> RedisError {
    std::io::Error::from(std::io::ErrorKind::ConnectionAborted).into()
}
