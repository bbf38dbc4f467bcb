/* The library that `ncugate capture` loads into a program by LD_PRELOAD. It stands between the program and the driver, whichever way
 * the program finds the driver's functions: directly, by dlsym, or by cuGetProcAddress. It lists launches, or copies one of them with
 * the memory that it reaches, to the folder NCUGATE_CAPTURE. ncugate answers at the socket in that folder which kernels are wanted.
 *
 * The driver's types are declared here, so that no CUDA toolkit is needed. A launch that cannot be copied runs as without us. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

typedef int Result;
typedef uint64_t Pointer;
typedef unsigned Three[3];

enum { OK = 0, FAILED = 999, MAP = 128 };

typedef struct {
    unsigned id, pad;
    union { unsigned words[16]; unsigned char bytes[64]; } value;
} Attribute;

typedef struct {
    Three grid, block;
    unsigned shared;
    void *stream;
    const Attribute *attributes;
    unsigned count;
} Config;

/* ---- the driver ---- */

static void *(*find_symbol)(void *, const char *);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void find_dlsym(void) {
    static const char *versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    for (int at = 0; at < 3 && !find_symbol; at++)
        find_symbol = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", versions[at]);
}

/* A function of the driver itself; null if it has none of this name. */
static void *driver(const char *name) {
    static void *library;
    if (!find_symbol)
        find_dlsym();
    if (!library && !(library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD)))
        library = dlopen("libcuda.so.1", RTLD_LAZY);
    return library ? find_symbol(library, name) : NULL;
}

/* Calls a function of the driver; a missing one fails. */
#define CALL(name, types, ...) \
    ({ \
        static Result(*own) types; \
        if (!own) \
            own = (Result(*) types)driver(name); \
        own ? own(__VA_ARGS__) : FAILED; \
    })

/* ---- ncugate ---- */

static const char *folder;
static long wanted = -1; /* the launch to copy; negative: launches are listed */
static uint64_t max_bytes;

/* Sends a message to ncugate, and returns its answer: '1' is yes. */
static char tell(const char *format, ...) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    char *text, answer = 0;
    va_list rest;
    va_start(rest, format);
    int length = vasprintf(&text, format, rest);
    va_end(rest);
    if (length < 0)
        return 0;
    snprintf(to.sun_path, sizeof to.sun_path, "%s/socket", folder);
    int end = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (!connect(end, (struct sockaddr *)&to, sizeof to)) {
        for (int sent = 0, now; sent < length && (now = send(end, text + sent, length - sent, MSG_NOSIGNAL)) > 0;)
            sent += now;
        shutdown(end, SHUT_WR);
        while (read(end, &answer, 1) < 0 && errno == EINTR)
            ;
    }
    close(end);
    free(text);
    return answer;
}

/* ---- machine code ---- */

typedef struct {
    void *handle; /* module or library */
    const void *data;
    size_t bytes;
    char *origin; /* the file that holds it; null in memory that the program filled */
    char *caller; /* the file whose code loaded it */
} Image;

typedef struct {
    void *handle; /* function or kernel */
    char *name;
    int image; /* -1: unknown */
    char is_known, is_wanted;
    long launches, timed;
    double milliseconds;
} Kernel;

typedef struct {
    int image;
    char *name;
    Pointer address;
    size_t bytes;
} Variable;

static Image *images;
static Variable *variables;
static struct { unsigned char map[MAP]; } *maps;
static Pointer *handles; /* of textures and surfaces */
static int image_count, variable_count, map_count, handle_count;

/* Room for another element: sizes are powers of two. */
static void *grown(void *list, int count, size_t size) {
    return count & (count - 1) || (count && count < 16) ? list : realloc(list, size * (count < 16 ? 16 : 2 * count));
}

static size_t bytes_of(const unsigned char *data) {
    uint32_t magic;
    memcpy(&magic, data, sizeof magic);
    if (magic == 0xBA55ED50) {
        uint16_t header;
        uint64_t rest;
        memcpy(&header, data + 6, sizeof header);
        memcpy(&rest, data + 8, sizeof rest);
        return header + rest;
    }
    if (memcmp(data, ELFMAG, SELFMAG))
        return strlen((const char *)data); /* PTX */
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)data;
    size_t end = head->e_shoff + (size_t)head->e_shnum * head->e_shentsize, part = head->e_phoff + (size_t)head->e_phnum * head->e_phentsize;
    end = part > end ? part : end;
    for (int at = 0; at < head->e_shnum; at++) {
        const Elf64_Shdr *section = (const Elf64_Shdr *)(data + head->e_shoff + (size_t)at * head->e_shentsize);
        part = section->sh_type == SHT_NOBITS ? 0 : section->sh_offset + section->sh_size;
        end = part > end ? part : end;
    }
    return end;
}

static char *file_of(const void *address) {
    Dl_info info;
    return dladdr(address, &info) && info.dli_fname ? strdup(info.dli_fname) : NULL;
}

/* Notes the code of a module or library. Memory of the program is copied, because it may be freed. */
static void keep_image(void *handle, const void *data, const char *path, const void *caller) {
    if (wanted < 0 || !folder)
        return;
    Image image = {.handle = handle, .data = data, .caller = file_of(caller)};
    if (path) {
        struct stat state;
        int file = open(path, O_RDONLY | O_CLOEXEC);
        void *content = file >= 0 && !fstat(file, &state) ? malloc(state.st_size + 1) : NULL;
        if (content && read(file, content, state.st_size) == state.st_size) {
            image.data = content;
            image.bytes = state.st_size;
        }
        if (file >= 0)
            close(file);
        image.origin = strdup(path);
    } else {
        uint32_t magic;
        memcpy(&magic, data, sizeof magic);
        int is_linked = magic == 0x466243B1; /* the runtime's wrapper: magic, version, pointer */
        if (is_linked)
            memcpy(&image.data, (const char *)data + 8, sizeof image.data);
        image.origin = file_of(image.data);
        image.bytes = bytes_of(image.data);
        if (!is_linked) {
            void *copy = malloc(image.bytes + 1);
            image.data = copy ? memcpy(copy, image.data, image.bytes) : NULL;
        }
    }
    if (!image.data)
        return;
    pthread_mutex_lock(&lock);
    images = grown(images, image_count, sizeof *images);
    images[image_count++] = image;
    pthread_mutex_unlock(&lock);
}

static int image_of(const void *handle) {
    int at = image_count - 1;
    while (at >= 0 && images[at].handle != handle)
        at--;
    return at;
}

enum { SLOTS = 1 << 16 };
static Kernel *kernels[SLOTS];

/* The record of a function or kernel, under the lock; null if the table is full. */
static Kernel *record_of(void *handle) {
    uint64_t at = (uint64_t)handle * 0x9e3779b97f4a7c15u >> 48;
    for (int tries = 0; tries < SLOTS; tries++, at = (at + 1) % SLOTS) {
        if (!kernels[at] && (kernels[at] = calloc(1, sizeof **kernels))) {
            kernels[at]->handle = handle;
            kernels[at]->image = -1;
        }
        if (!kernels[at] || kernels[at]->handle == handle)
            return kernels[at];
    }
    return NULL;
}

/* Names a function. A handle is used again once its module is unloaded. */
static void name_kernel(void *handle, const char *name, int image) {
    pthread_mutex_lock(&lock);
    Kernel *kernel = record_of(handle);
    if (kernel && (!kernel->name || strcmp(kernel->name, name) || kernel->image != image)) {
        kernel->name = strdup(name);
        kernel->image = image;
        kernel->is_known = 0;
    }
    pthread_mutex_unlock(&lock);
}

/* ---- one launch ---- */

typedef struct {
    enum { EXTENDED, PLAIN, COOPERATIVE } form;
    int per_thread; /* the default stream is the thread's own */
    void *function;
    Config config;
    const Config *given;
    void **parameters, **extra;
} Launch;

#define ONE(name) \
    CALL(name, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **), l->function, c->grid[0], \
         c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->shared, c->stream, l->parameters, l->extra)
#define COOP(name) \
    CALL(name, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **), l->function, c->grid[0], \
         c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->shared, c->stream, l->parameters)
#define WIDE(name) CALL(name, (const Config *, void *, void **, void **), l->given, l->function, l->parameters, l->extra)

/* Whether this thread is in a launch of the driver, which may call a function of ours for another form of it. */
static __thread int is_inside;

static Result forward(const Launch *l) {
    const Config *c = &l->config;
    int was_inside = is_inside;
    Result result;
    is_inside = 1;
    switch (l->form) {
    case PLAIN: result = l->per_thread ? ONE("cuLaunchKernel_ptsz") : ONE("cuLaunchKernel"); break;
    case COOPERATIVE: result = l->per_thread ? COOP("cuLaunchCooperativeKernel_ptsz") : COOP("cuLaunchCooperativeKernel"); break;
    default: result = l->per_thread ? WIDE("cuLaunchKernelEx_ptsz") : WIDE("cuLaunchKernelEx");
    }
    is_inside = was_inside;
    return result;
}

/* The allocations that a launch reaches. */
typedef struct {
    Pointer base;
    size_t bytes;
} Range;

/* What is copied of a launch. The first reason that prevents it is kept. */
typedef struct {
    Range *ranges;
    int count;
    char reason[256];
    FILE *json;
    char path[4096];
} Copy;

static int refuse(Copy *copy, const char *format, ...) {
    va_list rest;
    va_start(rest, format);
    if (!*copy->reason)
        vsnprintf(copy->reason, sizeof copy->reason, format, rest);
    va_end(rest);
    return 0;
}

/* Whether a value is a device pointer; its allocation is added. Values below 4 GiB and beyond 47 bits are none. */
static int reaches(Copy *copy, Pointer value, const char *where, size_t offset) {
    unsigned kind = 0;
    int device = 0, current = 0;
    Range range = {0, 0};
    if (value < 1ull << 32 || value >> 47 || CALL("cuPointerGetAttribute", (void *, int, Pointer), &kind, 2, value) || !kind)
        return 0;
    int managed = 0;
    CALL("cuPointerGetAttribute", (void *, int, Pointer), &managed, 8, value);
    if (kind == 1 && !managed)
        return refuse(copy, "%s + %zu is a pointer to host memory, which is not captured", where, offset);
    if (!CALL("cuPointerGetAttribute", (void *, int, Pointer), &device, 9, value) && !CALL("cuCtxGetDevice", (int *), &current) &&
        device != current && !managed)
        return refuse(copy, "%s + %zu is a pointer to memory of another GPU (peer memory), which is not captured", where, offset);
    if (CALL("cuMemGetAddressRange_v2", (Pointer *, size_t *, Pointer), &range.base, &range.bytes, value) &&
        (CALL("cuPointerGetAttribute", (void *, int, Pointer), &range.base, 11, value) ||
         CALL("cuPointerGetAttribute", (void *, int, Pointer), &range.bytes, 12, value)))
        return refuse(copy, "%s + %zu is a pointer into memory of unknown size", where, offset);
    for (int at = 0; at < copy->count; at++)
        if (copy->ranges[at].base == range.base)
            return 1;
    copy->ranges = grown(copy->ranges, copy->count, sizeof range);
    copy->ranges[copy->count++] = range;
    return 1;
}

/* Copies device memory to a file. */
static int save(Copy *copy, const char *name, Pointer from, size_t bytes) {
    enum { CHUNK = 1 << 24 };
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", copy->path, name);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    char *chunk = malloc(CHUNK);
    for (size_t at = 0; file >= 0 && chunk && at < bytes; at += CHUNK) {
        size_t part = bytes - at < CHUNK ? bytes - at : CHUNK;
        if (CALL("cuMemcpyDtoH_v2", (void *, Pointer, size_t), chunk, from + at, part)) {
            refuse(copy, "cannot read %zu bytes of device memory", bytes);
            break;
        }
        for (size_t sent = 0; sent < part;) {
            ssize_t now = write(file, chunk + sent, part - sent);
            if (now < 0 && errno != EINTR) {
                refuse(copy, "cannot write %s: %s", path, strerror(errno));
                goto end;
            }
            sent += now < 0 ? 0 : now;
        }
    }
end:
    if (file < 0 || !chunk || (close(file) && errno == ENOSPC))
        refuse(copy, "cannot write %s: %s", path, strerror(errno));
    free(chunk);
    return !*copy->reason;
}

static int save_all(Copy *copy, int image, const char *when) {
    char name[64];
    for (int at = 0; at < copy->count && !*copy->reason; at++) {
        snprintf(name, sizeof name, "m%d.%s", at, when);
        save(copy, name, copy->ranges[at].base, copy->ranges[at].bytes);
    }
    for (int at = 0; at < variable_count && !*copy->reason; at++) {
        snprintf(name, sizeof name, "v%d.%s", at, when);
        if (variables[at].image == image)
            save(copy, name, variables[at].address, variables[at].bytes);
    }
    return !*copy->reason;
}

static void text(FILE *json, const char *key, const char *value) {
    fprintf(json, "\"%s\": %s", key, value ? "\"" : "null");
    for (; value && *value; value++)
        fprintf(json, *value == '"' || *value == '\\' || (unsigned char)*value < ' ' ? "\\u%04x" : "%c", (unsigned char)*value);
    fputs(value ? "\", " : ", ", json);
}

static void save_image(Copy *copy, int at, int *is_first) {
    char path[4200];
    snprintf(path, sizeof path, "%s/image%d", copy->path, at);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    /* Code of a library that was unloaded is gone: write fails, and does not crash. */
    if (file < 0 || write(file, images[at].data, images[at].bytes) != (ssize_t)images[at].bytes)
        refuse(copy, "cannot write %s: %s", path, strerror(errno));
    if (file >= 0)
        close(file);
    fprintf(copy->json, "%s{", *is_first ? "" : ", ");
    *is_first = 0;
    text(copy->json, "origin", images[at].origin);
    text(copy->json, "caller", images[at].caller);
    fprintf(copy->json, "\"file\": \"image%d\"}", at);
}

/* Writes an array of device pointers that starts at `from`, if there is one. Null pointers at its end do not count. */
static void follow(Copy *copy, Pointer from, int *is_first) {
    enum { MOST = 1 << 16 };
    Range range = {0, 0};
    for (int at = 0; at < copy->count; at++)
        if (from >= copy->ranges[at].base && from < copy->ranges[at].base + copy->ranges[at].bytes)
            range = copy->ranges[at];
    size_t length = (range.base + range.bytes - from) / sizeof(Pointer), whole = 0;
    Pointer first, *list;
    if (!length || from % 8 || CALL("cuMemcpyDtoH_v2", (void *, Pointer, size_t), &first, from, sizeof first) ||
        !reaches(copy, first, "a pointer behind an argument", 0))
        return;
    length = length > MOST ? MOST : length;
    list = calloc(length, sizeof *list);
    CALL("cuMemcpyDtoH_v2", (void *, Pointer, size_t), list, from, length * sizeof *list);
    for (size_t at = 0; at < length && (!list[at] || reaches(copy, list[at], "an array of pointers", 8 * at)); at++)
        if (list[at]) {
            Pointer inner;
            whole = at + 1;
            if (!CALL("cuMemcpyDtoH_v2", (void *, Pointer, size_t), &inner, list[at], sizeof inner) &&
                reaches(copy, inner, "a pointer behind an array of pointers", 8 * at))
                refuse(copy, "entry %zu of an array of pointers points to pointers, which are not followed", at);
        }
    fprintf(copy->json, "%s{\"address\": %lu, \"values\": [", *is_first ? "" : ", ", (unsigned long)from);
    *is_first = 0;
    for (size_t at = 0; at < whole; at++)
        fprintf(copy->json, "%s%lu", at ? ", " : "", (unsigned long)list[at]);
    fputs("]}", copy->json);
    free(list);
}

/* Size and place of a parameter, of a function or a kernel. */
static int parameter(void *function, size_t at, size_t *offset, size_t *size) {
    return !CALL("cuFuncGetParamInfo", (void *, size_t, size_t *, size_t *), function, at, offset, size) ||
           !CALL("cuKernelGetParamInfo", (void *, size_t, size_t *, size_t *), function, at, offset, size);
}

/* Writes what is known before the launch. */
static void describe(Copy *copy, const Launch *l, const Kernel *kernel) {
    FILE *json = copy->json;
    const Config *c = &l->config;
    char program[4096] = "";
    int device = 0, major = 0, minor = 0, carveout = -1, is_first = 1;
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0)
        *program = 0;
    CALL("cuCtxGetDevice", (int *), &device);
    CALL("cuDeviceGetAttribute", (int *, int, int), &major, 75, device);
    CALL("cuDeviceGetAttribute", (int *, int, int), &minor, 76, device);
    CALL("cuFuncGetAttribute", (int *, int, void *), &carveout, 9, l->function);
    fputs("{", json);
    text(json, "kernel", kernel->name);
    text(json, "program", program);
    fprintf(json, "\"capability\": [%d, %d], \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"shared\": %u, ", major, minor, c->grid[0],
            c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->shared);
    /* Attributes, of which number 0 says nothing, 2 is a cooperative launch and 14 the carveout. */
    fprintf(json, "\"attributes\": [[%d, 1, 0, 0]", l->form == COOPERATIVE ? 2 : 0);
    if (carveout >= 0)
        fprintf(json, ", [14, %d, 0, 0]", carveout);
    for (unsigned at = 0; at < c->count; at++) {
        const unsigned *words = c->attributes[at].value.words;
        fprintf(json, ", [%u, %u, %u, %u]", c->attributes[at].id, words[0], words[1], words[2]);
    }
    fputs("], \"parameters\": [", json);
    const unsigned char *packed = NULL;
    for (void **extra = l->extra; extra && extra[0]; extra += 2)
        packed = extra[0] == (void *)1 ? extra[1] : packed;
    size_t offset, size;
    if (!driver("cuFuncGetParamInfo"))
        refuse(copy, "the driver is older than CUDA 12.4, which tells the sizes of parameters");
    for (size_t at = 0; parameter(l->function, at, &offset, &size); at++) {
        const unsigned char *bytes = packed ? packed + offset : l->parameters ? l->parameters[at] : NULL;
        char where[32];
        snprintf(where, sizeof where, "parameter %zu", at);
        if (!bytes) {
            refuse(copy, "%s has no value", where);
            break;
        }
        fprintf(json, "%s[", at ? ", " : "");
        for (size_t byte = 0; byte < size; byte++)
            fprintf(json, "%s%u", byte ? ", " : "", bytes[byte]);
        fputs("]", json);
        for (size_t word = 0; word + 8 <= size; word += 8) {
            Pointer value;
            memcpy(&value, bytes + word, sizeof value);
            reaches(copy, value, where, word);
            for (int known = 0; known < handle_count; known++)
                if (value && handles[known] == value)
                    refuse(copy, "%s + %zu is a texture or surface object, which is not captured", where, word);
            for (int known = 0; word + MAP <= size && known < map_count; known++)
                if (!memcmp(maps[known].map, bytes + word, MAP))
                    refuse(copy, "%s + %zu is a tensor map, which is not captured", where, word);
        }
    }
    fputs("], \"arrays\": [", json);
    for (size_t at = 0; !*copy->reason && parameter(l->function, at, &offset, &size); at++)
        for (size_t word = 0; word + 8 <= size; word += 8) {
            Pointer value;
            memcpy(&value, (packed ? packed + offset : (unsigned char *)l->parameters[at]) + word, sizeof value);
            if (value >= 1ull << 32 && reaches(copy, value, "a parameter", word))
                follow(copy, value, &is_first);
        }
    fputs("], \"variables\": [", json);
    is_first = 1;
    for (int at = 0; at < variable_count; at++)
        if (variables[at].image == kernel->image) {
            fputs(is_first ? "{" : ", {", json);
            text(json, "name", variables[at].name);
            fprintf(json, "\"file\": \"v%d\", \"bytes\": %zu}", at, variables[at].bytes);
            Pointer *content = malloc(variables[at].bytes + 8);
            if (!content || CALL("cuMemcpyDtoH_v2", (void *, Pointer, size_t), content, variables[at].address, variables[at].bytes))
                refuse(copy, "cannot read variable %s", variables[at].name);
            for (size_t word = 0; content && !*copy->reason && word < variables[at].bytes / 8; word++)
                if (reaches(copy, content[word], variables[at].name, 8 * word))
                    refuse(copy, "variable %s + %zu is a device pointer, which is not followed", variables[at].name, 8 * word);
            free(content);
            is_first = 0;
        }
    fputs("], \"images\": [", json);
    is_first = 1;
    /* The code of a function of unknown origin is searched for in all images. */
    for (int at = 0; at < image_count && !*copy->reason; at++)
        if (kernel->image < 0 || at == kernel->image)
            save_image(copy, at, &is_first);
    fputs("], \"allocations\": [", json);
    uint64_t sum = 0;
    for (int at = 0; at < copy->count; at++) {
        sum += copy->ranges[at].bytes;
        fprintf(json, "%s{\"address\": %lu, \"bytes\": %zu}", at ? ", " : "", (unsigned long)copy->ranges[at].base, copy->ranges[at].bytes);
    }
    fputs("]}\n", json);
    if (sum > max_bytes)
        refuse(copy, "its arguments point into %lu bytes of memory, more than --max-bytes %lu", (unsigned long)sum, (unsigned long)max_bytes);
}

/* Copies a launch. The folder gets its last name when everything is in it. */
static Result copy_launch(const Launch *l, const Kernel *kernel) {
    Copy copy = {0};
    char path[4200];
    snprintf(copy.path, sizeof copy.path, "%s/data/part", folder);
    if (mkdir(copy.path, 0700)) /* another process copies its launch */
        return forward(l);
    snprintf(path, sizeof path, "%s/capture.json", copy.path);
    int is_launched = 0;
    Result result = CALL("cuCtxSynchronize", (void));
    if (result)
        refuse(&copy, "the program failed before the launch: error %d", result);
    else if (!(copy.json = fopen(path, "we")))
        refuse(&copy, "cannot write %s: %s", path, strerror(errno));
    else
        describe(&copy, l, kernel);
    if (!*copy.reason && save_all(&copy, kernel->image, "before")) {
        is_launched = 1;
        result = forward(l);
        int failure = result ? result : CALL("cuCtxSynchronize", (void));
        if (failure)
            refuse(&copy, "the launch failed: error %d", failure);
        else
            save_all(&copy, kernel->image, "after");
    }
    if (copy.json && (fflush(copy.json) | ferror(copy.json) | fclose(copy.json)))
        refuse(&copy, "cannot write %s: %s", path, strerror(errno));
    free(copy.ranges);
    snprintf(path, sizeof path, "%s/data/whole", folder);
    if (!*copy.reason && rename(copy.path, path))
        refuse(&copy, "cannot write %s: %s", path, strerror(errno));
    /* ncugate removes what there is of a refused launch. */
    *copy.reason ? tell("refused %s: %s", kernel->name, copy.reason) : tell("captured %s", kernel->name);
    return is_launched ? result : forward(l);
}

/* ---- launches with their times ---- */

typedef struct {
    Kernel *kernel;
    void *start, *end;
} Timing;

enum { PENDING = 1024 };
static Timing pending[PENDING];
static int pending_count;

static void settle(int count) {
    for (int at = 0; at < count; at++) {
        Timing *timing = &pending[at];
        float milliseconds;
        if (!CALL("cuEventSynchronize", (void *), timing->end) &&
            !CALL("cuEventElapsedTime", (float *, void *, void *), &milliseconds, timing->start, timing->end)) {
            timing->kernel->timed++;
            timing->kernel->milliseconds += milliseconds;
        }
        CALL("cuEventDestroy_v2", (void *), timing->start);
        CALL("cuEventDestroy_v2", (void *), timing->end);
    }
    pending_count -= count;
    memmove(pending, pending + count, pending_count * sizeof *pending);
}

static pid_t owner; /* the process; a child of vfork has its memory */

static void report(void) {
    if (!folder || wanted >= 0 || getpid() != owner)
        return;
    pthread_mutex_lock(&lock);
    settle(pending_count);
    for (int at = 0; at < SLOTS; at++)
        if (kernels[at] && kernels[at]->launches) {
            tell("listed %ld %ld %.6f %s", kernels[at]->launches, kernels[at]->timed, kernels[at]->milliseconds, kernels[at]->name);
            kernels[at]->launches = 0;
        }
    pthread_mutex_unlock(&lock);
}

/* Processes of Python end by it. */
void _exit(int status) {
    report();
    for (;;)
        syscall(SYS_exit_group, status);
}

static Result record_event(const Launch *l, void *event) {
    return l->per_thread ? CALL("cuEventRecord_ptsz", (void *, void *), event, l->config.stream)
                         : CALL("cuEventRecord", (void *, void *), event, l->config.stream);
}

static Result time_launch(const Launch *l, Kernel *kernel, int is_recorded) {
    Timing timing = {.kernel = kernel};
    int is_timed = !is_recorded && !CALL("cuEventCreate", (void **, unsigned), &timing.start, 0) &&
                   !CALL("cuEventCreate", (void **, unsigned), &timing.end, 0) && !record_event(l, timing.start);
    Result result = forward(l);
    is_timed = is_timed && !result && !record_event(l, timing.end);
    pthread_mutex_lock(&lock);
    static int is_registered;
    if (!is_registered++)
        atexit(report); /* after the driver's own, so before it */
    kernel->launches += !result;
    if (is_timed) {
        if (pending_count == PENDING)
            settle(PENDING / 2);
        pending[pending_count++] = timing;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

/* The record of a launched kernel with its name; null without one. */
static Kernel *kernel_of(void *function) {
    pthread_mutex_lock(&lock);
    Kernel *kernel = record_of(function);
    if (kernel && !kernel->is_known) {
        const char *name = kernel->name;
        if (!name && CALL("cuFuncGetName", (const char **, void *), &name, function))
            CALL("cuKernelGetName", (const char **, void *), &name, function);
        if (!kernel->name && name)
            kernel->name = strdup(name);
        kernel->is_wanted = name && tell("match %s", name) == '1';
        kernel->is_known = 1;
    }
    pthread_mutex_unlock(&lock);
    return kernel && kernel->name ? kernel : NULL;
}

static Result launch(const Launch *l) {
    static long seen;
    Kernel *kernel = folder && !is_inside ? kernel_of(l->function) : NULL;
    if (!kernel || !kernel->is_wanted)
        return forward(l);
    int status = 0;
    int is_recorded = CALL("cuStreamIsCapturing", (void *, int *), l->config.stream, &status) || status;
    if (wanted < 0)
        return time_launch(l, kernel, is_recorded);
    if (is_recorded) {
        tell("refused %s: it is launched into a CUDA graph, whose kernel nodes are not captured", kernel->name);
        return forward(l);
    }
    return __atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED) == wanted ? copy_launch(l, kernel) : forward(l);
}

static void refuse_node(void *function) {
    Kernel *kernel = folder && function ? kernel_of(function) : NULL;
    if (kernel && kernel->is_wanted && wanted >= 0)
        tell("refused %s: it is a kernel node of a CUDA graph, which is not captured", kernel->name);
}

/* ---- the functions that a program calls ---- */

#define PLAIN_LAUNCH(name, own_form, own_stream) \
    Result name(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream, \
                void **parameters, void **extra) { \
        return launch(&(Launch){.form = own_form, .per_thread = own_stream, .function = function, .parameters = parameters, .extra = extra, \
                                .config = {.grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared = shared, .stream = stream}}); \
    }
#define COOPERATIVE_LAUNCH(name, own_stream) \
    Result name(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream, \
                void **parameters) { \
        return launch(&(Launch){.form = COOPERATIVE, .per_thread = own_stream, .function = function, .parameters = parameters, \
                                .config = {.grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared = shared, .stream = stream}}); \
    }
#define EXTENDED_LAUNCH(name, own_stream) \
    Result name(const Config *config, void *function, void **parameters, void **extra) { \
        return launch(&(Launch){.form = EXTENDED, .per_thread = own_stream, .function = function, .config = *config, .given = config, \
                                .parameters = parameters, .extra = extra}); \
    }
PLAIN_LAUNCH(cuLaunchKernel, PLAIN, 0)
PLAIN_LAUNCH(cuLaunchKernel_ptsz, PLAIN, 1)
COOPERATIVE_LAUNCH(cuLaunchCooperativeKernel, 0)
COOPERATIVE_LAUNCH(cuLaunchCooperativeKernel_ptsz, 1)
EXTENDED_LAUNCH(cuLaunchKernelEx, 0)
EXTENDED_LAUNCH(cuLaunchKernelEx_ptsz, 1)

#define CALLER __builtin_return_address(0)

#define LOADER(name, types, list, data, path, ...) \
    Result name list { \
        Result result = CALL(#name, types, __VA_ARGS__); \
        if (!result) \
            keep_image(*handle, data, path, CALLER); \
        return result; \
    }
LOADER(cuModuleLoad, (void **, const char *), (void **handle, const char *path), NULL, path, handle, path)
LOADER(cuModuleLoadData, (void **, const void *), (void **handle, const void *data), data, NULL, handle, data)
LOADER(cuModuleLoadFatBinary, (void **, const void *), (void **handle, const void *data), data, NULL, handle, data)
LOADER(cuModuleLoadDataEx, (void **, const void *, unsigned, int *, void **),
       (void **handle, const void *data, unsigned count, int *options, void **values), data, NULL, handle, data, count, options, values)
LOADER(cuLibraryLoadData, (void **, const void *, int *, void **, unsigned, int *, void **, unsigned),
       (void **handle, const void *data, int *jit, void **values, unsigned count, int *options, void **option_values, unsigned options_count), data,
       NULL, handle, data, jit, values, count, options, option_values, options_count)
LOADER(cuLibraryLoadFromFile, (void **, const char *, int *, void **, unsigned, int *, void **, unsigned),
       (void **handle, const char *path, int *jit, void **values, unsigned count, int *options, void **option_values, unsigned options_count), NULL,
       path, handle, path, jit, values, count, options, option_values, options_count)

#define GETTER(name) \
    Result name(void **found, void *of, const char *symbol) { \
        Result result = CALL(#name, (void **, void *, const char *), found, of, symbol); \
        if (!result && folder) \
            name_kernel(*found, symbol, image_of(of)); \
        return result; \
    }
GETTER(cuModuleGetFunction)
GETTER(cuLibraryGetKernel)

Result cuKernelGetFunction(void **function, void *kernel) {
    Result result = CALL("cuKernelGetFunction", (void **, void *), function, kernel);
    if (!result && folder) {
        pthread_mutex_lock(&lock);
        Kernel *own = record_of(kernel);
        char *name = own ? own->name : NULL;
        int image = own ? own->image : -1;
        pthread_mutex_unlock(&lock);
        if (name)
            name_kernel(*function, name, image);
    }
    return result;
}

/* Variables that the host asks for are those that it fills. */
#define VARIABLE(name) \
    Result name(Pointer *address, size_t *bytes, void *of, const char *symbol) { \
        Pointer own_address; \
        size_t own_bytes; \
        Result result = CALL(#name, (Pointer *, size_t *, void *, const char *), &own_address, &own_bytes, of, symbol); \
        if (address) \
            *address = own_address; \
        if (bytes) \
            *bytes = own_bytes; \
        if (!result && folder && wanted >= 0) { \
            pthread_mutex_lock(&lock); \
            int at = 0; \
            while (at < variable_count && variables[at].address != own_address) \
                at++; \
            if (at == variable_count) { \
                variables = grown(variables, variable_count, sizeof *variables); \
                variables[variable_count++] = (Variable){image_of(of), strdup(symbol), own_address, own_bytes}; \
            } \
            pthread_mutex_unlock(&lock); \
        } \
        return result; \
    }
VARIABLE(cuModuleGetGlobal_v2)
VARIABLE(cuLibraryGetGlobal)

static void keep_handle(Pointer handle) {
    pthread_mutex_lock(&lock);
    handles = grown(handles, handle_count, sizeof *handles);
    handles[handle_count++] = handle;
    pthread_mutex_unlock(&lock);
}

Result cuTexObjectCreate(Pointer *object, const void *resource, const void *texture, const void *view) {
    Result result = CALL("cuTexObjectCreate", (Pointer *, const void *, const void *, const void *), object, resource, texture, view);
    if (!result && folder)
        keep_handle(*object);
    return result;
}

Result cuSurfObjectCreate(Pointer *object, const void *resource) {
    Result result = CALL("cuSurfObjectCreate", (Pointer *, const void *), object, resource);
    if (!result && folder)
        keep_handle(*object);
    return result;
}

Result cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address, const uint64_t *sizes, const uint64_t *strides,
                              const unsigned *box, const unsigned *steps, int interleave, int swizzle, int promotion, int fill) {
    Result result = CALL("cuTensorMapEncodeTiled",
                         (void *, int, unsigned, void *, const uint64_t *, const uint64_t *, const unsigned *, const unsigned *, int, int, int, int),
                         map, type, rank, address, sizes, strides, box, steps, interleave, swizzle, promotion, fill);
    if (!result && folder) {
        enum { RECENT = 4096 };
        pthread_mutex_lock(&lock);
        if (map_count < RECENT)
            maps = grown(maps, map_count, sizeof *maps);
        static int next;
        memcpy(maps[next].map, map, MAP);
        map_count += map_count < RECENT;
        next = (next + 1) % RECENT;
        pthread_mutex_unlock(&lock);
    }
    return result;
}

#define NODE(name) \
    Result name(void **node, void *graph, const void *before, size_t count, void *const *parameters) { \
        refuse_node(*parameters); \
        return CALL(#name, (void **, void *, const void *, size_t, void *const *), node, graph, before, count, parameters); \
    }
NODE(cuGraphAddKernelNode)
NODE(cuGraphAddKernelNode_v2)

/* ---- the ways to find them ---- */

void *dlsym(void *handle, const char *name);
Result cuGetProcAddress(const char *name, void **found, int version, uint64_t flags);
Result cuGetProcAddress_v2(const char *name, void **found, int version, uint64_t flags, int *status);

#define ENTRY(name) {#name, (void *)name}
static const struct { const char *name; void *own; } OWN[] = {
    ENTRY(cuLaunchKernel), ENTRY(cuLaunchKernel_ptsz), ENTRY(cuLaunchKernelEx), ENTRY(cuLaunchKernelEx_ptsz),
    ENTRY(cuLaunchCooperativeKernel), ENTRY(cuLaunchCooperativeKernel_ptsz), ENTRY(cuModuleLoad), ENTRY(cuModuleLoadData),
    ENTRY(cuModuleLoadDataEx), ENTRY(cuModuleLoadFatBinary), ENTRY(cuLibraryLoadData), ENTRY(cuLibraryLoadFromFile),
    ENTRY(cuModuleGetFunction), ENTRY(cuLibraryGetKernel), ENTRY(cuKernelGetFunction),
    ENTRY(cuModuleGetGlobal_v2), ENTRY(cuLibraryGetGlobal), ENTRY(cuTexObjectCreate), ENTRY(cuSurfObjectCreate),
    ENTRY(cuTensorMapEncodeTiled), ENTRY(cuGraphAddKernelNode), ENTRY(cuGraphAddKernelNode_v2), ENTRY(cuGetProcAddress),
    ENTRY(cuGetProcAddress_v2)};

static void *own(const char *name) {
    for (size_t at = 0; at < sizeof OWN / sizeof *OWN; at++)
        if (!strcmp(OWN[at].name, name))
            return OWN[at].own;
    return NULL;
}

/* The function of ours in the place of one that cuGetProcAddress found. */
static void replace(const char *name, void **found, int version, uint64_t flags) {
    enum { PER_THREAD = 2 };
    static const struct { const char *name; int version; } SECOND[] = {
        {"cuModuleGetGlobal", 3020}, {"cuGraphAddKernelNode", 12000}, {"cuGetProcAddress", 12000}};
    char whole[128];
    const char *suffix = flags & PER_THREAD && !strncmp(name, "cuLaunch", 8) ? "_ptsz" : "";
    for (int at = 0; at < 3; at++)
        if (!strcmp(SECOND[at].name, name) && version >= SECOND[at].version)
            suffix = "_v2";
    snprintf(whole, sizeof whole, "%s%s", name, suffix);
    if (folder && found && *found && own(whole) && driver(whole))
        *found = own(whole);
}

Result cuGetProcAddress(const char *name, void **found, int version, uint64_t flags) {
    Result result = CALL("cuGetProcAddress", (const char *, void **, int, uint64_t), name, found, version, flags);
    if (!result)
        replace(name, found, version, flags);
    return result;
}

Result cuGetProcAddress_v2(const char *name, void **found, int version, uint64_t flags, int *status) {
    Result result = CALL("cuGetProcAddress_v2", (const char *, void **, int, uint64_t, int *), name, found, version, flags, status);
    if (!result)
        replace(name, found, version, flags);
    return result;
}

/* Its last call is a jump, so that RTLD_NEXT means what comes after the library that asks. */
void *dlsym(void *handle, const char *name) {
    void *found = folder && name[0] == 'c' && name[1] == 'u' ? own(name) : NULL;
    if (found && driver(name))
        return found;
    if (!find_symbol)
        find_dlsym();
    return find_symbol(handle, name);
}

/* A child has no events of its parent, and its launches are its own. */
static void forked(void) {
    pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
    lock = unlocked;
    owner = getpid();
    pending_count = 0;
    for (int at = 0; at < SLOTS; at++)
        if (kernels[at]) {
            kernels[at]->launches = kernels[at]->timed = 0;
            kernels[at]->milliseconds = 0;
        }
}

__attribute__((constructor)) static void begin(void) {
    const char *number = getenv("NCUGATE_CAPTURE_LAUNCH"), *most = getenv("NCUGATE_CAPTURE_BYTES"), *own_folder = getenv("NCUGATE_CAPTURE");
    wanted = number ? atol(number) : -1;
    max_bytes = most ? strtoull(most, NULL, 10) : 0;
    folder = own_folder ? strdup(own_folder) : NULL;
    owner = getpid();
    if (folder)
        pthread_atfork(NULL, NULL, forked);
}
