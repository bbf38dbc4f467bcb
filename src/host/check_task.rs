//! Correctness cases on the device: fresh inputs, poisoned output, one launch, and everything read back.

use super::arena::Layout;
use super::compare::Tally;
use super::device::{DeviceError, Kernel, Memory, Pinned};
use super::element;
use super::event::{Event, Task};
use super::job::{JobReference, JobShape};
use super::question::{Answer, Inputs};
use super::worker::{Flow, WorkError, Worker};
use crate::config::Role;
use crate::model::{CheckOutcome, CheckRecord};
use crate::plan::Launch;

/// The buffers of a shape on the device, and their images on the host.
struct Bed {
    layout: Layout,
    memory: Memory,
    /// What the device holds before a launch.
    fresh: Pinned,
    /// What it holds after.
    after: Pinned,
}

impl Worker<'_> {
    /// Runs every pending case, shape by shape and seed by seed, so that inputs and reference are made once.
    pub(super) fn check(&mut self) -> Result<Flow, WorkError> {
        for shape in self.job.shapes.clone() {
            if !self.job.kernels.iter().any(|k| k.cases.iter().any(|c| c.shape == shape.name)) {
                continue;
            }
            let mut bed = self.bed(&shape)?;
            for seed in self.job.seeds.clone() {
                if self.check_seed(&shape, seed, &mut bed)? == Flow::Lost {
                    return Ok(Flow::Lost);
                }
            }
        }
        Ok(Flow::Onward)
    }

    fn bed(&self, shape: &JobShape) -> Result<Bed, WorkError> {
        let layout = Layout::new(&shape.buffers);
        let bytes = layout.bytes();
        let failed = |source| WorkError::Buffers { shape: shape.name.clone(), bytes, source };
        Ok(Bed {
            memory: self.device.allocate(bytes).map_err(failed)?,
            fresh: self.device.pinned(bytes).map_err(failed)?,
            after: self.device.pinned(bytes).map_err(failed)?,
            layout,
        })
    }

    fn check_seed(&mut self, shape: &JobShape, seed: u64, bed: &mut Bed) -> Result<Flow, WorkError> {
        let asked = |k: &super::JobKernel| k.cases.iter().any(|c| c.shape == shape.name && c.seed == seed);
        let pending: Vec<usize> = (0..self.job.kernels.len()).filter(|&i| asked(&self.job.kernels[i])).collect();
        if pending.is_empty() {
            return Ok(Flow::Onward);
        }
        self.reporter.say(&Event::Preparing { shape: shape.name.clone(), seed })?;
        let inputs = Inputs::draw(shape, seed);
        let answer = self.answer(shape, seed, &inputs, bed)?;
        bed.layout.write_fresh(shape, &inputs.contents(shape, &answer), bed.fresh.as_mut_slice());
        for index in pending {
            let variant = self.job.kernels[index].variant.clone();
            let task = Task::Check { seed };
            self.reporter.say(&Event::Started { variant: variant.clone(), shape: shape.name.clone(), task })?;
            let (outcome, crash) = match self.case(index, shape, bed, &answer) {
                Ok(outcome) => (outcome, None),
                Err(error) => (CheckOutcome::Crashed { reason: error.to_string() }, Some(error.to_string())),
            };
            let record = CheckRecord { variant: variant.clone(), shape: shape.name.clone(), seed, outcome };
            self.job.settle_check(&record);
            self.reporter.say(&Event::Checked(record))?;
            if let Some(reason) = crash
                && self.survey(&variant, &reason)? == Flow::Lost
            {
                return Ok(Flow::Lost);
            }
        }
        Ok(Flow::Onward)
    }

    fn case(
        &mut self,
        index: usize,
        shape: &JobShape,
        bed: &mut Bed,
        answer: &Answer,
    ) -> Result<CheckOutcome, DeviceError> {
        let launch = self.job.kernels[index].launch(&shape.name).cloned();
        let launch = launch.ok_or_else(|| DeviceError::Launch(format!("no launch for shape '{}'", shape.name)))?;
        self.kernel(index)?;
        let kernel = self.kernels[&self.job.kernels[index].variant].as_ref().map_err(Clone::clone)?;
        self.launch_once(kernel, &launch, shape, bed)?;
        let (fresh, after) = (bed.fresh.as_slice(), bed.after.as_slice());
        let tally = answer.iter().fold(Tally::default(), |tally, (output, expected)| {
            let region = bed.layout.region(*output);
            let dtype = shape.buffers[*output].dtype;
            tally.and(Tally::of(dtype, expected, &fresh[region.clone()], &after[region]))
        });
        Ok(tally.outcome(&self.job.tolerance, bed.layout.trespass(shape, fresh, after)))
    }

    /// Fills the device afresh, launches, and reads everything back.
    fn launch_once(
        &self,
        kernel: &Kernel,
        launch: &Launch,
        shape: &JobShape,
        bed: &mut Bed,
    ) -> Result<(), DeviceError> {
        let base = bed.memory.address();
        let arguments = self.device.arguments(&launch.args, |name| bed.layout.find(shape, name, base))?;
        kernel.allow(launch)?;
        self.device.upload(&bed.memory, &bed.fresh)?;
        self.device.launch(kernel, launch, &arguments)?;
        self.device.synchronize()?;
        self.device.download(&mut bed.after, &bed.memory)
    }

    fn answer(&self, shape: &JobShape, seed: u64, inputs: &Inputs, bed: &mut Bed) -> Result<Answer, WorkError> {
        let wrong = |reason: String| WorkError::Reference { shape: shape.name.clone(), seed, reason };
        let known = inputs.answer(&self.job.reference, shape, seed);
        if let Some(answer) = known.map_err(|e| WorkError::reference(&shape.name, seed, &e))? {
            return Ok(answer);
        }
        let JobReference::Entry { entry, cubin, launches } = &self.job.reference else {
            return Err(wrong("the job has none".to_owned()));
        };
        let launch = launches.iter().find(|l| l.shape == shape.name);
        let launch = launch.ok_or_else(|| wrong(format!("entry '{entry}' has no launch for it")))?;
        bed.layout.write_fresh(shape, &inputs.bytes, bed.fresh.as_mut_slice());
        let launched = self.device.load(cubin, entry).and_then(|kernel| self.launch_once(&kernel, launch, shape, bed));
        launched.map_err(|e| wrong(format!("entry '{entry}': {e}")))?;
        if let Some(trespass) = bed.layout.trespass(shape, bed.fresh.as_slice(), bed.after.as_slice()) {
            return Err(wrong(format!("entry '{entry}': {trespass}")));
        }
        let outputs = shape.buffers.iter().enumerate().filter(|(_, b)| b.role == Role::Output);
        let read = |(index, buffer): (usize, &super::JobBuffer)| {
            (index, element::decode(buffer.dtype, &bed.after.as_slice()[bed.layout.region(index)]))
        };
        let answer: Answer = outputs.map(read).collect();
        if answer.iter().any(|(_, values)| values.iter().all(|v| v.is_nan())) {
            return Err(wrong(format!("entry '{entry}' leaves an output unwritten")));
        }
        Ok(answer)
    }
}
