//! Measures the fixed time of a graph, without its launches.

use crate::gpu::{BlockingKernel, CudaDevice, DeviceError};

/// Launches of the longer graph.
const LAUNCHES: u32 = 33;
/// Replays of each graph; the shortest counts.
const REPLAYS: u32 = 7;
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
