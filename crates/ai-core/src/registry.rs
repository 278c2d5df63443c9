use std::collections::BTreeMap;
use std::sync::Arc;

use ai_provider::{EmbeddingModel, LanguageModel, Provider};

use crate::error::Error;
use crate::model_ref::ModelRef;

/// The providers a program knows, by name. A value: there is no global one.
///
/// ```
/// # fn f(openai: impl ai_provider::Provider) -> Result<(), ai_core::Error> {
/// use ai_core::Registry;
/// let registry = Registry::new().with(openai)?;
/// let model = registry.language_model("openai:gpt-5")?;
/// # let _ = model; Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Registry {
    providers: BTreeMap<String, Arc<dyn Provider>>,
}

impl Registry {
    /// No providers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a provider under its own name.
    ///
    /// # Errors
    /// If the name is taken, is empty, or holds a colon or white space.
    pub fn with(self, provider: impl Provider) -> Result<Self, Error> {
        self.with_shared(Arc::new(provider))
    }

    /// Adds a provider that others hold too.
    ///
    /// # Errors
    /// As [`with`](Self::with).
    pub fn with_shared(mut self, provider: Arc<dyn Provider>) -> Result<Self, Error> {
        let name = provider.name().to_owned();
        if name.is_empty() || name.contains(|c: char| c == ':' || c.is_whitespace() || c.is_control()) {
            return Err(Error::model_ref(
                name,
                "a provider's name is not empty and holds no colon or white space",
            ));
        }
        if self.providers.contains_key(&name) {
            return Err(Error::duplicate_provider(name));
        }
        self.providers.insert(name, provider);
        Ok(self)
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.providers.keys().map(String::as_str)
    }

    /// The provider of this name.
    ///
    /// # Errors
    /// If there is none; the error names the nearest one.
    pub fn provider(&self, name: &str) -> Result<&Arc<dyn Provider>, Error> {
        self.providers.get(name).ok_or_else(|| {
            let nearest = self
                .names()
                .map(|known| (strsim::damerau_levenshtein(known, name), known))
                .filter(|(distance, known)| *distance <= 1 + known.chars().count() / 4)
                .min()
                .map(|(_, known)| known.to_owned());
            Error::unknown_provider(name, nearest, self.names().map(str::to_owned).collect())
        })
    }

    /// The model `provider:model` names. No request is made.
    ///
    /// # Errors
    /// If the reference cannot be read, the provider is not known, or it has no language models.
    pub fn language_model(&self, model: &str) -> Result<Arc<dyn LanguageModel>, Error> {
        let model: ModelRef = model.parse()?;
        Ok(self.provider(model.provider())?.language_model(model.model())?)
    }

    /// The embedding model `provider:model` names.
    ///
    /// # Errors
    /// As [`language_model`](Self::language_model).
    pub fn embedding_model(&self, model: &str) -> Result<Arc<dyn EmbeddingModel>, Error> {
        let model: ModelRef = model.parse()?;
        Ok(self.provider(model.provider())?.embedding_model(model.model())?)
    }
}
