//! A variant at a shape.

use indexmap::Equivalent;
use ncugate_model::{ShapeName, VariantId};

pub(super) type Case = (VariantId, ShapeName);

/// Looks a case up without a copy of its names.
#[derive(Hash)]
pub(super) struct CaseKey<'k>(pub &'k VariantId, pub &'k ShapeName);

impl Equivalent<Case> for CaseKey<'_> {
    fn equivalent(&self, (variant, shape): &Case) -> bool {
        self.0 == variant && self.1 == shape
    }
}
