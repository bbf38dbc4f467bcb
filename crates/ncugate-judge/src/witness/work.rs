//! Compares ncu's counts with the useful work that the workload declares, or that its outputs imply.

use super::{CLEAR, CaseCounters, WitnessMismatch};
use crate::frame::required_metrics;
use ncugate_model::Role;
use ncugate_model::metric::id;
use ncugate_model::number::short;

/// Minimum counted share of the declared work. In the recordings in `profiles/` the counted DRAM bytes are at least
/// 1.001 times the required DRAM bytes, and the operations of the selected variants are 1.00 times the declared ones;
/// `cargo test --lib honest_variants -- --nocapture` prints the range.
const LEAST_SHARE: f64 = 0.9;

/// Where the minimum work of an evaluation comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkSource {
    /// A key of `[workload]`, which may declare too much.
    Declared(&'static str),
    /// Outputs, whose every element was compared.
    Outputs,
}

impl CaseCounters<'_> {
    /// The minimum number of bytes that an evaluation moves, and their source: those that the workload declares, else
    /// those of its outputs, each written once.
    pub(super) fn least_bytes(&self) -> Option<(f64, WorkSource)> {
        match self.phase.workload.bytes_at(self.shape).ok().flatten() {
            Some(declared) => Some((declared, WorkSource::Declared("bytes"))),
            None => Some((self.phase.workload.written_bytes(self.shape)?, WorkSource::Outputs)),
        }
    }

    /// A mismatch if the DRAM bytes are below the launches' minimum. ncu flushes the caches before a launch, so all
    /// reads come from DRAM; data that a launch wrote may still be in L2 at its end.
    pub(super) fn bytes(&self) -> Option<WitnessMismatch> {
        let (least, source) = self.least_bytes()?;
        let outputs = self.phase.workload.buffer_bytes(self.shape, Role::is_compared)?;
        let kept = self.chip.l2_bytes.map_or(outputs, |l2| outputs.min(f64::from(self.launches()) * l2));
        below(self.counted(id::DRAM_BYTES)?, least - kept, "bytes of DRAM", (least, source))
    }

    /// A mismatch if the operations are below the declared ones. Checked only if every kind of arithmetic was
    /// counted.
    pub(super) fn operations(&self) -> Option<WitnessMismatch> {
        let declared = self.phase.workload.flops_at(self.shape).ok().flatten()?;
        below(self.operations_counted()?, declared, "operations", (declared, WorkSource::Declared("flops")))
    }

    fn operations_counted(&self) -> Option<f64> {
        let single = self.counted(id::FP32_FLOP)?;
        let others = required_metrics::OTHER_ARITHMETIC.iter().map(|(name, each)| Some(self.named(name)? * each));
        Some(single + others.sum::<Option<f64>>()? + self.tensor_operations()?)
    }

    /// Tensor operations; `None` if the pipe executed a type that the catalogue does not count.
    fn tensor_operations(&self) -> Option<f64> {
        let busy = self.counted(id::TENSOR_PCT)?;
        let counted: f64 = id::TENSOR_TYPES.into_iter().filter_map(|metric| self.counted(metric)).sum();
        (counted > 0.0 || busy == 0.0).then_some(counted)
    }
}

fn below(counted: f64, needed: f64, what: &str, (least, source): (f64, WorkSource)) -> Option<WitnessMismatch> {
    (needed > 0.0 && counted < LEAST_SHARE * needed).then(|| {
        let numbers = [counted, needed, least].map(short);
        let numbers = format!("{} {what} counted, at least {} needed of the {}", numbers[0], numbers[1], numbers[2]);
        let reason = match source {
            WorkSource::Outputs => format!("work was not done: {numbers} that its outputs have"),
            WorkSource::Declared(key) => format!(
                "{numbers} that the workload declares: lower `{key}` if a kernel may skip some, for example by a mask; \
                 otherwise work was not done"
            ),
        };
        // A declaration proves no cheat: a masked kernel may skip any share of it.
        let clear = if source == WorkSource::Outputs { CLEAR } else { f64::INFINITY };
        WitnessMismatch { factor: needed / counted.max(f64::MIN_POSITIVE), clear, reason }
    })
}
