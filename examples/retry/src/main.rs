//! Three keys and a fallback, against a server that fails in every way.
//!
//! The first key is refused, the second is limited, the third meets a server that is down, twice. The fallback
//! answers, and the second step of the run goes straight there.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ai_openai::{Dialect, OpenAi};
use ai_provider::{CallContext, Event, Keys, LanguageModel, LanguageModelExt, Message, Provider, Request};
use ai_testkit::{WireReply, WireServer};
use http::StatusCode;
use retry::{Fallback, RetryPolicy, Timeline};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let failing =
        |status, message: &str| WireReply::json(status, format!(r#"{{"error":{{"message":"{message}"}}}}"#));
    let server = WireServer::start([
        failing(StatusCode::UNAUTHORIZED, "this key was revoked"),
        failing(StatusCode::TOO_MANY_REQUESTS, "slow down").header("retry-after", "30"),
        failing(StatusCode::SERVICE_UNAVAILABLE, "we are down"),
        failing(StatusCode::SERVICE_UNAVAILABLE, "still down"),
    ])?;
    let spare = WireServer::repeat(WireReply::json(
        StatusCode::OK,
        r#"{"choices":[{"message":{"content":"Rhine, Po, Ebro."},"finish_reason":"stop"}]}"#,
    ))?;

    let policy = RetryPolicy::new()
        .with_retries(1)
        .with_base_delay(Duration::from_millis(100))
        .with_budget(Duration::from_secs(20))
        .with_fallback(Fallback::to(model("spare", &spare, "sk-spare")?));
    let model = policy.wrap(model("acme", &server, "sk-one, sk-two, sk-three")?)?;

    let timeline = Arc::new(Mutex::new(Timeline::new()));
    let seen = Arc::clone(&timeline);
    // One context for all steps of a run: what was learned in one is known in the next.
    let run = CallContext::new().with_events(Arc::new(move |event| {
        if let Event::Attempt(attempt) = event {
            seen.lock().unwrap_or_else(PoisonError::into_inner).push(&attempt);
        }
    }));
    for step in 1..=2 {
        let request = Request::new([Message::user("Name three rivers.")]);
        let answer = model.generate(request, run.clone().with_step(step)).await?;
        println!("{}", answer.text());
    }

    let timeline = timeline.lock().unwrap_or_else(PoisonError::into_inner);
    println!("\n{}", timeline.to_string().replace(" · ", "\n  "));
    assert_eq!(server.requests().len(), 4, "four attempts, each with one key");
    assert_eq!(spare.requests().len(), 2, "the run stays with what worked");
    assert!(timeline.lines().iter().any(|line| line.contains("429, hint 30 s, safe · key key-3")));
    Ok(())
}

fn model(name: &str, server: &WireServer, keys: &str) -> Result<Arc<dyn LanguageModel>, Box<dyn Error>> {
    let url = format!("{}/v1", server.url());
    let provider = OpenAi::builder()
        .dialect(Dialect::generic(name.to_owned(), url))
        .keys(Arc::new(Keys::parse(keys)?))
        .build()?;
    Ok(provider.language_model("large-1")?)
}
