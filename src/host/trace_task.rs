//! Launches for a profiler: each variant's kernel inside an NVTX range that names it, and no other launch at all.

use super::device::DeviceError;
use super::event::{Event, Task};
use super::job::JobShape;
use super::latency::BufferSet;
use super::nvtx;
use super::worker::{Flow, WorkError, Worker};
use crate::model::ShapeName;
use crate::model::VariantId;
use std::ffi::CString;

/// The NVTX range of a profiled launch.
pub fn range_name(variant: &VariantId, shape: &ShapeName) -> String {
    format!("{variant}@{shape}")
}

impl Worker<'_> {
    /// Launches every variant `repeat` times at every shape it is to be profiled at, waiting for each.
    pub(super) fn trace(&mut self, repeat: u32) -> Result<Flow, WorkError> {
        for shape in self.job.shapes.clone() {
            let asked: Vec<usize> =
                (0..self.job.kernels.len()).filter(|&i| self.job.kernels[i].shapes.contains(&shape.name)).collect();
            if asked.is_empty() {
                continue;
            }
            let seed = self.job.seeds.first().copied().unwrap_or(0);
            self.reporter.say(&Event::Preparing { shape: shape.name.clone(), seed })?;
            for set in BufferSet::several(&self.device, &shape, seed, 1)? {
                for &index in &asked {
                    if self.trace_variant(index, &shape, &set, repeat)? == Flow::Lost {
                        return Ok(Flow::Lost);
                    }
                }
            }
        }
        Ok(Flow::Onward)
    }

    fn trace_variant(
        &mut self,
        index: usize,
        shape: &JobShape,
        set: &BufferSet,
        repeats: u32,
    ) -> Result<Flow, WorkError> {
        let variant = self.job.kernels[index].variant.clone();
        for repeat in 0..repeats {
            let task = Task::Profile { repeat };
            self.reporter.say(&Event::Started { variant: variant.clone(), shape: shape.name.clone(), task })?;
            if let Err(error) = self.trace_launch(index, shape, set) {
                let reason = error.to_string();
                let event =
                    Event::LaunchFailed { variant: variant.clone(), shape: shape.name.clone(), reason: reason.clone() };
                self.reporter.say(&event)?;
                return self.survey(&variant, &reason);
            }
            self.reporter.say(&Event::Launched { variant: variant.clone(), shape: shape.name.clone(), repeat })?;
        }
        Ok(Flow::Onward)
    }

    fn trace_launch(&mut self, index: usize, shape: &JobShape, set: &BufferSet) -> Result<(), DeviceError> {
        self.kernel(index)?;
        let planned = &self.job.kernels[index];
        let launch = planned.launch(&shape.name);
        let launch = launch.ok_or_else(|| DeviceError::Launch(format!("no launch for shape '{}'", shape.name)))?;
        let kernel = self.kernels[&planned.variant].as_ref().map_err(Clone::clone)?;
        kernel.allow(launch)?;
        let arguments = set.arguments(&self.device, launch, shape)?;
        let name = CString::new(range_name(&planned.variant, &shape.name))
            .map_err(|_| DeviceError::Launch("the variant's id holds a NUL".to_owned()))?;
        let range = nvtx::Range::open(&name);
        let launched = self.device.launch(kernel, launch, &arguments).and_then(|()| self.device.synchronize());
        drop(range);
        launched
    }
}
