#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use super::*;

/// [CH-37]
#[test]
fn a_line_is_a_question_or_a_command() {
    let question = |text: &str| Entry::Question(text.to_owned());
    let table = [
        ("", Entry::Nothing),
        ("  \t", Entry::Nothing),
        (" What? ", question("What?")),
        ("/help", Entry::Help),
        ("/", Entry::Help),
        (" /exit ", Entry::Exit),
        ("/quit", Entry::Exit),
        ("/clear", Entry::Clear),
        ("/etc/passwd is what?", question("/etc/passwd is what?")),
        ("/help me", question("/help me")),
        ("//help", question("/help")),
        (
            "/exti",
            Entry::Unknown("There is no command /exti. Did you mean /exit? /help shows all.".to_owned()),
        ),
        ("/banana", Entry::Unknown("There is no command /banana. /help shows all.".to_owned())),
    ];
    for (line, meant) in table {
        assert_eq!(entry(line), meant, "{line}");
    }
}

/// [CH-38]
#[test]
fn a_question_that_failed_without_a_step_is_taken_back() {
    let said = |text: &str| Arc::new(Message::user(text));
    let reply = Arc::new(Message::assistant("yes"));
    let failure = |code| Some(Failure { code, ..Failure::new("no") });
    let table = [
        (vec![reply.clone()], None, 3),
        (vec![reply.clone()], failure(FAILED), 3),
        (vec![], failure(FAILED), 1),
        (vec![], failure(INTERRUPTED), 2),
    ];
    for (messages, failure, left) in table {
        let mut history = vec![said("before"), said("now")];
        assert_eq!(keep(&mut history, Answer { messages, failure: failure.clone() }), failure);
        assert_eq!(history.len(), left);
        assert_eq!(history.first(), Some(&said("before")));
    }
}
