use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use ai_provider::ErrorClass;
use futures_util::future::join_all;

use super::*;

fn key() -> ApiKey {
    ApiKey::new("sk-12345678").unwrap().labelled("team")
}

async fn headers(
    authorize: &dyn Authorize,
    key: Option<&ApiKey>,
    preset: &[(&str, &str)],
) -> http::HeaderMap {
    let mut call = HttpCall::get("https://host");
    for (name, value) in preset {
        call.set_header(name, value).unwrap();
    }
    authorize.authorize(&mut call, key).await.unwrap();
    call.headers
}

/// [HT-66]
#[tokio::test]
async fn a_key_is_sent_in_its_header_and_marked_as_secret() {
    let sent = headers(&Bearer, Some(&key()), &[]).await;
    assert_eq!(sent["authorization"], "Bearer sk-12345678");
    assert!(sent["authorization"].is_sensitive());

    let own = HeaderKey(HeaderName::from_static("x-api-key"));
    let sent = headers(&own, Some(&key()), &[]).await;
    assert_eq!((sent.len(), &sent["x-api-key"]), (1, &http::HeaderValue::from_static("sk-12345678")));
    assert!(sent["x-api-key"].is_sensitive());

    assert!(headers(&Bearer, None, &[]).await.is_empty());
    assert!(headers(&own, None, &[]).await.is_empty());
}

/// [HT-62]
#[tokio::test]
async fn a_header_of_the_caller_is_left_as_it_is() {
    let sent = headers(&Bearer, Some(&key()), &[("authorization", "Basic abc")]).await;
    assert_eq!(sent["authorization"], "Basic abc");
    let own = HeaderKey(HeaderName::from_static("x-api-key"));
    assert_eq!(headers(&own, Some(&key()), &[("x-api-key", "mine")]).await["x-api-key"], "mine");
}

/// A source whose n-th renewal takes a second and gives `token-n`, or fails.
fn source(valid_for: u64, fails: &'static [usize]) -> (Arc<ExpiringToken>, Arc<AtomicUsize>) {
    let renewals = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&renewals);
    let token = ExpiringToken::new("cloud", move || {
        let number = count.fetch_add(1, Ordering::SeqCst) + 1;
        async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if fails.contains(&number) {
                return Err(ModelError::new(ErrorClass::Auth, format!("renewal {number} failed")));
            }
            Ok(FreshToken { secret: format!("token-{number}"), valid_for: Duration::from_secs(valid_for) })
        }
    });
    (Arc::new(token), renewals)
}

async fn text(token: &ExpiringToken) -> String {
    token.key(0).await.map_or_else(|error| error.message().to_owned(), |key| key.unwrap().expose().to_owned())
}

/// [HT-67]
#[tokio::test(start_paused = true)]
async fn callers_share_one_renewal() {
    let (token, renewals) = source(3600, &[]);
    let texts = join_all((0..50).map(|_| text(&token))).await;
    assert!(texts.iter().all(|text| text == "token-1"), "{texts:?}");
    assert_eq!(renewals.load(Ordering::SeqCst), 1);
    let key = token.key(0).await.unwrap().unwrap();
    assert_eq!((key.label().as_str(), key.account().as_str()), ("cloud", "cloud"));
    assert_eq!(token.labels(), ["cloud".into()]);
}

/// [HT-67]
#[tokio::test(start_paused = true)]
async fn a_token_is_renewed_before_it_runs_out() {
    let (token, _) = source(3600, &[]);
    assert_eq!(text(&token).await, "token-1");
    tokio::time::advance(Duration::from_secs(3600 - 62)).await;
    assert_eq!(text(&token).await, "token-1");
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(text(&token).await, "token-2");

    let (short, _) = source(10, &[]);
    assert_eq!(text(&short).await, "token-1");
    assert_eq!(text(&short).await, "token-1", "not renewed at each call");
    tokio::time::advance(Duration::from_secs(6)).await;
    assert_eq!(text(&short).await, "token-2");
}

/// [HT-67]
#[tokio::test(start_paused = true)]
async fn a_failed_renewal_is_shared_and_the_next_call_tries_again() {
    let (token, renewals) = source(3600, &[1]);
    let texts = join_all((0..10).map(|_| text(&token))).await;
    assert!(texts.iter().all(|text| text == "renewal 1 failed"), "{texts:?}");
    assert_eq!(renewals.load(Ordering::SeqCst), 1);
    assert_eq!(text(&token).await, "token-2");
}

/// [HT-67]
#[tokio::test(start_paused = true)]
async fn a_renewal_that_is_dropped_is_begun_again_by_the_next() {
    let (token, renewals) = source(3600, &[]);
    let dropped = tokio::time::timeout(Duration::from_millis(100), text(&token)).await;
    assert!(dropped.is_err());
    assert_eq!(text(&token).await, "token-2");
    assert_eq!(renewals.load(Ordering::SeqCst), 2);
}

/// [HT-61] [HT-67]
#[tokio::test]
async fn a_token_that_cannot_be_sent_is_refused() {
    let token = ExpiringToken::new("cloud", || async {
        Ok(FreshToken { secret: "two\nlines".into(), valid_for: Duration::from_secs(60) })
    });
    let error = token.key(0).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::InvalidRequest);
    assert!(!format!("{error:?}").contains("lines"), "{error:?}");
}

/// [HT-50]
#[test]
fn debug_shows_no_token() {
    let fresh = FreshToken { secret: "hunter22".into(), valid_for: Duration::from_secs(1) };
    let source = ExpiringToken::new("cloud", move || {
        let fresh = fresh.clone();
        async { Ok(fresh) }
    });
    let fresh = FreshToken { secret: "hunter22".into(), valid_for: Duration::from_secs(1) };
    assert!(!format!("{fresh:?} {source:?}").contains("hunter22"));
}
