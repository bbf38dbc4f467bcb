// Occupancy by NVIDIA's cuda_occupancy.h, for tests/it/occupancies.rs. A line of the input has a chip (compute capability,
// resident threads, shared memory, opt-in, reserve) and a block (registers, shared memory, threads, barriers). A line of the
// output has a status, the blocks per multiprocessor, and the limits by registers, shared memory, warps, blocks and barriers.
#include <cuda_occupancy.h>
#include <cstdio>
int main() {
    int major, minor, resident, registers, threads, barriers;
    size_t shared, optin, reserved, bytes;
    while (std::scanf("%d %d %d %zu %zu %zu %d %zu %d %d", &major, &minor, &resident, &shared, &optin, &reserved, &registers,
                      &bytes, &threads, &barriers) == 10) {
        cudaOccDeviceProp chip;
        chip.computeMajor = major, chip.computeMinor = minor;
        chip.maxThreadsPerBlock = 1024, chip.maxThreadsPerMultiprocessor = resident;
        chip.regsPerBlock = chip.regsPerMultiprocessor = 65536;
        chip.warpSize = 32, chip.numSms = 1;
        chip.sharedMemPerBlock = 49152, chip.sharedMemPerMultiprocessor = shared;
        chip.sharedMemPerBlockOptin = optin, chip.reservedSharedMemPerBlock = reserved;
        cudaOccFuncAttributes kernel;
        kernel.maxThreadsPerBlock = 1024, kernel.numRegs = registers, kernel.sharedSizeBytes = 0;
        kernel.partitionedGCConfig = PARTITIONED_GC_OFF, kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
        kernel.maxDynamicSharedSizeBytes = optin, kernel.numBlockBarriers = barriers, kernel.virtualResourceCount = 0;
        cudaOccDeviceState state;
        state.cacheConfig = CACHE_PREFER_NONE, state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
        cudaOccResult is;
        int status = cudaOccMaxActiveBlocksPerMultiprocessor(&is, &chip, &kernel, &state, threads, bytes);
        std::printf("%d %d %d %d %d %d %d\n", status, is.activeBlocksPerMultiprocessor, is.blockLimitRegs,
                    is.blockLimitSharedMem, is.blockLimitWarps, is.blockLimitBlocks, is.blockLimitBarriers);
    }
}
