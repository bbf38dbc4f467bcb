//! The order in which kernels are timed, so that clock drift affects all of them alike.

/// The order of the kernels in a round: different in each round, the same on every machine.
pub fn order(round: u32, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&i| mixed((u64::from(round) << 32) + i as u64));
    order
}

/// The finaliser of splitmix64.
fn mixed(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
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
