//! What a delta costs in memory.

use ai_google::GenerateContentCodec;
use ai_http::{CallInfo, Codec, Endpoint, Event, IdSeed, Next, Parts};
use ai_provider::{Delivery, RequestId, StreamPart, TargetId};

use crate::support::ENDPOINT;

/// [GG-30]
#[test]
fn a_delta_costs_one_allocation() {
    let target = TargetId::new("google", "m", ENDPOINT);
    let ids = IdSeed::new(&RequestId::from("r"));
    let info = CallInfo { target: &target, account: None, delivery: Delivery::Stream, ids };
    let codec = GenerateContentCodec::new(Endpoint::base(ENDPOINT).unwrap());
    for part in [r#"{"text":" word"}"#, r#"{"text":" word","thought":true}"#] {
        let frames: Vec<_> = (0..1_000)
            .map(|at| {
                format!(
                    r#"{{"candidates":[{{"content":{{"parts":[{part}],"role":"model"}},"index":0,"safetyRatings":[{{"category":"A","probability":"LOW"}}]}}],"usageMetadata":{{"promptTokenCount":9,"candidatesTokenCount":{},"totalTokenCount":1234,"promptTokensDetails":[{{"modality":"TEXT","tokenCount":9}}]}},"modelVersion":"gemini-2.5-flash","responseId":"r1"}}"#,
                    1_000 + at
                )
            })
            .collect();
        let mut decoder = codec.decoder(&info);
        let mut out = Parts::default();
        let mut feed = || {
            for (number, frame) in (1..).zip(&frames) {
                let event = Event { name: None, data: frame, number };
                assert_eq!(decoder.event(event, &mut out).unwrap(), Next::More);
                while let Some(part) = out.pop() {
                    assert!(!matches!(part, StreamPart::Finish(_)));
                }
            }
        };
        feed();
        assert_eq!(allocation_counter::measure(feed).count_total, 1_000, "{part}");
    }
}
