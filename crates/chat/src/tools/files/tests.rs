#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

const SECRET: &str = "outside the root";

/// `outer/secret.txt` beside `outer/root`, which is the root.
struct Folder {
    outer: TempDir,
    root: Root,
}

impl Folder {
    fn new() -> Self {
        let outer = TempDir::new().unwrap();
        fs::write(outer.path().join("secret.txt"), SECRET).unwrap();
        let inner = outer.path().join("root");
        fs::create_dir_all(inner.join("docs/deep")).unwrap();
        fs::write(inner.join("notes.txt"), "buy milk\n").unwrap();
        fs::write(inner.join("docs/plan.md"), "# Plan").unwrap();
        fs::write(inner.join("with space.txt"), "spaced").unwrap();
        symlink("notes.txt", inner.join("good-link")).unwrap();
        symlink("../secret.txt", inner.join("bad-link")).unwrap();
        symlink("..", inner.join("up")).unwrap();
        symlink(outer.path().join("secret.txt"), inner.join("absolute-link")).unwrap();
        symlink("loop", inner.join("loop")).unwrap();
        Self { root: Root::open(&inner).unwrap(), outer }
    }

    fn inner(&self) -> std::path::PathBuf {
        self.outer.path().join("root")
    }

    fn read(&self, path: &str) -> Result<String, String> {
        self.root.read(&ReadArgs { path: path.to_owned() }).map_err(|fault| fault.to_string())
    }

    fn list(&self, path: &str) -> Result<String, String> {
        self.root.list(&ListArgs { path: Some(path.to_owned()) }).map_err(|fault| fault.to_string())
    }
}

/// [CH-8]
#[test]
fn files_under_the_root_are_read() {
    let folder = Folder::new();
    let table = [
        ("notes.txt", "buy milk\n"),
        ("./docs/../notes.txt", "buy milk\n"),
        (" docs/plan.md ", "# Plan"),
        ("with space.txt", "spaced"),
        ("good-link", "buy milk\n"),
    ];
    for (path, text) in table {
        assert_eq!(folder.read(path).unwrap(), text, "{path}");
    }
}

/// [CH-9]
#[test]
fn nothing_leads_out_of_the_root() {
    let folder = Folder::new();
    let absolute = folder.outer.path().join("secret.txt");
    let ways = [
        "../secret.txt",
        "docs/../../secret.txt",
        "up/secret.txt",
        "bad-link",
        "absolute-link",
        "docs/deep/../../../secret.txt",
        absolute.to_str().unwrap(),
        "/etc/passwd",
        "/",
        "..",
        "up",
    ];
    for way in ways {
        let (read, listed) = (folder.read(way), folder.list(way));
        assert_eq!(read, Err(format!("`{way}` is outside the root folder")));
        assert_eq!(listed, Err(format!("`{way}` is outside the root folder")));
    }
}

/// [CH-10]
#[test]
fn what_cannot_be_read_is_said_in_words() {
    let folder = Folder::new();
    let inner = folder.inner();
    fs::write(inner.join("big.txt"), vec![b'a'; 262_145]).unwrap();
    fs::write(inner.join("fits.txt"), vec![b'a'; 262_144]).unwrap();
    fs::write(inner.join("image.png"), [0x89, b'P', b'N', b'G', 0xff]).unwrap();
    fs::write(inner.join("zero"), "a\0b").unwrap();
    assert!(Command::new("mkfifo").arg(inner.join("pipe")).status().unwrap().success());
    let table = [
        ("", "the path is empty"),
        ("gone.txt", "there is no `gone.txt`"),
        ("notes.txt/x", "there is no `notes.txt/x`"),
        ("docs", "`docs` is a folder, not a file: list it instead"),
        ("big.txt", "`big.txt` has 262145 bytes; at most 262144 are read"),
        ("image.png", "`image.png` is not a text file: it holds bytes that are not UTF-8 text"),
        ("zero", "`zero` is not a text file: it holds bytes that are not UTF-8 text"),
        ("pipe", "`pipe` is neither a file nor a folder"),
    ];
    for (path, fault) in table {
        assert_eq!(folder.read(path), Err(fault.to_owned()));
    }
    assert_eq!(folder.read("fits.txt").unwrap().len(), 262_144);
    assert!(folder.read("loop").unwrap_err().starts_with("`loop` could not be read"));
    assert!(folder.read("nul\0byte").unwrap_err().starts_with("`nul␀byte` could not be read"));
    assert!(folder.read(&"long/".repeat(5_000)).unwrap_err().len() < 400);
}

/// [CH-11]
#[test]
fn a_listing_is_sorted_and_says_what_each_entry_is() {
    let folder = Folder::new();
    assert_eq!(
        folder.list(".").unwrap(),
        "absolute-link (link)\nbad-link (link)\ndocs/\ngood-link (link)\nloop (link)\nnotes.txt (9 bytes)\nup \
         (link)\nwith space.txt (6 bytes)"
    );
    assert_eq!(folder.list("docs").unwrap(), "deep/\nplan.md (6 bytes)");
    assert_eq!(folder.list("docs/deep").unwrap(), "(empty)");
    assert_eq!(folder.root.list(&ListArgs::default()).unwrap(), folder.list("").unwrap());
    assert_eq!(folder.list("notes.txt"), Err("`notes.txt` is not a folder".to_owned()));
    assert_eq!(folder.list("gone"), Err("there is no `gone`".to_owned()));
}

/// [CH-11]
#[test]
fn a_listing_stops_at_a_thousand_entries_and_says_so() {
    let folder = Folder::new();
    let many = folder.inner().join("docs/deep");
    for number in 0..1_003 {
        fs::write(many.join(format!("{number:04}\n\u{1b}[2J")), "").unwrap();
    }
    let listed = folder.list("docs/deep").unwrap();
    let lines: Vec<_> = listed.lines().collect();
    assert_eq!(lines.len(), 1_001);
    assert_eq!(lines.first(), Some(&"0000⏎␛[2J (0 bytes)"));
    assert_eq!(lines.get(999), Some(&"0999⏎␛[2J (0 bytes)"));
    assert_eq!(lines.last(), Some(&"… and 3 more, which are not shown"));
}

fn path() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "..",
        ".",
        "up",
        "docs",
        "deep",
        "secret.txt",
        "notes.txt",
        "bad-link",
        "",
        "root",
        "good-link",
        "loop",
    ]);
    let parts = prop::collection::vec(part, 1..7);
    (parts, any::<bool>()).prop_map(|(parts, absolute)| match absolute {
        true => format!("/{}", parts.join("/")),
        false => parts.join("/"),
    })
}

/// Any way through the folder, of which at least a fifth try to leave it.
///
/// [CH-9]
#[test]
fn no_path_reads_what_is_outside() {
    let folder = Folder::new();
    let (tried, out) = (Cell::new(0u32), Cell::new(0u32));
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let cases = runner.run(&path(), |path| {
        tried.set(tried.get() + 1);
        match folder.read(&path) {
            Ok(text) => assert!(["buy milk\n", "# Plan"].contains(&text.as_str()), "{path}"),
            Err(fault) => out.set(out.get() + u32::from(fault.contains("is outside the root folder"))),
        }
        if let Ok(listed) = folder.list(&path) {
            assert!(!listed.contains("secret.txt"), "{path}");
        }
        Ok(())
    });
    cases.unwrap();
    assert!(out.get() * 5 >= tried.get(), "{out:?} of {tried:?} paths led out");
}
