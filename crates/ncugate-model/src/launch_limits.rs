//! Launch limits that hold on every supported chip (CUDA C++ Programming Guide, technical specifications per compute
//! capability, and thread block clusters).

/// Largest grid, by axis.
pub const MAX_GRID: [u32; 3] = [2_147_483_647, 65_535, 65_535];
/// Largest block, by axis.
pub const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
/// Maximum threads per block.
pub const MAX_BLOCK_THREADS: u32 = 1024;
/// Largest cluster, by axis.
pub const MAX_CLUSTER: [u32; 3] = [16, 16, 16];
/// Maximum blocks per cluster; more than 8 need a kernel that opts in.
pub const MAX_CLUSTER_BLOCKS: u32 = 16;
