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
        SchemaProblem { path: format!("#{self}"), why: why.into() }
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
