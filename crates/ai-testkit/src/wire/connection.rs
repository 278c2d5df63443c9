use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use http::StatusCode;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::time::{sleep, timeout};

use super::log::Log;
use super::reply::{Plan, Then, WireReply};
use super::request::{NoRequest, RecordedRequest, read_body, read_head, read_some};

/// Serves the requests of one connection, one after another.
pub(super) async fn serve(mut stream: TcpStream, number: usize, log: Arc<Log>) {
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let mut buffer = BytesMut::new();
    loop {
        let (request, keep_alive) = match read_request(&mut stream, &mut buffer, number).await {
            Ok(read) => read,
            Err(NoRequest::Gone) => return,
            Err(NoRequest::Malformed(fault)) => return refuse(stream, fault).await,
        };
        let plan = log.change(|log| log.take_reply(request)).plan();
        match play(&mut stream, &mut buffer, plan).await {
            Some(Then::Keep) if keep_alive => {}
            Some(Then::Keep | Then::Close | Then::Hang) => return close(stream).await,
            Some(Then::Reset) => {
                // Closing without lingering is what makes the kernel send RST.
                drop(stream.set_zero_linger());
                return;
            }
            None => {
                log.change(|log| log.closed += 1);
                return;
            }
        }
    }
}

async fn read_request(
    stream: &mut TcpStream,
    buffer: &mut BytesMut,
    connection: usize,
) -> Result<(RecordedRequest, bool), NoRequest> {
    let head = read_head(stream, buffer).await?;
    let keep_alive = head.keep_alive;
    if head.expects_continue {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    Ok((read_body(stream, buffer, head, connection).await?, keep_alive))
}

/// Sends a reply: what is to be done then, or `None` if the client closed the connection before the end.
async fn play(stream: &mut TcpStream, buffer: &mut BytesMut, plan: Plan) -> Option<Then> {
    let (mut read, mut write) = stream.split();
    tokio::select! {
        biased;
        then = send(&mut write, plan) => then,
        () = gone(&mut read, buffer) => None,
    }
}

async fn send(write: &mut WriteHalf<'_>, plan: Plan) -> Option<Then> {
    for (delay, bytes) in plan.writes {
        if !delay.is_zero() {
            sleep(delay).await;
        }
        write.write_all(&bytes).await.ok()?;
    }
    if plan.then == Then::Hang {
        pending::<()>().await;
    }
    Some(plan.then)
}

/// A client that sends more than this before its reply is over is not read any further.
const AHEAD: usize = 1 << 20;

/// Ends when the client has closed its side; what it sends before is kept for later.
async fn gone(read: &mut ReadHalf<'_>, buffer: &mut BytesMut) {
    while buffer.len() < AHEAD {
        match read_some(read, buffer).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
    pending().await
}

async fn close(mut stream: TcpStream) {
    drop(stream.shutdown().await);
}

/// Answers what is no HTTP, and reads on for a while: closing over unread bytes would reset the connection and
/// could take the answer with it.
async fn refuse(mut stream: TcpStream, fault: String) {
    let mut buffer = BytesMut::new();
    let reply = WireReply::new(StatusCode::BAD_REQUEST, format!("no HTTP request: {fault}"));
    if play(&mut stream, &mut buffer, reply.plan()).await.is_some() && stream.shutdown().await.is_ok() {
        let (mut read, _) = stream.split();
        drop(timeout(Duration::from_secs(1), gone(&mut read, &mut buffer)).await);
    }
}
