//! What a delta costs in memory.

use ai_http::{CallInfo, Codec, Event, IdSeed, Next, Parts};
use ai_provider::{Delivery, RequestId, StreamPart, TargetId};
use serde_json::json;

use crate::support::{ENDPOINT, added, codec, created, delta, function_call};

/// [OA-290]
#[test]
fn a_delta_costs_one_allocation() {
    let target = TargetId::new("openai", "m", ENDPOINT);
    let ids = IdSeed::new(&RequestId::from("r"));
    let info = CallInfo { target: &target, account: None, delivery: Delivery::Stream, ids };
    let message = json!({"type": "message", "id": "msg_1", "content": []});
    let thought = json!({"type": "reasoning", "id": "rs_1"});
    for name in ["openai", "xai", "lmstudio"] {
        for (item, id, kind) in [
            (message.clone(), "msg_1", "output_text"),
            (thought.clone(), "rs_1", "reasoning_summary_text"),
            (thought.clone(), "rs_1", "reasoning_text"),
        ] {
            let mut decoder = codec(name).decoder(&info);
            let mut out = Parts::default();
            let mut feed = |frame: &str, times: u64| {
                for number in 0..times {
                    let event = Event { name: Some("response.output_text.delta"), data: frame, number };
                    assert_eq!(decoder.event(event, &mut out).unwrap(), Next::More);
                    while let Some(part) = out.pop() {
                        assert!(!matches!(part, StreamPart::Finish(_)));
                    }
                }
            };
            feed(&created().to_string(), 1);
            feed(&added(0, item).to_string(), 1);
            let mut frame = delta(kind, 0, id, " word");
            frame["logprobs"] = json!([]);
            frame["obfuscation"] = "x9Ab".into();
            let frame = frame.to_string();
            feed(&frame, 10);
            let counted = allocation_counter::measure(|| feed(&frame, 1_000));
            assert_eq!(counted.count_total, 1_000, "{name} {kind}");
        }
        // The pieces of an input are gathered too, which grows now and then.
        let mut decoder = codec(name).decoder(&info);
        let mut out = Parts::default();
        let mut feed = |frame: &str, times: u64| {
            for number in 0..times {
                decoder.event(Event { name: None, data: frame, number }, &mut out).unwrap();
                while out.pop().is_some() {}
            }
        };
        feed(&added(0, function_call("fc_1", "call_1", "f", "")).to_string(), 1);
        let frame = delta("function_call_arguments", 0, "fc_1", " ").to_string();
        feed(&frame, 10);
        let counted = allocation_counter::measure(|| feed(&frame, 1_000));
        assert!((1_000..1_020).contains(&counted.count_total), "{name}: {}", counted.count_total);
    }
}
