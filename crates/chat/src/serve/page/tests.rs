use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::*;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/serve/page")
}

fn text(path: &str) -> &'static str {
    std::str::from_utf8(file(path).unwrap_or_else(|| panic!("no file at {path}")).bytes).unwrap()
}

/// What stands in quotes behind `before`.
fn quoted<'a>(text: &'a str, before: &str, quote: char) -> Vec<&'a str> {
    let start = format!("{before}{quote}");
    text.split(&start).skip(1).filter_map(|rest| rest.split(quote).next()).collect()
}

/// The files a file of the page refers to.
fn referred(path: &str) -> Vec<String> {
    let text = text(path);
    if path == "/" {
        let names = [quoted(text, "src=", '"'), quoted(text, "href=", '"')].concat();
        return names.into_iter().filter(|name| !name.starts_with('#')).map(str::to_owned).collect();
    }
    if !path.ends_with(".js") || path.contains("/vendor/") {
        return Vec::new();
    }
    let base = path.rsplit_once('/').unwrap().0;
    let imports = text.lines().filter(|line| line.starts_with("import "));
    imports.flat_map(|line| quoted(line, "from ", '\'')).map(|name| name.replacen('.', base, 1)).collect()
}

/// [CH-250]
#[test]
fn every_file_that_the_page_refers_to_is_there_and_no_other() {
    let mut reached = BTreeSet::from(["/".to_owned()]);
    let mut open = vec!["/".to_owned()];
    while let Some(path) = open.pop() {
        for name in referred(&path) {
            assert!(file(&name).is_some(), "{path} refers to {name}");
            if reached.insert(name.clone()) {
                open.push(name);
            }
        }
    }
    let all: BTreeSet<_> = FILES.iter().map(|file| file.path.to_owned()).collect();
    assert_eq!(all, reached);
    let on_disk = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|kind| kind == "js")).count()
    };
    let scripts = all.iter().filter(|path| path.ends_with(".js")).count();
    assert_eq!(on_disk(folder()) + on_disk(folder().join("vendor")), scripts);
}

/// [CH-250]
#[test]
fn each_file_has_its_type_and_a_tag_of_its_own() {
    let tags: BTreeSet<_> = FILES.iter().map(|file| file.etag.as_str()).collect();
    assert_eq!(tags.len(), FILES.len());
    for file in FILES.iter() {
        assert!(file.etag.starts_with('"') && file.etag.ends_with('"'), "{file:?}");
        let kind = match file.path.rsplit_once('.').map(|(_, kind)| kind) {
            None => HTML,
            Some("js") => JS,
            Some("css") => CSS,
            Some("svg") => SVG,
            Some(_) => panic!("{}", file.path),
        };
        assert_eq!(file.content_type, kind, "{}", file.path);
    }
    assert_ne!(etag(b"a"), etag(b"b"));
    for path in [
        "",
        "/index.html",
        "/assets/",
        "/assets/../index.html",
        "/assets/csp.txt",
        "/assets/vendor/README.md",
    ] {
        assert!(file(path).is_none(), "{path}");
    }
}

/// [CH-251]
#[test]
fn the_policy_allows_the_files_of_the_page_and_nothing_inline() {
    let directives: Vec<(&str, &str)> =
        POLICY.split("; ").map(|directive| directive.split_once(' ').unwrap()).collect();
    assert_eq!(
        directives,
        [
            ("default-src", "'none'"),
            ("script-src", "'self'"),
            ("style-src", "'self'"),
            ("connect-src", "'self'"),
            ("img-src", "'self' data:"),
            ("base-uri", "'none'"),
            ("frame-ancestors", "'none'"),
            ("form-action", "'none'"),
            ("require-trusted-types-for", "'script'"),
            ("trusted-types", "dompurify"),
        ]
    );
    for (name, value) in HEADERS {
        assert!(!value.contains(['\r', '\n']), "{name} can be a header");
    }

    let html = text("/");
    let tags = html.split('<').filter_map(|rest| rest.split('>').next());
    for word in tags.flat_map(str::split_whitespace) {
        let handler = word.starts_with("on") && word.contains('=');
        let inline =
            ["style=", "style", "base", "action=", "srcdoc="].iter().any(|name| word.starts_with(name));
        assert!(!handler && !inline && !word.contains("javascript:"), "{word}");
    }
    for script in html.split("<script").skip(1) {
        let (head, rest) = script.split_once('>').unwrap();
        assert!(head.contains(" src=\"/assets/") && rest.starts_with("</script>"), "{script}");
    }
}

/// [CH-251]
#[test]
fn no_file_of_ours_sets_html_or_names_an_address_of_elsewhere() {
    let sinks = [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "Function(",
        "srcdoc",
        "setAttribute('on",
        "createContextualFragment",
        "setHTMLUnsafe",
        ".style.",
        "importScripts",
        "new Worker",
        "EventSource",
        "XMLHttpRequest",
        "document.cookie",
    ];
    let mut seen = 0;
    for file in FILES.iter().filter(|file| !file.path.contains("/vendor/")) {
        let text = text(file.path);
        for sink in sinks {
            assert!(!text.contains(sink), "{} uses {sink}", file.path);
        }
        let addresses = text.matches("://").count();
        // The name space of the drawing, and the pattern of links that may be followed.
        let allowed = usize::from(file.path.ends_with("icon.svg"));
        assert_eq!(addresses, allowed, "{} names an address", file.path);
        seen += 1;
    }
    assert!(seen > 15, "{seen}");
}

/// [CH-252]
#[test]
fn what_others_wrote_is_unchanged_and_has_its_licence_beside_it() {
    use sha2::{Digest, Sha256};
    let vendor = folder().join("vendor");
    let readme = std::fs::read_to_string(vendor.join("README.md")).unwrap();
    let libraries: Vec<_> = FILES.iter().filter(|file| file.path.contains("/vendor/")).collect();
    assert_eq!(libraries.len(), 2);
    for library in libraries {
        let name = library.path.rsplit_once('/').unwrap().1;
        let row = readme.lines().find(|line| line.starts_with(&format!("| `{name}` |"))).unwrap();
        let hash: String = Sha256::digest(library.bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(row.contains(&hash), "{name} is not what the table says: {hash}");
        let licence = quoted(&row.replace(", `", ", licence `"), "licence ", '`').pop().unwrap().to_owned();
        let text = std::fs::read_to_string(vendor.join(&licence)).unwrap();
        assert!(text.contains("MIT") || text.contains("Apache License"), "{licence}");
    }
}
