/* A double of NVML for the double of the driver. Its clock is 1980 MHz, and 990 MHz in a throttled reading.
 *
 *   NCUGATE_DOUBLE_THROTTLE  MASK or MASK:FROM: the throttle reasons of every reading, or of those from FROM (0) on
 *   NCUGATE_DOUBLE_NVML      ok (default), refuses (it cannot be initialised), blind (it has no clocks, as for a slice)
 *   NCUGATE_DOUBLE_ENERGY    of 310.4 W in the time of the double of the driver: counter (default, moves every 20 ms), power (there is
 *                            no counter), stands, backwards (it wraps after a second), sliced (MIG is on)
 *   NCUGATE_DOUBLE_OTHERS    processes that are listed besides the asking one (0) */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int Result;
enum { OK = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, UNKNOWN = 999 };

static int reading, throttled;

static int set(const char *name, const char *value) {
    const char *asked = getenv(name);
    return asked && !strcmp(asked, value);
}
static int is(const char *mode) { return set("NCUGATE_DOUBLE_NVML", mode); }

Result nvmlInit_v2(void) { return is("refuses") ? UNKNOWN : OK; }
Result nvmlShutdown(void) { return OK; }

Result nvmlDeviceGetHandleByUUID(const char *uuid, void **device) {
    *device = &reading;
    return strncmp(uuid, "GPU-", 4) ? NOT_FOUND : OK;
}

/* The first value that is read; the others are of the same moment. */
Result nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons) {
    unsigned mask = 0;
    int from = 0;
    const char *asked = getenv("NCUGATE_DOUBLE_THROTTLE");
    if (asked)
        sscanf(asked, "%x:%d", &mask, &from);
    throttled = mask && reading++ >= from;
    *reasons = throttled ? mask : 0;
    return is("blind") ? NOT_SUPPORTED : OK;
}

Result nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz) {
    *mhz = type == 2 ? 2619 : throttled ? 990 : 1980;
    return is("blind") ? NOT_SUPPORTED : OK;
}

Result nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius) { *celsius = throttled ? 88 : 41; return OK; }
Result nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts) { *milliwatts = 310400; return OK; }
Result nvmlDeviceGetPowerManagementLimit(void *device, unsigned *milliwatts) { *milliwatts = 700000; return OK; }

Result nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
    uint64_t *microseconds = driver ? dlsym(driver, "microseconds") : NULL;
    uint64_t now = microseconds ? *microseconds / 20000 * 20000 : 0;
    if (set("NCUGATE_DOUBLE_ENERGY", "stands"))
        now = 0;
    if (set("NCUGATE_DOUBLE_ENERGY", "backwards"))
        now %= 1000000;
    *millijoules = now * 3104 / 10000;
    return set("NCUGATE_DOUBLE_ENERGY", "power") ? NOT_SUPPORTED : OK;
}

Result nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending) {
    *current = *pending = set("NCUGATE_DOUBLE_ENERGY", "sliced");
    return OK;
}

typedef struct { unsigned pid; unsigned long long bytes; unsigned instance, part; } Process;

Result nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, Process *list) {
    const char *others = getenv("NCUGATE_DOUBLE_OTHERS");
    unsigned room = *count, all = 1 + (others ? atoi(others) : 0);
    *count = all;
    for (unsigned at = 0; at < all && at < room; at++)
        list[at] = (Process){.pid = at ? 1 : getpid()};
    return room < all ? TOO_SMALL : OK;
}
