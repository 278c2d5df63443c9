use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use secrecy::ExposeSecret;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::line::LineGuard;
use super::tap::Wire;
use crate::settings;

/// How long a server has to end by itself once its input is closed, and again once it is asked to.
const PATIENCE: Duration = Duration::from_secs(2);

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

/// A server as a child process.
pub(crate) struct ChildTransport {
    program: Arc<Program>,
    lines: AsyncRwTransport<RoleClient, LineGuard<ChildStdout>, ChildStdin>,
}

/// A child, and what it tells besides its messages.
pub(crate) struct Spawned {
    pub(crate) transport: ChildTransport,
    pub(crate) program: Arc<Program>,
    pub(crate) stderr: ChildStderr,
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
    let program = Arc::new(Program { group: child.id(), child: Mutex::new(child) });
    let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
        return Err(io::Error::other("the program has no standard streams"));
    };
    let guarded = LineGuard::new(stdout, most, Arc::clone(wire));
    // The guard has the limit: it ends the connection where this one would drop the line.
    let lines = AsyncRwTransport::new_client(guarded, stdin).with_max_line_length(usize::MAX);
    Ok(Spawned { transport: ChildTransport { program: Arc::clone(&program), lines }, program, stderr })
}

impl Transport<RoleClient> for ChildTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.lines.send(item)
    }

    fn receive(&mut self) -> impl Future<Output = Option<RxJsonRpcMessage<RoleClient>>> + Send {
        self.lines.receive()
    }

    /// As the protocol has it: the input is closed, then the server is asked to end, then it is made to. What it
    /// started itself and left behind ends with it.
    async fn close(&mut self) -> Result<(), Self::Error> {
        // A server that does not read may hold up a message that is being written, and with it the end.
        let _ = timeout(PATIENCE, self.lines.close()).await;
        if self.program.ended(PATIENCE).await.is_none() {
            self.program.signal(End::Asked);
            self.program.ended(PATIENCE).await;
        }
        self.program.signal(End::Killed);
        self.program.ended(PATIENCE).await;
        Ok(())
    }
}

/// A program with its process group, which ends with it at the latest: what it started itself would go on otherwise.
#[derive(Debug)]
pub(crate) struct Program {
    child: Mutex<Child>,
    /// The number of the process when it was started, which is that of its group.
    group: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
enum End {
    Asked,
    Killed,
}

impl Program {
    /// How it ended, if it does within this time.
    pub(crate) async fn ended(&self, within: Duration) -> Option<ExitStatus> {
        let waiting = async { self.child.lock().await.wait().await };
        timeout(within, waiting).await.ok()?.ok()
    }

    #[cfg(unix)]
    fn signal(&self, end: End) {
        use rustix::process::{Pid, Signal, kill_process_group};
        let signal = match end {
            End::Asked => Signal::TERM,
            End::Killed => Signal::KILL,
        };
        // No process gets this number while one of the group is left, and this is not done long after the last.
        let group = self.group.and_then(|group| i32::try_from(group).ok()).and_then(Pid::from_raw);
        if let Some(group) = group {
            let _ = kill_process_group(group, signal);
        }
    }

    #[cfg(not(unix))]
    fn signal(&self, end: End) {
        if let (End::Killed, Ok(mut child)) = (end, self.child.try_lock()) {
            let _ = child.start_kill();
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.signal(End::Killed);
    }
}
