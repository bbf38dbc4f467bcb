// c = a b^T in NVFP4 with mma.sync of 12.x: two 4-bit floats a byte, every block scale 1. A warp computes 16 x 8. Never run
// on hardware.
#include <cstdint>

extern "C" __global__ void product(const uint8_t *a, const uint8_t *b, float *c, int columns, int depth) {
    const int lane = threadIdx.x, group = lane / 4, of_group = lane % 4;
    const int first_row = blockIdx.x * 16, first_column = blockIdx.y * 8;
    // 8 values are 4 bytes.
    const auto word = [&](const uint8_t *matrix, int row, int column) {
        return *reinterpret_cast<const uint32_t *>(matrix + (int64_t{row} * depth + column) / 2);
    };
    float sum[4] = {};
    const uint32_t one = 0x38383838;
    const uint16_t which = 0;
    for (int step = 0; step < depth; step += 64) {
        const int column = step + of_group * 8;
        const uint32_t a0 = word(a, first_row + group, column), a1 = word(a, first_row + group + 8, column);
        const uint32_t a2 = word(a, first_row + group, column + 32), a3 = word(a, first_row + group + 8, column + 32);
        const uint32_t b0 = word(b, first_column + group, column), b1 = word(b, first_column + group, column + 32);
        asm volatile("mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 "
                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, %10, {%11, %11}, %10, {%11, %11};"
                     : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                     : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "r"(one), "h"(which));
    }
    for (int i = 0; i < 4; i++)
        c[int64_t{first_row + group + i / 2 * 8} * columns + first_column + of_group * 2 + i % 2] = sum[i];
}
