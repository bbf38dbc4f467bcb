//! Which part of a phase is measured.

use clap::Args;
use ncugate_model::ShapeName;
use ncugate_phase::plan::PhaseSubset;

/// A part of a phase, to look at; a run of a part does not pass.
#[derive(Debug, Clone, Default, Args)]
pub struct SubsetArgs {
    /// Measure only candidates whose id fits a glob (`THREADS=256,*`), or whose parameters fit a condition
    /// (`THREADS == 256 and VEC > 1`); of several one has to fit
    #[arg(long = "filter", value_name = "GLOB|CONDITION")]
    pub filters: Vec<String>,
    /// Measure only candidates with this value of a parameter of the sweep; as often as needed
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub fixed: Vec<String>,
    /// Time and profile only this shape; as often as needed. Every shape is checked
    #[arg(long = "shape", value_name = "SHAPE")]
    pub shapes: Vec<String>,
    /// Time in so many rounds, instead of as many as the phase asks for
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
