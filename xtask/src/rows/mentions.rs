//! The rows that doc comments of Rust code name, and what each comment is attached to.
//!
//! The text is cut into tokens by a real lexer, so that a string which looks like a doc comment is none, and tests
//! inside macros (`proptest! { … }`) are found like all others.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use super::{Place, Problem, RowId};

/// Attributes that make a function a test, by the last part of their path: `#[tokio::test(…)]` is a `test`.
const TEST_ATTRIBUTES: &[&str] = &["test", "rstest", "test_case", "property_test"];

/// What the scanned files say.
#[derive(Debug, Default)]
pub(super) struct Mentions {
    /// Tests that name rows.
    pub(super) tests: Vec<Test>,
    /// Files that are no Rust, and rows named where they prove nothing.
    pub(super) problems: Vec<Problem>,
}

/// A test that names rows.
#[derive(Debug, Clone)]
pub(super) struct Test {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) rows: BTreeSet<RowId>,
    pub(super) ignored: bool,
}

impl Mentions {
    pub(super) fn scan(&mut self, file: &str, text: &str) {
        match text.parse::<TokenStream>() {
            Ok(tokens) => self.walk(file, tokens),
            Err(error) => {
                let place = Place { file: file.to_owned(), line: error.span().start().line };
                self.problems.push(Problem::new(&place, format!("not Rust: {error}")));
            }
        }
    }

    fn walk(&mut self, file: &str, tokens: TokenStream) {
        let mut head = Head::default();
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == '#' => {
                    let inner =
                        matches!(tokens.peek(), Some(TokenTree::Punct(next)) if next.as_char() == '!');
                    if inner {
                        tokens.next();
                    }
                    let Some(TokenTree::Group(group)) = tokens.peek() else { continue };
                    if group.delimiter() != Delimiter::Bracket {
                        continue;
                    }
                    let attribute = Attribute::of(group);
                    tokens.next();
                    if inner {
                        self.dangling(file, attribute.rows, "a module's comment");
                    } else {
                        head.add(attribute);
                    }
                }
                TokenTree::Ident(word) if word == "fn" => {
                    let name = tokens.peek().map(ToString::to_string).unwrap_or_default();
                    self.function(file, word.span().start().line, name, std::mem::take(&mut head));
                }
                // Still before the `fn`: `pub(crate) async unsafe extern "C" fn`.
                TokenTree::Ident(word) if QUALIFIERS.iter().any(|qualifier| word == qualifier) => {}
                TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => {
                    self.walk(file, group.stream())
                }
                TokenTree::Literal(_) => {}
                other => {
                    self.dangling(file, std::mem::take(&mut head).rows, "something that is no function");
                    if let TokenTree::Group(group) = other {
                        self.walk(file, group.stream());
                    }
                }
            }
        }
        self.dangling(file, head.rows, "nothing");
    }

    fn function(&mut self, file: &str, line: usize, name: String, head: Head) {
        if !head.test {
            self.dangling(file, head.rows, &format!("`{name}`, which is no test"));
        } else if !head.rows.is_empty() {
            let place = Place { file: file.to_owned(), line };
            let rows = head.rows.into_iter().map(|(id, _)| id).collect();
            self.tests.push(Test { name, place, rows, ignored: head.ignored });
        }
    }

    fn dangling(&mut self, file: &str, rows: Vec<(RowId, usize)>, on: &str) {
        for (id, line) in rows {
            let place = Place { file: file.to_owned(), line };
            self.problems.push(Problem::new(&place, format!("{id} is named in a doc comment on {on}")));
        }
    }
}

/// Words that may stand between the attributes of a function and its `fn`.
const QUALIFIERS: &[&str] = &["pub", "crate", "async", "const", "unsafe", "extern"];

/// The attributes seen since the last item.
#[derive(Debug, Default)]
struct Head {
    rows: Vec<(RowId, usize)>,
    test: bool,
    ignored: bool,
}

impl Head {
    fn add(&mut self, attribute: Attribute) {
        self.test |= TEST_ATTRIBUTES.contains(&attribute.name.as_str());
        self.ignored |= attribute.name == "ignore";
        self.rows.extend(attribute.rows);
    }
}

/// One `#[…]`; a doc comment is one too.
#[derive(Debug)]
struct Attribute {
    /// The last part of its path.
    name: String,
    rows: Vec<(RowId, usize)>,
}

impl Attribute {
    fn of(group: &Group) -> Self {
        let mut name = String::new();
        let mut rows = Vec::new();
        for token in group.stream() {
            match token {
                TokenTree::Ident(word) => name = word.to_string(),
                TokenTree::Punct(punct) if matches!(punct.as_char(), ':' | '=') => {}
                TokenTree::Literal(text) if name == "doc" => {
                    let line = group.span().start().line;
                    rows = named_in(&text.to_string()).into_iter().map(|id| (id, line)).collect();
                }
                _ => break,
            }
        }
        Self { name, rows }
    }
}

/// The row names in square brackets in a text: one, or several with commas between.
pub(super) fn named_in(text: &str) -> Vec<RowId> {
    let mut found = Vec::new();
    for part in text.split('[').skip(1) {
        let Some((inside, _)) = part.split_once(']') else { continue };
        let ids: Option<Vec<RowId>> = inside.split(',').map(|name| RowId::parse(name.trim())).collect();
        found.extend(ids.unwrap_or_default());
    }
    found
}
