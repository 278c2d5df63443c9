//! chat
mod config;
mod demo;
mod setup;
mod text;
mod tools;
