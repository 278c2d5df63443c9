use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use super::config::LoopGuard;
use super::input::Verdict;
use super::record::StepRecord;

/// What the guard says at the end of these steps.
pub(super) fn look(guard: LoopGuard, steps: &[Arc<StepRecord>]) -> Option<Verdict> {
    let LoopGuard { warn, stop } = guard;
    let most = warn.max(stop)?.max(1);
    let (tool, times) = repeated(steps, most)?;
    match (warn, stop) {
        (_, Some(stop)) if times >= stop => Some(Verdict::LoopGuard { tool }),
        (Some(warn), _) if times >= warn => Some(Verdict::LoopWarning { tool, times }),
        _ => None,
    }
}

/// The call of the last step that was made in the most steps in a row, and in how many; it looks back over `most`
/// steps.
fn repeated(steps: &[Arc<StepRecord>], most: u32) -> Option<(String, u32)> {
    let (last, before) = steps.split_last()?;
    let mut repeated = calls(last).collect::<HashSet<_>>();
    let mut times = u32::from(!repeated.is_empty());
    for step in before.iter().rev() {
        if times >= most {
            break;
        }
        let mut made = calls(step).collect::<HashSet<_>>();
        made.retain(|call| repeated.contains(call));
        if made.is_empty() {
            break;
        }
        repeated = made;
        times += 1;
    }
    // The first of them in the order of the calls, so that the same steps always give the same word.
    let named = calls(last).find(|call| repeated.contains(call))?;
    Some((named.0.to_owned(), times))
}

fn calls(step: &StepRecord) -> impl Iterator<Item = (&str, Value)> {
    let client = step.message.tool_calls().filter(|call| !call.provider_executed);
    client.map(|call| {
        let input = call.input_json().unwrap_or_else(|_| Value::String(call.input.clone()));
        (call.name.as_str(), input)
    })
}
