//! Between a server and rmcp: bounds, and what is heard on the way.

pub(crate) mod child;
pub(crate) mod line;
pub(crate) mod tap;
