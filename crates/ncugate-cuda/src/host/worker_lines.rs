//! The lines that a worker reports, some of which are read before its turn.

use ncugate_model::process::SupervisedChild;
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// The lines of a worker's standard output, in order.
#[derive(Debug)]
pub(super) struct WorkerLines {
    /// Lines that were looked at ahead.
    ahead: VecDeque<String>,
    rest: Receiver<String>,
}

impl WorkerLines {
    /// Takes over the worker's standard output.
    ///
    /// # Errors
    /// It is no pipe.
    pub(super) fn of(child: &mut SupervisedChild) -> io::Result<Self> {
        let stdout = child.child().stdout.take().ok_or_else(|| io::Error::other("no pipe"))?;
        Ok(Self { ahead: VecDeque::new(), rest: read_lines(stdout) })
    }

    /// The next line; `Disconnected` after the last one.
    pub(super) fn recv_timeout(&mut self, limit: Duration) -> Result<String, RecvTimeoutError> {
        self.ahead.pop_front().map_or_else(|| self.rest.recv_timeout(limit), Ok)
    }

    /// Waits for a line that nobody has seen, and keeps it.
    pub(super) fn await_ahead(&mut self, limit: Duration) -> Result<&str, RecvTimeoutError> {
        self.ahead.push_back(self.rest.recv_timeout(limit)?);
        Ok(self.ahead.back().map_or("", String::as_str))
    }
}

fn read_lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        while matches!(pipe.read_until(b'\n', &mut line), Ok(n) if n > 0) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                break;
            }
            line.clear();
        }
    });
    lines
}
