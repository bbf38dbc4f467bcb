//! The hardware unit that counts a metric, by its name.

/// The hardware that counts a metric, as far as its name tells: the first guess at which metrics fit one pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CounterUnit {
    /// Not counted: launch and device attributes, theoretical occupancy. No pass.
    Attribute,
    /// SM, L1, graphics front end.
    Core,
    /// Warp stall reasons, two counters each.
    Stall,
    L2,
    Dram,
    /// Maxima over many counters: always several passes.
    Throughput,
    /// Counted by patched machine code, in separate passes.
    Sass,
    /// Samplers and expressions (`group:`, `regex:`), which are not split.
    Other,
}

impl CounterUnit {
    pub fn of(metric: &str) -> Self {
        let base = metric.split('.').next().unwrap_or(metric);
        let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| base.starts_with(prefix));
        if base.contains(':') || base.contains("pcsamp") || base.starts_with("pmsampling") {
            Self::Other
        } else if starts(&["launch__", "device__", "profiler__", "sm__maximum_warps", "smsp__maximum_warps"]) {
            Self::Attribute
        } else if base.contains("sass_")
            || starts(&["inst_executed", "thread_inst_executed", "memory_", "derived__memory_", "derived__local_"])
        {
            Self::Sass
        } else if starts(&["dram__", "fbpa__", "gpu__dram_"]) {
            Self::Dram
        } else if base.contains("throughput") {
            Self::Throughput
        } else if starts(&["lts__", "ltc__"]) {
            Self::L2
        } else if base.contains("issue_stalled_") {
            Self::Stall
        } else {
            Self::Core
        }
    }

    /// Whether fewer metrics can mean fewer passes, so that a split or join is worth a probe.
    pub(super) const fn divides(self) -> bool {
        match self {
            Self::Core | Self::Stall | Self::L2 | Self::Dram => true,
            Self::Attribute | Self::Throughput | Self::Sass | Self::Other => false,
        }
    }

    /// Short name of a group of such metrics.
    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Attribute => "launch",
            Self::Core => "core",
            Self::Stall => "stall",
            Self::L2 => "l2",
            Self::Dram => "dram",
            Self::Throughput => "throughput",
            Self::Sass => "sass",
            Self::Other => "other",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_units_follow_from_metric_names() {
        let cases = [
            ("launch__occupancy_limit_registers", CounterUnit::Attribute),
            ("sm__maximum_warps_per_active_cycle_pct", CounterUnit::Attribute),
            ("device__attribute_multiprocessor_count", CounterUnit::Attribute),
            ("dram__throughput.avg.pct_of_peak_sustained_elapsed", CounterUnit::Dram),
            ("lts__t_sector_hit_rate.pct", CounterUnit::L2),
            ("sm__instruction_throughput.avg.pct_of_peak_sustained_elapsed", CounterUnit::Throughput),
            ("smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", CounterUnit::Stall),
            ("smsp__pcsamp_warps_issue_stalled_wait", CounterUnit::Other),
            ("derived__memory_l1_wavefronts_shared_excessive", CounterUnit::Sass),
            ("smsp__inst_executed_op_local_ld.sum", CounterUnit::Core),
            ("inst_executed", CounterUnit::Sass),
            ("group:memory__shared_table", CounterUnit::Other),
        ];
        for (name, unit) in cases {
            assert_eq!(CounterUnit::of(name), unit, "{name}");
        }
    }
}
