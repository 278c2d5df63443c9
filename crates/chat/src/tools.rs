//! The built-in tools. Safe by construction: nothing here can write, reach the network, or leave the root
//! folder; each is a pure function of its arguments and of one thing handed in (a clock, a folder).

pub(crate) mod calculator;
pub(crate) mod files;
pub(crate) mod time;
