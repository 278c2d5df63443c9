use ai_provider::{JsonObject, ProviderMetadata, ProviderOptions};
use serde_json::Value;
use serde_json::value::RawValue;

/// What an answer says about itself beyond the contract: the last value of each kind, for the metadata of its
/// finish.
#[derive(Debug, Default)]
pub(super) struct Extras(Vec<(&'static str, String)>);

impl Extras {
    pub(super) fn note(&mut self, name: &'static str, value: Option<&RawValue>) {
        let Some(value) = value else { return };
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, last)) => value.get().clone_into(last),
            None => self.0.push((name, value.get().to_owned())),
        }
    }

    pub(super) fn into_metadata(self, namespace: &str) -> Option<Box<ProviderMetadata>> {
        let known = self
            .0
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), serde_json::from_str::<Value>(&value).ok()?)));
        let values: JsonObject = known.collect();
        let mut options = ProviderOptions::default();
        for (name, value) in values {
            options = options.with(namespace, name, value);
        }
        (!options.is_empty()).then(|| Box::new(ProviderMetadata { origin: None, values: options }))
    }
}
