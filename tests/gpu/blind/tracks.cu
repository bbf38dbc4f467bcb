// A step of a Kalman filter for N tracks of position and velocity in space: predict over dt with noise q, then correct by a measured
// position with noise r. Planar: states [6, N], covariances [36, N], measured [3, N]; new_states, new_covariances as the first two.

// A thread a track.
extern "C" __global__ void track(const float *__restrict__ states, const float *__restrict__ covariances, const float *__restrict__ measured, float *__restrict__ new_states,
                                 float *__restrict__ new_covariances, int N, float dt, float q, float r) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    float s[6], p[6][6];
#pragma unroll
    for (int i = 0; i < 6; ++i) {
        s[i] = states[i * N + at];
#pragma unroll
        for (int j = 0; j < 6; ++j) p[i][j] = 0.1f * covariances[(6 * i + j) * N + at] + (i == j ? 1.0f : 0.0f);
    }

    // Predict: the first three states move by dt times the last three.
#pragma unroll
    for (int i = 0; i < 3; ++i) {
        s[i] += dt * s[i + 3];
#pragma unroll
        for (int j = 0; j < 6; ++j) p[i][j] += dt * p[i + 3][j];
    }
#pragma unroll
    for (int i = 0; i < 6; ++i)
#pragma unroll
        for (int j = 0; j < 3; ++j) p[i][j] += dt * p[i][j + 3];
#pragma unroll
    for (int i = 0; i < 6; ++i) p[i][i] += q;

    // The inverse of the upper left 3 x 3 part, with r on its diagonal.
    const float a = p[0][0] + r, b = p[0][1], c = p[0][2], d = p[1][0], e = p[1][1] + r, f = p[1][2], g = p[2][0], h = p[2][1], k = p[2][2] + r;
    const float inverse_of_determinant = 1.0f / (a * (e * k - f * h) - b * (d * k - f * g) + c * (d * h - e * g));
    const float m[3][3] = {{(e * k - f * h) * inverse_of_determinant, (c * h - b * k) * inverse_of_determinant, (b * f - c * e) * inverse_of_determinant},
                           {(f * g - d * k) * inverse_of_determinant, (a * k - c * g) * inverse_of_determinant, (c * d - a * f) * inverse_of_determinant},
                           {(d * h - e * g) * inverse_of_determinant, (b * g - a * h) * inverse_of_determinant, (a * e - b * d) * inverse_of_determinant}};

    // The gain is the left half of p times m.
    float gain[6][3], difference[3];
#pragma unroll
    for (int i = 0; i < 6; ++i)
#pragma unroll
        for (int j = 0; j < 3; ++j) gain[i][j] = p[i][0] * m[0][j] + p[i][1] * m[1][j] + p[i][2] * m[2][j];
#pragma unroll
    for (int j = 0; j < 3; ++j) difference[j] = measured[j * N + at] - s[j];
#pragma unroll
    for (int i = 0; i < 6; ++i) {
        new_states[i * N + at] = s[i] + gain[i][0] * difference[0] + gain[i][1] * difference[1] + gain[i][2] * difference[2];
#pragma unroll
        for (int j = 0; j < 6; ++j) new_covariances[(6 * i + j) * N + at] = p[i][j] - (gain[i][0] * p[0][j] + gain[i][1] * p[1][j] + gain[i][2] * p[2][j]);
    }
}
