//! The order in which kernels are timed, so that clock drift affects all of them alike.

use ncugate_array::generator::mix;

/// The order of the kernels in a round: different in each round, the same on every machine.
pub fn order(round: u32, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&i| mix((u64::from(round) << 32) + i as u64, 0));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_has_every_kernel_in_another_order() {
        let (first, second) = (order(0, 90), order(1, 90));
        assert_ne!(first, second);
        assert_eq!(order(0, 90), first);
        let mut sorted = first.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..90).collect::<Vec<_>>());
    }
}
