/* A double of CUPTI for the double of the driver: it hears of every kernel, and hands records over as the real one does. A record is
 * CUpti_ActivityKernel9 of cupti_activity.h, field by field.
 *
 *   NCUGATE_DOUBLE_CUPTI  ok (default), unknown (an API version that nobody knows), older (one whose records begin alike), refuses,
 *                         silent (no records), untimed (records without times), slow (thirty times as long), stuck (the same record
 *                         for ever), hang (when it is flushed), hang-later, crash-later (at a kernel that is not ncugate's own) */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int Result;
enum { OK = 0, NO_MORE = 12, REFUSED = 35, CONCURRENT_KERNEL = 10, MOST = 4096 };

#pragma pack(push, 8)
typedef struct {
    uint32_t kind;
    uint8_t cacheConfig, sharedMemoryConfig;
    uint16_t registersPerThread;
    uint32_t partitionedGlobalCache[2];
    uint64_t start, end, completed;
    uint32_t deviceId, contextId, streamId;
    int32_t grid[3], block[3], staticSharedMemory, dynamicSharedMemory;
    uint32_t localMemoryPerThread, localMemoryTotal, correlationId;
    int64_t gridId;
    const char *name;
    void *reserved0;
    uint64_t queued, submitted;
    uint8_t launchType, carveoutRequested[2], padding;
    uint32_t sharedMemoryExecuted;
    uint64_t graphNodeId;
    uint32_t shmemLimitConfig, graphId;
    void *pAccessPolicyWindow;
    uint32_t channelID, channelType, cluster[3], clusterSchedulingPolicy;
    uint64_t localMemoryTotal_v2;
    uint32_t maxPotentialClusterSize, maxActiveClusters;
} Kernel;
#pragma pack(pop)

_Static_assert(sizeof(Kernel) == 208, "CUpti_ActivityKernel9");

static Kernel records[MOST];
static size_t count;
static int enabled, foreign;
static void (*request)(uint8_t **, size_t *, size_t *);
static void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t);

static int is(const char *mode) {
    const char *asked = getenv("NCUGATE_DOUBLE_CUPTI");
    return asked && !strcmp(asked, mode);
}

static void launched(const char *name, const unsigned launch[7], uint64_t begun, uint64_t ended) {
    if (!enabled || count == MOST)
        return;
    foreign |= strncmp(name, "ncugate_", 8) != 0;
    uint64_t took = (ended > begun ? ended - begun : 1) * (is("slow") ? 30000 : 1000);
    Kernel record = {.kind = CONCURRENT_KERNEL, .registersPerThread = 32, .start = 1000000 + begun * 1000, .name = strdup(name)};
    record.end = record.start + took;
    for (int axis = 0; axis < 3; axis++) {
        record.grid[axis] = launch[axis];
        record.block[axis] = launch[3 + axis];
    }
    record.staticSharedMemory = 512;
    record.dynamicSharedMemory = launch[6];
    if (is("untimed"))
        record.start = record.end = 0;
    records[count++] = record;
}

Result cuptiGetVersion(uint32_t *version) {
    *version = is("unknown") ? 990000 : is("older") ? 26 : 130001;
    return OK;
}

Result cuptiGetResultString(Result result, const char **text) {
    *text = result == REFUSED ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR_UNKNOWN";
    return OK;
}

Result cuptiActivityRegisterCallbacks(void (*r)(uint8_t **, size_t *, size_t *),
                                      void (*c)(void *, uint32_t, uint8_t *, size_t, size_t)) {
    request = r;
    complete = c;
    return OK;
}

Result cuptiActivityEnable(uint32_t kind) {
    if (is("refuses"))
        return REFUSED;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    void (**hook)(const char *, const unsigned *, uint64_t, uint64_t) = driver ? dlsym(driver, "doubleLaunched") : 0;
    if (!hook || kind != CONCURRENT_KERNEL)
        return 999;
    *hook = launched;
    enabled = 1;
    return OK;
}

Result cuptiActivityDisable(uint32_t kind) {
    enabled = 0;
    return OK;
}

Result cuptiActivityFlushAll(uint32_t flag) {
    if (is("hang") || (foreign && is("hang-later")))
        for (;;)
            pause();
    if (foreign && is("crash-later"))
        abort();
    if (!count || is("silent"))
        return OK;
    uint8_t *buffer = 0;
    size_t size = 0, most = 0;
    request(&buffer, &size, &most);
    size_t bytes = count * sizeof(Kernel);
    if (!buffer || size < bytes)
        return 999;
    memcpy(buffer, records, bytes);
    count = 0;
    complete(0, 0, buffer, size, bytes);
    return OK;
}

Result cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record) {
    uint8_t *next = !*record || is("stuck") ? buffer : *record + sizeof(Kernel);
    if (next + sizeof(Kernel) > buffer + valid)
        return NO_MORE;
    *record = next;
    return OK;
}
