use ai_provider::ReasoningEffort::{self, *};
use ai_provider::{Delivery, Message, Request, ResponseFormat, Settings, ToolChoice};
use proptest::prelude::*;
use serde_json::json;

use crate::support::check;
use crate::support::strategies::{EFFORTS, effort};

/// [PV-17]
#[test]
fn a_budget_is_a_share_of_the_limit_rounded_half_up() {
    let share = |effort: ReasoningEffort, max| effort.budget(max, 0, u64::MAX).unwrap();
    let cases = [(Minimal, 200), (Low, 1_000), (Medium, 3_000), (High, 6_000), (XHigh, 9_000)];
    for (effort, budget) in cases {
        assert_eq!(share(effort, 10_000), budget);
    }
    assert_eq!((share(Minimal, 24), share(Minimal, 25)), (0, 1), "0.48 and 0.5");
    assert_eq!((share(Low, 14), share(Low, 15)), (1, 2), "1.4 and 1.5");
    assert_eq!((share(Medium, 1), share(Medium, 2)), (0, 1), "0.3 and 0.6");
    assert_eq!((share(High, 1), share(XHigh, 1)), (1, 1), "0.6 and 0.9");
    assert_eq!(share(XHigh, u64::MAX), 16_602_069_666_338_596_454, "no overflow on the way");
}

/// [PV-18]
#[test]
fn a_budget_is_never_below_the_floor_nor_above_the_maximum() {
    let strategy = (effort(), any::<u64>(), 0..5_000_u64, 0..200_000_u64, 0..200_000_u64);
    let met = check(2_000, strategy, |(effort, huge, floor, max, maximum), met| {
        let Some(budget) = effort.budget(max, floor, maximum) else {
            prop_assert!(matches!(effort, ProviderDefault | None));
            return Ok(());
        };
        let share = effort.budget(max, 0, u64::MAX).unwrap();
        if maximum < floor {
            met.note("maximum below floor");
            prop_assert_eq!(budget, maximum);
        } else {
            prop_assert!((floor..=maximum).contains(&budget));
            let name = if share < floor {
                "raised"
            } else if share > maximum {
                "cut"
            } else {
                "as it is"
            };
            met.note(name);
            prop_assert_eq!(budget, share.clamp(floor, maximum));
        }
        prop_assert!(effort.budget(huge, floor, maximum).unwrap() <= maximum);
        Ok(())
    });
    met.at_least(5, ["raised"]);
    met.at_least(5, ["cut"]);
    met.at_least(5, ["as it is"]);
    assert_eq!(Low.budget(4_096, 1_024, 512), Some(512));
    assert_eq!(Low.budget(4_096, 1_024, 32_000), Some(1_024));
}

/// [PV-19]
#[test]
fn neither_the_default_nor_none_has_a_budget() {
    for effort in [ProviderDefault, ReasoningEffort::None] {
        assert_eq!(effort.budget(10_000, 1_024, 32_000), Option::None);
    }
    assert!(ProviderDefault.is_default());
    assert_eq!(EFFORTS.iter().filter(|effort| effort.is_default()).count(), 1);
    assert_eq!(ReasoningEffort::None.as_str(), Some("none"), "`none` is a request, not an absence");
    assert!(EFFORTS.is_sorted(), "efforts compare by how much they ask for");
}

/// [PV-20]
#[test]
fn a_new_request_asks_for_nothing_but_an_answer() {
    let request = Request::new([Message::system("Be brief."), Message::user("Hi")]);
    assert_eq!(request.messages.len(), 2);
    assert_eq!(request.settings, Settings::default());
    assert!(request.settings.reasoning.is_default());
    assert_eq!((request.tools.len(), &request.tool_choice), (0, &ToolChoice::Auto));
    assert_eq!(request.response_format, ResponseFormat::Text);
    assert_eq!((request.delivery, request.include_raw), (Delivery::Stream, false));
    assert!(request.options.is_empty() && request.extra_body.is_empty() && request.extra_headers.is_empty());
}

/// [PV-20]
#[test]
fn a_clone_of_a_request_shares_its_messages_and_tools() {
    let tool = ai_provider::ProviderTool { id: "a.b".into(), name: "b".into(), args: Default::default() };
    let request = Request::new([Message::user("Hi")])
        .with_tools([ai_provider::ToolDefinition::Provider(tool)])
        .with_extra("service_tier", json!("flex"));
    let mut clone = request.clone();
    assert!(std::sync::Arc::ptr_eq(&request.messages[0], &clone.messages[0]));
    assert!(std::sync::Arc::ptr_eq(&request.tools, &clone.tools));
    clone = clone.with_extra("service_tier", json!("fast"));
    assert_eq!(request.extra_body.get("service_tier"), Some(&json!("flex")));
    assert_eq!(clone.extra_body.get("service_tier"), Some(&json!("fast")));
}
