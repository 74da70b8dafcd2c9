// A CUDA driver without a GPU, for tests/test_hw.sh: memory is the host's, and the one kernel it knows,
// vecadd(n, a, b, c), is computed here. $FAKE_CUDA chooses what goes wrong:
//   nodevice   cuInit finds none            jit     the module does not compile
//   wrong      vecadd gets one sum wrong    fault   the launch reads an illegal address, for good
//   nomemory   no allocation succeeds
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int contexts, buffers, modules, broken;
static float clock_ms;
static int loads;

static int is(const char *what) {
    const char *v = getenv("FAKE_CUDA");
    return v && !strcmp(v, what);
}

int cuInit(unsigned flags) { return flags ? 1 : is("nodevice") ? 100 : 0; }
int cuDriverGetVersion(int *v) { return *v = 12040, 0; }
int cuDeviceGet(int *d, int n) { return *d = 7, n ? 101 : 0; }
int cuDeviceGetName(char *s, int n, int d) { return snprintf(s, (size_t)n, "Fake %d", d), 0; }
int cuDeviceGetAttribute(int *v, int what, int d) {
    return *v = what == 75 ? 9 : what == 76 ? 0 : what == 16 ? 132 : -1, d != 7;
}
int cuDeviceTotalMem_v2(size_t *n, int d) { return *n = (size_t)141 << 30, d != 7; }
int cuDevicePrimaryCtxRetain(void **c, int d) { return *c = &contexts, contexts++, broken = 0, d != 7; }
int cuCtxSetCurrent(void *c) { return c != &contexts; }
int cuCtxSynchronize(void) { return broken ? 700 : 0; }

// The last one out says whether everything was given back.
int cuDevicePrimaryCtxRelease_v2(int d) {
    contexts--;
    fprintf(stderr, "fake: released, %d buffers and %d modules left\n", buffers, modules);
    return d != 7;
}

int cuModuleLoadDataEx(void **m, const char *image, unsigned n, int *options, void **values) {
    int own = strstr(image, ".entry orr_spin") != NULL; // hw run's, without options
    if (!own && (n != 2 || options[0] != 5 || options[1] != 6 || !strstr(image, ".entry"))) return 1;
    if (!own && is("jit")) {
        snprintf(values[0], (size_t)(uintptr_t)values[1],
                 "ptxas application ptx input, line 9; error: fake\n");
        return 218;
    }
    *m = malloc(1);
    modules++;
    loads += !own;
    return 0;
}
int cuModuleUnload(void *m) { return free(m), modules--, 0; }
int cuModuleGetFunction(const char **f, void *m, const char *name) {
    (void)m;
    *f = strcmp(name, "vecadd") ? "orr_spin" : "vecadd";
    return strcmp(name, *f) ? 500 : 0;
}
int cuModuleGetGlobal_v2(uint64_t *a, size_t *n, void *m, const char *name) {
    (void)m, (void)name;
    *a = 0, *n = 0;
    return 500;
}
int cuFuncGetAttribute(int *v, int what, const char *f) { return *v = what == 4 ? 16 : 0, !f; }
int cuFuncSetAttribute(const char *f, int what, int v) { return what != 8 || v > 232448 || !f; }

int cuMemAlloc_v2(uint64_t *a, size_t n) {
    if (is("nomemory")) return 2;
    *a = (uint64_t)(uintptr_t)malloc(n);
    buffers++;
    return 0;
}
int cuMemFree_v2(uint64_t a) { return free((void *)(uintptr_t)a), buffers--, 0; }
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t n) {
    return memcpy((void *)(uintptr_t)to, from, n), broken ? 700 : 0;
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t n) {
    return memcpy(to, (void *)(uintptr_t)from, n), broken ? 700 : 0;
}
int cuMemsetD8_v2(uint64_t to, unsigned char v, size_t n) { return memset((void *)(uintptr_t)to, v, n), 0; }

int cuLaunchKernel(const char *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **p, void **extra) {
    if (stream || extra || shared || gy != 1 || gz != 1 || by != 1 || bz != 1 || !f) return 1;
    if (!strcmp(f, "orr_spin")) return 0;
    int n = *(int *)p[0];
    const float *a = *(float **)p[1], *b = *(float **)p[2];
    float *c = *(float **)p[3];
    for (int k = 0; k < n && (unsigned)k < gx * bx; k++) c[k] = a[k] + b[k];
    if (is("wrong")) c[n / 2] += 1;
    if (is("fault")) broken = 1;
    clock_ms += loads == 1 ? 0.5f : 0.25f; // the first round is slower
    return 0;
}

int cuEventCreate(float **e, unsigned flags) { return *e = calloc(1, sizeof **e), flags != 0; }
int cuEventDestroy_v2(float *e) { return free(e), 0; }
int cuEventRecord(float *e, void *stream) { return *e = clock_ms, stream != NULL; }
int cuEventSynchronize(float *e) { return !e || broken ? 700 : 0; }
int cuEventQuery(float *e) { return cuEventSynchronize(e); }
int cuMemcpyDtoD_v2(unsigned long long to, unsigned long long from, size_t n) {
    return memmove((void *)to, (void *)from, n), 0;
}
int cuMemHostRegister_v2(void *at, size_t n, unsigned flags) { return !at || !n || flags != 2; }
int cuEventElapsedTime(float *ms, float *from, float *to) { return *ms = *to - *from, 0; }

int cuGetErrorName(int r, const char **s) {
    *s = r == 700   ? "CUDA_ERROR_ILLEGAL_ADDRESS"
         : r == 2   ? "CUDA_ERROR_OUT_OF_MEMORY"
         : r == 218 ? "CUDA_ERROR_INVALID_PTX"
                    : NULL;
    return *s ? 0 : 1;
}
int cuGetErrorString(int r, const char **s) { return *s = "fake reason", r == 0; }
