//! A request as the body of a call.
use ai_http::CallInfo;
use ai_provider::{ModelError, Request, Warning};
pub(crate) fn body(_: &Request, _: &CallInfo<'_>) -> Result<(serde_json::Value, Vec<Warning>), ModelError> {
    Ok((serde_json::Value::Null, vec![]))
}
