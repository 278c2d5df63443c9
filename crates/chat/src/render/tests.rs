#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use ai_provider::Usage;
use anstream::adapter::strip_str;
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// One end of a terminal that both streams write to.
#[derive(Clone, Default)]
struct Tty(Rc<RefCell<Vec<u8>>>);

impl Write for Tty {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn chunks(values: Value) -> Vec<UiChunk> {
    serde_json::from_value(values).unwrap()
}

/// What stands on a terminal, with its styles.
fn terminal(chunks: &[UiChunk]) -> String {
    let tty = Tty::default();
    let mut screen = Screen::new(tty.clone(), tty.clone(), true);
    chunks.iter().for_each(|chunk| screen.chunk(chunk).unwrap());
    String::from_utf8(tty.0.take()).unwrap()
}

/// What goes to each of two streams that end in different places.
fn apart(chunks: &[UiChunk]) -> (String, String) {
    let mut screen = Screen::new(Vec::new(), Vec::new(), false);
    chunks.iter().for_each(|chunk| screen.chunk(chunk).unwrap());
    (String::from_utf8(screen.out).unwrap(), strip_str(&String::from_utf8(screen.err).unwrap()).to_string())
}

fn two_steps() -> Vec<UiChunk> {
    chunks(json!([
        {"type": "start"},
        {"type": "start-step"},
        {"type": "reasoning-start", "id": "r"},
        {"type": "reasoning-delta", "id": "r", "delta": "I need\na "},
        {"type": "reasoning-delta", "id": "r", "delta": "calculator."},
        {"type": "reasoning-end", "id": "r"},
        {"type": "text-start", "id": "t"},
        {"type": "text-delta", "id": "t", "delta": "One moment."},
        {"type": "text-end", "id": "t"},
        {"type": "tool-input-start", "toolCallId": "1", "toolName": "calculator"},
        {"type": "tool-input-available", "toolCallId": "1", "toolName": "calculator", "input": {"expression": "17*23"}},
        {"type": "tool-input-available", "toolCallId": "2", "toolName": "read_file", "input": {"path": "x"}},
        {"type": "tool-output-available", "toolCallId": "1", "output": "…", "preliminary": true},
        {"type": "tool-output-available", "toolCallId": "1", "output": "391"},
        {"type": "tool-output-error", "toolCallId": "2", "errorText": "there is no `x`"},
        {"type": "finish-step"},
        {"type": "start-step"},
        {"type": "text-start", "id": "u"},
        {"type": "text-delta", "id": "u", "delta": "It is "},
        {"type": "text-delta", "id": "u", "delta": "391."},
        {"type": "text-end", "id": "u"},
        {"type": "finish-step"},
        {"type": "finish"},
    ]))
}

/// [CH-32]
#[test]
fn a_run_reads_well_on_a_terminal() {
    let shown = terminal(&two_steps());
    assert_eq!(
        strip_str(&shown).to_string(),
        "I need\na calculator.\nOne moment.\n→ calculator {\"expression\":\"17*23\"}\n→ read_file {\"path\":\"x\"}\n← \
         calculator 391\n✗ read_file there is no `x`\nIt is 391.\n"
    );
    assert!(shown.contains("\u{1b}[2mI need\u{1b}[0m\n\u{1b}[2ma \u{1b}[0m"), "{shown:?}");
    assert!(shown.contains("\nOne moment.\n") && shown.ends_with("\nIt is 391.\n"), "{shown:?}");
}

/// [CH-33]
#[test]
fn the_answer_alone_goes_to_standard_output() {
    let (out, err) = apart(&two_steps());
    assert_eq!(out, "One moment.\nIt is 391.\n");
    assert!(err.starts_with("I need\na calculator.\n→ calculator") && !err.contains("moment"));
}

/// [CH-32]
#[test]
fn blocks_that_overlap_do_not_share_a_line() {
    let overlapping = chunks(json!([
        {"type": "reasoning-delta", "id": "r", "delta": "think"},
        {"type": "text-delta", "id": "t", "delta": "say"},
        {"type": "reasoning-delta", "id": "r", "delta": "more"},
        {"type": "reset-step"},
        {"type": "text-delta", "id": "t", "delta": "again"},
        {"type": "error", "errorText": "broken"},
    ]));
    let shown = strip_str(&terminal(&overlapping)).to_string();
    let lines: Vec<_> = shown.lines().collect();
    let void = "the answer broke off and is begun again; what stands above is void";
    assert_eq!(lines, ["think", "say", "more", void, "again"]);
    assert_eq!(apart(&overlapping).0, "sayagain\n");
}

/// [CH-30] [CH-31]
#[test]
fn a_hostile_model_cannot_drive_the_terminal() {
    let evil = "\u{1b}]0;owned\u{7}\u{9b}2J\rx\u{202e}";
    let long = format!("{evil}\n{}", "z".repeat(10_000));
    let shown = terminal(&chunks(json!([
        {"type": "text-delta", "id": "t", "delta": evil},
        {"type": "reasoning-delta", "id": "r", "delta": evil},
        {"type": "tool-input-available", "toolCallId": "1", "toolName": evil, "input": long},
        {"type": "tool-output-available", "toolCallId": "1", "output": long},
        {"type": "tool-output-error", "toolCallId": "1", "errorText": long},
        {"type": "source-url", "sourceId": "s", "url": evil, "title": evil},
        {"type": "source-document", "sourceId": "s", "mediaType": evil, "title": evil},
        {"type": "file", "url": "data:", "mediaType": evil},
    ])));
    // What is left of escapes are the styles, which are ours.
    let plain = strip_str(&shown).to_string();
    assert!(!plain.contains(|c: char| c.is_control() && c != '\n'), "{plain:?}");
    assert_eq!(plain.lines().count(), 8, "{plain}");
    assert!(plain.lines().all(|line| line.chars().count() < 250), "{plain}");
    let mut screen = Screen::new(Vec::new(), Vec::new(), true);
    screen.error(evil, Some(evil)).unwrap();
    assert!(!strip_str(&String::from_utf8(screen.err).unwrap()).to_string().contains('\u{1b}'));
}

proptest! {
    /// [CH-33] [CH-34]
    #[test]
    fn json_lines_are_the_chunks_and_nothing_else(text in "\\PC{0,20}[\\x00-\\x1f\u{7f}-\u{9f}]{0,4}\\PC{0,5}") {
        let chunk = UiChunk::TextDelta { id: "1".into(), delta: text.clone(), provider_metadata: None };
        let line = json_line(&chunk).unwrap();
        prop_assert!(!line.contains(|c: char| c.is_control()));
        prop_assert_eq!(serde_json::from_str::<UiChunk>(&line).unwrap(), chunk.clone());
        prop_assert_eq!(apart(&[chunk]).0, visible(&text));
    }
}

/// [CH-35]
#[test]
fn the_summary_leaves_out_what_is_not_known() {
    let line = |usage: Usage, steps| {
        summary_line(&Summary {
            model: "p:m",
            steps,
            usage: &usage,
            cost: None,
            time: Duration::from_millis(2_449),
        })
    };
    let mut usage = Usage::default();
    assert_eq!(line(usage.clone(), 1), "p:m · 1 step · tokens unknown · 2.4 s");
    usage.output.total = Some(96);
    assert_eq!(line(usage.clone(), 2), "p:m · 2 steps · 96 tokens out · 2.4 s");
    usage.input.total = Some(1_234_567);
    usage.input.cache_read = Some(0);
    usage.output.reasoning = Some(64);
    assert_eq!(line(usage.clone(), 2), "p:m · 2 steps · 1,234,567 tokens in, 96 out (64 reasoning) · 2.4 s");
    usage.input.cache_read = Some(1_024);
    usage.output.total = None;
    assert_eq!(line(usage, 0), "p:m · 0 steps · 1,234,567 tokens in (1,024 cached) · 2.4 s");
}
