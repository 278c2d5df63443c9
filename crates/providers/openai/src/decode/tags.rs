use super::blocks::Kind;

/// Tells reasoning between tags from text, whatever the cuts.
#[derive(Debug)]
pub(super) struct Tags {
    open: String,
    close: String,
    inside: bool,
    /// What may be the beginning of the next tag.
    held: String,
    /// A tag just ended: the white space behind it belongs to neither side.
    behind_tag: bool,
}

impl Tags {
    pub(super) fn new(name: &str) -> Self {
        Self {
            open: format!("<{name}>"),
            close: format!("</{name}>"),
            inside: false,
            held: String::new(),
            behind_tag: false,
        }
    }

    /// Splits the next piece. What cannot become a tag any more comes out at once.
    pub(super) fn split(&mut self, piece: &str, mut out: impl FnMut(Kind, &str)) {
        let held = std::mem::take(&mut self.held);
        let joined;
        let mut rest = match held.is_empty() {
            true => piece,
            false => {
                joined = held + piece;
                &joined
            }
        };
        loop {
            if self.behind_tag {
                rest = rest.trim_start();
                self.behind_tag = rest.is_empty();
            }
            let tag = if self.inside { &self.close } else { &self.open };
            let Some((before, after)) = rest.split_once(tag.as_str()) else { break };
            emit(self.inside, before, &mut out);
            rest = after;
            self.inside = !self.inside;
            self.behind_tag = true;
        }
        let tag = if self.inside { &self.close } else { &self.open };
        let held =
            (1..tag.len()).rev().filter_map(|length| tag.get(..length)).find(|begin| rest.ends_with(begin));
        let (now, held) = rest.split_at(rest.len() - held.map_or(0, str::len));
        emit(self.inside, now, &mut out);
        self.held.push_str(held);
    }

    /// What was held back and is no tag.
    pub(super) fn end(&mut self) -> Option<(Kind, String)> {
        let held = std::mem::take(&mut self.held);
        (!held.is_empty()).then(|| (kind(self.inside), held))
    }
}

fn emit(inside: bool, text: &str, out: &mut impl FnMut(Kind, &str)) {
    if !text.is_empty() {
        out(kind(inside), text);
    }
}

fn kind(inside: bool) -> Kind {
    if inside { Kind::Reasoning } else { Kind::Text }
}
