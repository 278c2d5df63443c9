use std::borrow::Cow;
use std::collections::HashSet;

/// Which ids of tool calls an API accepts. An id of another form is replaced by a digest of it, in the call and
/// in its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallIds {
    /// Any.
    Any,
    /// Up to this many bytes.
    UpTo(usize),
    /// ASCII letters and digits, exactly this many.
    Alphanumeric(usize),
    /// ASCII letters, digits, `_` and `-`, up to this many.
    Word(usize),
}

/// Gives each call of a history the id it has on the wire: its own where the server takes it and no earlier
/// call has it, else one made of it. It depends on the earlier calls alone, so that a longer history begins
/// with the same bytes.
#[derive(Debug)]
pub(super) struct WireIds<'a> {
    form: CallIds,
    used: HashSet<Cow<'a, str>>,
}

impl<'a> WireIds<'a> {
    /// For about so many calls.
    pub(super) fn new(form: CallIds, calls: usize) -> Self {
        Self { form, used: HashSet::with_capacity(calls) }
    }

    pub(super) fn assign(&mut self, id: &'a str) -> Cow<'a, str> {
        let mut wire = if self.accepts(id) { Cow::Borrowed(id) } else { Cow::Owned(self.made(id, 0)) };
        let mut again = 1;
        while !self.used.insert(wire.clone()) {
            wire = Cow::Owned(self.made(id, again));
            again += 1;
        }
        wire
    }

    fn accepts(&self, id: &str) -> bool {
        match self.form {
            _ if id.is_empty() => false,
            CallIds::Any => true,
            CallIds::UpTo(most) => id.len() <= most,
            CallIds::Alphanumeric(length) => {
                id.len() == length && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
            }
            CallIds::Word(most) => id.len() <= most && id.bytes().all(is_word),
        }
    }

    fn made(&self, id: &str, again: u64) -> String {
        let digest = digest(id, again);
        match self.form {
            CallIds::Alphanumeric(length) => letters(digest, length),
            CallIds::Any | CallIds::UpTo(_) | CallIds::Word(_) => format!("call_{digest:016x}"),
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// FNV-1a, with the bits mixed once more: stable over versions and machines.
fn digest(id: &str, again: u64) -> u64 {
    let hash = id.bytes().chain(again.to_le_bytes()).fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

fn letters(mut digest: u64, length: usize) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz012345";
    let mut text = String::with_capacity(length);
    for _ in 0..length {
        let at = usize::try_from(digest % 32).unwrap_or_default();
        text.push(LETTERS.get(at).copied().map_or('a', char::from));
        digest = digest.rotate_right(5).wrapping_add(0x9e37_79b9_7f4a_7c15);
    }
    text
}
