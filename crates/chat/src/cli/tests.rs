#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use clap::CommandFactory;
use clap::error::ErrorKind;

use super::*;

/// [CH-36]
#[test]
fn the_command_line_is_consistent_and_shows_examples() {
    Cli::command().debug_assert();
    let help = Cli::command().render_help().to_string();
    for shown in ["Examples:", "chat ask", "chat talk", "--api-key-env", "OPENAI_API_KEY"] {
        assert!(help.contains(shown), "{help}");
    }
    assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
}

/// [CH-36]
#[test]
fn options_stand_before_or_behind_the_command() {
    let parse = |line: &str| Cli::try_parse_from(line.split(' '));
    for line in ["chat --model a:b ask -m2 q", "chat ask q --model a:b --max-steps 3"] {
        let _ = parse(line);
    }
    let cli = parse("chat --model a:b ask what is --max-steps 3 this --json").unwrap();
    let flags = cli.options.flags();
    assert_eq!((flags.model.as_deref(), flags.max_steps), (Some("a:b"), Some(3)));
    let Some(Command::Ask(ask)) = cli.command else { panic!("{:?}", cli.command) };
    assert_eq!((ask.question.join(" ").as_str(), ask.json), ("what is this", true));
    assert!(parse("chat").unwrap().command.is_none());
    let kind = |line: &str| parse(line).unwrap_err().kind();
    assert_eq!(kind("chat ask"), ErrorKind::MissingRequiredArgument);
    assert_eq!(kind("chat ask q --max-steps 0"), ErrorKind::ValueValidation);
    assert_eq!(kind("chat ask q --dialect klingon"), ErrorKind::InvalidValue);
    assert_eq!(kind("chat serv"), ErrorKind::InvalidSubcommand);
    let leak = parse("chat ask q --api-key=sk-verysecret").unwrap_err();
    assert!(!leak.to_string().contains("sk-verysecret"), "{leak}");
}
