use std::fmt;

use ai_provider::{ErrorClass, ModelError};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

use crate::redact::redact_url;

#[cfg(test)]
mod tests;

/// Where an API is reached.
///
/// ```
/// use ai_http::{Endpoint, path_segment};
/// let endpoint = Endpoint::base("https://host/v1/?api-version=2")?;
/// assert_eq!(endpoint.url("chat/completions", &[]), "https://host/v1/chat/completions?api-version=2");
///
/// let path = format!("models/{}:streamGenerateContent", path_segment("a/../b?x=1")?);
/// let url = Endpoint::base("https://host/v1beta")?.url(&path, &[("alt", "sse")]);
/// assert_eq!(url, "https://host/v1beta/models/a%2F..%2Fb%3Fx%3D1:streamGenerateContent?alt=sse");
/// # Ok::<(), ai_provider::ModelError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Endpoint {
    /// The path of each call is appended.
    Base(Url),
    /// Taken as it is: nothing is appended.
    Full(Url),
}

impl Endpoint {
    /// A base URL.
    ///
    /// # Errors
    /// `InvalidRequest` if it is no `http` or `https` URL with a host.
    pub fn base(url: &str) -> Result<Self, ModelError> {
        parse(url).map(Self::Base)
    }

    /// The URL of the one call there is.
    ///
    /// # Errors
    /// As [`base`](Self::base).
    pub fn full(url: &str) -> Result<Self, ModelError> {
        parse(url).map(Self::Full)
    }

    /// The URL of a call. `path` is encoded already (see [`path_segment`]) and is not repeated if the base
    /// ends with it. The base's own query is kept, and wins over `query`.
    pub fn url(&self, path: &str, query: &[(&str, &str)]) -> String {
        let Self::Base(base) = self else { return self.as_url().as_str().to_owned() };
        let mut url = base.clone();
        let (root, path) = (base.path().trim_end_matches('/'), path.trim_start_matches('/'));
        if !format!("{root}/").ends_with(&format!("/{path}/")) {
            url.set_path(&format!("{root}/{path}"));
        }
        let missing: Vec<_> =
            query.iter().filter(|(name, _)| !base.query_pairs().any(|(known, _)| known == *name)).collect();
        if !missing.is_empty() {
            url.query_pairs_mut().extend_pairs(missing);
        }
        url.into()
    }

    /// What stands for it in a [`TargetId`](ai_provider::TargetId) and in texts: no secret, no slash at the
    /// end.
    pub fn name(&self) -> String {
        redact_url(self.as_url().as_str()).trim_end_matches('/').to_owned()
    }

    fn as_url(&self) -> &Url {
        let (Self::Base(url) | Self::Full(url)) = self;
        url
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Self::Base(_) => "Base",
            Self::Full(_) => "Full",
        };
        f.debug_tuple(kind).field(&self.name()).finish()
    }
}

fn parse(text: &str) -> Result<Url, ModelError> {
    let text = text.trim();
    let refuse = |why: String| {
        let message = format!("{:?} is not a usable endpoint: {why}", redact_url(text));
        ModelError::new(ErrorClass::InvalidRequest, message)
    };
    let mut url = Url::parse(text).map_err(|error| match error {
        url::ParseError::RelativeUrlWithoutBase => refuse("it must begin with http:// or https://".into()),
        error => refuse(error.to_string()),
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refuse("it must begin with http:// or https://".into()));
    }
    url.set_fragment(None);
    Ok(url)
}

/// All but letters, digits and `-._~`, which mean themselves everywhere in a path.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A name as one segment of a path, whatever it holds: it cannot reach another path, add a query or change
/// the method behind a colon.
///
/// # Errors
/// `InvalidRequest` for the names that no encoding makes a segment: blank, `.` and `..`.
pub fn path_segment(name: &str) -> Result<String, ModelError> {
    if matches!(name.trim(), "" | "." | "..") {
        let message = format!("{name:?} cannot be part of a URL's path");
        return Err(ModelError::new(ErrorClass::InvalidRequest, message));
    }
    Ok(utf8_percent_encode(name, SEGMENT).to_string())
}
