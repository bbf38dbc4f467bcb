//! The contribution of fills and copies to an ncu counter, which counts only kernel launches.

use super::combination::Combination;
use super::definition::{Definition, Formula, signed};
use serde::Deserialize;

/// Upper bound of the contribution of a byte that a fill or copy reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransferCost {
    /// Per byte read.
    #[serde(default)]
    pub read: f64,
    /// Per byte written.
    #[serde(default)]
    pub written: f64,
}

/// The effect of a program's fills and copies on a metric of its launches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TransferEffect {
    /// None: it is a fact of launches or of the chip.
    Nothing,
    /// At most this contribution.
    AtMost(TransferCost),
    /// An unknown contribution: the metric is a count or a time.
    Unknown,
    /// A change in an unknown direction: the metric is a rate, a share or a mean.
    Anything,
}

impl TransferEffect {
    /// The effect of fills and copies on a metric, by its derivation. `cost` is the upper bound of their contribution
    /// to a counter, if known, and `combination` states how launches combine into one value.
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
