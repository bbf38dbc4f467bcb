//! Arguments that select a part of a phase.

use clap::Args;
use ncugate_model::ShapeName;
use ncugate_phase::plan::PhaseSubset;

/// A part of a phase; a run of a part never passes.
#[derive(Debug, Clone, Default, Args)]
pub struct SubsetArgs {
    /// Measure only candidates that match a glob (`THREADS=256,*`) or a condition (`THREADS == 256 and VEC > 1`);
    /// repeatable, one match is enough
    #[arg(long = "filter", value_name = "GLOB|CONDITION")]
    pub filters: Vec<String>,
    /// Measure only candidates with this value of a sweep parameter (repeatable)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub fixed: Vec<String>,
    /// Time and profile only this shape (repeatable); all shapes are checked
    #[arg(long = "shape", value_name = "SHAPE")]
    pub shapes: Vec<String>,
    /// Number of timing rounds, instead of the phase's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rounds: Option<u32>,
}

impl From<&SubsetArgs> for PhaseSubset {
    fn from(part: &SubsetArgs) -> Self {
        Self {
            filters: part.filters.clone(),
            fixed: part.fixed.clone(),
            shapes: part.shapes.iter().map(|name| ShapeName(name.into())).collect(),
            rounds: part.rounds,
        }
    }
}
