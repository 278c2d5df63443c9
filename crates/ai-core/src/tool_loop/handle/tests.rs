use super::{DecideError, Decision, Decisions};

/// [AC-24]
#[test]
fn once_no_decision_was_found_none_is_accepted_any_more() {
    let decisions = Decisions::default();
    decisions.ask("a".into());
    decisions.decide(&"a".into(), Decision::approve()).unwrap();
    assert_eq!(decisions.take_or_close(), Some(("a".into(), Decision::approve())));
    decisions.ask("b".into());
    assert_eq!(decisions.take_or_close(), None, "the run ends to wait");
    assert_eq!(decisions.decide(&"b".into(), Decision::approve()), Err(DecideError::Closed));
    assert_eq!(decisions.decide(&"a".into(), Decision::approve()), Ok(()), "the same again");
}
