//! A kernel being timed: a CUDA graph of its launches over rotating buffers, between two events.

use super::settings::TimingSettings;
use crate::gpu::{Device, DeviceError, ExecutableGraph, KernelArguments, LoadedKernel};
use crate::model::{LatencyOutcome, VariantId};
use crate::plan::Launch;

/// Launches whose mean is the first guess of how long one takes.
const PILOT: u32 = 4;

/// Microseconds that the device is kept busy with while a sample is being queued, so that none of the queueing is
/// in it; it also brings code and data of the variant back into the caches.
const LEAD_IN_US: f64 = 60.0;

/// A variant being timed at a shape.
#[derive(Debug)]
pub struct TimedKernel {
    /// The variant.
    pub variant: VariantId,
    lead_in: ExecutableGraph,
    graph: ExecutableGraph,
    launches: u32,
    samples: Vec<f64>,
}

impl TimedKernel {
    /// A variant with its graph, as many launches in it as a sample needs, warmed up. `arguments` has one element for
    /// each set of buffers that the graph rotates over.
    ///
    /// # Errors
    /// A launch fails; the device may not work any more.
    pub fn prepare(
        variant: VariantId,
        device: &Device,
        kernel: &LoadedKernel,
        launch: &Launch,
        arguments: &[KernelArguments],
        settings: &TimingSettings,
    ) -> Result<Self, DeviceError> {
        let graph = |launches| graph(device, kernel, launch, arguments, launches);
        let replay = |graph: &ExecutableGraph| device.time(|| device.replay(graph));
        // The first replay pays for loading; the second is the guess, and what it says is checked once.
        let pilot = graph(PILOT)?;
        replay(&pilot)?;
        let mut launches = launches_for(settings, settings.min_sample_us, replay(&pilot)?, PILOT);
        let mut chosen = graph(launches)?;
        let elapsed = replay(&chosen)?;
        let lead_in = graph(launches_for(settings, LEAD_IN_US, elapsed, launches))?;
        if elapsed < settings.min_sample_us && launches < settings.max_launches {
            launches = launches_for(settings, settings.min_sample_us, elapsed, launches);
            chosen = graph(launches)?;
        }
        for _ in 0..settings.warmup {
            device.replay(&chosen)?;
        }
        device.synchronize()?;
        let samples = Vec::with_capacity(settings.rounds as usize);
        Ok(Self { variant, lead_in, graph: chosen, launches, samples })
    }

    /// Takes one sample.
    ///
    /// # Errors
    /// A launch fails; the device may not work any more.
    pub fn sample(&mut self, device: &Device) -> Result<(), DeviceError> {
        device.replay(&self.lead_in)?;
        let elapsed = device.time(|| device.replay(&self.graph))?;
        self.samples.push(elapsed / f64::from(self.launches));
        Ok(())
    }

    /// Its samples.
    pub fn outcome(self) -> LatencyOutcome {
        match self.samples.is_empty() {
            false => LatencyOutcome::Timed { samples: self.samples, launches: self.launches, audit: None },
            true => LatencyOutcome::Failed { reason: "the phase asks for no rounds".to_owned() },
        }
    }
}

fn graph(
    device: &Device,
    kernel: &LoadedKernel,
    launch: &Launch,
    arguments: &[KernelArguments],
    launches: u32,
) -> Result<ExecutableGraph, DeviceError> {
    device.capture(|| {
        let rotation = arguments.iter().cycle().take(launches as usize);
        rotation.into_iter().try_for_each(|arguments| device.launch(kernel, launch, arguments))
    })
}

/// How many launches last `wanted` microseconds, when so many took `elapsed`.
fn launches_for(timing: &TimingSettings, wanted: f64, elapsed: f64, launches: u32) -> u32 {
    let one = (elapsed / f64::from(launches)).max(1e-3);
    ((wanted / one).ceil() as u32).clamp(1, timing.max_launches)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: TimingSettings =
        TimingSettings { warmup: 1, rounds: 1, min_sample_us: 1000.0, max_launches: 200, buffer_sets: 2 };

    #[test]
    fn a_sample_is_long_enough_and_no_graph_too_large() {
        assert_eq!(launches_for(&TIMING, 1000.0, 400.0, 4), 10);
        assert_eq!(launches_for(&TIMING, 1000.0, 401.0, 4), 10);
        assert_eq!(launches_for(&TIMING, 1000.0, 5000.0, 1), 1);
        assert_eq!(launches_for(&TIMING, 1000.0, 4.0, 4), 200);
        assert_eq!(launches_for(&TIMING, 1000.0, 0.0, 4), 200);
    }
}
