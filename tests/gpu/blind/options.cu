// European call and put prices by Black and Scholes, with the normal distribution by Abramowitz and Stegun's 26.2.17.
// contracts is planar [3, N]: spot, strike, years. prices is [2, N]: calls, puts.

__device__ __forceinline__ float normal_a(float d) {
    const float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    const float tail = 0.39894228f * expf(-0.5f * d * d) *
                       (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0.0f ? 1.0f - tail : tail;
}

extern "C" __global__ void price_a(const float *__restrict__ contracts, float *__restrict__ prices, int N, float rate, float volatility) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    const float spot = contracts[at], strike = contracts[N + at], years = contracts[2 * N + at];
    const float spread = volatility * sqrtf(years);
    const float d1 = (logf(spot / strike) + (rate + 0.5f * volatility * volatility) * years) / spread, d2 = d1 - spread;
    const float present = strike * expf(-rate * years), n1 = normal_a(d1), n2 = normal_a(d2);
    prices[at] = spot * n1 - present * n2;
    prices[N + at] = present * (1.0f - n2) - spot * (1.0f - n1);
}

__device__ __forceinline__ float normal_b(float d) {
    const float k = 1.0 / (1.0 + 0.2316419 * fabs(d));
    const float tail = 0.39894228 * exp(-0.5 * d * d) *
                       (k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))));
    return d > 0.0 ? 1.0 - tail : tail;
}

extern "C" __global__ void price_b(const float *__restrict__ contracts, float *__restrict__ prices, int N, float rate, float volatility) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    const float spot = contracts[at], strike = contracts[N + at], years = contracts[2 * N + at];
    const float spread = volatility * sqrt(years);
    const float d1 = (log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread, d2 = d1 - spread;
    const float present = strike * exp(-rate * years), n1 = normal_b(d1), n2 = normal_b(d2);
    prices[at] = spot * n1 - present * n2;
    prices[N + at] = present * (1.0 - n2) - spot * (1.0 - n1);
}
