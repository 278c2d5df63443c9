use super::Hooks;

/// Folds the hooks of several contributors into one set: for each hook, the handlers of the first part, then those of
/// the second, and so on.
///
/// ```
/// use agent_loop::{Hooks, compose_hooks};
/// let first = Hooks::new().on_start(|_| async { Ok(()) });
/// assert!(!compose_hooks([first, Hooks::new()]).is_empty());
/// assert!(compose_hooks([]).is_empty());
/// ```
pub fn compose_hooks(parts: impl IntoIterator<Item = Hooks>) -> Hooks {
    parts.into_iter().reduce(append).unwrap_or_default()
}

fn append(mut all: Hooks, part: Hooks) -> Hooks {
    let Hooks { start, prepare_step, step_finish, tool_start, tool_end, finish, abort, error, settled } =
        part;
    all.start.extend(start);
    all.prepare_step.extend(prepare_step);
    all.step_finish.extend(step_finish);
    all.tool_start.extend(tool_start);
    all.tool_end.extend(tool_end);
    all.finish.extend(finish);
    all.abort.extend(abort);
    all.error.extend(error);
    all.settled.extend(settled);
    all
}
