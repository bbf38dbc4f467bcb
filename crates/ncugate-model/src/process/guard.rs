//! Ends children when this process is killed: a second process, the guard, reads the existing groups from a pipe. The
//! system closes the pipe when its writer ends in any way; then the guard ends every remaining group. A child that had
//! just begun may be in no group that the guard knows: it has the guard's mark in its environment.

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The variable with the mark of a guard.
const MARK: &str = "NCUGATE_GUARD";
/// Searches for marked processes, and the time between two: a child may still be between its fork and its program.
const SEARCHES: usize = 3;
const BETWEEN_SEARCHES: Duration = Duration::from_millis(300);

/// The last line of a process that ends by itself.
const DISMISSAL: &str = "end";

/// The mark of this process's guard.
static OWN_MARK: OnceLock<String> = OnceLock::new();

/// The guard's standard input, if there is a guard.
static GUARD: Mutex<Option<ChildStdin>> = Mutex::new(None);

/// Starts `command`, this program as a guard, unless a guard is running.
///
/// # Errors
/// It cannot be started; then children outlive a parent that is killed.
pub fn start_guard(command: &mut Command) -> io::Result<()> {
    let mut guard = GUARD.lock().unwrap_or_else(PoisonError::into_inner);
    if guard.is_none() {
        // A separate group: an interrupt from the terminal is for the parent.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mark = OWN_MARK.get_or_init(|| format!("{}-{}", std::process::id(), since.as_nanos()));
        let command =
            command.env(MARK, mark).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        *guard = command.spawn()?.stdin.take();
    }
    Ok(())
}

/// Marks a child that is about to start.
pub(super) fn mark(command: &mut Command) {
    if let Some(mark) = OWN_MARK.get() {
        command.env(MARK, mark);
    }
}

/// Whether a group of processes has just begun, or is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GroupChange {
    Begun,
    Over,
}

pub(super) fn tell(change: GroupChange, group: i32) {
    if let Some(pipe) = GUARD.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        let sign = match change {
            GroupChange::Begun => '+',
            GroupChange::Over => '-',
        };
        // A guard that has ended no longer guards; the measurement continues.
        let _ = pipe.write_all(format!("{sign}{group}\n").as_bytes());
    }
}

/// Tells the guard that this process ends by itself: programs that its children left running, as the server of a
/// compile cache, may go on.
pub fn dismiss_guard() {
    if let Some(pipe) = GUARD.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        // Without a guard there is nobody to tell.
        let _ = pipe.write_all(format!("{DISMISSAL}\n").as_bytes());
    }
}

/// The guard's work: reads groups from `input` to its end, then ends those that are still running.
///
/// # Errors
/// `input` cannot be read; the groups are ended all the same.
pub fn guard(input: impl BufRead) -> io::Result<()> {
    let mut groups = BTreeSet::new();
    let (mut read, mut is_dismissed) = (Ok(()), false);
    for line in input.lines() {
        match line {
            Ok(line) if line == DISMISSAL => is_dismissed = true,
            Ok(line) => note(&mut groups, &line),
            Err(error) => {
                read = Err(error);
                break;
            }
        }
    }
    for group in groups {
        // No such group: it ended with its parent.
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
    }
    if let Some(mark) = std::env::var(MARK).ok().filter(|_| !is_dismissed) {
        for _ in 0..SEARCHES {
            end_marked(&mark);
            std::thread::sleep(BETWEEN_SEARCHES);
        }
    }
    read
}

/// Ends every other process of this user with that mark.
fn end_marked(mark: &str) {
    let marked = format!("{MARK}={mark}");
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        // It has ended, or is another user's.
        let Ok(variables) = std::fs::read(entry.path().join("environ")) else { continue };
        let is_marked = variables.split(|byte| *byte == 0).any(|variable| variable == marked.as_bytes());
        if is_marked && process != Pid::this().as_raw() {
            let _ = kill(Pid::from_raw(process), Signal::SIGKILL);
        }
    }
}

fn note(groups: &mut BTreeSet<i32>, line: &str) {
    let group = |text: &str| text.parse::<i32>().ok().filter(|group| *group > 1);
    if let Some(begun) = line.strip_prefix('+').and_then(group) {
        groups.insert(begun);
    } else if let Some(over) = line.strip_prefix('-').and_then(group) {
        groups.remove(&over);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn a_child_that_the_guard_was_not_told_of_is_known_by_its_mark() {
        let sleep = |mark: &str| Command::new("sleep").arg("60").env(MARK, mark).process_group(0).spawn().unwrap();
        let own = format!("test-{}", std::process::id());
        let (mut marked, mut other) = (sleep(&own), sleep(&format!("{own}0")));
        // Until a program has begun its environment is not there.
        let search = || {
            end_marked(&own);
            std::thread::sleep(Duration::from_millis(20));
            marked.try_wait().unwrap()
        };
        assert_eq!(std::iter::repeat_with(search).take(500).find_map(|ended| ended).unwrap().signal(), Some(9));
        assert_eq!(other.try_wait().unwrap(), None);
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn groups_that_are_not_over_end_with_the_pipe() {
        let sleep = || Command::new("sleep").arg("60").process_group(0).spawn().unwrap();
        let (mut left, mut over) = (sleep(), sleep());
        let said = format!("+{}\n+{}\n-{}\n+0\n+1\n+-1\nnonsense\n", left.id(), over.id(), over.id());
        guard(said.as_bytes()).unwrap();
        assert_eq!(left.wait().unwrap().signal(), Some(9));
        assert_eq!(over.try_wait().unwrap(), None);
        over.kill().unwrap();
        over.wait().unwrap();
    }
}
