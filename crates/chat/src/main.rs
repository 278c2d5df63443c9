//! `chat`: talk to any language model from the terminal. See the library of this crate.

fn main() -> std::process::ExitCode {
    chat::run()
}
