//! The cases that the shapes, inputs and reference of a workload do not test, in words.

use super::init::Init;
use super::workload::{Buffer, Workload, WorkloadReference};

/// If all extents are a multiple of this, the tails of tiles are untested.
const TILE: u64 = 8;

impl Workload {
    /// The cases that no correctness case tests, one sentence each.
    pub fn untested(&self) -> Vec<String> {
        [self.dims(), self.inputs(), self.captured(), self.redrawn(), self.own_reference()]
            .into_iter()
            .flatten()
            .collect()
    }

    /// `not tested: tails and strides over B (always 1) and S (always a multiple of 64)`.
    fn dims(&self) -> Option<String> {
        let names = self.shapes.first()?.dims.iter().map(|(name, _)| name);
        let said: Vec<String> = names.filter_map(|name| self.unvaried(name)).collect();
        let (last, others) = said.split_last()?;
        let list = if others.is_empty() { last.clone() } else { format!("{} and {last}", others.join(", ")) };
        Some(format!("not tested: tails and strides over {list}"))
    }

    fn unvaried(&self, name: &str) -> Option<String> {
        let extents = || self.shapes.iter().flat_map(|s| &s.dims).filter(|(dim, _)| dim == name).map(|(_, n)| *n);
        let first = extents().next()?;
        // A dimension that is 0 somewhere is a flag, not an extent.
        if extents().any(|n| n == 0) {
            return None;
        }
        if extents().all(|n| n == first) {
            return Some(format!("{name} (always {first})"));
        }
        let divisor = extents().fold(0u64, |divisor, n| gcd(divisor, n.unsigned_abs()));
        let tile = 1u64 << divisor.trailing_zeros();
        (tile >= TILE).then(|| format!("{name} (always a multiple of {tile})"))
    }

    fn inputs(&self) -> Option<String> {
        let mut inputs = self.buffers.iter().filter(|b| b.role.is_read());
        let fixed = |buffer: &Buffer| buffer.init.as_ref().is_some_and(Init::is_fixed);
        (self.seeds.len() > 1 && inputs.all(fixed))
            .then(|| "no input depends on the seed: every seed checks the same inputs".to_owned())
    }

    /// Inputs and expected outputs of one launch of another program.
    fn captured(&self) -> Option<String> {
        let is_file = |buffer: &Buffer| matches!(buffer.init, Some(Init::Npy { .. }));
        let is_captured = matches!(self.reference, WorkloadReference::Npy { .. }) && self.seeds.len() == 1;
        (is_captured && self.shapes.len() == 1 && self.buffers.iter().filter(|b| b.role.is_read()).all(is_file))
            .then(|| "one captured input: laws do not apply".to_owned())
    }

    /// Inputs like those of one launch of another program.
    fn redrawn(&self) -> Option<String> {
        let read = || self.buffers.iter().filter(|buffer| buffer.role.is_read());
        let is_redrawn = |buffer: &Buffer| matches!(buffer.init, Some(Init::Redrawn { .. }));
        let has_laws = |buffer: &Buffer| matches!(buffer.init, None | Some(Init::Normal { .. }));
        (read().any(is_redrawn) && !read().any(has_laws))
            .then(|| "hidden inputs are redrawn from captured contents: laws do not apply".to_owned())
    }

    fn own_reference(&self) -> Option<String> {
        let WorkloadReference::Entry { entry, source: None, .. } = &self.reference else { return None };
        Some(format!(
            "reference `{entry}` is in the candidates' own source: a mistake in both goes unnoticed, and one edit can change both"
        ))
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::super::workload::{Laws, Shape, UntestedTolerance};
    use super::*;
    use ncugate_model::{Law, ShapeName, Tolerance};

    fn workload(shapes: &[[i64; 3]]) -> Workload {
        let dims = |extents: &[i64; 3]| ["B", "S", "D"].iter().map(|d| (*d).to_owned()).zip(*extents).collect();
        Workload {
            seeds: vec![0],
            laws: Laws::Given(vec![Law::Declared]),
            reference: WorkloadReference::Builtin { name: "copy".to_owned(), options: Vec::new() },
            tolerance: Tolerance::default(),
            own_bounds: Vec::new(),
            checks: Vec::new(),
            untested_tolerance: UntestedTolerance::Refused,
            scalars: Vec::new(),
            shapes: shapes.iter().map(|s| Shape { name: ShapeName("s".into()), dims: dims(s) }).collect(),
            buffers: Vec::new(),
            flops: None,
            bytes: None,
        }
    }

    #[test]
    fn dimensions_that_no_shape_varies_are_named() {
        let said = |shapes: &[[i64; 3]]| workload(shapes).untested().join("; ");
        assert_eq!(
            said(&[[1, 128, 64], [1, 192, 64]]),
            "not tested: tails and strides over B (always 1), S (always a multiple of 64) and D (always 64)"
        );
        assert_eq!(
            said(&[[1, 128, 64], [2, 77, 80]]),
            "not tested: tails and strides over D (always a multiple of 16)"
        );
        assert_eq!(said(&[[1, 128, 64], [2, 77, 33]]), "");
    }
}
