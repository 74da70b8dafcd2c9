// The driver API: pools of memory, advice, attributes of ranges and pointers, copies between devices, and
// fills of rows: the runtime's under other names.
#include "app/dr.h"

#include <string.h>

typedef uint64_t devptr;
static void *ptr(devptr p) { return (void *)(uintptr_t)p; }

int cuDevicePrimaryCtxRetain(void **context, int device);
int cuPointerGetAttribute(void *to, int which, devptr p);
int orr_cudaDeviceGetDefaultMemPool(void **pool, int device);
int orr_cudaMemPoolCreate(void **pool, const void *props);
int orr_cudaMemPoolDestroy(void *pool);
int orr_cudaMemPoolTrimTo(void *pool, size_t keep);
int orr_cudaMemPoolSetAttribute(void *pool, int which, void *value);
int orr_cudaMemPoolGetAttribute(void *pool, int which, void *value);
int orr_cudaMemPoolSetAccess(void *pool, const void *list, size_t n);
int orr_cudaMemPoolGetAccess(int *flags, void *pool, const void *where);
int orr_cudaMallocFromPoolAsync(void **p, size_t bytes, void *pool, void *stream);
int orr_cudaMemAdvise(const void *p, size_t bytes, int advice, mem_location where);
int orr_cudaMemPrefetchAsync(const void *p, size_t bytes, mem_location where, unsigned flags, void *stream);
int orr_cudaMemRangeGetAttribute(void *data, size_t size, int which, const void *p, size_t bytes);
int orr_cudaMemRangeGetAttributes(void **data, const size_t *sizes, const int *which, size_t n, const void *p,
                                  size_t bytes);
int orr_cudaStreamAttachMemAsync(void *stream, void *p, size_t bytes, unsigned flags);
int orr_cudaMemcpyPeerAsync(void *dst, int to, const void *src, int from, size_t n, void *stream);
int orr_cudaMemcpyPeer(void *dst, int to, const void *src, int from, size_t n);
int orr_cudaDeviceEnablePeerAccess(int peer, unsigned flags);
int orr_cudaDeviceDisablePeerAccess(int peer);
int orr_cudaDeviceGetP2PAttribute(int *value, int which, int from, int to);
int orr_cudaDeviceGetGraphMemAttribute(int device, int which, uint64_t *value);
int orr_cudaDeviceSetGraphMemAttribute(int device, int which, const uint64_t *value);
int orr_cudaDeviceGraphMemTrim(int device);
int orr_cudaHostGetFlags(unsigned *flags, void *host);

// ---- pools ----------------------------------------------------------------------------------------------
API int cuDeviceGetDefaultMemPool(void **pool, int device) {
    return BY_RUNTIME(orr_cudaDeviceGetDefaultMemPool(pool, device));
}
API int cuDeviceGetMemPool(void **pool, int device) {
    return BY_RUNTIME(orr_cudaDeviceGetDefaultMemPool(pool, device));
}
API int cuDeviceSetMemPool(int device, void *pool) {
    void *same;
    return pool ? BY_RUNTIME(orr_cudaDeviceGetDefaultMemPool(&same, device)) : E_VALUE;
}
API int cuMemPoolCreate(void **pool, const void *props) {
    return BY_RUNTIME(orr_cudaMemPoolCreate(pool, props));
}
API int cuMemPoolDestroy(void *pool) { return BY_RUNTIME(orr_cudaMemPoolDestroy(pool)); }
API int cuMemPoolTrimTo(void *pool, size_t keep) { return BY_RUNTIME(orr_cudaMemPoolTrimTo(pool, keep)); }
API int cuMemPoolSetAttribute(void *pool, int which, void *value) {
    return BY_RUNTIME(orr_cudaMemPoolSetAttribute(pool, which, value));
}
API int cuMemPoolGetAttribute(void *pool, int which, void *value) {
    return BY_RUNTIME(orr_cudaMemPoolGetAttribute(pool, which, value));
}
API int cuMemPoolSetAccess(void *pool, const void *list, size_t n) {
    return BY_RUNTIME(orr_cudaMemPoolSetAccess(pool, list, n));
}
API int cuMemPoolGetAccess(int *flags, void *pool, const void *where) {
    return BY_RUNTIME(orr_cudaMemPoolGetAccess(flags, pool, where));
}
API int cuMemAllocFromPoolAsync(devptr *p, size_t bytes, void *pool, void *stream) {
    return BY_RUNTIME(orr_cudaMallocFromPoolAsync((void **)p, bytes, pool, stream));
}
API int cuDeviceGetGraphMemAttribute(int device, int which, uint64_t *value) {
    return BY_RUNTIME(orr_cudaDeviceGetGraphMemAttribute(device, which, value));
}
API int cuDeviceSetGraphMemAttribute(int device, int which, const uint64_t *value) {
    return BY_RUNTIME(orr_cudaDeviceSetGraphMemAttribute(device, which, value));
}
API int cuDeviceGraphMemTrim(int device) { return BY_RUNTIME(orr_cudaDeviceGraphMemTrim(device)); }
API int cuMemHostGetFlags(unsigned *flags, void *host) {
    return BY_RUNTIME(orr_cudaHostGetFlags(flags, host));
}

// ---- managed memory ---------------------------------------------------------------------------------
// CUDA 13 says where by a location; before, by the device, -1 being the host.
enum { LOCATION_DEVICE = 1, LOCATION_HOST = 2 };
static mem_location at_device(int device) {
    return (mem_location){device < 0 ? LOCATION_HOST : LOCATION_DEVICE, device < 0 ? 0 : device};
}
API int cuMemAdvise_v2(devptr p, size_t bytes, int advice, mem_location where) {
    return BY_RUNTIME(orr_cudaMemAdvise(ptr(p), bytes, advice, where));
}
API int cuMemAdvise(devptr p, size_t bytes, int advice, int device) {
    return cuMemAdvise_v2(p, bytes, advice, at_device(device));
}
API int cuMemPrefetchAsync_v2(devptr p, size_t bytes, mem_location where, unsigned flags, void *stream) {
    return BY_RUNTIME(orr_cudaMemPrefetchAsync(ptr(p), bytes, where, flags, stream));
}
API int cuMemPrefetchAsync(devptr p, size_t bytes, int device, void *stream) {
    return cuMemPrefetchAsync_v2(p, bytes, at_device(device), 0, stream);
}
API int cuMemRangeGetAttribute(void *data, size_t size, int which, devptr p, size_t bytes) {
    return BY_RUNTIME(orr_cudaMemRangeGetAttribute(data, size, which, ptr(p), bytes));
}
API int cuMemRangeGetAttributes(void **data, size_t *sizes, int *which, size_t n, devptr p, size_t bytes) {
    return BY_RUNTIME(orr_cudaMemRangeGetAttributes(data, sizes, which, n, ptr(p), bytes));
}
API int cuStreamAttachMemAsync(void *stream, devptr p, size_t bytes, unsigned flags) {
    return BY_RUNTIME(orr_cudaStreamAttachMemAsync(stream, ptr(p), bytes, flags));
}

// ---- pointers -------------------------------------------------------------------------------------------
// Attributes that a pointer does not have are zero.
API int cuPointerGetAttributes(unsigned n, const int *which, void **data, devptr p) {
    enum { MEMORY_TYPE = 2, ORDINAL = 9, MAPPED = 13 };
    if (!n || !which || !data) return E_VALUE;
    for (unsigned i = 0; i < n; i++) {
        bool small = which[i] == MEMORY_TYPE || (which[i] >= 6 && which[i] <= 10 && which[i] != 7) ||
                     which[i] == MAPPED || which[i] == 15 || which[i] == 16;
        if (!data[i] || which[i] == 5) return E_VALUE;
        memset(data[i], 0, small ? 4 : 8);
        if (which[i] == ORDINAL) *(int *)data[i] = -2;
        cuPointerGetAttribute(data[i], which[i], p);
    }
    return E_OK;
}
API int cuPointerSetAttribute(const void *value, int which, devptr p) { // of synchronous copies: they all are
    DR_ENTER();
    return app_leave_driver(value && which == 6 && app_place(ptr(p)) != PLACE_HOST ? E_OK : E_VALUE);
}

// ---- several devices --------------------------------------------------------------------------------
static int of_context(void *context) { // what cuMemcpyPeer is told, as a number
    int device = 0;
    for (; device < app_device_count(); device++) {
        void *c = NULL;
        if (cuDevicePrimaryCtxRetain(&c, device) == E_OK && c == context) return device;
    }
    return -1;
}
API int cuCtxEnablePeerAccess(void *context, unsigned flags) {
    int peer = of_context(context);
    return peer < 0 ? E_CONTEXT : BY_RUNTIME(orr_cudaDeviceEnablePeerAccess(peer, flags));
}
API int cuCtxDisablePeerAccess(void *context) {
    int peer = of_context(context);
    return peer < 0 ? E_CONTEXT : BY_RUNTIME(orr_cudaDeviceDisablePeerAccess(peer));
}
API int cuMemcpyPeer(devptr dst, void *to, devptr src, void *from, size_t n) {
    return BY_RUNTIME(orr_cudaMemcpyPeer(ptr(dst), of_context(to), ptr(src), of_context(from), n));
}
API int cuMemcpyPeerAsync(devptr dst, void *to, devptr src, void *from, size_t n, void *stream) {
    return BY_RUNTIME(
        orr_cudaMemcpyPeerAsync(ptr(dst), of_context(to), ptr(src), of_context(from), n, stream));
}
API int cuDeviceGetP2PAttribute(int *value, int which, int from, int to) {
    return BY_RUNTIME(orr_cudaDeviceGetP2PAttribute(value, which, from, to));
}

// ---- fills of rows --------------------------------------------------------------------------------------
static int fill(memset_node rows, void *stream, bool wait) {
    DR_ENTER();
    app_stream *s = app_stream_of(stream);
    app_call c;
    if (!s) return app_leave_driver(E_HANDLE);
    if (rows.width > SIZE_MAX / 4 || (rows.height > 1 && rows.width * rows.element > rows.pitch))
        return app_leave_driver(E_VALUE);
    int error = app_fill_call(&rows, &c);
    if (!error) error = app_submit(s, &c);
    if (!error && wait) app_clock_wait(app_clock_end(s));
    return app_leave_driver(error);
}
#define FILL(name, type, element)                                                                            \
    API int name##_v2(devptr p, size_t pitch, type v, size_t w, size_t h) {                                  \
        return fill((memset_node){ptr(p), pitch, v, element, w, h}, NULL, true);                             \
    }                                                                                                        \
    API int name##Async(devptr p, size_t pitch, type v, size_t w, size_t h, void *stream) {                  \
        return fill((memset_node){ptr(p), pitch, v, element, w, h}, stream, false);                          \
    }
FILL(cuMemsetD2D8, unsigned char, 1)
FILL(cuMemsetD2D16, unsigned short, 2)
FILL(cuMemsetD2D32, unsigned, 4)

// ---- values in memory that streams write and wait for ------------------------------------------------
// Operations are done in the order in which they are asked for: what a stream waits for has been written, or
// never will be.
enum { WAIT_GEQ, WAIT_EQ, WAIT_AND, WAIT_NOR };
static int write_value(void *stream, devptr p, uint64_t value, unsigned bytes) {
    DR_ENTER();
    app_stream *s = app_stream_of(stream);
    app_call c = {
        .what = DO_FILL, .dst = {ptr(p), 4, 4, 0}, .size = {4, 1, 1}, .value = (uint32_t)value, .element = 4};
    int error = s ? app_submit(s, &c) : E_HANDLE;
    c.dst.ptr = ptr(p + 4);
    c.value = (uint32_t)(value >> 32);
    if (!error && bytes == 8) error = app_submit(s, &c);
    return app_leave_driver(error);
}
static int wait_value(void *stream, devptr p, uint64_t value, unsigned flags, unsigned bytes) {
    DR_ENTER();
    app_stream *s = app_stream_of(stream);
    uint64_t is = 0;
    if (!s || app_place(ptr(p)) == PLACE_HOST) return app_leave_driver(s ? E_VALUE : E_HANDLE);
    if (s->capture || s->joined) return app_leave_driver(app_missing("cuStreamWaitValue in a graph"));
    memcpy(&is, ptr(p), bytes);
    bool now = (flags & 7) == WAIT_GEQ   ? (bytes == 4 ? (int32_t)(is - value) : (int64_t)(is - value)) >= 0
               : (flags & 7) == WAIT_EQ  ? is == value
               : (flags & 7) == WAIT_AND ? (is & value) != 0
                                         : ~(is | value) != 0;
    return app_leave_driver(now ? E_OK : app_missing("cuStreamWaitValue of what comes later"));
}
API int cuStreamWriteValue32_v2(void *stream, devptr p, uint32_t value, unsigned flags) {
    (void)flags;
    return write_value(stream, p, value, 4);
}
API int cuStreamWriteValue64_v2(void *stream, devptr p, uint64_t value, unsigned flags) {
    (void)flags;
    return write_value(stream, p, value, 8);
}
API int cuStreamWaitValue32_v2(void *stream, devptr p, uint32_t value, unsigned flags) {
    return wait_value(stream, p, value, flags, 4);
}
API int cuStreamWaitValue64_v2(void *stream, devptr p, uint64_t value, unsigned flags) {
    return wait_value(stream, p, value, flags, 8);
}

// ---- a default stream for each thread (dr.h) ---------------------------------------------------------
#define SAME(name, suffix) __asm__(".globl " #name #suffix "\n.set " #name #suffix ", " #name);
// clang-format off
SAME(cuMemAllocFromPoolAsync, _ptsz)
SAME(cuMemPrefetchAsync, _ptsz)
SAME(cuMemPrefetchAsync_v2, _ptsz)
SAME(cuMemcpyPeerAsync, _ptsz)
SAME(cuMemcpyPeer, _ptds)
SAME(cuMemsetD2D16Async, _ptsz)
SAME(cuMemsetD2D16_v2, _ptds)
SAME(cuMemsetD2D32Async, _ptsz)
SAME(cuMemsetD2D32_v2, _ptds)
SAME(cuMemsetD2D8Async, _ptsz)
SAME(cuMemsetD2D8_v2, _ptds)
SAME(cuStreamAttachMemAsync, _ptsz)
SAME(cuStreamWaitValue32_v2, _ptsz)
SAME(cuStreamWaitValue64_v2, _ptsz)
SAME(cuStreamWriteValue32_v2, _ptsz)
SAME(cuStreamWriteValue64_v2, _ptsz)
// clang-format on
