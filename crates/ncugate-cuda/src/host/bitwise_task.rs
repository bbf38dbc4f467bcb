//! Bitwise comparisons: repeated launches on equal contents with delayed blocks, and rows at several extents of a dimension.
//! Inputs are hidden and expected outputs are not needed: the checks proved the variants.

use super::event::{WorkerEvent, WorkerTask};
use super::worker::{DeviceLoss, WorkError, Worker};
use crate::gpu::{BlockDelay, BufferSpec, DeviceError};
use crate::prove::{CaseInputs, CheckBuffers, ComparedOutput, Poison, PoisonKey, ShapeSpec};
use ncugate_model::digest::sha256;
use ncugate_model::{BitwiseComparison, BitwiseOutcome, differ_alone_in};
use std::ops::ControlFlow;

/// Launches in a process, the first without delays. If a launch differs from the first in one case of five, all of two processes
/// are equal in 4 % of runs: 0.8 to the power of 15.
const LAUNCHES: u64 = 8;

/// What is launched and compared at a shape, with the buffers of its launches.
enum Comparison {
    Repeats(BlockDelay),
    /// The largest shape and its buffers.
    Batch(Box<ShapeSpec>, CheckBuffers),
    /// Why nothing can be compared.
    Impossible(String),
}

impl Worker<'_> {
    /// Compares every variant at each of its shapes on the inputs of `seed`.
    pub(super) fn compare_bitwise(
        &mut self,
        seed: u64,
        comparisons: &[BitwiseComparison],
    ) -> Result<ControlFlow<DeviceLoss>, WorkError> {
        for shape in self.job.shapes.clone() {
            let wanted = self.wanted_at(&shape);
            if wanted.is_empty() {
                continue;
            }
            self.reporter.report(&WorkerEvent::Preparing { shape: shape.name.clone(), seed })?;
            let mut buffers = self.buffers(&shape)?;
            let own = self.inputs(&shape, seed)?;
            let mut prepared = Vec::new();
            for comparison in comparisons {
                prepared.extend(self.prepared(comparison, &shape, &own, seed)?);
            }
            for index in wanted {
                let variant = self.job.kernels[index].variant.clone();
                self.started(&variant, &shape, WorkerTask::Profile { repeat: 0 })?;
                let mut outcomes = Vec::new();
                let mut failure = None;
                for (comparison, inputs, kind) in &mut prepared {
                    let outcome = match &failure {
                        None => self.compared(index, &shape, &mut buffers, (inputs, kind)),
                        Some(reason) => Ok(BitwiseOutcome::Unknown { reason: String::clone(reason) }),
                    };
                    let outcome = outcome.unwrap_or_else(|error| {
                        let reason = failure.insert(error.to_string()).clone();
                        BitwiseOutcome::Unknown { reason }
                    });
                    outcomes.push((comparison.clone(), outcome));
                }
                let (variant, shape) = (variant.clone(), shape.name.clone());
                self.reporter.report(&WorkerEvent::Compared { variant: variant.clone(), shape, outcomes })?;
                if let Some(reason) = failure
                    && let lost @ ControlFlow::Break(_) = self.probe_device(&variant, &reason)?
                {
                    return Ok(lost);
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn buffers(&self, shape: &ShapeSpec) -> Result<CheckBuffers, WorkError> {
        CheckBuffers::allocate(&self.device, &shape.buffers).map_err(|source| WorkError::buffers(shape, source))
    }

    /// The declared inputs of a seed.
    pub(super) fn inputs(&self, shape: &ShapeSpec, seed: u64) -> Result<CaseInputs, WorkError> {
        let inputs = CaseInputs::draw(shape, seed);
        inputs.map_err(|error| WorkError::reference(&shape.name, seed, &error.into()))
    }

    /// A comparison with the inputs at this shape; none for rows at the largest shape, with which the others are compared.
    fn prepared(
        &self,
        comparison: &BitwiseComparison,
        shape: &ShapeSpec,
        own: &CaseInputs,
        seed: u64,
    ) -> Result<Option<(BitwiseComparison, CaseInputs, Comparison)>, WorkError> {
        let dimension = match comparison {
            BitwiseComparison::Repeats => {
                let kind = Comparison::Repeats(BlockDelay::new(&self.device)?);
                return Ok(Some((comparison.clone(), own.clone(), kind)));
            }
            BitwiseComparison::Batch { dimension } => dimension,
        };
        let extent =
            |shape: &ShapeSpec| shape.dims.iter().find(|(name, _)| name == dimension).map(|(_, extent)| *extent);
        let batch = self.job.shapes.iter().filter(|other| differ_alone_in(dimension, &shape.dims, &other.dims));
        let Some(large) = batch.max_by_key(|other| extent(other)).filter(|large| extent(large) > extent(shape)) else {
            return Ok(None);
        };
        let inputs = self.inputs(large, seed)?;
        let buffers = large.buffers.iter().zip(&shape.buffers).zip(&inputs.bytes);
        let first = buffers.map(|((large, small), bytes)| first_rows(large, small, bytes)).collect();
        let kind = match &first {
            Ok(_) => {
                let mut buffers = self.buffers(large)?;
                buffers.prepare(large, &inputs.bytes);
                Comparison::Batch(Box::new(large.clone()), buffers)
            }
            Err(reason) => Comparison::Impossible(String::clone(reason)),
        };
        let inputs = CaseInputs { bytes: first.unwrap_or_default(), values: Vec::new() };
        Ok(Some((comparison.clone(), inputs, kind)))
    }

    fn compared(
        &mut self,
        index: usize,
        shape: &ShapeSpec,
        buffers: &mut CheckBuffers,
        (inputs, kind): (&CaseInputs, &mut Comparison),
    ) -> Result<BitwiseOutcome, DeviceError> {
        if let Comparison::Impossible(reason) = kind {
            return Ok(BitwiseOutcome::Unknown { reason: reason.clone() });
        }
        self.load(index)?;
        buffers.prepare(shape, &inputs.bytes);
        let (mut first, mut counted): (Option<Vec<Vec<u8>>>, Vec<u8>) = (None, Vec::new());
        if let Comparison::Batch(large, theirs) = kind {
            let outputs = self.outputs(index, large, theirs, None)?;
            let rows = |output: &ComparedOutput| {
                first_rows(&large.buffers[output.buffer], &shape.buffers[output.buffer], &output.bytes)
            };
            match outputs.iter().map(rows).collect() {
                Ok(rows) => first = Some(rows),
                Err(reason) => return Ok(BitwiseOutcome::Unknown { reason }),
            }
        }
        let launches = if matches!(kind, Comparison::Repeats(_)) { LAUNCHES } else { 1 };
        for launch in 0..launches {
            let delay = match kind {
                Comparison::Repeats(delay) if launch > 0 => Some((&*delay, launch)),
                Comparison::Repeats(_) | Comparison::Batch(..) | Comparison::Impossible(_) => None,
            };
            let outputs = self.outputs(index, shape, buffers, delay)?;
            let known = first.get_or_insert_with(|| outputs.iter().map(|output| output.bytes.clone()).collect());
            if let Some(place) = difference(shape, known, &outputs) {
                let of = match kind {
                    Comparison::Batch(large, _) => format!("at shape '{}'", large.name),
                    Comparison::Repeats(_) | Comparison::Impossible(_) => format!("in launch {}", launch + 1),
                };
                return Ok(BitwiseOutcome::Different { place: format!("{place} has other bits {of}") });
            }
            counted = outputs.into_iter().flat_map(|output| output.counted(shape)).collect();
        }
        Ok(match counted.is_empty() {
            true => BitwiseOutcome::Unknown { reason: "no output was compared".to_owned() },
            false => BitwiseOutcome::Equal { digest: sha256(&counted) },
        })
    }

    /// The outputs of a launch. They start with another poison at every launch.
    fn outputs(
        &self,
        index: usize,
        shape: &ShapeSpec,
        buffers: &mut CheckBuffers,
        delay: Option<(&BlockDelay, u64)>,
    ) -> Result<Vec<ComparedOutput>, DeviceError> {
        let (kernel, program) = (&self.job.kernels[index], self.program(index, shape)?);
        let loaded = self.loaded[&kernel.variant].as_ref().map_err(Clone::clone)?;
        let extents = kernel.extents_at(&shape.name);
        let poison = Poison::draw(shape, &[], PoisonKey::random());
        buffers.launch_for_bits(&self.device, (loaded, &program), (shape, &extents), (&poison, delay))
    }
}

/// The output and the first element that differs, if one does.
fn difference(shape: &ShapeSpec, first: &[Vec<u8>], other: &[ComparedOutput]) -> Option<String> {
    first.iter().zip(other).find_map(|(first, other)| {
        let buffer = &shape.buffers[other.buffer];
        let size = buffer.dtype.size();
        let unlike = |run: &std::ops::Range<usize>| {
            let bytes = run.start * size..run.end * size;
            let at = first[bytes.clone()].iter().zip(&other.bytes[bytes]).position(|(a, b)| a != b)?;
            Some(run.start + at / size)
        };
        let element = other.runs.iter().find_map(unlike)?;
        Some(format!("element {element} of `{}`", buffer.name))
    })
}

/// The content of a buffer at the smaller shape: the first elements along the axis in which its extents differ.
fn first_rows(large: &BufferSpec, small: &BufferSpec, bytes: &[u8]) -> Result<Vec<u8>, String> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let name = &large.name;
    if large.init != small.init || large.dtype != small.dtype {
        return Err(format!("values of `{name}` depend on the dimension, so rows of two shapes differ"));
    }
    let axes = || large.extents.iter().zip(&small.extents);
    let mut unlike = axes().enumerate().filter(|(_, (large, small))| large != small).map(|(axis, _)| axis);
    let axis = match (unlike.next(), unlike.next()) {
        (None, _) if large.partial == small.partial => return Ok(bytes.to_vec()),
        (Some(axis), None) if large.partial.is_none() && small.extents[axis] < large.extents[axis] => axis,
        _ => {
            return Err(format!(
                "rows of `{name}` cannot be compared: its extents differ between variants, or in two axes"
            ));
        }
    };
    let inner = large.extents[axis + 1..].iter().product::<usize>() * large.dtype.size();
    let rows = bytes.chunks(large.extents[axis] * inner);
    Ok(rows.flat_map(|rows| &rows[..small.extents[axis] * inner]).copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::fixtures::buffer;
    use ncugate_model::{Dtype, Role};
    use ncugate_phase::config::Init;

    #[test]
    fn rows_of_the_smaller_shape_are_the_first_along_its_axis() {
        let of = |extents: &[usize]| buffer("x", Dtype::U8, extents, Role::Input);
        let bytes: Vec<u8> = (0..12).collect();
        let rows = |large: &[usize], small: &[usize]| first_rows(&of(large), &of(small), &bytes);
        assert_eq!(rows(&[4, 3], &[2, 3]).unwrap(), (0..6).collect::<Vec<u8>>());
        assert_eq!(rows(&[2, 6], &[2, 3]).unwrap(), [0, 1, 2, 6, 7, 8]);
        assert_eq!(rows(&[12], &[12]).unwrap(), bytes);
        assert!(rows(&[4, 3], &[2, 2]).unwrap_err().contains("in two axes"));
        let indices = BufferSpec { init: Some(Init::Uniform { low: 0.0, high: 1.0 }), ..of(&[2, 3]) };
        assert!(first_rows(&of(&[4, 3]), &indices, &bytes).unwrap_err().contains("depend on the dimension"));
        assert!(
            first_rows(&of(&[4, 3]), &indices, &[]).unwrap().is_empty(),
            "an output has no content before a launch"
        );
    }

    #[test]
    fn only_elements_that_count_differ() {
        let shape = crate::prove::fixtures::shape(vec![buffer("y", Dtype::U16, &[4], Role::Output)]);
        let output = |bytes: [u8; 8]| vec![ComparedOutput { buffer: 0, bytes: bytes.to_vec(), runs: vec![0..1, 2..3] }];
        let first = [vec![0; 8]];
        assert_eq!(difference(&shape, &first, &output([0, 0, 1, 1, 0, 0, 1, 1])), None);
        let differs = difference(&shape, &first, &output([0, 0, 0, 0, 0, 1, 0, 0]));
        assert_eq!(differs.as_deref(), Some("element 2 of `y`"));
    }
}
