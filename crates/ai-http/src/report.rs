use std::fmt;
use std::time::{Duration, SystemTime};

use ai_provider::{ErrorClass, Hint, ModelError};
use http::HeaderMap;

use crate::call::HttpCall;
use crate::hint::{resolve, retry_hint};
use crate::redact::{Secrets, rebuild, redact_url};
use crate::transport::HttpResponse;

/// What every error of a call carries besides its own message, and what it must not carry.
///
/// URLs are kept as they are and read only when something is to be said: most calls do not fail.
pub(crate) struct Report {
    asked: String,
    /// Who answered, where that is known.
    answered: Option<String>,
    request_id: Option<String>,
    secrets: Secrets,
    has_key: bool,
}

impl Report {
    pub(crate) fn new(call: &HttpCall, mut secrets: Secrets) -> Self {
        secrets.add_headers(&call.headers);
        Self {
            asked: call.url.clone(),
            answered: None,
            request_id: None,
            has_key: call.headers.values().any(http::HeaderValue::is_sensitive),
            secrets,
        }
    }

    /// Notes who answered.
    pub(crate) fn answered(&mut self, response: &HttpResponse) {
        if !response.url.is_empty() && response.url != self.asked {
            self.answered = Some(response.url.clone());
        }
        self.request_id = request_id(&response.headers).map(str::to_owned);
    }

    /// All that is secret about the call, what stands in its URLs included.
    fn secrets(&self) -> Secrets {
        let mut secrets = self.secrets.clone();
        for url in [Some(&self.asked), self.answered.as_ref()].into_iter().flatten() {
            secrets.add_url(url);
        }
        secrets
    }

    /// The URL that was asked, or that answered, without secrets.
    pub(crate) fn url(&self) -> String {
        let url = self.answered.as_ref().unwrap_or(&self.asked);
        self.secrets().mask(&redact_url(url)).into_owned()
    }

    /// The provider's id of the request, without secrets: a server may echo any header in it.
    pub(crate) fn request_id(&self) -> Option<String> {
        self.request_id.as_ref().map(|id| self.secrets().mask(id).into_owned())
    }

    /// Completes an error.
    pub(crate) fn complete(&self, error: ModelError) -> ModelError {
        let url = error.url().map_or_else(|| self.url(), redact_url);
        let mut error = error.with_url(url);
        if let (None, Some(id)) = (error.request_id(), &self.request_id) {
            error = error.with_request_id(id);
        }
        self.secrets().mask_error(error)
    }

    /// Completes the error that a response of this kind is.
    pub(crate) fn complete_response(
        &self,
        error: ModelError,
        status: u16,
        headers: &HeaderMap,
    ) -> ModelError {
        let now = SystemTime::now();
        let hint =
            error.hint().and_then(|hint| resolve(hint, headers, now)).or_else(|| retry_hint(headers, now));
        let mut error = if error.status().is_none() { error.with_status(status) } else { error };
        // A codec's own hint that lies in the past is none either.
        error = error.with_hint(hint.unwrap_or(Hint::After(Duration::ZERO)));
        if error.class() == ErrorClass::Auth && !self.has_key {
            let message = format!("{} (the request carried no key)", error.message());
            error = rebuild(&error, ErrorClass::Auth, message, str::to_owned);
        }
        self.complete(error)
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Report").field("url", &self.url()).finish_non_exhaustive()
    }
}

/// The id under which the provider knows the request, by whatever name its servers use.
fn request_id(headers: &HeaderMap) -> Option<&str> {
    const NAMES: [&str; 5] =
        ["x-request-id", "request-id", "x-ms-request-id", "apim-request-id", "x-amzn-requestid"];
    let mut values = NAMES.iter().filter_map(|name| headers.get(*name)?.to_str().ok()).map(str::trim);
    // Ids are short. What is not was not meant as one.
    values.find(|id| !id.is_empty() && id.len() <= 200)
}
