use redis::Script;

/// The scripts of conversations. All of them can be run twice.
#[derive(Debug)]
pub(crate) struct Scripts {
    pub(super) accept: Script,
    pub(super) input: Script,
    pub(super) inbox: Script,
    pub(super) standing: Script,
    pub(super) claim: Script,
    pub(super) write: Script,
    pub(super) give_back: Script,
    pub(super) delete: Script,
    pub(super) open: Script,
    pub(super) history: Script,
}

impl Scripts {
    pub(crate) fn new() -> Self {
        let script = |body| Script::new(&[include_str!("prelude.lua"), body].concat());
        Self {
            accept: script(include_str!("accept.lua")),
            input: script(include_str!("input.lua")),
            inbox: script(include_str!("inbox.lua")),
            standing: script(include_str!("standing.lua")),
            claim: script(include_str!("claim.lua")),
            write: script(include_str!("write.lua")),
            give_back: script(include_str!("return.lua")),
            delete: script(include_str!("delete.lua")),
            open: script(include_str!("open.lua")),
            history: script(include_str!("history.lua")),
        }
    }
}
