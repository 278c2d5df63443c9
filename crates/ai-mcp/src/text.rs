//! Texts of a server, made fit to be shown.

/// The first `limit` bytes of a text, cut between characters, and whether it was cut.
pub(crate) fn cut(text: &str, limit: usize) -> (&str, bool) {
    if text.len() <= limit {
        return (text, false);
    }
    let end = (0..=limit).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    (text.get(..end).unwrap_or_default(), true)
}

/// A text for people and models: without control characters, and without characters nobody sees, in which a server
/// could hide instructions to the model from the person who looks at its tools. Lines stay.
pub(crate) fn visible(text: &str, limit: usize) -> String {
    let (text, was_cut) = cut(text, limit);
    let mut shown: String = text.chars().filter(|c| is_visible(*c)).collect();
    if was_cut {
        shown.push('…');
    }
    shown
}

/// As [`visible`], on one line.
pub(crate) fn line(text: &str, limit: usize) -> String {
    let text = visible(text, limit);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_visible(c: char) -> bool {
    let hidden = matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
    !hidden && (c == '\n' || c == '\t' || !c.is_control())
}

#[cfg(test)]
mod tests;
