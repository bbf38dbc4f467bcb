// The best ungapped local alignment of a query of L residues with every place of a database of residues 0 to 23: the largest sum of
// matrix[query[i], database[p + i]] over a run of i.

__constant__ int substitutions[24 * 24];

// Block: 256, a place a thread.
extern "C" __global__ void align_a(const unsigned char *__restrict__ query, const unsigned char *__restrict__ database, const int *, int *__restrict__ best, int L) {
    extern __shared__ unsigned char residues[];
    const size_t first = static_cast<size_t>(blockIdx.x) * 256;
    for (int i = threadIdx.x; i < 256 + L; i += 256) residues[i] = database[first + i];
    __syncthreads();
    int run = 0, largest = 0;
#pragma unroll 8
    for (int i = 0; i < L; ++i) {
        run = max(run + substitutions[query[i] * 24 + residues[threadIdx.x + i]], 0);
        largest = max(largest, run);
    }
    best[first + threadIdx.x] = largest;
}

extern "C" __global__ void align_b(const unsigned char *__restrict__ query, const unsigned char *__restrict__ database, const int *__restrict__ matrix, int *__restrict__ best, int L) {
    extern __shared__ unsigned char residues[];
    __shared__ int scores[24 * 24];
    const size_t first = static_cast<size_t>(blockIdx.x) * 256;
    for (int i = threadIdx.x; i < 24 * 24; i += 256) scores[i] = matrix[i];
    for (int i = threadIdx.x; i < 256 + L; i += 256) residues[i] = database[first + i];
    __syncthreads();
    int run = 0, largest = 0;
#pragma unroll 8
    for (int i = 0; i < L; ++i) {
        run = max(run + scores[query[i] * 24 + residues[threadIdx.x + i]], 0);
        largest = max(largest, run);
    }
    best[first + threadIdx.x] = largest;
}
