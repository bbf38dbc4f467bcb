//! Statistics of latency samples: quantiles, bootstrap intervals, comparison of two variants. Seeded and pure.
//!
//! Resampling visits each sample thousands of times, so every profile optimises this crate.
//!
//! Deliberately absent: the meaning of an interval for a requirement, which belongs to `ncugate_judge`.

mod bootstrap;
mod compare;
mod quantile;
mod sequential_test;
mod stationarity;
mod student;
mod tick;

pub use bootstrap::{Interval, NEARBY, Resampler, Resampling, Stream};
pub use compare::{Estimate, Pairing, SampleComparison, compare};
pub use quantile::{Statistic, StatsError, five_number_summary, median, order_limits, quantile};
pub use sequential_test::{level_of_a_look, looks};
pub use stationarity::{FALSE_ALARM, FEWEST_TESTED, Stationarity};
pub use student::{Variance, half_width, normal_quantile, t_quantile};
pub use tick::{EVENT_TICK_US, half_step};
