//! `chat talk`: a conversation.

mod input;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use ai_provider::Message;

use self::input::{Input, Line};
use crate::failure::{FAILED, Failure, INTERRUPTED};
use crate::kept::Kept;
use crate::session::{Answer, Session};
use crate::text::{nearest, shorten};
use crate::view::View;

const HELP: &str = "/help shows this · /clear begins a new conversation · /exit or Ctrl-D leaves · Ctrl-C stops an \
                    answer · // at the beginning of a line asks a question that begins with /";

/// Talks until the user leaves. Gives the exit code: without a terminal it is that of `ask` if any question
/// failed.
///
/// # Errors
/// If input or screen fail.
pub(crate) async fn talk(
    session: &Session,
    mut kept: Option<&mut Kept<'_>>,
    view: &mut View,
) -> Result<u8, Failure> {
    session.introduce(view).map_err(Failure::of_screen)?;
    let mut input = Input::open()?;
    if input.is_interactive() {
        view.note(HELP).map_err(Failure::of_screen)?;
    }
    let (mut history, mut code) = (Vec::new(), 0);
    loop {
        let line = match input.next().await? {
            Line::Text(line) => line,
            Line::Interrupted if input.is_interactive() => {
                view.note("Ctrl-D or /exit leaves.").map_err(Failure::of_screen)?;
                continue;
            }
            Line::Interrupted => return Ok(INTERRUPTED),
            Line::End => return Ok(code),
        };
        match entry(&line) {
            Entry::Nothing => {}
            Entry::Exit => return Ok(code),
            Entry::Help => view.note(HELP).map_err(Failure::of_screen)?,
            Entry::Clear => {
                history.clear();
                if let Some(kept) = &mut kept {
                    kept.begin_anew(view)?;
                }
                view.note("A new conversation begins.").map_err(Failure::of_screen)?;
            }
            Entry::Unknown(complaint) => view.note(&complaint).map_err(Failure::of_screen)?,
            Entry::Question(question) => {
                let (failure, note) = match &mut kept {
                    Some(kept) => (kept.answer(question, view).await?, None),
                    None => {
                        history.push(Arc::new(Message::user(question)));
                        let answer = session.answer(&history, view).await.map_err(Failure::of_screen)?;
                        keep(&mut history, answer)
                    }
                };
                if let Some(failure) = failure {
                    view.failure(&failure).map_err(Failure::of_screen)?;
                    if let Some(note) = note {
                        view.note(note).map_err(Failure::of_screen)?;
                    }
                    if failure.code == INTERRUPTED && !input.is_interactive() {
                        return Ok(INTERRUPTED);
                    }
                    code = if input.is_interactive() { 0 } else { FAILED };
                }
            }
        }
    }
}

const KEPT: &str = "The question stays in the conversation, without an answer.";
const TAKEN_BACK: &str =
    "The question is taken back from the conversation: it would be refused again with each further one.";

/// Adds an answer to the history; gives what failed, and what became of a question that got no answer. It stays,
/// unless the request itself was refused: then each further one, which would hold it too, would be as well.
fn keep(history: &mut Vec<Arc<Message>>, answer: Answer) -> (Option<Failure>, Option<&'static str>) {
    let failed = answer.failure.as_ref().is_some_and(|failure| failure.code != INTERRUPTED);
    let note = (failed && answer.messages.is_empty()).then(|| match answer.refused {
        true => {
            history.pop();
            TAKEN_BACK
        }
        false => KEPT,
    });
    history.extend(answer.messages);
    (answer.failure, note)
}

/// What a line means.
#[derive(Debug, PartialEq, Eq)]
enum Entry {
    Nothing,
    Question(String),
    Help,
    Clear,
    Exit,
    /// A command that is not known, with what to say about it.
    Unknown(String),
}

const COMMANDS: &[&str] = &["help", "clear", "exit", "quit"];

fn entry(line: &str) -> Entry {
    let line = line.trim();
    if let Some(question) = line.strip_prefix("//") {
        return Entry::Question(format!("/{question}"));
    }
    // `/etc/passwd` is a question, `/exti` is not.
    let command = line.strip_prefix('/').filter(|name| name.chars().all(char::is_alphanumeric));
    match (line, command) {
        ("", _) => Entry::Nothing,
        (_, None) => Entry::Question(line.to_owned()),
        (_, Some("" | "help" | "h")) => Entry::Help,
        (_, Some("clear" | "new" | "reset")) => Entry::Clear,
        (_, Some("exit" | "quit" | "q")) => Entry::Exit,
        (_, Some(name)) => {
            let meant = nearest(name, COMMANDS.iter().copied());
            let meant = meant.map(|name| format!(" Did you mean /{name}?")).unwrap_or_default();
            Entry::Unknown(format!("There is no command /{}.{meant} /help shows all.", shorten(name, 20)))
        }
    }
}
