use std::sync::Arc;

use ai_provider::{Message, TextPart, UserMessage, UserPart};

const OPEN: &str = "<user-message-mid-task>";
const CLOSE: &str = "</user-message-mid-task>";

/// How the model reads what the user said while it worked: as a reminder, so that it goes on with its task and takes
/// the message into account. What the user wrote stays as it is, but for the delimiters, which are escaped in it: one
/// pair stands in the whole. Text is wrapped; files stand as they are.
///
/// The same message always gives the same reminder, so that the prompt of later turns begins with the same bytes.
pub(crate) fn reminder(message: &Message) -> Arc<Message> {
    let Message::User(user) = message else { return Arc::new(message.clone()) };
    let mut parts: Vec<UserPart> = Vec::with_capacity(user.parts.len() + 2);
    parts.push(UserPart::Text(TextPart::new(format!(
        "{OPEN}\nThe user said this while you were working. Take it into account, and go on.\n"
    ))));
    for part in &user.parts {
        parts.push(match part {
            UserPart::Text(text) => {
                let mut text = text.clone();
                text.text = escaped(&text.text);
                UserPart::Text(text)
            }
            other => other.clone(),
        });
    }
    parts.push(UserPart::Text(TextPart::new(format!("\n{CLOSE}"))));
    Arc::new(Message::User(UserMessage { parts: merged(parts), options: user.options.clone() }))
}

fn escaped(text: &str) -> String {
    text.replace(OPEN, "&lt;user-message-mid-task&gt;").replace(CLOSE, "&lt;/user-message-mid-task&gt;")
}

/// Texts that follow each other become one, where no options tell them apart.
fn merged(parts: Vec<UserPart>) -> Vec<UserPart> {
    let mut out: Vec<UserPart> = Vec::with_capacity(parts.len());
    for part in parts {
        match (out.last_mut(), part) {
            (Some(UserPart::Text(last)), UserPart::Text(text))
                if last.options.is_empty() && text.options.is_empty() =>
            {
                last.text.push_str(&text.text);
            }
            (_, part) => out.push(part),
        }
    }
    out
}
