//! The memory chart of a launch: data between the kernel, the caches and device memory.

use crate::number;
use ncugate_judge::frame::LaunchMetrics;
use ncugate_model::CleanText;
use serde::Serialize;

/// Bytes of a sector.
const SECTOR: f64 = 32.0;

/// The path of data from the kernel to device memory, and shared memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemoryChart {
    /// Kernel, L1/TEX, L2, device memory.
    pub path: Vec<MemoryUnit>,
    pub shared: MemoryUnit,
}

/// A unit with its counters, and the traffic between it and the next unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemoryUnit {
    pub name: &'static str,
    pub facts: Vec<MemoryFact>,
    /// Traffic to and from the next unit; empty for the last one.
    pub traffic: Vec<MemoryFact>,
}

/// A counter in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemoryFact {
    pub label: &'static str,
    /// The value with its unit; none if the report does not hold the counter.
    pub text: Option<CleanText>,
}

impl MemoryChart {
    /// The chart of a launch; none if most of its counters were not collected.
    pub fn of(counters: &LaunchMetrics<'_>) -> Option<Self> {
        let fact = |label, counter: &str, factor: f64, unit: &str| {
            let text = counters.collected(counter).map(|value| match value.is_finite() {
                true => number::with_unit(factor * value, unit),
                false => "no value".to_owned(),
            });
            MemoryFact { label, text: text.map(CleanText::from) }
        };
        let count = |label, counter: &str| fact(label, counter, 1.0, "");
        let bytes = |label, counter: &str| fact(label, counter, 1.0, "byte");
        let sectors = |label, counter: &str| fact(label, counter, SECTOR, "byte");
        let percent = |label, counter: &str| fact(label, counter, 1.0, "%");
        let unit = |name, facts, traffic| MemoryUnit { name, facts, traffic };
        // Some sets of ncu have reads and writes, others their sum.
        let total = Some(bytes("read and written", "dram__bytes.sum")).filter(|total| total.text.is_some());
        let busy = percent("of the peak", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed");
        let device = total.into_iter().chain([busy]).collect();
        let path = vec![
            unit(
                "Kernel",
                vec![
                    count("global loads", "smsp__sass_inst_executed_op_global_ld.sum"),
                    count("global stores", "smsp__sass_inst_executed_op_global_st.sum"),
                    count("local loads", "smsp__sass_inst_executed_op_local_ld.sum"),
                    count("local stores", "smsp__sass_inst_executed_op_local_st.sum"),
                ],
                vec![
                    sectors("global loads", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
                    sectors("global stores", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"),
                ],
            ),
            unit(
                "L1/TEX cache",
                vec![percent("hit rate", "l1tex__t_sector_hit_rate.pct")],
                vec![
                    bytes("read", "l1tex__m_xbar2l1tex_read_bytes.sum"),
                    bytes("written", "l1tex__m_l1tex2xbar_write_bytes.sum"),
                ],
            ),
            unit(
                "L2 cache",
                vec![percent("hit rate", "lts__t_sector_hit_rate.pct")],
                vec![bytes("read", "dram__bytes_read.sum"), bytes("written", "dram__bytes_write.sum")],
            ),
            unit("Device memory", device, Vec::new()),
        ];
        let shared = unit(
            "Shared memory",
            vec![
                count("load instructions", "smsp__sass_inst_executed_op_shared_ld.sum"),
                count("store instructions", "smsp__sass_inst_executed_op_shared_st.sum"),
                count("load wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"),
                count("load bank conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"),
            ],
            Vec::new(),
        );
        let chart = Self { path, shared };
        let units = || chart.path.iter().chain([&chart.shared]);
        let facts = || units().flat_map(|unit| unit.facts.iter().chain(&unit.traffic));
        let is_collected = 2 * facts().filter(|fact| fact.text.is_some()).count() > facts().count();
        is_collected.then_some(chart)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncu_rep::Report;

    fn text<'c>(unit: &'c MemoryUnit, label: &str) -> Option<&'c str> {
        unit.facts.iter().chain(&unit.traffic).find(|fact| fact.label == label)?.text.as_deref()
    }

    #[test]
    fn a_full_set_fills_every_unit_and_absent_counters_say_so() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/full1.ncu-rep.zst");
        let report = Report::open(path).unwrap();
        let chart = MemoryChart::of(&LaunchMetrics::of(&report.launch(0).unwrap()).unwrap()).unwrap();
        let [kernel, l1, l2, dram] = chart.path.as_slice() else { unreachable!("four units") };
        for (unit, label, value, name) in [
            (kernel, "global loads", 270_336.0, ""),
            (kernel, "local stores", 287_744.0, ""),
            (l1, "hit rate", 80.206_194_875_304_13, "%"),
            (l1, "read", 17_525_120.0, "byte"),
            (l1, "written", 37_879_808.0, "byte"),
            (l2, "hit rate", 96.791_527_704_979_67, "%"),
            (l2, "read", 1_606_912.0, "byte"),
            (l2, "written", 0.0, "byte"),
            (dram, "of the peak", 0.062_000_299_350_391_21, "%"),
            (&chart.shared, "load instructions", 4_194_304.0, ""),
        ] {
            assert_eq!(text(unit, label), Some(number::with_unit(value, name).as_str()), "{label}");
        }
    }

    #[test]
    fn a_report_that_lacks_most_memory_counters_has_no_chart() {
        assert_eq!(MemoryChart::of(&LaunchMetrics::from([("gpu__time_duration.sum", 1.0)])), None);
        assert_eq!(MemoryChart::of(&LaunchMetrics::from([("dram__bytes.sum", 1e6)])), None);
    }
}
