//! What the compiler promises.

use ai_core::run::{Run, RunSnapshot};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// [AC-361]
#[test]
fn a_stored_run_is_plain_data() {
    fn plain<T: Serialize + DeserializeOwned + Clone + PartialEq + Send + Sync + Unpin + 'static>() {}
    plain::<Run>();
    plain::<RunSnapshot>();
    // Nothing in it hides behind interior mutability or a trait object that could panic halfway.
    fn steady<T: std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    steady::<Run>();
}
