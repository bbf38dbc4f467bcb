//! Keys of the base that a run is compared with.

use super::{KeyKind, key};

keys! {
    BASE: BaseKeys = "[base]", "The kernels of another commit: `ncugate run --base REF` writes this table into the run's copy of the phase.";
    r#ref = key(KeyKind::Text, "The requested branch or commit.").required();
    commit = key(KeyKind::Text, "The commit.").required();
    folder = key(KeyKind::Text, "Folder of the commit's files during the measurement.").default("\".\"");
    phase = key(KeyKind::Text, "The text of the phase at that commit; its candidates are the base.");
    absent = key(KeyKind::Text, "Reason for a missing base.");
}
