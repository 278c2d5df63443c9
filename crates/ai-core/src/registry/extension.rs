use std::fmt;
use std::future::Future;
use std::sync::Arc;

use ai_provider::{LanguageModel, ModelError, Provider, merge_json};
use serde_json::Value;

use super::cache::{Cache, Created, Creating};
use super::capability::{ToolCapability, ToolPatch};
use super::declaration::{Declaration, VariantDeclaration};
use super::settings::{GivenSettings, NoSettings, ProviderSettings};
use crate::error::Error;

type Create<S> = Arc<dyn Fn(S) -> Creating + Send + Sync>;
type Transform<S> = Arc<dyn Fn(Arc<dyn Provider>, S) -> Creating + Send + Sync>;
type ResolveModel =
    Arc<dyn Fn(&dyn Provider, &str) -> Result<Arc<dyn LanguageModel>, ModelError> + Send + Sync>;

/// Declares one family of providers: its names, how one is made of settings, its variants, and what tools it
/// offers. A value: register it, and every model of the family can be asked for by name.
///
/// What it made is kept, at most ten providers per extension, the least recently used going first: equal
/// settings give the same provider, and callers who ask at the same time wait for one creation. A failure goes
/// to all who waited for it and is not kept.
///
/// ```
/// use ai_core::{ProviderExtension, Registry};
/// # use ai_provider::{ModelError, Provider};
/// # struct Acme; impl Acme { fn new(_: AcmeSettings) -> Result<Self, ModelError> { Ok(Self) } }
/// # impl Provider for Acme { fn name(&self) -> &str { "acme" } }
/// use serde_json::json;
///
/// #[derive(Clone, PartialEq, Eq, serde::Deserialize)]
/// #[serde(rename_all = "camelCase", deny_unknown_fields)]
/// struct AcmeSettings {
///     base_url: String,
///     #[serde(default)]
///     team: Option<String>,
/// }
///
/// # async fn f() -> Result<(), ai_core::Error> {
/// let acme = ProviderExtension::new("acme", |settings: AcmeSettings| async move { Acme::new(settings) })
///     .alias("acme-ai")
///     .defaults(json!({"baseUrl": "https://api.acme.example/v1"}))?;
/// let mut registry = Registry::new();
/// registry.register(acme)?;
/// let provider = registry.provider_with("acme-ai", json!({"team": "blue"})).await?;
/// # let _ = provider; Ok(()) }
/// ```
pub struct ProviderExtension<S>(Arc<Inner<S>>);

struct Inner<S> {
    declaration: Declaration,
    create: Create<S>,
    variants: Vec<Behaviour<S>>,
    cache: Arc<Cache<Key<S>>>,
}

/// What a cached provider was made of.
#[derive(Clone, PartialEq, Eq)]
struct Key<S> {
    settings: S,
    variant: Option<String>,
}

struct Behaviour<S> {
    transform: Option<Transform<S>>,
    resolve: Option<ResolveModel>,
}

impl<S> Clone for Behaviour<S> {
    fn clone(&self) -> Self {
        Self { transform: self.transform.clone(), resolve: self.resolve.clone() }
    }
}

impl<S: ProviderSettings> ProviderExtension<S> {
    /// An extension with a name and a factory. Names are checked when it is registered.
    pub fn new<P, F, Fut>(name: impl Into<String>, create: F) -> Self
    where
        P: Provider,
        F: Fn(S) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<P, ModelError>> + Send + 'static,
    {
        Self::shared(name, Arc::new(move |settings| creating(create(settings))))
    }

    fn shared(name: impl Into<String>, create: Create<S>) -> Self {
        Self(Arc::new(Inner {
            declaration: Declaration::new(name.into()),
            create,
            variants: Vec::new(),
            cache: Arc::new(Cache::new()),
        }))
    }

    /// A changed extension keeps nothing of what the old one made.
    fn change(self, change: impl FnOnce(&mut Inner<S>)) -> Self {
        let mut inner = Inner {
            declaration: self.0.declaration.clone(),
            create: Arc::clone(&self.0.create),
            variants: self.0.variants.clone(),
            cache: Arc::new(Cache::new()),
        };
        change(&mut inner);
        Self(Arc::new(inner))
    }

    /// Adds another name. Aliases have no variants: `alias-suffix` is not known.
    #[must_use]
    pub fn alias(self, alias: impl Into<String>) -> Self {
        self.change(|inner| inner.declaration.aliases.push(alias.into()))
    }

    /// Merges settings over the defaults there are, deep for objects. Settings given as JSON are merged over
    /// them in turn; typed settings are not.
    ///
    /// # Errors
    /// If they are no JSON object. Whether they can be read shows when a provider is made: they may be a part.
    pub fn defaults(self, settings: Value) -> Result<Self, Error> {
        let Value::Object(settings) = settings else {
            return Err(Error::extension(self.0.declaration.name(), "its defaults are no JSON object"));
        };
        Ok(self.change(|inner| {
            let mut merged = Value::Object(std::mem::take(&mut inner.declaration.defaults));
            merge_json(&mut merged, &Value::Object(settings));
            if let Value::Object(merged) = merged {
                inner.declaration.defaults = merged;
            }
        }))
    }

    /// Adds a variant, which has the id `NAME-SUFFIX`.
    #[must_use]
    pub fn variant(self, variant: Variant<S>) -> Self {
        self.change(|inner| {
            inner.declaration.variants.push(variant.declaration);
            inner.variants.push(variant.behaviour);
        })
    }

    /// Says how the family offers a capability.
    #[must_use]
    pub fn tool(self, capability: ToolCapability, patch: ToolPatch) -> Self {
        self.change(|inner| {
            inner.declaration.tools.insert(capability, patch);
        })
    }

    /// What it declares.
    pub fn declaration(&self) -> &Declaration {
        &self.0.declaration
    }

    /// The provider of these settings, or of a variant of it: made, or kept from before.
    ///
    /// # Errors
    /// If the settings cannot be read, there is no such variant, or the factory fails.
    pub async fn create(
        &self,
        settings: impl Into<GivenSettings>,
        variant: Option<&str>,
    ) -> Result<Arc<dyn Provider>, Error> {
        let declaration = &self.0.declaration;
        let id = declaration.id_of(variant);
        let settings = settings.into().read::<S>(&declaration.defaults);
        let settings = settings.map_err(|problem| Error::settings(&id, problem))?;
        let transform = match variant {
            None => None,
            Some(suffix) => self.behaviour(suffix)?.transform.as_ref(),
        };
        let created = match (transform, variant) {
            (Some(transform), Some(suffix)) => self.transformed(settings, suffix, transform).await,
            _ => self.base(settings).await,
        };
        created.map_err(|cause| Error::creation(id, cause))
    }

    fn base(&self, settings: S) -> impl Future<Output = Created> + Send + use<S> {
        let creating = lazily(Arc::clone(&self.0.create), settings.clone());
        Arc::clone(&self.0.cache).get_or_create(Key { settings, variant: None }, creating)
    }

    /// The base it is made of is kept too, so that all variants of the same settings share it.
    async fn transformed(&self, settings: S, suffix: &str, transform: &Transform<S>) -> Created {
        let (base, transform) = (self.base(settings.clone()), Arc::clone(transform));
        let for_transform = settings.clone();
        let creating: Creating = Box::pin(async move { transform(base.await?, for_transform).await });
        let key = Key { settings, variant: Some(suffix.to_owned()) };
        Arc::clone(&self.0.cache).get_or_create(key, creating).await
    }

    fn behaviour(&self, suffix: &str) -> Result<&Behaviour<S>, Error> {
        let declared = &self.0.declaration;
        let at = declared.variants.iter().position(|variant| variant.suffix == suffix);
        at.and_then(|at| self.0.variants.get(at)).ok_or_else(|| {
            Error::unknown_variant(
                declared.name(),
                suffix,
                declared.variants().map(VariantDeclaration::suffix),
            )
        })
    }

    /// The language model of a provider this extension made, by the variant's own resolver if it has one.
    pub(super) fn language_model(
        &self,
        provider: &dyn Provider,
        variant: Option<&str>,
        model: &str,
    ) -> Result<Arc<dyn LanguageModel>, Error> {
        let resolve = variant.map(|suffix| self.behaviour(suffix)).transpose()?;
        let model = match resolve.and_then(|behaviour| behaviour.resolve.as_ref()) {
            Some(resolve) => resolve(provider, model)?,
            None => provider.language_model(model)?,
        };
        Ok(model)
    }

    /// Forgets all providers it made; one that is being made is given to those who wait and not kept.
    pub fn clear_cache(&self) {
        self.0.cache.clear();
    }

    /// How many providers it keeps.
    pub fn cached(&self) -> usize {
        self.0.cache.len()
    }

    /// Whether both are the same value, as clones are.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl ProviderExtension<NoSettings> {
    /// An extension of one provider that exists already, under the provider's own name.
    pub fn of(provider: Arc<dyn Provider>) -> Self {
        let name = provider.name().to_owned();
        Self::shared(
            name,
            Arc::new(move |NoSettings {}| {
                let provider = Arc::clone(&provider);
                Box::pin(async move { Ok(provider) })
            }),
        )
    }
}

/// The factory is called when the future is polled, so that one that panics fails its creation alone.
fn lazily<S: Send + 'static>(create: Create<S>, settings: S) -> Creating {
    Box::pin(async move { create(settings).await })
}

fn creating<P: Provider>(create: impl Future<Output = Result<P, ModelError>> + Send + 'static) -> Creating {
    Box::pin(async move { create.await.map(|provider| Arc::new(provider) as Arc<dyn Provider>) })
}

impl<S> Clone for ProviderExtension<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S> fmt::Debug for ProviderExtension<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderExtension")
            .field("name", &self.0.declaration.name())
            .field("aliases", &self.0.declaration.aliases)
            .finish_non_exhaustive()
    }
}

/// Another way to reach the models of a family: over another API of the same provider, for example.
///
/// Without a transform it is the base provider itself.
pub struct Variant<S> {
    declaration: VariantDeclaration,
    behaviour: Behaviour<S>,
}

impl<S: ProviderSettings> Variant<S> {
    /// A variant with the suffix of its id.
    pub fn new(suffix: impl Into<String>) -> Self {
        Self {
            declaration: VariantDeclaration::new(suffix.into()),
            behaviour: Behaviour { transform: None, resolve: None },
        }
    }

    /// Sets a name for people.
    #[must_use]
    pub fn display_name(mut self, name: impl Into<String>) -> Self {
        self.declaration.display_name = Some(name.into());
        self
    }

    /// Sets how its provider is made, of the base provider and the settings.
    #[must_use]
    pub fn transform<P, F, Fut>(mut self, transform: F) -> Self
    where
        P: Provider,
        F: Fn(Arc<dyn Provider>, S) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<P, ModelError>> + Send + 'static,
    {
        self.behaviour.transform = Some(Arc::new(move |base, settings| creating(transform(base, settings))));
        self
    }

    /// Sets how its language models are found. Default: as the provider does.
    #[must_use]
    pub fn resolve_model<F>(mut self, resolve: F) -> Self
    where
        F: Fn(&dyn Provider, &str) -> Result<Arc<dyn LanguageModel>, ModelError> + Send + Sync + 'static,
    {
        self.behaviour.resolve = Some(Arc::new(resolve));
        self
    }

    /// Says how this variant offers a capability, instead of how the base does.
    #[must_use]
    pub fn tool(mut self, capability: ToolCapability, patch: ToolPatch) -> Self {
        self.declaration.tools.insert(capability, patch);
        self
    }
}

impl<S> fmt::Debug for Variant<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Variant").field("suffix", &self.declaration.suffix()).finish_non_exhaustive()
    }
}
