use std::sync::{Arc, Mutex, PoisonError};

use agent_loop::LedgerEntry;
use ai_mcp::McpServers;
use async_trait::async_trait;
use stream_manager::{OpenError, TurnRequest, TurnRun, TurnSource};

use crate::assemble::Assembly;
use crate::session::Session;

/// What runs took, until somebody asks.
#[derive(Clone, Debug, Default)]
pub(super) struct Books(Arc<Mutex<Vec<LedgerEntry>>>);

impl Books {
    fn add(&self, entry: LedgerEntry) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }

    pub(super) fn take(&self) -> Vec<LedgerEntry> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The agent of a session, for all models that a conversation may name.
#[derive(Debug)]
pub(super) struct Source {
    assembly: Assembly,
    servers: McpServers,
    books: Books,
}

impl Source {
    pub(super) fn new(session: &Session, books: Books) -> Self {
        Self { assembly: session.assembly().clone(), servers: session.servers().clone(), books }
    }
}

#[async_trait]
impl TurnSource for Source {
    async fn open(&self, request: TurnRequest) -> Result<TurnRun, OpenError> {
        let tools = self.servers.add_to(self.assembly.tools().clone());
        let books = self.books.clone();
        self.assembly.agent(tools).with_ledger(move |entry| books.add(entry)).open(request).await
    }
}
