//! What CUDA can launch on any chip that is supported (CUDA C++ Programming Guide, technical specifications per compute
//! capability, and thread block clusters).

/// Largest grid, by axis.
pub const MAX_GRID: [u32; 3] = [2_147_483_647, 65_535, 65_535];
/// Largest block, by axis.
pub const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
/// Most threads of a block.
pub const MAX_BLOCK_THREADS: u32 = 1024;
/// Largest cluster, by axis.
pub const MAX_CLUSTER: [u32; 3] = [16, 16, 16];
/// Most blocks of a cluster; more than 8 need a kernel that asks for it.
pub const MAX_CLUSTER_BLOCKS: u32 = 16;
