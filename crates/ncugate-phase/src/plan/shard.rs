//! A part of a plan for measurement on another machine.

use super::{Plan, Variant, VariantRole};
use ncugate_model::VariantId;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// One of several equal parts of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Shard {
    /// Number of the part, from 1.
    pub index: u32,
    pub count: u32,
}

impl Shard {
    /// Whether it contains a candidate. This depends only on the digest of the id, so that the shard is the same on
    /// every machine, whatever else the plan contains.
    fn has(self, id: &VariantId) -> bool {
        let digest = Sha256::digest(id.0.as_bytes());
        let number = digest.iter().take(8).fold(0u64, |number, byte| number << 8 | u64::from(*byte));
        number % u64::from(self.count) == u64::from(self.index - 1)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    /// Reads `3/8`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || format!("`{text}` is not a shard; write the third of eight as 3/8");
        let (index, count) = text.split_once('/').ok_or_else(wanted)?;
        let number = |part: &str| part.parse::<u32>().map_err(|_| wanted());
        let (index, count) = (number(index)?, number(count)?);
        match (1..=count).contains(&index) {
            true => Ok(Self { index, count }),
            false => Err(wanted()),
        }
    }
}

impl Plan {
    /// The candidates of a shard, each by all toolchains, and every baseline, because compared variants are measured on the
    /// same GPU.
    pub fn shard(&self, shard: Shard) -> Self {
        let in_it = |variant: &&Variant| variant.standing == VariantRole::Baseline || shard.has(&variant.first_id());
        Self { variants: self.variants.iter().filter(in_it).cloned().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_candidate_is_in_one_shard() {
        for count in [1, 2, 7, 100] {
            for number in 0..500 {
                let id = VariantId(format!("TILE={number}").into());
                let of = (1..=count).filter(|index| Shard { index: *index, count }.has(&id)).count();
                assert_eq!(of, 1);
            }
        }
        let used: BTreeSet<u32> = (0..500)
            .filter_map(|number| {
                (1..=8).find(|index| Shard { index: *index, count: 8 }.has(&VariantId(number.to_string().into())))
            })
            .collect();
        assert_eq!(used.len(), 8);
    }

    #[test]
    fn a_shard_is_written_as_a_fraction() {
        assert_eq!("3/8".parse(), Ok(Shard { index: 3, count: 8 }));
        for wrong in ["0/8", "9/8", "3", "/", "3/0", "-1/2", "1/4294967296", "a/b", "1/2/3"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
