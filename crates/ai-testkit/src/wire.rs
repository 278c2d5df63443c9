use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ai_provider::CancellationToken;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

mod connection;
mod log;
mod reply;
mod request;

pub use reply::{WireEnd, WireFraming, WireReply};
pub use request::RecordedRequest;

use log::Log;

/// A real HTTP/1.1 server on 127.0.0.1 that answers with given bytes, cut, slowed down and broken off as
/// told, and remembers what it was asked.
///
/// It runs on a thread of its own, so it serves asynchronous tests, blocking ones and child processes alike,
/// on the real clock. Dropping it closes every connection and ends the thread.
///
/// Each piece of a body is one write, with `TCP_NODELAY` set. A client may still read several at once: TCP
/// keeps bytes, not pieces. With [`WireFraming::Chunked`] each piece is also one HTTP chunk, which clients
/// keep apart.
///
/// A request beyond the last reply gets status 400 and a sentence that says so.
///
/// ```
/// use std::io::{Read, Write};
/// use ai_testkit::{WireReply, WireServer};
///
/// let server = WireServer::start([WireReply::sse("data: 1\n\n")])?;
/// let mut client = std::net::TcpStream::connect(server.address())?;
/// client.write_all(b"POST /v1/chat HTTP/1.1\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")?;
/// let mut answer = String::new();
/// client.read_to_string(&mut answer)?;
///
/// assert!(answer.ends_with("9\r\ndata: 1\n\n\r\n0\r\n\r\n"));
/// assert_eq!(server.requests()[0].path, "/v1/chat");
/// assert_eq!(server.requests()[0].body, "{}");
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct WireServer {
    url: String,
    address: SocketAddr,
    log: Arc<Log>,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl WireServer {
    /// Starts a server with one reply per request, used in the order in which the requests come.
    ///
    /// # Errors
    /// If no port or no thread is to be had.
    pub fn start(replies: impl IntoIterator<Item = WireReply>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let (log, stop) = (Arc::new(Log::default()), CancellationToken::new());
        let (ready, started) = mpsc::channel();
        let (shared, stopped) = (Arc::clone(&log), stop.clone());
        let run = move || match prepare(listener) {
            Ok((runtime, listener)) => {
                drop(ready.send(Ok(())));
                runtime.block_on(stopped.run_until_cancelled(accept(listener, shared)));
            }
            Err(error) => drop(ready.send(Err(error))),
        };
        let thread = Some(thread::Builder::new().name("wire-server".to_owned()).spawn(run)?);
        started.recv().map_err(io::Error::other)??;
        let server = Self { url: format!("http://{address}"), address, log, stop, thread };
        replies.into_iter().for_each(|reply| server.reply(reply));
        Ok(server)
    }

    /// Starts a server with the same reply for every request.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn repeat(reply: WireReply) -> io::Result<Self> {
        let server = Self::start([])?;
        server.answer_all(reply);
        Ok(server)
    }

    /// Adds a reply for the next request that has none.
    pub fn reply(&self, reply: WireReply) {
        self.log.change(|log| {
            log.replies.push_back(reply);
            log.given += 1;
        });
    }

    /// Sets the reply to every further request that has none of its own.
    pub(crate) fn answer_all(&self, reply: WireReply) {
        self.log.change(|log| log.repeat = Some(reply));
    }

    /// Sets the reply to every request for this path, whatever its query. Such requests use up no other reply.
    pub fn route(&self, path: &str, reply: WireReply) {
        self.log.change(|log| log.routes.push((path.to_owned(), reply)));
    }

    /// Where it listens, without a slash at the end: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The requests that were read whole, in that order.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.log.read(|log| log.requests.clone())
    }

    /// How many connections were made. Fewer than [`requests`](Self::requests) if the client reuses them.
    pub fn connections(&self) -> usize {
        self.log.read(|log| log.connections)
    }

    /// How many replies were cut off by the client: it closed the connection, or its half of it, before the
    /// reply was over. A reply is over when its last byte was handed to the operating system, so a test of this needs a reply
    /// that hangs, waits, or is larger than the buffers in between.
    pub fn closed(&self) -> usize {
        self.log.read(|log| log.closed)
    }

    /// Waits until the client has cut off a reply: whether it did, within this time.
    pub async fn wait_closed(&self, timeout: Duration) -> bool {
        self.log.wait(timeout, |log| log.closed > 0).await
    }

    /// Waits until this many requests were read: whether they were, within this time.
    pub async fn wait_requests(&self, count: usize, timeout: Duration) -> bool {
        self.log.wait(timeout, |log| log.requests.len() >= count).await
    }

    /// As [`wait_closed`](Self::wait_closed), blocking the thread: for tests without a runtime. In an
    /// asynchronous test it would also block the client.
    pub fn blocking_wait_closed(&self, timeout: Duration) -> bool {
        self.log.blocking_wait(timeout, |log| log.closed > 0)
    }

    /// As [`wait_requests`](Self::wait_requests), blocking the thread.
    pub fn blocking_wait_requests(&self, count: usize, timeout: Duration) -> bool {
        self.log.blocking_wait(timeout, |log| log.requests.len() >= count)
    }
}

impl Drop for WireServer {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            // A panic of the server has been printed already; a second one here would hide the test's own.
            drop(thread.join());
        }
    }
}

impl fmt::Debug for WireServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WireServer").field("url", &self.url).finish_non_exhaustive()
    }
}

/// The runtime is made on the server's own thread, since it must not be dropped on one that runs another.
fn prepare(listener: TcpListener) -> io::Result<(Runtime, tokio::net::TcpListener)> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let entered = runtime.enter();
    let listener = tokio::net::TcpListener::from_std(listener)?;
    drop(entered);
    Ok((runtime, listener))
}

async fn accept(listener: tokio::net::TcpListener, log: Arc<Log>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of file descriptors, most likely: some connection has to end first.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        while connections.try_join_next().is_some() {}
        let number = log.change(|log| {
            log.connections += 1;
            log.connections
        });
        connections.spawn(connection::serve(stream, number, Arc::clone(&log)));
    }
}

#[cfg(test)]
mod tests;
