// Attention over fp8 keys and values, made fast in six steps: one source, STAGE says how many of them are taken.
//
//     o[b,h] = softmax(q[b,h] . (k[b,h] * k_scale[b*H+h])^T * scale) . (v[b,h] * v_scale[b*H+h])
//
// q, o: [B, H, S, 64] f16; k, v: [B, H, S, 64] fp8 e4m3; k_scale, v_scale: [B * H] f32; all contiguous. A head's k_scale is a factor of its
// scores and v_scale one of its output, so neither is applied to an element.
//
// The warps of a block have 16 query rows each, and walk over the keys 32 at a time: keys and values become f16 in shared memory, a 16x32 block of
// scores comes from tensor cores (WMMA m16n16k16, f32 accumulators) by way of shared memory, two lanes have a row in the online softmax.
//
//   STAGE  0  baseline: a tile is loaded, converted, used, one after the other; P.V by scalar f32 FMAs
//          1  cp.async brings the bytes of the next tile while this one is used
//          2  P.V with vector loads: two values, four probabilities at a time
//          3  P.V on tensor cores
//          4  another warp fetches and converts the next tile while the others use this one
//          5  ldmatrix and mma.m16n8k16 instead of WMMA, over the same tiles. WMMA addresses rows by a stride, so it cannot read swizzled tiles
//          6  tiles are XOR-swizzled, so that eight rows of a column are in different banks
//
// Launch: grid = [(S + 16 * WARPS - 1) / (16 * WARPS), B * H], block = [32 * WARPS], or [32 * WARPS + 32] from STAGE 4 on, no dynamic shared
// memory. Any S >= 1.
//
// Macros
//   STAGE   0 to 6 (default)
//   WARPS   warps that compute: 1, 2, 4 (default 4). A row's arithmetic does not depend on it
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_pipeline.h>

#ifndef STAGE
#define STAGE 6
#endif
#ifndef WARPS
#define WARPS 4
#endif
#if STAGE < 0 || STAGE > 6
#error "STAGE must be 0 to 6"
#endif
#if WARPS < 1 || WARPS > 4
#error "WARPS must be 1 to 4: more do not fit into 48 KiB of static shared memory"
#endif

namespace {

constexpr int HEAD_DIM = 64;
constexpr int TILE_STRIDE = HEAD_DIM;                // f16 from row to row of a tile: in bytes, a row is all 32 banks
constexpr int TILE_M = 16 * WARPS;                   // query rows of a block
constexpr int TILE_N = 32;                           // keys of a step
constexpr int CHUNK = 8;                             // f16 of 16 bytes, the unit of the swizzle
constexpr int COMPUTING = 32 * WARPS;                // threads
constexpr int LOADING = STAGE >= 4 ? 32 : COMPUTING; // threads that fetch and convert
constexpr int THREADS = STAGE >= 4 ? COMPUTING + LOADING : COMPUTING;
constexpr int BYTE_TILES = STAGE == 0 ? 0 : STAGE < 4 ? 2 : 1;   // tiles of fp8 on their way
constexpr int HALF_TILES = STAGE >= 4 ? 2 : 1;       // converted tiles
constexpr int PIECES = 2 * TILE_N * HEAD_DIM / 16;   // 16 fp8 each: a tile's keys, then its values
constexpr int SCORE_STRIDE = TILE_N + 4;             // f32 of a row of scores
constexpr int P_STRIDE = TILE_N + 8;                 // f16 of a row of probabilities, which take the scores' place
constexpr int SHRINK = 16 * P_STRIDE / 2;            // f32 into a warp's scratch: a factor for each row, behind the probabilities
constexpr int SCRATCH = 16 * SCORE_STRIDE;           // f32 of a warp
constexpr float LOG2E = 1.4426950408889634f;

static_assert(SHRINK + 16 <= SCRATCH, "probabilities and factors fit where the scores were");

// Where chunk `chunk` of row `row` begins in keys or values of a tile, or in the block's queries.
__device__ __forceinline__ int place(int row, int chunk) {
    return row * TILE_STRIDE + (STAGE >= 6 ? chunk ^ (row & 7) : chunk) * CHUNK;
}

struct Tile {
    alignas(128) __half k[TILE_N * HEAD_DIM];
    alignas(128) __half v[TILE_N * HEAD_DIM];
};

struct Shared {
    alignas(128) __half q[TILE_M * HEAD_DIM];
    Tile tiles[HALF_TILES];
    alignas(128) uint4 bytes[BYTE_TILES > 0 ? BYTE_TILES : 1][BYTE_TILES > 0 ? PIECES : 1];
    alignas(128) float scratch[WARPS][SCRATCH];
};

// ---- Fetching: global fp8 to shared f16.

// One head's keys and values.
struct Head {
    const unsigned char *k, *v;
    int S;
};

// Where piece `piece` of the tile whose first key is `first` comes from; null past the end.
__device__ __forceinline__ const uint4* source(const Head& head, int first, int piece) {
    const int row = first + piece % (PIECES / 2) / 4, column = piece % 4 * 16;
    const unsigned char* from = piece < PIECES / 2 ? head.k : head.v;
    return row < head.S ? reinterpret_cast<const uint4*>(from + static_cast<size_t>(row) * HEAD_DIM + column) : nullptr;
}

__device__ __forceinline__ unsigned int widened(unsigned int pair) {
    const __half2_raw wide = __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(pair & 0xffffu), __NV_E4M3);
    return wide.x | static_cast<unsigned int>(wide.y) << 16;
}

__device__ __forceinline__ uint4 widened(unsigned int low, unsigned int high) {
    return make_uint4(widened(low), widened(low >> 16), widened(high), widened(high >> 16));
}

__device__ __forceinline__ void convert(Tile& tile, int piece, uint4 bytes) {
    const int row = piece % (PIECES / 2) / 4, chunk = piece % 4 * 2;
    __half* to = piece < PIECES / 2 ? tile.k : tile.v;
    *reinterpret_cast<uint4*>(to + place(row, chunk)) = widened(bytes.x, bytes.y);
    *reinterpret_cast<uint4*>(to + place(row, chunk + 1)) = widened(bytes.z, bytes.w);
}

// Loads and converts in one go.
[[maybe_unused]] __device__ __forceinline__ void load(Tile& tile, const Head& head, int first, int loader) {
#pragma unroll
    for (int piece = loader; piece < PIECES; piece += LOADING) {
        const uint4* from = source(head, first, piece);
        convert(tile, piece, from ? *from : make_uint4(0, 0, 0, 0));
    }
}

// Starts copying. Each thread converts what it copied itself, so that waiting for its own copies is enough.
[[maybe_unused]] __device__ __forceinline__ void fetch(uint4* bytes, const Head& head, int first, int loader) {
#pragma unroll
    for (int piece = loader; piece < PIECES; piece += LOADING) {
        const uint4* from = source(head, first, piece);
        __pipeline_memcpy_async(bytes + piece, from ? from : reinterpret_cast<const uint4*>(head.k), 16, from ? 0 : 16);
    }
}

[[maybe_unused]] __device__ __forceinline__ void convert(Tile& tile, const uint4* bytes, int loader) {
#pragma unroll
    for (int piece = loader; piece < PIECES; piece += LOADING) convert(tile, piece, bytes[piece]);
}

}  // namespace

#define LDMATRIX (STAGE >= 5)
#include "../sdpa_wmma/blocks.cuh"

namespace {

// ---- Computing: a warp's 16 rows.

// Two lanes have a row, lane / 2; both hold the same.
struct Row {
    float max = -INFINITY;
    float sum = 0.0f;
};

// Scores of the tile's keys into the scratch, by tensor cores.
__device__ __forceinline__ void multiply_keys(float* scratch, const __half* q, int first_row, const __half* k) {
#pragma unroll
    for (int n = 0; n < TILE_N; n += 16) {
        Accumulator block;
#pragma unroll
        for (int d = 0; d < HEAD_DIM; d += 16) block.add(left_of(q, first_row, d), keys_of(k, n, d));
        block.store(scratch + n, SCORE_STRIDE);
    }
}

// Turns a lane's scores, in powers of two, into probabilities, and returns the factor for what its row has so far.
__device__ __forceinline__ float soften(Row& row, float (&score)[TILE_N / 2]) {
    float highest = row.max;
#pragma unroll
    for (int j = 0; j < TILE_N / 2; ++j) highest = fmaxf(highest, score[j]);
    highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, 1));
    const float shrink = exp2f(row.max - highest);   // the first tile has a key for every row: highest is finite
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < TILE_N / 2; ++j) {
        score[j] = exp2f(score[j] - highest);
        sum += score[j];
    }
    row.max = highest;
    row.sum = fmaf(row.sum, shrink, sum + __shfl_xor_sync(0xffffffffu, sum, 1));
    return shrink;
}

#if STAGE < 3

// Output by f32 FMAs: a lane has two dimensions of all 16 rows.
struct Output {
    float out[16][2] = {};

    static __device__ __forceinline__ int dimension(int lane, int i) { return STAGE < 2 ? lane + 32 * i : 2 * lane + i; }

    __device__ __forceinline__ void start(float*) {}

    __device__ __forceinline__ void add(float (&p)[TILE_N / 2], float shrink, float* scratch, const __half* v, int lane) {
#pragma unroll
        for (int j = 0; j < TILE_N / 2; ++j) scratch[lane / 2 * SCORE_STRIDE + lane % 2 * (TILE_N / 2) + j] = p[j];
#pragma unroll
        for (int r = 0; r < 16; ++r) {
            const float factor = __shfl_sync(0xffffffffu, shrink, 2 * r);
            out[r][0] *= factor;
            out[r][1] *= factor;
        }
        __syncwarp();
        if constexpr (STAGE < 2) {
#pragma unroll 4
            for (int n = 0; n < TILE_N; ++n) {
                const float v0 = __half2float(v[n * HEAD_DIM + lane]), v1 = __half2float(v[n * HEAD_DIM + lane + 32]);
#pragma unroll
                for (int r = 0; r < 16; ++r) {
                    const float weight = scratch[r * SCORE_STRIDE + n];
                    out[r][0] = fmaf(weight, v0, out[r][0]);
                    out[r][1] = fmaf(weight, v1, out[r][1]);
                }
            }
        } else {
#pragma unroll 1
            for (int n = 0; n < TILE_N; n += 4) {
                float2 values[4];
#pragma unroll
                for (int j = 0; j < 4; ++j) values[j] = __half22float2(*reinterpret_cast<const __half2*>(v + (n + j) * HEAD_DIM + 2 * lane));
#pragma unroll
                for (int r = 0; r < 16; ++r) {
                    const float4 weights = *reinterpret_cast<const float4*>(scratch + r * SCORE_STRIDE + n);
                    out[r][0] = fmaf(weights.w, values[3].x, fmaf(weights.z, values[2].x, fmaf(weights.y, values[1].x, fmaf(weights.x, values[0].x, out[r][0]))));
                    out[r][1] = fmaf(weights.w, values[3].y, fmaf(weights.z, values[2].y, fmaf(weights.y, values[1].y, fmaf(weights.x, values[0].y, out[r][1]))));
                }
            }
        }
        __syncwarp();                                // the scratch is free for the next scores
    }

    // `factor` is that of the lane's row, lane / 2.
    __device__ __forceinline__ void finish(__half* o_rows, int rows, float factor, float*, int lane) {
#pragma unroll
        for (int r = 0; r < 16; ++r) {
            const float of_row = __shfl_sync(0xffffffffu, factor, 2 * r);
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                if (r < rows) o_rows[r * HEAD_DIM + dimension(lane, i)] = __float2half(out[r][i] * of_row);
            }
        }
    }
};

#else

// Output on tensor cores: blocks of 16 rows and 16 dimensions.
struct Output {
    Accumulator out[HEAD_DIM / 16];
    Accumulator::Rows rows;

    __device__ __forceinline__ void start(float* scratch) { rows.find(scratch); }

    __device__ __forceinline__ void add(float (&p)[TILE_N / 2], float shrink, float* scratch, const __half* v, int lane) {
        __half* weights = reinterpret_cast<__half*>(scratch);
#pragma unroll
        for (int j = 0; j < TILE_N / 2; j += 2) {
            __half2* to = reinterpret_cast<__half2*>(weights + lane / 2 * P_STRIDE + lane % 2 * (TILE_N / 2) + j);
            *to = __floats2half2_rn(p[j], p[j + 1]);
        }
        if (lane % 2 == 0) scratch[SHRINK + lane / 2] = shrink;
        __syncwarp();
        float factor[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) factor[i] = scratch[SHRINK + rows.of[i]];
#pragma unroll
        for (int d = 0; d < HEAD_DIM; d += 16) {
            out[d / 16].multiply(factor);
#pragma unroll
            for (int n = 0; n < TILE_N; n += 16) out[d / 16].add(weights_of(weights, n), values_of(v, n, d));
        }
        __syncwarp();                                // the scratch is free for the next scores
    }

    // `factor` is that of the lane's row, lane / 2, which it writes half of.
    __device__ __forceinline__ void finish(__half* o_rows, int count, float factor, float* scratch, int lane) {
#pragma unroll
        for (int d = 0; d < HEAD_DIM; d += 16) {
            out[d / 16].store(scratch, SCORE_STRIDE);
            __syncwarp();
            const float* from = scratch + lane / 2 * SCORE_STRIDE + lane % 2 * 8;
            __half2 pairs[4];
#pragma unroll
            for (int j = 0; j < 4; ++j) pairs[j] = __floats2half2_rn(from[2 * j] * factor, from[2 * j + 1] * factor);
            __half* to = o_rows + lane / 2 * HEAD_DIM + d + lane % 2 * 8;
            if (lane / 2 < count) *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(pairs);
            __syncwarp();
        }
    }
};

#endif

// A warp's state, and a step over a tile.
struct Warp {
    Row row;
    Output output;

    __device__ __forceinline__ void use(const Tile& tile, const __half* q, int first_row, int keys, float log2_scale, float* scratch, int lane) {
        multiply_keys(scratch, q, first_row, tile.k);
        __syncwarp();
        float score[TILE_N / 2];
#pragma unroll
        for (int j = 0; j < TILE_N / 2; j += 4) {
            const float4 four = *reinterpret_cast<const float4*>(scratch + lane / 2 * SCORE_STRIDE + lane % 2 * (TILE_N / 2) + j);
            score[j] = four.x, score[j + 1] = four.y, score[j + 2] = four.z, score[j + 3] = four.w;
        }
        __syncwarp();                                // the scores' place is free for the probabilities
#pragma unroll
        for (int j = 0; j < TILE_N / 2; ++j) score[j] = lane % 2 * (TILE_N / 2) + j < keys ? score[j] * log2_scale : -INFINITY;
        const float shrink = soften(row, score);
        output.add(score, shrink, scratch, tile.v, lane);
    }
};

}  // namespace

// Without launch bounds, which would make the compiler ignore -maxrregcount.
extern "C" __global__ void
    sdpa_fp8(const __half* __restrict__ q, const unsigned char* __restrict__ k, const unsigned char* __restrict__ v,
             const float* __restrict__ k_scale, const float* __restrict__ v_scale, __half* __restrict__ o, int S, float scale) {
    __shared__ Shared shared;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int first_row = blockIdx.x * TILE_M;
    const size_t start = static_cast<size_t>(blockIdx.y) * S * HEAD_DIM;
    const Head head = {k + start, v + start, S};
    const int tiles = (S + TILE_N - 1) / TILE_N;
    const float log2_scale = scale * k_scale[blockIdx.y] * LOG2E;

    for (int i = threadIdx.x; i < TILE_M * HEAD_DIM / CHUNK; i += THREADS) {
        const int row = i / (HEAD_DIM / CHUNK), chunk = i % (HEAD_DIM / CHUNK);
        const uint4* from = reinterpret_cast<const uint4*>(q + start + static_cast<size_t>(first_row + row) * HEAD_DIM) + chunk;
        *reinterpret_cast<uint4*>(shared.q + place(row, chunk)) = first_row + row < S ? *from : make_uint4(0, 0, 0, 0);
    }

    Warp rows;
    float* scratch = shared.scratch[warp % WARPS];
    if (warp < WARPS) rows.output.start(scratch);
    const auto use = [&](const Tile& tile, int index) {
        rows.use(tile, shared.q, warp * 16, S - index * TILE_N, log2_scale, scratch, lane);
    };

#if STAGE == 0
    for (int tile = 0; tile < tiles; ++tile) {
        load(shared.tiles[0], head, tile * TILE_N, threadIdx.x);
        __syncthreads();                             // the tile is there for all
        use(shared.tiles[0], tile);
        __syncthreads();                             // and nobody reads it any more
    }
#elif STAGE < 4
    fetch(shared.bytes[0], head, 0, threadIdx.x);
    __pipeline_commit();
    for (int tile = 0; tile < tiles; ++tile) {
        if (tile + 1 < tiles) fetch(shared.bytes[(tile + 1) % 2], head, (tile + 1) * TILE_N, threadIdx.x);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        convert(shared.tiles[0], shared.bytes[tile % 2], threadIdx.x);
        __syncthreads();                             // the tile is there for all
        use(shared.tiles[0], tile);
        __syncthreads();                             // and nobody reads it any more
    }
#else
    const bool loads = warp == WARPS;
    // Converts the bytes that are on their way, and starts copying those after them.
    const auto prepare = [&](int tile) {
        if (tile >= tiles) return;
        __pipeline_wait_prior(0);
        convert(shared.tiles[tile % 2], shared.bytes[0], lane);
        if (tile + 1 < tiles) fetch(shared.bytes[0], head, (tile + 1) * TILE_N, lane);
        __pipeline_commit();
    };
    if (loads) {
        fetch(shared.bytes[0], head, 0, lane);
        __pipeline_commit();
        prepare(0);
    }
    __syncthreads();
    for (int tile = 0; tile < tiles; ++tile) {
        if (loads) {
            prepare(tile + 1);
        } else {
            use(shared.tiles[tile % 2], tile);
        }
        __syncthreads();                             // the next tile is there, and nobody reads this one any more
    }
    if (loads) return;
#endif
    const int mine = first_row + warp * 16;
    const float factor = v_scale[blockIdx.y] / rows.row.sum;
    rows.output.finish(o + start + static_cast<size_t>(mine) * HEAD_DIM, S - mine, factor, scratch, lane);
}
