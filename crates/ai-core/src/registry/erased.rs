use std::any::Any;
use std::fmt;
use std::sync::Arc;

use ai_provider::{LanguageModel, Provider};
use async_trait::async_trait;

use super::declaration::Declaration;
use super::extension::ProviderExtension;
use super::settings::{GivenSettings, ProviderSettings};
use crate::error::Error;

/// A [`ProviderExtension`] whatever its settings are: what a [`Registry`](super::Registry) holds.
#[derive(Clone)]
pub struct AnyExtension(Arc<dyn Erased>);

impl AnyExtension {
    /// What it declares.
    pub fn declaration(&self) -> &Declaration {
        self.0.declaration()
    }

    /// The extension with the type of its settings; absent if they have another one.
    pub fn typed<S: ProviderSettings>(&self) -> Option<&ProviderExtension<S>> {
        self.0.as_any().downcast_ref()
    }

    /// See [`ProviderExtension::create`].
    ///
    /// # Errors
    /// As there; settings of another type cannot be read.
    pub async fn create(
        &self,
        settings: impl Into<GivenSettings>,
        variant: Option<&str>,
    ) -> Result<Arc<dyn Provider>, Error> {
        self.0.create_erased(settings.into(), variant).await
    }

    /// See [`ProviderExtension::clear_cache`].
    pub fn clear_cache(&self) {
        self.0.forget();
    }

    pub(super) fn language_model(
        &self,
        provider: &dyn Provider,
        variant: Option<&str>,
        model: &str,
    ) -> Result<Arc<dyn LanguageModel>, Error> {
        self.0.resolve(provider, variant, model)
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.0.is_same_as(other.0.as_any())
    }
}

impl<S: ProviderSettings> From<ProviderExtension<S>> for AnyExtension {
    fn from(extension: ProviderExtension<S>) -> Self {
        Self(Arc::new(extension))
    }
}

impl fmt::Debug for AnyExtension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnyExtension").field(self.declaration()).finish()
    }
}

#[async_trait]
trait Erased: Send + Sync {
    fn declaration(&self) -> &Declaration;
    fn as_any(&self) -> &dyn Any;
    fn is_same_as(&self, other: &dyn Any) -> bool;
    fn forget(&self);
    fn resolve(
        &self,
        provider: &dyn Provider,
        variant: Option<&str>,
        model: &str,
    ) -> Result<Arc<dyn LanguageModel>, Error>;
    async fn create_erased(
        &self,
        settings: GivenSettings,
        variant: Option<&str>,
    ) -> Result<Arc<dyn Provider>, Error>;
}

#[async_trait]
impl<S: ProviderSettings> Erased for ProviderExtension<S> {
    fn declaration(&self) -> &Declaration {
        self.declaration()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is_same_as(&self, other: &dyn Any) -> bool {
        other.downcast_ref().is_some_and(|other| self.is_same(other))
    }

    fn forget(&self) {
        self.clear_cache();
    }

    fn resolve(
        &self,
        provider: &dyn Provider,
        variant: Option<&str>,
        model: &str,
    ) -> Result<Arc<dyn LanguageModel>, Error> {
        self.language_model(provider, variant, model)
    }

    async fn create_erased(
        &self,
        settings: GivenSettings,
        variant: Option<&str>,
    ) -> Result<Arc<dyn Provider>, Error> {
        self.create(settings, variant).await
    }
}
