use ai_provider::ModelError;

use crate::codec::Event;

/// Cuts a body into events, however the network cut it into chunks.
pub trait Framer: Send {
    /// Takes the next bytes. Called only when [`next`](Self::next) has returned `None`.
    fn push(&mut self, chunk: &[u8]);

    /// The next event that is whole.
    ///
    /// # Errors
    /// `Protocol` for bytes that are no text, `TooLarge` past a limit. Nothing follows an error.
    fn next(&mut self) -> Result<Option<Event<'_>>, ModelError>;

    /// The body is over: called again and again until it returns `None`.
    ///
    /// # Errors
    /// As [`next`](Self::next), and `Incomplete` if the body ends inside an event.
    fn end(&mut self) -> Result<Option<Event<'_>>, ModelError>;
}
