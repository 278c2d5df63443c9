use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use secrecy::ExposeSecret;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::line::LineGuard;
use super::tap::Wire;
use crate::settings;

/// How long a server has to end by itself once its input is closed, and again once it is asked to.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long a server that has closed its output may take to end, for its end to be the reason.
const LAST_MOMENTS: Duration = Duration::from_millis(500);

/// Variables of this process that a server gets: where programs, the user's files and temporary files are, and the
/// language.
#[cfg(not(windows))]
const INHERITED: &[&str] = &["PATH", "HOME", "LANG", "TMPDIR"];
#[cfg(windows)]
const INHERITED: &[&str] = &[
    "PATH",
    "PATHEXT",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "USERPROFILE",
];

/// A server as a child process, with its whole process group.
pub(crate) struct ChildTransport {
    child: Group,
    lines: AsyncRwTransport<RoleClient, LineGuard<ChildStdout>, ChildStdin>,
    exit: Arc<OnceLock<ExitStatus>>,
}

/// A child, and what it tells besides its messages.
pub(crate) struct Spawned {
    pub(crate) transport: ChildTransport,
    pub(crate) stderr: ChildStderr,
    /// How it ended, once it has.
    pub(crate) exit: Arc<OnceLock<ExitStatus>>,
}

pub(crate) fn spawn(settings: &settings::Stdio, most: usize, wire: &Arc<Wire>) -> io::Result<Spawned> {
    let mut command = Command::new(&settings.command);
    command.args(&settings.args).env_clear();
    command.envs(INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.envs(settings.env.iter().map(|(name, value)| (name, value.expose_secret())));
    if let Some(folder) = &settings.cwd {
        command.current_dir(folder);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn()?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let child = Group(child);
    let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
        return Err(io::Error::other("the program has no standard streams"));
    };
    let exit = Arc::new(OnceLock::new());
    let guarded = LineGuard::new(stdout, most, Arc::clone(wire));
    // The guard has the limit: it ends the connection where this one would drop the line.
    let lines = AsyncRwTransport::new_client(guarded, stdin).with_max_line_length(usize::MAX);
    Ok(Spawned { transport: ChildTransport { child, lines, exit: Arc::clone(&exit) }, stderr, exit })
}

impl Transport<RoleClient> for ChildTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.lines.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.lines.receive().await;
        if message.is_none()
            && let Ok(status) = timeout(LAST_MOMENTS, self.child.0.wait()).await
        {
            let _ = self.ended(status);
        }
        message
    }

    /// As the protocol has it: the input is closed, then the server is asked to end, then it is made to.
    async fn close(&mut self) -> Result<(), Self::Error> {
        // A server that does not read may hold up a message that is being written, and with it the end.
        let _ = timeout(PATIENCE, self.lines.close()).await;
        if let Ok(status) = timeout(PATIENCE, self.child.0.wait()).await {
            return self.ended(status);
        }
        self.child.ask_to_end();
        if let Ok(status) = timeout(PATIENCE, self.child.0.wait()).await {
            return self.ended(status);
        }
        self.child.kill();
        let status = self.child.0.wait().await;
        self.ended(status)
    }
}

impl ChildTransport {
    fn ended(&self, status: io::Result<ExitStatus>) -> io::Result<()> {
        let _ = self.exit.set(status?);
        Ok(())
    }
}

/// A child that ends with its process group, at the latest when it is dropped: what it started itself would go on
/// otherwise.
#[derive(Debug)]
struct Group(Child);

impl Group {
    #[cfg(unix)]
    fn signal(&mut self, signal: rustix::process::Signal) {
        // Nothing once it has been waited for: its number may be another's by then.
        let id = self.0.id().and_then(|id| i32::try_from(id).ok());
        if let Some(group) = id.and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }

    #[cfg(unix)]
    fn ask_to_end(&mut self) {
        self.signal(rustix::process::Signal::TERM);
    }

    #[cfg(unix)]
    fn kill(&mut self) {
        self.signal(rustix::process::Signal::KILL);
    }

    #[cfg(not(unix))]
    fn ask_to_end(&mut self) {}

    #[cfg(not(unix))]
    fn kill(&mut self) {
        let _ = self.0.start_kill();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
