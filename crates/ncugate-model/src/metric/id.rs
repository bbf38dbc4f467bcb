//! The names of the catalogue's metrics as constants, made from it when the program is built.

use crate::MetricId;

include!(concat!(env!("OUT_DIR"), "/metric_ids.rs"));
