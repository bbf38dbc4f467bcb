//! How long a graph takes beside its launches.

use crate::gpu::{BlockingKernel, CudaDevice, DeviceError};

/// Launches of the longer graph.
const LAUNCHES: u32 = 33;
/// Replays of each graph, of which the shortest counts.
const REPLAYS: u32 = 7;
/// More microseconds than an idle device needs: what is beyond is not granted to a kernel.
const MOST_US: f64 = 5.0;

/// Microseconds between two events around a graph that do not grow with its launches: those of one empty kernel, less what each further one
/// adds in a longer graph. Measured as samples are, with everything queued before the device begins.
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
