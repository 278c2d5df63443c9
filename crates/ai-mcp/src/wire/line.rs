use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

use super::tap::{Fault, Wire};

/// A reader of lines that fails when one is longer than it may be. What reads behind it would otherwise drop the line
/// in silence, and the caller whose answer it was would wait for good.
#[derive(Debug)]
pub(crate) struct LineGuard<R> {
    inner: R,
    most: usize,
    /// Bytes since the last end of a line.
    length: usize,
    wire: Arc<Wire>,
}

impl<R> LineGuard<R> {
    pub(crate) fn new(inner: R, most: usize, wire: Arc<Wire>) -> Self {
        Self { inner, most, length: 0, wire }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for LineGuard<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buf))?;
        let read = buf.filled().get(before..).unwrap_or_default();
        for (at, piece) in read.split(|byte| *byte == b'\n').enumerate() {
            if at > 0 {
                self.length = 0;
            }
            self.length += piece.len();
            if self.length > self.most {
                self.wire.fail(Fault::TooLarge { most: self.most });
                return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
            }
        }
        Poll::Ready(Ok(()))
    }
}
