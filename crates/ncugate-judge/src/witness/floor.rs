//! The minimum time of the declared work on a chip.

use super::{CLEAR, CaseCounters, WitnessMismatch};
use ncugate_model::number::short;

impl CaseCounters<'_> {
    /// Floors above the median.
    pub(super) fn floors(&self) -> Vec<WitnessMismatch> {
        let floors = [("DRAM", self.dram_floor()), ("L2", self.l2_floor()), ("arithmetic", self.arithmetic_floor())];
        let under = |(what, seconds): (&str, Option<f64>)| {
            let floor = seconds.filter(|s| s.is_finite())? * 1e6;
            (self.latency < floor).then(|| WitnessMismatch {
                factor: floor / self.latency,
                clear: CLEAR,
                reason: format!(
                    "{} µs is below the chip's limit: the work takes at least {} µs at its {what} peak",
                    short(self.latency),
                    short(floor)
                ),
            })
        };
        floors.into_iter().filter_map(under).collect()
    }

    /// Minimum bytes that L2 cannot keep between two launches on the same buffer set, divided by the DRAM peak.
    fn dram_floor(&self) -> Option<f64> {
        let held = self.chip.held_share(self.sets * self.set_bytes()?)?;
        Some(self.least_bytes()?.0 * (1.0 - held) / self.chip.dram_bytes_per_second()?)
    }

    /// Minimum bytes moved, divided by the rate between L2 and the multiprocessors.
    fn l2_floor(&self) -> Option<f64> {
        Some(self.least_bytes()?.0 / self.chip.l2_bytes_per_second()?)
    }

    /// Declared operations divided by the peak of the tensor pipe's fastest type.
    fn arithmetic_floor(&self) -> Option<f64> {
        let declared = self.phase.workload.flops_at(self.shape).ok().flatten()?;
        Some(declared / self.chip.operations_per_second()?)
    }
}
