//! What the user sees while a campaign works: a bar on a terminal, nothing elsewhere.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, Write};
use std::sync::Mutex;

/// Where a campaign reports its progress.
pub trait Progress {
    /// A stage starts that has so many steps.
    fn stage(&self, name: &str, steps: usize);
    /// A step was done, for this variant.
    fn step(&self, variant: &str);
    /// Something is being done that has no steps.
    fn note(&self, text: &str);
    /// Something was found that the user should know now.
    fn say(&self, line: &str);
}

/// Says nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn stage(&self, _: &str, _: usize) {}
    fn step(&self, _: &str) {}
    fn note(&self, _: &str) {}
    fn say(&self, _: &str) {}
}

/// How much is said of the progress.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Volume {
    /// Nothing.
    Quiet,
    /// A bar on a terminal, and what the user should know.
    #[default]
    Usual,
    /// A line for each stage and step too.
    Verbose,
}

/// A bar on standard error, drawn only where that is a terminal.
#[derive(Debug)]
pub struct Terminal {
    bar: Mutex<ProgressBar>,
    volume: Volume,
}

impl Terminal {
    /// Says so much.
    pub fn new(volume: Volume) -> Self {
        Self { bar: Mutex::new(ProgressBar::hidden()), volume }
    }

    /// Prints a line where every step is said.
    fn detail(&self, line: &str) {
        if self.volume == Volume::Verbose {
            self.say(line);
        }
    }

    fn with(&self, act: impl FnOnce(&mut ProgressBar)) {
        act(&mut self.bar.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    }

    /// Takes the bar away.
    pub fn clear(&self) {
        self.with(|bar| bar.finish_and_clear());
    }
}

impl Progress for Terminal {
    fn stage(&self, name: &str, steps: usize) {
        self.detail(&format!("{name}: {steps}"));
        if self.volume == Volume::Quiet {
            return;
        }
        self.with(|bar| {
            bar.finish_and_clear();
            *bar = ProgressBar::new(steps as u64);
            if let Ok(style) = ProgressStyle::with_template("{prefix:>16} [{bar:30}] {pos}/{len} {elapsed} {wide_msg}")
            {
                bar.set_style(style.progress_chars("=> "));
            }
            bar.set_prefix(name.to_owned());
        });
    }

    fn step(&self, variant: &str) {
        self.detail(&format!("  {variant}"));
        self.with(|bar| {
            bar.set_message(variant.to_owned());
            bar.inc(1);
        });
    }

    fn note(&self, text: &str) {
        self.detail(&format!("  {text}"));
        self.with(|bar| bar.set_message(text.to_owned()));
    }

    /// Prints a line above the bar, terminal or not.
    fn say(&self, line: &str) {
        if self.volume == Volume::Quiet {
            return;
        }
        self.with(|bar| {
            bar.suspend(|| {
                // Standard error may be closed; there is nowhere left to say so.
                let _ = writeln!(io::stderr(), "{line}");
            });
        });
    }
}
