//! The names of the catalogue's metrics as constants, generated at build time.

use crate::MetricId;

include!(concat!(env!("OUT_DIR"), "/metric_ids.rs"));
