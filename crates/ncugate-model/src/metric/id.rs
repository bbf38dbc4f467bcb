//! The names of the catalogue's metrics as constants, generated at build time.

use crate::MetricId;

/// Tensor operations by the types of their operands, which together are all of them.
pub const TENSOR_TYPES: [MetricId; 8] = [
    TENSOR_OPS_FP16,
    TENSOR_OPS_BF16,
    TENSOR_OPS_F8F6F4,
    TENSOR_OPS_FP4,
    TENSOR_OPS_TF32,
    TENSOR_OPS_FP64,
    TENSOR_OPS_INT8,
    TENSOR_OPS_INT4,
];

include!(concat!(env!("OUT_DIR"), "/metric_ids.rs"));
