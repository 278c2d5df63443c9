//! An answer bound to a schema, for models without such a setting: a tool is forced, and its input is the answer.

use ai_provider::{Request, ResponseFormat};

use crate::encode::is_native;
use crate::models::Model;

/// The name of the tool.
pub(crate) const NAME: &str = "json";

/// Whether the answer to this request comes as the input of the tool.
pub(crate) fn is_used(request: &Request, model: &str) -> bool {
    let ResponseFormat::Json { schema: Some(schema), .. } = &request.response_format else { return false };
    !is_native(schema, Model::of(model))
}
