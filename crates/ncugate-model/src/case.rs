//! A variant at a shape.

use crate::{ShapeName, VariantId};
use indexmap::Equivalent;

/// Its variant and its shape.
pub type CaseId = (VariantId, ShapeName);

/// Looks up a case without copying its names.
#[derive(Hash)]
pub struct CaseKey<'k>(pub &'k VariantId, pub &'k ShapeName);

impl Equivalent<CaseId> for CaseKey<'_> {
    fn equivalent(&self, (variant, shape): &CaseId) -> bool {
        self.0 == variant && self.1 == shape
    }
}
