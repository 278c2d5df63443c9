//! What a delta costs in memory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use ai_http::{CallInfo, Codec, Endpoint, Event, IdSeed, Next, Parts};
use ai_openai::ChatCodec;
use ai_provider::{Delivery, RequestId, StreamPart, TargetId};
use support::{ENDPOINT, ch, dialect};

/// [OA-110]
#[test]
fn a_delta_costs_one_allocation() {
    let target = TargetId::new("openai", "m", ENDPOINT);
    let ids = IdSeed::new(&RequestId::from("r"));
    let info = CallInfo { target: &target, account: None, delivery: Delivery::Stream, ids };
    for name in ["openai", "deepseek", "mistral", "perplexity"] {
        let codec = ChatCodec::new(dialect(name), Endpoint::base(ENDPOINT).unwrap());
        for field in ["content", "reasoning_content"] {
            let mut decoder = codec.decoder(&info);
            let mut out = Parts::default();
            let frame = ch(&format!(r#"{{"{field}":" word"}}"#));
            let frame = frame.trim().strip_prefix("data: ").unwrap().replace(
                r#""choices""#,
                r#""usage":{"prompt_tokens":1},"citations":["https://a"],"system_fingerprint":"f","choices""#,
            );
            let mut feed = |deltas: u64| {
                for number in 0..deltas {
                    let event = Event { name: None, data: &frame, number };
                    assert_eq!(decoder.event(event, &mut out).unwrap(), Next::More);
                    while let Some(part) = out.pop() {
                        assert!(!matches!(part, StreamPart::Finish(_)));
                    }
                }
            };
            feed(10);
            let counted = allocation_counter::measure(|| feed(1_000));
            assert_eq!(counted.count_total, 1_000, "{name} {field}");
        }
    }
}
