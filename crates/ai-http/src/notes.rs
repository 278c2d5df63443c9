use ai_provider::Warning;

/// What a codec could not say as it was asked to: warnings on their way out, each told once.
#[derive(Debug, Default)]
pub struct Notes(Vec<Warning>);

impl Notes {
    /// Adds a warning, unless it is there already.
    pub fn add(&mut self, warning: Warning) {
        if !self.0.contains(&warning) {
            self.0.push(warning);
        }
    }

    /// A setting, or a part of the request, that the API does not have: it was left out.
    pub fn unsupported(&mut self, feature: &str, details: impl Into<String>) {
        self.add(Warning::unsupported(feature, details));
    }

    /// Something that was sent in another form than it was asked for.
    pub fn compatibility(&mut self, feature: &str, details: impl Into<String>) {
        self.add(Warning::compatibility(feature, details));
    }

    /// The warnings, in the order in which they came up.
    pub fn into_warnings(self) -> Vec<Warning> {
        self.0
    }
}
