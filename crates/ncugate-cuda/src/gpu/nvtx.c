/* The two calls of NVTX that src/gpu/nvtx.rs uses. In the headers they are inline, so that Rust cannot name them. */
#include <nvtx3/nvToolsExt.h>

int ncugate_nvtx_push(const char *name) { return nvtxRangePushA(name); }

int ncugate_nvtx_pop(void) { return nvtxRangePop(); }
