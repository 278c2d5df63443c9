//! Files that say what is written, byte for byte.

use std::fs;
use std::path::Path;

/// Compares with a file of `tests/golden`; writes it instead where `UPDATE_GOLDEN=1`.
pub(crate) fn assert_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var("UPDATE_GOLDEN").is_ok_and(|value| value == "1") {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let at = golden.lines().zip(text.lines()).position(|(golden, line)| golden != line);
    assert!(golden == text, "{name} differs in line {:?}", at.map(|at| at + 1));
}
