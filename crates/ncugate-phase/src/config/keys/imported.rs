//! Keys of a phase that was imported from another project's problem.

use super::{KeyKind, Spec, key, words};
use crate::config::{ImportFormat, Ranking};

keys! {
    IMPORTED: ImportedKeys = "[imported]", "Names in another project, written by `ncugate problem import` and used by `export`. No measurement or verdict depends on \
         them.";
    format = key(KeyKind::OneOf(&words(&ImportFormat::WORDS)), "The original format.").required();
    problem = key(KeyKind::Text, "The name of the problem (FlashInfer-Trace: of the definition).").required();
    workloads = key(
        KeyKind::Table(&IMPORTED_WORKLOADS),
        "FlashInfer-Trace: the workload behind each shape.",
    ).default("{}");
    solutions = key(KeyKind::Table(&IMPORTED_SOLUTIONS), "The name of the solution behind each variant.").default("{}");
    ranking = key(
        KeyKind::OneOf(&words(&Ranking::WORDS)),
        "gpu-mode: the ranking by the mean at the last timed shape, or by the arithmetic or geometric mean over all.",
    ).default("\"last\"");
}

pub static IMPORTED_WORKLOADS: Spec = Spec {
    title: "[imported.workloads]",
    doc: "`SHAPE = '{...}'`: the workload object, as JSON.",
    keys: &[],
    free: Some(KeyKind::Text),
};

pub static IMPORTED_SOLUTIONS: Spec =
    Spec { title: "[imported.solutions]", doc: "`VARIANT = \"name\"`.", keys: &[], free: Some(KeyKind::Text) };
