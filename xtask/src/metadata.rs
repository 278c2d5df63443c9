//! What `cargo metadata` says about the workspace, as far as the tasks need it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cargo;
use crate::support::{Context, Result};

#[cfg(test)]
mod tests;

#[derive(Debug)]
pub(crate) struct Metadata {
    /// The workspace's own packages, by name.
    pub(crate) members: BTreeMap<String, Package>,
    /// The rust-version each resolved package declares, by name and version.
    pub(crate) rust_versions: BTreeMap<(String, String), Option<String>>,
    pub(crate) target_directory: PathBuf,
}

#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    pub(crate) has_library: bool,
    pub(crate) binaries: Vec<String>,
    pub(crate) rust_version: Option<String>,
    pub(crate) dependencies: Vec<Dependency>,
    /// Arguments an example is run with: `package.metadata.xtask.args`.
    pub(crate) run_args: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) features: Vec<String>,
    /// Set for a dependency by path.
    pub(crate) path: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Normal,
    Build,
    Dev,
}

impl Metadata {
    pub(crate) fn load(root: &Path) -> Result<Self> {
        let json =
            cargo::output(cargo::cargo(root).args(["metadata", "--format-version", "1", "--all-features"]))?;
        Self::parse(&json)
    }

    pub(crate) fn parse(json: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(json).context("cargo metadata")?;
        let ids: BTreeSet<&str> =
            list(&value, "workspace_members").iter().filter_map(Value::as_str).collect();
        let mut members = BTreeMap::new();
        let mut rust_versions = BTreeMap::new();
        for package in list(&value, "packages") {
            let name = text(package, "name")?;
            rust_versions
                .insert((name.to_owned(), text(package, "version")?.to_owned()), rust_version(package));
            if ids.contains(text(package, "id")?) {
                members.insert(name.to_owned(), Package::read(package)?);
            }
        }
        if members.is_empty() {
            return Err("cargo metadata names no workspace member".into());
        }
        Ok(Self { members, rust_versions, target_directory: text(&value, "target_directory")?.into() })
    }
}

impl Package {
    fn read(value: &Value) -> Result<Self> {
        let manifest = Path::new(text(value, "manifest_path")?);
        let targets = list(value, "targets");
        let is = |target: &Value, kinds: &[&str]| {
            list(target, "kind").iter().filter_map(Value::as_str).any(|kind| kinds.contains(&kind))
        };
        let args = value.pointer("/metadata/xtask/args").and_then(Value::as_array);
        Ok(Self {
            name: text(value, "name")?.to_owned(),
            folder: manifest.parent().unwrap_or(manifest).to_owned(),
            has_library: targets.iter().any(|target| is(target, &["lib", "rlib", "proc-macro"])),
            binaries: targets
                .iter()
                .filter(|target| is(target, &["bin"]))
                .map(|target| text(target, "name").map(str::to_owned))
                .collect::<Result<_>>()?,
            rust_version: rust_version(value),
            dependencies: list(value, "dependencies").iter().map(Dependency::read).collect::<Result<_>>()?,
            run_args: strings(args.map_or(&[], Vec::as_slice)),
        })
    }
}

impl Dependency {
    fn read(value: &Value) -> Result<Self> {
        let kind = match value.get("kind").and_then(Value::as_str) {
            None => Kind::Normal,
            Some("build") => Kind::Build,
            Some("dev") => Kind::Dev,
            Some(other) => return Err(format!("cargo metadata: unknown dependency kind `{other}`").into()),
        };
        Ok(Self {
            name: text(value, "name")?.to_owned(),
            kind,
            features: strings(list(value, "features")),
            path: value.get("path").and_then(Value::as_str).map(PathBuf::from),
        })
    }
}

fn rust_version(package: &Value) -> Option<String> {
    package.get("rust_version").and_then(Value::as_str).map(str::to_owned)
}

fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    value
        .get(key)
        .and_then(Value::as_str)
        .ok_or_else(|| format!("cargo metadata: no text under `{key}`").into())
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn strings(values: &[Value]) -> Vec<String> {
    values.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}
