use std::collections::BTreeSet;
use std::path::Path;

use super::layers::violations;
use super::tree;
use crate::metadata::Metadata;

/// A package of a made-up workspace: name, folder, and its dependencies as JSON.
fn package(name: &str, folder: &str, dependencies: &[String]) -> String {
    format!(
        r#"{{"name":"{name}","version":"0.1.0","id":"{name}-id","rust_version":"1.88","metadata":null,
        "manifest_path":"/w/{folder}/Cargo.toml","targets":[{{"kind":["lib"],"name":"{name}"}}],
        "dependencies":[{}]}}"#,
        dependencies.join(",")
    )
}

fn ours(name: &str, kind: &str) -> String {
    format!(r#"{{"name":"{name}","kind":{kind},"features":[],"path":"/w/crates/{name}"}}"#)
}

fn external(name: &str, kind: &str, features: &str) -> String {
    format!(r#"{{"name":"{name}","kind":{kind},"features":[{features}]}}"#)
}

fn metadata(packages: &[String]) -> Metadata {
    let ids: Vec<String> = packages
        .iter()
        .map(|json| {
            let value: serde_json::Value = serde_json::from_str(json).unwrap();
            value["id"].to_string()
        })
        .collect();
    let outside = r#"{"name":"bytes","version":"1.0.0","id":"bytes-id","rust_version":"1.89.0",
        "manifest_path":"/r/bytes/Cargo.toml","targets":[],"dependencies":[]}"#;
    let json = format!(
        r#"{{"packages":[{},{outside}],"workspace_members":[{}],"target_directory":"/w/target"}}"#,
        packages.join(","),
        ids.join(",")
    );
    Metadata::parse(&json).unwrap()
}

/// What is wrong with a workspace of the lowest crates, these two, and `ai-core` with these dependencies.
fn wrong_with_core(dependencies: &[String]) -> Vec<String> {
    let packages = [
        package("ai-provider", "crates/ai-provider", &[]),
        package("ai-http", "crates/ai-http", &[ours("ai-provider", "null")]),
        package("ai-testkit", "crates/ai-testkit", &[ours("ai-provider", "null")]),
        package("ai-core", "crates/ai-core", dependencies),
    ];
    violations(&metadata(&packages), Path::new("/w"))
}

#[test]
fn what_the_table_allows_passes() {
    let allowed = [
        ours("ai-provider", "null"),
        external("tokio", "null", r#""time","rt""#),
        external("schemars", "null", ""),
        external("serde", "null", ""),
    ];
    assert_eq!(wrong_with_core(&allowed), [""; 0]);
}

#[test]
fn a_layer_may_not_use_its_neighbour() {
    let wrong = wrong_with_core(&[ours("ai-provider", "null"), ours("ai-http", "null")]);
    assert_eq!(wrong, ["ai-core uses ai-http, but may only use ai-provider"]);
    let wrong = wrong_with_core(&[ours("ai-http", r#""build""#)]);
    assert_eq!(wrong, ["ai-core uses ai-http, but may only use ai-provider"]);
}

#[test]
fn the_lowest_layer_uses_none_of_ours() {
    let packages = [
        package("ai-provider", "crates/ai-provider", &[ours("ai-core", "null")]),
        package("ai-core", "crates/ai-core", &[]),
    ];
    let wrong = violations(&metadata(&packages), Path::new("/w"));
    assert_eq!(wrong, ["ai-provider uses ai-core, but may use none of ours"]);
}

#[test]
fn tests_may_use_everything() {
    let dev = [
        ours("ai-http", r#""dev""#),
        ours("ai-testkit", r#""dev""#),
        external("reqwest", r#""dev""#, ""),
        external("tokio", r#""dev""#, r#""full""#),
    ];
    assert_eq!(wrong_with_core(&dev), [""; 0]);
}

#[test]
fn the_kit_stays_out_of_code() {
    let wrong = wrong_with_core(&[ours("ai-testkit", "null")]);
    assert_eq!(wrong, ["ai-core uses ai-testkit, but may only use ai-provider"]);
    let packages = [
        package("ai-testkit", "crates/ai-testkit", &[]),
        package("chat", "crates/chat", &[ours("ai-testkit", "null")]),
        package("scenarios", "tests", &[ours("ai-testkit", "null"), ours("chat", "null")]),
    ];
    let wrong = violations(&metadata(&packages), Path::new("/w"));
    assert_eq!(wrong, ["chat uses ai-testkit in its code; it is for tests"]);
}

#[test]
fn an_external_crate_has_one_owner() {
    let wrong = wrong_with_core(&[
        external("reqwest", "null", ""),
        external("dashmap", "null", ""),
        external("clap", "null", ""),
    ]);
    assert_eq!(
        wrong,
        [
            "ai-core uses reqwest, which only ai-http may",
            "ai-core uses dashmap, which only stream-manager may",
            "ai-core uses clap, which is for programs and tests",
        ]
    );
    let packages = [
        package("ai-http", "crates/ai-http", &[external("reqwest", "null", "")]),
        package("chat", "crates/chat", &[external("reqwest", "null", ""), external("clap", "null", "")]),
    ];
    assert_eq!(violations(&metadata(&packages), Path::new("/w")), [""; 0]);
}

#[test]
fn tokio_comes_with_the_features_named_and_no_more() {
    let wrong = wrong_with_core(&[external("tokio", "null", r#""time","net","sync""#)]);
    assert_eq!(wrong, ["ai-core turns on net, sync of tokio, but may only have time, rt"]);
    let packages = [package("ai-provider", "crates/ai-provider", &[external("tokio", "null", "")])];
    assert_eq!(violations(&metadata(&packages), Path::new("/w")), ["ai-provider uses tokio, but may not"]);
}

#[test]
fn strangers_are_refused() {
    let packages = [package("ai-extra", "crates/ai-extra", &[])];
    assert_eq!(violations(&metadata(&packages), Path::new("/w")), ["ai-extra is not in the layer table"]);
    let wrong = wrong_with_core(&[ours("elsewhere", "null")]);
    assert_eq!(wrong, ["ai-core uses elsewhere by path, which is no member of the workspace"]);
}

#[test]
fn examples_need_no_row_of_their_own() {
    let packages = [
        package("ai-core", "crates/ai-core", &[]),
        package("custom-provider", "examples/custom-provider", &[ours("ai-core", "null")]),
    ];
    assert_eq!(violations(&metadata(&packages), Path::new("/w")), [""; 0]);
}

#[test]
fn the_promised_compiler_is_declared() {
    let newer = package("retry", "crates/retry", &[]).replace("1.88", "1.90");
    let none = package("ai-core", "crates/ai-core", &[]).replace(r#""1.88""#, "null");
    assert_eq!(
        violations(&metadata(&[newer, none]), Path::new("/w")),
        ["ai-core declares rust-version none, not 1.88", "retry declares rust-version 1.90, not 1.88"]
    );
}

fn crates(names: &[(&str, &str)]) -> BTreeSet<(String, String)> {
    names.iter().map(|&(name, version)| (name.to_owned(), version.to_owned())).collect()
}

#[test]
fn the_tree_is_read_once_per_version_and_without_ours() {
    let metadata = metadata(&[package("ai-core", "crates/ai-core", &[])]);
    let text = "ai-core v0.1.0 (/w/crates/ai-core)\nbytes v1.0.0\nserde_derive v1.0.9 (proc-macro)\n\n\
                bytes v1.0.0 (*)\nbytes v0.5.0\n";
    let expected = crates(&[("bytes", "0.5.0"), ("bytes", "1.0.0"), ("serde_derive", "1.0.9")]);
    assert_eq!(tree::parse(text, &metadata), expected);
}

#[test]
fn a_dependency_that_needs_a_newer_compiler_is_found() {
    let metadata = metadata(&[package("ai-core", "crates/ai-core", &[])]);
    let all = crates(&[("bytes", "1.0.0"), ("bytes", "2.0.0"), ("unknown", "1.0.0")]);
    let found = tree::too_new(&all, &metadata);
    assert_eq!(found, [(&("bytes".to_owned(), "1.0.0".to_owned()), "1.89.0")]);
}
