/* A double of the machine's clock, which was set back to the first day of 2025. Clocks that measure spans go on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = dlsym(RTLD_NEXT, "clock_gettime");
    int status = real(clock, time);
    if (clock == CLOCK_REALTIME)
        time->tv_sec = 1735689600 + time->tv_sec % 86400;
    return status;
}
