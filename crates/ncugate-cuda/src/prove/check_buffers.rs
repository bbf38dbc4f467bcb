//! One correctness case on the device: fresh inputs, poisoned outputs, one launch per poison, and a full readback.

use super::draw::{CaseDraw, DrawResult};
use super::expected::{ExpectedOutput, ExpectedOutputError};
use super::partial;
use super::poison::{Poison, PoisonKey};
use super::shape::ShapeSpec;
use crate::gpu::{
    ArenaLayout, BlockDelay, BufferSpec, CudaDevice, DeviceError, DeviceMemory, LoadedProgram, PinnedMemory,
    VariantExtents, copy,
};
use ncugate_array::compare::{DifferenceTally, unwritten};
use ncugate_model::{EntrySymbols, Tolerance, WrongElement};
use ncugate_phase::plan::ShapeProgram;
use rayon::prelude::*;
use std::ops::Range;
use std::path::Path;

/// The bytes of an output after a launch, and the elements that count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedOutput {
    /// Its index.
    pub buffer: usize,
    pub bytes: Vec<u8>,
    /// In ascending runs.
    pub runs: Vec<Range<usize>>,
}

impl ComparedOutput {
    /// The bytes of the elements that count.
    pub fn counted(&self, shape: &ShapeSpec) -> Vec<u8> {
        let size = shape.buffers[self.buffer].dtype.size();
        self.runs.iter().flat_map(|run| &self.bytes[run.start * size..run.end * size]).copied().collect()
    }
}

/// The buffers of a shape on the device, and their images on the host.
#[derive(Debug)]
pub struct CheckBuffers {
    layout: ArenaLayout,
    memory: DeviceMemory,
    /// Device content before a launch.
    fresh: PinnedMemory,
    /// Device content after a launch.
    after: PinnedMemory,
}

impl CheckBuffers {
    /// Allocates the buffers.
    ///
    /// # Errors
    /// There is not enough memory on the device or on the host.
    pub fn allocate(device: &CudaDevice, buffers: &[BufferSpec]) -> Result<Self, DeviceError> {
        let layout = ArenaLayout::new(buffers);
        let bytes = layout.bytes();
        Ok(Self { memory: device.allocate(bytes)?, fresh: device.pinned(bytes)?, after: device.pinned(bytes)?, layout })
    }

    /// Sets the inputs for all following launches. Outputs start with the poison of each launch.
    pub fn prepare(&mut self, shape: &ShapeSpec, inputs: &[Vec<u8>]) {
        self.layout.write_fresh(&shape.buffers, inputs, self.fresh.as_mut_slice());
    }

    /// Refills the device, with `poison` in outputs, launches, next to a delaying kernel if there is one, and reads everything
    /// back.
    ///
    /// # Errors
    /// A copy or the launch fails; the device may be unusable afterwards.
    fn launch_once(
        &mut self,
        device: &CudaDevice,
        (loaded, program): (&LoadedProgram, &ShapeProgram),
        shape: &ShapeSpec,
        (poison, delay): (&Poison, Option<(&BlockDelay, u64)>),
    ) -> Result<(), DeviceError> {
        let base = self.memory.address();
        let bound = device.bind(loaded, program, |name| self.layout.find(&shape.buffers, name, base))?;
        for (index, bytes) in poison.0.iter().enumerate().filter(|(_, bytes)| !bytes.is_empty()) {
            copy(&mut self.fresh.as_mut_slice()[self.layout.region(index)], bytes);
        }
        device.upload(&self.memory, &self.fresh)?;
        device.set_l2_aside(bound.l2_set_aside())?;
        device.prepare(&bound)?;
        delay.map_or(Ok(()), |(delay, seed)| delay.begin(device, seed))?;
        device.run(&bound)?;
        device.finish(&bound)?;
        device.synchronize()?;
        device.download(&mut self.after, &self.memory)
    }

    /// Launches once on the prepared inputs and returns the outputs.
    ///
    /// # Errors
    /// A copy or the launch fails.
    pub fn launch_for_bits(
        &mut self,
        device: &CudaDevice,
        program: (&LoadedProgram, &ShapeProgram),
        (shape, extents): (&ShapeSpec, &VariantExtents),
        before: (&Poison, Option<(&BlockDelay, u64)>),
    ) -> Result<Vec<ComparedOutput>, DeviceError> {
        self.launch_once(device, program, shape, before)?;
        let outputs = shape.buffers.iter().enumerate().filter(|(_, buffer)| buffer.role.is_compared());
        let read = |(buffer, spec): (usize, &BufferSpec)| ComparedOutput {
            buffer,
            bytes: self.after.as_slice()[self.layout.region(buffer)].to_vec(),
            runs: partial::counted(spec, buffer, extents),
        };
        Ok(outputs.map(read).collect())
    }

    /// Launches once with each of two poisons on the prepared inputs, and compares both results.
    ///
    /// # Errors
    /// A copy or a launch fails.
    pub fn launch_draw(
        &mut self,
        device: &CudaDevice,
        program: (&LoadedProgram, &ShapeProgram),
        (shape, extents): (&ShapeSpec, &VariantExtents),
        draw: &CaseDraw,
        tolerance: &Tolerance,
    ) -> Result<DrawResult, DeviceError> {
        let (mut launches, mut place, mut answers) = (Vec::new(), None, Vec::new());
        let mut element = None;
        let poisons = draw.poisons(shape);
        let draw = draw.of(extents);
        for poison in poisons {
            self.launch_once(device, program, shape, (poison, None))?;
            let tally = self.tally((shape, extents), draw, tolerance);
            if element.is_none() && draw.is_wrong(&tally, tolerance) {
                element = self.worst_element((shape, extents), draw, tolerance);
            }
            launches.push(tally);
            place = place.or_else(|| self.out_of_bounds_write(shape)).or_else(|| self.beyond_own(shape, extents));
            if !shape.checks.is_empty() {
                answers.push(self.outputs(shape, extents));
            }
        }
        let mut result = draw.result(&launches, place, tolerance);
        // Most kernels give the same outputs twice.
        answers.dedup();
        result.defects.extend(draw.refusals(shape, &answers).into_iter().flatten().take(1));
        Ok(DrawResult { element, ..result })
    }

    /// The element of the last launch that is most wrong. Another pass over the outputs, so only for wrong ones.
    fn worst_element(
        &self,
        (shape, extents): (&ShapeSpec, &VariantExtents),
        draw: &CaseDraw,
        tolerance: &Tolerance,
    ) -> Option<WrongElement> {
        let outputs = draw.expected.iter().enumerate();
        let each = outputs.filter_map(|(at, ExpectedOutput { buffer, .. })| {
            let after = &self.after.as_slice()[self.layout.region(*buffer)];
            let values = partial::compared(&shape.buffers[*buffer], *buffer, extents, after);
            draw.worst_element(shape, at, &values, tolerance)
        });
        each.reduce(|worst, next| if next.0 > worst.0 { next } else { worst }).map(|(_, element)| element)
    }

    /// Compares the results of the last launch with the expected outputs.
    fn tally(
        &self,
        (shape, extents): (&ShapeSpec, &VariantExtents),
        draw: &CaseDraw,
        tolerance: &Tolerance,
    ) -> DifferenceTally {
        let (fresh, after) = (self.fresh.as_slice(), self.after.as_slice());
        let outputs = draw.expected.iter().enumerate();
        outputs.fold(DifferenceTally::default(), |tally, (at, ExpectedOutput { buffer, values })| {
            let region = self.layout.region(*buffer);
            let spec = &shape.buffers[*buffer];
            let (fresh, after) = (&fresh[region.clone()], &after[region]);
            let in_place =
                !extents.buffers.contains_key(buffer) && spec.is_compared_in_place() && !shape.is_unbounded(*buffer);
            let own = match in_place {
                true => DifferenceTally::of(spec.dtype, values, fresh, after, draw.yardstick(shape, at, tolerance)),
                false => {
                    let values = partial::compared(spec, *buffer, extents, after);
                    let runs = partial::counted(spec, *buffer, extents);
                    draw.tally(shape, at, &values, tolerance).of_launch(spec.dtype, (fresh, after), &runs)
                }
            };
            // Elements of state may rightly keep their values.
            tally.and(if spec.is_poisoned() { own } else { own.with_all_written() })
        })
    }

    /// The outputs of a reference entry for `inputs`. The entry is launched twice, and must write every element of
    /// every output with the same value both times.
    ///
    /// # Errors
    /// The entry has no launch at the shape, cannot be launched, writes out of bounds, leaves an element unwritten,
    /// or gives another answer the second time.
    pub fn expected_by_entry(
        &mut self,
        device: &CudaDevice,
        (entry, cubin, programs): (&str, &Path, &[ShapeProgram]),
        shape: &ShapeSpec,
        inputs: &[Vec<u8>],
    ) -> Result<Vec<ExpectedOutput>, ExpectedOutputError> {
        let failed = |reason: String| ExpectedOutputError::Entry { entry: entry.to_owned(), reason };
        let program = programs.iter().find(|program| program.shape == shape.name);
        let program = program.ok_or_else(|| ExpectedOutputError::NoLaunch { entry: entry.to_owned() })?;
        let loaded = device.load(cubin, &[entry], &EntrySymbols::default()).map_err(|e| failed(e.to_string()))?;
        self.prepare(shape, inputs);
        let (mut answers, mut tallies) = (Vec::new(), Vec::new());
        let poison = Poison::draw(shape, &[], PoisonKey::random());
        for poison in &poison.pair(shape, PoisonKey::random()) {
            self.launch_once(device, (&loaded, program), shape, (poison, None)).map_err(|e| failed(e.to_string()))?;
            if let Some(place) = self.out_of_bounds_write(shape) {
                return Err(failed(place));
            }
            tallies.push(self.written(shape));
            answers.push(self.outputs(shape, &VariantExtents::default()));
        }
        let elements = unwritten(&tallies);
        if elements > 0 {
            return Err(ExpectedOutputError::Unwritten { entry: entry.to_owned(), elements });
        }
        let answer = answers.pop().unwrap_or_default();
        let is_equal = |other: &Vec<ExpectedOutput>| {
            other.iter().zip(&answer).all(|(a, b)| have_equal_values(&a.values, &b.values))
        };
        match answers.iter().all(is_equal) {
            true => Ok(answer),
            false => Err(failed("a second launch gives different outputs".to_owned())),
        }
    }

    /// The outputs of the last launch, as they are compared.
    fn outputs(&self, shape: &ShapeSpec, extents: &VariantExtents) -> Vec<ExpectedOutput> {
        let outputs = shape.buffers.iter().enumerate().filter(|(_, b)| b.role.is_compared());
        let read = |(index, buffer): (usize, &BufferSpec)| ExpectedOutput {
            buffer: index,
            values: partial::compared(buffer, index, extents, &self.after.as_slice()[self.layout.region(index)]),
        };
        outputs.map(read).collect()
    }

    /// Which elements that count the last launch left untouched; no values are compared.
    fn written(&self, shape: &ShapeSpec) -> DifferenceTally {
        let (fresh, after) = (self.fresh.as_slice(), self.after.as_slice());
        // Elements of state may rightly keep their values.
        let outputs = shape.buffers.iter().enumerate().filter(|(_, buffer)| buffer.is_poisoned());
        outputs.fold(DifferenceTally::default(), |tally, (index, buffer)| {
            let region = self.layout.region(index);
            let runs = partial::counted(buffer, index, &VariantExtents::default());
            let launch = (&fresh[region.clone()], &after[region]);
            tally.and(DifferenceTally::default().of_launch(buffer.dtype, launch, &runs))
        })
    }

    /// Where the last launch wrote past the variant's extents of an output, if it did: each output has room for the
    /// largest variant.
    fn beyond_own(&self, shape: &ShapeSpec, extents: &VariantExtents) -> Option<String> {
        let (fresh, after) = (self.fresh.as_slice(), self.after.as_slice());
        let outputs = extents.buffers.keys().filter(|index| shape.buffers[**index].role.is_compared());
        outputs.into_iter().find_map(|&index| {
            let buffer = &shape.buffers[index];
            let own = partial::own_elements(buffer, index, extents);
            let region = self.layout.region(index);
            let behind = region.start + own * buffer.dtype.size()..region.end;
            let written = fresh[behind.clone()] != after[behind];
            written.then(|| format!("wrote past the {own} elements that `{}` has in this variant", buffer.name))
        })
    }

    /// Overwrites the device content, which may be the right answer.
    ///
    /// # Errors
    /// The device is unusable.
    pub fn wipe(&self, device: &CudaDevice) -> Result<(), DeviceError> {
        device.fill(&self.memory, 0)?;
        device.synchronize()
    }

    /// Where the last launch wrote outside its outputs and scratch, if it did.
    fn out_of_bounds_write(&self, shape: &ShapeSpec) -> Option<String> {
        self.layout.out_of_bounds_write(&shape.buffers, self.fresh.as_slice(), self.after.as_slice())
    }
}

/// Whether values are equal; NaN equals NaN.
pub fn have_equal_values(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.par_iter().zip(b).all(|(a, b)| a == b || a.is_nan() && b.is_nan())
}
