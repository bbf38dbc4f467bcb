// A kernel whose dynamic shared memory is a constant of its traits, as in CUTLASS and its descendants.
template <int ROWS_PER_TILE, int COLUMNS_PER_TILE> struct TransposeTraits {
    static constexpr int kPitch = COLUMNS_PER_TILE + 1;
    struct SharedStorage {
        float tile[ROWS_PER_TILE * kPitch];
    };
    static constexpr int kSmemSize = sizeof(SharedStorage);
};

template <int TILE> __global__ void transposed(const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
    using Traits = TransposeTraits<TILE, TILE>;
    extern __shared__ char memory[];
    float* tile = reinterpret_cast<typename Traits::SharedStorage*>(memory)->tile;
    const int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    for (int i = threadIdx.y; i < TILE; i += blockDim.y)
        for (int j = threadIdx.x; j < TILE; j += blockDim.x)
            if (row + i < rows && column + j < columns) tile[i * Traits::kPitch + j] = x[(size_t)(row + i) * columns + column + j];
    __syncthreads();
    for (int i = threadIdx.y; i < TILE; i += blockDim.y)
        for (int j = threadIdx.x; j < TILE; j += blockDim.x)
            if (column + i < columns && row + j < rows) y[(size_t)(column + i) * rows + row + j] = tile[j * Traits::kPitch + i];
}
