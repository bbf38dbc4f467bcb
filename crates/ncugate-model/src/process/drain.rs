//! The output of a child, read concurrently in bounded memory.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Bytes kept of each end.
const END: usize = 64 << 10;
/// Limit in bytes when the whole output is kept.
const WHOLE: usize = 64 << 20;

/// The part of an output that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptOutput {
    /// The first and the last 64 KiB.
    Ends,
    /// Everything; more than 64 MiB is an error.
    Whole,
}

/// A pipe that a thread reads.
#[derive(Debug)]
pub struct Drain {
    keep: KeptOutput,
    kept: Arc<Mutex<CapturedOutput>>,
    /// Disconnects when the pipe ends.
    reading: Receiver<()>,
}

/// The output so far.
#[derive(Debug, Default)]
struct CapturedOutput {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// Bytes dropped between the two ends.
    left_out: u64,
    /// Set when the reader's owner stops waiting.
    given_up: bool,
}

impl Drain {
    /// Reads `pipe` to its end.
    pub fn start(pipe: Option<impl Read + Send + 'static>, keep: KeptOutput) -> Self {
        let kept = Arc::new(Mutex::new(CapturedOutput::default()));
        let (sender, reading) = channel();
        let shared = Arc::clone(&kept);
        std::thread::spawn(move || {
            if let Some(pipe) = pipe {
                read(pipe, &shared, keep);
            }
            drop(sender);
        });
        Self { keep, kept, reading }
    }

    /// The output until the pipe ends or until `until`; then the pipe is closed as soon as its thread can.
    ///
    /// # Errors
    /// The whole output is required, but some of it was dropped.
    pub fn take(self, until: Instant) -> io::Result<String> {
        // The pipe ended, or time is up: the output so far counts.
        let _ = self.reading.recv_timeout(until.saturating_duration_since(Instant::now()));
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.given_up = true;
        if self.keep == KeptOutput::Whole && kept.left_out > 0 {
            return Err(io::Error::other("it printed more than 64 MiB"));
        }
        Ok(kept.text())
    }
}

fn read(mut pipe: impl Read, shared: &Mutex<CapturedOutput>, keep: KeptOutput) {
    let mut chunk = vec![0; 16 << 10];
    loop {
        let count = match pipe.read(&mut chunk) {
            Ok(0) => return,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        let mut kept = shared.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.given_up {
            return;
        }
        kept.add(&chunk[..count], keep);
    }
}

impl CapturedOutput {
    fn add(&mut self, bytes: &[u8], keep: KeptOutput) {
        let (head, tail) = match keep {
            KeptOutput::Ends => (END, END),
            KeptOutput::Whole => (WHOLE, 0),
        };
        let (first, rest) = bytes.split_at(bytes.len().min(head - self.head.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let excess = self.tail.len().saturating_sub(tail);
        self.tail.drain(..excess);
        self.left_out += excess as u64;
    }

    fn text(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.head).into_owned();
        if self.left_out > 0 {
            text.push_str(&format!("\n... ({} bytes left out)\n", self.left_out));
            let tail: Vec<u8> = self.tail.iter().copied().collect();
            text.push_str(&String::from_utf8_lossy(&tail));
        } else if !self.tail.is_empty() {
            let whole: Vec<u8> = self.head.iter().chain(&self.tail).copied().collect();
            text = String::from_utf8_lossy(&whole).into_owned();
        }
        text
    }
}
