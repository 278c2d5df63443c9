//! `chat serve`: the HTTP interface of docs/http-api.md.

#[cfg_attr(not(test), expect(dead_code, reason = "the routes that hand it out are not there yet"))]
pub(crate) mod page;
