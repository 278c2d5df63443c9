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
fn a_question_stays_unless_it_was_refused() {
    let said = |text: &str| Arc::new(Message::user(text));
    let reply = Arc::new(Message::assistant("yes"));
    let failure = |code| Some(Failure { code, ..Failure::new("no") });
    let table = [
        (vec![reply.clone()], None, false, 3, None),
        (vec![reply.clone()], failure(FAILED), false, 3, None),
        (vec![reply.clone()], failure(FAILED), true, 3, None),
        (vec![], failure(FAILED), false, 2, Some(KEPT)),
        (vec![], failure(FAILED), true, 1, Some(TAKEN_BACK)),
        (vec![], failure(INTERRUPTED), false, 2, None),
    ];
    for (messages, failure, refused, left, note) in table {
        let mut history = vec![said("before"), said("now")];
        let answer = Answer { messages, failure: failure.clone(), refused };
        assert_eq!(keep(&mut history, answer), (failure, note));
        assert_eq!(history.len(), left);
        assert_eq!(history.first(), Some(&said("before")));
        assert_eq!(history.contains(&said("now")), left > 1);
    }
}
