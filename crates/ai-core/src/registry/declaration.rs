use std::collections::BTreeSet;

use ai_provider::JsonObject;

use super::capability::{ToolCapability, ToolPatch, ToolTable};
use super::id::ProviderId;
use crate::error::Error;

/// What an extension says of itself: data alone.
#[derive(Clone, PartialEq)]
pub struct Declaration {
    name: String,
    pub(super) aliases: Vec<String>,
    pub(super) variants: Vec<VariantDeclaration>,
    pub(super) defaults: JsonObject,
    pub(super) tools: ToolTable,
}

/// What a variant says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantDeclaration {
    pub(super) suffix: String,
    pub(super) display_name: Option<String>,
    pub(super) tools: ToolTable,
}

impl VariantDeclaration {
    pub(super) fn new(suffix: String) -> Self {
        Self { suffix, display_name: None, tools: ToolTable::new() }
    }

    /// The part of its id behind the name of the extension and a hyphen.
    pub fn suffix(&self) -> &str {
        &self.suffix
    }

    /// Its name for people.
    pub fn display_name(&self) -> Option<&str> {
        self.display_name.as_deref()
    }
}

impl Declaration {
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            aliases: Vec::new(),
            variants: Vec::new(),
            defaults: JsonObject::new(),
            tools: ToolTable::new(),
        }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The other names.
    pub fn aliases(&self) -> &[String] {
        &self.aliases
    }

    /// The variants, in the order in which they were added.
    pub fn variants(&self) -> impl Iterator<Item = &VariantDeclaration> {
        self.variants.iter()
    }

    /// The variant with this suffix.
    pub fn variant(&self, suffix: &str) -> Option<&VariantDeclaration> {
        self.variants().find(|variant| variant.suffix == suffix)
    }

    /// The settings that hold unless others are given. They may hold keys.
    pub fn defaults(&self) -> &JsonObject {
        &self.defaults
    }

    /// All ids: the name, the aliases, the ids of the variants.
    pub fn ids(&self) -> impl Iterator<Item = String> {
        self.named().map(|(id, _)| id)
    }

    /// Whether this is one of its ids.
    pub fn has_id(&self, id: &str) -> bool {
        self.ids().any(|known| known == id)
    }

    /// How a capability is offered: by the variant's own word, else by that of the extension.
    pub fn tool(&self, capability: ToolCapability, variant: Option<&str>) -> Option<&ToolPatch> {
        let own = variant.and_then(|suffix| self.variant(suffix)?.tools.get(&capability));
        own.or_else(|| self.tools.get(&capability))
    }

    pub(super) fn id_of(&self, variant: Option<&str>) -> String {
        ProviderId::new(&self.name, variant).to_string()
    }

    /// All ids with what they mean.
    pub(super) fn named(&self) -> impl Iterator<Item = (String, ProviderId)> {
        let names = std::iter::once(&self.name).chain(&self.aliases);
        let names = names.map(|name| (name.clone(), ProviderId::new(&self.name, None)));
        let variants = self.variants.iter().map(|variant| {
            let id = ProviderId::new(&self.name, Some(&variant.suffix));
            (id.to_string(), id)
        });
        names.chain(variants)
    }

    /// What can be said against it without knowing the others.
    pub(super) fn check(&self) -> Result<(), Error> {
        let problem = |why: String| Err(Error::extension(&self.name, why));
        if !is_name(&self.name) {
            return problem(rule("its name", &self.name));
        }
        if let Some(alias) = self.aliases.iter().find(|alias| !is_name(alias)) {
            return problem(rule("an alias", alias));
        }
        if let Some(variant) = self.variants.iter().find(|variant| !is_name(&variant.suffix)) {
            return problem(rule("the suffix of a variant", &variant.suffix));
        }
        let mut ids = BTreeSet::new();
        if let Some(twice) = self.ids().find(|id| !ids.insert(id.clone())) {
            return problem(format!("it claims the id `{twice}` twice"));
        }
        let patches = self.tools.iter().chain(self.variants.iter().flat_map(|variant| &variant.tools));
        for (capability, patch) in patches {
            if patch.tools.iter().any(|tool| tool.id.is_empty() || tool.name.is_empty()) {
                return problem(format!("a tool it offers for {capability} has no id or no name"));
            }
        }
        Ok(())
    }
}

/// Shows no defaults, which may hold keys.
impl std::fmt::Debug for Declaration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Declaration")
            .field("name", &self.name)
            .field("aliases", &self.aliases)
            .field("variants", &self.variants)
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}

/// What fits before the colon of `provider:model`.
fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c == ':' || c.is_whitespace() || c.is_control())
}

fn rule(what: &str, text: &str) -> String {
    match text {
        "" => format!("{what} is empty"),
        _ => format!("{what} {text:?} holds a colon, white space or a control character"),
    }
}
