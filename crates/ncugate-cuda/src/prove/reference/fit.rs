//! Finds the buffers of a built-in reference and checks their extents.

use super::error::ReferenceError;
use crate::gpu::BufferSpec;
use crate::prove::shape::ShapeSpec;
use ncugate_model::Role;

/// The values of every buffer of a shape, in its order; empty for outputs and scratch.
pub type BufferValues = [Vec<f64>];

/// Fits a built-in to a shape.
pub struct Fit<'a> {
    pub builtin: &'static str,
    pub shape: &'a ShapeSpec,
}

impl Fit<'_> {
    /// Indices of the inputs with these names. Without those names, the inputs in order, except those in `apart`. If
    /// inputs alone are not enough, buffers that are changed in place count as inputs too.
    pub fn inputs<const N: usize>(
        &self,
        names: [&'static str; N],
        apart: &[&str],
    ) -> Result<[usize; N], ReferenceError> {
        let inputs = self.find(names, apart, |role| role == Role::Input, "input");
        inputs.or_else(|error| self.find(names, apart, Role::is_read, "input").map_err(|_| error))
    }

    /// Index of the one output.
    pub fn output(&self, name: &'static str) -> Result<usize, ReferenceError> {
        let [found] = self.find([name], &[], Role::is_compared, "output")?;
        let other = (0..self.shape.buffers.len()).find(|&i| i != found && self.buffer(i).role.is_compared());
        match other {
            None => Ok(found),
            Some(other) => Err(ReferenceError::MoreOutputs {
                builtin: self.builtin,
                given: self.buffer(found).name.clone(),
                other: self.buffer(other).name.clone(),
            }),
        }
    }

    /// Index of an optional input.
    pub fn optional(&self, name: &str) -> Option<usize> {
        self.shape.buffers.iter().position(|b| b.name == name && b.role == Role::Input)
    }

    /// An optional scalar, which must not differ between variants.
    pub fn scalar(&self, name: &'static str) -> Result<Option<f64>, ReferenceError> {
        if self.shape.varying.iter().any(|v| v == name) {
            return Err(ReferenceError::Varying { builtin: self.builtin, scalar: name });
        }
        Ok(self.shape.scalars.get(name).copied())
    }

    fn find<const N: usize>(
        &self,
        names: [&'static str; N],
        apart: &[&str],
        role: impl Fn(Role) -> bool,
        role_name: &'static str,
    ) -> Result<[usize; N], ReferenceError> {
        let of_role: Vec<usize> = (0..self.shape.buffers.len())
            .filter(|&i| role(self.buffer(i).role) && !apart.contains(&self.buffer(i).name.as_str()))
            .collect();
        let named = |name: &str| of_role.iter().copied().find(|&i| self.buffer(i).name == name);
        let all_named: Option<Vec<usize>> = names.iter().map(|n| named(n)).collect();
        let found = all_named.or_else(|| (of_role.len() == N).then(|| of_role.clone()));
        found.and_then(|f| f.try_into().ok()).ok_or_else(|| {
            let buffer = names.into_iter().find(|n| named(n).is_none()).unwrap_or(names[0]);
            ReferenceError::Missing { builtin: self.builtin, buffer, role: role_name, needed: N }
        })
    }

    pub fn buffer(&self, index: usize) -> &BufferSpec {
        &self.shape.buffers[index]
    }

    /// The extents of a buffer, which must have `N` axes.
    pub fn axes<const N: usize>(&self, index: usize, layout: &str) -> Result<[usize; N], ReferenceError> {
        let buffer = self.buffer(index);
        let extents = buffer.compared_extents();
        let wrong = || self.wrong(format!("`{}` has extents {extents:?}, expected {layout}", buffer.name));
        extents.as_slice().try_into().map_err(|_| wrong())
    }

    /// Requires the extents of a buffer.
    pub fn expect(&self, index: usize, extents: &[usize]) -> Result<(), ReferenceError> {
        let buffer = self.buffer(index);
        let own = buffer.compared_extents();
        if own == extents {
            return Ok(());
        }
        Err(self.wrong(format!("`{}` has extents {own:?}, expected {extents:?}", buffer.name)))
    }

    /// The error that extents do not fit.
    pub fn wrong(&self, what: String) -> ReferenceError {
        ReferenceError::Shape { builtin: self.builtin, shape: self.shape.name.clone(), what }
    }
}
