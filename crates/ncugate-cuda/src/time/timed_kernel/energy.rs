//! Energy of launches back to back, after the samples.

use super::TimedKernel;
use crate::gpu::{CudaDevice, DeviceError, GpuMonitor};
use crate::time::energy_meter::EnergyMeter;
use crate::time::settings::AuditEffort;
use crate::time::timed_buffers::TimedBuffers;
use ncugate_model::stats::Statistic;
use ncugate_model::{EnergyOutcome, EnergySource, number};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Least duration of a batch in microseconds: NVML is read once in each, while the GPU works on the next.
const BATCH_US: f64 = 5e3;
/// Most replays in a batch.
const MOST_REPLAYS: f64 = 500.0;
/// Largest ratio, in either direction, of a launch's duration back to back and in samples.
const ALIKE: f64 = 2.0;

impl TimedKernel {
    /// Replays the timed graph back to back for some seconds, at most for `limit`, on inputs of a hidden seed and poisoned
    /// outputs, which are verified afterwards. L2 is as between the launches of a sample.
    ///
    /// # Errors
    /// A launch fails; the device may be unusable afterwards.
    pub fn measure_energy(
        &mut self,
        device: &CudaDevice,
        buffers: &mut TimedBuffers,
        gpu: Result<&GpuMonitor, &String>,
        limit: Duration,
    ) -> Result<(), DeviceError> {
        let found = buffers.bar_to_back_to_back().map_or(Ok(()), |reason| Err(reason.to_owned()));
        let found = found.and_then(|()| gpu.map_err(Clone::clone));
        let found = found.and_then(|gpu| gpu.alone().and_then(|()| Ok((gpu, gpu.energy_source()?))));
        let outcome = match found {
            Ok(gpu) => self.back_to_back(device, buffers, gpu, limit)?,
            Err(reason) => Err(reason),
        };
        self.energy = Some(outcome.unwrap_or_else(|reason| EnergyOutcome::Failed { reason }));
        Ok(())
    }

    fn back_to_back(
        &mut self,
        device: &CudaDevice,
        buffers: &mut TimedBuffers,
        (gpu, source): (&GpuMonitor, EnergySource),
        limit: Duration,
    ) -> Result<Result<EnergyOutcome, String>, DeviceError> {
        let Some(sample_us) = Statistic::MEDIAN.of(&self.samples).ok().filter(|us| *us > 0.0) else {
            return Ok(Err("it has no latency".to_owned()));
        };
        let sets = self.extent.sets as usize;
        let contents = self.assignment(buffers.contents(), sets);
        let lead_in = contents.first().copied().unwrap_or_default();
        device.set_l2_aside(self.l2_set_aside)?;
        buffers.refresh_lead_in(device, lead_in)?;
        buffers.refresh(device, &contents)?;
        self.surfaces.fill(device, sets)?;
        device.replay(&self.lead_in)?;
        let launches = self.extent.launches;
        let replays = (BATCH_US / (sample_us * f64::from(launches))).ceil().clamp(1.0, MOST_REPLAYS) as u32;
        let mut meter = EnergyMeter::new(source, u64::from(launches) * u64::from(replays));
        let (began, mut failure) = (Instant::now(), None);
        device.replay_back_to_back(&self.graph, replays, |us| {
            let noted = gpu.energy(source).and_then(|reading| meter.note(us, reading, || gpu.throttle()));
            match noted {
                Ok(flow) if began.elapsed() < limit => flow,
                Ok(_) => ControlFlow::Break(()),
                Err(reason) => {
                    failure = Some(reason);
                    ControlFlow::Break(())
                }
            }
        })?;
        let unlike = meter.launch_us().filter(|us| !(1.0 / ALIKE..=ALIKE).contains(&(us / sample_us)));
        let unlike = unlike.map(|us| {
            let [us, sample_us] = [us, sample_us].map(|us| number::in_sentence(us, "us"));
            format!("a launch takes {us} back to back and {sample_us} in samples: it did other work, or shared the GPU")
        });
        let failure = failure.or_else(|| gpu.alone().err()).or(unlike);
        let wrong = self.wrong_output(device, buffers, &contents, lead_in)?;
        Ok(failure.or(wrong).map_or_else(|| Ok(meter.outcome()), Err))
    }

    /// The fault in the outputs of the sets, unless nothing is verified.
    fn wrong_output(
        &mut self,
        device: &CudaDevice,
        buffers: &mut TimedBuffers,
        contents: &[usize],
        lead_in: usize,
    ) -> Result<Option<String>, DeviceError> {
        if self.effort == AuditEffort::None {
            return Ok(None);
        }
        device.deliver(&self.graph)?;
        self.surfaces.write_back(device, contents.len())?;
        buffers.clear_digests();
        let pending = (0..contents.len()).map(|set| buffers.ask_outputs(device, Some(set)));
        let pending = pending.collect::<Result<Vec<_>, _>>()?;
        device.synchronize()?;
        let wrong = self.compare(device, buffers, (contents, lead_in), &pending)?;
        Ok(wrong.map(|(wrong, _)| format!("after launches back to back, an output differs: {}", wrong.reason)))
    }
}
