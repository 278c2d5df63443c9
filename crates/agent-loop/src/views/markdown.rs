/// How much of a Markdown text that grows has its final look. Looks at each line once.
///
/// It errs towards less: what it cannot tell from a line alone stays open until a blank line and a line that cannot
/// belong to what was open.
#[derive(Clone, Debug, Default)]
pub(super) struct StablePrefix {
    stable: usize,
    /// Where the first line that was not looked at begins.
    next: usize,
    /// How far that line was searched for its end.
    searched: usize,
    open: Open,
    after_blank: bool,
}

/// What the last line left open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Open {
    #[default]
    Nothing,
    /// Closed by a blank line: also quotes, tables and most HTML.
    Paragraph,
    /// A list or indented code, to which lines of at least this indentation belong, blank lines between them included.
    Indented(usize),
    /// Closed by a line of at least as many of the same character.
    Fence { mark: char, count: usize },
    /// HTML that may hold blank lines, closed by a line with this in it.
    Html(&'static str),
}

/// HTML that blank lines do not close: how it begins, how it ends.
const HTML: [(&str, &str); 7] = [
    ("<!--", "-->"),
    ("<?", "?>"),
    ("<![cdata[", "]]>"),
    ("<script", "</script>"),
    ("<pre", "</pre>"),
    ("<style", "</style>"),
    ("<textarea", "</textarea>"),
];

impl StablePrefix {
    /// The length of the stable prefix, in bytes.
    pub(super) fn len(&self) -> usize {
        self.stable
    }

    /// Takes the text as far as it has come, which begins with what was taken before.
    pub(super) fn advance(&mut self, text: &str) {
        while let Some(end) = text.get(self.searched..).and_then(|rest| rest.find('\n')) {
            let (start, end) = (self.next, self.searched + end);
            let line = text.get(start..end).unwrap_or_default();
            self.next = end + 1;
            self.searched = self.next;
            self.line(line.trim_end(), start, self.next);
        }
        self.searched = text.len();
    }

    fn line(&mut self, line: &str, start: usize, end: usize) {
        match self.open {
            Open::Fence { mark, count } => {
                if indentation(line) < 4 && is_fence_end(line.trim_start(), mark, count) {
                    self.close(end);
                }
                return;
            }
            Open::Html(closing) => {
                if line.to_ascii_lowercase().contains(closing) {
                    self.close(end);
                }
                return;
            }
            Open::Nothing | Open::Paragraph | Open::Indented(_) => {}
        }
        let after_blank = std::mem::replace(&mut self.after_blank, line.is_empty());
        if line.is_empty() {
            if !matches!(self.open, Open::Indented(_)) {
                self.close(end);
            }
            return;
        }
        let (indent, content) = (indentation(line), line.trim_start());
        if let Open::Indented(inside) = self.open {
            if indent >= inside {
                return;
            }
            let begins = indent < 4 && begins(content).is_some();
            if after_blank && item(content, indent, false).is_none() || begins {
                self.close(start);
            } else {
                // Another item, or a paragraph that goes on without being indented.
                if let Some(inside) = item(content, indent, false) {
                    self.open = Open::Indented(inside);
                }
                return;
            }
        }
        let in_paragraph = self.open == Open::Paragraph;
        if indent >= 4 {
            if !in_paragraph {
                self.open = Open::Indented(4);
            }
            return;
        }
        if let Some(open) = begins(content) {
            self.close(start);
            self.open = open;
            if let Open::Html(closing) = open
                && content.to_ascii_lowercase().contains(closing)
            {
                self.close(end);
            }
        } else if let Some(inside) = item(content, indent, in_paragraph) {
            self.open = Open::Indented(inside);
        } else {
            self.open = Open::Paragraph;
        }
    }

    fn close(&mut self, at: usize) {
        self.stable = at;
        self.open = Open::Nothing;
        self.after_blank = false;
    }
}

/// In columns; a tab goes to the next multiple of four.
fn indentation(line: &str) -> usize {
    let mut columns = 0;
    for c in line.chars() {
        match c {
            ' ' => columns += 1,
            '\t' => columns += 4 - columns % 4,
            _ => break,
        }
    }
    columns
}

/// A fence or HTML that begins with this line, and ends whatever is open before it.
fn begins(content: &str) -> Option<Open> {
    for mark in ['`', '~'] {
        let count = content.chars().take_while(|c| *c == mark).count();
        let rest = content.get(count..).unwrap_or_default();
        if count >= 3 && !(mark == '`' && rest.contains('`')) {
            return Some(Open::Fence { mark, count });
        }
    }
    let lower = content.to_ascii_lowercase();
    HTML.iter().find(|(opening, _)| lower.starts_with(opening)).map(|(_, closing)| Open::Html(closing))
}

fn is_fence_end(content: &str, mark: char, count: usize) -> bool {
    content.chars().count() >= count && content.chars().all(|c| c == mark)
}

/// Whether this is an item of a list: the column at which its content begins.
fn item(content: &str, indent: usize, in_paragraph: bool) -> Option<usize> {
    let digits = content.chars().take_while(char::is_ascii_digit).count();
    let marker = match content.chars().nth(digits)? {
        '-' | '+' | '*' if digits == 0 => 1,
        '.' | ')' if (1..=9).contains(&digits) => digits + 1,
        _ => return None,
    };
    let rest = content.get(marker..)?;
    let interrupts =
        !rest.is_empty() && (digits == 0 || content.starts_with("1.") || content.starts_with("1)"));
    if !(rest.is_empty() || rest.starts_with([' ', '\t'])) || in_paragraph && !interrupts {
        return None;
    }
    let space = indentation(rest);
    let space = if (1..=4).contains(&space) { space } else { 1 };
    Some(indent + marker + space)
}

#[cfg(test)]
mod tests;
