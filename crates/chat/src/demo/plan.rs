//! What the demo does next: a pure function of the question, the tools at hand and what they have given.

#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use super::find::{Wish, wishes};
use crate::text::shorten;

/// The most calls in one step: enough for any question a person asks, too few to flood a terminal.
const MAX_CALLS: usize = 16;

/// The most characters of a file that the answer repeats.
const MAX_QUOTE: usize = 1_500;

/// What the demo thinks, and what it does next.
#[derive(Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) reasoning: String,
    pub(super) next: Next,
}

/// What is next.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    /// Tools are called, side by side: name and input.
    Call(Vec<(&'static str, Value)>),
    /// The answer.
    Answer(String),
}

/// What came of a call since the question.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Outcome {
    pub(super) tool: String,
    pub(super) input: Value,
    pub(super) result: Result<String, String>,
}

/// Calls the tools the question asks for; once they have answered, answers.
pub(super) fn plan(question: &str, tools: &[&str], outcomes: &[Outcome]) -> Plan {
    let wishes = wishes(question);
    let (can, cannot): (Vec<_>, Vec<_>) = wishes.into_iter().partition(|wish| tools.contains(&tool(wish)));
    let left = can.len().saturating_sub(MAX_CALLS);
    let can = can.get(..can.len() - left).unwrap_or_default();
    let mut sorry: Vec<String> = cannot.iter().map(unable).collect();
    if left > 0 {
        sorry.push(format!("I make at most {MAX_CALLS} calls at a time, so {left} more had to wait."));
    }
    if outcomes.is_empty() && !can.is_empty() {
        let things: Vec<_> = can.iter().map(describe).collect();
        let calls: Vec<_> = can.iter().map(|wish| (tool(wish), input(wish))).collect();
        let mut names: Vec<_> = calls.iter().map(|(name, _)| *name).collect();
        names.dedup();
        let reasoning = format!("I find {} in the question, so I call {}.", listed(&things), listed(&names));
        return Plan { reasoning, next: Next::Call(calls) };
    }
    let (reasoning, mut parts) = if outcomes.is_empty() {
        ("I find nothing in the question that one of my tools is for.".to_owned(), Vec::new())
    } else {
        let failed = outcomes.iter().filter(|outcome| outcome.result.is_err()).count();
        let count = |n: usize| if n == 1 { "One tool has".to_owned() } else { format!("{n} tools have") };
        let fate = match failed {
            0 => String::new(),
            failed => format!(", {failed} with an error"),
        };
        let reasoning = format!("{} answered{fate}; I put it into words.", count(outcomes.len()));
        (reasoning, outcomes.iter().map(tell).collect())
    };
    parts.extend(sorry);
    if parts.is_empty() {
        parts.push(introduction(tools));
    }
    Plan { reasoning, next: Next::Answer(joined(&parts)) }
}

fn tool(wish: &Wish) -> &'static str {
    match wish {
        Wish::Calculate(_) => "calculator",
        Wish::Time(_) => "current_time",
        Wish::Read(_) => "read_file",
        Wish::List(_) => "list_files",
    }
}

fn input(wish: &Wish) -> Value {
    match wish {
        Wish::Calculate(expression) => json!({ "expression": expression }),
        Wish::Time(Some(zone)) => json!({ "zone": zone }),
        Wish::Read(path) | Wish::List(Some(path)) => json!({ "path": path }),
        Wish::Time(None) | Wish::List(None) => json!({}),
    }
}

fn describe(wish: &Wish) -> String {
    match wish {
        Wish::Calculate(expression) => format!("the expression {expression}"),
        Wish::Time(Some(zone)) => format!("the time in {zone}"),
        Wish::Time(None) => "the time".to_owned(),
        Wish::Read(path) => format!("the file {path}"),
        Wish::List(Some(path)) => format!("the folder {path}"),
        Wish::List(None) => "the list of files".to_owned(),
    }
}

fn unable(wish: &Wish) -> String {
    let why = match wish {
        Wish::Read(_) | Wish::List(_) => "start the program with --root FOLDER to let me look at files",
        Wish::Calculate(_) | Wish::Time(_) => "its tool is switched off",
    };
    format!("I see {}, but {why}.", describe(wish))
}

/// The sentence that tells an outcome.
fn tell(outcome: &Outcome) -> String {
    let given = |field: &str| outcome.input.get(field).and_then(Value::as_str).map(str::to_owned);
    let path = given("path");
    match (outcome.tool.as_str(), &outcome.result) {
        ("calculator", Ok(result)) => format!("{} = {result}.", given("expression").unwrap_or_default()),
        ("current_time", Ok(time)) => format!("It is {time}."),
        ("read_file", Ok(text)) => quote(&path.unwrap_or_default(), text),
        ("list_files", Ok(entries)) => {
            let place =
                path.map_or_else(|| "The root folder holds".to_owned(), |path| format!("{path} holds"));
            format!("{place}:\n{entries}")
        }
        (tool, Ok(result)) => format!("{tool} says: {result}"),
        (tool, Err(error)) => {
            let other = match (tool, given("zone")) {
                ("current_time", Some(_)) => {
                    " Ask for the time in UTC, or in a zone such as Europe/Paris, and I can tell it."
                }
                _ => "",
            };
            let subject = given("expression").or(path).or_else(|| given("zone"));
            let subject = subject.map_or_else(String::new, |subject| format!(" on {subject}"));
            let stop = if error.ends_with(['.', '?']) { "" } else { "." };
            format!("{tool} failed{subject}: {error}{stop}{other}")
        }
    }
}

fn quote(path: &str, text: &str) -> String {
    let length = text.chars().count();
    match length {
        0 => format!("{path} is empty."),
        1..=MAX_QUOTE => format!("{path} says:\n{}", text.trim_end()),
        _ => format!(
            "{path} begins (I show {MAX_QUOTE} of {length} characters):\n{}",
            shorten(text, MAX_QUOTE)
        ),
    }
}

fn introduction(tools: &[&str]) -> String {
    let mut abilities = Vec::new();
    for (tool, ability) in [
        ("calculator", "work out arithmetic such as (3+4)*2"),
        ("current_time", "tell the time here or in a city"),
        ("read_file", "read a file by its name"),
        ("list_files", "list files"),
    ] {
        if tools.contains(&tool) {
            abilities.push(ability);
        }
    }
    let abilities = match abilities.as_slice() {
        [] => "All my tools are switched off".to_owned(),
        abilities => format!("I can {}", listed(abilities)),
    };
    format!(
        "I am a demo made of a few rules, not a language model, and have no answer to that. {abilities}. For real \
         answers, choose a model with --model PROVIDER:MODEL or set OPENAI_API_KEY."
    )
}

/// Sentences on one line, blocks apart.
fn joined(parts: &[String]) -> String {
    let mut text = String::new();
    let mut block = false;
    for part in parts {
        let lines = part.contains('\n');
        if !text.is_empty() {
            text.push_str(if block || lines { "\n\n" } else { " " });
        }
        text.push_str(part);
        block = lines;
    }
    text
}

/// `a, b and c`.
fn listed<T: AsRef<str>>(items: &[T]) -> String {
    match items {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<_> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}
