//! Standard output of a command: that its reader has gone changes neither what is done nor the status.

use std::io::{self, ErrorKind, Write};

/// Standard output; once nobody reads it any more, what is written goes nowhere.
pub struct Output<W> {
    out: W,
    closed: bool,
}

impl<W: Write> Output<W> {
    /// An output that somebody reads.
    pub fn new(out: W) -> Self {
        Self { out, closed: false }
    }

    /// Takes note of a reader that has gone; any other error stays one.
    fn heard<T>(&mut self, result: io::Result<T>, unheard: T) -> io::Result<T> {
        match result {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(unheard)
            }
            other => other,
        }
    }
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.closed {
            return Ok(bytes.len());
        }
        let result = self.out.write(bytes);
        self.heard(result, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        let result = self.out.flush();
        self.heard(result, ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails in one way.
    struct Failing(ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn a_reader_that_has_gone_is_no_failure_and_a_full_disk_is() {
        let mut gone = Output::new(Failing(ErrorKind::BrokenPipe));
        assert!(writeln!(gone, "text").is_ok() && gone.flush().is_ok());
        let mut full = Output::new(Failing(ErrorKind::StorageFull));
        assert!(writeln!(full, "text").is_err() && full.flush().is_err());
    }
}
