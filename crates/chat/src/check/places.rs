use crate::config::{Config, Draft, Fault, Places, Secret};
use crate::setup::{self, Flags, SetupError};

/// What was found so far, and where things are in the file.
#[derive(Debug)]
pub(super) struct Checks<'a> {
    pub(super) config: &'a Config,
    pub(super) places: &'a Places,
    faults: Vec<Fault>,
}

impl<'a> Checks<'a> {
    pub(super) fn new(draft: &'a Draft) -> Self {
        Self { config: &draft.config, places: &draft.places, faults: draft.faults.clone() }
    }

    pub(super) fn add(&mut self, path: &[&str], message: String) {
        self.faults.push(Fault { line: self.places.line(path), message });
    }

    pub(super) fn secret(&mut self, path: &[&str], place: &Secret) {
        if let Some(missing) = super::missing(place) {
            self.add(path, missing);
        }
    }

    /// A model by its name, or, if aliases count, by that of an alias.
    pub(super) fn model(&mut self, path: &[&str], name: &str, aliases: bool) {
        let name = name.trim();
        if aliases && (self.config.models.contains_key(name) || self.places.has(&["models", name])) {
            return;
        }
        match setup::model(name, &Flags::default(), self.config) {
            Ok(model) => {
                if let Some(missing) = super::missing_key(&model, self.config) {
                    self.add(path, missing);
                }
            }
            // What is wrong with a provider of the file is said there.
            Err(error) => {
                let provider = name.split_once(':').map_or("", |(provider, _)| provider.trim());
                let told = self.places.has(&["providers", provider])
                    && !matches!(error, SetupError::NotAModel { .. });
                if !told {
                    self.add(path, error.to_string());
                }
            }
        }
    }

    pub(super) fn into_faults(mut self) -> Vec<Fault> {
        self.faults.sort_by_key(|fault| fault.line);
        self.faults
    }
}
