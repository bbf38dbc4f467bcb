// CUTLASS's own fused attention, taken from the examples of a CUTLASS checkout: nothing of CUTLASS is in this repository.
//
//     o[b,h] = softmax(q[b,h] . k[b,h]^T * scale) . v[b,h]       q, k, v, o: [B, H, S, 64] f16, contiguous
//
// ncugate builds this as host code that launches kernels (`host` under [kernel]). nvcc finds CUTLASS by its include folder, whose neighbour
// `examples` has the kernels:
//
//     CPLUS_INCLUDE_PATH=~/cutlass/include ncugate run configs/baselines.toml
//
// Macros
//   KERNEL   0  example 41_fused_multi_head_attention, 64 x 64 tiles: mma.sync and cp.async, the kernel that xFormers brought (sm_80 and up)
//            1  example 88_hopper_fmha, TMA and wgmma, 64 x 128 tiles
//            2  the same, warp-specialised cooperative, 128 x 64 tiles
//            3  the same, warp-specialised ping-pong and persistent, 128 x 64 tiles      (1 to 3: sm_90a, S a multiple of 128)
//            The tiles are those that each example takes for a head of 64.
//   CAUSAL   1: rows see the keys up to their own index (default 0)
#ifndef KERNEL
#error "KERNEL: 0 is example 41, 1 to 3 are the kernels of example 88"
#endif
#ifndef CAUSAL
#define CAUSAL 0
#endif

#if !__has_include(<cutlass/cutlass.h>)
#error "CUTLASS is not on the include path: set CPLUS_INCLUDE_PATH to the `include` folder of a checkout of https://github.com/NVIDIA/cutlass"
#endif

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <stdexcept>

#include <cutlass/cutlass.h>
#include <cutlass/numeric_types.h>

namespace {

constexpr int HEAD_DIM = 64;

// Everything of one call. The examples compute the scale of a head of HEAD_DIM themselves.
struct Call {
    const __half *q, *k, *v;
    __half* o;
    float* lse;          // [B, H, S] log-sum-exp, which the kernels of example 88 always write
    int B, H, S;
    cudaStream_t stream;
};

cutlass::half_t* element(const __half* pointer) { return reinterpret_cast<cutlass::half_t*>(const_cast<__half*>(pointer)); }

}  // namespace

#if KERNEL == 0
#include <../examples/41_fused_multi_head_attention/kernel_forward.h>

namespace {

using Attention = AttentionKernel<cutlass::half_t, cutlass::arch::Sm80, true, 64, 64, HEAD_DIM, false, false>;

__global__ void __launch_bounds__(Attention::kNumThreads, Attention::kMinBlocksPerSm) fmha(typename Attention::Params p) {
    if (!p.advance_to_block()) return;
    Attention::attention_kernel(p);
}

// The output of the example is [B, S, H, D]. With every head as a batch of one head, that is [B, H, S, D].
cudaError_t run(const Call& call) {
    Attention::Params p;
    p.query_ptr = element(call.q);
    p.key_ptr = element(call.k);
    p.value_ptr = element(call.v);
    p.output_ptr = element(call.o);
    p.scale = 1.0f / 8.0f;
    static_assert(HEAD_DIM == 64, "the scale is 1 / sqrt(HEAD_DIM)");
    p.num_batches = call.B * call.H;
    p.num_heads = 1;
    p.num_queries = p.num_keys = call.S;
    p.head_dim = p.head_dim_value = HEAD_DIM;
    p.custom_mask_type = CAUSAL ? Attention::CausalFromTopLeft : Attention::NoCustomMask;
    p.q_strideM = p.k_strideM = p.v_strideM = p.o_strideM = HEAD_DIM;
    p.q_strideH = p.k_strideH = p.v_strideH = HEAD_DIM;
    p.q_strideB = p.k_strideB = p.v_strideB = static_cast<int64_t>(call.S) * HEAD_DIM;
    if (!Attention::check_supported(p)) throw std::runtime_error("example 41 does not support this shape");
    constexpr int shared = sizeof(typename Attention::SharedStorage);
    if constexpr (shared > 48 * 1024) {
        const cudaError_t error = cudaFuncSetAttribute(fmha, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
        if (error != cudaSuccess) return error;
    }
    fmha<<<p.getBlocksGrid(), p.getThreadsGrid(), shared, call.stream>>>(p);
    return cudaGetLastError();
}

}  // namespace

#else
#include <cute/tensor.hpp>
#include <cutlass/kernel_hardware_info.h>

#include <../examples/88_hopper_fmha/collective/fmha_fusion.hpp>
#include <../examples/88_hopper_fmha/device/device_universal.hpp>
#include <../examples/88_hopper_fmha/kernel/fmha_kernel_builder.hpp>

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

cudaError_t run(const Call& call) {
    const int plane = call.S * HEAD_DIM;
    const Stride rows = make_stride(HEAD_DIM, _1{}, make_stride(call.H * plane, plane));
    const auto lse = make_stride(_1{}, make_stride(call.H * call.S, call.S));
    cutlass::KernelHardwareInfo chip;
    chip.sm_count = cutlass::KernelHardwareInfo::query_device_multiprocessor_count(chip.device_id);
    typename Operation::Arguments arguments{{call.B, call.H, call.S, call.S, HEAD_DIM},
                                            {element(call.q), rows, element(call.k), rows, element(call.v), rows},
                                            {element(call.o), rows, call.lse, lse},
                                            chip};
    Operation operation;
    if (operation.can_implement(arguments) != cutlass::Status::kSuccess) throw std::runtime_error("example 88 does not support this shape");
    if (Operation::get_workspace_size(arguments) != 0) throw std::runtime_error("example 88 asks for a workspace");
    const cutlass::Status status = operation.run(arguments, nullptr, call.stream);
    if (status != cutlass::Status::kSuccess) throw std::runtime_error(cutlass::cutlassGetStatusString(status));
    return cudaGetLastError();
}

}  // namespace
#endif

cudaError_t sdpa_cutlass(const __half* q, const __half* k, const __half* v, __half* o, int B, int H, int S, void* lse, cudaStream_t stream) {
    return run({q, k, v, o, static_cast<float*>(lse), B, H, S, stream});
}
