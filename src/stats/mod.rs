//! Statistics of latency samples: quantiles, bootstrap intervals, comparison of two variants. Seeded and pure.
//!
//! What an interval means for a requirement is [`crate::judge`]'s.

mod bootstrap;
mod compare;
mod quantile;

pub use bootstrap::{Interval, NEARBY, Resampler, Resampling, Stream};
pub use compare::{Estimate, Pairing, SampleComparison, compare};
pub use quantile::{Statistic, StatsError, five_number_summary, median, quantile};
