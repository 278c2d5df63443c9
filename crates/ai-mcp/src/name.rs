//! The names under which models know the tools of servers.

use std::collections::HashMap;

/// The longest name all providers take.
const LONGEST: usize = 64;

/// What stands between the name of a server and that of its tool.
const BETWEEN: &str = "__";

/// The longest name of a server: half of a tool's name is left for the tool.
pub(crate) const LONGEST_SERVER: usize = 30;

/// Whether an application may call a server so: a letter, then letters, digits, `-` and single `_`, none at the end.
/// With that, what stands before the first `__` of a tool's name is always the server.
pub(crate) fn is_server_name(name: &str) -> bool {
    name.len() <= LONGEST_SERVER
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(is_legal)
        && !name.contains(BETWEEN)
        && !name.ends_with('_')
}

fn is_legal(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Names for the tools of a server, in their order: `server__tool`. Names of tools that are not legal everywhere are
/// made so; where two would be the same, or one would be too long, the end is told apart by a hash of the server's own
/// name, whatever order they come in. Names that are legal as they are keep their form.
///
/// The names given must differ.
pub(crate) fn tool_names<'a>(server: &str, tools: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
    let plain = |tool: &str| format!("{server}{BETWEEN}{}", clean(tool));
    let mut claims: HashMap<String, usize> = HashMap::new();
    for tool in tools.clone() {
        *claims.entry(plain(tool)).or_default() += 1;
    }
    let name = |tool: &'a str| {
        let name = plain(tool);
        let alone = claims.get(&name).is_none_or(|claims| *claims < 2);
        match name.len() <= LONGEST && (alone || is_clean(tool)) {
            true => name,
            false => hashed(&name, tool),
        }
    };
    tools.map(name).collect()
}

fn is_clean(tool: &str) -> bool {
    !tool.is_empty() && tool.chars().all(is_legal)
}

fn clean(tool: &str) -> String {
    if tool.is_empty() {
        return "_".to_owned();
    }
    tool.chars().map(|c| if is_legal(c) { c } else { '_' }).collect()
}

fn hashed(name: &str, tool: &str) -> String {
    let end = format!("_{:08x}", hash(tool));
    // All of it is ASCII by now.
    let begin: String = name.chars().take(LONGEST - end.len()).collect();
    begin + &end
}

/// FNV-1a: the same in every process and every version, which is all it is for.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests;
