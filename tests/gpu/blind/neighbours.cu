// Nearest neighbours among quantised embeddings: the largest of the inner products of each of V vectors of 128 signed bytes with 32
// queries. vectors is [V, 128], queries [32, 128], largest [V].

struct Bytes {
    static __device__ int product(int a, int b, int sum) {
#pragma unroll
        for (int k = 0; k < 4; ++k) sum += static_cast<signed char>(a >> (8 * k)) * static_cast<signed char>(b >> (8 * k));
        return sum;
    }
};

struct Words {
    static __device__ int product(int a, int b, int sum) { return __dp4a(a, b, sum); }
};

// A thread a vector. Block: 128.
template <class Form>
__device__ __forceinline__ void match(const int4 *__restrict__ vectors, const int4 *__restrict__ queries, int *__restrict__ largest) {
    __shared__ int4 shared[32 * 8];
    for (int i = threadIdx.x; i < 32 * 8; i += 128) shared[i] = queries[i];
    __syncthreads();
    const size_t own = static_cast<size_t>(blockIdx.x) * 128 + threadIdx.x;
    int4 vector[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) vector[k] = vectors[own * 8 + k];
    int highest = -2147483647;
#pragma unroll 2
    for (int q = 0; q < 32; ++q) {
        int sum = 0;
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            const int4 query = shared[q * 8 + k];
            sum = Form::product(vector[k].x, query.x, sum);
            sum = Form::product(vector[k].y, query.y, sum);
            sum = Form::product(vector[k].z, query.z, sum);
            sum = Form::product(vector[k].w, query.w, sum);
        }
        highest = max(highest, sum);
    }
    largest[own] = highest;
}

extern "C" __global__ void match_a(const int4 *__restrict__ vectors, const int4 *__restrict__ queries, int *__restrict__ largest) { match<Bytes>(vectors, queries, largest); }

extern "C" __global__ void match_b(const int4 *__restrict__ vectors, const int4 *__restrict__ queries, int *__restrict__ largest) { match<Words>(vectors, queries, largest); }
