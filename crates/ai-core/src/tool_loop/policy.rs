use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use ai_provider::ToolCall;

use crate::run::ApprovalVerdict;
use crate::tool::ToolContext;

type Asking = Pin<Box<dyn Future<Output = Option<ApprovalVerdict>> + Send>>;

/// The application's word on calls, before that of their tools.
#[derive(Clone)]
pub(super) struct ApprovalPolicy(Arc<dyn Fn(ToolCall, ToolContext) -> Asking + Send + Sync>);

impl ApprovalPolicy {
    pub(super) fn new<F, Fut>(decide: F) -> Self
    where
        F: Fn(ToolCall, ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Option<ApprovalVerdict>> + Send + 'static,
    {
        Self(Arc::new(move |call, ctx| Box::pin(decide(call, ctx))))
    }

    pub(super) async fn ask(&self, call: ToolCall, ctx: ToolContext) -> Option<ApprovalVerdict> {
        (self.0)(call, ctx).await
    }
}

impl fmt::Debug for ApprovalPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApprovalPolicy")
    }
}
