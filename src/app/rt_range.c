// The runtime API: what was advised of ranges of managed memory, access of pools, batches of copies and
// prefetches, copies between arrays and between devices.
#include "app/rt.h"

#include <string.h>

int orr_cudaMemcpyAsync(void *dst, const void *src, size_t n, int kind, void *stream);
int orr_cudaMemPrefetchAsync(const void *p, size_t bytes, mem_location where, unsigned flags, void *stream);
int orr_cudaMemcpy3D(const copy_3d *p);
int orr_cudaMemcpy3DAsync(const copy_3d *p, void *stream);

// ---- attributes -----------------------------------------------------------------------------------------
// Advice is not kept. A location that nobody has named is cudaInvalidDeviceId.
enum { READ_MOSTLY = 1, PREFERRED, ACCESSED_BY, LAST_PREFETCH, LAST_ATTRIBUTE = 8, NO_DEVICE_ID = -2 };
static int attribute(void *data, size_t size, int which, const void *p, size_t bytes) {
    if (!data || !bytes || size < 4 || size % 4 || which < READ_MOSTLY || which > LAST_ATTRIBUTE)
        return E_VALUE;
    if (app_place(p) != PLACE_MANAGED) return E_VALUE;
    int *to = data, none = which == READ_MOSTLY || which == 5 || which == 7 ? 0 : NO_DEVICE_ID;
    for (size_t i = 0; i < size / 4; i++) to[i] = none;
    return E_OK;
}
RT(cudaMemRangeGetAttribute)(void *data, size_t size, int which, const void *p, size_t bytes) {
    ENTER();
    return app_leave(attribute(data, size, which, p, bytes));
}
RT(cudaMemRangeGetAttributes)
(void **data, const size_t *sizes, const int *which, size_t n, const void *p, size_t bytes) {
    ENTER();
    if (!data || !sizes || !which || !n) return app_leave(E_VALUE);
    int error = E_OK;
    for (size_t i = 0; i < n && !error; i++) error = attribute(data[i], sizes[i], which[i], p, bytes);
    return app_leave(error);
}
RT(cudaMemPoolGetAccess)(int *flags, void *pool, const void *where) {
    if (flags) *flags = 3; // cudaMemAccessFlagsProtReadWrite: all pools are the device's own
    return flags && pool && where ? E_OK : E_VALUE;
}

// ---- batches --------------------------------------------------------------------------------------------
static int copies(void *const *dst, const void *const *src, const size_t *sizes, size_t n, void *stream) {
    if (!dst || !src || !sizes || !n) return app_enter(), app_leave(E_VALUE);
    int error = E_OK;
    for (size_t i = 0; i < n && !error; i++)
        error = orr_cudaMemcpyAsync(dst[i], src[i], sizes[i], COPY_DEFAULT, stream);
    return error;
}
IN_13(cudaMemcpyBatchAsync, cudaMemcpyBatchAsync_ptsz)
RT_13(cudaMemcpyBatchAsync)
(void *const *dst, const void *const *src, const size_t *sizes, size_t n, const void *attributes,
 const size_t *indices, size_t nattributes, void *stream) {
    (void)attributes, (void)indices, (void)nattributes;
    return copies(dst, src, sizes, n, stream);
}
RT_11_12(cudaMemcpyBatchAsync, memcpy_batch_12) // 12 has where it failed behind the attributes
(void *const *dst, const void *const *src, const size_t *sizes, size_t n, const void *attributes,
 const size_t *indices, size_t nattributes, size_t *failed, void *stream) {
    (void)attributes, (void)indices, (void)nattributes, (void)failed;
    return copies(dst, src, sizes, n, stream);
}
RT_S(cudaMemPrefetchBatchAsync)
(void **p, size_t *sizes, size_t n, const mem_location *where, const size_t *indices, size_t nwhere,
 unsigned long long flags, void *stream) {
    (void)flags;
    if (!p || !sizes || !n || !where || !indices || !nwhere) return app_enter(), app_leave(E_VALUE);
    int error = E_OK;
    for (size_t i = 0, k = 0; i < n && !error; i++) {
        while (k + 1 < nwhere && indices[k + 1] <= i) k++;
        error = orr_cudaMemPrefetchAsync(p[i], sizes[i], where[k], 0, stream);
    }
    return error;
}

// ---- copies between devices: the addresses say which they are ------------------------------------------
static int between(const copy_3d_peer *p, bool wait, void *stream) {
    if (!p) return app_enter(), app_leave(E_VALUE);
    copy_3d c = {p->src_array, p->src_pos, p->src, p->dst_array, p->dst_pos, p->dst, p->size, COPY_DEFAULT};
    return wait ? orr_cudaMemcpy3D(&c) : orr_cudaMemcpy3DAsync(&c, stream);
}
RT_D(cudaMemcpy3DPeer)(const copy_3d_peer *p) { return between(p, true, NULL); }
RT_S(cudaMemcpy3DPeerAsync)(const copy_3d_peer *p, void *stream) { return between(p, false, stream); }
