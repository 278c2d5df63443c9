use std::fmt;

/// A provider id that has been found in a [`Registry`](super::Registry): an extension by its own name, and the
/// variant of it that is meant.
///
/// Written `name` or `name-variant`; never with an alias.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProviderId {
    base: String,
    variant: Option<String>,
}

impl ProviderId {
    pub(super) fn new(base: impl Into<String>, variant: Option<&str>) -> Self {
        Self { base: base.into(), variant: variant.map(str::to_owned) }
    }

    /// The name of the extension.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The suffix of the variant; absent for the extension itself.
    pub fn variant(&self) -> Option<&str> {
        self.variant.as_deref()
    }

    /// Whether a variant is meant.
    pub fn is_variant(&self) -> bool {
        self.variant.is_some()
    }
}

impl fmt::Display for ProviderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)?;
        self.variant.iter().try_for_each(|suffix| write!(f, "-{suffix}"))
    }
}
