//! Keys of the base that a run is compared with.

use super::{KeyKind, key};

keys! {
    BASE: BaseKeys = "[base]", "The kernels of another commit, timed beside the phase's own: requirements compare with them as `base.latency_p50`. \
     `ncugate run --base REF` writes this table into the phase that its run keeps; no file of a project has it.";
    r#ref = key(KeyKind::Text, "What was asked for.").required();
    commit = key(KeyKind::Text, "The commit.").required();
    folder = key(KeyKind::Text, "Where the files of the commit were while the run measured.").default("\".\"");
    phase = key(KeyKind::Text, "The text of the phase as the commit has it; its candidates are the base.");
    absent = key(KeyKind::Text, "Why there is none.");
}
