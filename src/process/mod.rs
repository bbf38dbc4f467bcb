//! Children: started in a process group of their own, given a deadline, and ended as an enum that nobody can mistake
//! for success.

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a child has between TERM and KILL.
const GRACE: Duration = Duration::from_secs(3);
/// How often a waiting parent looks.
const POLL: Duration = Duration::from_millis(2);

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Notes that the user asked to stop; children are ended at the next look.
pub fn interrupt() {
    INTERRUPTED.store(true, Ordering::SeqCst);
}

/// Whether the user asked to stop.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It exited with status 0.
    Completed,
    /// It exited with this other status.
    NonZero(i32),
    /// This signal ended it.
    Signaled(i32),
    /// It ran past its deadline and was ended.
    TimedOut,
    /// The user asked to stop, and it was ended.
    Interrupted,
}

impl Ending {
    /// Whether it did what it should.
    pub const fn completed(self) -> bool {
        match self {
            Self::Completed => true,
            Self::NonZero(_) | Self::Signaled(_) | Self::TimedOut | Self::Interrupted => false,
        }
    }

    fn from_status(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(0), _) => Self::Completed,
            (Some(code), _) => Self::NonZero(code),
            (None, Some(signal)) => Self::Signaled(signal),
            (None, None) => Self::NonZero(-1),
        }
    }
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Completed => f.write_str("completed"),
            Self::NonZero(code) => write!(f, "exited with status {code}"),
            Self::Signaled(signal) => match Signal::try_from(*signal) {
                Ok(name) => write!(f, "was ended by {name}"),
                Err(_) => write!(f, "was ended by signal {signal}"),
            },
            Self::TimedOut => f.write_str("ran past its time and was ended"),
            Self::Interrupted => f.write_str("was interrupted"),
        }
    }
}

/// A running child that is ended, with all its descendants, when this is dropped.
#[derive(Debug)]
pub struct Supervised {
    child: Child,
    deadline: Option<Instant>,
    ended: Option<Ending>,
}

impl Supervised {
    /// Starts `command` in a new process group with no standard input unless one was set.
    pub fn spawn(command: &mut Command, limit: Option<Duration>) -> io::Result<Self> {
        let child = command.process_group(0).spawn()?;
        Ok(Self { child, deadline: limit.map(|l| Instant::now() + l), ended: None })
    }

    /// The child, to take its pipes.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Gives it `limit` from now.
    pub fn extend(&mut self, limit: Duration) {
        self.deadline = Some(Instant::now() + limit);
    }

    /// How it ended, if it has; ends it when its time is over or the user asked to stop.
    pub fn poll(&mut self) -> io::Result<Option<Ending>> {
        if self.ended.is_some() {
            return Ok(self.ended);
        }
        if let Some(status) = self.child.try_wait()? {
            self.ended = Some(Ending::from_status(status));
        } else if interrupted() {
            self.end(Ending::Interrupted)?;
        } else if self.deadline.is_some_and(|d| Instant::now() >= d) {
            self.end(Ending::TimedOut)?;
        }
        Ok(self.ended)
    }

    /// Waits until it ends.
    pub fn wait(&mut self) -> io::Result<Ending> {
        loop {
            if let Some(ending) = self.poll()? {
                return Ok(ending);
            }
            std::thread::sleep(POLL);
        }
    }

    /// TERM to the group, a grace period, KILL to the group.
    fn end(&mut self, ending: Ending) -> io::Result<()> {
        let group = Pid::from_raw(self.child.id().cast_signed());
        let _ = killpg(group, Signal::SIGTERM);
        let patience = Instant::now() + GRACE;
        while Instant::now() < patience && self.child.try_wait()?.is_none() {
            std::thread::sleep(POLL);
        }
        let _ = killpg(group, Signal::SIGKILL);
        self.child.wait()?;
        self.ended = Some(ending);
        Ok(())
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        if self.ended.is_none() {
            let _ = self.end(Ending::Interrupted);
        }
    }
}

/// What a child that was run to its end printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// How it ended.
    pub ending: Ending,
    /// Standard output and standard error, each lossily decoded.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// A running child whose output is read beside it, so that it never blocks on a full pipe.
#[derive(Debug)]
pub struct Piped {
    child: Supervised,
    stdout: JoinHandle<String>,
    stderr: JoinHandle<String>,
}

impl Piped {
    /// Starts `command` with no standard input.
    pub fn spawn(command: &mut Command, limit: Option<Duration>) -> io::Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Supervised::spawn(command, limit)?;
        let (stdout, stderr) = (drain(child.child().stdout.take()), drain(child.child().stderr.take()));
        Ok(Self { child, stdout, stderr })
    }

    /// See [`Supervised::poll`].
    pub fn poll(&mut self) -> io::Result<Option<Ending>> {
        self.child.poll()
    }

    /// See [`Supervised::extend`].
    pub fn extend(&mut self, limit: Duration) {
        self.child.extend(limit);
    }

    /// Waits until it ends.
    pub fn finish(mut self) -> io::Result<Output> {
        let ending = self.child.wait()?;
        let joined = |thread: JoinHandle<String>| thread.join().unwrap_or_default();
        Ok(Output { ending, stdout: joined(self.stdout), stderr: joined(self.stderr) })
    }
}

fn drain(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Runs `command` to its end.
pub fn run(command: &mut Command, limit: Duration) -> io::Result<Output> {
    Piped::spawn(command, Some(limit))?.finish()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Output {
        run(Command::new("sh").args(["-c", script]), limit).unwrap()
    }

    #[test]
    fn endings_are_told_apart() {
        let limit = Duration::from_secs(20);
        assert_eq!(shell("echo a; echo b >&2", limit).stdout, "a\n");
        assert_eq!(shell("exit 9", limit).ending, Ending::NonZero(9));
        assert_eq!(shell("kill -SEGV $$", limit).ending, Ending::Signaled(11));
        assert!(!shell("kill -KILL $$", limit).ending.completed());
    }

    #[test]
    fn a_hanging_child_is_ended_with_its_descendants() {
        let started = Instant::now();
        let output = shell("sleep 60 & sleep 60", Duration::from_millis(200));
        assert_eq!(output.ending, Ending::TimedOut);
        assert!(started.elapsed() < Duration::from_secs(10));
    }
}
