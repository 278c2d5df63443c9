use ai_provider::Warning;

/// Warnings on their way out, each told once.
#[derive(Debug, Default)]
pub(super) struct Notes(Vec<Warning>);

impl Notes {
    pub(super) fn add(&mut self, warning: Warning) {
        if !self.0.contains(&warning) {
            self.0.push(warning);
        }
    }

    pub(super) fn unsupported(&mut self, feature: &str, details: impl Into<String>) {
        self.add(Warning::unsupported(feature, details));
    }

    pub(super) fn compatibility(&mut self, feature: &str, details: impl Into<String>) {
        self.add(Warning::compatibility(feature, details));
    }

    pub(super) fn into_warnings(self) -> Vec<Warning> {
        self.0
    }
}
