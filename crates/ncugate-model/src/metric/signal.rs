//! Counters outside the catalogue that the diagnosis reads by ncu's name: most are in the sections of a deep profile.

use crate::ComputeCapability;

/// A short name, and ncu's names for it: the first one in the report counts.
pub const SIGNALS: &[(&str, &[&str])] = &[
    (
        "l2_busy",
        &["lts__throughput.avg.pct_of_peak_sustained_elapsed", "lts__t_sectors.avg.pct_of_peak_sustained_elapsed"],
    ),
    ("l1_busy", &["l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed"]),
    ("fma_busy", &["sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active"]),
    ("alu_busy", &["sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_active"]),
    ("xu_busy", &["sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active"]),
    (
        "fp64_busy",
        &[
            "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_active",
            "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active",
        ],
    ),
    ("fp16_busy", &["sm__inst_executed_pipe_fma_type_fp16.avg.pct_of_peak_sustained_active"]),
    ("tensor_busy", &["sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"]),
    ("wgmma_busy", &["sm__inst_executed_pipe_tensor_op_gmma.avg.pct_of_peak_sustained_active"]),
    ("tma_busy", &["sm__pipe_tma_cycles_active.avg.pct_of_peak_sustained_active"]),
    ("global_load_sectors", &["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"]),
    ("global_load_requests", &["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"]),
    ("global_store_sectors", &["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"]),
    ("global_store_requests", &["l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"]),
    ("atomics", &["l1tex__m_l1tex2xbar_write_sectors_mem_global_op_atom.sum"]),
    ("reductions", &["l1tex__m_l1tex2xbar_write_sectors_mem_global_op_red.sum"]),
    ("l2_sectors", &["lts__t_sectors.sum"]),
    ("longest_sm", &["sm__cycles_active.max"]),
    ("mean_sm", &["sm__cycles_active.avg"]),
];

/// Counters that no section of the deep profile contains; their names are known to exist on this chip.
const ASKED: [&str; 8] = [
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_atom.sum",
    "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_red.sum",
    "lts__t_sectors.sum",
    "sm__cycles_active.max",
];

/// ncu's names of every signal.
pub fn signal_counters() -> impl Iterator<Item = &'static str> {
    SIGNALS.iter().flat_map(|(_, names)| names.iter().copied())
}

/// Counters that a deep profile requests in addition to its sections. Empty on chips where the names were never seen,
/// because ncu refuses a whole process over one unknown name.
pub fn asked_signals(capability: Option<ComputeCapability>) -> &'static [&'static str] {
    if capability == Some(ComputeCapability::new(9, 0)) { &ASKED } else { &[] }
}

/// Whether a counter that rules read is missing from ncu's `--set full`. For tests: a report of that set has all others.
pub fn outside_full_set(counter: &str) -> bool {
    counter.starts_with("smsp__inst_executed_op_local_") || counter == "dram__bytes.sum"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_read() {
        assert!(ASKED.iter().all(|name| signal_counters().any(|known| known == *name)));
        assert!(asked_signals(Some(ComputeCapability::new(12, 0))).is_empty());
    }
}
