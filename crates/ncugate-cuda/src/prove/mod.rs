//! Verifies kernels: inputs, references, and the error of outputs.
//!
//! Differences are measured here; the tolerance decides which are small enough.

mod check_buffers;
mod conditioning;
mod draw;
mod expected;
mod fill;
#[cfg(test)]
pub(crate) mod fixtures;
mod input_error;
mod inputs;
mod laws;
mod lower_tolerance;
mod mutant;
mod mutation_test;
mod null_answer;
mod output_check;
mod outputs;
mod partial;
mod poison;
mod reference;
mod reference_time;
mod replaced_input;
mod shape;

pub use check_buffers::{CheckBuffers, ComparedOutput};
pub use conditioning::{DerivedBound, perturbed};
pub use draw::{CaseDraw, case_outcome, magnitudes};
pub use expected::{
    ExpectedOutput, ExpectedOutputError, ReferenceSpec, expected_on_device, expected_on_host, first_head_on_host,
    held_by_outputs, other_answers, plain_on_host,
};
pub use input_error::InputError;
pub use inputs::CaseInputs;
pub use lower_tolerance::LowerTolerance;
pub use mutation_test::MutationTest;
pub use null_answer::{NullOutcome, PlacedNull};
pub use outputs::{PlacedOutput, compare_outputs};
pub use poison::{Poison, PoisonKey};
pub use reference::{Builtin, ReferenceError, ReferenceServer, adopt, dismiss, serve};
pub use reference_time::reference_time;
pub use replaced_input::{ReplacedPart, replaced};
pub use shape::{ShapeCheck, ShapeSpec};
