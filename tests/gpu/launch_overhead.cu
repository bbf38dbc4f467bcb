// What makes the launches in a CUDA graph take longer: other graphs, and the reset of persisting lines.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <vector>

#define CHECK(call)                                                                                   \
    if (cudaError_t error = (call)) {                                                                 \
        std::printf("%s: %s\n", #call, cudaGetErrorString(error));                                    \
        std::exit(1);                                                                                 \
    }

constexpr int LAUNCHES = 200, SAMPLES = 40;

// Some microseconds of arithmetic.
__global__ void work(float *out) {
    float value = threadIdx.x;
    for (int i = 0; i < 600; ++i) value = value * 1.0001f + 0.5f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

// Holds the device until everything is queued.
__global__ void blocking(const volatile unsigned *released) {
    while (!*released) {}
}

static cudaStream_t stream;

static cudaGraphExec_t graph(float *out, int launches = LAUNCHES) {
    cudaGraph_t captured;
    cudaGraphExec_t executable;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < launches; ++i) work<<<132, 256, 0, stream>>>(out);
    CHECK(cudaStreamEndCapture(stream, &captured));
    CHECK(cudaGraphInstantiate(&executable, captured, 0));
    CHECK(cudaGraphDestroy(captured));
    return executable;
}

struct Timed {
    cudaGraphExec_t graph;
    volatile unsigned *released;
    float *out;
};

// Prints the microseconds of a launch in the graph: the median of some replays, each after a launch of its own.
static void print(const char *what, const Timed &timed) {
    cudaEvent_t start, end;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    std::vector<float> samples;
    for (int i = 0; i < SAMPLES; ++i) {
        float milliseconds;
        *timed.released = 0;
        blocking<<<1, 1, 0, stream>>>(const_cast<unsigned *>(timed.released));
        work<<<132, 256, 0, stream>>>(timed.out);
        CHECK(cudaEventRecord(start, stream));
        CHECK(cudaGraphLaunch(timed.graph, stream));
        CHECK(cudaEventRecord(end, stream));
        *timed.released = 1;
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaEventElapsedTime(&milliseconds, start, end));
        samples.push_back(milliseconds * 1e3f / LAUNCHES);
    }
    std::nth_element(samples.begin(), samples.begin() + SAMPLES / 2, samples.end());
    std::printf("%-55s %.3f us a launch\n", what, samples[SAMPLES / 2]);
}

int main() {
    float *out;
    unsigned *released;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&out, 132 * 256 * sizeof(float)));
    CHECK(cudaHostAlloc(&released, sizeof(unsigned), cudaHostAllocMapped));
    Timed timed = {graph(out), released, out};
    print("one graph", timed);
    cudaGraphExec_t other = graph(out);
    print("another instantiated", timed);
    CHECK(cudaGraphLaunch(other, stream));
    print("and launched", timed);
    for (int launches : {1, 8, 32, LAUNCHES}) {
        char what[64];
        other = graph(out, launches);
        CHECK(cudaGraphUpload(other, stream));
        std::snprintf(what, sizeof what, "a graph of %d uploaded", launches);
        print(what, timed);
        CHECK(cudaGraphLaunch(other, stream));
        print("and launched", timed);
    }
    CHECK(cudaCtxResetPersistingL2Cache());
    print("persisting lines reset", timed);
    timed.graph = graph(out);
    CHECK(cudaGraphLaunch(timed.graph, stream));
    print("a graph captured after the reset", timed);
}
