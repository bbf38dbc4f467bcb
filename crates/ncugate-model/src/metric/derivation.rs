//! The derivation of a metric.

use crate::stats::Statistic;
use serde::de::value::{Error, StrDeserializer};
use serde::de::{Error as _, IntoDeserializer};
use serde::{Deserialize, Serialize};

/// The source of a metric's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricSource {
    Build,
    Launch,
    /// Computed from the launch, the cubin and the chip.
    Occupancy,
    /// The samples of the undisturbed timing.
    Latency,
    Check,
    #[default]
    Ncu,
}

/// The derivation of a metric: its source, and the fact of that source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Derivation {
    Build(BuildFact),
    Launch(LaunchFact),
    /// Occupancy, or a value derived from it.
    Occupancy(OccupancyFact),
    Latency(LatencyMetric),
    Check(CheckFact),
    /// Counters of Nsight Compute, by the formula of the chip.
    Counters,
}

/// Facts of the machine code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BuildFact {
    /// Registers per thread.
    Registers,
    /// Bytes of static shared memory per block.
    StaticShared,
    /// Spill loads and stores.
    Spills,
    /// Bytes of stack per thread.
    Stack,
    /// Bytes of local memory per thread.
    Local,
}

/// Facts of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaunchFact {
    BlockThreads,
    GridBlocks,
    /// Bytes of static and dynamic shared memory per block.
    SharedMemory,
}

/// Facts derived from the launch, the machine code and the chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OccupancyFact {
    /// Theoretical occupancy in percent.
    Theoretical,
    /// Blocks that fit on a multiprocessor.
    BlocksPerSm,
    /// Resident blocks as limited by registers.
    LimitRegisters,
    /// Resident blocks as limited by shared memory.
    LimitSharedMemory,
    /// Resident blocks as limited by warps.
    LimitWarps,
    /// Resident blocks as limited by block slots.
    LimitBlocks,
    /// Number of waves.
    Waves,
    /// Share of the time that the last wave takes if it leaves much of the chip idle.
    TailFraction,
}

/// Facts of the correctness cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckFact {
    /// 1 if every case is within tolerance, else 0.
    Correct,
    /// Largest absolute difference.
    MaxAbs,
    /// Largest relative L2 difference.
    RelL2,
    /// 1 if launches on equal contents have equal bits.
    Deterministic,
    /// 1 if rows have equal bits at every extent of a dimension.
    BatchInvariant,
}

/// A metric of latency samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencyMetric {
    /// The statistic of the samples.
    pub statistic: Statistic,
    /// The form of the statistic.
    pub form: LatencyForm,
}

/// The form of a statistic of latency samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LatencyForm {
    /// The time itself, in microseconds.
    #[default]
    Time,
    /// The workload's operations over the median time, in TFLOP/s.
    Throughput,
}

/// The facts that an entry of the catalogue declares.
pub(super) struct EntryFacts<'a> {
    pub fact: Option<&'a str>,
    pub statistic: Option<&'a str>,
    pub form: Option<LatencyForm>,
}

impl Derivation {
    pub(super) fn of(source: MetricSource, says: &EntryFacts<'_>) -> Result<Self, String> {
        let derivation = match source {
            MetricSource::Build => named(says.fact).map(Self::Build),
            MetricSource::Launch => named(says.fact).map(Self::Launch),
            MetricSource::Occupancy => named(says.fact).map(Self::Occupancy),
            MetricSource::Check => named(says.fact).map(Self::Check),
            MetricSource::Latency => return latency(says).map(Self::Latency),
            MetricSource::Ncu if says.fact.is_some() => Err(Error::custom("a counter is not a fact")),
            MetricSource::Ncu => Ok(Self::Counters),
        };
        match (says.statistic, says.form) {
            (None, None) => derivation.map_err(|e| e.to_string()),
            _ => Err("only a latency has a statistic and a form".to_owned()),
        }
    }
}

fn named<'a, T: Deserialize<'a>>(fact: Option<&'a str>) -> Result<T, Error> {
    let fact: StrDeserializer<'a, Error> = fact.ok_or_else(|| Error::missing_field("fact"))?.into_deserializer();
    T::deserialize(fact)
}

fn latency(says: &EntryFacts<'_>) -> Result<LatencyMetric, String> {
    let statistic: Statistic = says.statistic.ok_or("missing field `statistic`")?.parse()?;
    let form = says.form.unwrap_or_default();
    match (form, says.fact) {
        (_, Some(_)) => Err("a statistic of latency is not a fact".to_owned()),
        (LatencyForm::Throughput, _) if statistic != Statistic::MEDIAN => {
            Err("throughput is computed from the median".to_owned())
        }
        (LatencyForm::Time | LatencyForm::Throughput, None) => Ok(LatencyMetric { statistic, form }),
    }
}
