use agent_loop::{UiChunk, UiMessage, UiReducer};

/// The message that an attempt writes, folded while it runs: by the one who writes its log.
#[derive(Debug)]
pub struct Fold {
    reducer: UiReducer,
    refused: u64,
}

impl Fold {
    /// Begins with what the row shows already: nothing but its id, or what earlier attempts wrote.
    pub fn new(seed: UiMessage) -> Self {
        Self { reducer: UiReducer::continuing(seed), refused: 0 }
    }

    /// Takes a chunk. One that does not fold is passed over and counted: a client does the same, or fails by itself,
    /// and the run must not.
    pub fn push(&mut self, chunk: &UiChunk) {
        if self.reducer.push_ref(chunk).is_err() {
            self.refused += 1;
        }
    }

    /// The message as it stands.
    pub fn message(&mut self) -> &UiMessage {
        self.reducer.message()
    }

    /// Chunks that give it, with what is open left open: see [`UiReducer::chunks`].
    pub fn chunks(&mut self) -> Vec<UiChunk> {
        self.reducer.chunks()
    }

    /// How many chunks did not fold: about a block or call that is not there, or behind the size that a message may have.
    pub fn refused(&self) -> u64 {
        self.refused
    }
}
