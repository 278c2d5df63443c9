use std::time::Duration;

use super::Backoff;

/// [MC-40]
#[test]
fn waits_double_until_the_server_is_given_up_and_a_good_connection_begins_anew() {
    let mut backoff = Backoff::default();
    let waits: Vec<_> = (0..6).map(|_| backoff.failed(None).map(|wait| wait.as_millis())).collect();
    assert_eq!(waits, [Some(500), Some(1000), Some(2000), Some(4000), Some(8000), None]);
    assert_eq!(backoff.failed(None), None, "one more failure gives it up again");
    assert_eq!(backoff.failed(Some(Duration::from_secs(59))), None, "a short connection is a failure too");
    assert_eq!(backoff.failed(Some(Duration::from_secs(60))), Some(Duration::from_millis(500)));
}
