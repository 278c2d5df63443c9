//! Promises of ai-core that only the compiler can keep. See `tests/`.

pub use ai_core;
pub use serde_json;
