use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::time::Instant;

use super::Timed;

/// [CH-176]
#[tokio::test(start_paused = true)]
async fn a_reader_that_does_not_read_ends_the_connection() {
    let (ours, mut theirs) = duplex(8);
    let mut timed = Timed::new(ours, Duration::from_secs(60));
    timed.write_all(b"12345678").await.unwrap();
    let began = Instant::now();
    let error = timed.write_all(b"9").await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
    assert_eq!(began.elapsed(), Duration::from_secs(60));

    // Who reads late, and reads, is served: each write has its own time.
    let mut rest = [0; 8];
    for _ in 0..3 {
        let reads = async {
            tokio::time::sleep(Duration::from_secs(59)).await;
            theirs.read_exact(&mut rest).await
        };
        let (wrote, read) = tokio::join!(timed.write_all(b"abcdefgh"), reads);
        wrote.unwrap();
        read.unwrap();
    }
}
