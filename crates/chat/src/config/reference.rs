//! The tables of `docs/config.md`, made of the types and of what is written beside their fields.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use schemars::schema_for;
use serde_json::Value;

use super::example::{complete, has_names};
use super::*;

/// What stands around the tables in the document.
const MARKS: (&str, &str) =
    ("<!-- fields: made from the code, see the test -->\n", "<!-- end of fields -->\n");

fn schema() -> Value {
    serde_json::to_value(schema_for!(Config)).unwrap()
}

/// The definition a field refers to, if it is a table of its own or a table of tables.
fn definition<'a>(root: &'a Value, field: &'a Value) -> Option<&'a Value> {
    let inner = field.get("additionalProperties").unwrap_or(field);
    let name = inner.get("$ref")?.as_str()?.rsplit('/').next()?;
    root.get("$defs")?.get(name).filter(|definition| definition.get("properties").is_some())
}

fn text(value: &Value) -> String {
    let text = value.get("description").and_then(Value::as_str).unwrap_or_default();
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

fn kind(field: &Value) -> &'static str {
    let types = match field.get("type") {
        Some(Value::String(one)) => vec![one.as_str()],
        Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    match types.first() {
        Some(&"array") => "list",
        Some(&"object") => "table",
        Some(&"boolean") => "`true` or `false`",
        Some(&("integer" | "number")) => "number",
        _ => "text",
    }
}

/// The fields of a table, with its path: `(["providers", "NAME"], "api", …)`.
fn each(root: &Value, mut visit: impl FnMut(&[String], &str, &Value)) {
    fn walk(
        root: &Value,
        at: &Value,
        path: &mut Vec<String>,
        visit: &mut impl FnMut(&[String], &str, &Value),
    ) {
        for (name, field) in at["properties"].as_object().unwrap() {
            visit(path, name, field);
            if let Some(inner) = definition(root, field) {
                path.push(name.clone());
                let named = field.get("additionalProperties").is_some();
                path.extend(named.then(|| "NAME".to_owned()));
                walk(root, inner, path, visit);
                path.truncate(path.len() - 1 - usize::from(named));
            }
        }
    }
    walk(root, root, &mut Vec::new(), &mut visit);
}

fn tables(root: &Value) -> String {
    let mut sections: Vec<(Vec<String>, String)> = vec![(Vec::new(), String::new())];
    each(root, |path, name, field| {
        if let Some(inner) = definition(root, field) {
            let named = field.get("additionalProperties").map(|_| "NAME".to_owned());
            let inner_path = path.iter().cloned().chain([name.to_owned()]).chain(named).collect();
            sections.push((inner_path, format!("{}\n\n", text(inner))));
            return;
        }
        let (_, section) = sections.iter_mut().find(|(known, _)| known == path).unwrap();
        if !section.contains("| field |") {
            section.push_str("| field | kind | what it says |\n|---|---|---|\n");
        }
        writeln!(section, "| `{name}` | {} | {} |", kind(field), text(field).replace('|', "\\|")).unwrap();
    });
    let title = |path: &[String]| match path {
        [] => "## At the top".to_owned(),
        path => format!("## `[{}]`", path.join(".")),
    };
    sections.iter().map(|(path, section)| format!("{}\n\n{}\n", title(path), section)).collect()
}

/// [CH-102]
#[test]
fn the_reference_is_what_the_code_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/config.md");
    let document = fs::read_to_string(&path).unwrap();
    let (before, rest) = document.split_once(MARKS.0).unwrap();
    let (_, behind) = rest.split_once(MARKS.1).unwrap();
    let right = format!("{before}{}\n{}{}{behind}", MARKS.0, tables(&schema()), MARKS.1);
    if std::env::var("UPDATE_GOLDEN").is_ok_and(|value| value == "1") {
        fs::write(&path, &right).unwrap();
        return;
    }
    let at = document.lines().zip(right.lines()).position(|(is, right)| is != right);
    assert!(
        document == right,
        "docs/config.md differs in line {:?}: UPDATE_GOLDEN=1 writes it",
        at.map(|at| at + 1)
    );
}

/// [CH-101] [CH-102]
#[test]
fn every_field_has_a_word_in_the_reference_and_a_place_in_the_example() {
    let (root, example) = (schema(), complete());
    let mut fields = 0;
    each(&root, |path, name, field| {
        fields += 1;
        assert!(!text(definition(&root, field).unwrap_or(field)).is_empty(), "{path:?} {name} has no words");
        let mut tables = vec![&example];
        for (at, part) in path.iter().enumerate() {
            let free = at > 0 && has_names(&path[at - 1]);
            tables = tables
                .iter()
                .filter_map(|table| table.as_table())
                .flat_map(|table| {
                    table.iter().filter(|(key, _)| free || *key == part).map(|(_, value)| value)
                })
                .collect();
        }
        let there = tables.iter().any(|table| table.get(name).is_some());
        assert!(there, "the example has no {path:?} {name}");
    });
    assert!(fields > 90, "{fields} fields are all there are");
}
