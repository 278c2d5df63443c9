//! Places within the arguments of a call, as streamed pieces name them.

use ai_http::excerpt;
use ai_provider::{ErrorClass, ModelError};

/// One step into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

/// How deep a place may lie: JSON is read to a depth of 128, and the path is not the whole of it.
const MAX_DEPTH: usize = 100;

/// Reads a JSON path of names and positions: `$.a.b`, `$.list[0].x`, `$['a key']`.
///
/// # Errors
/// `Protocol` for anything else, the whole value (`$`) included: arguments are an object, and a piece of them
/// says where in it it stands.
pub(super) fn parse(path: &str) -> Result<Vec<Step>, ModelError> {
    let steps =
        path.strip_prefix('$').and_then(steps).filter(|steps| matches!(steps.as_slice(), [Step::Key(_), ..]));
    steps.ok_or_else(|| {
        let shown = excerpt(path.as_bytes());
        let message = format!("a piece of a call's arguments is for a place that cannot be read: `{shown}`");
        ModelError::new(ErrorClass::Protocol, message)
    })
}

fn steps(mut rest: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if steps.len() == MAX_DEPTH {
            return None;
        }
        let (step, behind) = match rest.strip_prefix('.') {
            Some(name) => {
                let (name, behind) = name.split_at(name.find(['.', '[']).unwrap_or(name.len()));
                (Step::Key(name.to_owned()), behind)
            }
            None => bracket(rest.strip_prefix('[')?)?,
        };
        if step == Step::Key(String::new()) && rest.starts_with('.') {
            return None;
        }
        steps.push(step);
        rest = behind;
    }
    Some(steps)
}

/// What stands behind an opening bracket: a position, or a name in quotes.
fn bracket(rest: &str) -> Option<(Step, &str)> {
    let Some(quote) = rest.chars().next().filter(|first| matches!(first, '\'' | '"')) else {
        let (digits, behind) = rest.split_once(']')?;
        let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        return Some((Step::Index(digits.parse().ok().filter(|_| all_digits)?), behind));
    };
    let mut name = String::new();
    let mut letters = rest.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => name.push(letters.next()?.1),
            _ if letter == quote => {
                return Some((Step::Key(name), rest.get(at + 1..)?.strip_prefix(']')?));
            }
            _ => name.push(letter),
        }
    }
    None
}
