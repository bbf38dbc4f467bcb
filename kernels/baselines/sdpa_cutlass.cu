// CUTLASS's own fused attention, taken from the examples of a CUTLASS checkout: nothing of CUTLASS is in this repository.
//
//     o[b,h] = softmax(q[b,h] . k[b,h]^T / sqrt(64)) . v[b,h]       q, k, v: [B, H, S, 64] f16, contiguous; o: [B, S, H, 64] f16
//
// sdpa_cutlass.py compiles this into a shared library and calls it:
//
//     nvcc -O3 -std=c++17 -shared -Xcompiler -fPIC --expt-relaxed-constexpr --use_fast_math -gencode arch=compute_90a,code=sm_90a \
//          -I$CUTLASS_PATH/include -I$CUTLASS_PATH/examples/88_hopper_fmha -DKERNEL=2 -DCAUSAL=0
//
// Macros
//   KERNEL   0  example 41_fused_multi_head_attention, 64 x 64 tiles: mma.sync and cp.async, the kernel that xFormers brought (sm_80 and up)
//            1  example 88_hopper_fmha, TMA and wgmma, 64 x 128 tiles
//            2  the same, warp-specialised cooperative, 128 x 64 tiles
//            3  the same, warp-specialised ping-pong and persistent, 128 x 64 tiles      (1 to 3: sm_90a)
//            The tiles are those that each example takes for a head of 64.
//   CAUSAL   1: rows see the keys up to their own index (default 0)
#ifndef KERNEL
#error "KERNEL: 0 is example 41, 1 to 3 are the kernels of example 88"
#endif
#ifndef CAUSAL
#define CAUSAL 0
#endif

#include <cuda_runtime.h>

#include <cmath>

#include "cutlass/cutlass.h"
#include "cutlass/version.h"

namespace {

constexpr int HEAD_DIM = 64;

// Everything of one call; rows of q, k and v are HEAD_DIM apart, those of o H * HEAD_DIM.
struct Call {
    void *q, *k, *v, *o;
    float* lse;          // [B, H, S] log-sum-exp, which the kernels of example 88 always write
    int B, H, S;
    cudaStream_t stream;
};

const char* launched() {
    const cudaError_t error = cudaGetLastError();
    return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

}  // namespace

#if KERNEL == 0
#include "kernel_forward.h"

namespace {

using Attention = AttentionKernel<cutlass::half_t, cutlass::arch::Sm80, true, 64, 64, HEAD_DIM, false, false>;

__global__ void __launch_bounds__(Attention::kNumThreads, Attention::kMinBlocksPerSm) fmha(typename Attention::Params p) {
    if (!p.advance_to_block()) return;
    Attention::attention_kernel(p);
}

const char* run(const Call& call) {
    Attention::Params p;
    p.query_ptr = static_cast<cutlass::half_t*>(call.q);
    p.key_ptr = static_cast<cutlass::half_t*>(call.k);
    p.value_ptr = static_cast<cutlass::half_t*>(call.v);
    p.output_ptr = static_cast<cutlass::half_t*>(call.o);
    p.scale = 1.0f / std::sqrt(static_cast<float>(HEAD_DIM));
    p.num_batches = call.B;
    p.num_heads = call.H;
    p.num_queries = p.num_keys = call.S;
    p.head_dim = p.head_dim_value = HEAD_DIM;
    p.custom_mask_type = CAUSAL ? Attention::CausalFromTopLeft : Attention::NoCustomMask;
    p.q_strideM = p.k_strideM = p.v_strideM = HEAD_DIM;
    p.q_strideH = p.k_strideH = p.v_strideH = call.S * HEAD_DIM;
    p.q_strideB = p.k_strideB = p.v_strideB = static_cast<int64_t>(call.H) * call.S * HEAD_DIM;
    p.o_strideM = call.H * HEAD_DIM;
    if (!Attention::check_supported(p)) return "example 41 does not support this shape";
    constexpr int shared = sizeof(typename Attention::SharedStorage);
    if constexpr (shared > 48 * 1024) {
        const cudaError_t error = cudaFuncSetAttribute(fmha, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
        if (error != cudaSuccess) return cudaGetErrorString(error);
    }
    fmha<<<p.getBlocksGrid(), p.getThreadsGrid(), shared, call.stream>>>(p);
    return launched();
}

}  // namespace

#else
#include "cute/tensor.hpp"
#include "cutlass/kernel_hardware_info.h"

#include "collective/fmha_fusion.hpp"
#include "device/device_universal.hpp"
#include "kernel/fmha_kernel_builder.hpp"

namespace {

using namespace cute;

#if KERNEL == 1
using Tile = Shape<_64, _128, Int<HEAD_DIM>>;
using Schedule = cutlass::gemm::KernelTma;
#elif KERNEL == 2
using Tile = Shape<_128, _64, Int<HEAD_DIM>>;
using Schedule = cutlass::gemm::KernelTmaWarpSpecializedCooperative;
#else
using Tile = Shape<_128, _64, Int<HEAD_DIM>>;
using Schedule = cutlass::gemm::KernelTmaWarpSpecializedPingpong;
#endif
using Fusion = std::conditional_t<CAUSAL, cutlass::fmha::collective::CausalFusion, cutlass::fmha::collective::DefaultFusion>;
using Stride = cute::tuple<int, _1, cute::tuple<int, int>>;  // row, dimension, (batch, head)
using Operation = cutlass::device::Universal<typename cutlass::fmha::kernel::FmhaBuilder<
    cutlass::half_t, float, float, Tile, Stride, Stride, Stride, Fusion, Schedule>::Kernel>;

const char* run(const Call& call) {
    const int plane = call.S * HEAD_DIM;
    const Stride in = make_stride(HEAD_DIM, _1{}, make_stride(call.H * plane, plane));
    const Stride out = make_stride(call.H * HEAD_DIM, _1{}, make_stride(call.H * plane, HEAD_DIM));
    const auto lse = make_stride(_1{}, make_stride(call.H * call.S, call.S));
    cutlass::KernelHardwareInfo chip;
    chip.sm_count = cutlass::KernelHardwareInfo::query_device_multiprocessor_count(chip.device_id);
    auto element = [](void* pointer) { return static_cast<cutlass::half_t*>(pointer); };
    typename Operation::Arguments arguments{{call.B, call.H, call.S, call.S, HEAD_DIM},
                                            {element(call.q), in, element(call.k), in, element(call.v), in},
                                            {element(call.o), out, call.lse, lse},
                                            chip};
    Operation operation;
    if (operation.can_implement(arguments) != cutlass::Status::kSuccess) return "example 88 does not support this shape";
    if (Operation::get_workspace_size(arguments) != 0) return "example 88 asks for a workspace";
    const cutlass::Status status = operation.run(arguments, nullptr, call.stream);
    if (status != cutlass::Status::kSuccess) return cutlass::cutlassGetStatusString(status);
    return launched();
}

}  // namespace
#endif

// Queues one attention on `stream`; null, or why it could not be.
extern "C" const char* sdpa_cutlass(void* q, void* k, void* v, void* o, void* lse, int B, int H, int S, void* stream) {
    return run({q, k, v, o, static_cast<float*>(lse), B, H, S, static_cast<cudaStream_t>(stream)});
}

// Major, minor and patch of CUTLASS, each in two digits.
extern "C" int cutlass_version() { return 10000 * CUTLASS_MAJOR + 100 * CUTLASS_MINOR + CUTLASS_PATCH; }
