//! Frames that are alike: a server repeats all but one string from one to the next, so that it need not be read again.

use std::borrow::Cow;

use ai_http::{Next, Parts};
use ai_provider::ModelError;

use super::ChatDecoder;
use super::calls::Fragment;
use super::fill::Key;

/// Bytes of a frame that is kept. Those of deltas have some hundred.
const LONGEST: usize = 4 << 10;

/// The last frame that was nothing but a delta, without its string.
///
/// What stands before a JSON string and what stands behind it, byte for byte, give that string its meaning, whatever
/// is in it: a frame that has the same around another string says the same about that one.
#[derive(Debug, Default)]
pub(super) struct Alike {
    before: String,
    after: String,
    string: Option<OnlyString>,
}

/// What the one string of a delta is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnlyString {
    Text,
    /// A piece of the arguments of the call with this index.
    Arguments(Option<i64>),
}

impl Alike {
    /// Keeps a frame that says only this; `token` is its string, a piece of the frame itself with the quotes.
    pub(super) fn learn(&mut self, frame: &str, token: &str, string: OnlyString) {
        self.string = None;
        let at = token.as_ptr().addr().wrapping_sub(frame.as_ptr().addr());
        let (Some(before), Some(after)) = (frame.get(..at), frame.get(at.saturating_add(token.len())..))
        else {
            return;
        };
        if frame.len() > LONGEST {
            return;
        }
        for (kept, new) in [(&mut self.before, before), (&mut self.after, after)] {
            kept.clear();
            kept.push_str(new);
        }
        self.string = Some(string);
    }

    /// The string of a frame that is like the one kept.
    fn read<'f>(&self, frame: &'f str) -> Option<(OnlyString, Cow<'f, str>)> {
        let string = self.string?;
        let token = frame.strip_prefix(&*self.before)?.strip_suffix(&*self.after)?;
        let Key(text) = serde_json::from_str(token).ok()?;
        Some((string, text))
    }
}

impl ChatDecoder {
    /// Takes a frame that is like the last one; `None` if it is not.
    pub(super) fn take_alike(&mut self, frame: &str, out: &mut Parts) -> Option<Result<Next, ModelError>> {
        let (string, text) = self.alike.read(frame)?;
        let taken = match string {
            OnlyString::Text => {
                self.text(text, out);
                Ok(())
            }
            OnlyString::Arguments(index) => {
                self.call(Fragment { index, input: text, ..Fragment::default() }, false, out)
            }
        };
        Some(taken.map(|()| Next::More))
    }
}

#[cfg(test)]
mod tests;
