//! What ncu counted against the useful work that the workload declares.

use super::{CLEAR, CaseCounters, Mismatch};
use crate::config::Role;
use crate::frame::wanted;
use crate::metric::id;
use crate::number::short;

/// Least share of the declared work that has to be counted. Over the recordings in `profiles/` the counted DRAM bytes are
/// at least 1.001 times what has to come from DRAM, and those of the selected variants show 1.00 times the declared operations;
/// `cargo test --lib honest_variants -- --nocapture` prints the range.
const LEAST_SHARE: f64 = 0.9;

impl CaseCounters<'_> {
    /// DRAM bytes below what the launch has to read and write there. ncu flushes the caches before a launch, so that
    /// everything read comes from DRAM; what was written may still be in L2 at the end.
    pub(super) fn bytes(&self) -> Option<Mismatch> {
        let declared = self.phase.workload.bytes_at(self.shape).ok().flatten()?;
        let outputs = self.phase.workload.buffer_bytes(self.shape, Role::is_compared)?;
        let kept = self.chip.l2_bytes.map_or(outputs, |l2| outputs.min(l2));
        below(self.counted(id::DRAM_BYTES)?, declared - kept, "bytes of DRAM", declared)
    }

    /// Operations below the declared ones. Looked at where every kind of arithmetic was counted.
    pub(super) fn operations(&self) -> Option<Mismatch> {
        let declared = self.phase.workload.flops_at(self.shape).ok().flatten()?;
        below(self.operations_counted()?, declared, "operations", declared)
    }

    fn operations_counted(&self) -> Option<f64> {
        let single = self.counted(id::FP32_FLOP)?;
        let others = wanted::OTHER_ARITHMETIC.iter().map(|(name, each)| Some(self.named(name)? * each));
        Some(single + others.sum::<Option<f64>>()? + self.tensor_operations()?)
    }

    /// Tensor operations; none where the pipe was busy with a type that the catalogue does not count.
    fn tensor_operations(&self) -> Option<f64> {
        let busy = self.counted(id::TENSOR_PCT)?;
        let types = [id::TENSOR_OPS_FP16, id::TENSOR_OPS_BF16, id::TENSOR_OPS_FP8];
        let counted: f64 = types.into_iter().filter_map(|metric| self.counted(metric)).sum();
        (counted > 0.0 || busy == 0.0).then_some(counted)
    }
}

fn below(counted: f64, needed: f64, what: &str, declared: f64) -> Option<Mismatch> {
    (needed > 0.0 && counted < LEAST_SHARE * needed).then(|| Mismatch {
        factor: needed / counted.max(f64::MIN_POSITIVE),
        clear: CLEAR,
        reason: format!(
            "work was not done: {} {what} counted, at least {} needed of the {} that the workload declares",
            short(counted),
            short(needed),
            short(declared)
        ),
    })
}
