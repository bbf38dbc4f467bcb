//! Families of chips that share metric names.

use crate::ComputeCapability;
use std::fmt;

/// A family of chips, named for the compute capability whose metric names it uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChipFamily {
    /// 7.5
    Turing,
    /// 8.0
    A100,
    /// 8.6 and 8.7
    Ampere,
    /// 8.9
    Ada,
    /// 9.0
    Hopper,
    /// 10.0, 10.3 and 11.0
    Blackwell,
    /// 10.7
    Rubin,
    /// 12.0 and 12.1
    BlackwellConsumer,
}

impl ChipFamily {
    /// Every family, oldest first.
    pub const ALL: [Self; 8] = [
        Self::Turing,
        Self::A100,
        Self::Ampere,
        Self::Ada,
        Self::Hopper,
        Self::Blackwell,
        Self::Rubin,
        Self::BlackwellConsumer,
    ];

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

    /// Its name in the catalogue.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Turing => "7.5",
            Self::A100 => "8.0",
            Self::Ampere => "8.6",
            Self::Ada => "8.9",
            Self::Hopper => "9.0",
            Self::Blackwell => "10.0",
            Self::Rubin => "10.7",
            Self::BlackwellConsumer => "12.0",
        }
    }
}

impl fmt::Display for ChipFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name().fmt(f)
    }
}
