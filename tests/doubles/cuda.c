/* A double of the CUDA driver: one device that can be looked at and nothing else. Phases of external commands need no more. */
#include <stddef.h>
#include <string.h>

int cuInit(unsigned flags) { return 0; }
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetName(char *name, int length, int device) { strncpy(name, "Double", length); return 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = (size_t)1 << 34; return 0; }

int cuDeviceGetUuid(char *uuid, int device) { memset(uuid, 7, 16); return 0; }
int cuDeviceGetUuid_v2(char *uuid, int device) { memset(uuid, 7, 16); return 0; }

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    switch (attribute) {
    case 16: *value = 132; break; /* multiprocessors */
    case 75: *value = 9; break;   /* compute capability, major */
    case 76: *value = 0; break;   /* and minor */
    default: *value = 65536;
    }
    return 0;
}
