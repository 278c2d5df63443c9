//! Who may ask: a token, the name the server is called by, and the site a page comes from.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use subtle::ConstantTimeEq;

use super::error::ApiError;

/// What requests are measured by.
#[derive(Clone)]
pub(super) struct Access {
    token: Option<Arc<str>>,
    /// Values of `Host` under which the server answers, in small letters.
    hosts: Arc<[String]>,
    /// Whether any name of this machine is one.
    loopback: bool,
    /// Sites whose pages may call it beside its own.
    origins: Arc<[String]>,
    port: u16,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access")
            .field("token", &self.token.is_some())
            .field("hosts", &self.hosts)
            .finish_non_exhaustive()
    }
}

impl Access {
    pub(super) fn new(
        token: Option<&str>,
        listens: SocketAddr,
        hosts: &[String],
        origins: &[String],
    ) -> Self {
        let small = |names: &[String]| names.iter().map(|name| name.to_ascii_lowercase()).collect::<Vec<_>>();
        let mut known = small(hosts);
        known.push(listens.to_string());
        let origins =
            small(origins).into_iter().map(|origin| origin.trim_end_matches('/').to_owned()).collect();
        Self {
            token: token.map(Arc::from),
            hosts: known.into(),
            loopback: listens.ip().is_loopback(),
            origins,
            port: listens.port(),
        }
    }

    /// Against names that were made to point here: a page of another site must not reach a server of this machine.
    pub(super) fn check_host(&self, headers: &HeaderMap, uri_host: Option<&str>) -> Result<(), ApiError> {
        let named = headers.get(header::HOST).and_then(|host| host.to_str().ok()).or(uri_host);
        match named {
            Some(host) if self.is_own(host) => Ok(()),
            _ => Err(ApiError::new(
                StatusCode::MISDIRECTED_REQUEST,
                "unknown_host",
                "The server is not known by this name: add it to serve.allowed_hosts.",
            )),
        }
    }

    fn is_own(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        if self.hosts.contains(&host) {
            return true;
        }
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.contains(']') => (name, port.parse().ok()),
            _ => (host.as_str(), Some(80)),
        };
        let name = name.trim_start_matches('[').trim_end_matches(']');
        let loopback = name == "localhost" || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        (self.loopback && loopback && port == Some(self.port)) || self.hosts.iter().any(|known| known == name)
    }

    /// The site a request comes from, if it may be answered to.
    pub(super) fn check_origin(&self, headers: &HeaderMap) -> Result<Option<HeaderValue>, ApiError> {
        let Some(origin) = headers.get(header::ORIGIN) else { return Ok(None) };
        let text = origin.to_str().unwrap_or_default().to_ascii_lowercase();
        if self.origins.contains(&text) {
            return Ok(Some(origin.clone()));
        }
        let own = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
        if own.is_some_and(|host| self.is_own(host)) {
            return Ok(None);
        }
        let message = "Pages of this site may not call the server: add it to serve.allowed_origins.";
        Err(ApiError::new(StatusCode::FORBIDDEN, "foreign_origin", message))
    }

    /// The token, in a time that does not depend on how much of it is right.
    pub(super) fn check_token(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let Some(token) = &self.token else { return Ok(()) };
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let given = given.and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        match given {
            Some(given) if bool::from(given.as_bytes().ct_eq(token.as_bytes())) => Ok(()),
            _ => Err(ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", "A token is needed.")),
        }
    }
}

/// Whether a request only asks what it may ask.
pub(super) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS
        && headers.contains_key(header::ORIGIN)
        && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Adds what a browser wants to hear before it hands a reply to the page of another site.
pub(super) fn allow(headers: &mut HeaderMap, origin: HeaderValue) {
    let fixed = HeaderValue::from_static;
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(header::VARY, fixed("origin"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, fixed("GET, POST, DELETE"));
    let allowed = "authorization, content-type, last-event-id, x-ui-protocol";
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, fixed(allowed));
    let exposed = "x-chat-turn, x-chat-attempt, x-chat-message, x-request-id, retry-after";
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, fixed(exposed));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, fixed("600"));
}

/// The streams that are open, in all and for each client.
#[derive(Debug)]
pub(super) struct Streams {
    open: Mutex<Open>,
    all: usize,
    each: usize,
}

#[derive(Debug, Default)]
struct Open {
    all: usize,
    by_client: HashMap<IpAddr, usize>,
}

/// A stream that is open, until it is dropped.
#[derive(Debug)]
pub(super) struct OpenStream {
    streams: Arc<Streams>,
    client: IpAddr,
}

impl Streams {
    pub(super) fn new(all: usize, each: usize) -> Self {
        Self { open: Mutex::default(), all, each }
    }

    pub(super) fn count(&self) -> usize {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).all
    }

    pub(super) fn open(self: &Arc<Self>, client: IpAddr) -> Result<OpenStream, ApiError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let of_client = open.by_client.get(&client).copied().unwrap_or_default();
        if open.all >= self.all || of_client >= self.each {
            return Err(ApiError::too_many("too_many_streams", "Too many streams are open."));
        }
        open.all += 1;
        open.by_client.insert(client, of_client + 1);
        Ok(OpenStream { streams: Arc::clone(self), client })
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut open = self.streams.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.all = open.all.saturating_sub(1);
        if let Some(count) = open.by_client.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                open.by_client.remove(&self.client);
            }
        }
    }
}
