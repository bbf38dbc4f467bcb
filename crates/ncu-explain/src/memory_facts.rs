//! Data between the kernel, the caches and device memory.

use ncugate_model::LaunchMetrics;

/// Bytes of a sector of the L1 cache.
const SECTOR: f64 = 32.0;

/// A quantity of a launch between the kernel, the caches and device memory.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryFact {
    /// The part of the chip, or the two that it is between.
    pub part: &'static str,
    pub label: &'static str,
    /// None if it was not collected; it may be NaN.
    pub value: Option<f64>,
    /// Unit of the value.
    pub unit: &'static str,
}

/// Counts and rates from the kernel to device memory. None if most counters are missing.
pub fn memory_facts(counters: &LaunchMetrics<'_>) -> Option<Vec<MemoryFact>> {
    let known = |counter: &str| counter != TOTAL || counters.collected(TOTAL).is_some();
    let facts = FACTS.into_iter().filter(|(_, _, counter, ..)| known(counter));
    let facts = facts.map(|(part, label, counter, factor, unit)| {
        let value = counters.collected(counter).map(|value| factor * value);
        MemoryFact { part, label, value, unit }
    });
    let facts: Vec<MemoryFact> = facts.collect();
    let collected = facts.iter().filter(|fact| fact.value.is_some()).count();
    (2 * collected > facts.len()).then_some(facts)
}

/// Some sets of ncu have reads and writes of device memory, others their sum.
const TOTAL: &str = "dram__bytes.sum";
const SHARED: &str = "Shared memory";
const TO_L1: &str = "Kernel ⇄ L1/TEX cache";
const TO_L2: &str = "L1/TEX cache ⇄ L2 cache";
const TO_DEVICE: &str = "L2 cache ⇄ device memory";

/// Part, quantity, counter, factor, and unit of the product.
const FACTS: [(&str, &str, &str, f64, &str); 18] = [
    ("Kernel", "global loads", "smsp__sass_inst_executed_op_global_ld.sum", 1.0, ""),
    ("Kernel", "global stores", "smsp__sass_inst_executed_op_global_st.sum", 1.0, ""),
    ("Kernel", "local loads", "smsp__sass_inst_executed_op_local_ld.sum", 1.0, ""),
    ("Kernel", "local stores", "smsp__sass_inst_executed_op_local_st.sum", 1.0, ""),
    (SHARED, "load instructions", "smsp__sass_inst_executed_op_shared_ld.sum", 1.0, ""),
    (SHARED, "store instructions", "smsp__sass_inst_executed_op_shared_st.sum", 1.0, ""),
    (SHARED, "load wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", 1.0, ""),
    (SHARED, "load bank conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", 1.0, ""),
    (TO_L1, "global loads", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", SECTOR, "byte"),
    (TO_L1, "global stores", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", SECTOR, "byte"),
    ("L1/TEX cache", "hit rate", "l1tex__t_sector_hit_rate.pct", 1.0, "%"),
    (TO_L2, "read", "l1tex__m_xbar2l1tex_read_bytes.sum", 1.0, "byte"),
    (TO_L2, "written", "l1tex__m_l1tex2xbar_write_bytes.sum", 1.0, "byte"),
    ("L2 cache", "hit rate", "lts__t_sector_hit_rate.pct", 1.0, "%"),
    (TO_DEVICE, "read", "dram__bytes_read.sum", 1.0, "byte"),
    (TO_DEVICE, "written", "dram__bytes_write.sum", 1.0, "byte"),
    ("Device memory", "read and written", TOTAL, 1.0, "byte"),
    ("Device memory", "of the peak", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", 1.0, "%"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use ncu_rep::Report;

    #[test]
    fn a_full_set_fills_every_unit_and_absent_counters_say_so() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/full1.ncu-rep.zst");
        let report = Report::open(path).unwrap();
        let facts = memory_facts(&LaunchMetrics::of(&report.launch(0).unwrap()).unwrap()).unwrap();
        for (part, label, value, unit) in [
            ("Kernel", "global loads", 270_336.0, ""),
            ("Kernel", "local stores", 287_744.0, ""),
            ("L1/TEX cache", "hit rate", 80.206_194_875_304_13, "%"),
            (TO_L2, "read", 17_525_120.0, "byte"),
            (TO_L2, "written", 37_879_808.0, "byte"),
            ("L2 cache", "hit rate", 96.791_527_704_979_67, "%"),
            (TO_DEVICE, "read", 1_606_912.0, "byte"),
            (TO_DEVICE, "written", 0.0, "byte"),
            ("Device memory", "of the peak", 0.062_000_299_350_391_21, "%"),
            (SHARED, "load instructions", 4_194_304.0, ""),
        ] {
            let found = facts.iter().find(|fact| (fact.part, fact.label) == (part, label)).unwrap();
            let is_equal = found.value.is_some_and(|found| (found - value).abs() <= 1e-12 * value);
            assert!(is_equal && found.unit == unit, "{part} {label}");
        }
    }

    #[test]
    fn a_report_that_lacks_most_memory_counters_has_no_facts() {
        assert_eq!(memory_facts(&LaunchMetrics::from([("gpu__time_duration.sum", 1.0)])), None);
        assert_eq!(memory_facts(&LaunchMetrics::from([("dram__bytes.sum", 1e6)])), None);
    }
}
