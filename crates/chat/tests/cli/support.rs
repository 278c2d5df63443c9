use std::io::Write;
use std::process::{Command, Output, Stdio};

use ai_testkit::{WireReply, WireServer};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A key that must not come out again, anywhere.
pub(crate) const KEY: &str = "sk-THEKEYITSELF0123456789";

/// The program in an environment of its own: an empty home, no variables but those given.
pub(crate) struct Chat {
    pub(crate) home: TempDir,
    env: Vec<(String, String)>,
}

/// What came of it.
pub(crate) struct Ran {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: Option<i32>,
}

impl Chat {
    pub(crate) fn new() -> Self {
        Self { home: TempDir::new().unwrap(), env: Vec::new() }
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A command that has yet to be run.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chat"));
        command.args(args).env_clear().env("HOME", self.home.path()).current_dir(self.home.path());
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().unwrap())
    }

    pub(crate) fn run_with_input(&self, args: &[&str], input: &[u8]) -> Ran {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        Ran::of(child.wait_with_output().unwrap())
    }

    /// Asks a server of the kit, with a key.
    pub(crate) fn ask(server: &WireServer, more: &[&str]) -> Ran {
        let url = format!("{}/v1", server.url());
        // Most tests are about one failure, not about what comes after it.
        let args = ["ask", "Hello?", "--model", "openai-chat:gpt-test", "--base-url", &url, "--retries", "0"];
        Self::new().env("OPENAI_API_KEY", KEY).run(&[&args, more].concat())
    }
}

impl Ran {
    /// Checks on the way what must hold for every run.
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let ran = Self { out: text(output.stdout), err: text(output.stderr), code: output.status.code() };
        for shown in [&ran.out, &ran.err] {
            assert!(!shown.contains(KEY), "the key is shown: {shown}");
            assert!(!shown.contains("panicked"), "{shown}");
            assert!(!shown.contains('\u{1b}'), "no terminal, so no styles: {shown}");
        }
        ran
    }

    /// One error message, on standard error, with everything it must say.
    pub(crate) fn failed(&self, code: i32, says: &[&str]) {
        assert_eq!(self.code, Some(code), "{}{}", self.out, self.err);
        let errors = self.err.lines().filter(|line| line.starts_with("error: ")).count();
        assert_eq!(errors, 1, "{}", self.err);
        for word in says {
            assert!(self.err.contains(word), "`{word}` is missing in: {}", self.err);
        }
    }

    pub(crate) fn answered(&self, out: &str) {
        assert_eq!(self.code, Some(0), "{}", self.err);
        assert_eq!(self.out, out, "{}", self.err);
    }
}

/// Chat Completions chunks as server-sent events.
pub(crate) fn sse(chunks: &[Value]) -> String {
    let events: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    events + "data: [DONE]\n\n"
}

fn chunk(delta: Value, finish: Value) -> Value {
    json!({
        "id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-test",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    })
}

pub(crate) fn text(delta: &str) -> Value {
    chunk(json!({"role": "assistant", "content": delta}), Value::Null)
}

pub(crate) fn call(index: u32, id: &str, name: &str, arguments: &str) -> Value {
    let function = json!({"name": name, "arguments": arguments});
    let call = json!({"index": index, "id": id, "type": "function", "function": function});
    chunk(json!({"tool_calls": [call]}), Value::Null)
}

pub(crate) fn finish(reason: &str) -> Value {
    chunk(json!({}), json!(reason))
}

pub(crate) fn usage(prompt: u64, completion: u64) -> Value {
    let usage = json!({
        "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion
    });
    json!({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-test", "choices": [], "usage": usage})
}

/// A whole answer in words.
pub(crate) fn says(words: &[&str]) -> WireReply {
    let mut chunks: Vec<_> = words.iter().map(|word| text(word)).collect();
    chunks.extend([finish("stop"), usage(7, 3)]);
    WireReply::sse(sse(&chunks))
}
