//! What the fuzz targets do. The targets themselves are one line each; a test of the workspace includes this file, so
//! that the stable compiler runs the seeds through the same code.

use ai_provider::ErrorClass;

pub mod assembler;
pub mod decode;
pub mod framer;
pub mod schema;
pub mod seeds;

/// The targets.
pub const TARGETS: [&str; 7] = ["framer", "chat", "responses", "messages", "gemini", "assembler", "schema"];

/// What came of an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Whether something whole came out: a finish, all events, a schema.
    pub finished: bool,
    /// The class of the error that came out.
    pub class: Option<ErrorClass>,
}

/// Runs an input, as libFuzzer wants it.
pub fn run(target: &str, data: &[u8]) {
    seen(target, data);
}

/// Runs an input: panics if anything does not hold that must hold for every input.
pub fn seen(target: &str, data: &[u8]) -> Seen {
    match target {
        "framer" => framer::framer(data),
        "chat" => decode::decode(decode::Api::Chat, data),
        "responses" => decode::decode(decode::Api::Responses, data),
        "messages" => decode::decode(decode::Api::Messages, data),
        "gemini" => decode::decode(decode::Api::Gemini, data),
        "assembler" => assembler::assembler(data),
        "schema" => schema::schema(data),
        other => panic!("no target is called {other}"),
    }
}

/// A seed for cutting that depends on the input alone (FNV-1a).
fn seed_of(data: &[u8]) -> u64 {
    data.iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Small, so that short inputs pass them.
fn limits() -> ai_http::Limits {
    let mut limits = ai_http::Limits::default();
    limits.line = 8 << 10;
    limits.event_bytes = 8 << 10;
    limits.event_lines = 64;
    limits.idle_bytes = 1 << 10;
    limits.body = 16 << 10;
    limits.error_body = 1 << 10;
    limits
}
