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

enum { OK = 0, FAILED = 999, MAP = 128, COOPERATIVE_ID = 2, CLUSTER_ID = 4 };

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
        static Result(*of_driver) types; \
        if (!of_driver) \
            of_driver = (Result(*) types)driver(name); \
        of_driver ? of_driver(__VA_ARGS__) : FAILED; \
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
    float *times; /* of the timed launches */
} Kernel;

typedef struct {
    int image;
    char *name;
    Pointer address;
    size_t bytes;
} Variable;

static Image *images;
static Variable *variables;
/* A tensor map, and what it was made of; no rank: what a phase cannot describe. */
typedef struct {
    unsigned char bytes[MAP];
    unsigned rank, box[5], steps[5];
    int type, interleave, swizzle, promotion, fill;
    Pointer address;
    uint64_t sizes[5], strides[5];
} Map;

static Map *maps;
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

/* The tensor map of these bytes. */
static const Map *map_of(const void *bytes) {
    for (int at = 0; at < map_count; at++)
        if (!memcmp(maps[at].bytes, bytes, MAP))
            return &maps[at];
    return NULL;
}

static void write_all(Copy *copy, int file, const char *path, const void *from, size_t bytes) {
    for (size_t sent = 0; sent < bytes && !*copy->reason;) {
        ssize_t now = write(file, (const char *)from + sent, bytes - sent);
        if (now < 0 && errno != EINTR)
            refuse(copy, "cannot write %s: %s", path, strerror(errno));
        sent += now < 0 ? 0 : now;
    }
}

/* Copies device memory to a NumPy file of bytes. If nothing has changed since `before`, the file is a link to it. */
static void save(Copy *copy, const char *name, const char *when, Pointer from, size_t bytes) {
    enum { CHUNK = 1 << 24, HEAD = 128 };
    char path[4200], old[4200], head[HEAD + 1], shape[100];
    snprintf(path, sizeof path, "%s/%s.%s", copy->path, name, when);
    snprintf(old, sizeof old, "%s/%s.before", copy->path, name);
    int before = strcmp(path, old) ? open(old, O_RDONLY | O_CLOEXEC) : -1, file = -1;
    char *chunk = malloc(CHUNK), *other = malloc(CHUNK);
    size_t equal = 0; /* bytes at the start that have not changed */
    for (size_t at = 0, part; at < bytes && !*copy->reason; at += part) {
        part = bytes - at < CHUNK ? bytes - at : CHUNK;
        if (!chunk || !other || CALL("cuMemcpyDtoH_v2", (void *, Pointer, size_t), chunk, from + at, part)) {
            refuse(copy, "cannot read %zu bytes of device memory", bytes);
            break;
        }
        if (file < 0 && before >= 0 && pread(before, other, part, HEAD + at) == (ssize_t)part && !memcmp(chunk, other, part)) {
            equal += part;
            continue;
        }
        if (file < 0) {
            if ((file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) < 0)
                refuse(copy, "cannot write %s: %s", path, strerror(errno));
            snprintf(shape, sizeof shape, "{'descr': '|V1', 'fortran_order': False, 'shape': (%zu,), }", bytes);
            snprintf(head, sizeof head, "%10s%-117s\n", "", shape);
            memcpy(head, "\x93NUMPY\x01\0v\0", 10);
            write_all(copy, file, path, head, HEAD);
            for (size_t done = 0, now; done < equal; done += now) {
                now = equal - done < CHUNK ? equal - done : CHUNK;
                if (pread(before, other, now, HEAD + done) != (ssize_t)now)
                    refuse(copy, "cannot read %s", old);
                write_all(copy, file, path, other, now);
            }
        }
        write_all(copy, file, path, chunk, part);
    }
    if (file < 0 && !*copy->reason && link(old, path) && symlink(strrchr(old, '/') + 1, path))
        refuse(copy, "cannot write %s: %s", path, strerror(errno));
    if (file >= 0 && close(file) && errno == ENOSPC)
        refuse(copy, "cannot write %s: %s", path, strerror(errno));
    if (before >= 0)
        close(before);
    free(chunk);
    free(other);
}

static int save_all(Copy *copy, int image, const char *when) {
    char name[64];
    for (int at = 0; at < copy->count && !*copy->reason; at++) {
        snprintf(name, sizeof name, "m%d", at);
        save(copy, name, when, copy->ranges[at].base, copy->ranges[at].bytes);
    }
    for (int at = 0; at < variable_count && !*copy->reason; at++) {
        snprintf(name, sizeof name, "v%d", at);
        if (variables[at].image == image)
            save(copy, name, when, variables[at].address, variables[at].bytes);
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

/* The same from the list of a cubin; negative without one. */
static int listed(const Kernel *kernel, size_t at, size_t *offset, size_t *size) {
    enum { PARAMETER = 0x17, SIZED = 4 };
    const char *data = kernel->image < 0 ? NULL : images[kernel->image].data;
    char section[4096];
    snprintf(section, sizeof section, ".nv.info.%s", kernel->name);
    if (!data || memcmp(data, ELFMAG, SELFMAG))
        return -1;
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)data;
    const Elf64_Shdr *all = (const Elf64_Shdr *)(data + head->e_shoff);
    for (int part = 0; part < head->e_shnum; part++) {
        if (strcmp(data + all[head->e_shstrndx].sh_offset + all[part].sh_name, section))
            continue;
        const unsigned char *entry = (const unsigned char *)data + all[part].sh_offset, *end = entry + all[part].sh_size;
        for (uint16_t length; entry + 4 <= end; entry += 4 + (entry[0] == SIZED ? length : 0)) {
            uint16_t words[6]; /* an index, ordinal, offset, and bits of which the upper 14 are the size */
            memcpy(&length, entry + 2, sizeof length);
            if (entry[0] != SIZED || entry[1] != PARAMETER || length < sizeof words || entry + 4 + sizeof words > end)
                continue;
            memcpy(words, entry + 4, sizeof words);
            if (words[2] == at) {
                *offset = words[3];
                *size = words[5] >> 2;
                return 1;
            }
        }
        return 0;
    }
    return -1;
}

/* Size and place of a parameter, of a function or a kernel. Drivers before CUDA 12.4 do not tell them. */
static int parameter(const Launch *l, const Kernel *kernel, size_t at, size_t *offset, size_t *size) {
    Result own = CALL("cuFuncGetParamInfo", (void *, size_t, size_t *, size_t *), l->function, at, offset, size);
    Result other = own ? CALL("cuKernelGetParamInfo", (void *, size_t, size_t *, size_t *), l->function, at, offset, size) : OK;
    return own == FAILED && other == FAILED ? listed(kernel, at, offset, size) : !own || !other;
}

/* The bytes of a parameter, from the buffer of all or from its own. */
#define VALUE(l, packed, at, offset) ((packed) ? (packed) + (offset) : (unsigned char *)(l)->parameters[at])

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
    if (parameter(l, kernel, 0, &offset, &size) < 0)
        refuse(copy, "the driver is older than CUDA 12.4 and does not tell the sizes of parameters, and the code is no plain cubin");
    for (size_t at = 0; parameter(l, kernel, at, &offset, &size) > 0; at++) {
        const unsigned char *bytes = packed || l->parameters ? VALUE(l, packed, at, offset) : NULL;
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
            const Map *map = word + MAP <= size ? map_of(bytes + word) : NULL;
            if (map) {
                if (!map->rank)
                    refuse(copy, "%s + %zu is a tensor map of another kind than cuTensorMapEncodeTiled makes, which is not captured", where, word);
                else if (!reaches(copy, map->address, where, word))
                    refuse(copy, "%s + %zu is a tensor map of memory that the driver does not know", where, word);
                word += MAP - 8;
                continue;
            }
            memcpy(&value, bytes + word, sizeof value);
            reaches(copy, value, where, word);
            for (int known = 0; known < handle_count; known++)
                if (value && handles[known] == value)
                    refuse(copy, "%s + %zu is a texture or surface object, which is not captured", where, word);
        }
    }
    fputs("], \"maps\": [", json);
    for (size_t at = 0; !*copy->reason && parameter(l, kernel, at, &offset, &size) > 0; at++)
        for (size_t word = 0; word + MAP <= size; word += 8) {
            const Map *map = map_of(VALUE(l, packed, at, offset) + word);
            if (!map)
                continue;
            fprintf(json, "%s{\"parameter\": %zu, \"offset\": %zu, \"type\": %d, \"address\": %lu, \"interleave\": %d, \"swizzle\": %d, "
                          "\"promotion\": %d, \"fill\": %d, \"axes\": [", is_first ? "" : ", ", at, word, map->type, (unsigned long)map->address,
                    map->interleave, map->swizzle, map->promotion, map->fill);
            for (unsigned axis = 0; axis < map->rank; axis++)
                fprintf(json, "%s{\"size\": %lu, \"stride\": %lu, \"extent\": %u, \"step\": %u}", axis ? ", " : "",
                        (unsigned long)map->sizes[axis], axis ? (unsigned long)map->strides[axis - 1] : 0, map->box[axis], map->steps[axis]);
            fputs("]}", json);
            is_first = 0;
            word += MAP - 8;
        }
    fputs("], \"arrays\": [", json);
    is_first = 1;
    for (size_t at = 0; !*copy->reason && parameter(l, kernel, at, &offset, &size) > 0; at++)
        for (size_t word = 0; word + 8 <= size; word += 8) {
            Pointer value;
            unsigned char content[MAP];
            const unsigned char *bytes = VALUE(l, packed, at, offset) + word;
            if (word + MAP <= size && map_of(bytes)) {
                word += MAP - 8;
                continue;
            }
            memcpy(&value, bytes, sizeof value);
            if (value < 1ull << 32 || !reaches(copy, value, "a parameter", word))
                continue;
            if (!CALL("cuMemcpyDtoH_v2", (void *, Pointer, size_t), content, value, MAP) && map_of(content))
                refuse(copy, "parameter %zu + %zu points to a tensor map in memory, which is not captured", at, word);
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

enum { COMPARED = 1000 };

/* The parameters of the copied launch. Those with another value in a later one are no constants. */
static struct {
    const Kernel *kernel;
    unsigned char bytes[4096];
    char is_varied[512];
    int left; /* later launches that are compared */
} copied;

static int is_pointer(Pointer value) {
    unsigned kind = 0;
    return !CALL("cuPointerGetAttribute", (void *, int, Pointer), &kind, 2, value) && kind;
}

/* Whether a number differs between two values of a parameter. Pointers do not count. */
static int differs(const unsigned char *one, const unsigned char *other, size_t size) {
    for (size_t at = 0, part; at < size; at += part) {
        Pointer words[2] = {0};
        part = size - at < 8 ? size - at : 8;
        memcpy(&words[0], one + at, part);
        memcpy(&words[1], other + at, part);
        if (words[0] != words[1] && !(part == 8 && (is_pointer(words[0]) || is_pointer(words[1]))))
            return 1;
    }
    return 0;
}

/* Keeps the parameters of a launch, or notes which of them have other values now. */
static void compare(const Launch *l, const Kernel *kernel) {
    const unsigned char *packed = NULL;
    char path[4200];
    size_t offset, size;
    int is_first = copied.kernel != kernel;
    for (void **extra = l->extra; extra && extra[0]; extra += 2)
        packed = extra[0] == (void *)1 ? extra[1] : packed;
    for (size_t at = 0; at < sizeof copied.is_varied && parameter(l, kernel, at, &offset, &size) > 0; at++) {
        if (offset + size > sizeof copied.bytes || !(packed || l->parameters))
            return;
        const unsigned char *value = VALUE(l, packed, at, offset);
        if (is_first)
            memcpy(copied.bytes + offset, value, size);
        else if (!copied.is_varied[at] && (size < MAP || !map_of(value)) && differs(copied.bytes + offset, value, size)) {
            copied.is_varied[at] = 1;
            snprintf(path, sizeof path, "%s/data/whole/varied", folder);
            FILE *file = fopen(path, "ae");
            if (file) {
                fprintf(file, "%zu\n", at);
                fclose(file);
            }
        }
    }
    copied.kernel = kernel;
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
    if (!*copy.reason) {
        copied.left = COMPARED;
        compare(l, kernel);
    }
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
            Kernel *kernel = timing->kernel;
            if ((kernel->times = grown(kernel->times, kernel->timed, sizeof milliseconds)))
                kernel->times[kernel->timed++] = milliseconds;
            kernel->milliseconds += milliseconds;
        }
        CALL("cuEventDestroy_v2", (void *), timing->start);
        CALL("cuEventDestroy_v2", (void *), timing->end);
    }
    pending_count -= count;
    memmove(pending, pending + count, pending_count * sizeof *pending);
}

static int by_size(const void *a, const void *b) {
    float one = *(const float *)a, other = *(const float *)b;
    return (one > other) - (one < other);
}

static pid_t owner; /* the process; a child of vfork has its memory */

static void report(void) {
    if (!folder || wanted >= 0 || getpid() != owner)
        return;
    pthread_mutex_lock(&lock);
    settle(pending_count);
    for (int at = 0; at < SLOTS; at++)
        if (kernels[at] && kernels[at]->launches) {
            Kernel *own = kernels[at];
            float median = 0;
            if (own->timed) {
                qsort(own->times, own->timed, sizeof median, by_size);
                median = (own->times[(own->timed - 1) / 2] + own->times[own->timed / 2]) / 2;
            }
            tell("listed %ld %ld %.6f %.6f %s", own->launches, own->timed, own->milliseconds, median, own->name);
            own->launches = 0;
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
    /* Else the first launch, after the event, also waits for its code. */
    void *own = NULL;
    if (!is_recorded && CALL("cuFuncLoad", (void *), l->function) && !CALL("cuKernelGetFunction", (void **, void *), &own, l->function))
        CALL("cuFuncLoad", (void *), own);
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
        /* A node's function may have another handle than the kernel that the program found: it is the only one of this name. */
        int image = -1;
        for (int at = 0; name && kernel->image < 0 && at < SLOTS; at++)
            if (kernels[at] && kernels[at]->image >= 0 && !strcmp(kernels[at]->name, name))
                image = image == -1 || image == kernels[at]->image ? kernels[at]->image : -2;
        kernel->image = image < 0 ? kernel->image : image;
        kernel->is_wanted = name && tell("match %s", name) == '1';
        kernel->is_known = 1;
    }
    pthread_mutex_unlock(&lock);
    return kernel && kernel->name ? kernel : NULL;
}

static long seen; /* launches that are wanted, of this process */

static void refuse_recorded(const Kernel *kernel) {
    tell("skipped %s: it is a node of a CUDA graph, and no launch of this graph was captured", kernel->name);
}

static Result launch(const Launch *l) {
    Kernel *kernel = folder && !is_inside ? kernel_of(l->function) : NULL;
    if (!kernel || !kernel->is_wanted)
        return forward(l);
    int status = 0;
    int is_recorded = CALL("cuStreamIsCapturing", (void *, int *), l->config.stream, &status) || status;
    if (wanted < 0)
        return time_launch(l, kernel, is_recorded);
    if (is_recorded) {
        refuse_recorded(kernel);
        return forward(l);
    }
    if (__atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED) == wanted)
        return copy_launch(l, kernel);
    if (kernel == copied.kernel && __atomic_fetch_sub(&copied.left, 1, __ATOMIC_RELAXED) > 0)
        compare(l, kernel);
    return forward(l);
}

static void refuse_node(void *function) {
    Kernel *kernel = folder && function ? kernel_of(function) : NULL;
    if (kernel && kernel->is_wanted && wanted >= 0)
        refuse_recorded(kernel);
}

/* ---- launches of graphs ---- */

/* An instantiated graph with a wanted kernel, and a copy of the graph, of which parts are made. */
typedef struct {
    void *exec, *graph, **nodes;
    size_t count;
    const char *refusal; /* why no node can be captured */
} Graph;

typedef struct {
    void *function;
    Three grid, block;
    unsigned shared;
    void **parameters, **extra, *kernel, *context;
} NodeKernel;

static Graph *graphs;
static int graph_count;

/* The record of a node's kernel if it is wanted, and its launch. */
static Kernel *wanted_node(void *node, NodeKernel *own) {
    int type = -1;
    if (CALL("cuGraphNodeGetType", (void *, int *), node, &type) || type ||
        CALL("cuGraphKernelNodeGetParams_v2", (void *, NodeKernel *), node, own))
        return NULL;
    own->function = own->function ? own->function : own->kernel;
    Kernel *kernel = own->function ? kernel_of(own->function) : NULL;
    return kernel && kernel->is_wanted ? kernel : NULL;
}

static void keep_graph(void *exec, void *graph) {
    if (!folder || wanted < 0)
        return;
    Graph made = {.exec = exec};
    NodeKernel own;
    int is_wanted = 0;
    if (CALL("cuGraphGetNodes", (void *, void **, size_t *), graph, NULL, &made.count) || !(made.nodes = calloc(made.count + 1, sizeof(void *))) ||
        CALL("cuGraphGetNodes", (void *, void **, size_t *), graph, made.nodes, &made.count))
        return;
    for (size_t at = 0; at < made.count; at++)
        is_wanted |= !!wanted_node(made.nodes[at], &own);
    if (is_wanted && (CALL("cuGraphClone", (void **, void *), &made.graph, graph)))
        made.refusal = "with memory nodes or others that cannot be cloned";
    for (size_t at = 0; is_wanted && !made.refusal && at < made.count; at++)
        if (CALL("cuGraphNodeFindInClone", (void **, void *, void *), &made.nodes[at], made.nodes[at], made.graph))
            made.refusal = "with nodes that cannot be cloned";
    pthread_mutex_lock(&lock);
    int at = 0;
    while (at < graph_count && graphs[at].exec != exec)
        at++;
    if (at < graph_count)
        graphs[at] = made;
    else if (is_wanted) {
        graphs = grown(graphs, graph_count, sizeof *graphs);
        graphs[graph_count++] = made;
    }
    pthread_mutex_unlock(&lock);
}

static void refuse_updated(void *exec) {
    pthread_mutex_lock(&lock);
    for (int at = 0; at < graph_count; at++)
        if (graphs[at].exec == exec)
            graphs[at].refusal = "of which a node was updated";
    pthread_mutex_unlock(&lock);
}

/* Instantiates the marked nodes of a graph. The others have run before them, or run after them. */
static void *part_of(const Graph *own, const char *marks, char mark) {
    void *copy, *node, *exec = NULL;
    if (CALL("cuGraphClone", (void **, void *), &copy, own->graph))
        return NULL;
    for (size_t at = 0; at < own->count; at++)
        if (marks[at] != mark && (CALL("cuGraphNodeFindInClone", (void **, void *, void *), &node, own->nodes[at], copy) ||
                                  CALL("cuGraphDestroyNode", (void *), node)))
            return NULL;
    return CALL("cuGraphInstantiateWithFlags", (void **, void *, unsigned long long), &exec, copy, 0) ? NULL : exec;
}

/* Marks what a node waits for; 0 if the driver does not tell. */
static int mark_before(const Graph *own, size_t target, char *marks) {
    void **needed = calloc(own->count + 1, sizeof *needed);
    size_t *left = calloc(own->count + 1, sizeof *left), waiting = 1, count;
    int is_known = needed && left;
    for (left[0] = target; is_known && waiting;) {
        void *node = own->nodes[left[--waiting]];
        count = own->count;
        is_known = !CALL("cuGraphNodeGetDependencies", (void *, void **, size_t *), node, needed, &count);
        for (size_t at = 0; is_known && at < count; at++)
            for (size_t other = 0; other < own->count; other++)
                if (own->nodes[other] == needed[at] && !marks[other]) {
                    marks[other] = 1;
                    left[waiting++] = other;
                }
    }
    free(needed);
    free(left);
    return is_known;
}

static Result run_graph(void *exec, void *stream, int per_thread) {
    return per_thread ? CALL("cuGraphLaunch_ptsz", (void *, void *), exec, stream) : CALL("cuGraphLaunch", (void *, void *), exec, stream);
}

/* Copies a node's launch in a launch of its graph: what the node waits for, the node, and the rest, which is an order that the graph
 * permits. */
static Result copy_node(const Graph *own, size_t target, void *stream, int per_thread) {
    NodeKernel node;
    Kernel *kernel = wanted_node(own->nodes[target], &node);
    char *marks = calloc(own->count + 1, 1);
    const char *refusal = own->refusal;
    void *before = NULL, *after = NULL;
    if (!refusal && !(marks && mark_before(own, target, marks)))
        refusal = "with dependencies that the driver does not list, such as programmatic ones";
    if (!refusal) {
        marks[target] = 2;
        if (!(before = part_of(own, marks, 1)) || !(after = part_of(own, marks, 0)))
            refusal = "that cannot be split";
    }
    free(marks);
    if (refusal) {
        tell("skipped %s: it is a node of a CUDA graph %s, which is not captured", kernel->name, refusal);
        return run_graph(own->exec, stream, per_thread);
    }
    static const unsigned ids[] = {1, COOPERATIVE_ID, CLUSTER_ID};
    Attribute attributes[3];
    Config config = {.shared = node.shared, .stream = stream, .attributes = attributes};
    memcpy(config.grid, node.grid, sizeof config.grid);
    memcpy(config.block, node.block, sizeof config.block);
    for (int at = 0; at < 3; at++) {
        Attribute *own_attribute = &attributes[config.count];
        memset(own_attribute, 0, sizeof *own_attribute);
        own_attribute->id = ids[at];
        /* A window has its bytes in the third word. */
        config.count += !CALL("cuGraphKernelNodeGetAttribute", (void *, unsigned, void *), own->nodes[target], ids[at], &own_attribute->value) &&
                        own_attribute->value.words[ids[at] == 1 ? 2 : 0];
    }
    Launch l = {.form = EXTENDED, .per_thread = per_thread, .function = node.function, .config = config, .given = &config,
                .parameters = node.parameters, .extra = node.extra};
    Result result = run_graph(before, stream, per_thread);
    result = result ? result : copy_launch(&l, kernel);
    return result ? result : run_graph(after, stream, per_thread);
}

static Result launch_graph(void *exec, void *stream, int per_thread) {
    Graph own = {0};
    NodeKernel node;
    pthread_mutex_lock(&lock);
    for (int at = 0; folder && !is_inside && seen <= wanted && at < graph_count; at++)
        if (graphs[at].exec == exec)
            own = graphs[at];
    pthread_mutex_unlock(&lock);
    for (size_t at = 0; own.exec && at < own.count; at++)
        if (wanted_node(own.nodes[at], &node) && __atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED) == wanted) {
            for (size_t other = at + 1; other < own.count; other++)
                if (wanted_node(own.nodes[other], &node))
                    __atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED);
            return copy_node(&own, at, stream, per_thread);
        }
    return run_graph(exec, stream, per_thread);
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

static void keep_map(const Map *made, const void *bytes) {
    enum { RECENT = 4096 };
    static int next;
    pthread_mutex_lock(&lock);
    const Map *known = map_of(bytes); /* equal bytes are equal maps */
    int at = known ? known - maps : next;
    if (!known && map_count < RECENT)
        maps = grown(maps, map_count++, sizeof *maps);
    maps[at] = *made;
    memcpy(maps[at].bytes, bytes, MAP);
    next = known ? next : (next + 1) % RECENT;
    pthread_mutex_unlock(&lock);
}

Result cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address, const uint64_t *sizes, const uint64_t *strides,
                              const unsigned *box, const unsigned *steps, int interleave, int swizzle, int promotion, int fill) {
    Result result = CALL("cuTensorMapEncodeTiled",
                         (void *, int, unsigned, void *, const uint64_t *, const uint64_t *, const unsigned *, const unsigned *, int, int, int, int),
                         map, type, rank, address, sizes, strides, box, steps, interleave, swizzle, promotion, fill);
    if (!result && folder) {
        Map made = {.rank = rank, .type = type, .interleave = interleave, .swizzle = swizzle, .promotion = promotion, .fill = fill,
                    .address = (Pointer)address};
        memcpy(made.sizes, sizes, rank * sizeof *sizes);
        memcpy(made.strides, strides, (rank - 1) * sizeof *sizes);
        memcpy(made.box, box, rank * sizeof *box);
        memcpy(made.steps, steps, rank * sizeof *steps);
        keep_map(&made, map);
    }
    return result;
}

Result cuTensorMapEncodeIm2col(void *map, int type, unsigned rank, void *address, const uint64_t *sizes, const uint64_t *strides, const int *lower,
                               const int *upper, unsigned channels, unsigned pixels, const unsigned *steps, int interleave, int swizzle,
                               int promotion, int fill) {
    Result result = CALL("cuTensorMapEncodeIm2col",
                         (void *, int, unsigned, void *, const uint64_t *, const uint64_t *, const int *, const int *, unsigned, unsigned,
                          const unsigned *, int, int, int, int),
                         map, type, rank, address, sizes, strides, lower, upper, channels, pixels, steps, interleave, swizzle, promotion, fill);
    if (!result && folder)
        keep_map(&(Map){.rank = 0}, map);
    return result;
}

Result cuTensorMapReplaceAddress(void *map, void *address) {
    pthread_mutex_lock(&lock);
    const Map *old = map_of(map);
    Map made = old ? *old : (Map){.rank = 0};
    pthread_mutex_unlock(&lock);
    Result result = CALL("cuTensorMapReplaceAddress", (void *, void *), map, address);
    made.address = (Pointer)address;
    if (!result && folder)
        keep_map(&made, map);
    return result;
}

Result cuGraphLaunch(void *exec, void *stream) { return launch_graph(exec, stream, 0); }
Result cuGraphLaunch_ptsz(void *exec, void *stream) { return launch_graph(exec, stream, 1); }

#define INSTANTIATE(name, type) \
    Result name(void **exec, void *graph, type how) { \
        Result result = CALL(#name, (void **, void *, type), exec, graph, how); \
        if (!result) \
            keep_graph(*exec, graph); \
        return result; \
    }
INSTANTIATE(cuGraphInstantiateWithFlags, unsigned long long)
INSTANTIATE(cuGraphInstantiateWithParams, void *)
INSTANTIATE(cuGraphInstantiateWithParams_ptsz, void *)

Result cuGraphExecUpdate_v2(void *exec, void *graph, void *info) {
    Result result = CALL("cuGraphExecUpdate_v2", (void *, void *, void *), exec, graph, info);
    if (!result)
        keep_graph(exec, graph);
    return result;
}

/* Other arguments than these are passed on as they are. A destroyed graph's handle may be that of the next one. */
#define UPDATE(name) \
    Result name(void *exec, void *node, void *how, void *context) { \
        refuse_updated(exec); \
        return CALL(#name, (void *, void *, void *, void *), exec, node, how, context); \
    }
UPDATE(cuGraphExecKernelNodeSetParams)
UPDATE(cuGraphExecKernelNodeSetParams_v2)
UPDATE(cuGraphExecMemcpyNodeSetParams)
UPDATE(cuGraphExecMemsetNodeSetParams)
UPDATE(cuGraphExecHostNodeSetParams)
UPDATE(cuGraphExecChildGraphNodeSetParams)
UPDATE(cuGraphExecNodeSetParams)
UPDATE(cuGraphNodeSetEnabled)
UPDATE(cuGraphExecDestroy)

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
    ENTRY(cuTensorMapEncodeTiled), ENTRY(cuTensorMapEncodeIm2col), ENTRY(cuTensorMapReplaceAddress), ENTRY(cuGraphAddKernelNode), ENTRY(cuGraphAddKernelNode_v2), ENTRY(cuGraphLaunch), ENTRY(cuGraphLaunch_ptsz),
    ENTRY(cuGraphInstantiateWithFlags), ENTRY(cuGraphInstantiateWithParams), ENTRY(cuGraphInstantiateWithParams_ptsz), ENTRY(cuGraphExecUpdate_v2),
    ENTRY(cuGraphExecKernelNodeSetParams), ENTRY(cuGraphExecKernelNodeSetParams_v2), ENTRY(cuGraphExecMemcpyNodeSetParams),
    ENTRY(cuGraphExecMemsetNodeSetParams), ENTRY(cuGraphExecHostNodeSetParams), ENTRY(cuGraphExecChildGraphNodeSetParams),
    ENTRY(cuGraphExecNodeSetParams), ENTRY(cuGraphNodeSetEnabled), ENTRY(cuGraphExecDestroy), ENTRY(cuGetProcAddress),
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
        {"cuModuleGetGlobal", 3020}, {"cuGraphAddKernelNode", 12000}, {"cuGetProcAddress", 12000},
        {"cuGraphExecKernelNodeSetParams", 12000}, {"cuGraphExecUpdate", 12000}};
    char whole[128];
    int has_stream = !strncmp(name, "cuLaunch", 8) || !strcmp(name, "cuGraphLaunch") || !strcmp(name, "cuGraphInstantiateWithParams");
    const char *suffix = flags & PER_THREAD && has_stream ? "_ptsz" : "";
    if (!strcmp(name, "cuGraphInstantiate") && version >= 12000)
        suffix = "WithFlags";
    for (size_t at = 0; at < sizeof SECOND / sizeof *SECOND; at++)
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
