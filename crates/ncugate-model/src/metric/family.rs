//! Families of chips that share metric names.

use crate::ComputeCapability;

words! {
    name;
    /// A family of chips, named for the compute capability whose metric names it uses.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum ChipFamily {
        /// 7.5
        Turing = "7.5",
        /// 8.0
        A100 = "8.0",
        /// 8.6 and 8.7
        Ampere = "8.6",
        /// 8.9
        Ada = "8.9",
        /// 9.0
        Hopper = "9.0",
        /// 10.0, 10.3 and 11.0
        Blackwell = "10.0",
        /// 10.7
        Rubin = "10.7",
        /// 12.0 and 12.1
        BlackwellConsumer = "12.0",
    }
}

impl ChipFamily {
    /// The family of a compute capability; none for chips older or newer than the catalogue knows.
    pub const fn of(cc: ComputeCapability) -> Option<Self> {
        match (cc.major, cc.minor) {
            (7, 5) => Some(Self::Turing),
            (8, 0) => Some(Self::A100),
            (8, 6 | 7) => Some(Self::Ampere),
            (8, 9) => Some(Self::Ada),
            (9, 0) => Some(Self::Hopper),
            (10, 7) => Some(Self::Rubin),
            // 10.1 is CUDA 12's name of 11.0.
            (10, 0 | 1 | 3) | (11, 0) => Some(Self::Blackwell),
            (12, 0 | 1) => Some(Self::BlackwellConsumer),
            _ => None,
        }
    }
}
