use std::io;

use ai_http::{HttpCall, HttpResponse, ReqwestTransport, Transport};
use ai_provider::ModelError;
use async_trait::async_trait;

use crate::wire::{RecordedRequest, WireReply, WireServer};

/// The base URL to give a model that is reached by [`Loopback`]. What a model says of its endpoint does not
/// depend on the port that the server got.
pub const PLACE: &str = "http://replay.localhost";

/// A [`WireServer`], and the transport to it: real sockets and the real HTTP client, without proxies.
#[derive(Debug)]
pub struct Loopback {
    server: WireServer,
    transport: ReqwestTransport,
}

impl Loopback {
    /// Starts the server with one reply per call.
    ///
    /// # Errors
    /// If no port, thread or HTTP client is to be had.
    pub fn start(replies: impl IntoIterator<Item = WireReply>) -> io::Result<Self> {
        let client = ReqwestTransport::client_builder().no_proxy().build().map_err(io::Error::other)?;
        Ok(Self { server: WireServer::start(replies)?, transport: ReqwestTransport::from_client(client) })
    }

    /// Adds a reply for the next call that has none.
    pub fn reply(&self, reply: WireReply) {
        self.server.reply(reply);
    }

    /// The requests that came.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.server.requests()
    }
}

#[async_trait]
impl Transport for Loopback {
    async fn send(&self, mut call: HttpCall) -> Result<HttpResponse, ModelError> {
        call.url = call.url.replacen(PLACE, self.server.url(), 1);
        let mut response = self.transport.send(call).await?;
        response.url = response.url.replacen(self.server.url(), PLACE, 1);
        Ok(response)
    }
}
