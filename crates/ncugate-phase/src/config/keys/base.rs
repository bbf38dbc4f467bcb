//! Keys of the base that a run is compared with.

use super::{KeyKind, Spec, key, spec};

pub static BASE: Spec = spec(
    "[base]",
    "The kernels of another commit, timed beside the phase's own: requirements compare with them as `base.latency_p50`. \
     `ncugate run --base REF` writes this table into the phase that its run keeps; no file of a project has it.",
    &[
        key("ref", KeyKind::Text, "What was asked for.").required(),
        key("commit", KeyKind::Text, "The commit.").required(),
        key("folder", KeyKind::Text, "Where the files of the commit were while the run measured.").default("."),
        key("phase", KeyKind::Text, "The text of the phase as the commit has it; its candidates are the base."),
        key("absent", KeyKind::Text, "Why there is none."),
    ],
);
