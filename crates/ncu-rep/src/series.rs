//! Samples of metrics over the duration of a launch (Nsight Compute's section PmSampling).

use crate::error::ReportError;
use crate::launch::Launch;
use crate::metric::{Metric, MetricCategory};
use std::collections::BTreeMap;
use std::ops::Range;

/// Begin of the names of a replay pass's start and end, which are the correlation of their first instance.
const START: &str = "profiler__timestamp_workload_start_";
const END: &str = "profiler__timestamp_workload_end_";

/// A metric's samples over a launch. Its replay pass begins before the launch and ends after it.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricSeries {
    /// Start and end of the launch in the replay pass of these samples, in nanoseconds since 1970. Missing before ncu
    /// 2024.2.
    pub launch: Option<Range<u64>>,
    /// Samples by the end of their interval, in nanoseconds since 1970.
    pub samples: BTreeMap<u64, f64>,
}

impl Launch<'_> {
    /// The samples of a metric of this launch; none if it was not sampled.
    ///
    /// # Errors
    /// A damaged metric.
    pub fn series(&self, metric: &Metric<'_>) -> Result<Option<MetricSeries>, ReportError> {
        let mut samples = BTreeMap::new();
        if metric.category()? != MetricCategory::Sampler {
            return Ok(None);
        }
        for instance in metric.instances() {
            let instance = instance?;
            // the instance at 0 is the sum or mean over all others
            let at = instance.correlation.as_u64().filter(|at| *at > 0);
            samples.extend(at.zip(instance.value.as_f64()));
        }
        let (Some((first, _)), Some((last, _))) = (samples.first_key_value(), samples.last_key_value()) else {
            return Ok(None);
        };
        let mut launch = None;
        for pass in 0.. {
            let moment = |name: &str| self.moment(&format!("{name}{pass}"));
            let Some((start, end)) = moment(START)?.zip(moment(END)?) else { break };
            if start <= *last && end >= *first {
                launch = Some(start..end);
                break;
            }
        }
        Ok(Some(MetricSeries { launch, samples }))
    }

    fn moment(&self, name: &str) -> Result<Option<u64>, ReportError> {
        let Some(metric) = self.find_metric(name)? else { return Ok(None) };
        let first = metric.instances().next().transpose()?;
        Ok(first.and_then(|instance| instance.correlation.as_u64()))
    }
}
