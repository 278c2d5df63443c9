use tokio::sync::mpsc;

use crate::core::Fact;

/// Tells a topic what has happened. Never waits: a topic hears few facts of each input and attempt, so their number is
/// bounded by that of its inputs.
#[derive(Clone, Debug)]
pub(crate) struct Facts(mpsc::UnboundedSender<Box<Fact>>);

/// What a topic is told. Facts are boxed, since a channel keeps room for 32 of them for each topic.
pub(crate) type Heard = mpsc::UnboundedReceiver<Box<Fact>>;

impl Facts {
    pub(crate) fn channel() -> (Self, Heard) {
        let (facts, heard) = mpsc::unbounded_channel();
        (Self(facts), heard)
    }

    pub(crate) fn tell(&self, fact: Fact) {
        // Without a topic nobody needs to know.
        let _ = self.0.send(Box::new(fact));
    }
}
