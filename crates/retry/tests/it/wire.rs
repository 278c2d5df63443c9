//! With a real adapter, on the bytes of a server.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ai_openai::OpenAi;
use ai_provider::{CallContext, ErrorClass, Keys, LanguageModel, Provider, RetryError, StreamPart};
use ai_testkit::{MemoryReply, MemoryTransport, collect};
use http::StatusCode;
use retry::Fallback;
use tokio::time::Instant;

use crate::support::{policy, request, secs};

fn chunk(delta: &str, finish: &str) -> String {
    format!(
        "data: {{\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
    )
}

fn answer(text: &str) -> MemoryReply {
    let deltas: String =
        text.split_inclusive(' ').map(|word| chunk(&format!("{{\"content\":{word:?}}}"), "null")).collect();
    MemoryReply::sse(deltas + &chunk("{}", "\"stop\"") + "data: [DONE]\n\n")
}

fn status(code: u16, body: &str) -> MemoryReply {
    MemoryReply::json(StatusCode::from_u16(code).unwrap(), body.to_owned())
}

fn model(transport: &MemoryTransport, keys: &str) -> Arc<dyn LanguageModel> {
    let provider = OpenAi::builder()
        .base_url("http://server.test/v1")
        .keys(Arc::new(Keys::parse(keys).unwrap()))
        .transport(Arc::new(transport.clone()))
        .build()
        .unwrap();
    provider.language_model("m").unwrap()
}

async fn ask(model: &dyn LanguageModel) -> (String, Option<ai_provider::ModelError>) {
    let (parts, error) = collect(model.stream(request(), CallContext::new())).await;
    (text(&parts), error)
}

fn text(parts: &[StreamPart]) -> String {
    let deltas = parts.iter().filter_map(|part| match part {
        StreamPart::TextDelta { delta, .. } => Some(delta.as_str()),
        _ => None,
    });
    deltas.collect()
}

fn sent_keys(transport: &MemoryTransport) -> Vec<String> {
    let calls = transport.calls();
    calls.iter().map(|call| call.headers["authorization"].to_str().unwrap().to_owned()).collect()
}

/// [RT-100]
#[tokio::test(start_paused = true)]
async fn a_wait_the_server_states_is_read_in_every_form_and_nonsense_is_none() {
    let date = || httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(2));
    let backoff = 1000..=1000;
    for (header, value, millis) in [
        ("retry-after", "2".to_owned(), 2000..=2000),
        ("Retry-After", "1.5".to_owned(), 1500..=1500),
        ("retry-after", date(), 500..=2000),
        ("retry-after-ms", "1500".to_owned(), 1500..=1500),
        ("retry-after", "-3".to_owned(), backoff.clone()),
        ("retry-after", "+3".to_owned(), backoff.clone()),
        ("retry-after", "1000abc".to_owned(), backoff.clone()),
        ("retry-after", "garbage".to_owned(), backoff.clone()),
        ("retry-after", String::new(), backoff.clone()),
        ("retry-after", "0".to_owned(), backoff.clone()),
        ("retry-after", "2026-01-01T00:00:00Z".to_owned(), backoff.clone()),
        ("retry-after", "Thu, 01 Jan 1970 00:00:00 GMT".to_owned(), backoff.clone()),
    ] {
        let limited = status(429, r#"{"error":{"message":"slow down"}}"#).header(header, &value);
        let transport = MemoryTransport::new().reply(limited).reply(answer("hi"));
        let wrapped = policy(1).wrap(model(&transport, "k1")).unwrap();
        let begin = Instant::now();
        assert_eq!(ask(&*wrapped).await.0, "hi");
        assert!(millis.contains(&begin.elapsed().as_millis()), "{header}: {value}: {:?}", begin.elapsed());
    }
}

/// [RT-101]
#[tokio::test(start_paused = true)]
async fn a_wait_of_hours_goes_to_the_next_key_or_target_or_fails_now() {
    let hours = || status(429, r#"{"error":{"message":"slow down"}}"#).header("retry-after", "57600");
    let begin = Instant::now();
    let transport = MemoryTransport::new().reply(hours()).reply(answer("hi"));
    assert_eq!(ask(&*policy(3).wrap(model(&transport, "k1, k2")).unwrap()).await.0, "hi");
    assert_eq!(sent_keys(&transport), ["Bearer k1", "Bearer k2"]);

    let (primary, other) =
        (MemoryTransport::new().repeat(hours()), MemoryTransport::new().reply(answer("hi")));
    let fallback =
        OpenAi::builder().base_url("http://other.test/v1").transport(Arc::new(other)).build().unwrap();
    let fallback = Fallback::to(fallback.language_model("m").unwrap());
    let wrapped = policy(3).with_fallback(fallback).wrap(model(&primary, "k1")).unwrap();
    assert_eq!(ask(&*wrapped).await.0, "hi");
    assert_eq!(primary.calls().len(), 1);

    let transport = MemoryTransport::new().reply(hours());
    let (_, error) = ask(&*policy(3).wrap(model(&transport, "k1")).unwrap()).await;
    assert!(error.unwrap().message().contains("not before"));
    assert_eq!(begin.elapsed(), Duration::ZERO);
}

/// [RT-102]
#[tokio::test(start_paused = true)]
async fn credit_that_is_used_up_is_no_rate_limit_under_a_status_or_in_a_stream() {
    let body = r#"{"error":{"message":"credit used up","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#;
    let begin = Instant::now();
    for reply in [status(429, body), MemoryReply::sse(format!("data: {body}\n\n"))] {
        let transport = MemoryTransport::new().repeat(reply.clone());
        let (_, error) = ask(&*policy(3).wrap(model(&transport, "k1")).unwrap()).await;
        assert_eq!(error.unwrap().class(), ErrorClass::Quota);
        assert_eq!(transport.calls().len(), 1);

        let transport = MemoryTransport::new().reply(reply).reply(answer("hi"));
        assert_eq!(ask(&*policy(3).wrap(model(&transport, "k1,k2")).unwrap()).await.0, "hi");
        assert_eq!(sent_keys(&transport), ["Bearer k1", "Bearer k2"]);
    }
    assert_eq!(begin.elapsed(), Duration::ZERO);
}

/// [RT-103]
#[tokio::test(start_paused = true)]
async fn one_layer_retries_whether_a_status_or_a_stream_fails() {
    let broken = MemoryReply::sse("data: {\"error\":{\"message\":\"oops\",\"code\":500}}\n\n".to_owned());
    for reply in [status(500, "{}"), broken] {
        let (one, two) = (MemoryTransport::new().repeat(reply.clone()), MemoryTransport::new().repeat(reply));
        let other = OpenAi::builder()
            .base_url("http://other.test/v1")
            .transport(Arc::new(two.clone()))
            .build()
            .unwrap();
        let fallback = Fallback::to(other.language_model("m").unwrap()).with_retries(3);
        let wrapped = policy(3).with_fallback(fallback).wrap(model(&one, "k1")).unwrap();
        let (_, error) = ask(&*wrapped).await;
        assert_eq!((one.calls().len(), two.calls().len()), (4, 4));
        assert_eq!(RetryError::of(&error.unwrap()).unwrap().attempts().len(), 8);
    }
}

/// [RT-104]
#[tokio::test(start_paused = true)]
async fn what_is_the_requests_own_fault_is_one_request() {
    let too_long =
        r#"{"error":{"message":"Prompt has 5000 tokens, window is 4096","code":"context_length_exceeded"}}"#;
    for (code, body, class) in [
        (400, too_long, ErrorClass::ContextTooLong),
        (413, "{}", ErrorClass::ContextTooLong),
        (401, "{}", ErrorClass::Auth),
        (403, "{}", ErrorClass::Auth),
        (404, "{}", ErrorClass::NotFound),
        (422, "{}", ErrorClass::InvalidRequest),
    ] {
        let transport = MemoryTransport::new().repeat(status(code, body));
        let (_, error) = ask(&*policy(9).wrap(model(&transport, "k1")).unwrap()).await;
        assert_eq!((error.unwrap().class(), transport.calls().len()), (class, 1), "{code}");
    }
    for code in [408, 409, 429, 500, 502, 503, 529] {
        let transport = MemoryTransport::new().reply(status(code, "{}")).reply(answer("hi"));
        assert_eq!(ask(&*policy(1).wrap(model(&transport, "k1")).unwrap()).await.0, "hi", "{code}");
    }
}

/// [RT-105]
#[tokio::test(start_paused = true)]
async fn an_answer_cut_at_any_byte_is_never_doubled() {
    let call =
        r#"{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
    let body = format!(
        ": hello\n\n{}{}{}{}{}data: [DONE]\n\n",
        chunk(r#"{"role":"assistant","content":""}"#, "null"),
        chunk(r#"{"content":"Here is "}"#, "null"),
        chunk(r#"{"content":"the plan."}"#, "null"),
        chunk(call, "null"),
        chunk("{}", "\"tool_calls\"")
    );
    let full = "Here is the plan.";
    let (mut retried, mut kept) = (0, 0);
    for cut in 0..body.len() {
        let transport = MemoryTransport::new()
            .reply(MemoryReply::sse(body[..cut].to_owned()))
            .reply(MemoryReply::sse(body.clone()));
        let (parts, error) =
            collect(policy(1).wrap(model(&transport, "k1")).unwrap().stream(request(), CallContext::new()))
                .await;
        let shown = text(&parts);
        let calls = parts.iter().filter(|part| matches!(part, StreamPart::ToolCall(_))).count();
        match transport.calls().len() {
            2 => {
                retried += 1;
                assert!(error.is_none(), "{cut}: {error:?}");
                assert_eq!((shown.as_str(), calls), (full, 1), "{cut}");
            }
            _ => {
                kept += 1;
                assert!(full.starts_with(&shown) && calls <= 1, "{cut}: {shown}");
                let whole = matches!(parts.last(), Some(StreamPart::Finish(_)));
                assert_eq!(error.is_none(), whole, "{cut}");
            }
        }
    }
    assert!(retried > 100 && kept > 100, "{retried} {kept}");
}

/// [RT-106]
#[tokio::test(start_paused = true)]
async fn each_request_carries_one_key_and_no_key_stands_in_anything_told() {
    use std::sync::Mutex;
    let told = Arc::new(Mutex::new(String::new()));
    let sink = Arc::clone(&told);
    let ctx = CallContext::new().with_events(Arc::new(move |event| {
        sink.lock().unwrap().push_str(&format!("{event:?}"));
    }));
    let refused =
        |key: &str| status(401, &format!(r#"{{"error":{{"message":"Incorrect API key: {key}"}}}}"#));
    let (one, two) = ("sk-canary-number-1", "sk-canary-number-2");
    let transport = MemoryTransport::new().reply(refused(one)).reply(refused(two));
    let wrapped = policy(1).with_budget(secs(60)).wrap(model(&transport, &format!("{one}, {two}"))).unwrap();
    let (_, error) = collect(wrapped.stream(request(), ctx)).await;
    let error = error.unwrap();
    assert_eq!(sent_keys(&transport), [format!("Bearer {one}"), format!("Bearer {two}")]);
    let retry = RetryError::of(&error).unwrap();
    let all = format!("{error} {error:?} {retry} {retry:?} {wrapped:?} {}", told.lock().unwrap());
    assert!(!all.contains("canary"), "{all}");
    assert!(all.contains("key-1") && all.contains("key-2"), "{all}");
}
