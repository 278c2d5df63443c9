use std::sync::Arc;

use ai_provider::Message;

/// What [`Agent::generate`](crate::Agent::generate) replies to: a text of the user, a message, or a history.
#[derive(Clone, Debug)]
pub struct Prompt(pub(crate) Vec<Arc<Message>>);

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        Message::user(text).into()
    }
}

impl From<String> for Prompt {
    fn from(text: String) -> Self {
        Message::user(text).into()
    }
}

impl From<Message> for Prompt {
    fn from(message: Message) -> Self {
        Self(vec![Arc::new(message)])
    }
}

impl<M: Into<Arc<Message>>> From<Vec<M>> for Prompt {
    fn from(history: Vec<M>) -> Self {
        Self(history.into_iter().map(Into::into).collect())
    }
}

impl<M: Into<Arc<Message>>, const N: usize> From<[M; N]> for Prompt {
    fn from(history: [M; N]) -> Self {
        Self(history.into_iter().map(Into::into).collect())
    }
}
