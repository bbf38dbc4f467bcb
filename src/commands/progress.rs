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

/// Interval at which the bar's seconds move.
const TICK: Duration = Duration::from_millis(500);

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

    /// Counts steps, and shows the task; without a bar, prints a line at intervals.
    fn advance(&self, steps: usize, task: &str) {
        self.with(|bar| {
            bar.set_message(one_line(task));
            bar.inc(steps as u64);
        });
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(stage) = stage.as_mut() else { return };
        stage.done += steps;
        if !self.has_bar && self.volume == Verbosity::Usual && stage.done < stage.steps && stage.said.elapsed() >= EVERY
        {
            stage.said = Instant::now();
            self.say(&format!("{} ({})", stage.line("after"), one_line(task)));
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
            if let Ok(style) = ProgressStyle::with_template("{prefix} [{bar:12}] {pos}/{len} {elapsed} {wide_msg}") {
                bar.set_style(style.progress_chars("=> "));
            }
            bar.set_prefix(one_line(name));
            if self.has_bar {
                bar.enable_steady_tick(TICK);
            }
        });
    }

    fn step(&self, variant: &str) {
        self.detail(&format!("  {variant}"));
        self.advance(1, variant);
    }

    fn note(&self, text: &str) {
        self.detail(&format!("  {text}"));
        self.advance(0, text);
    }

    fn task(&self, text: &str) {
        self.advance(0, text);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_within_a_step_are_shown_and_count_nothing() {
        let terminal = Terminal::new(Verbosity::Usual);
        terminal.stage("check and time", 2);
        terminal.step("good");
        terminal.task("round 12 of 60: good at 'large'");
        terminal.with(|bar| {
            assert_eq!((bar.message().as_str(), bar.position()), ("round 12 of 60: good at 'large'", 1));
        });
        terminal.stage.lock().unwrap().as_mut().unwrap().said -= EVERY;
        terminal.task("round 13 of 60: good at 'large'");
        assert!(terminal.stage.lock().unwrap().as_ref().unwrap().said.elapsed() < EVERY, "no line was printed");
    }
}
