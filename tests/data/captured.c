/* A program that launches a kernel of the double of the driver. Its words are, in order: how it finds the driver's functions
 * (dlsym, address), the kernel, and what it does: nothing, crash (in the launch), fork (the child launches), recorded (into a graph
 * that is not launched), graph (that is launched), updated (before it is launched), node (added to a graph), host (an argument in host
 * memory), texture, surface, map, moved (a map), im2col (a map), stored (a map), pointers (arguments), variable (the host fills it),
 * same (the answer is there already), varied (a number of later launches), serve (without an end), exit (by _exit). */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int (*Find)(const char *, void **, int, uint64_t, int *);

static void *library;
static Find find;

static void *function(const char *name) {
    void *found = NULL;
    if (!find)
        return dlsym(library, name);
    find(name, &found, 13000, 0, NULL);
    return found;
}

int main(int count, char **words) {
    const char *how = words[1], *kernel = words[2], *what = count > 3 ? words[3] : "";
    enum { BYTES = 4096 };
    static float x[BYTES / 4], y[BYTES / 4];
    static char cubin[1 << 16];
    uint64_t at[2], memory;
    void *module, *entry, *context;
    float factor = 0.5f;
    int devices, device;
    library = dlopen("libcuda.so.1", RTLD_LAZY);
    if (!strcmp(how, "address"))
        find = (Find)dlsym(library, "cuGetProcAddress_v2");
    if (!strcmp(what, "fork")) {
        int child = fork(), status;
        if (child)
            return waitpid(child, &status, 0) != child || status;
    }
    FILE *file = fopen("kernel.o", "r");
    fread(cubin, 1, sizeof cubin, file);
    fclose(file);
    for (int i = 0; i < BYTES / 4; i++)
        x[i] = (float)(i * 7919 % 4001) / 1000.0f - 2;
    ((int (*)(unsigned))function("cuInit"))(0);
    ((int (*)(int *))function("cuDeviceGetCount"))(&devices);
    ((int (*)(int *, int))function("cuDeviceGet"))(&device, 0);
    ((int (*)(void **, int))function("cuDevicePrimaryCtxRetain"))(&context, device);
    if (((int (*)(void **, const void *))function("cuModuleLoadData"))(&module, cubin))
        return 3;
    ((int (*)(void **, void *, const char *))function("cuModuleGetFunction"))(&entry, module, kernel);
    memset(cubin, 0, sizeof cubin);
    /* two tensors of one allocation, as a caching allocator has them */
    ((int (*)(uint64_t *, size_t))function("cuMemAlloc_v2"))(&memory, 64 * BYTES);
    memset((void *)memory, 0, 64 * BYTES);
    at[0] = memory + 512;
    at[1] = memory + 2 * BYTES;
    ((int (*)(uint64_t, const void *, size_t))function("cuMemcpyHtoD_v2"))(at[0], x, BYTES);
    if (!strcmp(what, "same"))
        ((int (*)(uint64_t, const void *, size_t))function("cuMemcpyHtoD_v2"))(at[1], x, BYTES);
    if (!strcmp(what, "host"))
        ((int (*)(void **, size_t, unsigned))function("cuMemHostAlloc"))((void **)&at[0], BYTES, 0);
    int is_recorded = !strcmp(what, "recorded") || !strcmp(what, "graph") || !strcmp(what, "updated");
    if (is_recorded)
        ((int (*)(void *, int))function("cuStreamBeginCapture_v2"))(NULL, 0);
    void *parameters[] = {&at[0], &at[1], &factor};
    if (!strcmp(what, "texture")) {
        uint64_t resource[] = {2, at[0]};
        ((int (*)(uint64_t *, const void *, const void *, const void *))function("cuTexObjectCreate"))(&at[0], resource, NULL, NULL);
    }
    if (!strcmp(what, "surface")) {
        uint64_t resource[] = {0, at[0]};
        ((int (*)(uint64_t *, const void *))function("cuSurfObjectCreate"))(&at[0], resource);
    }
    static _Alignas(128) char map[128];
    if (!strcmp(what, "im2col")) {
        ((int (*)(void *, int, unsigned, void *, const void *, const void *, const void *, const void *, unsigned, unsigned, const void *, int, int,
                  int, int))function("cuTensorMapEncodeIm2col"))(map, 7, 3, (void *)at[0], NULL, NULL, NULL, NULL, 1, 1, NULL, 0, 0, 0, 0);
        parameters[0] = map;
    }
    if (!strcmp(what, "map") || !strcmp(what, "moved") || !strcmp(what, "stored")) {
        uint64_t extent[] = {32, 32}, stride = 128;
        unsigned box[] = {32, 32}, step[] = {1, 1};
        int is_moved = !strcmp(what, "moved");
        ((int (*)(void *, int, unsigned, void *, const uint64_t *, const uint64_t *, const unsigned *, const unsigned *, int, int, int, int))
             function("cuTensorMapEncodeTiled"))(map, 7, 2, (void *)(is_moved ? at[1] : at[0]), extent, &stride, box, step, 0, 0, 3, 0);
        if (is_moved)
            ((int (*)(void *, void *))function("cuTensorMapReplaceAddress"))(map, (void *)at[0]);
        parameters[0] = map;
    }
    if (!strcmp(what, "stored")) { /* a map in memory, by its address */
        uint64_t place;
        ((int (*)(uint64_t *, size_t))function("cuMemAlloc_v2"))(&place, BYTES);
        ((int (*)(uint64_t, const void *, size_t))function("cuMemcpyHtoD_v2"))(place, map, sizeof map);
        at[0] = place;
        parameters[0] = &at[0];
    }
    if (!strcmp(what, "node")) {
        void *graph, *node, *own[9] = {entry};
        ((int (*)(void **, unsigned))function("cuGraphCreate"))(&graph, 0);
        ((int (*)(void **, void *, const void *, size_t, void *const *))function("cuGraphAddKernelNode_v2"))(&node, graph, NULL, 0, own);
        return 0;
    }
    if (!strcmp(what, "pointers")) { /* to pointers to pointers */
        uint64_t level = at[0];
        for (int depth = 0; depth < 2; depth++) {
            uint64_t list;
            ((int (*)(uint64_t *, size_t))function("cuMemAlloc_v2"))(&list, BYTES);
            memset((void *)list, 0, BYTES);
            ((int (*)(uint64_t, const void *, size_t))function("cuMemcpyHtoD_v2"))(list, &level, sizeof level);
            level = list;
        }
        at[0] = level;
    }
    if (!strcmp(what, "variable")) {
        uint64_t table;
        size_t size;
        ((int (*)(uint64_t *, size_t *, void *, const char *))function("cuModuleGetGlobal_v2"))(&table, &size, module, "_ZN2ns5tableE");
        ((int (*)(uint64_t, const void *, size_t))function("cuMemcpyHtoD_v2"))(table, x, size);
    }
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **) =
        (void *)function("cuLaunchKernel");
    for (int i = 0; i < 3; i++, factor += !strcmp(what, "varied"))
        if (launch(entry, 16, 1, 1, 128, 1, 1, 0, NULL, parameters, NULL))
            return 4;
    if (is_recorded) {
        void *graph, *exec, *node[8];
        size_t count = 8;
        ((int (*)(void *, void **))function("cuStreamEndCapture"))(NULL, &graph);
        if (!strcmp(what, "recorded"))
            return 0;
        ((int (*)(void **, void *, unsigned long long))function("cuGraphInstantiateWithFlags"))(&exec, graph, 0);
        ((int (*)(void *, void **, size_t *))function("cuGraphGetNodes"))(graph, node, &count);
        if (!strcmp(what, "updated"))
            ((int (*)(void *, void *, void *))function("cuGraphExecKernelNodeSetParams_v2"))(exec, node[0], NULL);
        if (((int (*)(void *, void *))function("cuGraphLaunch"))(exec, NULL))
            return 5;
    }
    ((int (*)(void *, uint64_t, size_t))function("cuMemcpyDtoH_v2"))(y, at[1], BYTES);
    if (!strcmp(what, "serve"))
        pause();
    if (!strcmp(what, "exit"))
        _exit(0);
    return 0;
}
