//! Progress of a campaign: a bar on a terminal, one line per stage elsewhere.

use crate::console::warn;
use indicatif::{ProgressBar, ProgressStyle};
use ncugate_campaign::Progress;
use ncugate_model::number;
use ncugate_model::number::text::line as one_line;
use std::io::{self, IsTerminal};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Verbosity of the progress.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Verbosity {
    /// Nothing.
    Quiet,
    /// A bar on a terminal, elsewhere one line per stage, and notes.
    #[default]
    Usual,
    /// Also one line per stage and step.
    Verbose,
}

/// Interval of progress lines without a terminal.
const EVERY: Duration = Duration::from_secs(10);

/// Minimum duration of a stage that gets a line.
const LONG: Duration = Duration::from_secs(1);

/// The current stage.
#[derive(Debug)]
struct StageProgress {
    name: String,
    steps: usize,
    done: usize,
    began: Instant,
    said: Instant,
}

impl StageProgress {
    /// `build: 34 of 90 after 20 s`.
    fn line(&self, how: &str) -> String {
        let Self { name, steps, done, began, .. } = self;
        let took = number::seconds(began.elapsed().as_secs_f64());
        format!("{name}: {done} of {steps} {how} {took}")
    }
}

/// Progress on standard error: a bar on a terminal, else a line every ten seconds and at the end of each stage.
#[derive(Debug)]
pub struct Terminal {
    bar: Mutex<ProgressBar>,
    stage: Mutex<Option<StageProgress>>,
    volume: Verbosity,
    has_bar: bool,
}

impl Terminal {
    /// With this verbosity.
    pub fn new(volume: Verbosity) -> Self {
        let has_bar = io::stderr().is_terminal();
        Self { bar: Mutex::new(ProgressBar::hidden()), stage: Mutex::default(), volume, has_bar }
    }

    /// Prints a line if steps are printed.
    fn detail(&self, line: &str) {
        if self.volume == Verbosity::Verbose {
            self.say(line);
        }
    }

    fn with(&self, act: impl FnOnce(&mut ProgressBar)) {
        act(&mut self.bar.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Ends the current stage, and begins the next.
    fn turn(&self, next: Option<StageProgress>) {
        let ended = std::mem::replace(&mut *self.stage.lock().unwrap_or_else(PoisonError::into_inner), next);
        // A single short step gets no line.
        let is_said = |stage: &StageProgress| !self.has_bar && (stage.steps > 1 || stage.began.elapsed() >= LONG);
        if let Some(ended) = ended.filter(is_said) {
            self.say(&ended.line("in"));
        }
    }

    /// Counts a step; without a bar, prints a line at intervals.
    fn count(&self) {
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(stage) = stage.as_mut() else { return };
        stage.done += 1;
        if !self.has_bar && self.volume == Verbosity::Usual && stage.done < stage.steps && stage.said.elapsed() >= EVERY
        {
            stage.said = Instant::now();
            self.say(&stage.line("after"));
        }
    }

    /// Removes the bar.
    pub fn clear(&self) {
        self.turn(None);
        self.with(|bar| bar.finish_and_clear());
    }
}

impl Progress for Terminal {
    fn stage(&self, name: &str, steps: usize) {
        let now = Instant::now();
        self.turn(Some(StageProgress { name: name.to_owned(), steps, done: 0, began: now, said: now }));
        self.detail(&format!("{name}: {steps}"));
        if self.volume == Verbosity::Quiet {
            return;
        }
        self.with(|bar| {
            bar.finish_and_clear();
            *bar = ProgressBar::new(steps as u64);
            if let Ok(style) = ProgressStyle::with_template("{prefix:>16} [{bar:30}] {pos}/{len} {elapsed} {wide_msg}")
            {
                bar.set_style(style.progress_chars("=> "));
            }
            bar.set_prefix(one_line(name));
        });
    }

    fn step(&self, variant: &str) {
        self.detail(&format!("  {variant}"));
        self.count();
        self.with(|bar| {
            bar.set_message(one_line(variant));
            bar.inc(1);
        });
    }

    fn note(&self, text: &str) {
        self.detail(&format!("  {text}"));
        self.with(|bar| bar.set_message(one_line(text)));
    }

    /// Prints a line above the bar, terminal or not.
    fn say(&self, line: &str) {
        if self.volume == Verbosity::Quiet {
            return;
        }
        self.with(|bar| {
            bar.suspend(|| {
                warn(line);
            });
        });
    }
}
