use std::fmt;
use std::time::Duration;

use ai_provider::{AttemptEnd, AttemptEvent, AttemptKind, KeyLabel};

/// What happened to the calls of a run, one line a step, made of its [`AttemptEvent`]s alone.
///
/// ```
/// use ai_provider::{AttemptEnd, AttemptEvent, AttemptKind, TargetId, UnifiedFinish};
/// use retry::Timeline;
///
/// let mut timeline = Timeline::new();
/// let event = |kind| AttemptEvent::new(1, TargetId::new("p", "m", "e"), "r".into(), kind).in_step(2);
/// timeline.push(&event(AttemptKind::Started));
/// timeline.push(&event(AttemptKind::Settled { end: AttemptEnd::Answered { finish: UnifiedFinish::ToolCalls } }));
/// assert_eq!(timeline.to_string(), "step 2 attempt 1 started · finished tool-calls");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    lines: Vec<String>,
    /// Whether the last line goes on.
    open: bool,
}

impl Timeline {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an event.
    pub fn push(&mut self, event: &AttemptEvent) {
        let entry = entry(event);
        match self.lines.last_mut().filter(|_| self.open) {
            Some(line) => {
                line.push_str(" · ");
                line.push_str(&entry);
            }
            None => {
                let step = event.step.map(|step| format!("step {step} ")).unwrap_or_default();
                self.lines.push(step + &entry);
            }
        }
        self.open = !matches!(event.kind, AttemptKind::Settled { .. });
    }

    /// The lines so far.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }
}

impl fmt::Display for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines.join("\n"))
    }
}

fn entry(event: &AttemptEvent) -> String {
    match &event.kind {
        AttemptKind::Started => format!("attempt {} started", event.attempt),
        AttemptKind::Failed { error, safe, hint, .. } => {
            let mut text = error.status.map_or_else(|| error.class.to_string(), |status| status.to_string());
            if let Some(hint) = hint {
                text.push_str(&format!(", hint {}", Seconds(*hint)));
            }
            text.push_str(if *safe { ", safe" } else { ", after output" });
            text
        }
        AttemptKind::Rotated { .. } => {
            format!("key {}", event.key.as_ref().map_or("-", KeyLabel::as_str))
        }
        AttemptKind::FellBack { .. } => format!("fell back to {}", event.target),
        AttemptKind::Skipped { name, why } => format!("{name} passed over: {why}"),
        AttemptKind::Waiting { delay, .. } => format!("waiting {}", Seconds(*delay)),
        AttemptKind::Settled { end: AttemptEnd::Answered { finish } } => {
            format!("finished {}", finish.as_str())
        }
        AttemptKind::Settled { end: AttemptEnd::Cancelled } => "cancelled".to_owned(),
        AttemptKind::Settled { .. } => "given up".to_owned(),
        _ => "something else".to_owned(),
    }
}

/// A time as people say it: whole seconds where it has some, two decimals below a minute.
struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = (self.0.as_millis() + 5) / 10;
        let (whole, part) = (hundredths / 100, hundredths % 100);
        match part {
            _ if whole >= 60 => write!(f, "{whole} s"),
            0 => write!(f, "{whole} s"),
            part if part % 10 == 0 => write!(f, "{whole}.{} s", part / 10),
            part => write!(f, "{whole}.{part:02} s"),
        }
    }
}
