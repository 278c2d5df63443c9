//! `chat serve`, asked over HTTP as any client may.

mod access;
mod answers;
mod bad;
mod client;
mod life;
mod streams;
