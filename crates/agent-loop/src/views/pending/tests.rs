use super::*;
use crate::UiProtocol;

fn view(lines: &[&str]) -> PendingView {
    let mut view = PendingView::default();
    for line in lines {
        view.push(&UiProtocol::V7.decode(line).unwrap());
    }
    view
}

fn pieces(view: &PendingView) -> Vec<(&str, &str)> {
    view.blocks().map(|block| (block.stable, block.tail)).collect()
}

/// [AL-215] [AL-217]
#[test]
fn blocks_grow_apart_and_are_stable_when_they_end() {
    let mut lines = vec![
        r#"{"type":"start-step"}"#,
        r#"{"type":"text-start","id":"1"}"#,
        r#"{"type":"text-start","id":"2"}"#,
        r#"{"type":"text-delta","id":"1","delta":"One.\n\nT"}"#,
        r#"{"type":"reasoning-start","id":"1"}"#,
        r#"{"type":"reasoning-delta","id":"1","delta":"hidden"}"#,
        r#"{"type":"text-delta","id":"2","delta":"Other"}"#,
        r#"{"type":"text-delta","id":"1","delta":"wo"}"#,
    ];
    assert_eq!(pieces(&view(&lines)), [("One.\n\n", "Two"), ("", "Other")]);
    lines.push(r#"{"type":"text-end","id":"1"}"#);
    assert_eq!(pieces(&view(&lines)), [("One.\n\nTwo", ""), ("", "Other")]);
    // A step that is taken back takes its text with it, and no other.
    lines.extend([
        r#"{"type":"text-end","id":"2"}"#,
        r#"{"type":"start-step"}"#,
        r#"{"type":"text-start","id":"3"}"#,
        r#"{"type":"text-delta","id":"3","delta":"Half"}"#,
        r#"{"type":"reset-step"}"#,
        r#"{"type":"text-delta","id":"3","delta":"late"}"#,
    ]);
    assert_eq!(pieces(&view(&lines)), [("One.\n\nTwo", ""), ("Other", "")]);
}

/// [AL-218]
#[test]
fn only_the_answer_is_visible_text() {
    let shown: Vec<_> =
        crate::ui::samples::chunks().iter().filter_map(visible_text).map(str::to_owned).collect();
    assert_eq!(shown, ["Hi \"you\"\n", "Hi \"you\"\n"]);
}
