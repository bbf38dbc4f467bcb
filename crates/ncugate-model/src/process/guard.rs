//! Ends children when this process is killed: a second process, the guard, reads the existing groups from a pipe. The
//! system closes the pipe when its writer ends in any way; then the guard ends every remaining group.

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

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
        let command = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        *guard = command.spawn()?.stdin.take();
    }
    Ok(())
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

/// The guard's work: reads groups from `input` to its end, then ends those that are still running.
///
/// # Errors
/// `input` cannot be read; the groups are ended all the same.
pub fn guard(input: impl BufRead) -> io::Result<()> {
    let mut groups = BTreeSet::new();
    let mut read = Ok(());
    for line in input.lines() {
        match line {
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
    read
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
