use ai_http::{CallInfo, IdSeed};
use ai_provider::{Origin, ProviderMetadata, ProviderOptions, Request};
use serde_json::Value;

use crate::json_tool;
use crate::server_tools::WireNames;

/// What the blocks of an answer are read by.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) origin: Origin,
    pub(super) ids: IdSeed,
    /// How this side calls the tools of the provider.
    pub(super) names: WireNames,
    /// The answer is the input of a forced tool; text around it is none.
    pub(super) json: bool,
}

impl Scope {
    pub(super) fn new(request: Option<&Request>, info: &CallInfo<'_>) -> Self {
        Self {
            origin: info.origin(),
            ids: info.ids.clone(),
            names: request.map(|request| WireNames::of(&request.tools)).unwrap_or_default(),
            json: request.is_some_and(|request| json_tool::is_used(request, &info.target.model)),
        }
    }

    /// The name under which metadata stands.
    pub(super) fn namespace(&self) -> &str {
        &self.origin.target.provider
    }

    /// Values that only who made them can read.
    pub(super) fn minted(
        &self,
        values: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> Option<Box<ProviderMetadata>> {
        let namespace = self.namespace();
        let options = values
            .into_iter()
            .fold(ProviderOptions::default(), |all, (name, value)| all.with(namespace, name, value));
        (!options.is_empty()).then(|| Box::new(ProviderMetadata::minted(self.origin.clone(), options)))
    }
}
