//! Small helpers for text that is shown to people.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

/// The nearest of the known names, if one is near enough to be meant: at most one edit, and one more for
/// every four characters.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let length = name.chars().count();
    let near = known.into_iter().filter_map(|known| {
        let allowed = 1 + known.chars().count() / 4;
        if length.abs_diff(known.chars().count()) > allowed {
            return None;
        }
        let distance = strsim::damerau_levenshtein(&name, &known.to_lowercase());
        (distance <= allowed).then_some((distance, known))
    });
    near.min().map(|(_, known)| known)
}

/// At most so many characters, the last of which says that there were more.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some(_) => text.chars().take(limit.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// Text in which nothing can drive a terminal: control characters are replaced by their pictures (`␛` for
/// escape), those that have none and the controls that reverse the order of writing by `�`. New lines and tabs
/// stay; carriage returns are left out, so that nothing that was shown is written over.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(drives) {
        return Cow::Borrowed(text);
    }
    let shown = text.chars().filter(|&c| c != '\r').map(|c| if drives(c) { picture(c) } else { c });
    Cow::Owned(shown.collect())
}

/// The same on one line: new lines become `⏎`, tabs spaces.
pub(crate) fn visible_line(text: &str) -> String {
    let line = |c| match c {
        '\n' | '\u{2028}' | '\u{2029}' => '⏎',
        '\t' => ' ',
        c => c,
    };
    visible(text).chars().map(line).collect()
}

fn drives(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn picture(c: char) -> char {
    match c {
        '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('�'),
        '\u{7f}' => '␡',
        _ => '�',
    }
}
