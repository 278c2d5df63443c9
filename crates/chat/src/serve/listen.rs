//! Connections: accepted, timed, and ended in order.

use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, Sleep, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

/// Bytes of the headers of a request: browsers send less than 2 KiB, proxies add some.
const HEADERS: usize = 16 << 10;

/// How long a client may leave what is sent to it unread. A page that is asleep for longer comes back and resumes.
const UNREAD: Duration = Duration::from_secs(60);

/// A moment for the system to find resources, where a connection could not be accepted for lack of them.
const BREATH: Duration = Duration::from_millis(100);

/// The address a request comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Client(pub(super) IpAddr);

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) headers: Duration,
    pub(super) unread: Duration,
}

impl Times {
    pub(super) fn new(headers: Duration) -> Self {
        Self { headers, unread: UNREAD }
    }
}

/// Serves connections until `end`, and then waits until each has had its last response, at most `grace`.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    times: Times,
    end: CancellationToken,
    grace: Duration,
) {
    let (connections, kill) = (TaskTracker::new(), CancellationToken::new());
    loop {
        let accepted = tokio::select! {
            () = end.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, from)) => {
                let served = connection(stream, Client(from.ip()), router.clone(), times, end.clone());
                let kill = kill.clone();
                connections.spawn(async move {
                    tokio::select! {
                        () = kill.cancelled() => {}
                        () = served => {}
                    }
                });
            }
            Err(error) => {
                tracing::debug!(%error, "a connection was not accepted");
                sleep(BREATH).await;
            }
        }
    }
    drop(listener);
    connections.close();
    if tokio::time::timeout(grace, connections.wait()).await.is_err() {
        kill.cancel();
        connections.wait().await;
    }
}

async fn connection(stream: TcpStream, client: Client, router: Router, times: Times, end: CancellationToken) {
    // Each piece of an answer is shown as soon as it is there.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(client);
        let router = router.clone();
        async move { Ok::<_, Infallible>(router.oneshot(request).await.unwrap_or_else(|never| match never {})) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(times.headers)
        .max_buf_size(HEADERS)
        .serve_connection(TokioIo::new(Timed::new(stream, times.unread)), service);
    let mut served = std::pin::pin!(served);
    let result = tokio::select! {
        result = served.as_mut() => result,
        () = end.cancelled() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = result {
        tracing::debug!(%error, "a connection ended");
    }
}

/// A connection whose other end must read: a write that does not go on for too long fails.
struct Timed<T> {
    inner: T,
    limit: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    waits: bool,
}

impl<T> Timed<T> {
    fn new(inner: T, limit: Duration) -> Self {
        Self { inner, limit, timer: None, waits: false }
    }

    /// What a write came to, if it is not stuck for too long.
    fn watch<R>(&mut self, cx: &mut Context<'_>, wrote: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if wrote.is_ready() {
            self.waits = false;
            return wrote;
        }
        let deadline = Instant::now() + self.limit;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if !std::mem::replace(&mut self.waits, true) {
            timer.as_mut().reset(deadline);
        }
        ready!(timer.as_mut().poll(cx));
        self.waits = false;
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Timed<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Timed<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.watch(cx, wrote)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.inner).poll_write_vectored(cx, bytes);
        self.watch(cx, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(cx);
        self.watch(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests;
