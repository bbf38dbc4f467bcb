//! Positions of variants relative to the peaks of arithmetic and memory.

use super::facts::ChipKnowledge;
use ncugate_model::metric::id;
use ncugate_model::stats::median;
use ncugate_model::{MetricId, PeakFormat, Quantities, ShapeName, VariantId, dense_operations};

/// A peak of arithmetic.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Ceiling {
    /// `FP32`, `FP16 tensor (dense)`.
    pub name: String,
    /// Operations per second.
    pub peak: f64,
    /// Operations per byte at which memory and this peak limit equally.
    pub ridge: f64,
}

/// A variant on the roofline.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct RooflinePoint {
    pub variant: VariantId,
    /// Operations per byte of DRAM traffic.
    pub intensity: f64,
    /// Operations per second, by the undisturbed median latency.
    pub performance: f64,
    /// Percent of the roofline at this intensity, under the highest ceiling.
    pub attained_pct: f64,
}

/// The roofline and its points.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Roofline {
    /// Bytes per second.
    pub bandwidth: f64,
    /// Whether it is that of clock and bus, not of ncu's counter.
    pub is_bandwidth_by_data_sheet: bool,
    /// Peaks, lowest first; never empty.
    pub ceilings: Vec<Ceiling>,
    /// Variants, in the order given.
    pub points: Vec<RooflinePoint>,
}

/// Formats whose ceiling is drawn if a variant has operations in them.
const COUNTED: [(MetricId, &str, PeakFormat); 5] = [
    (id::TENSOR_OPS_FP64, "FP64 tensor", PeakFormat::Fp64Tensor),
    (id::TENSOR_OPS_TF32, "TF32 tensor", PeakFormat::Tf32Tensor),
    (id::TENSOR_OPS_F8F6F4, "FP8 tensor", PeakFormat::Fp8Tensor),
    (id::TENSOR_OPS_FP4, "FP4 tensor", PeakFormat::Fp4Tensor),
    (id::TENSOR_OPS_INT8, "INT8 tensor", PeakFormat::Int8Tensor),
];

/// The roofline of a shape; none without any peak of memory or arithmetic.
///
/// Counted peaks are medians over variants, at the actual clocks. Without a counter, a peak is that of data sheets: operations
/// per clock and multiprocessor at the counted clock, and bytes by clock and width of the memory bus. `operations` is the work
/// of one launch; without it, counters are used (`fp32_flop`, `tensor_ops_fp16`).
pub fn roofline(
    quantities: &Quantities,
    shape: &ShapeName,
    variants: &[VariantId],
    operations: Option<f64>,
    chip: ChipKnowledge,
) -> Option<Roofline> {
    let read = |variant: &VariantId, metric: MetricId| {
        quantities.read(variant, shape, &metric).value().filter(|v| v.is_finite() && *v > 0.0)
    };
    let peak = |metric: MetricId| {
        let values: Vec<f64> = variants.iter().filter_map(|variant| read(variant, metric)).collect();
        median(&values).ok()
    };
    let counted = peak(id::DRAM_PEAK);
    let (bandwidth, is_bandwidth_by_data_sheet) = (counted.or(chip.dram_peak)?, counted.is_none());
    let of_sheet = |name: &str, format| {
        let cycles = f64::from(chip.sms?) * peak(id::SM_CLOCK)?;
        let dense = if format == PeakFormat::Fp32 { "" } else { "dense, " };
        Some((format!("{name} ({dense}by data sheet)"), dense_operations(chip.capability?, format)? * cycles))
    };
    let named = |name: &str, metric| peak(metric).map(|peak| (name.to_owned(), peak));
    let single = named("FP32", id::FP32_PEAK).or_else(|| of_sheet("FP32", PeakFormat::Fp32));
    let half = named("FP16 tensor (dense)", id::TENSOR_PEAK_FP16);
    let half = half.or_else(|| of_sheet("FP16 tensor", PeakFormat::HalfTensor));
    let counted = COUNTED.iter().filter(|(metric, ..)| variants.iter().any(|variant| read(variant, *metric).is_some()));
    let counted = counted.filter_map(|(_, name, format)| of_sheet(name, *format));
    let mut ceilings: Vec<Ceiling> = single
        .into_iter()
        .chain(half)
        .chain(counted)
        .map(|(name, peak)| Ceiling { name, peak, ridge: peak / bandwidth })
        .collect();
    ceilings.sort_by(|a, b| a.peak.total_cmp(&b.peak));
    let roof = ceilings.last()?.peak;
    let counted = |variant: &VariantId| {
        let parts = std::iter::once(id::FP32_FLOP).chain(id::TENSOR_TYPES);
        let total: f64 = parts.filter_map(|metric| read(variant, metric)).sum();
        (total > 0.0).then_some(total)
    };
    let standing = |variant: &VariantId| {
        let operations = operations.filter(|o| *o > 0.0).or_else(|| counted(variant))?;
        let intensity = operations / read(variant, id::DRAM_BYTES)?;
        let performance = operations / (read(variant, id::LATENCY_P50)? * 1e-6);
        let attained_pct = 100.0 * performance / (intensity * bandwidth).min(roof);
        Some(RooflinePoint { variant: variant.clone(), intensity, performance, attained_pct })
    };
    let points = variants.iter().filter_map(standing).collect();
    Some(Roofline { bandwidth, is_bandwidth_by_data_sheet, ceilings, points })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_model::Cell;

    fn table(values: &[(&str, f64)]) -> (Quantities, ShapeName, VariantId) {
        let (variant, shape) = (VariantId("v".into()), ShapeName("s".into()));
        let mut quantities = Quantities::new([(variant.clone(), shape.clone())]);
        for (metric, value) in values {
            quantities.set_column(metric, vec![Cell::finite(*value)]);
        }
        (quantities, shape, variant)
    }

    #[test]
    fn a_variant_stands_where_its_work_and_bytes_put_it() {
        let (quantities, shape, variant) = table(&[
            ("dram_peak", 4e12),
            ("fp32_peak", 60e12),
            ("tensor_peak_fp16", 1000e12),
            ("dram_bytes", 1e6),
            ("latency_p50", 10.0),
        ]);
        let roof = roofline(&quantities, &shape, &[variant], Some(1e8), ChipKnowledge::default()).into_iter().next();
        let Some(roof) = roof else { unreachable!("peaks are there") };
        assert_eq!(roof.ceilings.iter().map(|c| c.ridge).collect::<Vec<_>>(), [15.0, 250.0]);
        let stands = &roof.points[0];
        assert_eq!((stands.intensity, stands.performance.round()), (100.0, 1e13));
        assert!((stands.attained_pct - 2.5).abs() < 1e-9);
    }

    #[test]
    fn without_peaks_there_is_no_roof_and_without_bytes_no_point() {
        let (quantities, shape, variant) = table(&[("dram_peak", 4e12)]);
        assert_eq!(roofline(&quantities, &shape, &[variant], Some(1e8), ChipKnowledge::default()), None);
        let (quantities, shape, variant) = table(&[("dram_peak", 4e12), ("fp32_peak", 6e13), ("latency_p50", 10.0)]);
        assert_eq!(
            roofline(&quantities, &shape, &[variant], Some(1e8), ChipKnowledge::default()).map(|r| r.points.len()),
            Some(0)
        );
    }

    #[test]
    fn a_chip_without_counters_has_the_roofs_of_its_data_sheet() {
        let (quantities, shape, variant) = table(&[("sm_clock", 2.04e9), ("tensor_ops_f8f6f4", 1e6)]);
        let chip = |capability: (u32, u32)| ChipKnowledge {
            capability: Some(capability.into()),
            sms: Some(58),
            dram_peak: Some(300e9),
        };
        let ceilings = |chip| {
            let roof = roofline(&quantities, &shape, std::slice::from_ref(&variant), None, chip)?;
            Some(
                roof.ceilings
                    .into_iter()
                    .map(|ceiling| (ceiling.name, (ceiling.peak / 1e12).round()))
                    .collect::<Vec<_>>(),
            )
        };
        let named = |name: &str, peak| (format!("{name}by data sheet)"), peak);
        let l4 = [named("FP32 (", 30.0), named("FP16 tensor (dense, ", 121.0), named("FP8 tensor (dense, ", 242.0)];
        assert_eq!(ceilings(chip((8, 9))).unwrap(), l4);
        let roof = roofline(&quantities, &shape, std::slice::from_ref(&variant), None, chip((8, 9)));
        assert!(roof.unwrap().is_bandwidth_by_data_sheet);
        assert_eq!(ceilings(chip((8, 0))).unwrap().len(), 2, "it has no FP8");
        assert_eq!(ceilings(chip((7, 0))), None);
        assert_eq!(ceilings(ChipKnowledge { dram_peak: None, ..chip((8, 9)) }), None);
    }
}
