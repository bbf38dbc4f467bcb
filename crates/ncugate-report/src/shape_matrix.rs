//! Variants by shapes, in the form for readers.

use ncugate_model::CleanText;
use ncugate_phase::plan::VariantRole;
use serde::Serialize;

/// The table, if at least two shapes were measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShapeMatrix {
    /// The metric of the values: `Latency p50 (µs)`.
    pub title: CleanText,
    pub shapes: Vec<CleanText>,
    /// The rows: candidates, then baselines.
    pub rows: Vec<MatrixRow>,
    /// Number of candidates left out.
    pub left_out: usize,
}

/// A variant over shapes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MatrixRow {
    /// Its id.
    pub label: CleanText,
    pub standing: VariantRole,
    /// One value for each shape; none if it was not measured, or the variant is not proven correct.
    pub cells: Vec<Option<MatrixCell>>,
}

/// A variant at a shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MatrixCell {
    pub text: CleanText,
    /// Distance from the best candidate: `+12.0 %`; empty for the best.
    pub beside_best: CleanText,
    /// Whether no proven candidate is better here.
    pub best: bool,
    pub in_use: bool,
}
