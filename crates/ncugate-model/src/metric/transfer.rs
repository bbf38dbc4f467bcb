//! What fills and copies add to a counter of ncu, which counts launches of kernels alone.

use super::combination::Combination;
use super::definition::{Definition, Formula, signed};
use serde::Deserialize;

/// What a byte that a fill or copy reads or writes adds to a counter at most.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransferCost {
    /// For a byte read.
    #[serde(default)]
    pub read: f64,
    /// For a byte written.
    #[serde(default)]
    pub written: f64,
}

/// How the fills and copies of a program bear on a metric of its launches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TransferEffect {
    /// It is a fact of launches or of the chip.
    Nothing,
    /// They add at most this.
    AtMost(TransferCost),
    /// They add something that is not known: the metric is a count or a time.
    Unknown,
    /// They change it in a direction that is not known: the metric is a rate, a share or a mean.
    Anything,
}

impl TransferEffect {
    /// How fills and copies bear on a metric, by what it is computed from: `cost` is what they add to a counter at most, if that is
    /// known, and `combination` how launches make one value of it.
    pub fn of(
        definition: &Definition,
        cost: impl Fn(&str) -> Option<TransferCost>,
        combination: impl Fn(&str) -> Combination,
    ) -> Self {
        if definition.metrics().iter().all(|name| name.starts_with("launch__") || name.starts_with("device__")) {
            return Self::Nothing;
        }
        let Formula::Sum(names) = &definition.formula else { return Self::Anything };
        if names.iter().any(|name| signed(name).0 < 0.0) {
            return Self::Anything;
        }
        let costs: Option<Vec<TransferCost>> = names.iter().map(|name| cost(name)).collect();
        match costs {
            Some(costs) => Self::AtMost(TransferCost {
                read: costs.iter().map(|cost| cost.read).sum(),
                written: costs.iter().map(|cost| cost.written).sum(),
            }),
            None if names.iter().all(|name| combination(name) == Combination::Sum) => Self::Unknown,
            None => Self::Anything,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Catalogue;
    use super::*;
    use crate::ComputeCapability;

    #[test]
    fn traffic_of_dram_is_covered_and_other_counts_and_rates_are_not() {
        let catalogue = Catalogue::embedded();
        for cc in [(9, 0), (12, 0)] {
            let cc = Some(ComputeCapability::new(cc.0, cc.1));
            let of = |name: &str| catalogue.transfer_effect(&catalogue.definition(name, cc).unwrap());
            let at_most = |read, written| TransferEffect::AtMost(TransferCost { read, written });
            assert_eq!(of("dram_bytes"), at_most(1.0, 1.0));
            assert_eq!((of("dram_read_bytes"), of("dram_write_bytes")), (at_most(1.0, 0.0), at_most(0.0, 1.0)));
            assert_eq!(of("lts__t_sectors.sum"), at_most(0.0625, 0.0625));
            assert_eq!(
                (of("duration"), of("instructions"), of("bank_conflicts")),
                (TransferEffect::Unknown, TransferEffect::Unknown, TransferEffect::Unknown)
            );
            for rate in
                ["dram_bandwidth", "dram_pct", "l2_hit_pct", "cycles", "achieved_occupancy", "global_excessive_pct"]
            {
                assert_eq!(of(rate), TransferEffect::Anything, "{rate}");
            }
            assert_eq!((of("carve_out"), of("registers")), (TransferEffect::Nothing, TransferEffect::Nothing));
        }
    }
}
