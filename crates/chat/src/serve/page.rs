//! The page at `/`: files that are part of the program, written by hand, handed out as they are.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

/// What the page may do, whatever gets into it: load its own files, talk to its own server, show images that lie in an
/// address. Script comes from its files only, and text becomes HTML only through the sanitiser.
pub(crate) const POLICY: &str = include_str!("page/csp.txt");

/// The headers of all its files. No other site may frame it or hold its window, and it tells no site where a link was
/// followed from.
pub(crate) const HEADERS: [(&str, &str); 7] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    // With the tag: a new version of the program is a new page at once.
    ("cache-control", "no-cache"),
];

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// A file of the page.
#[derive(Debug)]
pub(crate) struct File {
    /// Where it is handed out.
    pub(crate) path: &'static str,
    pub(crate) content_type: &'static str,
    pub(crate) bytes: &'static [u8],
    /// Its tag, quoted as the header has it: another one whenever the content is.
    pub(crate) etag: String,
}

/// The file at a path.
pub(crate) fn file(path: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.path == path)
}

macro_rules! files {
    ($($path:literal $content_type:ident $name:literal)*) => {
        [$(($path, $content_type, include_bytes!(concat!("page/", $name)).as_slice())),*]
    };
}

static FILES: LazyLock<Vec<File>> = LazyLock::new(|| {
    let files = files! {
        "/" HTML "index.html"
        "/assets/answer.js" JS "answer.js"
        "/assets/api.js" JS "api.js"
        "/assets/app.js" JS "app.js"
        "/assets/attachments.js" JS "attachments.js"
        "/assets/blocks.js" JS "blocks.js"
        "/assets/chat.js" JS "chat.js"
        "/assets/chats.js" JS "chats.js"
        "/assets/composer.js" JS "composer.js"
        "/assets/dom.js" JS "dom.js"
        "/assets/feed.js" JS "feed.js"
        "/assets/icon.svg" SVG "icon.svg"
        "/assets/lists.js" JS "lists.js"
        "/assets/markdown.js" JS "markdown.js"
        "/assets/message.js" JS "message.js"
        "/assets/notes.js" JS "notes.js"
        "/assets/part.js" JS "part.js"
        "/assets/reducer.js" JS "reducer.js"
        "/assets/sse.js" JS "sse.js"
        "/assets/style.css" CSS "style.css"
        "/assets/theme.js" JS "theme.js"
        "/assets/tool.js" JS "tool.js"
        "/assets/vendor/marked.esm.js" JS "vendor/marked.esm.js"
        "/assets/vendor/purify.es.js" JS "vendor/purify.es.js"
    };
    let tagged = |(path, content_type, bytes)| File { path, content_type, bytes, etag: etag(bytes) };
    files.into_iter().map(tagged).collect()
});

fn etag(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("\"{:016x}\"", hasher.finish())
}

#[cfg(test)]
mod tests;
