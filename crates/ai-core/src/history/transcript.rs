use std::fmt::Write as _;
use std::sync::Arc;

use ai_provider::{AssistantPart, Message, ToolPart, UserPart};

use crate::middleware::words;

/// The most characters of one item. 4,000: what a result says is mostly said by then.
const ITEM: usize = 4_000;

/// A conversation as text, for a model that shall only read it: no tools, no files, long items shortened in the
/// middle, and so is the whole, to `most` characters.
pub(super) fn transcript(messages: &[Arc<Message>], most: usize) -> String {
    let mut text = String::new();
    for message in messages {
        match &**message {
            Message::System(message) => item(&mut text, "Instructions", &message.text),
            Message::User(message) => {
                for part in &message.parts {
                    match part {
                        UserPart::Text(part) => item(&mut text, "User", &part.text),
                        UserPart::File(file) => {
                            item(&mut text, "User", &format!("[file: {}]", file.media_type))
                        }
                        _ => {}
                    }
                }
            }
            Message::Assistant(message) => {
                for part in &message.parts {
                    match part {
                        AssistantPart::Text(part) => item(&mut text, "Assistant", &part.text),
                        AssistantPart::File(file) => {
                            item(&mut text, "Assistant", &format!("[file: {}]", file.media_type));
                        }
                        AssistantPart::ToolCall(call) => {
                            item(&mut text, &format!("Call of {}", call.name), &call.input);
                        }
                        AssistantPart::ToolResult(result) => {
                            item(
                                &mut text,
                                &format!("Result of {}", result.tool_name),
                                &words(&result.output),
                            );
                        }
                        _ => {}
                    }
                }
            }
            Message::Tool(message) => {
                for part in &message.parts {
                    if let ToolPart::ToolResult(result) = part {
                        item(&mut text, &format!("Result of {}", result.tool_name), &words(&result.output));
                    }
                }
            }
            _ => {}
        }
    }
    shortened(&text, most)
}

fn item(text: &mut String, who: &str, what: &str) {
    if !what.trim().is_empty() {
        let _ = write!(text, "{who}: {}\n\n", shortened(what.trim(), ITEM));
    }
}

/// A text of at most so many characters, with its beginning and its end.
fn shortened(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let half = most / 2;
    let begin: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(length - half).collect();
    format!("{begin}\n[… {} characters left out …]\n{end}", length - 2 * half)
}
