//! A chip's peak rates, from ncu's device attributes.

use crate::{ComputeCapability, TracedChip};
use ncu_rep::{Launch, ReportError};

/// Bytes per clock between a multiprocessor and L2: 64 in and 64 out. This is the port width (NVIDIA A100 whitepaper:
/// 64 B/clk/SM from L2), more than L2 sustains for all multiprocessors at once.
const L2_BYTES_PER_CLOCK: f64 = 128.0;

/// Facts of the measuring device. Values missing from a report are `None`, and floors that need them are skipped.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ChipFacts {
    pub l2_bytes: Option<f64>,
    /// Maximum memory clock in Hz.
    pub memory_hz: Option<f64>,
    /// Width of the memory bus in bits.
    pub bus_bits: Option<f64>,
    /// Maximum multiprocessor clock in Hz.
    pub sm_hz: Option<f64>,
    pub sms: Option<f64>,
    pub capability: Option<ComputeCapability>,
}

impl ChipFacts {
    /// The facts from the driver, for hosts where CUPTI traced and ncu wrote no report.
    pub fn of_traced(chip: &TracedChip, capability: Option<ComputeCapability>) -> Self {
        let hertz = |khz: Option<u32>| khz.filter(|khz| *khz > 0).map(|khz| f64::from(khz) * 1e3);
        Self {
            l2_bytes: (chip.l2_bytes > 0).then_some(chip.l2_bytes as f64),
            memory_hz: hertz(chip.memory_clock_khz),
            bus_bits: chip.memory_bus_bits.filter(|bits| *bits > 0).map(f64::from),
            sm_hz: hertz(chip.clock_khz),
            sms: (chip.sms > 0).then_some(f64::from(chip.sms)),
            capability,
        }
    }

    /// Reads the facts from a launch, without the compute capability.
    ///
    /// # Errors
    /// A report is damaged.
    pub fn of(launch: &Launch<'_>) -> Result<Self, ReportError> {
        Ok(Self {
            l2_bytes: attribute(launch, "l2_cache_size")?,
            memory_hz: attribute(launch, "memory_clock_rate")?.map(|khz| khz * 1e3),
            bus_bits: attribute(launch, "global_memory_bus_width")?,
            sm_hz: attribute(launch, "clock_rate")?.map(|khz| khz * 1e3),
            sms: attribute(launch, "multiprocessor_count")?,
            capability: None,
        })
    }

    /// DRAM peak in bytes per second: two transfers per clock over the bus width, as in CUDA's `deviceQuery` sample
    /// and `bandwidthTest`.
    pub fn dram_bytes_per_second(&self) -> Option<f64> {
        Some(2.0 * self.memory_hz? * self.bus_bits? / 8.0)
    }

    /// Bytes per second between L2 and all multiprocessors, reads and writes together.
    pub fn l2_bytes_per_second(&self) -> Option<f64> {
        Some(L2_BYTES_PER_CLOCK * self.sms? * self.sm_hz?)
    }

    /// Operations per second of the chip's fastest dense type.
    pub fn operations_per_second(&self) -> Option<f64> {
        Some(tensor_operations(self.capability?)? * self.sms? * self.sm_hz?)
    }

    /// The share of the given number of bytes that fits in L2.
    pub fn held_share(&self, bytes: f64) -> Option<f64> {
        (bytes > 0.0).then_some((self.l2_bytes? / bytes).min(1.0))
    }
}

fn attribute(launch: &Launch<'_>, name: &str) -> Result<Option<f64>, ReportError> {
    let value = launch.metric(&format!("device__attribute_{name}"))?;
    Ok(value.and_then(|value| value.as_f64()).filter(|value| value.is_finite() && *value > 0.0))
}

/// Dense operations per clock and multiprocessor for the fastest type of the tensor pipe; a multiply-add counts as
/// two.
///
/// From NVIDIA's architecture whitepapers: INT4 on Turing, Ampere and Ada, FP8 on Hopper, FP4 on Blackwell. `None` for a
/// chip outside the table.
const fn tensor_operations(capability: ComputeCapability) -> Option<f64> {
    Some(match (capability.major, capability.minor) {
        (7, 5) | (8, 6 | 9) => 4096.0,
        (8, 0 | 7) | (9, 0) => 8192.0,
        (10, 0) => 32_768.0,
        (10, 3) => 49_152.0,
        (12, 0 | 1) => 4096.0,
        _ => return None,
    })
}

/// A format of arithmetic with a peak on data sheets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeakFormat {
    /// Scalar FP32; all others are those of the tensor pipe.
    Fp32,
    Fp64Tensor,
    Tf32Tensor,
    /// FP16, and BF16 at the same rate.
    HalfTensor,
    Fp8Tensor,
    Fp4Tensor,
    Int8Tensor,
}

/// Dense operations per clock and multiprocessor in a format, by data sheets; a multiply-add counts as two. `None` for a chip
/// without the format or outside of the table.
///
/// FP32: results per clock in the table of arithmetic throughput of the CUDA C++ programming guide. Tensor formats: dense
/// peak over boost clock and multiprocessors, in TFLOP/s of FP16 (with FP16 accumulation): RTX 2080 Ti 107.6, A100 312, A10
/// 125, L4 121, RTX 4090 330, H100 SXM 989, B200 and B300 2,250, RTX 5090 419; TF32 of A100 156, A10 62.5, L4 60, H100 495,
/// RTX PRO 6000 252; FP8 of L4 242, H100 1,979, B200 4,500, RTX 5090 838; FP4 of B200 9,000, B300 13,500, RTX 5090 1,676; INT8
/// of A100 624, A10 250, L4 242, H100 1,979, B200 4,500, RTX 5090 838; FP64 of A100 19.5, H100 67, B200 37. Some boards have
/// less: GeForce halves FP16 with FP32 accumulation, and TF32.
pub const fn dense_operations(capability: ComputeCapability, format: PeakFormat) -> Option<f64> {
    // FP32, FP64, TF32, FP16, FP8, FP4, INT8; 0 if the chip does not have it
    let rates: [u32; 7] = match (capability.major, capability.minor) {
        (7, 5) => [128, 0, 0, 1024, 0, 0, 2048],
        (8, 0) => [128, 128, 1024, 2048, 0, 0, 4096],
        (8, 6) => [256, 0, 512, 1024, 0, 0, 2048],
        (8, 7) => [256, 0, 1024, 2048, 0, 0, 4096],
        (8, 9) => [256, 0, 512, 1024, 2048, 0, 2048],
        (9, 0) => [256, 256, 2048, 4096, 8192, 0, 8192],
        (10, 0) => [256, 128, 4096, 8192, 16_384, 32_768, 16_384],
        (10, 3) => [256, 0, 4096, 8192, 16_384, 49_152, 0],
        (12, 0 | 1) => [256, 0, 512, 1024, 2048, 4096, 2048],
        _ => return None,
    };
    match rates[format as usize] {
        0 => None,
        rate => Some(rate as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_peaks_are_those_of_data_sheets() {
        use PeakFormat::{Fp4Tensor, Fp8Tensor, Fp32, Fp64Tensor, HalfTensor, Int8Tensor, Tf32Tensor};
        let sheets = [
            ((7, 5), HalfTensor, 68.0, 1.545e9, 107.6),
            ((8, 0), HalfTensor, 108.0, 1.41e9, 312.0),
            ((8, 0), Tf32Tensor, 108.0, 1.41e9, 156.0),
            ((8, 0), Int8Tensor, 108.0, 1.41e9, 624.0),
            ((8, 0), Fp64Tensor, 108.0, 1.41e9, 19.5),
            ((8, 0), Fp32, 108.0, 1.41e9, 19.5),
            ((8, 6), HalfTensor, 72.0, 1.695e9, 125.0),
            ((8, 6), Fp32, 72.0, 1.695e9, 31.2),
            ((8, 9), HalfTensor, 58.0, 2.04e9, 121.0),
            ((8, 9), Fp8Tensor, 58.0, 2.04e9, 242.0),
            ((8, 9), Fp32, 58.0, 2.04e9, 30.3),
            ((8, 9), HalfTensor, 128.0, 2.52e9, 330.3),
            ((9, 0), HalfTensor, 132.0, 1.83e9, 989.4),
            ((9, 0), Fp8Tensor, 132.0, 1.83e9, 1979.0),
            ((9, 0), Fp32, 132.0, 1.98e9, 67.0),
            ((9, 0), Fp64Tensor, 132.0, 1.98e9, 67.0),
            ((10, 0), HalfTensor, 148.0, 1.85e9, 2250.0),
            ((10, 0), Fp4Tensor, 148.0, 1.85e9, 9000.0),
            ((10, 3), Fp4Tensor, 148.0, 1.85e9, 13_500.0),
            ((12, 0), HalfTensor, 170.0, 2.407e9, 419.0),
            ((12, 0), Fp4Tensor, 170.0, 2.407e9, 1676.0),
            ((12, 0), Tf32Tensor, 188.0, 2.617e9, 252.0),
            ((12, 0), Fp32, 170.0, 2.407e9, 104.8),
        ];
        for (cc, format, sms, hz, peak) in sheets {
            let own = dense_operations(ComputeCapability::from(cc), format).unwrap() * sms * hz / 1e12;
            assert!((own / peak - 1.0).abs() < 0.01, "{cc:?} {format:?}: {own}");
        }
        assert_eq!(dense_operations(ComputeCapability::new(8, 6), Fp8Tensor), None, "no FP8 before 8.9");
        assert_eq!(dense_operations(ComputeCapability::new(9, 0), Fp4Tensor), None);
        // INT4: 1,248 TOP/s on an A100, 1,321 on an RTX 4090.
        let a100 = tensor_operations(ComputeCapability::new(8, 0)).unwrap() * 108.0 * 1.41e9;
        let ada = tensor_operations(ComputeCapability::new(8, 9)).unwrap() * 128.0 * 2.52e9;
        assert!(a100 > 1.247e15 && ada > 1.321e15, "an honest INT4 kernel is possible: {a100} {ada}");
    }

    #[test]
    fn the_peaks_of_an_h200_are_its_data_sheets() {
        let chip = ChipFacts {
            l2_bytes: Some(62_914_560.0),
            memory_hz: Some(3.201e9),
            bus_bits: Some(6016.0),
            sm_hz: Some(1.98e9),
            sms: Some(132.0),
            capability: Some(ComputeCapability::new(9, 0)),
        };
        assert_eq!(chip.dram_bytes_per_second().map(|v| (v / 1e10).round()), Some(481.0), "4.8 TB/s");
        let peak = chip.operations_per_second().unwrap_or_default();
        assert!((1.979e15..2.2e15).contains(&peak), "1,979 TFLOP/s of dense FP8 at 1.83 GHz: {peak}");
        assert_eq!(chip.held_share(31_457_280.0), Some(1.0));
        assert_eq!(chip.held_share(629_145_600.0), Some(0.1));
        assert_eq!(ChipFacts::default().held_share(1.0), None);
    }
}
