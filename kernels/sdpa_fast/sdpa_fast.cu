// Attention on tensor cores, split over keys where the grid is small.
//
//     o[b,h] = softmax(q[b,h] . k[b,h]^T * scale) . v[b,h]       q, k, v, o: [B, H, S, 64] of ELEMENT, contiguous
//
// A block owns TILE_M query rows of a head. Its warps stand in a grid: TILE_M / WARP_M of them share the rows, and KEY_SPLIT such
// groups share the keys. With CLUSTER > 1 that many blocks, one cluster, own the same rows and share the keys further. So
//
//     parts = KEY_SPLIT * CLUSTER,     part p takes the key tiles p, p + parts, p + 2 * parts, ... of TILE_N keys each.
//
// Each part is a FlashAttention-2 of its own: cp.async keeps STAGES tiles of K and V in flight into XOR-swizzled shared memory,
// ldmatrix feeds mma.m16n8k16 with f32 accumulators, and the softmax is online, in powers of two. At the end the groups' outputs, maxima
// and sums meet in shared memory, then the blocks' in that of the cluster, each block for its share of the rows. One part needs no merge.
//
// Why: B=1 H=8 S=512 is 128 tiles of 32 rows or 64 of 64 for 132 SMs, each with all of its head's K and V to read from L2. Taller
// tiles read less in all, and the split over keys still gives every SM a block and every scheduler two warps. For grids that fill the card
// several times sdpa_tma is faster on Hopper.
//
// Launch: grid = [(S + TILE_M - 1) / TILE_M * CLUSTER, B * H], block = [32 * TILE_M / WARP_M * KEY_SPLIT],
// dynamic shared memory = 128*TILE_M + 256*KEY_SPLIT*STAGES*TILE_N + 8*KEY_SPLIT*TILE_M + 264*TILE_M*min(CLUSTER - 1, 1) bytes.
// Any S >= 1.
//
// Macros
//   TILE_M      query rows of a block, a multiple of WARP_M: 16, 32, 64, 128 (default 64)
//   WARP_M      query rows of a warp: 16 or 32 (default 32). 32 reads K and V from shared memory half as often, for more registers
//   TILE_N      keys of a step, a multiple of 16: 32, 64, 128 (default 64)
//   KEY_SPLIT   groups of warps of a block that share the keys: 1, 2, 4, 8 (default 4)
//   CLUSTER     blocks that share the keys: 1 (default), 2, 4, 8; above 1 needs sm_90
//   STAGES      tiles of K and V in flight for each group: 1, 2, 3, 4 (default 2)
//   CAUSAL      1: query i sees keys 0 to i. 0 (default): all keys
//   ELEMENT     type of q, k, v, o and of the weights: f16 (default), bf16
//   MIN_BLOCKS  blocks an SM should hold, for __launch_bounds__ (default 1)
#include "attention.cuh"

#if CLUSTER > 1
#define CLUSTER_DIMS __cluster_dims__(CLUSTER, 1, 1)
#else
#define CLUSTER_DIMS
#endif

extern "C" __global__ void CLUSTER_DIMS __launch_bounds__(THREADS, MIN_BLOCKS)
    sdpa_fast(const __half* __restrict__ q, const __half* __restrict__ k, const __half* __restrict__ v, __half* __restrict__ o, int S,
              float scale) {
    // Under a causal mask the last rows have the most keys. Those of all heads go first, so that no long block starts late.
    const uint32_t tiles = gridDim.x / CLUSTER, tile = blockIdx.x / CLUSTER;
    const uint32_t place = blockIdx.y * tiles + tile;
    const uint32_t head = CAUSAL ? place % gridDim.y : blockIdx.y;
    const uint32_t last = CAUSAL ? place / gridDim.y : tile;
    const int first_row = static_cast<int>(tiles - 1 - last) * TILE_M;
    const size_t start = static_cast<size_t>(head) * S * HEAD_DIM;
    attend(q + start, k + start, v + start, o + start, first_row, S, scale);
}
