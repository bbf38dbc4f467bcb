// A kernel as libraries ship it: a traits class, an enumerator with a default and a functor as template arguments, and the
// functor by value. Nothing here instantiates it.
#include <cuda_fp16.h>

namespace lib {
enum class Rounding { nearest, down };

template <typename T, int Threads>
struct Traits {
    using Element = T;
    static constexpr int threads = Threads;
};

struct Half {
    __device__ float operator()(float x) const { return 0.5f * x; }
};

template <Rounding rounding>
__device__ __half rounded(float x) {
    return rounding == Rounding::nearest ? __float2half_rn(x) : __float2half_rd(x);
}

template <typename Traits, typename Op, Rounding rounding = Rounding::nearest>
__global__ void __launch_bounds__(Traits::threads)
apply(const typename Traits::Element* x, typename Traits::Element* y, int n, Op op) {
    const int at = blockIdx.x * Traits::threads + threadIdx.x;
    if (at < n) y[at] = rounded<rounding>(op(__half2float(x[at])));
}
}  // namespace lib
