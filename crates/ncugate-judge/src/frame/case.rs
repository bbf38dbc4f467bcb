//! A variant at a shape.

use indexmap::Equivalent;
use ncugate_model::{ShapeName, VariantId};

pub(super) type CaseId = (VariantId, ShapeName);

/// Looks up a case without copying its names.
#[derive(Hash)]
pub(super) struct CaseKey<'k>(pub &'k VariantId, pub &'k ShapeName);

impl Equivalent<CaseId> for CaseKey<'_> {
    fn equivalent(&self, (variant, shape): &CaseId) -> bool {
        self.0 == variant && self.1 == shape
    }
}
