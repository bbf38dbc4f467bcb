/* A double of NVML. Its clock is 1980 MHz, and 990 MHz in a throttled reading.
 *
 *   NCUGATE_DOUBLE_THROTTLE  MASK or MASK:FROM: the throttle reasons of every reading, or of those from FROM (0) on
 *   NCUGATE_DOUBLE_NVML      ok (default), refuses (it cannot be initialised), blind (it has no clocks, as for a slice) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int Result;
enum { OK = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, UNKNOWN = 999 };

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
