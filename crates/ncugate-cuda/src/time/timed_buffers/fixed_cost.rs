//! Measures the fixed time of a graph, without its launches, and of a single launch.

use super::TimedBuffers;
use crate::gpu::{BlockingKernel, ClockReader, CudaDevice, DeviceError, EmptyKernel, ExecutableGraph};
use ncugate_model::LaunchMode;
use ncugate_model::stats;

/// Launches of the longer graph.
const LAUNCHES: u32 = 33;
/// Replays of each graph; the shortest counts.
const REPLAYS: u32 = 7;
/// Launches of an empty kernel alone.
const EMPTY_LAUNCHES: u32 = 9;
/// Limit in microseconds, above the need of an idle device: time beyond it is not deducted for a kernel.
const MOST_US: f64 = 5.0;

/// Microseconds between two events around a graph that do not grow with its launches: the time of one empty kernel,
/// less the increment per kernel in a longer graph. Measured like samples: everything is queued before the device
/// starts.
pub(super) fn fixed_us(device: &CudaDevice, blocking: &BlockingKernel) -> Result<f64, DeviceError> {
    let shortest = |launches: u32| {
        let graph = device.capture(|| (0..launches).try_for_each(|_| blocking.pass(device)))?;
        let mut shortest = f64::INFINITY;
        for _ in 0..REPLAYS {
            let blocked = blocking.block(device)?;
            let unblocked = || {
                drop(blocked);
                Ok(())
            };
            shortest = device.time_before(|| device.replay(&graph), unblocked)?.min(shortest);
        }
        Ok::<_, DeviceError>(shortest)
    };
    let (one, many) = (shortest(1)?, shortest(LAUNCHES)?);
    let fixed = one - (many - one) / f64::from(LAUNCHES - 1);
    Ok(if fixed.is_finite() { fixed.clamp(0.0, MOST_US) } else { 0.0 })
}

impl TimedBuffers {
    /// Microseconds between two events around a graph that is alone on the device, behind a flush of the caches and a reading
    /// of the clock.
    ///
    /// # Errors
    /// A launch fails.
    pub fn time_isolated(
        &self,
        device: &CudaDevice,
        clock: &ClockReader,
        graph: &ExecutableGraph,
    ) -> Result<f64, DeviceError> {
        let blocked = self.block(device)?;
        self.clean_flush.queue(device)?;
        clock.queue(device)?;
        let unblocked = || {
            drop(blocked);
            Ok(())
        };
        device.time_before(|| device.replay(graph), unblocked)
    }

    /// The same of an empty kernel in a mode: the median.
    pub fn measure_empty(&self, device: &CudaDevice, mode: LaunchMode) -> Result<f64, DeviceError> {
        let (clock, empty) = (ClockReader::new(device)?, EmptyKernel::new(device)?);
        let graph = device.capture(|| empty.launch(device, mode))?;
        device.replay(&graph)?;
        let times = (0..EMPTY_LAUNCHES).map(|_| self.time_isolated(device, &clock, &graph));
        let times: Vec<f64> = times.collect::<Result<_, _>>()?;
        Ok(stats::median(&times).unwrap_or(f64::NAN))
    }
}
