//! The only way to standard output and standard error.
//!
//! Text for people passes through [`Output`] and [`warn`], which clean each finished line: no control character, no mark that changes the
//! direction of text, and no line that a CI runner takes for a command. Output for programs (JSON, CSV, a page, an intended workflow command)
//! passes through [`Output::machine`].

use ncugate_model::number::text::{LONGEST, logged};
use std::borrow::Cow;
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the two streams have colours. Only codes of colours pass.
static COLOURED: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];

/// Lets the codes of colours through on standard output and standard error.
pub fn allow_colours(output: bool, errors: bool) {
    for (stream, allowed) in COLOURED.iter().zip([output, errors]) {
        stream.store(allowed, Ordering::Relaxed);
    }
}

/// Prints text for people on standard error, cleaned and in lines of at most [`LONGEST`] characters: names from outside have any length. Ignores a closed stream.
pub fn warn(text: &str) {
    let coloured = COLOURED.last().is_some_and(|stream| stream.load(Ordering::Relaxed));
    let text: String =
        text.split('\n').map(|line| cleaned(&shortened(line, coloured), coloured).into_owned() + "\n").collect();
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Standard output. After the reader has closed it, writes have no effect.
pub struct Output {
    out: Box<dyn Write>,
    closed: bool,
    coloured: bool,
    /// The unfinished line.
    line: Vec<u8>,
}

impl Output {
    /// Standard output of this process.
    pub fn standard() -> Self {
        let coloured = COLOURED.first().is_some_and(|stream| stream.load(Ordering::Relaxed));
        Self { coloured, ..Self::to(Box::new(io::stdout().lock())) }
    }

    /// An output without a reader.
    pub fn nowhere() -> Self {
        Self::to(Box::new(io::sink()))
    }

    fn to(out: Box<dyn Write>) -> Self {
        Self { out, closed: false, coloured: false, line: Vec::new() }
    }

    /// Output for programs, which is not cleaned.
    pub fn machine(&mut self) -> MachineOutput<'_> {
        MachineOutput(self)
    }

    /// Writes the last line if it is unfinished.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(&mut self) -> io::Result<()> {
        self.end_line()?;
        self.pass(|out| out.flush())
    }

    /// Records that the reader has closed the stream; returns any other error.
    fn pass(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        match write(&mut *self.out) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            other => other,
        }
    }

    /// Cleans and writes the line so far.
    fn end_line(&mut self) -> io::Result<()> {
        let bytes = std::mem::take(&mut self.line);
        if bytes.is_empty() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&bytes);
        let (text, end) = text.strip_suffix('\n').map_or((&*text, ""), |text| (text, "\n"));
        let line = cleaned(text, self.coloured).into_owned() + end;
        self.pass(|out| out.write_all(line.as_bytes()))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.end_line()?;
            }
        }
        Ok(bytes.len())
    }

    /// An unfinished line stays: its beginning decides how it is cleaned.
    fn flush(&mut self) -> io::Result<()> {
        self.pass(|out| out.flush())
    }
}

/// Output for programs.
pub struct MachineOutput<'a>(&'a mut Output);

impl Write for MachineOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.end_line()?;
        self.0.pass(|out| out.write_all(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.pass(|out| out.flush())
    }
}

/// The beginning of a line that is too long.
fn shortened(line: &str, coloured: bool) -> Cow<'_, str> {
    let Some((end, _)) = line.char_indices().nth(LONGEST) else { return Cow::Borrowed(line) };
    let reset = if coloured { "\u{1b}[0m" } else { "" };
    Cow::Owned(format!("{}{reset}… ({} characters)", &line[..end], line.chars().count()))
}

/// A line as it is written.
fn cleaned(line: &str, coloured: bool) -> Cow<'_, str> {
    let is_plain = |byte: u8| (b' '..=b'~').contains(&byte) || byte == b'\t';
    if !line.trim_start().starts_with(':') && !line.contains("##") && line.bytes().all(is_plain) {
        return Cow::Borrowed(line);
    }
    if !coloured {
        return Cow::Owned(logged(line));
    }
    // Codes are removed, so that the remaining text is judged as one line.
    let (mut text, mut codes, mut rest) = (String::new(), Vec::new(), line);
    while let Some(at) = rest.find('\u{1b}') {
        let (before, tail) = rest.split_at(at);
        text.push_str(before);
        let length = colour_code(tail).unwrap_or(0);
        if length == 0 {
            text.push('\u{1b}');
            rest = tail.strip_prefix('\u{1b}').unwrap_or_default();
            continue;
        }
        let (code, after) = tail.split_at(length);
        codes.push((text.len(), code));
        rest = after;
    }
    text.push_str(rest);
    let whole = logged(&text);
    if whole != text {
        // It has more than colours to lose.
        return Cow::Owned(whole);
    }
    Cow::Borrowed(line)
}

/// Bytes of the colour code that a text begins with: bold, underlined, the colours that are readable, and the end of all.
fn colour_code(text: &str) -> Option<usize> {
    let inner = text.strip_prefix("\u{1b}[")?;
    let end = inner.find('m').filter(|end| *end <= 12)?;
    let known = |code: &str| matches!(code.parse(), Ok(0 | 1 | 4 | 22 | 24 | 31..=36 | 39 | 91..=96));
    let codes = inner.get(..end)?;
    (codes.is_empty() || codes.split(';').all(known)).then_some(end + 3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// Keeps what is written.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

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

    fn printed(print: impl Fn(&mut Output)) -> String {
        let kept = Kept::default();
        let mut out = Output::to(Box::new(kept.clone()));
        print(&mut out);
        out.finish().unwrap();
        let bytes = kept.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_reader_that_has_gone_is_no_failure_and_a_full_disk_is() {
        let mut gone = Output::to(Box::new(Failing(ErrorKind::BrokenPipe)));
        assert!(writeln!(gone, "text").is_ok() && gone.flush().is_ok());
        let mut full = Output::to(Box::new(Failing(ErrorKind::StorageFull)));
        assert!(writeln!(full, "text").is_err() && full.flush().is_err());
        let mut full = Output::to(Box::new(Failing(ErrorKind::StorageFull)));
        assert!(write!(full, "no end").is_ok() && full.finish().is_err());
    }

    #[test]
    fn a_line_that_is_written_in_pieces_is_cleaned_as_one() {
        let text = printed(|out| {
            write!(out, " :").unwrap();
            out.flush().unwrap();
            write!(out, ":error::a\u{1b}[2J\nb #").unwrap();
            write!(out, "#[error]c\n\u{a0}::x::").unwrap();
        });
        assert_eq!(text, "' ::error::a⟨U+001B⟩[2J\nb ## [error]c\n'\u{a0}::x::");
    }

    #[test]
    fn what_programs_read_is_left_alone_and_keeps_its_place() {
        let text = printed(|out| {
            write!(out, "::a").unwrap();
            out.machine().write_all(b"\n::error::meant\n").unwrap();
            writeln!(out, "::b").unwrap();
        });
        assert_eq!(text, "'::a\n::error::meant\n'::b\n");
    }

    #[test]
    fn a_line_of_a_message_has_an_end() {
        let short = "x".repeat(LONGEST);
        assert_eq!(shortened(&short, false), short);
        let long = shortened(&"x".repeat(1_000_000), false).into_owned();
        assert!(long.ends_with("x… (1000000 characters)") && long.len() < LONGEST + 40, "{}", long.len());
        let coloured = cleaned(&shortened(&"é".repeat(LONGEST + 1), true), true).into_owned();
        assert!(coloured.ends_with("é\u{1b}[0m… (2001 characters)"), "{}", coloured.len());
    }

    #[test]
    fn codes_of_colours_pass_where_there_are_colours_and_no_others() {
        let line = "\u{1b}[1;32mPASS\u{1b}[0m größe";
        assert_eq!(cleaned(line, true), line);
        assert_eq!(cleaned(line, false), "⟨U+001B⟩[1;32mPASS⟨U+001B⟩[0m größe");
        for hidden in
            ["\u{1b}[8mx", "\u{1b}[2J", "\u{1b}]0;title\u{7}", "\u{1b}[31m::error::x", "\u{1b}[31m\u{9b}1m", "\u{1b}"]
        {
            let shown = cleaned(hidden, true);
            assert!(!shown.contains(['\u{1b}', '\u{9b}', '\u{7}']) && !shown.starts_with("::"), "{shown}");
        }
    }
}
