//! Child processes: each has its own process group and a deadline, and ends as an enum that cannot be mistaken for
//! success. Processes left behind in the group end with it, and processes that hold the pipes are not waited for. A
//! guard ends the groups when this process is killed.

mod drain;
mod guard;
mod request_pipe;

pub use drain::{Drain, KeptOutput};
pub use guard::{dismiss_guard, guard, start_guard};
pub use request_pipe::{LOAD_TIMEOUT, PrestartedChild, RequestPipe};

use guard::{GroupChange, mark, tell};
use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::io;
use std::num::NonZero;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a child has between TERM and KILL.
const GRACE: Duration = Duration::from_secs(3);
/// Interval at which a waiting parent checks for an interrupt; the end of a child wakes it at once.
const LOOK: Duration = Duration::from_millis(50);
/// Time for which the pipes of an ended child are still read.
const DRAIN: Duration = Duration::from_secs(1);

/// The variable that tells the driver which GPUs a process sees.
pub const VISIBLE_GPUS: &str = "CUDA_VISIBLE_DEVICES";

/// The GPU for children without an explicit one.
static SHOWN_GPU: Mutex<Option<String>> = Mutex::new(None);

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// Groups of children that have not ended.
static GROUPS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Number of threads that this process can run at once: its share of the machine's cores, 1 if unknown.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// From now on children see only this GPU, unless they get an explicit one; none: the GPUs of this process.
pub fn show_gpu(name: Option<&str>) {
    *SHOWN_GPU.lock().unwrap_or_else(PoisonError::into_inner) = name.map(str::to_owned);
}

/// The GPU that children see, if it is not that of this process.
pub fn shown_gpu() -> Option<String> {
    SHOWN_GPU.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Number of times that the user asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterruptCount {
    /// The first interrupt.
    Once,
    /// Another interrupt: children are ended at once.
    Again,
}

/// Notes that the user asked to stop; children are ended at the next check.
pub fn interrupt() -> InterruptCount {
    if INTERRUPTED.swap(true, Ordering::SeqCst) { InterruptCount::Again } else { InterruptCount::Once }
}

/// Ends every child and its group without a grace period.
pub fn kill_all() {
    for group in GROUPS.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        // The group has just ended.
        let _ = killpg(Pid::from_raw(*group), Signal::SIGKILL);
    }
}

/// Sleeps, and wakes soon when the user asks to stop.
pub fn sleep(duration: Duration) {
    let until = Instant::now() + duration;
    while !interrupted() && Instant::now() < until {
        std::thread::sleep(LOOK.min(until.saturating_duration_since(Instant::now())));
    }
}

/// Whether the user asked to stop.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// The end of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessExit {
    /// It exited with status 0.
    Completed,
    /// It exited with another status.
    NonZero(i32),
    Signaled(i32),
    /// It ran past its deadline and was ended.
    TimedOut,
    /// The user asked to stop, and it was ended.
    Interrupted,
}

impl ProcessExit {
    /// Whether it exited with status 0.
    pub const fn completed(self) -> bool {
        matches!(self, Self::Completed)
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

impl std::fmt::Display for ProcessExit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Completed => f.write_str("completed"),
            Self::NonZero(code) => write!(f, "exited with status {code}"),
            Self::Signaled(signal) => match Signal::try_from(*signal) {
                Ok(name) => write!(f, "was killed by {name}"),
                Err(_) => write!(f, "was killed by signal {signal}"),
            },
            Self::TimedOut => f.write_str("exceeded its time limit and was terminated"),
            Self::Interrupted => f.write_str("was interrupted"),
        }
    }
}

/// The reasons to end a child early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopConditions {
    /// The user asked to stop, or its deadline.
    Interrupts,
    Deadline,
}

/// A running child. Dropping it ends the child and its descendants.
#[derive(Debug)]
pub struct SupervisedChild {
    child: Child,
    deadline: Option<Instant>,
    ended: Option<ProcessExit>,
    heeds: StopConditions,
    /// Signalled when the child has ended.
    over: Receiver<()>,
}

impl SupervisedChild {
    /// Starts `command` in a new process group with no standard input unless one was set.
    pub fn spawn(command: &mut Command, limit: Option<Duration>) -> io::Result<Self> {
        if let Some(gpu) = &*SHOWN_GPU.lock().unwrap_or_else(PoisonError::into_inner)
            && !command.get_envs().any(|(name, _)| name == VISIBLE_GPUS)
        {
            command.env(VISIBLE_GPUS, gpu);
        }
        mark(command);
        let child = command.process_group(0).spawn()?;
        let group = child.id().cast_signed();
        GROUPS.lock().unwrap_or_else(PoisonError::into_inner).insert(group);
        tell(GroupChange::Begun, group);
        let (sender, over) = channel();
        std::thread::spawn(move || {
            while has_ended(group, WaitPidFlag::empty()) == Err(Errno::EINTR) {}
            // The receiver is gone: the child was waited for already.
            let _ = sender.send(());
        });
        Ok(Self {
            child,
            deadline: limit.map(|l| Instant::now() + l),
            ended: None,
            heeds: StopConditions::Interrupts,
            over,
        })
    }

    /// The child, to take its pipes.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Sets the deadline to `limit` from now.
    pub fn extend(&mut self, limit: Duration) {
        self.deadline = Some(Instant::now() + limit);
    }

    /// The exit of the child, if it has ended. Ends it when its time is over or the user asked to stop. Its group ends with it.
    pub fn poll(&mut self) -> io::Result<Option<ProcessExit>> {
        if self.ended.is_some() {
            return Ok(self.ended);
        }
        if self.has_ended()? {
            let status = self.bury()?;
            self.ended = Some(ProcessExit::from_status(status));
        } else if self.heeds == StopConditions::Interrupts && interrupted() {
            self.end(ProcessExit::Interrupted)?;
        } else if self.deadline.is_some_and(|d| Instant::now() >= d) {
            self.end(ProcessExit::TimedOut)?;
        }
        Ok(self.ended)
    }

    /// Waits until it ends.
    pub fn wait(&mut self) -> io::Result<ProcessExit> {
        loop {
            if let Some(ending) = self.poll()? {
                return Ok(ending);
            }
            let left = self.deadline.map_or(LOOK, |deadline| deadline.saturating_duration_since(Instant::now()));
            self.sleep(left.min(LOOK));
        }
    }

    /// TERM to the group, a grace period, KILL to the group.
    fn end(&mut self, ending: ProcessExit) -> io::Result<()> {
        let _ = killpg(self.group(), Signal::SIGTERM);
        let patience = Instant::now() + GRACE;
        while Instant::now() < patience && !self.has_ended()? {
            self.sleep(LOOK);
        }
        self.bury()?;
        self.ended = Some(ending);
        Ok(())
    }

    fn group(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Whether it has ended. It is not reaped yet, so that its pid is not reused.
    fn has_ended(&self) -> io::Result<bool> {
        Ok(has_ended(self.group().as_raw(), WaitPidFlag::WNOHANG)?)
    }

    /// Kills the group, then reaps the child. Until then no other group can have its pid.
    fn bury(&mut self) -> io::Result<ExitStatus> {
        let group = self.group();
        // The group is empty.
        let _ = killpg(group, Signal::SIGKILL);
        GROUPS.lock().unwrap_or_else(PoisonError::into_inner).remove(&group.as_raw());
        tell(GroupChange::Over, group.as_raw());
        self.child.wait()
    }

    /// Sleeps until it has ended, no longer than `limit`.
    fn sleep(&self, limit: Duration) {
        let before = Instant::now();
        if self.over.recv_timeout(limit) == Err(std::sync::mpsc::RecvTimeoutError::Disconnected) {
            // The signal was received before, or cannot arrive: sleep for the remaining time.
            std::thread::sleep(limit.saturating_sub(before.elapsed()));
        }
    }
}

fn has_ended(pid: i32, flags: WaitPidFlag) -> Result<bool, Errno> {
    let flags = flags | WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    match waitid(Id::Pid(Pid::from_raw(pid)), flags) {
        Ok(status) => Ok(status != WaitStatus::StillAlive),
        // It has ended, by a signal that has no name.
        Err(Errno::EINVAL) => Ok(true),
        Err(error) => Err(error),
    }
}

impl AsMut<Self> for SupervisedChild {
    fn as_mut(&mut self) -> &mut Self {
        self
    }
}

impl Drop for SupervisedChild {
    fn drop(&mut self) {
        if self.ended.is_none() {
            let _ = self.end(ProcessExit::Interrupted);
        }
    }
}

/// The output of a child that ran to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessOutput {
    pub ending: ProcessExit,
    /// Standard output, lossily decoded; if it is too long, its beginning and end.
    pub stdout: String,
    /// Standard error, likewise.
    pub stderr: String,
}

/// A running child whose output is read concurrently, so that it never blocks on a full pipe.
#[derive(Debug)]
pub struct PipedChild {
    child: SupervisedChild,
    stdout: Drain,
    stderr: Drain,
}

impl PipedChild {
    /// Starts `command` with no standard input.
    pub fn spawn(command: &mut Command, limit: Option<Duration>) -> io::Result<Self> {
        Self::keeping(command, limit, (KeptOutput::Ends, KeptOutput::Ends))
    }

    /// Like [`Self::spawn`], but keeps the whole standard output.
    ///
    /// # Errors
    /// It cannot be started. [`Self::finish`] fails if it printed more than 64 MiB.
    pub fn listening(command: &mut Command, limit: Option<Duration>) -> io::Result<Self> {
        Self::keeping(command, limit, (KeptOutput::Whole, KeptOutput::Ends))
    }

    fn keeping(
        command: &mut Command,
        limit: Option<Duration>,
        (keep, keep_errors): (KeptOutput, KeptOutput),
    ) -> io::Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = SupervisedChild::spawn(command, limit)?;
        let stdout = Drain::start(child.child().stdout.take(), keep);
        let stderr = Drain::start(child.child().stderr.take(), keep_errors);
        Ok(Self { child, stdout, stderr })
    }

    /// Waits until it ends. A descendant that left its group and holds a pipe is not waited for.
    pub fn finish(mut self) -> io::Result<ProcessOutput> {
        let ending = self.child.wait()?;
        let until = Instant::now() + DRAIN;
        Ok(ProcessOutput { ending, stdout: self.stdout.take(until)?, stderr: self.stderr.take(until)? })
    }
}

impl AsMut<SupervisedChild> for PipedChild {
    fn as_mut(&mut self) -> &mut SupervisedChild {
        &mut self.child
    }
}

/// Runs `command` to its end; keeps the first and the last 64 KiB of its output.
pub fn run(command: &mut Command, limit: Duration) -> io::Result<ProcessOutput> {
    PipedChild::spawn(command, Some(limit))?.finish()
}

/// Runs `command` to its end and keeps its whole output.
///
/// # Errors
/// It cannot be started, or prints more than 64 MiB.
pub fn run_whole(command: &mut Command, limit: Duration) -> io::Result<ProcessOutput> {
    PipedChild::keeping(command, Some(limit), (KeptOutput::Whole, KeptOutput::Whole))?.finish()
}

/// Like [`run_whole`], but ignores an interrupt: its work for others has to be completed.
///
/// # Errors
/// It cannot be started, or prints more than 64 MiB.
pub fn run_apart(command: &mut Command, limit: Duration) -> io::Result<ProcessOutput> {
    let mut child = PipedChild::keeping(command, Some(limit), (KeptOutput::Whole, KeptOutput::Whole))?;
    child.child.heeds = StopConditions::Deadline;
    child.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> ProcessOutput {
        run(Command::new("sh").args(["-c", script]), limit).unwrap()
    }

    #[test]
    fn each_ending_of_a_child_is_its_own_variant() {
        let limit = Duration::from_secs(20);
        assert_eq!(shell("echo a; echo b >&2", limit).stdout, "a\n");
        assert_eq!(shell("exit 9", limit).ending, ProcessExit::NonZero(9));
        assert_eq!(shell("kill -SEGV $$", limit).ending, ProcessExit::Signaled(11));
        assert!(!shell("kill -KILL $$", limit).ending.completed());
    }

    #[test]
    fn a_hanging_child_is_ended_with_its_descendants() {
        let started = Instant::now();
        let output = shell("sleep 60 & sleep 60", Duration::from_millis(200));
        assert_eq!(output.ending, ProcessExit::TimedOut);
        assert!(started.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn grandchildren_are_ended_and_not_waited_for() {
        for left in ["sleep 60 &", "setsid sleep 60 &"] {
            let started = Instant::now();
            let output = shell(&format!("echo done; {left}"), Duration::from_secs(40));
            assert_eq!((output.ending, output.stdout.as_str()), (ProcessExit::Completed, "done\n"), "{left}");
            assert!(started.elapsed() < Duration::from_secs(10), "{left}");
        }
    }

    #[test]
    fn long_output_is_kept_by_its_ends_or_refused() {
        let script = "echo first; head -c 1000000 /dev/zero | tr '\\0' x; echo; echo last";
        let output = shell(script, Duration::from_secs(20));
        assert!(output.stdout.starts_with("first\nxx") && output.stdout.ends_with("xx\nlast\n"));
        assert!(output.stdout.contains("bytes left out") && output.stdout.len() < 140_000, "{}", output.stdout.len());
        let mut command = Command::new("sh");
        let whole = run_whole(command.args(["-c", script]), Duration::from_secs(20)).unwrap();
        assert_eq!(whole.stdout.len(), 6 + 1_000_000 + 6);
        let mut command = Command::new("sh");
        let endless = run_whole(command.args(["-c", "head -c 70000000 /dev/zero"]), Duration::from_secs(20));
        assert!(endless.unwrap_err().to_string().contains("64 MiB"));
    }
}
