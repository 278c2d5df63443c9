//! A request as the body of a call.

use ai_http::CallInfo;
use ai_provider::{ModelError, Request, Warning};

use super::dialect::ResponsesDialect;

pub(super) fn body(
    _: &ResponsesDialect,
    request: &Request,
    _: &CallInfo<'_>,
) -> Result<(serde_json::Value, Vec<Warning>), ModelError> {
    Ok((serde_json::json!({ "input": request.messages.len() }), Vec::new()))
}
