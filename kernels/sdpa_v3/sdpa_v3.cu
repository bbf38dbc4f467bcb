// A grid that does not grow with the batch: the attention of sdpa_fast, launched as the kernel it replaced was.
//
//     o[b,h] = softmax(q[b,h] . k[b,h]^T * scale) . v[b,h]       q, k, v, o: [B, H, S, 64] of ELEMENT, contiguous
//
// The blocks cover the query rows and the heads of one batch, and each loops over the batches. With B=1 that is the right grid. With every
// further batch the same blocks have as much to do again, one after the other, while SMs stand idle. The arithmetic is sdpa_fast's, line
// for line (it is the same source), so that whatever differs from it is the grid's doing.
//
// Launch: grid = [(S + TILE_M - 1) / TILE_M, H * (1 + WHOLE_GRID * (B - 1))], block = [32 * TILE_M / WARP_M * KEY_SPLIT],
// dynamic shared memory = 128*TILE_M + 256*KEY_SPLIT*STAGES*TILE_N + 8*KEY_SPLIT*TILE_M bytes. Any S >= 1.
//
// Macros
//   WHOLE_GRID  0 (default): the fault. 1: the cure, a block for each batch too
//   and those of sdpa_fast, but CLUSTER: TILE_M, WARP_M, TILE_N, KEY_SPLIT, STAGES, CAUSAL, ELEMENT, MIN_BLOCKS
#include "../sdpa_fast/attention.cuh"

#ifndef WHOLE_GRID
#define WHOLE_GRID 0
#endif
#if CLUSTER != 1
#error "CLUSTER must be 1: sdpa_v3 has no clusters"
#endif

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    sdpa_v3(const __half* __restrict__ q, const __half* __restrict__ k, const __half* __restrict__ v, __half* __restrict__ o, int B, int H,
            int S, float scale) {
    const int first_row = static_cast<int>(gridDim.x - 1 - blockIdx.x) * TILE_M;
    const int first_batch = WHOLE_GRID ? blockIdx.y / H : 0;
    const int last_batch = WHOLE_GRID ? first_batch : B - 1;
#pragma unroll 1
    for (int batch = first_batch; batch <= last_batch; ++batch) {
        const size_t head = (static_cast<size_t>(batch) * H + blockIdx.y % H) * S * HEAD_DIM;
        attend(q + head, k + head, v + head, o + head, first_row, S, scale);
        __syncthreads();  // the next batch reuses the shared memory
    }
}
