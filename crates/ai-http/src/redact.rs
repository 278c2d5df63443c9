//! Keeps secrets out of what people read.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

use ai_provider::{ApiKey, ErrorClass, ModelError};
use http::HeaderMap;
use url::Url;

use crate::mask::{MASK, Masker};

#[cfg(test)]
mod tests;

/// What stands in a header or query under a secret's name, and is shorter than this, is none: `x-bypass: 1`.
const SHORTEST: usize = 4;

/// Whether a header or query parameter of this name holds a secret, by the way such names end.
pub(crate) fn is_secret_name(name: &str) -> bool {
    const ENDS: [&str; 17] = [
        "key",
        "keys",
        "token",
        "secret",
        "password",
        "passwd",
        "pwd",
        "pass",
        "signature",
        "sig",
        "credential",
        "credentials",
        "auth",
        "authorization",
        "cookie",
        "code",
        "jwt",
    ];
    let name: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect();
    // These name a request, and are no secret.
    let harmless = matches!(name.as_str(), "idempotencykey" | "promptcachekey" | "cachekey");
    !harmless && ENDS.iter().any(|end| name.ends_with(end))
}

/// A URL without user info, fragment, and the values of query parameters that look like a secret by their
/// name (`key`, `api-key`, `token`, `sig`, …). What is no URL is cut before anything that may hold a secret.
///
/// ```
/// use ai_http::redact_url;
/// assert_eq!(redact_url("https://me:pw@host/v1?key=AIza&alt=sse"), "https://host/v1?key=***&alt=sse");
/// ```
pub fn redact_url(text: &str) -> String {
    // `user:password@host` parses too: as a URL of the scheme `user`.
    let Some(mut url) = Url::parse(text.trim()).ok().filter(|url| !url.cannot_be_a_base()) else {
        let plain = text.split(['?', '#']).next().unwrap_or_default();
        return plain.rsplit('@').next().unwrap_or_default().to_owned();
    };
    // Both fail for URLs that can have no user info.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    let query = url.query().map(|query| query.split('&').map(redact_pair).collect::<Vec<_>>().join("&"));
    url.set_query(query.as_deref());
    url.into()
}

fn redact_pair(pair: &str) -> Cow<'_, str> {
    match pair.split_once('=') {
        Some((name, value)) if !value.is_empty() && is_secret_name(&decode(name)) => {
            Cow::Owned(format!("{name}={MASK}"))
        }
        _ => Cow::Borrowed(pair),
    }
}

fn decode(text: &str) -> Cow<'_, str> {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy()
}

/// The secrets of one call, to mask where a server or a library echoes them.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    pub(crate) fn add_key(&mut self, key: &ApiKey) {
        self.add(key.expose());
    }

    /// The values of headers that are marked sensitive, whole and without their scheme.
    pub(crate) fn add_headers(&mut self, headers: &HeaderMap) {
        let sensitive = headers.values().filter(|value| value.is_sensitive());
        for value in sensitive.filter_map(|value| value.to_str().ok()) {
            self.add_value(value.rsplit(' ').next().unwrap_or_default());
        }
    }

    /// User info and secret query values of a URL, as written and as meant.
    pub(crate) fn add_url(&mut self, url: &str) {
        let Ok(url) = Url::parse(url) else { return };
        let query = url.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
        let values = query.filter(|(name, _)| is_secret_name(&decode(name))).map(|(_, value)| value);
        if let Some(password) = url.password() {
            // In the header that carries both, no letter is of one alone.
            self.add_value(&format!("{}:{}", decode(url.username()), decode(password)));
        }
        for secret in values.chain([url.password().unwrap_or(url.username())]) {
            self.add_value(secret);
            self.add_value(&decode(secret));
        }
    }

    fn add_value(&mut self, value: &str) {
        if value.len() >= SHORTEST {
            self.add(value);
        }
    }

    fn add(&mut self, secret: &str) {
        if !secret.is_empty() && !self.0.iter().any(|known| known == secret) {
            self.0.push(secret.to_owned());
        }
    }

    pub(crate) fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        Masker::new(&self.0).mask(text)
    }

    /// The error without any of the secrets, in whatever part of it they stood.
    pub(crate) fn mask_error(&self, error: ModelError) -> ModelError {
        let everything = format!("{error:?} {error} {}", causes(&error));
        let masker = Masker::new(&self.0);
        match masker.mask(&everything) {
            Cow::Borrowed(_) => error,
            Cow::Owned(_) => {
                let edit = |text: &str| masker.mask(text).into_owned();
                rebuild(&error, error.class(), edit(error.message()), edit)
            }
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

/// The same error with another class and message, and every other text edited. Its source becomes plain
/// text, edited too.
pub(crate) fn rebuild(
    error: &ModelError,
    class: ErrorClass,
    message: String,
    edit: impl Fn(&str) -> String,
) -> ModelError {
    let mut new = ModelError::new(class, message);
    if class == error.class() {
        new = new.with_retryable(error.retryable());
    }
    if let Some(status) = error.status() {
        new = new.with_status(status);
    }
    if let Some(code) = error.code() {
        new = new.with_code(edit(code));
    }
    if let Some(id) = error.request_id() {
        new = new.with_request_id(edit(id));
    }
    if let Some(hint) = error.hint() {
        new = new.with_hint(hint);
    }
    if let Some(url) = error.url() {
        new = new.with_url(edit(url));
    }
    if let Some(excerpt) = error.excerpt() {
        new = new.with_excerpt(edit(excerpt));
    }
    match causes(error) {
        causes if causes.is_empty() => new,
        causes => new.with_source(edit(&causes)),
    }
}

/// What stands beneath an error, outermost first.
pub(crate) fn causes(error: &dyn StdError) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !texts.last().is_some_and(|last| last.contains(&text)) {
            texts.push(text);
        }
        next = cause.source();
    }
    texts.join(": ")
}
