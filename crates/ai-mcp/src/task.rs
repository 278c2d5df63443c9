//! The one place where this crate starts a task.

use tokio_util::task::AbortOnDropHandle;

/// A server speaks when nobody asks it anything: its pings, changes and error output are read by tasks. None outlives
/// the handle it ends with.
#[allow(
    clippy::disallowed_methods,
    reason = "a server has to be listened to between the runs of an agent too"
)]
pub(crate) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(work))
}
