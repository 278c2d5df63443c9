use std::sync::{Arc, Mutex, PoisonError};

use ai_provider::{CallContext, Capabilities, KeyLabel, LanguageModel, ModelStream, Request, TargetId};

use crate::limits::{Spent, Timeouts};
use crate::media::readable;
use crate::usage::Book;

/// The model of one step, around which a run looks at what goes in and how long it takes.
pub(crate) struct StepModel {
    pub(crate) model: Arc<dyn LanguageModel>,
    pub(crate) step: u32,
    /// Whether what the model cannot read is said in words.
    pub(crate) media: bool,
    pub(crate) limits: Option<Timeouts>,
    pub(crate) spent: Arc<Spent>,
    pub(crate) book: Option<Arc<Mutex<Book>>>,
}

impl LanguageModel for StepModel {
    fn target(&self) -> &TargetId {
        self.model.target()
    }

    fn capabilities(&self) -> &Capabilities {
        self.model.capabilities()
    }

    fn keys(&self) -> &[KeyLabel] {
        self.model.keys()
    }

    fn stream(&self, mut request: Request, ctx: CallContext) -> ModelStream {
        if self.media
            && let Some(messages) = readable(&request.messages, self.model.capabilities())
        {
            request.messages = messages;
        }
        if let Some(book) = &self.book {
            let key = match self.model.keys() {
                [only] => Some(only.clone()),
                _ => None,
            };
            let mut book = book.lock().unwrap_or_else(PoisonError::into_inner);
            book.called(self.step, self.model.target().clone(), key);
        }
        let stream = self.model.stream(request, ctx);
        match &self.limits {
            Some(limits) => limits.watch(stream, Arc::clone(&self.spent)),
            None => stream,
        }
    }
}
