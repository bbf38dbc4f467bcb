// Register tiles: BM x BN of C a block, TM x TN of it a thread. The pointers are not const.
template <const int BM, const int BN, const int BK, const int TM, const int TN>
__global__ void __launch_bounds__((BM * BN) / (TM * TN), 1)
    sgemm_tiled(int M, int N, int K, float alpha, float *A, float *B, float beta, float *C) {
  const unsigned cRow = blockIdx.y;
  const unsigned cCol = blockIdx.x;
  const unsigned threads = BM * BN / (TM * TN);
  const int threadCol = threadIdx.x % (BN / TN), threadRow = threadIdx.x / (BN / TN);
  __shared__ float As[BM * BK];
  __shared__ float Bs[BK * BN];
  A += cRow * BM * K;
  B += cCol * BN;
  C += cRow * BM * N + cCol * BN;
  const unsigned innerRowA = threadIdx.x / BK, innerColA = threadIdx.x % BK, strideA = threads / BK;
  const unsigned innerRowB = threadIdx.x / BN, innerColB = threadIdx.x % BN, strideB = threads / BN;
  float results[TM * TN] = {0.0f}, regM[TM], regN[TN];
  for (unsigned bk = 0; bk < K; bk += BK) {
    for (unsigned at = 0; at < BM; at += strideA) As[(innerRowA + at) * BK + innerColA] = A[(innerRowA + at) * K + innerColA];
    for (unsigned at = 0; at < BK; at += strideB) Bs[(innerRowB + at) * BN + innerColB] = B[(innerRowB + at) * N + innerColB];
    __syncthreads();
    A += BK;
    B += BK * N;
    for (unsigned dot = 0; dot < BK; ++dot) {
      for (int i = 0; i < TM; ++i) regM[i] = As[(threadRow * TM + i) * BK + dot];
      for (int i = 0; i < TN; ++i) regN[i] = Bs[dot * BN + threadCol * TN + i];
      for (int m = 0; m < TM; ++m)
        for (int n = 0; n < TN; ++n) results[m * TN + n] += regM[m] * regN[n];
    }
    __syncthreads();
  }
  for (int m = 0; m < TM; ++m)
    for (int n = 0; n < TN; ++n)
      C[(threadRow * TM + m) * N + threadCol * TN + n] =
          alpha * results[m * TN + n] + beta * C[(threadRow * TM + m) * N + threadCol * TN + n];
}

void launch(float *A, float *B, float *C) { sgemm_tiled<128, 128, 8, 8, 8><<<dim3(8, 8), 256>>>(1024, 1024, 1024, 1, A, B, 0, C); }
