//! Work and memory traffic of a launch for the roofline, from the counters of Nsight Compute's roofline sections.
//!
//! `SpeedOfLight_RooflineChart` and the hierarchical sections collect instructions per cycle and bytes per second; a
//! deep profile collects sums. Both give the same rates.

use ncugate_model::{ChipFacts, ComputeCapability, LaunchMetrics, PeakFormat, dense_operations};

/// Work and traffic of a launch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LaunchRoofline {
    /// Bytes per second between L2 and device memory.
    pub traffic: Option<f64>,
    /// Peak of the traffic, at the clock of the launch; without its counter, by the maximum clock of the memory and its bus.
    pub bandwidth: Option<f64>,
    /// Whether that peak is not counted.
    pub is_bandwidth_by_data_sheet: bool,
    /// Precisions whose operations were collected, also those without any operation.
    pub work: Vec<PrecisionWork>,
}

/// Floating-point operations of a launch in one precision.
#[derive(Debug, Clone, PartialEq)]
pub struct PrecisionWork {
    /// `FP32`, `FP16 tensor`.
    pub precision: &'static str,
    /// Operations per second.
    pub rate: f64,
    /// Peak of the rate, at the clock of the launch.
    pub peak: Option<f64>,
    /// Whether the peak is that of data sheets, not of ncu's counter.
    pub is_by_data_sheet: bool,
}

/// Counters of a precision.
struct PrecisionCounters {
    name: &'static str,
    /// Alternatives by chip and version of ncu. Each counter of an alternative counts for a number of operations.
    counted: &'static [&'static [(&'static str, f64)]],
    /// A counter whose peak is that of the precision, and its operations.
    peak: Option<(&'static str, f64)>,
    /// The chip on which the peak is verified; none for all.
    peak_on: Option<ComputeCapability>,
    /// The format whose peak on data sheets counts on other chips.
    sheet: Option<PeakFormat>,
}

const HOPPER: Option<ComputeCapability> = Some(ComputeCapability { major: 9, minor: 0 });
const SM_CLOCK: &str = "sm__cycles_elapsed.avg.per_second";
const SM_COUNT: &str = "device__attribute_multiprocessor_count";
const DRAM_CLOCK: &str = "dram__cycles_elapsed.avg.per_second";
const DRAM: &str = "dram__bytes.sum";
/// Clock of the memory in kHz and width of its bus in bits.
const BUS: [&str; 2] = ["device__attribute_memory_clock_rate", "device__attribute_global_memory_bus_width"];

/// Scalar and tensor arithmetic. A fused multiply-add counts as two operations, and an FP16 instruction has two lanes.
/// Tensor counters without `sparsity` in their name peak at the sparse rate, which is twice the dense one.
const PRECISIONS: [PrecisionCounters; 10] = [
    PrecisionCounters {
        name: "FP32",
        counted: &[&[
            ("smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 1.0),
            ("smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", 1.0),
            ("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 2.0),
        ]],
        peak: Some(("sm__sass_thread_inst_executed_op_ffma_pred_on.sum", 2.0)),
        peak_on: None,
        sheet: Some(PeakFormat::Fp32),
    },
    PrecisionCounters {
        name: "FP64",
        counted: &[&[
            ("smsp__sass_thread_inst_executed_op_dadd_pred_on.sum", 1.0),
            ("smsp__sass_thread_inst_executed_op_dmul_pred_on.sum", 1.0),
            ("smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", 2.0),
        ]],
        peak: Some(("sm__sass_thread_inst_executed_op_dfma_pred_on.sum", 2.0)),
        peak_on: None,
        sheet: None,
    },
    PrecisionCounters {
        name: "FP16",
        counted: &[&[
            ("smsp__sass_thread_inst_executed_op_hadd_pred_on.sum", 2.0),
            ("smsp__sass_thread_inst_executed_op_hmul_pred_on.sum", 2.0),
            ("smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", 4.0),
        ]],
        peak: Some(("sm__sass_thread_inst_executed_op_hfma_pred_on.sum", 4.0)),
        peak_on: None,
        sheet: None,
    },
    PrecisionCounters {
        name: "FP16 tensor",
        counted: &[
            &[("sm__ops_path_tensor_src_fp16.sum", 1.0)],
            &[("sm__ops_path_tensor_src_fp16_dst_fp16.sum", 1.0), ("sm__ops_path_tensor_src_fp16_dst_fp32.sum", 1.0)],
        ],
        peak: Some(("sm__ops_path_tensor_src_fp16.sum", 0.5)),
        peak_on: HOPPER,
        sheet: Some(PeakFormat::HalfTensor),
    },
    PrecisionCounters {
        name: "BF16 tensor",
        counted: &[&[("sm__ops_path_tensor_src_bf16_dst_fp32.sum", 1.0)]],
        peak: Some(("sm__ops_path_tensor_src_bf16_dst_fp32.sum", 0.5)),
        peak_on: HOPPER,
        sheet: Some(PeakFormat::HalfTensor),
    },
    PrecisionCounters {
        name: "TF32 tensor",
        counted: &[&[("sm__ops_path_tensor_src_tf32_dst_fp32.sum", 1.0)]],
        peak: Some(("sm__ops_path_tensor_src_tf32_dst_fp32.sum", 0.5)),
        peak_on: HOPPER,
        sheet: Some(PeakFormat::Tf32Tensor),
    },
    PrecisionCounters {
        name: "FP8 tensor",
        counted: &[
            &[
                ("sm__ops_path_tensor_src_fp8_sparsity_off.sum", 1.0),
                ("sm__ops_path_tensor_src_fp8_sparsity_on.sum", 1.0),
            ],
            &[("sm__ops_path_tensor_src_fp8.sum", 1.0)],
            &[("sm__ops_path_tensor_src_fp8_dst_fp32.sum", 1.0), ("sm__ops_path_tensor_src_fp8_dst_fp16.sum", 1.0)],
        ],
        peak: Some(("sm__ops_path_tensor_src_fp8_sparsity_off.sum", 1.0)),
        peak_on: HOPPER,
        sheet: Some(PeakFormat::Fp8Tensor),
    },
    PrecisionCounters {
        name: "FP4 tensor",
        counted: &[&[("sm__ops_path_tensor_src_fp4_dst_fp32.sum", 1.0)]],
        peak: None,
        peak_on: None,
        sheet: Some(PeakFormat::Fp4Tensor),
    },
    PrecisionCounters {
        name: "INT8 tensor",
        counted: &[&[("sm__ops_path_tensor_src_int8.sum", 1.0)]],
        peak: None,
        peak_on: None,
        sheet: Some(PeakFormat::Int8Tensor),
    },
    PrecisionCounters {
        name: "FP64 tensor",
        counted: &[&[("sm__ops_path_tensor_src_fp64.sum", 1.0)]],
        peak: Some(("sm__ops_path_tensor_src_fp64.sum", 1.0)),
        peak_on: HOPPER,
        sheet: Some(PeakFormat::Fp64Tensor),
    },
];

impl LaunchRoofline {
    pub fn of(counters: &LaunchMetrics<'_>, capability: Option<ComputeCapability>) -> Self {
        let work = PRECISIONS.iter().filter_map(|precision| {
            let sum = |counted: &&[(&str, f64)]| {
                counted.iter().try_fold(0.0, |sum, (name, operations)| Some(sum + operations * counters.rate(name)?))
            };
            let is_known = precision.peak_on.is_none_or(|chip| capability == Some(chip));
            let counted = precision.peak.filter(|_| is_known);
            let counted = counted.and_then(|(peak, operations)| Some(operations * counters.peak(peak, SM_CLOCK)?));
            let of_sheet = || {
                let dense = dense_operations(capability?, precision.sheet?)?;
                Some(dense * counters.get(SM_COUNT)? * counters.get(SM_CLOCK)?).filter(|peak| *peak > 0.0)
            };
            let of_sheet = if counted.is_none() { of_sheet() } else { None };
            Some(PrecisionWork {
                precision: precision.name,
                rate: precision.counted.iter().find_map(sum)?,
                peak: counted.or(of_sheet),
                is_by_data_sheet: of_sheet.is_some(),
            })
        });
        let [clock, width] = BUS.map(|name| counters.get(name).filter(|value| *value > 0.0));
        let of_bus = || {
            ChipFacts { memory_hz: Some(1e3 * clock?), bus_bits: width, ..ChipFacts::default() }.dram_bytes_per_second()
        };
        let counted = counters.peak(DRAM, DRAM_CLOCK);
        let bandwidth = counted.or_else(of_bus);
        let is_bandwidth_by_data_sheet = counted.is_none() && bandwidth.is_some();
        Self { traffic: counters.rate(DRAM), bandwidth, is_bandwidth_by_data_sheet, work: work.collect() }
    }

    /// Operations per byte of a rate, and the percentage of its roof that it reaches, if the peak is known. None
    /// without operations or without traffic.
    pub fn position(&self, work: &PrecisionWork) -> Option<(f64, Option<f64>)> {
        let traffic = self.traffic.filter(|traffic| *traffic > 0.0)?;
        let intensity = Some(work.rate / traffic).filter(|intensity| intensity.is_finite() && *intensity > 0.0)?;
        let roof = self.bandwidth.zip(work.peak).map(|(bandwidth, peak)| (intensity * bandwidth).min(peak));
        Some((intensity, roof.map(|roof| 100.0 * work.rate / roof)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncu_rep::Report;

    fn of(name: &str, launch: u32) -> LaunchRoofline {
        let path = format!("{}/../../tests/data/{name}.ncu-rep.zst", env!("CARGO_MANIFEST_DIR"));
        let report = Report::open(&path).unwrap();
        let launch = report.launch(launch).unwrap();
        let capability = launch.compute_capability().unwrap().map(ComputeCapability::from);
        LaunchRoofline::of(&LaunchMetrics::of(&launch).unwrap(), capability)
    }

    fn near(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-12, "{value}, not {expected}");
    }

    /// The expected numbers are products of the values that NVIDIA's `ncu_report` gives for this launch.
    #[test]
    fn a_full_set_gives_the_rates_of_the_roofline_sections() {
        let roof = of("full1", 0);
        near(roof.traffic.unwrap(), 2_983_365_019.011_407);
        near(roof.bandwidth.unwrap(), 1_504.0 * 3_199_372_227.503_168_6);
        let clock = 1_983_606_909.233_134_5;
        let work = |name: &str| roof.work.iter().find(|work| work.precision == name).unwrap();
        let single = work("FP32");
        near(single.rate, (439.679_901_897_462_23 + 377.113_844_428_794_3 + 2.0 * 252.472_443_667_683_4) * clock);
        near(single.peak.unwrap(), 2.0 * 16_896.0 * clock);
        let half = work("FP16");
        near(half.rate, (2.0 * 251.491_015_315_233_7 + 4.0 * 0.383_370_450_175_661_1) * clock);
        near(half.peak.unwrap(), 4.0 * 16_896.0 * clock);
        assert_eq!((work("FP64").rate, work("FP16 tensor").rate), (0.0, 0.0));
        near(work("FP16 tensor").peak.unwrap(), 540_672.0 * clock);
        near(work("TF32 tensor").peak.unwrap(), 270_336.0 * clock);
        let (intensity, attained) = roof.position(single).unwrap();
        near(intensity, single.rate / 2_983_365_019.011_407);
        near(attained.unwrap(), 100.0 * single.rate / single.peak.unwrap());
        assert_eq!(roof.position(work("FP64")), None, "no operations have no place");
    }

    #[test]
    fn sums_of_a_deep_profile_give_rates_by_the_duration() {
        let counters = LaunchMetrics::from([
            ("gpu__time_duration.sum", 2_000.0),
            ("dram__bytes.sum", 4e6),
            ("smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 1e6),
            ("smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", 2e6),
            ("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 3e6),
        ]);
        let roof = LaunchRoofline::of(&counters, None);
        assert_eq!((roof.traffic, roof.bandwidth), (Some(2e12), None));
        let work = PrecisionWork { precision: "FP32", rate: 4.5e12, peak: None, is_by_data_sheet: false };
        assert_eq!(roof.work, [work]);
        assert_eq!(roof.position(&roof.work[0]), Some((2.25, None)));
    }

    #[test]
    fn a_precision_with_a_missing_counter_is_not_known() {
        assert!(of("g12", 0).work.is_empty());
        let counters = LaunchMetrics::from([
            ("gpu__time_duration.sum", 2_000.0),
            ("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 3e6),
            ("sm__ops_path_tensor_src_fp16.sum", f64::NAN),
        ]);
        assert_eq!(LaunchRoofline::of(&counters, None), LaunchRoofline::default());
    }

    #[test]
    fn the_peak_of_tensor_cores_is_known_only_on_verified_chips() {
        let counters = LaunchMetrics::from([
            ("gpu__time_duration.sum", 1.0),
            ("sm__ops_path_tensor_src_fp16.sum", 1.0),
            ("sm__ops_path_tensor_src_fp16.sum.peak_sustained", 100.0),
            ("sm__cycles_elapsed.avg.per_second", 2.0),
        ]);
        let peak = |capability| LaunchRoofline::of(&counters, capability).work[0].peak;
        assert_eq!((peak(HOPPER), peak(None)), (Some(100.0), None));
    }

    #[test]
    fn other_chips_have_the_tensor_peak_of_their_data_sheet() {
        let counters = LaunchMetrics::from([
            ("gpu__time_duration.sum", 1.0),
            ("sm__ops_path_tensor_src_fp16.sum", 1.0),
            ("sm__ops_path_tensor_src_fp16.sum.peak_sustained", 100.0),
            ("sm__cycles_elapsed.avg.per_second", 2.52e9),
            ("device__attribute_multiprocessor_count", 128.0),
        ]);
        let of = |chip| LaunchRoofline::of(&counters, Some(ComputeCapability::from(chip))).work[0].clone();
        assert_eq!((of((8, 9)).peak, of((8, 9)).is_by_data_sheet), (Some(1024.0 * 128.0 * 2.52e9), true));
        assert!(!of((9, 0)).is_by_data_sheet);
        assert_eq!(of((7, 0)).peak, None);
    }
}
