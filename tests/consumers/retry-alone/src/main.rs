//! The retry layer around a model of one's own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ai_provider::{
    CallContext, Capabilities, ErrorClass, Finish, FinishReason, LanguageModel, LanguageModelExt, Message,
    ModelError, ModelStream, Request, StreamPart, TargetId, UnifiedFinish, Usage,
};
use futures_util::stream;
use retry::RetryPolicy;

/// A model that is overloaded at first.
struct Busy {
    target: TargetId,
    capabilities: Capabilities,
    calls: AtomicU32,
}

impl LanguageModel for Busy {
    fn target(&self) -> &TargetId {
        &self.target
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn stream(&self, _: Request, _: CallContext) -> ModelStream {
        let start = Ok(StreamPart::StreamStart { warnings: Vec::new() });
        let items = match self.calls.fetch_add(1, Ordering::Relaxed) {
            0 | 1 => vec![start, Err(ModelError::new(ErrorClass::Overloaded, "busy"))],
            _ => vec![
                start,
                Ok(StreamPart::text_start("0")),
                Ok(StreamPart::text_delta("0", "Here I am.")),
                Ok(StreamPart::text_end("0")),
                Ok(StreamPart::Finish(Box::new(Finish {
                    reason: FinishReason::from(UnifiedFinish::Stop),
                    usage: Usage::default(),
                    metadata: None,
                }))),
            ],
        };
        Box::pin(stream::iter(items))
    }
}

async fn answer(retries: u32) -> Result<String, ModelError> {
    let busy = Busy {
        target: TargetId::new("own", "busy", "in this process"),
        capabilities: Capabilities::default(),
        calls: AtomicU32::new(0),
    };
    let policy = RetryPolicy::new().with_retries(retries).with_base_delay(Duration::from_millis(1));
    let model = policy.wrap(Arc::new(busy))?;
    let answer = model.generate(Request::new([Message::user("Hello?")]), CallContext::new()).await?;
    Ok(answer.text())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), ModelError> {
    println!("{}", answer(2).await?);
    Ok(())
}

#[tokio::test]
async fn two_retries_reach_it_and_one_does_not() {
    assert_eq!(answer(2).await.unwrap(), "Here I am.");
    assert_eq!(answer(1).await.unwrap_err().class(), ErrorClass::Overloaded);
}
