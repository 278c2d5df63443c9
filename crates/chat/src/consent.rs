//! Whether a tool that has effects may run: the person is asked, where there is one.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{self, IsTerminal};
use std::sync::{Mutex, PoisonError};

use agent_loop::UiChunk;
use ai_core::Decision;
use ai_provider::Id;
use rustyline::config::{Behavior, Config};
use rustyline::history::MemHistory;
use rustyline::{Editor, error::ReadlineError};
use tokio::task::JoinHandle;

use crate::text::{shorten, visible_line};

/// The most characters of an input that are shown: what does not fit on a screen is not read before a decision either.
const INPUT: usize = 2_000;

/// What the model reads where nobody can be asked.
const NOBODY: &str = "Nobody can be asked: the program does not run in a terminal.";

/// How consent is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Ask,
    Allow,
    Deny,
}

/// Gives or refuses consent, and remembers what was allowed for good.
#[derive(Debug)]
pub(crate) struct Consent {
    mode: Mode,
    always: Mutex<HashSet<String>>,
}

/// What a person answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reply {
    Yes,
    Always,
    No,
    /// Ctrl-C: the whole answer is to end.
    Stop,
}

impl Consent {
    /// A person is asked if the program talks to one; `yes` allows everything.
    pub(crate) fn new(yes: bool) -> Self {
        let person = io::stdin().is_terminal() && io::stderr().is_terminal();
        let mode = match (yes, person) {
            (true, _) => Mode::Allow,
            (false, true) => Mode::Ask,
            (false, false) => Mode::Deny,
        };
        Self { mode, always: Mutex::default() }
    }

    /// The questions of one run.
    pub(crate) fn questions(&self) -> Questions<'_> {
        Questions { consent: self, calls: HashMap::new(), waiting: VecDeque::new(), asking: None }
    }

    /// The decision about a call that takes no question.
    fn decided(&self, tool: &str) -> Option<Decision> {
        let always = || self.always.lock().unwrap_or_else(PoisonError::into_inner).contains(tool);
        match self.mode {
            Mode::Allow => Some(Decision::approve()),
            Mode::Deny => Some(Decision::deny(NOBODY)),
            Mode::Ask => always().then(Decision::approve),
        }
    }

    fn remember(&self, tool: &str) {
        self.always.lock().unwrap_or_else(PoisonError::into_inner).insert(tool.to_owned());
    }
}

/// Calls of a run that wait for a decision. One is asked about at a time.
#[derive(Debug)]
pub(crate) struct Questions<'a> {
    consent: &'a Consent,
    /// Name and input of each call.
    calls: HashMap<Id, (String, String)>,
    waiting: VecDeque<Id>,
    asking: Option<(Id, JoinHandle<Reply>)>,
}

impl Questions<'_> {
    /// Hears of calls and of questions about them; says whether there is something to decide.
    pub(crate) fn hear(&mut self, chunk: &UiChunk) -> bool {
        match chunk {
            UiChunk::ToolInputAvailable { tool_call_id, tool_name, input, .. } => {
                self.calls.insert(tool_call_id.clone(), (tool_name.clone(), input.to_string()));
                false
            }
            UiChunk::ToolApprovalRequest { tool_call_id, is_automatic, .. }
                if *is_automatic != Some(true) =>
            {
                self.waiting.push_back(tool_call_id.clone());
                true
            }
            _ => false,
        }
    }

    /// Whether a call waits for a decision.
    pub(crate) fn any(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The next decision; `None` if the person wants the whole answer to end. Waits for ever while there is nothing to
    /// decide.
    pub(crate) async fn answered(&mut self) -> Option<(Id, Decision)> {
        if self.asking.is_none() {
            let Some(call) = self.waiting.pop_front() else { return std::future::pending().await };
            let (tool, input) = self.calls.get(&call).cloned().unwrap_or_default();
            if let Some(decision) = self.consent.decided(&tool) {
                return Some((call, decision));
            }
            self.asking = Some((call, ask(&tool, &input)));
        }
        let Some((call, asking)) = &mut self.asking else { return std::future::pending().await };
        let reply = asking.await.unwrap_or(Reply::No);
        let call = call.clone();
        self.asking = None;
        let tool = self.calls.get(&call).map(|(tool, _)| tool.as_str()).unwrap_or_default();
        match reply {
            Reply::Stop => return None,
            Reply::Always => self.consent.remember(tool),
            Reply::Yes | Reply::No => {}
        }
        let decision = match reply {
            Reply::No => Decision::deny("The user declined."),
            _ => Decision::approve(),
        };
        Some((call, decision))
    }
}

/// Asks on the terminal, on a thread of its own: the run goes on meanwhile.
fn ask(tool: &str, input: &str) -> JoinHandle<Reply> {
    let question = question(tool, input);
    #[allow(
        clippy::disallowed_methods,
        reason = "reading a terminal blocks, and the run has other things to do"
    )]
    tokio::task::spawn_blocking(move || {
        // The terminal itself, wherever standard output goes.
        let config = Config::builder().behavior(Behavior::PreferTerm).build();
        let Ok(mut editor) = Editor::<(), _>::with_history(config, MemHistory::new()) else {
            return Reply::No;
        };
        loop {
            match editor.readline(&question) {
                Ok(line) => match reply(&line) {
                    Some(reply) => return reply,
                    None => continue,
                },
                Err(ReadlineError::Interrupted) => return Reply::Stop,
                Err(_) => return Reply::No,
            }
        }
    })
}

fn question(tool: &str, input: &str) -> String {
    let (tool, input) = (visible_line(tool), visible_line(&shorten(input, INPUT)));
    format!("Run {tool} with {input}? [y]es, [n]o, [a]lways {tool}: ")
}

/// What a line means; nothing if it means nothing. An empty one is a no: consent is never given by accident.
fn reply(line: &str) -> Option<Reply> {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Some(Reply::Yes),
        "a" | "always" => Some(Reply::Always),
        "" | "n" | "no" => Some(Reply::No),
        _ => None,
    }
}
