//! Positions of variants relative to the peaks of arithmetic and memory.

use ncugate_judge::frame::{Quantities, required_metrics};
use ncugate_model::metric::id;
use ncugate_model::stats::median;
use ncugate_model::{MetricId, ShapeName, VariantId};

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
    /// Peaks, lowest first; never empty.
    pub ceilings: Vec<Ceiling>,
    /// Variants, in the order given.
    pub points: Vec<RooflinePoint>,
}

/// The roofline of a shape from measured peaks; none if the DRAM peak or every arithmetic peak is missing.
///
/// Peaks are medians over variants, at the actual clocks. `operations` is the work of one launch; without it, counters
/// are used (`fp32_flop`, `tensor_ops_fp16`). `dense_half` is the data sheet's rate of the tensor pipe in operations a clock
/// of the whole chip, for chips without a counter of it.
pub fn roofline(
    quantities: &Quantities,
    shape: &ShapeName,
    variants: &[VariantId],
    operations: Option<f64>,
    dense_half: Option<f64>,
) -> Option<Roofline> {
    let read = |variant: &VariantId, metric: MetricId| {
        quantities.read(variant, shape, &metric).value().filter(|v| v.is_finite() && *v > 0.0)
    };
    let peak = |metric: MetricId| {
        let values: Vec<f64> = variants.iter().filter_map(|variant| read(variant, metric)).collect();
        median(&values).ok()
    };
    let bandwidth = peak(id::DRAM_PEAK)?;
    let of_sheet = || Some(("FP16 tensor (dense, by data sheet)", dense_half? * peak(id::SM_CLOCK)?));
    let tensor = peak(id::TENSOR_PEAK_FP16).map(|peak| ("FP16 tensor (dense)", peak)).or_else(of_sheet);
    let mut ceilings: Vec<Ceiling> = peak(id::FP32_PEAK)
        .map(|peak| ("FP32", peak))
        .into_iter()
        .chain(tensor)
        .map(|(name, peak)| Ceiling { name: name.to_owned(), peak, ridge: peak / bandwidth })
        .collect();
    ceilings.sort_by(|a, b| a.peak.total_cmp(&b.peak));
    let roof = ceilings.last()?.peak;
    let counted = |variant: &VariantId| {
        let parts = std::iter::once(id::FP32_FLOP).chain(required_metrics::TENSOR_TYPES);
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
    Some(Roofline { bandwidth, ceilings, points })
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
        let roof = roofline(&quantities, &shape, &[variant], Some(1e8), None).into_iter().next();
        let Some(roof) = roof else { unreachable!("peaks are there") };
        assert_eq!(roof.ceilings.iter().map(|c| c.ridge).collect::<Vec<_>>(), [15.0, 250.0]);
        let stands = &roof.points[0];
        assert_eq!((stands.intensity, stands.performance.round()), (100.0, 1e13));
        assert!((stands.attained_pct - 2.5).abs() < 1e-9);
    }

    #[test]
    fn without_peaks_there_is_no_roof_and_without_bytes_no_point() {
        let (quantities, shape, variant) = table(&[("dram_peak", 4e12)]);
        assert_eq!(roofline(&quantities, &shape, &[variant], Some(1e8), None), None);
        let (quantities, shape, variant) = table(&[("dram_peak", 4e12), ("fp32_peak", 6e13), ("latency_p50", 10.0)]);
        assert_eq!(roofline(&quantities, &shape, &[variant], Some(1e8), None).map(|r| r.points.len()), Some(0));
    }

    #[test]
    fn a_chip_without_a_counter_has_the_tensor_roof_of_its_data_sheet() {
        let values = [("dram_peak", 1e12), ("fp32_peak", 60e12), ("sm_clock", 2e9)];
        let (quantities, shape, variant) = table(&values);
        let ceilings = |dense_half| {
            let roof = roofline(&quantities, &shape, std::slice::from_ref(&variant), None, dense_half).unwrap();
            roof.ceilings.into_iter().map(|ceiling| (ceiling.name, ceiling.peak)).collect::<Vec<_>>()
        };
        let sheet = ("FP16 tensor (dense, by data sheet)".to_owned(), 58.0 * 1024.0 * 2e9);
        assert_eq!(ceilings(Some(58.0 * 1024.0)), [("FP32".to_owned(), 60e12), sheet]);
        assert_eq!(ceilings(None).len(), 1);
    }
}
