#pragma once

namespace boxes {
__device__ inline float passed(float x) { return x; }
}
