//! chat
mod demo;
mod text;
mod tools;
