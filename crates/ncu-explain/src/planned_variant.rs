//! What a plan says of a variant before it is measured.

use ncugate_model::expr::Value;
use ncugate_model::{ShapeName, VariantId};
use std::path::Path;

/// A variant of a run.
#[derive(Debug, Clone)]
pub struct PlannedVariant<'p> {
    pub id: &'p VariantId,
    /// Its code, if it is compiled.
    pub code: Option<VariantCode<'p>>,
    /// Its evaluations, as far as their launches are known.
    pub evaluations: Vec<PlannedEvaluation<'p>>,
}

/// The code of a variant. Variants that differ in one parameter or in the flags are compared.
#[derive(Debug, Clone)]
pub struct VariantCode<'p> {
    pub source: &'p Path,
    pub entries: Vec<&'p str>,
    /// Flags of nvcc.
    pub flags: &'p [String],
    pub params: &'p [(String, Value)],
}

/// An evaluation of a variant at a shape.
#[derive(Debug, Clone)]
pub struct PlannedEvaluation<'p> {
    pub shape: &'p ShapeName,
    /// The number of its launches.
    pub launches: usize,
    /// The entry of each launch, with its number among the steps, from 1; empty if the entries are unknown.
    pub entries: Vec<(usize, &'p str)>,
    /// Bytes that its fills and copies move, if known.
    pub copied_bytes: Option<f64>,
}
