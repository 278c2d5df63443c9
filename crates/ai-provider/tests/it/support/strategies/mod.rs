//! A strategy for every type that is stored.

mod content;
mod records;
mod request;
mod values;

pub(crate) use content::*;
pub(crate) use records::*;
pub(crate) use request::*;
pub(crate) use values::*;
