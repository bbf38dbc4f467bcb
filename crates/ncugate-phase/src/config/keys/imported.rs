//! Keys of a phase that was imported from another project's problem.

use super::{KeyKind, key, words};
use crate::config::{ImportFormat, Ranking};

keys! {
    /// Names in another project, written by `ncugate problem import` and used by `export`. No measurement or verdict
    /// depends on them.
    IMPORTED: ImportedKeys = "[imported]";
    /// The original format.
    format = key(KeyKind::OneOf(&words(&ImportFormat::WORDS))).required();
    /// The name of the problem (FlashInfer-Trace: of the definition).
    problem = key(KeyKind::Text).required();
    /// FlashInfer-Trace: the workload behind each shape.
    workloads = key(KeyKind::Table(&IMPORTED_WORKLOADS)).default("{}");
    /// The name of the solution behind each variant.
    solutions = key(KeyKind::Table(&IMPORTED_SOLUTIONS)).default("{}");
    /// gpu-mode: the ranking by the mean at the last timed shape, or by the arithmetic or geometric mean over all.
    ranking = key(KeyKind::OneOf(&words(&Ranking::WORDS))).default("\"last\"");
}

names! {
    /// `SHAPE = '{...}'`: the workload object, as JSON.
    IMPORTED_WORKLOADS = "[imported.workloads]", KeyKind::Text;
}

names! {
    /// `VARIANT = "name"`.
    IMPORTED_SOLUTIONS = "[imported.solutions]", KeyKind::Text;
}
