//! Our own samples of the wire, and arbitrary ones: cut anywhere, they give the same.
