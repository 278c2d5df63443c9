use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use ai_provider::{CallContext, ErrorClass, ModelError};
use tokio::time::Sleep;

/// The end of a call from outside: its token or its deadline. For code that does not watch them itself.
///
/// Its future and timer are made when something first has to wait, so a call that never waits pays nothing.
pub(crate) struct Guard {
    ctx: CallContext,
    cancelled: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    deadline: Option<Pin<Box<Sleep>>>,
}

impl Guard {
    pub(crate) fn new(ctx: CallContext) -> Self {
        Self { ctx, cancelled: None, deadline: None }
    }

    /// Ready once the call is over from outside. To be asked after the guarded work had its poll, so that work
    /// which ends by itself has the last word.
    ///
    /// `place` is named in the error of the deadline.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, place: fmt::Arguments<'_>) -> Poll<ModelError> {
        let token = &self.ctx.cancel;
        let cancelled = self.cancelled.get_or_insert_with(|| Box::pin(token.clone().cancelled_owned()));
        if cancelled.as_mut().poll(cx).is_ready() {
            return Poll::Ready(ModelError::cancelled());
        }
        let Some(at) = self.ctx.deadline else { return Poll::Pending };
        let sleep = self.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at.into())));
        sleep.as_mut().poll(cx).map(|()| {
            let text = format!("the deadline passed in {place}");
            ModelError::new(ErrorClass::Timeout, text).with_retryable(false)
        })
    }
}
