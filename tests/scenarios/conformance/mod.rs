//! The conformance suite of the kit, run on every adapter of ours.

mod openai_chat;
