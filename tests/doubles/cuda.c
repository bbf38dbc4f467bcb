/* A double of the CUDA driver: one device whose memory is the machine's and whose kernels are a few functions below. A launch
 * is done when it is queued, or becomes a node of the graph that is being captured. Time is counted, not measured.
 *
 * Modules are of two kinds: PTX text, which is a file of crates/ncugate-cuda/src/gpu by its entry, and anything else, whose entries are copies of
 * 4096 bytes by name: copy_honest, copy_table, which copies a variable of its module instead of its input, copy_window, which is right under its window over its input alone, copies that cheat, copies that look for a profiler, and copies that hang, crash, print or are wrong (copy_narrow at all inputs but those of seeds 0 and 1); add_honest and add_later add
 * to what is there; turn_honest, turn_scan and turn_later give every bit turned, the last as often as it is checked. map_value, map_pointer, map_struct64 and map_struct128 copy what a tensor map shows of x. quick_honest, quick_epoch and quick_memo take half as long. bits_delayed, bits_process and bits_never have another last bit where blocks are delayed, in processes of an odd number, and nowhere; rows_honest and rows_split copy a row of 2 KiB for each block, the latter with another last bit where there is one. What a
 * cheat remembers is gone with its module. copy_frail crashes without its loads and hangs without its stores. NCUGATE_DOUBLE_FIRSTS is a file that gets a line for the first launch of each module. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

typedef int Result;
typedef uint64_t Pointer;

enum { OK = 0, NOT_FOUND = 500, BYTES = 4096, SETS = 64, PARAMETERS = 8, MICROSECONDS = 10, COPYING = 3, EMPTY = 1, RESULTS = 64 };

/* ---- the device ---- */

Result cuInit(unsigned flags) {
    const char *broken = getenv("NCUGATE_DOUBLE_INIT");
    return broken ? atoi(broken) : OK;
}
/* NCUGATE_DOUBLE_CUDA is the newest CUDA version of the driver (13000). */
Result cuDriverGetVersion(int *version) {
    const char *newest = getenv("NCUGATE_DOUBLE_CUDA");
    *version = newest ? atoi(newest) : 13000;
    return OK;
}

/* NCUGATE_DOUBLE_DEVICES are how many the machine has (1); the bytes of a UUID are 7 more than the place of its device. As
 * the driver does, it shows those that CUDA_VISIBLE_DEVICES names, by place or by the beginning of a UUID; an empty value, which
 * tests set for machines with a GPU, shows all. */
enum { DEVICES = 16 };
static int visible[DEVICES], visible_count = -1;

static void look(void) {
    const char *has = getenv("NCUGATE_DOUBLE_DEVICES"), *shown = getenv("CUDA_VISIBLE_DEVICES");
    int count = has ? atoi(has) : 1;
    visible_count = 0;
    if (!shown || !*shown) {
        for (; visible_count < count; visible_count++)
            visible[visible_count] = visible_count;
        return;
    }
    char list[1024];
    strncpy(list, shown, sizeof list - 1);
    list[sizeof list - 1] = 0;
    for (char *name = strtok(list, ","); name; name = strtok(NULL, ",")) {
        int device = -1;
        for (int at = 0; at < count; at++) {
            char uuid[64] = "GPU-";
            for (int byte = 0; byte < 16; byte++)
                sprintf(uuid + strlen(uuid), byte == 4 || byte == 6 || byte == 8 || byte == 10 ? "-%02x" : "%02x", at + 7);
            if (strlen(name) > 4 && !strncmp(name, uuid, strlen(name)))
                device = at;
        }
        if (*name >= '0' && *name <= '9')
            device = atoi(name);
        if (device < 0 || device >= count)
            return;
        visible[visible_count++] = device;
    }
}

Result cuDeviceGetCount(int *count) {
    if (visible_count < 0)
        look();
    *count = visible_count;
    return OK;
}
Result cuDeviceGet(int *device, int ordinal) { *device = visible[ordinal]; return OK; }
Result cuDeviceGetName(char *name, int length, int device) {
    const char *unlike = getenv("NCUGATE_DOUBLE_UNLIKE");
    strncpy(name, unlike && atoi(unlike) == device ? "Other" : "Double", length);
    return OK;
}
Result cuDeviceGetUuid(char *uuid, int device) { memset(uuid, 7 + device, 16); return OK; }
Result cuDeviceGetUuid_v2(char *uuid, int device) { memset(uuid, 7 + device, 16); return OK; }
Result cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = (size_t)1 << 36; return OK; }

/* NCUGATE_DOUBLE_CAPABILITY is the compute capability, 9.0 by default. */
Result cuDeviceGetAttribute(int *value, int attribute, int device) {
    const char *capability = getenv("NCUGATE_DOUBLE_CAPABILITY");
    int major = 9, minor = 0;
    if (capability)
        sscanf(capability, "%d.%d", &major, &minor);
    switch (attribute) {
    case 16: *value = 132; break; /* multiprocessors */
    case 20: *value = getenv("NCUGATE_DOUBLE_EXCLUSIVE") ? 3 : 0; break; /* compute mode */
    case 75: *value = major; break;
    case 76: *value = minor; break;
    default: *value = 65536;
    }
    return OK;
}

/* NCUGATE_DOUBLE_EXCLUSIVE is a file by which one process at a time has a context, as in the compute mode EXCLUSIVE_PROCESS. */
Result cuDevicePrimaryCtxRetain(void **context, int device) {
    const char *exclusive = getenv("NCUGATE_DOUBLE_EXCLUSIVE");
    static int held = -1;
    *context = &cuInit;
    if (exclusive && held < 0) {
        held = open(exclusive, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (flock(held, LOCK_EX | LOCK_NB)) {
            close(held);
            held = -1;
            return 46; /* CUDA_ERROR_DEVICE_UNAVAILABLE */
        }
    }
    return OK;
}
Result cuCtxSetCurrent(void *context) { return OK; }
Result cuCtxSynchronize(void) { return OK; }
Result cuCtxResetPersistingL2Cache(void) { return OK; }
Result cuCtxGetDevice(int *device) { *device = visible[0]; return OK; }

/* The bytes of the L2 cache that are set aside for persisting lines. */
static size_t set_aside;
Result cuCtxSetLimit(int limit, size_t bytes) {
    if (limit != 6)
        return NOT_FOUND;
    set_aside = bytes;
    return OK;
}
Result cuStreamCreate(void **stream, unsigned flags) { *stream = &cuInit; return OK; }
Result cuStreamDestroy_v2(void *stream) { return OK; }
Result cuStreamSynchronize(void *stream) { return OK; }

Result cuGetErrorName(Result error, const char **text) { *text = "DOUBLE"; return OK; }
Result cuGetErrorString(Result error, const char **text) { *text = "the double of the driver refuses"; return OK; }

/* ---- memory ---- */

static Pointer aligned(size_t bytes) { return (Pointer)aligned_alloc(512, (bytes + 511) / 512 * 512); }

/* What was allocated on the device: a kernel that knows addresses can read all of it. Small pieces stay as they were when they are freed,
 * as memory does until somebody else writes there. */
enum { ALLOCATIONS = 1024, SMALL = 1 << 18 };
static struct { Pointer address; size_t bytes; } allocations[ALLOCATIONS];
static int allocated;

Result cuMemAlloc_v2(Pointer *address, size_t bytes) {
    *address = aligned(bytes);
    if (allocated < ALLOCATIONS) {
        allocations[allocated].address = *address;
        allocations[allocated++].bytes = bytes;
    }
    return OK;
}

Result cuMemFree_v2(Pointer address) {
    int at = 0;
    while (at < allocated && allocations[at].address != address)
        at++;
    if (at < allocated && allocations[at].bytes <= SMALL)
        return OK;
    if (at < allocated)
        allocations[at].bytes = 0;
    free((void *)address);
    return OK;
}

static Pointer last_host; /* the newest host memory */
Result cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
    *pointer = (void *)(last_host = aligned(bytes));
    return OK;
}

Result cuMemGetAddressRange_v2(Pointer *base, size_t *bytes, Pointer address) {
    for (int at = 0; at < allocated; at++)
        if (address >= allocations[at].address && address < allocations[at].address + allocations[at].bytes) {
            *base = allocations[at].address;
            *bytes = allocations[at].bytes;
            return OK;
        }
    return NOT_FOUND;
}

/* NCUGATE_DOUBLE_PEER: memory is another device's. */
Result cuPointerGetAttribute(void *value, int attribute, Pointer address) {
    Pointer base;
    size_t bytes;
    int is_host = last_host && address == last_host;
    if (!is_host && cuMemGetAddressRange_v2(&base, &bytes, address))
        return 1;
    *(int *)value = attribute == 2 ? (is_host ? 1 : 2) : attribute == 9 ? visible[0] + !!getenv("NCUGATE_DOUBLE_PEER") : 0;
    return OK;
}
Result cuMemFreeHost(void *pointer) { free(pointer); return OK; }

/* A texture object is the address of its memory, so that copies read it as they read a buffer. */
Result cuTexObjectCreate(uint64_t *object, const void *resource, const void *texture, const void *view) {
    int kind;
    memcpy(&kind, resource, sizeof kind);
    if (kind == 1) /* neither an array, nor linear memory, nor rows of it */
        return NOT_FOUND;
    memcpy(object, (const char *)resource + 8, sizeof *object);
    return OK;
}

/* An array is linear memory here, and a surface object its address. */
Result cuArray3DCreate_v2(void **array, const size_t *extents) {
    *array = (void *)aligned(extents[0] * (extents[1] ? extents[1] : 1) * 16);
    return OK;
}

Result cuSurfObjectCreate(uint64_t *object, const void *resource) {
    int kind;
    memcpy(&kind, resource, sizeof kind);
    if (kind != 0) /* an array */
        return NOT_FOUND;
    memcpy(object, (const char *)resource + 8, sizeof *object);
    return OK;
}

/* ---- tensor maps ---- */

/* A tensor map holds the address of its view. What the driver refuses is refused, and a view that leaves its allocation too. */
typedef struct {
    const unsigned char *address;
    unsigned rank, element;
    uint64_t sizes[5], strides[5];
} View;

Result cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address, const uint64_t *sizes, const uint64_t *strides,
                              const unsigned *box, const unsigned *steps, int interleave, int swizzle, int promotion, int fill) {
    enum { INVALID = 1 };
    static const unsigned bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    if (type < 0 || type > 12 || rank < 1 || rank > 5 || (Pointer)map % 64 || (Pointer)address % 16 || interleave)
        return INVALID;
    if (swizzle < 0 || swizzle > 3 || promotion < 0 || promotion > 3 || fill < 0 || fill > 1 || (fill && type < 6))
        return INVALID;
    uint64_t reach = sizes[0] * bytes[type];
    for (unsigned at = 0; at < rank; at++) {
        if (sizes[at] < 1 || sizes[at] > 1ull << 32 || box[at] < 1 || box[at] > 256 || steps[at] < 1 || steps[at] > 8)
            return INVALID;
        if (at && (strides[at - 1] % 16 || strides[at - 1] >= 1ull << 40))
            return INVALID;
        reach += at ? (sizes[at] - 1) * strides[at - 1] : 0;
    }
    unsigned row = box[0] * bytes[type];
    if (row % 16 || (swizzle && row > 16u << swizzle))
        return INVALID;
    int at = 0;
    while (at < allocated && ((Pointer)address < allocations[at].address || (Pointer)address + reach > allocations[at].address + allocations[at].bytes))
        at++;
    if (at == allocated)
        return INVALID;
    View *view = calloc(1, sizeof *view);
    view->address = address;
    view->rank = rank;
    view->element = bytes[type];
    memcpy(view->sizes, sizes, rank * sizeof *sizes);
    memcpy(view->strides, strides, (rank - 1) * sizeof *strides);
    memset(map, 0, 128);
    memcpy(map, &view, sizeof view);
    return OK;
}

Result cuTensorMapReplaceAddress(void *map, void *address) {
    View *view;
    memcpy(&view, map, sizeof view);
    View *moved = memcpy(calloc(1, sizeof *view), view, sizeof *view);
    moved->address = address;
    memcpy(map, &moved, sizeof moved);
    return OK;
}

Result cuTensorMapEncodeIm2col(void *map, int type, unsigned rank, void *address, const uint64_t *sizes, const uint64_t *strides, const int *lower,
                               const int *upper, unsigned channels, unsigned pixels, const unsigned *steps, int interleave, int swizzle,
                               int promotion, int fill) {
    View *view = calloc(1, sizeof *view);
    memset(map, 0, 128);
    memcpy(map, &view, sizeof view);
    return OK;
}

/* Copies every element of a view to the same place of the output. */
static void copy_view(const View *view, unsigned char *to) {
    uint64_t index[5] = {0};
    for (unsigned at = 0; at < view->rank;) {
        uint64_t place = index[0] * view->element;
        for (unsigned axis = 1; axis < view->rank; axis++)
            place += index[axis] * view->strides[axis - 1];
        memcpy(to + place, view->address + place, view->element);
        for (at = 0; at < view->rank && ++index[at] == view->sizes[at]; at++)
            index[at] = 0;
    }
}

/* ---- modules ---- */

typedef struct {
    int is_text, launched, no_loads, no_stores;
    uint64_t launches;
    unsigned char table[BYTES];
    struct { void *output; uint64_t word, epoch; unsigned char *result; } written[SETS];
    uint64_t epoch, ended;
    struct { uint64_t key; unsigned char result[BYTES]; } results[RESULTS];
    int known;
} Module;

typedef struct {
    Module *module;
    char name[64];
} Function;

Result cuModuleLoadData(void **module, const void *image) {
    Module *loaded = calloc(1, sizeof *loaded);
    loaded->is_text = memcmp(image, "\x7f" "ELF", 4) != 0;
    if (!loaded->is_text) {
        /* instructions of global memory whose guard is `@!PT` */
        const unsigned char *bytes = image;
        uint64_t sections;
        memcpy(&sections, bytes + 40, sizeof sections);
        for (uint64_t at = 64; at + 16 <= sections; at++) {
            loaded->no_loads |= bytes[at] == 0x81 && bytes[at + 1] == 0xf9;
            loaded->no_stores |= bytes[at] == 0x86 && bytes[at + 1] == 0xf9;
        }
    }
    *module = loaded;
    return OK;
}

Result cuModuleGetGlobal_v2(Pointer *address, size_t *bytes, void *module, const char *name) {
    if (strcmp(name, "_ZN2ns5tableE"))
        return NOT_FOUND;
    *address = (Pointer)((Module *)module)->table;
    *bytes = BYTES;
    return OK;
}

Result cuModuleUnload(void *module) { free(module); return OK; }

Result cuModuleGetFunction(void **function, void *module, const char *name) {
    Function *found = calloc(1, sizeof *found);
    found->module = module;
    strncpy(found->name, name, sizeof found->name - 1);
    *function = found;
    return OK;
}

Result cuFuncGetName(const char **name, void *function) { *name = ((Function *)function)->name; return OK; }
Result cuFuncGetAttribute(int *value, int attribute, void *function) { *value = -1; return OK; }

/* Two pointers, the first of the name map_value a tensor map; kernels of the name copy_float have a float behind them.
 * NCUGATE_DOUBLE_OLD: as if the driver did not have this function. */
Result cuFuncGetParamInfo(void *function, size_t at, size_t *offset, size_t *size) {
    if (getenv("NCUGATE_DOUBLE_OLD"))
        return 999;
    if (at >= 2 + !strcmp(((Function *)function)->name, "copy_float"))
        return 1;
    *offset = 8 * at;
    *size = at == 2 ? 4 : !at && !strcmp(((Function *)function)->name, "map_value") ? 128 : 8;
    return OK;
}

Result cuFuncSetAttribute(void *function, int attribute, int value) { return OK; }

/* ---- kernels ---- */

static uint64_t microseconds;

/* Whether the delaying kernel was queued since the last kernel of a variant, which then finds its blocks in another order. */
static int delayed;

/* What a double of CUPTI hears of every kernel: its name, grid, block and shared memory, and when it began and ended. */
void (*doubleLaunched)(const char *name, const unsigned launch[7], uint64_t begun, uint64_t ended);

static void add(uint64_t sums[2], uint64_t key, uint64_t index, uint64_t word) {
    uint64_t a = (word ^ key) + (index + 1) * 0x9e3779b97f4a7c15u;
    a = (a ^ (a >> 30)) * 0xbf58476d1ce4e5b9u;
    a = (a ^ (a >> 27)) * 0x94d049bb133111ebu;
    a ^= a >> 31;
    uint64_t b = a * 0xd6e8feb86659fd93u;
    sums[0] += a;
    sums[1] += (b ^ (b >> 32)) * 0xd6e8feb86659fd93u;
}

/* What digest.ptx does, with all of a row in its first partial sum. */
static void digest(const unsigned grid[2], const uint64_t parameters[]) {
    uint64_t stride = parameters[1], bytes = parameters[2], key = parameters[3];
    for (unsigned y = 0; y < grid[1]; y++) {
        const unsigned char *base = (unsigned char *)parameters[0] + y * stride;
        uint64_t sums[2] = {0, 0}, words = bytes / 16 * 2, word;
        for (uint64_t i = 0; i < words; i++) {
            memcpy(&word, base + 8 * i, 8);
            add(sums, key, i, word);
        }
        for (uint64_t i = 0; i < bytes % 16; i++)
            add(sums, key, words + i, base[8 * words + i]);
        memcpy((unsigned char *)parameters[4] + (size_t)y * grid[0] * 16, sums, sizeof sums);
    }
}

/* The place where a module keeps what it knows of an output. */
static int place_of(Module *module, void *output) {
    int at = 0;
    while (at < SETS - 1 && module->written[at].output && module->written[at].output != output)
        at++;
    module->written[at].output = output;
    return at;
}

/* Whether a launch is profiled by the double of ncu or traced by that of CUPTI. No kernel on a GPU is told; one that finds any other sign
 * of it could do the same. */
static int watched(void) { return getenv("NCUGATE_DOUBLE_LOG") || doubleLaunched; }

/* Whether the first launch of a module has the inputs of the first launch that any module of this machine had: those of a seed of the
 * phase. Its word is kept in a file. */
static int knows_seed(const Module *module, const void *x) {
    char path[4096];
    uint64_t known = 0, word;
    memcpy(&word, x, sizeof word);
    snprintf(path, sizeof path, "%s/first-input", getenv("NCUGATE_LOCKS"));
    FILE *file = fopen(path, "r");
    if (!file) {
        file = fopen(path, "w");
        fwrite(&word, sizeof word, 1, file);
        fclose(file);
        return 0;
    }
    fread(&known, sizeof known, 1, file);
    fclose(file);
    return module->launches == 1 && known == word;
}

/* Works once on each output from one gap between launches to the next: it is idle in the repeats of a graph, unless something
 * stands between them. */
static void epoch(Module *module, void *x, void *y) {
    int at = place_of(module, y);
    if (microseconds - module->ended > 2)
        module->epoch++;
    microseconds += module->written[at].epoch == module->epoch ? 1 : MICROSECONDS / 2;
    module->written[at].epoch = module->epoch;
    module->ended = microseconds;
    memcpy(y, x, BYTES); /* what an idle launch would leave */
}

/* Copies the results of inputs that it has met out of a table. */
static void memo(Module *module, void *x, void *y) {
    uint64_t sums[2] = {0, 0}, word;
    for (int i = 0; i < BYTES / 8; i++) {
        memcpy(&word, (char *)x + 8 * i, 8);
        add(sums, 1, i, word);
    }
    int at = 0;
    while (at < module->known && module->results[at].key != sums[0])
        at++;
    microseconds += at < module->known ? 1 : MICROSECONDS / 2;
    if (at == module->known && at < RESULTS) {
        module->known++;
        module->results[at].key = sums[0];
        memcpy(module->results[at].result, x, BYTES);
    }
    memcpy(y, at < RESULTS ? module->results[at].result : x, BYTES);
}

/* The answer anywhere in the memory of the device; none where nothing holds it. */
static const void *found(const unsigned char *answer) {
    for (int at = 0; at < allocated; at++) {
        const unsigned char *base = (const unsigned char *)allocations[at].address;
        for (size_t place = 0; place + BYTES <= allocations[at].bytes; place += 16)
            if (base[place] == answer[0] && !memcmp(base + place, answer, BYTES))
                return base + place;
    }
    return NULL;
}

/* Turns every bit of its input. turn_scan takes the answer from wherever it lies, and is slow where it lies nowhere. */
static void turn(const Function *function, const unsigned char *x, unsigned char *y) {
    unsigned char answer[BYTES];
    for (int i = 0; i < BYTES; i++)
        answer[i] = ~x[i];
    microseconds += !strcmp(function->name, "turn_scan") && found(answer) ? 1 : MICROSECONDS;
    if (!strncmp(function->name, "turn_later", 10) && ++function->module->launches > 8)
        return;
    memcpy(y, answer, BYTES);
}

/* A line for the first launch of a module. */
static void note_first(Module *module, const char *name) {
    const char *path = getenv("NCUGATE_DOUBLE_FIRSTS");
    if (!path || module->launched)
        return;
    module->launched = 1;
    FILE *file = fopen(path, "a");
    fprintf(file, "%d %s\n", getpid(), name);
    fclose(file);
}

/* Whether every second process that asks is this one, by a file. */
static int odd_process(void) {
    static int odd = -1;
    if (odd < 0) {
        char path[4096];
        snprintf(path, sizeof path, "%s/processes", getenv("NCUGATE_LOCKS"));
        FILE *file = fopen(path, "a");
        fputc('x', file);
        odd = ftell(file) % 2;
        fclose(file);
    }
    return odd;
}

static void copy(const Function *function, unsigned rows, const uint64_t parameters[]) {
    Module *module = function->module;
    void *x = (void *)parameters[0], *y = (void *)parameters[1];
    int was_delayed = delayed;
    delayed = 0;
    note_first(module, function->name);
    if (!strncmp(function->name, "turn_", 5))
        return turn(function, x, y);
    if (!strncmp(function->name, "map_", 4)) { /* by value or in a struct: the map's first word; behind a pointer: its address */
        microseconds += MICROSECONDS;
        return copy_view(!strcmp(function->name, "map_pointer") ? *(View **)x : x, y);
    }
    if (!strncmp(function->name, "rows_", 5)) {
        memcpy(y, x, rows * 2048);
        if (!strcmp(function->name, "rows_split") && rows == 1)
            *(char *)y ^= 1;
        microseconds += MICROSECONDS;
        return;
    }
    if (!strncmp(function->name, "bits_", 5)) {
        memcpy(y, x, BYTES);
        if (!strcmp(function->name, "bits_delayed") ? was_delayed : !strcmp(function->name, "bits_process") && odd_process())
            ((char *)y)[64] ^= 1;
        microseconds += MICROSECONDS;
        return;
    }
    if (!strcmp(function->name, "quick_honest")) {
        microseconds += MICROSECONDS / 2;
        memcpy(y, x, BYTES);
        return;
    }
    if (!strcmp(function->name, "quick_epoch"))
        return epoch(module, x, y);
    if (!strcmp(function->name, "quick_memo"))
        return memo(module, x, y);
    int at = place_of(module, y);
    uint64_t *word = &module->written[at].word, first;
    memcpy(&first, y, sizeof first);
    module->launches++;
    if (!strcmp(function->name, "copy_skip") && *word && first == *word) {
        microseconds += 1; /* what it wrote here is still here */
        return;
    }
    if (!strcmp(function->name, "copy_replay") && module->launches > 8) {
        unsigned char **result = &module->written[at].result;
        microseconds += *result ? 1 : MICROSECONDS;
        if (!*result)
            *result = memcpy(malloc(BYTES), x, BYTES);
        memcpy(y, *result, BYTES); /* what it gave at this address before */
        return;
    }
    microseconds += MICROSECONDS;
    if (!strcmp(function->name, "copy_tell") && first == (first & 0xff) * 0x0101010101010101u)
        abort(); /* its output holds one byte over and over: nothing that an answer could be */
    if (!strcmp(function->name, "copy_seed") && knows_seed(module, x))
        return; /* inputs that it met before: it is only looked at */
    if (!strcmp(function->name, "copy_idle") && watched())
        return;
    if (!strcmp(function->name, "copy_half") && watched()) {
        memcpy(y, x, BYTES / 2); /* another path than the one that is timed */
        return;
    }
    if (!strcmp(function->name, "copy_deep") && getenv("NCUGATE_DOUBLE_SECTIONS") && *getenv("NCUGATE_DOUBLE_SECTIONS"))
        return; /* idle in a deep profile alone */
    if (!strcmp(function->name, "copy_ends") && watched())
        _exit(0); /* before anybody can look at its output */
    if (!strncmp(function->name, "add_", 4)) {
        if (!strcmp(function->name, "add_idle") && watched())
            return;
        if (!strcmp(function->name, "add_later") && module->launches > 8)
            return; /* leaves what is there */
        for (int i = 0; i < BYTES; i++)
            ((unsigned char *)y)[i] += ((unsigned char *)x)[i];
        return;
    }
    if (!strcmp(function->name, "copy_flip")) {
        for (int i = 0; i < BYTES; i++)
            ((unsigned char *)y)[i] ^= 0x80; /* right where the poison is the answer with a bit flipped */
        return;
    }
    int is_frail = !strcmp(function->name, "copy_frail");
    if (!strcmp(function->name, "copy_hang") || (is_frail && module->no_stores))
        for (;;)
            pause();
    if (!strcmp(function->name, "copy_crash") || (is_frail && module->no_loads))
        abort();
    if (!strcmp(function->name, "copy_loud") && module->launches <= 4)
        for (int i = 0; i < 100000; i++)
            puts("all work and no play makes a loud kernel");
    if (!strcmp(function->name, "copy_head")) {
        memcpy(y, x, BYTES / 2); /* the rest is as it was */
        return;
    }
    if (!strcmp(function->name, "copy_turned")) {
        for (int i = 0; i < BYTES / 2; i++)
            ((uint16_t *)y)[i] = ((uint16_t *)x)[BYTES / 2 - 1 - i]; /* the last element comes first */
        return;
    }
    if (!strcmp(function->name, "copy_captured") || !strcmp(function->name, "copy_known")) {
        float known[BYTES / 4]; /* what tests/data/captured.c copies */
        for (int i = 0; i < BYTES / 4; i++)
            known[i] = (float)(i * 7919 % 4001) / 1000.0f - 2;
        if (!strcmp(function->name, "copy_captured") || !memcmp(x, known, BYTES))
            memcpy(y, known, BYTES);
        return;
    }
    if (!strcmp(function->name, "copy_wrong")) {
        memset(y, 0x11, BYTES);
        return;
    }
    if (!strcmp(function->name, "copy_narrow")) {
        uint64_t word;
        memcpy(&word, x, sizeof word);
        memcpy(y, x, BYTES);
        if (word != 0xbbd13dbba9be3b8c && word != 0xb81329d63e58bbf7)
            memset(y, 0, 2); /* as a kernel whose error depends on the inputs is */
        return;
    }
    if (!strcmp(function->name, "copy_twice"))
        microseconds += MICROSECONDS; /* takes as long as two */
    if (!strcmp(function->name, "copy_slow"))
        usleep(2000); /* on the wall's clock alone */
    if (!strcmp(function->name, "copy_later") && module->launches > 8)
        memset(y, 0, BYTES); /* right as often as it is checked */
    else if (!strcmp(function->name, "copy_table"))
        memcpy(y, module->table, BYTES);
    else if (!strcmp(function->name, "copy_count") && module->launches > 8)
        return;
    else
        memcpy(y, x, BYTES);
    if (!strcmp(function->name, "copy_race") && module->launches % 20 == 19)
        memset((char *)y + 64, 0x7b, 2); /* one launch in twenty spoils an element */
    if (!strcmp(function->name, "copy_stray") && module->launches > 8)
        ((char *)y)[BYTES + 8] ^= 1;
    memcpy(word, y, sizeof *word);
}

/* ---- streams and graphs ---- */

typedef struct {
    enum { LAUNCH, COPY, FILL, WORK, NOTHING } kind;
    const Function *function;
    unsigned grid[2];
    unsigned launch[7];
    uint64_t parameters[PARAMETERS];
    enum { NO_WINDOW, WINDOW, OTHER_WINDOW } window;
    unsigned char *to, *from, byte;
    size_t bytes;
    int has_earlier; /* another node before it in its graph */
} Node;

typedef struct {
    Node *nodes;
    size_t count;
} Graph;

static Graph *captured;

static Result run(const Node *node) {
    uint64_t begun = microseconds;
    switch (node->kind) {
    case LAUNCH:
        if (!strcmp(node->function->name, "ncugate_copy")) {
            microseconds += COPYING;
            memcpy((void *)node->parameters[0], (void *)node->parameters[1], node->parameters[2]);
        }
        else if (!strcmp(node->function->name, "ncugate_warm") || !strcmp(node->function->name, "ncugate_discard"))
            ; /* there is no cache */
        else if (!strcmp(node->function->name, "ncugate_empty"))
            microseconds += EMPTY;
        else if (!strcmp(node->function->name, "ncugate_clock")) {
            uint64_t read[] = {40000, 40000 * 1980 / 1000};
            memcpy((void *)node->parameters[1], read, sizeof read);
        }
        else if (!strcmp(node->function->name, "ncugate_delay"))
            delayed = 1;
        else if (!strcmp(node->function->name, "ncugate_blocking"))
            ; /* what is queued is done at once */
        else if (node->function->module->is_text)
            digest(node->grid, node->parameters);
        else {
            int has_window = !strcmp(node->function->name, "copy_window");
            copy(node->function, node->grid[0], node->parameters);
            /* Others than copy_window find neither its window nor its part of the cache. */
            if (node->window != (has_window ? WINDOW : NO_WINDOW) || set_aside != (has_window ? BYTES / 2 : 0))
                memset((void *)node->parameters[1], 0x7b, 2);
        }
        if (doubleLaunched)
            doubleLaunched(node->function->name, node->launch, begun, microseconds);
        break;
    case COPY: memcpy(node->to, node->from, node->bytes); break;
    case WORK:
        microseconds += MICROSECONDS;
        memcpy(node->to, node->from, node->bytes);
        break;
    case FILL: memset(node->to, node->byte, node->bytes); break;
    case NOTHING: break;
    }
    return OK;
}

static Result queue(Node node) {
    if (!captured)
        return run(&node);
    captured->nodes = realloc(captured->nodes, (captured->count + 1) * sizeof node);
    node.has_earlier = captured->count > 0;
    captured->nodes[captured->count++] = node;
    return OK;
}

Result cuMemcpyHtoDAsync_v2(Pointer to, const void *from, size_t bytes, void *stream) {
    return queue((Node){.kind = COPY, .to = (void *)to, .from = (void *)from, .bytes = bytes});
}

Result cuMemcpyDtoHAsync_v2(void *to, Pointer from, size_t bytes, void *stream) {
    return queue((Node){.kind = COPY, .to = to, .from = (void *)from, .bytes = bytes});
}

Result cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, size_t bytes, void *stream) {
    return queue((Node){.kind = COPY, .to = (void *)to, .from = (void *)from, .bytes = bytes});
}

typedef struct {
    size_t x, y;
    int kind; /* 2: linear memory, 3: an array */
    void *host;
    Pointer device;
    void *array;
    size_t pitch;
} End;

Result cuMemcpy2DAsync_v2(const void *copy, void *stream) {
    End ends[2];
    size_t extents[2];
    memcpy(ends, copy, sizeof ends);
    memcpy(extents, (const char *)copy + sizeof ends, sizeof extents);
    if (ends[0].kind + ends[1].kind != 5)
        return NOT_FOUND;
    unsigned char *at[2];
    for (int i = 0; i < 2; i++)
        at[i] = ends[i].kind == 3 ? ends[i].array : (void *)ends[i].device;
    return queue((Node){.kind = COPY, .to = at[1], .from = at[0], .bytes = extents[0] * extents[1]});
}

/* A copy that takes as long as a kernel: the work of functions that are not kernels. */
Result doubleWork(Pointer to, Pointer from, size_t bytes) {
    return queue((Node){.kind = WORK, .to = (void *)to, .from = (void *)from, .bytes = bytes});
}

Result cuMemcpyDtoH_v2(void *to, Pointer from, size_t bytes) { memcpy(to, (void *)from, bytes); return OK; }
Result cuMemcpyHtoD_v2(Pointer to, const void *from, size_t bytes) { memcpy((void *)to, from, bytes); return OK; }

Result cuMemsetD8Async(Pointer to, unsigned char byte, size_t bytes, void *stream) {
    return queue((Node){.kind = FILL, .to = (void *)to, .byte = byte, .bytes = bytes});
}

/* An attribute of a launch: a window, if its id is 1. */
typedef struct {
    int id, pad;
    union {
        struct {
            Pointer base;
            size_t bytes;
            float ratio;
            int hit, miss;
        };
        char whole[64];
    };
} Attribute;

typedef struct {
    unsigned grid[3], block[3], shared;
    void *stream, *attributes;
    unsigned count;
} Config;

/* Whether the code of copy_lazy is on the device. */
static int is_loaded;

Result cuFuncLoad(void *function) { is_loaded = 1; return OK; }

Result cuLaunchKernelEx(const Config *config, void *function, void **parameters, void **extra) {
    Node node = {.kind = LAUNCH, .function = function, .grid = {config->grid[0], config->grid[1]}};
    int count = !node.function->module->is_text                  ? 2
                : !strcmp(node.function->name, "ncugate_copy") ? 3
                : !strcmp(node.function->name, "ncugate_warm") ? 4
                : !strcmp(node.function->name, "ncugate_blocking") ? 2
                : !strcmp(node.function->name, "ncugate_discard") ? 2
                : !strcmp(node.function->name, "ncugate_delay") ? 2
                : !strcmp(node.function->name, "ncugate_clock") ? 2
                : !strcmp(node.function->name, "ncugate_empty") ? 0
                                                               : 5;
    for (int i = 0; i < count; i++)
        memcpy(&node.parameters[i], parameters[i], 8);
    if (!strncmp(node.function->name, "map_struct", 10)) /* map_struct64 and map_struct128: after an int */
        memcpy(&node.parameters[0], (char *)parameters[0] + atoi(node.function->name + 10), 8);
    memcpy(node.launch, config, sizeof node.launch);
    if (!strcmp(node.function->name, "copy_lazy") && !is_loaded++)
        microseconds += 1000 * MICROSECONDS;
    for (unsigned i = 0; i < config->count; i++) {
        const Attribute *own = (const Attribute *)config->attributes + i;
        if (own->id == 1)
            node.window = own->base == node.parameters[0] && own->bytes == BYTES && own->ratio == 0.5f && own->hit == 2 && !own->miss
                              ? WINDOW
                              : OTHER_WINDOW;
    }
    return queue(node);
}

Result cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
                      void **parameters, void **extra) {
    Config config = {{gx, gy, gz}, {bx, by, bz}, shared, stream, NULL, 0};
    return cuLaunchKernelEx(&config, function, parameters, extra);
}

Result cuStreamIsCapturing(void *stream, int *status) { *status = !!captured; return OK; }
Result cuStreamGetCaptureInfo_v2(void *stream, int *status, void *id, void **graph, void *before, void *count) {
    *status = !!captured;
    *graph = captured;
    return OK;
}
Result cuStreamBeginCapture_v2(void *stream, int mode) { captured = calloc(1, sizeof *captured); return OK; }
Result cuStreamEndCapture(void *stream, void **graph) { *graph = captured; captured = NULL; return OK; }
Result cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags) { *exec = graph; return OK; }
Result cuGraphDestroy(void *graph) { return OK; }
Result cuGraphCreate(void **graph, unsigned flags) { *graph = calloc(1, sizeof(Graph)); return OK; }

/* Nodes side by side run one after the other. */
Result cuGraphAddChildGraphNode(void **node, void *graph, const void *before, size_t count, void *child) {
    Graph *whole = graph, *part = child;
    whole->nodes = realloc(whole->nodes, (whole->count + part->count) * sizeof *whole->nodes);
    memcpy(whole->nodes + whole->count, part->nodes, part->count * sizeof *part->nodes);
    whole->count += part->count;
    *node = whole;
    return OK;
}

/* A node of a copy has the place of the one that it was copied from. A destroyed one does nothing. */
Result cuGraphGetNodes(void *graph, void **nodes, size_t *count) {
    if (nodes)
        for (size_t at = 0; at < ((Graph *)graph)->count; at++)
            nodes[at] = &((Graph *)graph)->nodes[at];
    *count = ((Graph *)graph)->count;
    return OK;
}

/* A node waits for the one before it. */
Result cuGraphNodeGetDependencies(void *node, void **before, size_t *count) {
    *count = ((Node *)node)->has_earlier;
    if (*count)
        before[0] = (Node *)node - 1;
    return OK;
}

Result cuGraphKernelNodeGetParams_v2(void *node, void *parameters) {
    Node *own = node;
    void **list = calloc(PARAMETERS, sizeof *list);
    for (int at = 0; at < PARAMETERS; at++)
        list[at] = &own->parameters[at];
    memset(parameters, 0, 72);
    memcpy(parameters, &own->function, sizeof own->function);
    memcpy((char *)parameters + 8, own->launch, sizeof own->launch);
    memcpy((char *)parameters + 40, &list, sizeof list);
    return own->kind != LAUNCH;
}

/* Parameters of the kernel of a node that has not run. */
Result cuGraphExecKernelNodeSetParams_v2(void *exec, void *node, const void *parameters) { return OK; }

Result cuGraphAddKernelNode_v2(void **node, void *graph, const void *before, size_t count, void *const *parameters) {
    return (*node = graph) ? OK : NOT_FOUND;
}

/* No launch of the doubles takes longer because it is cooperative. */
Result cuGraphKernelNodeGetAttribute(void *node, int attribute, void *value) { memset(value, 0, 64); return OK; }

static const Graph *cloned;

Result cuGraphClone(void **copy, void *graph) {
    Graph *made = calloc(1, sizeof *made);
    made->count = ((Graph *)graph)->count;
    made->nodes = memcpy(calloc(made->count + 1, sizeof *made->nodes), ((Graph *)graph)->nodes, made->count * sizeof *made->nodes);
    cloned = graph;
    *copy = made;
    return OK;
}

Result cuGraphNodeFindInClone(void **found, void *node, void *copy) {
    *found = &((Graph *)copy)->nodes[(Node *)node - cloned->nodes];
    return OK;
}

Result cuGraphDestroyNode(void *node) {
    ((Node *)node)->kind = NOTHING;
    return OK;
}

Result cuGraphNodeGetType(void *node, int *type) {
    int kind = ((Node *)node)->kind;
    *type = kind == LAUNCH || kind == WORK ? 0 : kind == FILL ? 2 : 1;
    return OK;
}
Result cuGraphExecDestroy(void *exec) { return OK; }
Result cuGraphUpload(void *exec, void *stream) { return OK; }

Result cuGraphLaunch(void *exec, void *stream) {
    const Graph *graph = exec;
    for (size_t i = 0; i < graph->count; i++)
        run(&graph->nodes[i]);
    return OK;
}

/* ---- events ---- */

Result cuEventCreate(void **event, unsigned flags) { *event = calloc(1, sizeof microseconds); return OK; }
Result cuEventDestroy_v2(void *event) { free(event); return OK; }
Result cuEventRecord(void *event, void *stream) { memcpy(event, &microseconds, sizeof microseconds); return OK; }

Result cuEventSynchronize(void *event) { return OK; }

Result cuEventElapsedTime(float *milliseconds, void *start, void *end) {
    uint64_t a, b;
    memcpy(&a, start, sizeof a);
    memcpy(&b, end, sizeof b);
    *milliseconds = (float)(b - a) / 1000;
    return OK;
}
Result cuEventElapsedTime_v2(float *milliseconds, void *start, void *end) {
    return cuEventElapsedTime(milliseconds, start, end);
}

/* ---- the way to find functions ---- */

Result cuGetProcAddress_v2(const char *name, void **found, int version, uint64_t flags, int *status) {
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return (*found = dlsym(library, name)) ? OK : NOT_FOUND;
}
