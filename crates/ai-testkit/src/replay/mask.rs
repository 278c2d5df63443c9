use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// What stands in the place of a secret.
const MASK: &[u8] = b"***";

/// Shorter ones are no secrets, and would be found in any text.
const SHORTEST: usize = 6;

/// Takes secrets out of bytes that come in pieces, wherever those are cut.
#[derive(Default)]
pub(super) struct Masker {
    /// Each secret as it is, and as it may be written; the longest first.
    forms: Vec<Vec<u8>>,
    /// The end of what came, in which a secret may have begun.
    held: Vec<u8>,
}

impl Masker {
    pub(super) fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let long = secrets.into_iter().map(str::trim).filter(|secret| secret.len() >= SHORTEST);
        let mut forms: Vec<_> = long.flat_map(forms).filter(|form| form.len() >= SHORTEST).collect();
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        forms.dedup();
        Self { forms, held: Vec::new() }
    }

    /// What may be passed on after this piece.
    pub(super) fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(piece);
        let longest = self.forms.first().map_or(0, Vec::len);
        self.take(self.held.len().saturating_sub(longest.saturating_sub(1)))
    }

    /// The rest, when nothing more comes.
    pub(super) fn end(&mut self) -> Vec<u8> {
        self.take(self.held.len())
    }

    /// Takes at least the bytes before `until`: a secret that begins there is whole by then.
    fn take(&mut self, until: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let mut at = 0;
        while at < until {
            let rest = self.held.get(at..).unwrap_or_default();
            match self.forms.iter().find(|form| rest.starts_with(form)) {
                Some(form) => {
                    out.extend_from_slice(MASK);
                    at += form.len();
                }
                None => {
                    out.extend(rest.first());
                    at += 1;
                }
            }
        }
        self.held.drain(..at);
        out
    }
}

/// A secret as it is, in a URL, in a JSON string that escapes slashes, and in base64.
fn forms(secret: &str) -> Vec<Vec<u8>> {
    let escaped = secret.replace('\\', "\\\\").replace('"', "\\\"");
    let texts = [
        secret.to_owned(),
        utf8_percent_encode(secret, NON_ALPHANUMERIC).to_string(),
        escaped.replace('/', "\\/"),
        escaped,
        STANDARD_NO_PAD.encode(secret),
        URL_SAFE_NO_PAD.encode(secret),
    ];
    texts.into_iter().map(String::into_bytes).collect()
}

#[cfg(test)]
mod tests;
