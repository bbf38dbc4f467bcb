//! `ncugate search --simulate`: a strategy tried on recorded spaces.

use super::{CommandError, print};
use crate::cli::{OutputFormat, SearchArgs, SearchLearning, StrategyChoice};
use crate::console::Output;
use crate::exit::Outcome;
use jiff::civil::Date;
use ncugate_campaign::search::{Learning, RecordedSpace, ReplayScore, ReplaySettings, replay};
use ncugate_judge::{JudgedRun, PhaseRun};
use ncugate_phase::config::{SearchStrategy, usual_batch};
use std::io::Write;
use std::path::Path;

/// Replays every space and prints how the strategy did.
pub fn search(args: &SearchArgs, today: Date, out: &mut Output) -> Result<Outcome, CommandError> {
    let settings = ReplaySettings {
        strategy: match args.strategy {
            StrategyChoice::Model => SearchStrategy::Model,
            StrategyChoice::Random => SearchStrategy::Random,
            StrategyChoice::Exhaustive => SearchStrategy::Exhaustive,
        },
        learning: match args.learn {
            SearchLearning::Times => Learning::Times,
            SearchLearning::Facts => Learning::Facts,
        },
        evaluations: args.evaluations as usize,
        batch: args.batch.unwrap_or_else(|| usual_batch(args.evaluations)) as usize,
        repeats: args.repeats,
        seed: args.seed,
    };
    let mut scores = Vec::with_capacity(args.simulate.len());
    if args.format == OutputFormat::Text {
        let [quarter, half, all] = [args.evaluations / 4, args.evaluations / 2, args.evaluations];
        writeln!(
            out,
            "{:<30} {:>7} {quarter:>7} {half:>7} {all:>7} {:>7} {:>7} {:>7}",
            "space", "points", "worst", "score", "in 1 %"
        )?;
    }
    for path in &args.simulate {
        let score = replay(&space(path, today)?, settings);
        if args.format == OutputFormat::Text {
            writeln!(out, "{}", line(&score.space, &score.points.to_string(), &score, args.repeats))?;
        }
        scores.push(score);
    }
    match args.format {
        OutputFormat::Text => writeln!(out, "{}", line("mean", "", &mean(&scores), args.repeats))?,
        OutputFormat::Json => {
            print::json(&scores, out)?;
        }
    }
    Ok(Outcome::Passed)
}

/// A cache file, or a run's folder.
fn space(path: &Path, today: Date) -> Result<RecordedSpace, CommandError> {
    if !path.is_dir() {
        return Ok(RecordedSpace::of_cache(path)?);
    }
    let run = PhaseRun::load(path)?;
    let session = JudgedRun::of_stored(&run, today)?;
    let name = run.phase.name.clone();
    RecordedSpace::of_run(name, &run.phase.objective, &run.plan, session.measurements().quantities())
        .map_err(|reason| CommandError::Usage(format!("{} cannot be replayed: {reason}", path.display())))
}

fn line(name: &str, points: &str, score: &ReplayScore, repeats: u32) -> String {
    let [quarter, half, all] = score.fraction;
    let (worst, within) = (score.worst_tenth, 100.0 * f64::from(score.within_percent) / f64::from(repeats.max(1)));
    format!(
        "{name:<30} {points:>7} {quarter:>7.3} {half:>7.3} {all:>7.3} {worst:>7.3} {:>7.3} {within:>5.0} %",
        score.score
    )
}

fn mean(scores: &[ReplayScore]) -> ReplayScore {
    let of = |value: &dyn Fn(&ReplayScore) -> f64| scores.iter().map(value).sum::<f64>() / scores.len().max(1) as f64;
    ReplayScore {
        space: "mean".to_owned(),
        points: 0,
        fraction: [0, 1, 2].map(|at| of(&|score| score.fraction[at])),
        worst_tenth: of(&|score| score.worst_tenth),
        within_percent: of(&|score| f64::from(score.within_percent)).round() as u32,
        score: of(&|score| score.score),
    }
}
