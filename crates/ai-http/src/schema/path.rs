use std::fmt;

use super::SchemaProblem;

/// A place in a schema, from the inside out.
#[derive(Clone, Copy, Debug)]
pub(super) enum Path<'p> {
    /// A JSON pointer, such as that of a definition.
    At(&'p str),
    Key(&'p Path<'p>, &'p str),
    Index(&'p Path<'p>, usize),
}

impl<'p> Path<'p> {
    pub(super) const ROOT: Path<'static> = Path::At("");

    pub(super) fn key(&'p self, key: &'p str) -> Self {
        Self::Key(self, key)
    }

    pub(super) fn index(&'p self, index: usize) -> Self {
        Self::Index(self, index)
    }

    pub(super) fn problem(&self, why: impl Into<String>) -> SchemaProblem {
        SchemaProblem { path: format!("#{}", shorten(self.to_string())), why: shorten(why.into()) }
    }
}

/// Characters of a problem's texts. They hold names of the schema, which have no limit of their own.
const SHOWN: usize = 300;

/// The text, or its end: the inner part of a path says more than the outer.
pub(super) fn shorten(text: String) -> String {
    match text.char_indices().rev().nth(SHOWN - 1) {
        Some((from, _)) if from > 0 => format!("…{}", text.get(from..).unwrap_or_default()),
        _ => text,
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(pointer) => f.write_str(pointer),
            Self::Key(outer, key) => write!(f, "{outer}/{}", key.replace('~', "~0").replace('/', "~1")),
            Self::Index(outer, index) => write!(f, "{outer}/{index}"),
        }
    }
}
