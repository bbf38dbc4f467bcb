//! Keys of the base that a run is compared with.

use super::{KeyKind, key};

keys! {
    /// The kernels of another commit: `ncugate run --base REF` writes this table into the run's copy of the phase.
    BASE: BaseKeys = "[base]";
    /// The requested branch or commit.
    r#ref = key(KeyKind::Text).required();
    /// The commit.
    commit = key(KeyKind::Text).required();
    /// Folder of the commit's files during the measurement.
    folder = key(KeyKind::Text).default("\".\"");
    /// The text of the phase at that commit; its candidates are the base.
    phase = key(KeyKind::Text);
    /// Reason for a missing base.
    absent = key(KeyKind::Text);
}
