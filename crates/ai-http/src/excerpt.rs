use std::borrow::Cow;

#[cfg(test)]
mod tests;

/// Characters of an excerpt: two lines of a terminal say what went wrong, more hides it.
const LENGTH: usize = 300;

/// Bytes that are looked at: a page of markup may hold its one sentence far down.
const LOOKED_AT: usize = 64 * 1024;

/// One short line out of any body, for people: white space collapsed, control characters (and with them
/// terminal sequences) dropped, at most 300 characters. Of a body that begins with `<`, the text alone.
///
/// ```
/// let page = b"<html><style>p {}</style><h1>Bad\n Gateway</h1></html>";
/// assert_eq!(ai_http::excerpt(page), "Bad Gateway");
/// ```
pub fn excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body.get(..LOOKED_AT).unwrap_or(body));
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let text = if text.starts_with('<') { Cow::Owned(without_tags(text)) } else { Cow::Borrowed(text) };
    let mut line = String::new();
    let mut length = 0;
    for word in text.split(|letter: char| letter.is_whitespace() || letter.is_control()) {
        if word.is_empty() {
            continue;
        }
        for letter in (!line.is_empty()).then_some(' ').into_iter().chain(word.chars()) {
            if length == LENGTH {
                line.push('…');
                return line;
            }
            line.push(letter);
            length += 1;
        }
    }
    line
}

/// What a browser would show, roughly: no tags, comments, scripts and styles.
fn without_tags(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, tag)) = rest.split_once('<') {
        shown.push_str(before);
        shown.push(' ');
        let hidden = [("!--", "-->"), ("script", "</script"), ("style", "</style")];
        let end = hidden.iter().find(|(start, _)| starts_with(tag, start)).map_or(">", |(_, end)| end);
        rest = match find(tag, end) {
            Some(at) => tag.get(at + end.len()..).unwrap_or_default(),
            None => return shown,
        };
        if end.starts_with("</") {
            rest = rest.split_once('>').map_or("", |(_, after)| after);
        }
    }
    shown.push_str(rest);
    shown
}

fn starts_with(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}

fn find(text: &str, what: &str) -> Option<usize> {
    text.as_bytes().windows(what.len()).position(|window| window.eq_ignore_ascii_case(what.as_bytes()))
}
