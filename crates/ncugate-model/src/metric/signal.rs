//! Counters outside the catalogue that the diagnosis reads by ncu's name: most are in the sections of a deep profile.

use crate::ComputeCapability;

/// A short name, and ncu's names for it: the first one in the report counts, and the first one of the chip is requested.
pub const SIGNALS: &[(&str, &[&str])] = &[
    (
        "l2_busy",
        &["lts__throughput.avg.pct_of_peak_sustained_elapsed", "lts__t_sectors.avg.pct_of_peak_sustained_elapsed"],
    ),
    ("l1_busy", &["l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed"]),
    ("fma_busy", &["sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active"]),
    ("alu_busy", &["sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_active"]),
    (
        "xu_busy",
        &[
            "sm__pipe_xu_cycles_active.avg.pct_of_peak_sustained_active",
            "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active",
        ],
    ),
    (
        "fp64_busy",
        &[
            "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_active",
            "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active",
        ],
    ),
    (
        "fp16_busy",
        &[
            "sm__inst_executed_pipe_fma_type_fp16.avg.pct_of_peak_sustained_active",
            "sm__inst_executed_pipe_fp16.avg.pct_of_peak_sustained_active",
        ],
    ),
    // On 8.9 the second name is deprecated and still exists.
    (
        "tensor_busy",
        &[
            "sm__pipe_tensor_cycles_active_v2.avg.pct_of_peak_sustained_active",
            "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
        ],
    ),
    (
        "async_mma_busy",
        &[
            "sm__inst_executed_pipe_tensor_op_gmma.avg.pct_of_peak_sustained_active",
            "sm__inst_executed_pipe_tc.avg.pct_of_peak_sustained_active",
        ],
    ),
    ("tma_busy", &["sm__pipe_tma_cycles_active.avg.pct_of_peak_sustained_active"]),
    ("global_load_sectors", &["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"]),
    ("global_load_requests", &["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"]),
    ("global_store_sectors", &["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"]),
    ("global_store_requests", &["l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"]),
    ("atomics", &["l1tex__m_l1tex2xbar_write_sectors_mem_global_op_atom.sum"]),
    ("reductions", &["l1tex__m_l1tex2xbar_write_sectors_mem_global_op_red.sum"]),
    ("l2_sectors", &["lts__t_sectors.sum"]),
    ("busiest_slice", &["lts__t_sectors.max"]),
    ("mean_slice", &["lts__t_sectors.avg"]),
    ("system_sectors", &["lts__t_sectors_aperture_sysmem.sum", "syslts__t_sectors_aperture_sysmem.sum"]),
    ("longest_sm", &["sm__cycles_active.max"]),
    ("one_cta_instructions", &["sm__inst_executed_pipe_tc_scope_1cta.sum"]),
    ("two_cta_instructions", &["sm__inst_executed_pipe_tc_scope_2cta.sum"]),
    ("cluster_blocks", &["launch__cluster_size"]),
    ("mean_sm", &["sm__cycles_active.avg"]),
];

/// Chips whose counters are known from NVIDIA's own library (`tests/oracle/counters.py`).
const KNOWN: [(u32, u32); 13] =
    [(7, 5), (8, 0), (8, 6), (8, 7), (8, 9), (9, 0), (10, 0), (10, 1), (10, 3), (10, 7), (11, 0), (12, 0), (12, 1)];

/// Chips with `tcgen05` and tensor memory.
const TCGEN05: &[(u32, u32)] = &[(10, 0), (10, 1), (10, 3), (10, 7), (11, 0)];

/// Names that only these chips have; every known chip has the others. `tests/oracle/counters.py` proves both.
const LIMITED: [(&str, &[(u32, u32)]); 12] = [
    ("sm__pipe_xu_cycles_active.avg.pct_of_peak_sustained_active", &[(10, 3), (10, 7)]),
    ("sm__pipe_tensor_cycles_active_v2.avg.pct_of_peak_sustained_active", &[(8, 9)]),
    ("sm__inst_executed_pipe_fp16.avg.pct_of_peak_sustained_active", &[(7, 5), (8, 0)]),
    (
        "sm__inst_executed_pipe_fma_type_fp16.avg.pct_of_peak_sustained_active",
        &[(8, 6), (8, 7), (8, 9), (9, 0), (10, 0), (10, 1), (10, 3), (10, 7), (11, 0), (12, 0), (12, 1)],
    ),
    ("sm__inst_executed_pipe_tensor_op_gmma.avg.pct_of_peak_sustained_active", &[(9, 0)]),
    ("sm__inst_executed_pipe_tc.avg.pct_of_peak_sustained_active", TCGEN05),
    ("sm__inst_executed_pipe_tc_scope_1cta.sum", TCGEN05),
    ("sm__inst_executed_pipe_tc_scope_2cta.sum", TCGEN05),
    // Of no interest elsewhere, and unknown to ncu on chips without clusters.
    ("launch__cluster_size", TCGEN05),
    (
        "lts__t_sectors_aperture_sysmem.sum",
        &[(7, 5), (8, 0), (8, 6), (8, 7), (8, 9), (9, 0), (10, 1), (11, 0), (12, 1)],
    ),
    ("syslts__t_sectors_aperture_sysmem.sum", &[(10, 0), (10, 3), (10, 7), (12, 0)]),
    (
        "sm__pipe_tma_cycles_active.avg.pct_of_peak_sustained_active",
        &[(9, 0), (10, 0), (10, 1), (10, 3), (10, 7), (11, 0), (12, 0), (12, 1)],
    ),
];

/// A name that is read if a section contains it, and never requested: the next name of its signal needs fewer passes.
const UNREQUESTED: &str = "lts__throughput.avg.pct_of_peak_sustained_elapsed";

/// The chips whose counters are known, oldest first.
pub fn known_chips() -> impl Iterator<Item = ComputeCapability> {
    KNOWN.into_iter().map(ComputeCapability::from)
}

/// ncu's names of every signal.
pub fn signal_counters() -> impl Iterator<Item = &'static str> {
    SIGNALS.iter().flat_map(|(_, names)| names.iter().copied())
}

/// ncu's name of a signal on a chip, or its first name if the chip is not known; none if the chip cannot count it.
pub fn signal_counter(names: &[&'static str], capability: Option<ComputeCapability>) -> Option<&'static str> {
    let Some(chip) = capability.map(|cc| (cc.major, cc.minor)).filter(|chip| KNOWN.contains(chip)) else {
        return names.first().copied();
    };
    let has =
        |name: &str| LIMITED.iter().find(|(limited, _)| *limited == name).is_none_or(|(_, on)| on.contains(&chip));
    names.iter().copied().filter(|name| *name != UNREQUESTED).find(|name| has(name))
}

/// Counters that a deep profile requests in addition to its sections, whose content differs between chips. Empty for
/// an unknown chip, because ncu refuses a whole process over one unknown name.
pub fn asked_signals(capability: Option<ComputeCapability>) -> Vec<&'static str> {
    match capability.filter(|cc| KNOWN.contains(&(cc.major, cc.minor))) {
        Some(_) => SIGNALS.iter().filter_map(|(_, names)| signal_counter(names, capability)).collect(),
        None => Vec::new(),
    }
}

/// Whether a counter that rules read is missing from ncu's `--set full`. For tests: a report of that set has all others.
pub fn outside_full_set(counter: &str) -> bool {
    ["smsp__inst_executed_op_local_", "lts__t_sectors_aperture_sysmem", "syslts__", "dram__bytes.sum"]
        .iter()
        .any(|name| counter.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_has_the_name_of_its_chip() {
        let of = |signal: &str, chip: (u32, u32)| {
            let (_, names) = SIGNALS.iter().find(|(name, _)| *name == signal).unwrap();
            signal_counter(names, Some(chip.into())).map(|name| name.split('.').next().unwrap_or(name))
        };
        assert_eq!(of("async_mma_busy", (9, 0)), Some("sm__inst_executed_pipe_tensor_op_gmma"));
        assert_eq!(of("async_mma_busy", (10, 3)), Some("sm__inst_executed_pipe_tc"));
        assert_eq!((of("async_mma_busy", (12, 0)), of("tma_busy", (8, 0))), (None, None));
        assert_eq!(of("two_cta_instructions", (10, 7)), Some("sm__inst_executed_pipe_tc_scope_2cta"));
        assert_eq!((of("two_cta_instructions", (9, 0)), of("cluster_blocks", (9, 0))), (None, None));
        assert_eq!(of("tensor_busy", (8, 9)), Some("sm__pipe_tensor_cycles_active_v2"));
        assert_eq!(
            (of("xu_busy", (10, 0)), of("xu_busy", (10, 3))),
            (Some("sm__inst_executed_pipe_xu"), Some("sm__pipe_xu_cycles_active"))
        );
        assert_eq!(
            (of("fp16_busy", (8, 0)), of("l2_busy", (9, 0))),
            (Some("sm__inst_executed_pipe_fp16"), Some("lts__t_sectors"))
        );
    }

    #[test]
    fn every_known_chip_is_asked_and_no_other() {
        let asked = |chip: (u32, u32)| asked_signals(Some(chip.into()));
        for chip in KNOWN {
            assert!(asked(chip).contains(&"l1tex__m_l1tex2xbar_write_sectors_mem_global_op_atom.sum"), "{chip:?}");
            assert!(SIGNALS.len() - asked(chip).len() <= 5, "{chip:?}");
        }
        assert!(asked((10, 2)).is_empty() && asked((13, 0)).is_empty() && asked_signals(None).is_empty());
    }

    #[test]
    fn every_limit_is_that_of_a_signal() {
        let limited = LIMITED.iter().map(|(name, _)| *name).chain([UNREQUESTED]);
        let unread: Vec<&str> = limited.filter(|name| !signal_counters().any(|known| known == *name)).collect();
        assert!(unread.is_empty(), "{unread:?}");
    }
}
