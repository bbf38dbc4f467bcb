// Attention for Hopper by blocks that stay: one block an SM takes one tile of query rows after the other.
//
//     o[b,h] = softmax(q[b,h] . k[b,h]^T * scale) . v[b,h]       q, k, v, o: [B, H, S, HEAD_DIM] of ELEMENT, contiguous
//
// A step is that of sdpa_hopper.cu. Who does what and when is not:
//
//     producer         K0 Q K1 V0 K2 V1 ... | those of the next tile of rows: K0 Q K1 V0 ...
//     warpgroup 0              | step | step | ... | last product, writing | step | step | ...
//     warpgroup 1                  | step | step | ... | last product, writing | step | ...
//
// One thread, the producer, runs through the tiles of all rows of the block and waits only for free slots. So the first tiles of the next rows are there
// when a warpgroup has written its last ones, and the block pays for its start once, where a block of sdpa_hopper pays for each tile of rows. The
// warpgroups take turns in starting products (ping-pong): one computes exponentials while the tensor cores work for another.
//
// Launch: grid = [min(SMs, (S + TILE_M - 1) / TILE_M * H * B)] with TILE_M = 64 * WARPGROUPS, or fewer blocks; block = [128 * (WARPGROUPS + 1)],
// dynamic shared memory = HEAD_DIM * (128 * WARPGROUPS + 4 * STAGES * TILE_N) bytes. Any S >= 1. sm_90a only. The maps are those of sdpa_hopper.
//
// Macros
//   HEAD_DIM, ELEMENT, CAUSAL, STAGES   as in sdpa_hopper.cu
//   WARPGROUPS  that compute, each with 64 query rows: 2 (default) to 4. The producer has one more, and leaves its registers to them
//   TILE_N      keys of a step: 64 (default) to 128, a multiple of 16. More warpgroups have fewer registers: with four it is 64, and HEAD_DIM too
#include "step.cuh"

#if WARPGROUPS < 2
#error "WARPGROUPS must be 2 to 4: they take turns"
#endif

namespace {

constexpr int THREADS = 128 * (WARPGROUPS + 1);
// Of a thread. They come in eights; what the producer's warpgroup gives back is shared by the others.
constexpr int START_REGISTERS = 65536 / THREADS & ~7, PRODUCER_REGISTERS = 24;
constexpr int CONSUMER_REGISTERS = (START_REGISTERS * (WARPGROUPS + 1) - PRODUCER_REGISTERS) / WARPGROUPS & ~7;

// Slots that are filled and emptied in turn: which is next, and the parity of how often it was.
template <int SLOTS>
struct Ring {
    uint32_t slot = 0, phase = 0;
    __device__ __forceinline__ void advance() {
        if (++slot == SLOTS) {
            slot = 0;
            phase ^= 1;
        }
    }
};

// Barriers of slots.
template <int SLOTS>
struct Slots {
    uint64_t full[SLOTS];    // complete when the tile is there
    uint64_t empty[SLOTS];   // complete when all its readers are done with it

    __device__ __forceinline__ void init(int reading_warps) {
        for (int slot = 0; slot < SLOTS; ++slot) {
            ptx::barrier_init(ptx::shared_address(&full[slot]), 1);
            ptx::barrier_init(ptx::shared_address(&empty[slot]), reading_warps);
        }
    }
};

// A tile of query rows of a head of a batch.
struct Work {
    int batch, head, first_row, tiles;   // tiles of keys
};

// Which work a block has, in its order.
struct Schedule {
    int row_tiles, heads, batches, S;

    // Number `round` of this block; false where there is none.
    __device__ __forceinline__ bool get(Work& work, int round) const {
        // With CAUSAL the longest go first, and every second round runs backwards: who had the longest of one has the shortest of the next.
        const int place = CAUSAL && round % 2 == 1 ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
        const int index = round * gridDim.x + place, sequences = heads * batches;
        if (index >= row_tiles * sequences) return false;
        const int row_tile = CAUSAL ? row_tiles - 1 - index / sequences : index % row_tiles;
        const int sequence = CAUSAL ? index % sequences : index / row_tiles;
        work.batch = sequence / heads;
        work.head = sequence % heads;
        work.first_row = row_tile * TILE_M;
        work.tiles = ((CAUSAL ? min(S, work.first_row + TILE_M) : S) + TILE_N - 1) / TILE_N;
        return true;
    }
};

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    sdpa_persistent(const __grid_constant__ CUtensorMap q_tiles, const __grid_constant__ CUtensorMap k_tiles, const __grid_constant__ CUtensorMap v_tiles,
                    void* __restrict__ o, int B, int H, int S, float scale) {
    extern __shared__ __align__(1024) char shared[];   // for each warpgroup its rows of Q; STAGES tiles of K; as many of V
    __shared__ Slots<WARPGROUPS> query_slots;          // a warpgroup has its own
    __shared__ Slots<STAGES> key_slots, value_slots;

    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0), lane = threadIdx.x % 32;   // by shfl: the compiler then knows that all lanes agree
    const Schedule schedule = {(S + TILE_M - 1) / TILE_M, H, B, S};
    const uint32_t q_first = ptx::shared_address(shared), k_first = q_first + WARPGROUPS * Q_BYTES, v_first = k_first + STAGES * TILE_BYTES;

    if (threadIdx.x == 0) {
        ptx::fetch_map(q_tiles);
        ptx::fetch_map(k_tiles);
        ptx::fetch_map(v_tiles);
        query_slots.init(4);
        key_slots.init(4 * WARPGROUPS);
        value_slots.init(4 * WARPGROUPS);
        ptx::barriers_publish();
    }
    __syncthreads();

    Work work;
    if (warp < 4) {
        ptx::give_registers<PRODUCER_REGISTERS>();
        if (threadIdx.x != 0) return;
        Ring<STAGES> key_ring, value_ring;
        uint32_t query_phase = 0;
        const auto fetch = [&](const CUtensorMap& map, Slots<STAGES>& slots, Ring<STAGES>& ring, uint32_t first, int tile) {
            ptx::barrier_wait(ptx::shared_address(&slots.empty[ring.slot]), ring.phase ^ 1);
            const uint32_t full = ptx::shared_address(&slots.full[ring.slot]);
            ptx::barrier_expect(full, TILE_BYTES);
#pragma unroll
            for (int box = 0; box < BOXES; ++box) {
                ptx::copy_box(first + ring.slot * TILE_BYTES + box * KV_BOX, map, work.batch, work.head, tile * TILE_N, box * 64, full);
            }
            ring.advance();
        };
        for (int round = 0; schedule.get(work, round); ++round, query_phase ^= 1) {
            fetch(k_tiles, key_slots, key_ring, k_first, 0);
#pragma unroll
            for (int w = 0; w < WARPGROUPS; ++w) {
                ptx::barrier_wait(ptx::shared_address(&query_slots.empty[w]), query_phase ^ 1);
                const uint32_t full = ptx::shared_address(&query_slots.full[w]);
                ptx::barrier_expect(full, Q_BYTES);
#pragma unroll
                for (int box = 0; box < BOXES; ++box) {
                    ptx::copy_box(q_first + w * Q_BYTES + box * Q_BOX, q_tiles, work.batch, work.head, work.first_row + w * WARPGROUP_ROWS, box * 64, full);
                }
            }
#pragma unroll 1
            for (int tile = 0; tile < work.tiles; ++tile) {
                if (tile + 1 < work.tiles) fetch(k_tiles, key_slots, key_ring, k_first, tile + 1);
                fetch(v_tiles, value_slots, value_ring, v_first, tile);
            }
        }
        return;
    }

    ptx::take_registers<CONSUMER_REGISTERS>();
    const int warpgroup = warp / 4 - 1;
    const float log2_scale = scale * 1.4426950408889634f;
    const uint32_t query = ptx::tile_descriptor(q_first + warpgroup * Q_BYTES), key_tiles = ptx::tile_descriptor(k_first);
    const uint32_t value_tiles = ptx::column_descriptor(v_first, KV_BOX);
    Ring<STAGES> key_ring, value_ring;
    uint32_t query_phase = 0;
    const auto release = [&](uint64_t& empty) {
        if (lane == 0) ptx::barrier_arrive(ptx::shared_address(&empty));
    };
    const auto wait_keys = [&] { ptx::barrier_wait(ptx::shared_address(&key_slots.full[key_ring.slot]), key_ring.phase); };
    const auto wait_values = [&] { ptx::barrier_wait(ptx::shared_address(&value_slots.full[value_ring.slot]), value_ring.phase); };
    const auto take_turn = [&] { ptx::barrier(1 + warpgroup, 256); };
    const auto give_turn = [&] { ptx::barrier_join(1 + (warpgroup + 1) % WARPGROUPS, 256); };
    if (warpgroup == WARPGROUPS - 1) give_turn();

    for (int round = 0; schedule.get(work, round); ++round, query_phase ^= 1) {
        Rows rows;
        Scores score;
        Weights weights;
        const int first_row = work.first_row + warpgroup * WARPGROUP_ROWS;
        const auto mask_edges = [&](int tile) {
            const int end = (tile + 1) * TILE_N, row = first_row + warp % 4 * 16;
            if (end > S || (CAUSAL && end > row + 1)) mask(score, row, tile * TILE_N, S, lane);
        };
        const auto start_scores = [&] { multiply_keys(score, query, key_tiles + key_ring.slot * (TILE_BYTES >> 4)); };
        const auto start_output = [&] { multiply_values(rows, weights, value_tiles + value_ring.slot * (TILE_BYTES >> 4)); };
        const auto release_keys = [&](int tile) {
            pin(score);
            release(key_slots.empty[key_ring.slot]);
            key_ring.advance();
            if (tile + 1 == work.tiles) release(query_slots.empty[warpgroup]);
        };

        ptx::barrier_wait(ptx::shared_address(&query_slots.full[warpgroup]), query_phase);
        wait_keys();
        start_scores();
        ptx::wgmma_arrive<0>();
        release_keys(0);
        mask_edges(0);
        begin_rows(rows, score);   // finite: every row sees the first key
        exponentiate(score, rows, log2_scale);
        pack_weights(weights, score);
        wait_values();

#pragma unroll 1
        for (int tile = 1; tile < work.tiles; ++tile) {
            wait_keys();
            take_turn();
            start_scores();
            start_output();
            uint64_t& values_empty = value_slots.empty[value_ring.slot];
            value_ring.advance();
            give_turn();
            ptx::wgmma_arrive<1>();   // the scores are there
            release_keys(tile);
            mask_edges(tile);
            float shrink[2];
            const bool raised = make_room(rows, shrink, score, log2_scale);
            exponentiate(score, rows, log2_scale);
            pin(score);
            wait_values();            // of the next product. This branch also keeps ptxas from waiting for the output before the exponentials
            ptx::wgmma_arrive<0>();   // the output is there too
            pin(rows.out);
            release(values_empty);
            if (raised) rescale(rows, shrink);
            pack_weights(weights, score);
        }
        start_output();
        ptx::wgmma_arrive<0>();
        pin(rows.out);
        release(value_slots.empty[value_ring.slot]);
        value_ring.advance();

        void* const o_head = static_cast<char*>(o) + static_cast<size_t>(work.batch * H + work.head) * S * HEAD_DIM * 2;
        write_rows(rows, o_head, first_row + warp % 4 * 16, S, lane);
    }
}
