//! A search strategy tried on spaces of which every point was measured, without a GPU.
//!
//! ```text
//! cargo run --release -p ncugate-campaign --example search -- profiles/phase_d/h200 --evaluations 25
//! ```

#![allow(clippy::print_stdout)]

mod recorded_space;
mod replay;

use clap::Parser;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use ncugate_judge::{JudgedRun, PhaseRun};
use ncugate_phase::config::{SearchStrategy, usual_batch};
use recorded_space::RecordedSpace;
use replay::{ReplayScore, ReplaySettings, replay};
use std::error::Error;
use std::path::{Path, PathBuf};

#[derive(Debug, Parser)]
struct SearchArgs {
    /// Cache files of kernel_tuner (JSON, unpacked), or folders of runs whose sweep was measured
    #[arg(value_name = "SPACE", required = true)]
    spaces: Vec<PathBuf>,
    /// `elites`, `random` or `exhaustive`
    #[arg(long, value_parser = strategy, default_value = "elites")]
    strategy: SearchStrategy,
    /// Points that a search tries; those that fail count
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(4..))]
    evaluations: u32,
    /// Points that are proposed together [default: an eighth of the evaluations, from 1 to 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    batch: Option<u32>,
    /// Searches of each space, each with its own seed
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

fn strategy(name: &str) -> Result<SearchStrategy, String> {
    let known = SearchStrategy::WORDS.into_iter().find(|(word, _)| *word == name);
    known.map(|(_, strategy)| strategy).ok_or_else(|| "name `elites`, `random` or `exhaustive`".to_owned())
}

fn main() -> Result<(), Box<dyn Error>> {
    let args = SearchArgs::parse();
    let settings = ReplaySettings {
        strategy: args.strategy,
        evaluations: args.evaluations as usize,
        batch: args.batch.unwrap_or_else(|| usual_batch(args.evaluations)) as usize,
        repeats: args.repeats,
        seed: args.seed,
    };
    let [quarter, half, all] = [args.evaluations / 4, args.evaluations / 2, args.evaluations];
    if !args.json {
        println!(
            "{:<30} {:>7} {quarter:>7} {half:>7} {all:>7} {:>7} {:>7} {:>7}",
            "space", "points", "worst", "score", "in 1 %"
        );
    }
    let mut scores = Vec::with_capacity(args.spaces.len());
    for path in &args.spaces {
        let score = replay(&space(path)?, settings);
        if !args.json {
            println!("{}", line(&score.space, &score.points.to_string(), &score, args.repeats));
        }
        scores.push(score);
    }
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&scores)?),
        false => println!("{}", line("mean", "", &mean(&scores), args.repeats)),
    }
    Ok(())
}

/// A kernel_tuner cache file or a run folder.
fn space(path: &Path) -> Result<RecordedSpace, Box<dyn Error>> {
    if !path.is_dir() {
        return Ok(RecordedSpace::of_cache(path)?);
    }
    let run = PhaseRun::load(path)?;
    let session = JudgedRun::of_stored(&run, Timestamp::now().to_zoned(TimeZone::UTC).date())?;
    let name = run.phase.name.clone();
    RecordedSpace::of_run(name, &run.phase.objective, &run.plan, session.measurements().quantities())
        .map_err(|reason| format!("{} cannot be replayed: {reason}", path.display()).into())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at_root(path: &str) -> RecordedSpace {
        space(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
    }

    fn settings(evaluations: usize, batch: usize, repeats: u32) -> ReplaySettings {
        ReplaySettings { strategy: SearchStrategy::Elites, evaluations, batch, repeats, seed: 0 }
    }

    #[test]
    fn equal_seeds_give_equal_scores() {
        let bowl = at_root("tests/data/search/bowl.json");
        let settings = settings(24, 4, 20);
        assert_eq!(replay(&bowl, settings), replay(&bowl, settings));
    }

    #[test]
    fn the_best_of_a_recorded_sweep_is_found_in_half_of_it() {
        let score = replay(&at_root("profiles/phase_d/h200"), settings(45, 5, 10));
        assert_eq!(score.within_percent, 10, "{score:?}");
    }

    #[test]
    fn a_file_that_is_not_a_recorded_space_is_an_error() {
        let error = space(Path::new("Cargo.toml")).unwrap_err().to_string();
        assert!(error.contains("Cargo.toml is not a recorded space"), "{error}");
    }
}
