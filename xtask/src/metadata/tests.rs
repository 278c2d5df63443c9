use std::path::Path;

use super::{Kind, Metadata};

const JSON: &str = r#"{
    "packages": [
        { "name": "shown", "version": "0.1.0", "id": "path+shown", "manifest_path": "/w/examples/shown/Cargo.toml",
          "rust_version": "1.88", "metadata": { "xtask": { "args": ["--once"] } },
          "targets": [{ "kind": ["lib"], "name": "shown" }, { "kind": ["bin"], "name": "show" },
                      { "kind": ["test"], "name": "t" }],
          "dependencies": [
              { "name": "ai-core", "kind": null, "features": [], "path": "/w/crates/ai-core" },
              { "name": "tokio", "kind": "dev", "features": ["rt"] },
              { "name": "cc", "kind": "build", "features": [] }] },
        { "name": "tokio", "version": "1.0.0", "id": "registry+tokio", "manifest_path": "/r/tokio/Cargo.toml",
          "rust_version": null, "metadata": null, "targets": [], "dependencies": [] }
    ],
    "workspace_members": ["path+shown"],
    "target_directory": "/w/target"
}"#;

#[test]
fn the_workspace_is_read() {
    let metadata = Metadata::parse(JSON).unwrap();
    assert_eq!(metadata.target_directory, Path::new("/w/target"));
    assert_eq!(metadata.members.len(), 1);
    assert_eq!(metadata.rust_versions[&("tokio".to_owned(), "1.0.0".to_owned())], None);

    let shown = &metadata.members["shown"];
    assert!(shown.has_library);
    assert_eq!(shown.folder, Path::new("/w/examples/shown"));
    assert_eq!(
        (shown.binaries.as_slice(), shown.run_args.as_slice()),
        (["show".into()].as_slice(), ["--once".into()].as_slice())
    );
    assert_eq!(shown.rust_version.as_deref(), Some("1.88"));
    let [core, tokio, cc] = shown.dependencies.as_slice() else { panic!("{:?}", shown.dependencies) };
    assert_eq!((core.kind, core.path.is_some()), (Kind::Normal, true));
    assert_eq!((tokio.kind, tokio.features.as_slice()), (Kind::Dev, ["rt".to_owned()].as_slice()));
    assert_eq!((cc.kind, cc.path.is_some()), (Kind::Build, false));
}

#[test]
fn what_is_no_metadata_is_an_error() {
    assert!(Metadata::parse("").is_err());
    let empty = Metadata::parse(r#"{"packages":[],"workspace_members":[],"target_directory":"/w"}"#);
    assert_eq!(empty.unwrap_err().to_string(), "cargo metadata names no workspace member");
    let nameless = Metadata::parse(r#"{"packages":[{}]}"#).unwrap_err().to_string();
    assert_eq!(nameless, "cargo metadata: no text under `name`");
}
