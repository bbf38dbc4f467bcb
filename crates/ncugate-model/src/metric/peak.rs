//! Peaks that no chip can exceed with any program: a check for claims, not a target for performance.

use crate::ComputeCapability;

/// A clock in cycles per second that no listed chip reaches, in any state.
const CLOCK: f64 = 3.3e9;

/// Operations per second that a chip cannot exceed: every multiprocessor at its narrowest type with structured
/// sparsity, at a clock above any that is sold. None for a chip that is not in the table.
///
/// Source: operations per cycle and multiprocessor, derived from the peaks in NVIDIA's whitepapers of Turing, Ampere,
/// Ada, Hopper and Blackwell (peak over boost clock and multiprocessors), rounded up to a power of two.
pub fn most_operations(capability: ComputeCapability, sms: u32) -> Option<f64> {
    let a_cycle = match (capability.major, capability.minor) {
        (7, 5) => 4_096.0,
        (8, 0 | 7) => 16_384.0,
        (8, 6 | 9) => 8_192.0,
        (9, 0) => 16_384.0,
        // Rubin is above Blackwell, by an unpublished factor.
        (10, 0..=6) | (11, 0) => 65_536.0,
        (12, _) => 16_384.0,
        _ => return None,
    };
    Some(a_cycle * f64::from(sms) * CLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_above_what_is_sold_and_below_what_is_invented() {
        let h200 = most_operations(ComputeCapability::new(9, 0), 132);
        assert!(h200.is_some_and(|most| most > 3_958e12 && most < 79_708e12), "{h200:?}");
        assert_eq!(most_operations(ComputeCapability::new(6, 1), 28), None);
        assert_eq!(most_operations(ComputeCapability::new(10, 7), 224), None, "Rubin is no Blackwell");
    }
}
