//! Who depends on whom, held against the layer table.

use std::path::Path;

use super::table::{
    EXAMPLE, FACADE, FOR_TESTS, LAYERS, Layer, MSRV, OWNED, PROGRAMS_ONLY, Role, TEST_PROGRAMS, Uses,
};
use crate::metadata::{Dependency, Kind, Metadata, Package};

pub(super) fn layer_of(package: &Package, root: &Path) -> Option<&'static Layer> {
    if package.folder.starts_with(root.join("examples")) {
        return Some(&EXAMPLE);
    }
    LAYERS.iter().find(|layer| layer.package == package.name)
}

/// Every place where the workspace differs from the table, one sentence each.
pub(super) fn violations(metadata: &Metadata, root: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    for package in metadata.members.values() {
        let name = &package.name;
        let Some(layer) = layer_of(package, root) else {
            wrong.push(format!("{name} is not in the layer table"));
            continue;
        };
        let declared = package.rust_version.as_deref();
        if layer.role == Role::Core && declared != Some(MSRV) {
            let declared = declared.unwrap_or("none");
            wrong.push(format!("{name} declares rust-version {declared}, not {MSRV}"));
        }
        for dependency in &package.dependencies {
            if let Some(why) = forbidden(layer, package, dependency, metadata) {
                wrong.push(format!("{name} {why}"));
            }
        }
    }
    wrong
}

fn forbidden(
    layer: &Layer,
    package: &Package,
    dependency: &Dependency,
    metadata: &Metadata,
) -> Option<String> {
    let used = dependency.name.as_str();
    let ours = dependency.path.is_some();
    if ours && !metadata.members.contains_key(used) {
        return Some(format!("uses {used} by path, which is no member of the workspace"));
    }
    // Tests of a layer may look at every other: the kit, a real provider, the crate above.
    if dependency.kind == Kind::Dev {
        return None;
    }
    if ours {
        return ours_forbidden(layer, &package.name, used);
    }
    if layer.role == Role::Tool {
        return None;
    }
    if used == "tokio" {
        return tokio(layer, dependency);
    }
    if PROGRAMS_ONLY.contains(&used) {
        return Some(format!("uses {used}, which is for programs and tests"));
    }
    let (_, owner) = OWNED.iter().find(|(owned, _)| *owned == used)?;
    (*owner != package.name).then(|| format!("uses {used}, which only {owner} may"))
}

fn ours_forbidden(layer: &Layer, name: &str, used: &str) -> Option<String> {
    let is_library = LAYERS.iter().any(|it| it.package == used && it.role != Role::Tool && used != FACADE);
    match layer.uses {
        Uses::Only([]) => Some(format!("uses {used}, but may use none of ours")),
        Uses::Only(may) if !may.contains(&used) => {
            Some(format!("uses {used}, but may only use {}", may.join(", ")))
        }
        Uses::Libraries if !is_library => Some(format!("uses {used}, but may only use the libraries")),
        _ if used == FOR_TESTS && layer.package != EXAMPLE.package && !TEST_PROGRAMS.contains(&name) => {
            Some(format!("uses {used} in its code; it is for tests"))
        }
        _ => None,
    }
}

fn tokio(layer: &Layer, dependency: &Dependency) -> Option<String> {
    let Some(may) = layer.tokio else { return Some("uses tokio, but may not".to_owned()) };
    let beyond: Vec<&str> = dependency
        .features
        .iter()
        .map(String::as_str)
        .filter(|feature| !may.contains(feature) && !may.contains(&"*"))
        .collect();
    let (may, beyond_list) = (may.join(", "), beyond.join(", "));
    (!beyond.is_empty()).then(|| format!("turns on {beyond_list} of tokio, but may only have {may}"))
}
