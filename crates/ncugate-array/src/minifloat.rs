//! Floating-point formats of 8 and 16 bits: one encoder (round to nearest, ties to even) and one decoder for all.

/// What the codes above the largest finite value mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Top {
    /// The last exponent encodes only infinity and NaN, as in IEEE 754; values out of range become infinite.
    Ieee,
    /// Like [`Top::Ieee`], but finite values saturate at the largest finite value.
    IeeeSaturating,
    /// Only the code with all bits set is NaN. The format has no infinity, and values saturate.
    NanOnly,
}

/// A binary floating-point format of at most 16 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Minifloat {
    exponent_bits: u32,
    mantissa_bits: u32,
    top: Top,
}

/// IEEE binary16.
pub const F16: Minifloat = Minifloat { exponent_bits: 5, mantissa_bits: 10, top: Top::Ieee };
pub const BF16: Minifloat = Minifloat { exponent_bits: 8, mantissa_bits: 7, top: Top::Ieee };
/// OCP FP8 E4M3: largest 448, no infinity; encoding saturates.
pub const FP8_E4M3: Minifloat = Minifloat { exponent_bits: 4, mantissa_bits: 3, top: Top::NanOnly };
/// OCP FP8 E5M2: largest finite 57344; encoding of finite values saturates.
pub const FP8_E5M2: Minifloat = Minifloat { exponent_bits: 5, mantissa_bits: 2, top: Top::IeeeSaturating };

impl Minifloat {
    const fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    const fn sign_bit(self) -> u16 {
        1 << (self.exponent_bits + self.mantissa_bits)
    }

    const fn infinity(self) -> u16 {
        ((1 << self.exponent_bits) - 1) << self.mantissa_bits
    }

    /// The code of the largest finite magnitude.
    const fn largest(self) -> u16 {
        match self.top {
            Top::Ieee | Top::IeeeSaturating => self.infinity() - 1,
            Top::NanOnly => self.sign_bit() - 2,
        }
    }

    const fn nan(self) -> u16 {
        self.sign_bit() - 1
    }

    /// The nearest code, ties to even. Without branches, so that loops over it are vectorised.
    #[inline(always)]
    pub fn encode(self, value: f64) -> u16 {
        let sign = (value.to_bits() >> 63) << (self.exponent_bits + self.mantissa_bits);
        let code = sign | self.magnitude(value.abs());
        if value.is_nan() { self.nan() } else { code as u16 }
    }

    #[inline(always)]
    fn magnitude(self, value: f64) -> u64 {
        let (bits, excess) = (value.to_bits(), 52 - self.mantissa_bits);
        // A carry out of the mantissa increments the exponent. Codes start at another exponent than float64.
        let rounded = (bits + (1 << (excess - 1)) - 1 + ((bits >> excess) & 1)) >> excess;
        let normal = rounded.wrapping_sub(((1023 - self.bias()) as u64) << self.mantissa_bits);
        // The sum's last bit has the unit of the least code, so the addition rounds to it.
        let lowest = 1 - self.bias();
        let units = power_of_two(52 + lowest - self.mantissa_bits as i32);
        let subnormal = (value + units).to_bits() - units.to_bits();
        let code = if value < power_of_two(lowest) { subnormal } else { normal };
        let beyond = match self.top {
            Top::Ieee => self.infinity(),
            Top::IeeeSaturating if value == f64::INFINITY => self.infinity(),
            Top::IeeeSaturating | Top::NanOnly => self.largest(),
        };
        if code <= u64::from(self.largest()) { code } else { u64::from(beyond) }
    }

    /// The value of a code. Without branches, as for [`Self::encode`].
    #[inline(always)]
    pub fn decode(self, code: u16) -> f64 {
        let magnitude = code & (self.sign_bit() - 1);
        // The code as a float64 of the same exponent bits, subnormal if it is; the product is exact.
        let finite =
            f64::from_bits(u64::from(magnitude) << (52 - self.mantissa_bits)) * power_of_two(1023 - self.bias());
        let infinite = self.top != Top::NanOnly && magnitude == self.infinity();
        let beyond = if infinite { f64::INFINITY } else { f64::NAN };
        let value = if magnitude > self.largest() { beyond } else { finite };
        if code & self.sign_bit() == 0 { value } else { -value }
    }
}

/// `2^n` for exponents in float64's normal range, saturating at both ends.
#[inline(always)]
fn power_of_two(n: i32) -> f64 {
    f64::from_bits(((n.clamp(-1022, 1023) + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fp8_code_survives_a_round_trip() {
        for format in [FP8_E4M3, FP8_E5M2] {
            for code in 0..=255u16 {
                let value = format.decode(code);
                if value.is_nan() {
                    assert!(format.decode(format.encode(value)).is_nan());
                } else {
                    assert_eq!(format.encode(value), code, "{format:?} {code:#x} {value}");
                }
            }
        }
    }

    #[test]
    fn known_fp8_values() {
        assert_eq!(FP8_E4M3.decode(0x7e), 448.0);
        assert!(FP8_E4M3.decode(0x7f).is_nan() && FP8_E4M3.decode(0xff).is_nan());
        assert_eq!(FP8_E4M3.decode(0x01), 2f64.powi(-9));
        assert_eq!(FP8_E4M3.decode(0x38), 1.0);
        assert_eq!(FP8_E4M3.decode(0xb8), -1.0);
        assert_eq!(FP8_E5M2.decode(0x7b), 57344.0);
        assert_eq!(FP8_E5M2.decode(0x7c), f64::INFINITY);
        assert!(FP8_E5M2.decode(0x7d).is_nan());
        assert_eq!(FP8_E5M2.decode(0x01), 2f64.powi(-16));
        let nans = |f: Minifloat| (0..256).filter(|&c| f.decode(c).is_nan()).count();
        assert_eq!((nans(FP8_E4M3), nans(FP8_E5M2)), (2, 6));
    }

    #[test]
    fn fp8_rounds_to_nearest_even_and_saturates() {
        // Midpoints between 1.0 (0x38), 1.125 (0x39) and 0x3a round to the even code.
        assert_eq!(FP8_E4M3.encode(1.0625), 0x38);
        assert_eq!(FP8_E4M3.encode(1.0625 + 1e-12), 0x39);
        assert_eq!(FP8_E4M3.encode(1.1875), 0x3a);
        assert_eq!(FP8_E4M3.encode(1e9), 0x7e);
        assert_eq!(FP8_E4M3.encode(f64::NEG_INFINITY), 0xfe);
        assert_eq!(FP8_E4M3.encode(2f64.powi(-10)), 0, "half of the least subnormal goes to even zero");
        assert_eq!(FP8_E4M3.encode(2f64.powi(-10) * 1.01), 1);
        assert_eq!(FP8_E5M2.encode(1e9), 0x7b);
        assert_eq!(FP8_E5M2.encode(f64::INFINITY), 0x7c);
        assert_eq!(FP8_E4M3.encode(-0.0), 0x80);
        assert_eq!(FP8_E4M3.encode(f64::MIN_POSITIVE / 4.0), 0);
    }

    #[test]
    fn sixteen_bit_formats_agree_with_half() {
        for code in 0..=u16::MAX {
            let (f, b) = (half::f16::from_bits(code), half::bf16::from_bits(code));
            assert!(F16.decode(code) == f.to_f64() || f.is_nan() && F16.decode(code).is_nan());
            assert!(BF16.decode(code) == b.to_f64() || b.is_nan() && BF16.decode(code).is_nan());
            if !f.is_nan() {
                assert_eq!(F16.encode(f.to_f64()), code);
            }
            if !b.is_nan() {
                assert_eq!(BF16.encode(b.to_f64()), code);
            }
        }
        for value in [1e-7f32, 65504.0, 65519.9, 65520.0, 0.1, -3.3333, 1e-40, 3.4e38] {
            assert_eq!(F16.encode(f64::from(value)), half::f16::from_f32(value).to_bits(), "{value}");
            assert_eq!(BF16.encode(f64::from(value)), half::bf16::from_f32(value).to_bits(), "{value}");
        }
        assert_eq!(F16.encode(1.0 + 2f64.powi(-11)), 0x3c00, "a tie goes to even");
        assert_eq!(F16.encode(1.0 + 2f64.powi(-11) + 2f64.powi(-50)), 0x3c01, "without rounding twice");
    }
}
