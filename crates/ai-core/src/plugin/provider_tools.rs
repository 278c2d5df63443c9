use std::collections::BTreeMap;

use ai_provider::{JsonObject, merge_json};
use async_trait::async_trait;
use serde_json::Value;

use super::{CallParams, Plugin, RequestContext, Stage};
use crate::error::PluginError;
use crate::registry::ToolCapability;

/// Gives the model a tool of its provider's own, whichever provider that is: what the extension
/// [says](crate::ProviderExtension::tool) of the capability is put into the request. A tool of the same name that the
/// caller had gives way; where the provider offers nothing, all stays as it is.
///
/// ```
/// use ai_core::plugin::{Plugins, ProviderTools};
/// use ai_core::ToolCapability;
/// use serde_json::json;
///
/// let search = ProviderTools::new(ToolCapability::WebSearch)
///     .with_args("openai", "web_search", json!({"search_context_size": "low"}));
/// let plugins = Plugins::new().with(search);
/// # let _ = plugins;
/// ```
#[derive(Clone, Debug)]
pub struct ProviderTools {
    capability: ToolCapability,
    name: String,
    args: BTreeMap<(String, String), JsonObject>,
}

impl ProviderTools {
    /// The tools of this capability.
    pub fn new(capability: ToolCapability) -> Self {
        Self { capability, name: format!("provider-tools:{capability}"), args: BTreeMap::new() }
    }

    /// Sets arguments of one provider's tool, merged over those of its extension. The provider is the id of a variant
    /// or of an extension; those of a variant are merged over those of its extension. What is no object is ignored.
    #[must_use]
    pub fn with_args(mut self, provider: impl Into<String>, tool: impl Into<String>, args: Value) -> Self {
        if let Value::Object(args) = args {
            self.args.insert((provider.into(), tool.into()), args);
        }
        self
    }

    fn merge(&self, provider: &str, tool: &str, args: &mut JsonObject) {
        let Some(over) = self.args.get(&(provider.to_owned(), tool.to_owned())) else { return };
        let mut merged = Value::Object(std::mem::take(args));
        merge_json(&mut merged, &Value::Object(over.clone()));
        if let Value::Object(merged) = merged {
            *args = merged;
        }
    }
}

#[async_trait]
impl Plugin for ProviderTools {
    fn name(&self) -> &str {
        &self.name
    }

    fn stage(&self) -> Stage {
        Stage::Pre
    }

    async fn transform_params(
        &self,
        mut params: CallParams,
        ctx: &RequestContext,
    ) -> Result<CallParams, PluginError> {
        let says = ctx.target().map(|target| target.provider.as_str());
        let Some(id) = ctx.requested().map(|model| model.provider()).or(says) else { return Ok(params) };
        let Some(patch) = ctx.registry().tool(id, self.capability, says) else { return Ok(params) };
        for tool in &patch.tools {
            let mut tool = tool.clone();
            if let Ok(id) = ctx.registry().id(id) {
                self.merge(id.base(), &tool.name, &mut tool.args);
                if id.is_variant() {
                    self.merge(&id.to_string(), &tool.name, &mut tool.args);
                }
            }
            params.set_provider_tool(tool)?;
        }
        // What the caller asked for wins.
        let mut options = patch.options.clone();
        options.merge(&params.options);
        params.options = options;
        Ok(params)
    }
}
