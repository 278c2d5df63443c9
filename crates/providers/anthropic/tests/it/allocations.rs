//! What a delta costs in memory.

use ai_anthropic::MessagesCodec;
use ai_http::{CallInfo, Codec, Endpoint, Event, IdSeed, Next, Parts};
use ai_provider::{Delivery, RequestId, StreamPart, TargetId};

use crate::support::ENDPOINT;

/// [AN-140]
#[test]
fn a_delta_costs_one_allocation() {
    let target = TargetId::new("anthropic", "m", ENDPOINT);
    let ids = IdSeed::new(&RequestId::from("r"));
    let info = CallInfo { target: &target, account: None, delivery: Delivery::Stream, ids };
    let codec = MessagesCodec::new(Endpoint::base(ENDPOINT).unwrap());
    for (block, delta) in [
        (r#"{"type":"text","text":""}"#, r#"{"type":"text_delta","text":" word"}"#),
        (r#"{"type":"thinking","thinking":""}"#, r#"{"thinking":" word","type":"thinking_delta"}"#),
        (r#"{"type":"compaction","content":null}"#, r#"{"type":"compaction_delta","content":" word"}"#),
    ] {
        let begin = format!(r#"{{"type":"content_block_start","index":0,"content_block":{block}}}"#);
        let data = format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta},"extra":[1]}}"#);
        let mut decoder = codec.decoder(&info);
        let mut out = Parts::default();
        let mut feed = |data: &str, times: u64| {
            for number in 0..times {
                let event = Event { name: Some("content_block_delta"), data, number };
                assert_eq!(decoder.event(event, &mut out).unwrap(), Next::More);
                while let Some(part) = out.pop() {
                    assert!(!matches!(part, StreamPart::Finish(_)));
                }
            }
        };
        feed(&begin, 1);
        feed(&data, 10);
        let counted = allocation_counter::measure(|| feed(&data, 1_000));
        assert_eq!(counted.count_total, 1_000, "{delta}");
    }
}
