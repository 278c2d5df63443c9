//! `chat ask`: one question, one answer.

use std::io::{self, Read};
use std::sync::Arc;

use ai_provider::Message;

use crate::cli::Ask;
use crate::failure::Failure;
use crate::kept::Kept;
use crate::session::Session;
use crate::view::View;

/// The longest question, in bytes: more than any model can read.
pub(crate) const MAX_QUESTION: u64 = 16 << 20;

/// Asks, and shows the answer as it comes.
///
/// # Errors
/// If there is no question, no answer, or nowhere to show it.
pub(crate) async fn ask(
    session: &Session,
    kept: Option<&mut Kept<'_>>,
    ask: &Ask,
    view: &mut View,
) -> Result<(), Failure> {
    let question = match ask.question.as_slice() {
        [dash] if dash == "-" => read(io::stdin().lock())?,
        // `what is 5 - 3` is a question; a dash at an end of it is meant for standard input.
        [dash, ..] | [.., dash] if dash == "-" => {
            return Err(Failure::usage(
                "`-` reads the whole question from standard input and takes no words beside it; put instructions \
                 into --system, or quotes around a question with a dash",
            ));
        }
        words => words.join(" "),
    };
    if question.trim().is_empty() {
        return Err(Failure::usage("the question is empty"));
    }
    session.introduce(view).map_err(Failure::of_screen)?;
    if let Some(kept) = kept {
        return kept.answer(question, view).await?.map_or(Ok(()), Err);
    }
    let history = [Arc::new(Message::user(question))];
    let answer = session.answer(&history, view).await.map_err(Failure::of_screen)?;
    answer.failure.map_or(Ok(()), Err)
}

fn read(input: impl Read) -> Result<String, Failure> {
    let mut text = String::new();
    let read = input.take(MAX_QUESTION + 1).read_to_string(&mut text);
    match read {
        Ok(length) if u64::try_from(length).unwrap_or(u64::MAX) > MAX_QUESTION => {
            Err(Failure::usage(format!("the question on standard input is larger than {MAX_QUESTION} bytes")))
        }
        Ok(_) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(Failure::usage("the question on standard input is not UTF-8 text"))
        }
        Err(error) => {
            Err(Failure::usage(format!("the question cannot be read from standard input: {error}")))
        }
    }
}
