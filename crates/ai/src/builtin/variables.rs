/// The environment variables in which a provider of [`builtin`](fn@crate::builtin) looks for its key, the first one
/// that is set; by the name of its extension. None if it takes no key by default, or is not known.
///
/// A program that says which variable is missing, or reads keys itself, finds the usual places here. The second one of
/// `anthropic` holds a bearer token.
///
/// ```
/// assert_eq!(ai::builtin::key_variables("groq"), ["GROQ_API_KEY"]);
/// assert!(ai::builtin::key_variables("ollama").is_empty());
/// ```
pub fn key_variables(extension: &str) -> &'static [&'static str] {
    match extension {
        "openai" => &["OPENAI_API_KEY"],
        "anthropic" => &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
        "google" => &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"],
        "azure" => &["AZURE_API_KEY", "AZURE_OPENAI_API_KEY"],
        "xai" => &["XAI_API_KEY"],
        "deepseek" => &["DEEPSEEK_API_KEY"],
        "openrouter" => &["OPENROUTER_API_KEY"],
        "groq" => &["GROQ_API_KEY"],
        "mistral" => &["MISTRAL_API_KEY"],
        "moonshot" => &["MOONSHOT_API_KEY"],
        "alibaba" => &["DASHSCOPE_API_KEY"],
        "perplexity" => &["PERPLEXITY_API_KEY"],
        _ => &[],
    }
}
