//! The providers a program knows.

mod cache;
mod capability;
mod declaration;
mod erased;
mod extension;
mod id;
mod settings;

use std::collections::BTreeMap;
use std::sync::Arc;

use ai_provider::{EmbeddingModel, LanguageModel, Provider};

pub use capability::{ToolCapability, ToolPatch};
pub use declaration::{Declaration, VariantDeclaration};
pub use erased::AnyExtension;
pub use extension::{ProviderExtension, Variant};
pub use id::ProviderId;
pub(crate) use settings::SettingsProblem;
pub use settings::{GivenSettings, NoSettings, ProviderFamily, ProviderSettings};

use crate::error::Error;
use crate::model_ref::ModelRef;

/// The providers a program knows, by name. A value: there is no global one.
///
/// Cloning it is cheap, and a clone changes by itself: what is registered in one is not known to the other.
/// Both share the providers that the extensions they have in common made. A program that registers at run time
/// keeps one in a lock and takes a clone for each request.
///
/// ```
/// # async fn f(openai: impl ai_provider::Provider) -> Result<(), ai_core::Error> {
/// use ai_core::Registry;
/// let registry = Registry::new().with(openai)?;
/// let model = registry.language_model("openai:gpt-5").await?;
/// # let _ = model; Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Registry(Arc<State>);

#[derive(Clone, Debug, Default)]
struct State {
    extensions: BTreeMap<String, AnyExtension>,
    /// Names, aliases and variants: one namespace.
    ids: BTreeMap<String, ProviderId>,
}

impl Registry {
    /// No providers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a provider that exists, under its own name.
    ///
    /// # Errors
    /// As [`register`](Self::register).
    pub fn with(self, provider: impl Provider) -> Result<Self, Error> {
        self.with_extension(ProviderExtension::of(Arc::new(provider)))
    }

    /// Adds an extension.
    ///
    /// # Errors
    /// As [`register`](Self::register).
    pub fn with_extension(mut self, extension: impl Into<AnyExtension>) -> Result<Self, Error> {
        self.register(extension)?;
        Ok(self)
    }

    /// Adds an extension. Adding the same value again (a clone of it) changes nothing.
    ///
    /// # Errors
    /// If a name, an alias or the id of a variant is taken, by the extension itself too, or does not fit the
    /// grammar of [`ModelRef`]; the registry is then unchanged.
    pub fn register(&mut self, extension: impl Into<AnyExtension>) -> Result<(), Error> {
        self.register_all([extension.into()])
    }

    /// Adds extensions: all of them, or none.
    ///
    /// # Errors
    /// As [`register`](Self::register).
    pub fn register_all(&mut self, extensions: impl IntoIterator<Item = AnyExtension>) -> Result<(), Error> {
        let mut next = State::clone(&self.0);
        for extension in extensions {
            next.register(extension)?;
        }
        self.0 = Arc::new(next);
        Ok(())
    }

    /// Removes the extension of this name, with its aliases and variants. `false` if no extension has this name;
    /// an alias is none.
    pub fn unregister(&mut self, name: &str) -> bool {
        if !self.0.extensions.contains_key(name) {
            return false;
        }
        let state = Arc::make_mut(&mut self.0);
        state.extensions.remove(name);
        state.ids.retain(|_, id| id.base() != name);
        true
    }

    /// Removes all extensions.
    pub fn clear(&mut self) {
        *self = Self::new();
    }

    /// The extension that has this name, alias or variant.
    pub fn get(&self, id: &str) -> Option<&AnyExtension> {
        self.0.extensions.get(self.0.ids.get(id)?.base())
    }

    /// Whether [`get`](Self::get) finds one.
    pub fn has(&self, id: &str) -> bool {
        self.0.ids.contains_key(id)
    }

    /// The extensions, by name.
    pub fn extensions(&self) -> impl Iterator<Item = &AnyExtension> {
        self.0.extensions.values()
    }

    /// The names of the extensions, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.extensions.keys().map(String::as_str)
    }

    /// All ids, sorted: names, aliases and variants.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.ids.keys().map(String::as_str)
    }

    /// What an id means.
    ///
    /// # Errors
    /// If it is not known; the error names the nearest one.
    pub fn id(&self, id: &str) -> Result<&ProviderId, Error> {
        self.0.ids.get(id).ok_or_else(|| Error::unknown_provider(id, self.ids()))
    }

    /// The variant with this suffix, of the extension an id belongs to.
    pub fn variant(&self, id: &str, suffix: &str) -> Option<&ProviderId> {
        let base = self.0.ids.get(id)?.base();
        self.0.ids.get(&ProviderId::new(base, Some(suffix)).to_string()).filter(|id| id.is_variant())
    }

    /// The variants of the extension an id belongs to, in the order in which it declares them.
    pub fn variants(&self, id: &str) -> impl Iterator<Item = ProviderId> {
        let declaration = self.get(id).map(AnyExtension::declaration);
        declaration.into_iter().flat_map(|declaration| {
            let name = declaration.name();
            declaration.variants().map(move |variant| ProviderId::new(name, Some(variant.suffix())))
        })
    }

    /// How a provider offers a capability.
    ///
    /// For an id that offers none, `model_provider` is asked: what the resolved model says its provider is. Its
    /// segments, cut at dots, are tried as ids from the last to the first, so that an aggregator's
    /// `aggregator.google` finds the tools of `google`.
    pub fn tool(
        &self,
        id: &str,
        capability: ToolCapability,
        model_provider: Option<&str>,
    ) -> Option<&ToolPatch> {
        let direct = |id: &str| {
            let id = self.0.ids.get(id)?;
            self.0.extensions.get(id.base())?.declaration().tool(capability, id.variant())
        };
        direct(id).or_else(|| model_provider?.rsplit('.').find_map(direct))
    }

    /// The provider of this id, with the settings its extension has by default.
    ///
    /// # Errors
    /// As [`provider_with`](Self::provider_with).
    pub async fn provider(&self, id: &str) -> Result<Arc<dyn Provider>, Error> {
        self.provider_with(id, GivenSettings::default()).await
    }

    /// The provider of this id with these settings: JSON, which is merged over the extension's defaults, or
    /// [typed](GivenSettings::typed).
    ///
    /// # Errors
    /// If the id is not known, the settings cannot be read, or the provider cannot be made.
    pub async fn provider_with(
        &self,
        id: &str,
        settings: impl Into<GivenSettings>,
    ) -> Result<Arc<dyn Provider>, Error> {
        self.find(id)?.create(id, settings.into()).await
    }

    /// The language model `provider:model` names. No request is made.
    ///
    /// # Errors
    /// If the reference cannot be read, the provider is not known or cannot be made, or it has no language
    /// models.
    pub async fn language_model(&self, model: &str) -> Result<Arc<dyn LanguageModel>, Error> {
        self.language_model_with(&model.parse()?, GivenSettings::default()).await
    }

    /// The language model a reference names, of a provider with these settings.
    ///
    /// # Errors
    /// As [`language_model`](Self::language_model), and if the settings cannot be read.
    pub async fn language_model_with(
        &self,
        model: &ModelRef,
        settings: impl Into<GivenSettings>,
    ) -> Result<Arc<dyn LanguageModel>, Error> {
        self.find(model.provider())?.language_model(model.provider(), settings.into(), model.model()).await
    }

    /// The embedding model `provider:model` names. No request is made.
    ///
    /// # Errors
    /// As [`language_model`](Self::language_model).
    pub async fn embedding_model(&self, model: &str) -> Result<Arc<dyn EmbeddingModel>, Error> {
        self.embedding_model_with(&model.parse()?, GivenSettings::default()).await
    }

    /// The embedding model a reference names, of a provider with these settings.
    ///
    /// # Errors
    /// As [`language_model_with`](Self::language_model_with).
    pub async fn embedding_model_with(
        &self,
        model: &ModelRef,
        settings: impl Into<GivenSettings>,
    ) -> Result<Arc<dyn EmbeddingModel>, Error> {
        let provider = self.provider_with(model.provider(), settings).await?;
        Ok(provider.embedding_model(model.model())?)
    }

    /// A language model of a family that is known at compile time: the compiler checks the settings.
    ///
    /// ```
    /// # use ai_core::{Error, NoSettings, ProviderFamily, Registry};
    /// # struct Birds;
    /// # impl ProviderFamily for Birds { type Settings = NoSettings; const ID: &'static str = "birds"; }
    /// # async fn f(registry: &Registry) -> Result<(), Error> {
    /// let model = registry.resolve::<Birds>(NoSettings {}, "parrot").await?;
    /// # let _ = model; Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If no extension is registered under the family's id, it takes other settings, or the model cannot be
    /// made.
    pub async fn resolve<F: ProviderFamily>(
        &self,
        settings: F::Settings,
        model: &str,
    ) -> Result<Arc<dyn LanguageModel>, Error> {
        self.find(F::ID)?.language_model(F::ID, GivenSettings::typed(settings), model).await
    }

    fn find(&self, id: &str) -> Result<Found<'_>, Error> {
        let id = self.id(id)?;
        let extension = self.0.extensions.get(id.base());
        let extension = extension.ok_or_else(|| Error::unknown_provider(id.base(), self.ids()))?;
        Ok(Found { extension, variant: id.variant() })
    }
}

impl State {
    fn register(&mut self, extension: AnyExtension) -> Result<(), Error> {
        let declaration = extension.declaration();
        if self.extensions.get(declaration.name()).is_some_and(|known| known.is_same(&extension)) {
            return Ok(());
        }
        declaration.check()?;
        for (id, means) in declaration.named() {
            if let Some(owner) = self.ids.get(&id) {
                return Err(Error::collision(id, owner.base(), declaration.name()));
            }
            self.ids.insert(id, means);
        }
        self.extensions.insert(declaration.name().to_owned(), extension);
        Ok(())
    }
}

struct Found<'a> {
    extension: &'a AnyExtension,
    variant: Option<&'a str>,
}

impl Found<'_> {
    async fn create(&self, asked: &str, settings: GivenSettings) -> Result<Arc<dyn Provider>, Error> {
        self.extension.create(settings, self.variant).await.map_err(|error| error.asked_as(asked))
    }

    async fn language_model(
        &self,
        asked: &str,
        settings: GivenSettings,
        model: &str,
    ) -> Result<Arc<dyn LanguageModel>, Error> {
        let provider = self.create(asked, settings).await?;
        self.extension.language_model(&*provider, self.variant, model)
    }
}
