#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    missing_docs,
    reason = "tests fail by panicking, and some faults leave tasks behind"
)]

mod acme;
mod faults;

use ai_provider::{ErrorClass, UnifiedFinish};

use super::*;
use acme::Acme;

const HELLO: &str = "data: {\"text\":\"Hé\"}\n\ndata: {\"text\":\"llo\"}\n\ndata: {\"text\":\".\"}\n\ndata: {\"done\":\"stop\"}\n\n";
const CALLS: &str = "data: {\"text\":\"I look.\"}\n\ndata: {\"call\":{\"toolCallId\":\"a\",\"toolName\":\"weather\",\"input\":\"{\\\"city\\\":\\\"Rome\\\"}\"}}\n\ndata: {\"done\":\"tool-calls\"}\n\n";
const WHOLE: &str = "{\"text\":\"Hi\",\"done\":\"stop\"}";
const REFUSED: &str = r#"{"error":{"message":"no credit for {{KEY}}","code":"insufficient_quota"}}"#;

fn with_samples(suite: Conformance) -> Conformance {
    suite
        .sample(Sample::stream("hello", HELLO).text("Héllo.").finish(UnifiedFinish::Stop))
        .sample(Sample::stream("calls", CALLS).finish(UnifiedFinish::ToolCalls))
        .sample(Sample::stream("cut", "data: {\"text\":\"H\"}\n\n").text("H").fails(ErrorClass::Incomplete))
        .sample(Sample::whole("whole", WHOLE).text("Hi"))
        .sample(Sample::error("refused", 429, REFUSED, ErrorClass::Quota))
}

fn healthy() -> Conformance {
    with_samples(Conformance::of_codec(|site| Ok(Acme::new(site))))
}

#[tokio::test]
async fn a_codec_without_fault_passes_every_check() {
    let report = healthy().run().await;
    assert!(report.failures.is_empty(), "{report}");
    assert_eq!(report.checks.len(), 14);
    assert!(report.calls > 500, "{} calls", report.calls);
}

/// As a model with an HTTP client of its own would be tested.
#[tokio::test]
async fn it_passes_over_sockets_too() {
    let own = lab::real_transport().unwrap();
    let suite = Conformance::of_model(move |site| {
        acme::model(Acme::new(site), &Site { transport: Arc::clone(&own), ..site.clone() })
    });
    let report = with_samples(suite).over_sockets().places(6).run().await;
    assert!(report.failures.is_empty(), "{report}");
}

#[tokio::test]
async fn what_a_sample_is_said_to_give_is_compared() {
    for (sample, words) in [
        (Sample::stream("s", HELLO).text("Hello."), "its text should be \"Hello.\", but is \"Héllo.\""),
        (Sample::stream("s", HELLO).finish(UnifiedFinish::Length), "should finish as `length`"),
        (Sample::stream("s", HELLO).fails(ErrorClass::Quota), "should fail as `quota`, but finishes"),
        (Sample::stream("s", "data: {}\n\n"), "should finish, but fails with"),
        (Sample::error("s", 401, "{}", ErrorClass::Quota), "should fail as `quota`, but fails with `auth"),
    ] {
        let suite = Conformance::of_codec(|site| Ok(Acme::new(site))).sample(sample).only("outcome", "s");
        let report = suite.run().await;
        assert_eq!(report.failures.len(), 1, "{report}");
        assert!(report.failures[0].message.contains(words), "{report}");
    }
}

#[tokio::test]
async fn one_check_runs_alone_on_one_sample() {
    let report = healthy().only("cuts", "hello").run().await;
    assert_eq!(report.checks, ["cuts"]);
    assert!(report.calls > HELLO.len() && report.calls < 2 * HELLO.len() + 120, "{}", report.calls);

    let report = healthy().only("kuts", "").run().await;
    assert!(
        report.failures[0].message.contains("no check is called \"kuts\"; there are outcome, cuts"),
        "{report}"
    );
    let report = healthy().only("cuts", "nope").run().await;
    assert!(report.failures[0].message.contains("there are no samples"), "{report}");
}

#[tokio::test]
#[should_panic(expected = "alone: Conformance::… .only(\"outcome\", \"s\").check()")]
async fn a_failure_says_how_to_see_it_alone() {
    let suite = Conformance::of_codec(|site| Ok(Acme::new(site)));
    suite.sample(Sample::stream("s", HELLO).text("x")).check().await;
}
