use std::fmt;

use ai_provider::{ErrorClass, ModelError, Warning};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde::Serialize;

use crate::redact::{is_secret_name, redact_url};

#[cfg(test)]
mod tests;

/// A request as it goes out, whole: what [`Codec::encode`](crate::Codec::encode) makes and a
/// [`Transport`](crate::Transport) sends.
///
/// `Debug` shows neither secrets nor the body.
#[derive(Clone)]
pub struct HttpCall {
    /// The method.
    pub method: Method,
    /// The absolute URL.
    pub url: String,
    /// The headers. Values that hold a secret are marked sensitive, so `Debug` hides them.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl HttpCall {
    /// A POST of a JSON body, written in the order of the type's fields.
    ///
    /// # Errors
    /// `InvalidRequest` if the value cannot be written as JSON.
    pub fn post_json(url: impl Into<String>, body: &impl Serialize) -> Result<Self, ModelError> {
        let body = serde_json::to_vec(body).map_err(|error| {
            ModelError::new(ErrorClass::InvalidRequest, format!("the request is not JSON: {error}"))
                .with_source(error)
        })?;
        let mut headers = HeaderMap::new();
        headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(Self { method: Method::POST, url: url.into(), headers, body: body.into() })
    }

    /// A GET.
    pub fn get(url: impl Into<String>) -> Self {
        Self { method: Method::GET, url: url.into(), headers: HeaderMap::new(), body: Bytes::new() }
    }

    /// Sets a header from text that came from outside.
    ///
    /// # Errors
    /// `InvalidRequest` if name or value is not legal in a header: line breaks above all. The value is not
    /// part of the error.
    pub fn set_header(&mut self, name: &str, value: &str) -> Result<(), ModelError> {
        let name = header_name(name)?;
        self.headers.insert(name.clone(), header_value(&name, value)?);
        Ok(())
    }

    /// Sets a header that holds a secret: it is marked sensitive.
    ///
    /// # Errors
    /// As [`set_header`](Self::set_header).
    pub fn set_secret_header(&mut self, name: &str, value: &str) -> Result<(), ModelError> {
        let name = header_name(name)?;
        let mut value = header_value(&name, value)?;
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(())
    }

    /// Sets the caller's own headers: they replace ours, and `None` removes one. A value is marked sensitive
    /// if the name of its header says that it is a secret (`authorization`, `api-key`, `cookie`, …).
    ///
    /// # Errors
    /// As [`set_header`](Self::set_header).
    pub fn apply_extra(&mut self, headers: &[(String, Option<String>)]) -> Result<(), ModelError> {
        for (name, value) in headers {
            match value {
                Some(value) if is_secret_name(name) => self.set_secret_header(name, value)?,
                Some(value) => self.set_header(name, value)?,
                None => drop(self.headers.remove(header_name(name)?)),
            }
        }
        Ok(())
    }

    /// Warnings of the headers the caller's own will replace by another value. The values are not part of them.
    pub(crate) fn overridden(&self, headers: &[(String, Option<String>)]) -> Vec<Warning> {
        let replaced = headers.iter().filter(|(name, value)| {
            let (Some(value), Some(ours)) = (value, self.headers.get(name.as_str())) else { return false };
            ours.as_bytes() != value.trim().as_bytes()
        });
        replaced
            .map(|(name, _)| Warning::other(format!("the request overrides the header `{name}`")))
            .collect()
    }

    /// Removes the headers the caller does not want, those of the authorization too, and warns of those nobody sends:
    /// `before` was the call before any was removed.
    pub(crate) fn remove_unwanted(
        &mut self,
        headers: &[(String, Option<String>)],
        before: &HeaderMap,
    ) -> Result<Vec<Warning>, ModelError> {
        let mut warnings = Vec::new();
        for (name, _) in headers.iter().filter(|(_, value)| value.is_none()) {
            let known = header_name(name)?;
            let sent = self.headers.remove(&known).is_some() || before.contains_key(&known);
            if !sent {
                warnings.push(Warning::other(format!(
                    "the request removes the header `{name}`, which nobody sends"
                )));
            }
        }
        Ok(warnings)
    }
}

impl fmt::Debug for HttpCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpCall")
            .field("method", &self.method)
            .field("url", &redact_url(&self.url))
            .field("headers", &self.headers)
            .field("body", &format_args!("{} bytes", self.body.len()))
            .finish()
    }
}

fn header_name(name: &str) -> Result<HeaderName, ModelError> {
    name.parse().map_err(|_| {
        ModelError::new(ErrorClass::InvalidRequest, format!("{name:?} cannot be the name of an HTTP header"))
    })
}

fn header_value(name: &HeaderName, value: &str) -> Result<HeaderValue, ModelError> {
    let value = Some(value.trim()).filter(|value| value.is_ascii());
    value.and_then(|value| HeaderValue::from_str(value).ok()).ok_or_else(|| {
        ModelError::new(
            ErrorClass::InvalidRequest,
            format!("the value of the header `{name}` holds a character that is not visible ASCII"),
        )
    })
}
