//! The behaviour tables: Markdown files whose table lines begin with the name of a row.

use super::{Place, Problem, RowId};

/// Which prefix belongs to which file.
const PREFIXES: &[([char; 2], &str)] = &[
    (['P', 'V'], "ai-provider"),
    (['H', 'T'], "ai-http"),
    (['O', 'A'], "ai-openai"),
    (['A', 'N'], "ai-anthropic"),
    (['G', 'G'], "ai-google"),
    (['A', 'C'], "ai-core"),
    (['R', 'T'], "retry"),
    (['A', 'L'], "agent-loop"),
    (['S', 'M'], "stream-manager"),
    (['S', 'T'], "stores"),
    (['M', 'C'], "ai-mcp"),
    (['C', 'H'], "chat"),
];

/// One file of rows.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) rows: Vec<Row>,
    pub(super) problems: Vec<Problem>,
}

/// One sentence of a contract.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) id: RowId,
    pub(super) place: Place,
    /// The cells after the name.
    pub(super) cells: Vec<String>,
}

impl Table {
    pub(super) fn parse(file: &str, text: &str) -> Self {
        let at = |line: usize| Place { file: file.to_owned(), line };
        let stem = file.rsplit('/').next().unwrap_or(file).trim_end_matches(".md");
        let own = PREFIXES.iter().find(|(_, name)| *name == stem).map(|&(prefix, _)| prefix);
        let mut table = Self { rows: Vec::new(), problems: Vec::new() };
        if own.is_none() {
            table
                .problems
                .push(Problem::new(&at(1), format!("no prefix belongs to a table called `{stem}`")));
        }
        let mut fenced = false;
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            fenced ^= line.starts_with("```") || line.starts_with("~~~");
            if fenced || !line.starts_with('|') {
                continue;
            }
            let place = at(index + 1);
            let mut cells = cells(line).into_iter();
            let name = cells.next().unwrap_or_default();
            let name = name.trim_matches(['`', '*', '[', ']']);
            let Some(id) = RowId::parse(name) else {
                if nearly_a_name(name) {
                    let text = format!("`{name}` is no row name; write it like RT-12");
                    table.problems.push(Problem::new(&place, text));
                }
                continue;
            };
            if own.is_some_and(|own| own != id.prefix) {
                let text = format!("{id} does not belong to this file{}", belongs(id.prefix));
                table.problems.push(Problem::new(&place, text));
            }
            let cells: Vec<String> = cells.collect();
            if cells.iter().all(String::is_empty) {
                table.problems.push(Problem::new(&place, format!("{id} says nothing")));
            }
            table.rows.push(Row { id, place, cells });
        }
        if table.rows.is_empty() {
            table.problems.push(Problem::new(&at(1), "no row in this file"));
        }
        table
    }
}

fn belongs(prefix: [char; 2]) -> String {
    match PREFIXES.iter().find(|(known, _)| *known == prefix) {
        Some((_, name)) => format!(", but to {name}.md"),
        None => format!("; {}{} is nobody's prefix", prefix[0], prefix[1]),
    }
}

/// The cells of a table line; `\|` is a bar inside a cell.
fn cells(line: &str) -> Vec<String> {
    let mut cells = Vec::new();
    let mut cell = String::new();
    let mut chars = line.trim_start_matches('|').chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&'|') => cell.extend(chars.next()),
            '|' => cells.push(std::mem::take(&mut cell).trim().to_owned()),
            _ => cell.push(c),
        }
    }
    if !cell.trim().is_empty() {
        cells.push(cell.trim().to_owned());
    }
    cells
}

/// Whether somebody meant a row name and mistyped it: a known prefix in any case, then digits after anything short.
fn nearly_a_name(text: &str) -> bool {
    let mut chars = text.chars().map(|c| c.to_ascii_uppercase());
    let (Some(a), Some(b)) = (chars.next(), chars.next()) else { return false };
    let mut rest = chars.skip_while(|c| matches!(c, '-' | '_' | '.' | ' ' | '\u{2013}'));
    PREFIXES.iter().any(|&(prefix, _)| prefix == [a, b]) && rest.next().is_some_and(|c| c.is_ascii_digit())
}
