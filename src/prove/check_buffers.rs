//! One correctness case on the device: fresh inputs, poisoned outputs, one launch, and everything read back.

use super::compare::DifferenceTally;
use super::element;
use super::expected::{ExpectedOutput, ExpectedOutputError};
use super::inputs::CaseInputs;
use super::shape::ShapeSpec;
use crate::config::Role;
use crate::gpu::{ArenaLayout, BufferSpec, Device, DeviceError, DeviceMemory, LoadedKernel, PinnedMemory};
use crate::model::{CheckOutcome, Tolerance};
use crate::plan::Launch;
use std::path::Path;

/// The buffers of a shape on the device, and their images on the host.
#[derive(Debug)]
pub struct CheckBuffers {
    layout: ArenaLayout,
    memory: DeviceMemory,
    /// What the device holds before a launch.
    fresh: PinnedMemory,
    /// What it holds after.
    after: PinnedMemory,
}

impl CheckBuffers {
    /// Allocates them.
    ///
    /// # Errors
    /// There is not enough memory on the device or on the host.
    pub fn allocate(device: &Device, buffers: &[BufferSpec]) -> Result<Self, DeviceError> {
        let layout = ArenaLayout::new(buffers);
        let bytes = layout.bytes();
        Ok(Self { memory: device.allocate(bytes)?, fresh: device.pinned(bytes)?, after: device.pinned(bytes)?, layout })
    }

    /// Sets what every launch from now on begins with: `contents` as [`CaseInputs::contents`] gives them.
    pub fn prepare(&mut self, shape: &ShapeSpec, contents: &[Vec<u8>]) {
        self.layout.write_fresh(&shape.buffers, contents, self.fresh.as_mut_slice());
    }

    /// Fills the device afresh, launches, and reads everything back.
    ///
    /// # Errors
    /// A copy or the launch fails; the device may not work any more.
    pub fn launch_once(
        &mut self,
        device: &Device,
        kernel: &LoadedKernel,
        launch: &Launch,
        shape: &ShapeSpec,
    ) -> Result<(), DeviceError> {
        let base = self.memory.address();
        let arguments = device.arguments(&launch.args, |name| self.layout.find(&shape.buffers, name, base))?;
        kernel.allow(launch)?;
        device.upload(&self.memory, &self.fresh)?;
        device.launch(kernel, launch, &arguments)?;
        device.synchronize()?;
        device.download(&mut self.after, &self.memory)
    }

    /// What the last launch left, against the expected outputs.
    pub fn outcome(&self, shape: &ShapeSpec, expected: &[ExpectedOutput], tolerance: &Tolerance) -> CheckOutcome {
        let (fresh, after) = (self.fresh.as_slice(), self.after.as_slice());
        let tally = expected.iter().fold(DifferenceTally::default(), |tally, ExpectedOutput { buffer, values }| {
            let region = self.layout.region(*buffer);
            let dtype = shape.buffers[*buffer].dtype;
            tally.and(DifferenceTally::of(dtype, values, &fresh[region.clone()], &after[region]))
        });
        CheckOutcome::of(tally.differences(), tally.defects(self.out_of_bounds_write(shape)), tolerance)
    }

    /// The outputs that a reference entry gives for `inputs`.
    ///
    /// # Errors
    /// The entry has no launch at the shape, cannot be launched, writes out of bounds, or leaves an output unwritten.
    pub fn expected_by_entry(
        &mut self,
        device: &Device,
        (entry, cubin, launches): (&str, &Path, &[Launch]),
        shape: &ShapeSpec,
        inputs: &CaseInputs,
    ) -> Result<Vec<ExpectedOutput>, ExpectedOutputError> {
        let failed = |reason: String| ExpectedOutputError::Entry { entry: entry.to_owned(), reason };
        let launch = launches.iter().find(|l| l.shape == shape.name);
        let launch = launch.ok_or_else(|| ExpectedOutputError::NoLaunch { entry: entry.to_owned() })?;
        self.prepare(shape, &inputs.bytes);
        let launched = device.load(cubin, entry).and_then(|kernel| self.launch_once(device, &kernel, launch, shape));
        launched.map_err(|e| failed(e.to_string()))?;
        if let Some(place) = self.out_of_bounds_write(shape) {
            return Err(failed(place));
        }
        let outputs = shape.buffers.iter().enumerate().filter(|(_, b)| b.role == Role::Output);
        let read = |(index, buffer): (usize, &BufferSpec)| ExpectedOutput {
            buffer: index,
            values: element::decode(buffer.dtype, &self.after.as_slice()[self.layout.region(index)]),
        };
        let expected: Vec<ExpectedOutput> = outputs.map(read).collect();
        if expected.iter().any(|output| output.values.iter().all(|v| v.is_nan())) {
            return Err(ExpectedOutputError::Unwritten { entry: entry.to_owned() });
        }
        Ok(expected)
    }

    /// Overwrites what the device holds, which may be the right answer.
    ///
    /// # Errors
    /// The device does not work any more.
    pub fn wipe(&self, device: &Device) -> Result<(), DeviceError> {
        device.fill(&self.memory, 0)?;
        device.synchronize()
    }

    /// Where the last launch wrote beside its outputs and scratch, if it did.
    fn out_of_bounds_write(&self, shape: &ShapeSpec) -> Option<String> {
        self.layout.out_of_bounds_write(&shape.buffers, self.fresh.as_slice(), self.after.as_slice())
    }
}
