use ai_core::run::DeliveryUnknown;
use ai_provider::{Id, RequestId, TargetId};

use super::*;

const SECRET: &str = "account of Ada Lovelace";

/// [AL-245] [AL-253]
#[test]
fn words_of_passed_over_targets_and_known_effects_are_content() {
    let target = TargetId::new("p", "m", "");
    for content in [false, true] {
        let redaction = Redaction { content, key: vec![1] };
        let kind = AttemptKind::Skipped { name: "second".to_owned(), why: SECRET.to_owned() };
        let skipped = redaction.attempt(&AttemptEvent::new(2, target.clone(), RequestId::from("r"), kind));
        let status = redaction.status(&ToolStatus::DeliveryUnknown(DeliveryUnknown {
            tool: "pay".to_owned(),
            call_id: Id::from("c"),
            target: target.clone(),
            request_id: RequestId::from("r"),
            known_effects: vec![SECRET.to_owned()],
            timed_out: true,
        }));
        for told in [format!("{skipped:?}"), format!("{status:?}")] {
            assert_eq!(told.contains(SECRET), content, "{told}");
        }
    }
}
