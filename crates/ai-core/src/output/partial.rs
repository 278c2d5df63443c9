use serde_json::Value;

/// What the beginning of a JSON text already says.
///
/// Strings show as far as they are written; numbers and `true`, `false`, `null` once they are whole, and a
/// member of an object once its value has begun. So what a longer beginning gives only ever adds to what a
/// shorter one gave. White space before the text and anything after its end are ignored. `None` where nothing is
/// said yet, for what is no JSON, and for more than 127 levels.
///
/// ```
/// use ai_core::output::partial_json;
/// use serde_json::json;
/// assert_eq!(partial_json(r#"{"name": "Ann"#), Some(json!({"name": "Ann"})));
/// assert_eq!(partial_json(r#"{"name": "Anna", "ag"#), Some(json!({"name": "Anna"})));
/// assert_eq!(partial_json(r#"{"name": "Anna", "age": 4"#), Some(json!({"name": "Anna"})));
/// assert_eq!(partial_json("Anna"), None);
/// ```
pub fn partial_json(text: &str) -> Option<Value> {
    let scan = scan(text)?;
    let mut closed = text.get(..scan.keep)?.to_owned();
    if scan.in_string {
        closed.push('"');
    }
    closed.extend(scan.closers.iter().rev());
    if closed.trim().is_empty() {
        return None;
    }
    serde_json::from_str(&closed).ok()
}

/// The first JSON object in a text that may have words or fences around it: to its end, or to that of the text if
/// it has none.
pub(super) fn first_object(text: &str) -> Option<&str> {
    let (_, object) = text.split_at(text.find('{')?);
    let end = scan(object).and_then(|scan| scan.end).unwrap_or(object.len());
    object.get(..end)
}

/// How a beginning is closed.
#[derive(Debug, Default)]
struct Scan {
    /// How much of it is kept.
    keep: usize,
    /// Whether a string is open there.
    in_string: bool,
    /// The containers open there.
    closers: Vec<char>,
    /// Where the value ends, if it does.
    end: Option<usize>,
}

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    /// A value, or the end of an empty array.
    FirstValue,
    Key,
    /// A key, or the end of an empty object.
    FirstKey,
    Colon,
    /// A comma, or the end of the container.
    Next,
}

/// Reads a beginning of JSON once, from the front. `None` if it is none.
fn scan(text: &str) -> Option<Scan> {
    let bytes = text.as_bytes();
    let mut scan = Scan::default();
    let mut expect = Expect::Value;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match (byte, expect) {
            (b' ' | b'\t' | b'\r' | b'\n', _) => at += 1,
            (b'{', Expect::Value | Expect::FirstValue) => {
                at += 1;
                scan.keep = at;
                scan.closers.push('}');
                expect = Expect::FirstKey;
            }
            (b'[', Expect::Value | Expect::FirstValue) => {
                at += 1;
                scan.keep = at;
                scan.closers.push(']');
                expect = Expect::FirstValue;
            }
            (b'}', Expect::FirstKey | Expect::Next) | (b']', Expect::FirstValue | Expect::Next)
                if scan.closers.last() == Some(&char::from(*byte)) =>
            {
                at += 1;
                scan.closers.pop();
                expect = scan.value_ended(at);
            }
            (b',', Expect::Next) => {
                at += 1;
                expect = if scan.closers.last() == Some(&'}') { Expect::Key } else { Expect::Value };
            }
            (b':', Expect::Colon) => {
                at += 1;
                expect = Expect::Value;
            }
            (b'"', Expect::Key | Expect::FirstKey) => match string(bytes, at + 1) {
                Text::Whole(end) => {
                    at = end;
                    expect = Expect::Colon;
                }
                Text::Open(_) => return Some(scan),
            },
            (b'"', Expect::Value | Expect::FirstValue) => match string(bytes, at + 1) {
                Text::Whole(end) => {
                    at = end;
                    expect = scan.value_ended(at);
                }
                Text::Open(keep) => {
                    scan.keep = keep;
                    scan.in_string = true;
                    return Some(scan);
                }
            },
            (_, Expect::Value | Expect::FirstValue) => {
                let rest = bytes.get(at..)?;
                let length = rest.iter().position(|byte| !is_scalar(*byte)).unwrap_or(rest.len());
                let scalar = text.get(at..at + length)?;
                let over = length < rest.len();
                match scalar {
                    "true" | "false" | "null" => {}
                    _ if over && serde_json::from_str::<serde_json::Number>(scalar).is_ok() => {}
                    _ if !over && begins_scalar(scalar) => return Some(scan),
                    _ => return None,
                }
                at += length;
                expect = scan.value_ended(at);
            }
            _ => return None,
        }
        if scan.end.is_some() {
            break;
        }
    }
    Some(scan)
}

impl Scan {
    fn value_ended(&mut self, at: usize) -> Expect {
        self.keep = at;
        if self.closers.is_empty() {
            self.end = Some(at);
        }
        Expect::Next
    }
}

fn is_scalar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

/// Whether a number or a word of JSON may begin so.
fn begins_scalar(text: &str) -> bool {
    ["true", "false", "null"].iter().any(|word| word.starts_with(text))
        || text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E'))
}

/// A string, from behind its opening quote.
enum Text {
    /// Ends before this byte.
    Whole(usize),
    /// Has no end; what comes before this byte is whole.
    Open(usize),
}

fn string(bytes: &[u8], mut at: usize) -> Text {
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return Text::Whole(at + 1),
            b'\\' => match escape(bytes, at) {
                Some(end) => at = end,
                None => return Text::Open(at),
            },
            _ => at += 1,
        }
    }
    Text::Open(at)
}

/// The end of the escape at this byte; that of a pair of surrogates is the second one's.
fn escape(bytes: &[u8], at: usize) -> Option<usize> {
    if *bytes.get(at + 1)? != b'u' {
        return Some(at + 2);
    }
    let unit = bytes.get(at + 2..at + 6)?;
    let high = matches!(unit, [b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B', ..]);
    if !high {
        return Some(at + 6);
    }
    match (bytes.get(at + 6), bytes.get(at + 7)) {
        (Some(b'\\'), Some(b'u')) => bytes.get(at + 8..at + 12).map(|_| at + 12),
        (Some(b'\\'), None) | (None, _) => None,
        // Half a pair: serde_json will say so.
        _ => Some(at + 6),
    }
}
