//! The example file, which shows every field there is.

use std::sync::LazyLock;

/// What `chat config example` prints. Lines that begin with `#` and no blank are fields that are switched off.
pub(crate) const EXAMPLE: &str = include_str!("example.toml");

/// The example with all of its fields switched on.
pub(crate) fn uncommented() -> String {
    let line = |line: &str| match line.strip_prefix('#') {
        Some(field) if !field.is_empty() && !field.starts_with(' ') => format!("{field}\n"),
        _ => format!("{line}\n"),
    };
    EXAMPLE.lines().map(line).collect()
}

/// The example as one value.
pub(super) fn complete() -> toml::Value {
    static COMPLETE: LazyLock<toml::Table> =
        LazyLock::new(|| toml::from_str(&uncommented()).unwrap_or_default());
    toml::Value::Table(COMPLETE.clone())
}

/// Whether the entries of a table have names that are free.
pub(super) fn has_names(table: &str) -> bool {
    matches!(table, "providers" | "models" | "prices" | "mcp" | "headers" | "env")
}
