use ai_core::{Error, Registry};

/// A registry of the built-in providers of the features that are on, with keys from the environment.
///
/// | provider | key |
/// |---|---|
/// | `openai` | `OPENAI_API_KEY`, one key or several separated by commas |
///
/// A provider whose variable is not set is registered all the same: calling it says which one to set.
///
/// # Errors
/// If a provider cannot be built, for example because no HTTP client can be.
pub fn builtin() -> Result<Registry, Error> {
    let registry = Registry::new();
    #[cfg(feature = "openai")]
    let registry = {
        let keys = std::sync::Arc::new(crate::EnvKeys::new("OPENAI_API_KEY"));
        registry.with(ai_openai::OpenAi::builder().keys(keys).build()?)?
    };
    Ok(registry)
}
