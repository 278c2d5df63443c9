use ai_provider::{Delivery, ModelError, Request};
use async_trait::async_trait;

use super::{Middleware, MiddlewareCall};

/// Asks for the answer in one body, whoever wants it piece by piece: for models and gateways whose streams are
/// broken. The parts are the same either way, a text then has one delta.
#[derive(Clone, Copy, Debug, Default)]
pub struct SimulateStreaming;

#[async_trait]
impl Middleware for SimulateStreaming {
    fn name(&self) -> &str {
        "simulate-streaming"
    }

    async fn transform_request(
        &self,
        mut request: Request,
        _call: &MiddlewareCall<'_>,
    ) -> Result<Request, ModelError> {
        request.delivery = Delivery::Whole;
        Ok(request)
    }
}
