// The runtime API: memory. Allocations of every kind are the same here, only their speed of copying and what
// cudaPointerGetAttributes says differ.
#include "app/array.h"
#include "app/rt.h"

#include <stdlib.h>
#include <string.h>

// ---- allocating ---------------------------------------------------------------------------------------
static int allocate(void **p, uint64_t bytes, int place, const char *name) {
    ENTER();
    return app_leave(p ? app_alloc(bytes, place, name, p) : E_VALUE);
}

RT(cudaMalloc)(void **p, size_t bytes) { return allocate(p, bytes, PLACE_DEVICE, "cudaMalloc"); }
RT(cudaMallocManaged)(void **p, size_t bytes, unsigned flags) {
    if (flags != 1 && flags != 2) return app_enter(), app_leave(E_VALUE);
    return allocate(p, bytes, PLACE_MANAGED, "cudaMallocManaged");
}
RT(cudaMallocHost)(void **p, size_t bytes) { return allocate(p, bytes, PLACE_PINNED, "cudaMallocHost"); }
RT(cudaHostAlloc)(void **p, size_t bytes, unsigned flags) {
    (void)flags;
    return allocate(p, bytes, PLACE_PINNED, "cudaHostAlloc");
}

enum { PITCH = 512 }; // rows of cudaMallocPitch begin at multiples of this
static size_t pitch_of(size_t width) { return (width + PITCH - 1) / PITCH * PITCH; }

RT(cudaMallocPitch)(void **p, size_t *pitch, size_t width, size_t height) {
    ENTER();
    if (!p || !pitch || width > SIZE_MAX / 2 || (height && pitch_of(width) > SIZE_MAX / 2 / height))
        return app_leave(E_VALUE);
    *pitch = pitch_of(width);
    return app_leave(app_alloc(*pitch * height, PLACE_DEVICE, "cudaMallocPitch", p));
}

RT(cudaMalloc3D)(pitched_ptr *p, extent size) {
    ENTER();
    if (!p || size.width > SIZE_MAX / 2) return app_leave(E_VALUE);
    size_t pitch = pitch_of(size.width), rows;
    if (__builtin_mul_overflow(size.height, size.depth, &rows) || (rows && pitch > SIZE_MAX / 2 / rows))
        return app_leave(E_MEMORY);
    *p = (pitched_ptr){NULL, pitch, size.width, size.height};
    return app_leave(app_alloc(pitch * rows, PLACE_DEVICE, "cudaMalloc3D", &p->ptr));
}

static int release(void *p, bool host) {
    ENTER();
    const app_block *b = p ? app_block_of((uintptr_t)p) : NULL;
    if (p && (!b || (b->place == PLACE_PINNED) != host)) return app_leave(E_VALUE);
    app_clock_wait(app_clock_device(b ? b->owner : app_device_index(app_device_now()))); // cudaFree waits
    return app_leave(app_free(p));
}
RT(cudaFree)(void *p) { return release(p, false); }
RT(cudaFreeHost)(void *p) { return release(p, true); }

RT_S(cudaMallocAsync)(void **p, size_t bytes, void *stream) {
    ENTER();
    app_stream *s = app_stream_of(stream);
    if (!p || !s) return app_leave(p ? E_HANDLE : E_VALUE);
    if (!s->capture && !s->joined) return app_leave(app_alloc(bytes, PLACE_DEVICE, "cudaMallocAsync", p));
    int error = app_alloc_kept(bytes, "memory of a graph", p);
    app_call c = {.what = DO_ALLOC, .user = *p, .size = {bytes, 1, 1}};
    return app_leave(error ? error : app_submit(s, &c));
}
RT_S(cudaFreeAsync)(void *p, void *stream) {
    ENTER();
    app_stream *s = app_stream_of(stream);
    if (!s) return app_leave(E_HANDLE);
    app_call c = {.what = DO_FREE, .user = p};
    return app_leave(app_submit(s, &c));
}

RT(cudaMemGetInfo)(size_t *available, size_t *total) {
    ENTER();
    size_t size = (size_t)the_app.gpu->dram_size, used = app_device_at(app_device_now())->used;
    if (total) *total = size;
    if (available) *available = size > used ? size - used : 0;
    return app_leave(E_OK);
}

// ---- pools: all take from the same memory ------------------------------------------------------
static int the_pool;
RT(cudaDeviceGetDefaultMemPool)(void **pool, int device) {
    ENTER();
    if (!pool || !app_device_at(device)) return app_leave(E_VALUE);
    *pool = &the_pool;
    return app_leave(E_OK);
}
RT(cudaDeviceGetMemPool)(void **pool, int device) { return orr_cudaDeviceGetDefaultMemPool(pool, device); }
RT(cudaDeviceSetMemPool)(int device, void *pool) {
    void *same;
    return pool ? orr_cudaDeviceGetDefaultMemPool(&same, device) : E_VALUE;
}
RT(cudaMemPoolCreate)(void **pool, const void *props) {
    (void)props;
    return orr_cudaDeviceGetDefaultMemPool(pool, 0);
}
RT(cudaMemPoolDestroy)(void *pool) { return pool ? E_OK : E_VALUE; }
RT(cudaMemPoolTrimTo)(void *pool, size_t keep) {
    (void)keep;
    return pool ? E_OK : E_VALUE;
}
RT(cudaMemPoolSetAttribute)(void *pool, int which, void *value) {
    (void)which;
    return pool && value ? E_OK : E_VALUE;
}
RT(cudaMemPoolGetAttribute)(void *pool, int which, void *value) {
    ENTER();
    if (!pool || !value || which < 1 || which > 8) return app_leave(E_VALUE);
    if (which <= 3)
        *(int *)value = 1;
    else // reserved and used memory, now and at most
        *(uint64_t *)value =
            which & 1 ? app_device_at(app_device_now())->used : app_device_at(app_device_now())->peak;
    return app_leave(E_OK);
}
RT(cudaMemPoolSetAccess)(void *pool, const void *list, size_t n) {
    (void)list, (void)n;
    return pool ? E_OK : E_VALUE;
}
RT_S(cudaMallocFromPoolAsync)(void **p, size_t bytes, void *pool, void *stream) {
    return pool ? orr_cudaMallocAsync(p, bytes, stream) : E_VALUE;
}

// ---- the host's own memory ------------------------------------------------------------------------------
// Kernels cannot reach memory that was not allocated here. What is registered has a double that they can, at
// the address that cudaHostGetDevicePointer says; before each launch it is brought up to date, and after the
// launch the program's memory is (run.c). cudaDevAttrCanUseHostPointerForRegisteredMem is 0 accordingly.
static app_registered *registered(const void *p) {
    for (size_t i = 0; i < the_app.registered.n; i++) {
        app_registered *r = &the_app.registered.at[i];
        if ((const char *)p >= r->host && (const char *)p < r->host + r->bytes) return r;
    }
    return NULL;
}

RT(cudaHostRegister)(void *p, size_t bytes, unsigned flags) {
    (void)flags;
    ENTER();
    if (!p || !bytes || bytes > UINTPTR_MAX - (uintptr_t)p) return app_leave(E_VALUE);
    if (registered(p) || app_place(p) != PLACE_HOST) return app_leave(E_REGISTERED);
    *ORR_PUSH(&the_app.registered) = (app_registered){p, bytes, NULL};
    return app_leave(E_OK);
}
RT(cudaHostUnregister)(void *p) {
    ENTER();
    app_registered *r = registered(p);
    if (!r || r->host != p) return app_leave(E_NOT_REGISTERED);
    app_free(r->device);
    *r = the_app.registered.at[--the_app.registered.n];
    return app_leave(E_OK);
}
RT(cudaHostGetDevicePointer)(void **device, void *host, unsigned flags) {
    (void)flags;
    ENTER();
    if (!device) return app_leave(E_VALUE);
    *device = app_place(host) == PLACE_HOST ? NULL : host;
    if (*device) return app_leave(E_OK);
    app_registered *r = registered(host);
    if (!r) return app_leave(E_VALUE);
    int error = r->device ? E_OK : app_alloc(r->bytes, PLACE_PINNED, "cudaHostRegister", (void **)&r->device);
    if (!error) *device = r->device + ((char *)host - r->host);
    return app_leave(error);
}
RT(cudaHostGetFlags)(unsigned *flags, void *host) {
    ENTER();
    if (!flags || app_place(host) != PLACE_PINNED) return app_leave(E_VALUE);
    *flags = 2;
    return app_leave(E_OK);
}

static int pointer_attributes_of(void *to, const void *p, size_t bytes) {
    static const int types[] = {[PLACE_HOST] = MEMORY_UNREGISTERED,
                                [PLACE_PINNED] = MEMORY_HOST,
                                [PLACE_DEVICE] = MEMORY_DEVICE,
                                [PLACE_MANAGED] = MEMORY_MANAGED};
    ENTER();
    if (!to) return app_leave(E_VALUE);
    int place = app_place(p);
    pointer_attributes a = {.type = types[place]};
    a.device = place == PLACE_HOST ? -2 : app_block_device(app_block_of((uintptr_t)p));
    a.device_ptr = place == PLACE_HOST ? NULL : (void *)(uintptr_t)p;
    a.host_ptr = place == PLACE_DEVICE ? NULL : (void *)(uintptr_t)p;
    memcpy(to, &a, bytes);
    return app_leave(E_OK);
}
RT_13(cudaPointerGetAttributes)(void *to, const void *p) {
    return pointer_attributes_of(to, p, sizeof(pointer_attributes));
}
RT_11_12(cudaPointerGetAttributes, pointer_attributes_12)(void *to, const void *p) {
    return pointer_attributes_of(to, p, POINTER_ATTRIBUTES_12);
}

static int prefetch(const void *p, uint64_t bytes, int device, void *stream) {
    ENTER();
    return app_leave(app_prefetch(p, bytes, device, stream));
}
static int location_of(mem_location where) {
    return where.type == 1 ? where.id : -1;
} // cudaMemLocationTypeDevice

// Advice is taken and changes nothing.
static int hint(const void *p) {
    ENTER();
    return app_leave(app_place(p) == PLACE_HOST ? E_VALUE : E_OK);
}
RT_13(cudaMemAdvise)(const void *p, size_t bytes, int advice, mem_location where) {
    (void)bytes, (void)advice, (void)where;
    return hint(p);
}
IN_13(cudaMemPrefetchAsync, cudaMemPrefetchAsync_ptsz)
RT_13(cudaMemPrefetchAsync)(const void *p, size_t bytes, mem_location where, unsigned flags, void *stream) {
    (void)flags;
    return prefetch(p, bytes, location_of(where), stream);
}
// 12.2 and later have 13's under other names.
RT(cudaMemAdvise_v2)(const void *p, size_t bytes, int advice, mem_location where) {
    return orr_cudaMemAdvise(p, bytes, advice, where);
}
RT_S(cudaMemPrefetchAsync_v2)(const void *p, size_t bytes, mem_location where, unsigned flags, void *stream) {
    return orr_cudaMemPrefetchAsync(p, bytes, where, flags, stream);
}
RT_11_12(cudaMemAdvise, mem_advise_12)(const void *p, size_t bytes, int advice, int device) {
    (void)bytes, (void)advice, (void)device;
    return hint(p);
}
IN_11(mem_prefetch_12, cudaMemPrefetchAsync_ptsz)
IN_12(mem_prefetch_12, cudaMemPrefetchAsync_ptsz)
RT_11_12(cudaMemPrefetchAsync, mem_prefetch_12)(const void *p, size_t bytes, int device, void *stream) {
    return prefetch(p, bytes, device, stream);
}
RT_S(cudaStreamAttachMemAsync)(void *stream, void *p, size_t bytes, unsigned flags) {
    (void)stream, (void)bytes, (void)flags;
    return hint(p);
}

// ---- copying ------------------------------------------------------------------------------------
// `wait`: the call returns when it is done.
static int submit(const app_call *c, void *stream, bool wait) {
    app_stream *s = app_stream_of(stream);
    if (!s) return E_HANDLE;
    int error = app_submit(s, c);
    if (!error && wait) app_clock_wait(app_clock_end(s));
    return error;
}

static pitched_ptr row_of(const void *p, size_t pitch, size_t width) {
    return (pitched_ptr){(void *)(uintptr_t)p, pitch, width, 0};
}

static int copy(pitched_ptr dst, pitched_ptr src, size_t height, int kind, void *stream, bool wait) {
    ENTER();
    if (kind < 0 || kind > COPY_DEFAULT) return app_leave(E_DIRECTION);
    if (height > 1 && (dst.xsize > dst.pitch || src.xsize > src.pitch)) return app_leave(E_PITCH);
    app_call c = {.what = DO_COPY, .dst = dst, .src = src, .size = {dst.xsize, height, 1}, .kind = kind};
    return app_leave(submit(&c, stream, wait));
}

RT_D(cudaMemcpy)(void *dst, const void *src, size_t n, int kind) {
    return copy(row_of(dst, n, n), row_of(src, n, n), 1, kind, NULL, true);
}
RT_S(cudaMemcpyAsync)(void *dst, const void *src, size_t n, int kind, void *stream) {
    return copy(row_of(dst, n, n), row_of(src, n, n), 1, kind, stream, false);
}
RT_D(cudaMemcpy2D)(void *dst, size_t dp, const void *src, size_t sp, size_t width, size_t height, int kind) {
    return copy(row_of(dst, dp, width), row_of(src, sp, width), height, kind, NULL, true);
}
RT_S(cudaMemcpy2DAsync)
(void *dst, size_t dp, const void *src, size_t sp, size_t width, size_t height, int kind, void *stream) {
    return copy(row_of(dst, dp, width), row_of(src, sp, width), height, kind, stream, false);
}
// The devices are those that the pointers are of; addresses say so too, and are believed.
static int peers(const void *dst, int to, const void *src, int from) {
    ENTER();
    if (!app_device_at(to) || !app_device_at(from)) return app_leave(E_DEVICE);
    bool host = app_place(dst) == PLACE_HOST || app_place(src) == PLACE_HOST;
    return app_leave(host ? E_VALUE : E_OK);
}
RT(cudaMemcpyPeer)(void *dst, int to, const void *src, int from, size_t n) {
    int error = peers(dst, to, src, from);
    return error ? error : copy(row_of(dst, n, n), row_of(src, n, n), 1, COPY_DEFAULT, NULL, true);
}
RT(cudaMemcpyPeerAsync)(void *dst, int to, const void *src, int from, size_t n, void *stream) {
    int error = peers(dst, to, src, from);
    return error ? error : copy(row_of(dst, n, n), row_of(src, n, n), 1, COPY_DEFAULT, stream, false);
}

static void *moved(const pitched_ptr *p, const position *at) {
    return (char *)p->ptr + at->z * p->pitch * p->ysize + at->y * p->pitch + at->x;
}

// Sizes are in the array's texels then, and so are places in it.
static int copy_of_arrays(const copy_3d *p, app_call *c) {
    *c = (app_call){.what = DO_COPY, .dst = p->dst, .src = p->src, .size = p->size, .kind = p->kind};
    c->to = p->dst_array ? app_array_of(p->dst_array) : NULL;
    c->from = p->src_array ? app_array_of(p->src_array) : NULL;
    if ((p->dst_array && !c->to) || (p->src_array && !c->from)) return E_HANDLE;
    uint32_t texel = orr_tex_texel_bytes(c->to ? &c->to->t : &c->from->t);
    c->to_at = p->dst_pos;
    c->from_at = p->src_pos;
    if (c->to) c->to_at.x *= texel;
    if (c->from) c->from_at.x *= texel;
    c->size.width *= texel;
    if (!c->to) c->dst.ptr = moved(&p->dst, &p->dst_pos);
    if (!c->from) c->src.ptr = moved(&p->src, &p->src_pos);
    return E_OK;
}

int app_copy_3d(const copy_3d *p, app_call *c) {
    if (!p) return E_VALUE;
    if (p->src_array || p->dst_array) return copy_of_arrays(p, c);
    *c = (app_call){.what = DO_COPY, .dst = p->dst, .src = p->src, .size = p->size, .kind = p->kind};
    c->dst.ptr = moved(&p->dst, &p->dst_pos);
    c->src.ptr = moved(&p->src, &p->src_pos);
    return p->size.width > p->dst.pitch || p->size.width > p->src.pitch ? E_PITCH : E_OK;
}

static int copy_box(const copy_3d *p, void *stream, bool wait) {
    ENTER();
    app_call c;
    int error = app_copy_3d(p, &c);
    return app_leave(error ? error : submit(&c, stream, wait));
}
RT_D(cudaMemcpy3D)(const copy_3d *p) { return copy_box(p, NULL, true); }
RT_S(cudaMemcpy3DAsync)(const copy_3d *p, void *stream) { return copy_box(p, stream, false); }

// ---- filling -----------------------------------------------------------------------------------
static int fill(pitched_ptr to, int value, extent size, void *stream, bool wait) {
    ENTER();
    if (size.height * size.depth > 1 && size.width > to.pitch) return app_leave(E_PITCH);
    to.xsize = size.width;
    app_call c = {.what = DO_FILL, .dst = to, .size = size, .value = (uint32_t)(uint8_t)value, .element = 1};
    return app_leave(submit(&c, stream, wait));
}
RT_D(cudaMemset)(void *p, int value, size_t n) {
    return fill(row_of(p, n, n), value, (extent){n, 1, 1}, NULL, true);
}
RT_S(cudaMemsetAsync)(void *p, int value, size_t n, void *stream) {
    return fill(row_of(p, n, n), value, (extent){n, 1, 1}, stream, false);
}
RT_D(cudaMemset2D)(void *p, size_t pitch, int value, size_t width, size_t height) {
    return fill(row_of(p, pitch, width), value, (extent){width, height, 1}, NULL, true);
}
RT_S(cudaMemset2DAsync)(void *p, size_t pitch, int value, size_t width, size_t height, void *stream) {
    return fill(row_of(p, pitch, width), value, (extent){width, height, 1}, stream, false);
}
RT_D(cudaMemset3D)(pitched_ptr p, int value, extent size) { return fill(p, value, size, NULL, true); }
RT_S(cudaMemset3DAsync)(pitched_ptr p, int value, extent size, void *stream) {
    return fill(p, value, size, stream, false);
}

// ---- variables ---------------------------------------------------------------------------------
static int symbol(const void *host, uint64_t *addr, uint64_t *bytes) {
    app_variable *v = app_variable_of(host);
    return v ? app_variable_place(v, addr, bytes) : E_SYMBOL;
}

RT(cudaGetSymbolAddress)(void **p, const void *host) {
    ENTER();
    uint64_t addr = 0, bytes;
    int error = p ? symbol(host, &addr, &bytes) : E_VALUE;
    if (!error) *p = (void *)(uintptr_t)addr;
    return app_leave(error);
}
RT(cudaGetSymbolSize)(size_t *n, const void *host) {
    ENTER();
    uint64_t addr, bytes = 0;
    int error = n ? symbol(host, &addr, &bytes) : E_VALUE;
    if (!error) *n = bytes;
    return app_leave(error);
}

typedef struct symbol_part { // of a variable
    const void *host;
    size_t offset, n;
} symbol_part;

// Between it and p; `to`: into the variable.
static int copy_symbol(symbol_part x, const void *p, bool to, int kind, void *stream, bool wait) {
    ENTER();
    uint64_t addr, bytes;
    int error = symbol(x.host, &addr, &bytes);
    if (!error && (x.offset > bytes || x.n > bytes - x.offset)) error = E_VALUE;
    if (error) return app_leave(error);
    pitched_ptr var = row_of((void *)(uintptr_t)(addr + x.offset), x.n, x.n), other = row_of(p, x.n, x.n);
    app_call c = {
        .what = DO_COPY, .dst = to ? var : other, .src = to ? other : var, .size = {x.n, 1, 1}, .kind = kind};
    return app_leave(submit(&c, stream, wait));
}
RT_D(cudaMemcpyToSymbol)(const void *host, const void *src, size_t n, size_t offset, int kind) {
    return copy_symbol((symbol_part){host, offset, n}, src, true, kind, NULL, true);
}
RT_S(cudaMemcpyToSymbolAsync)
(const void *host, const void *src, size_t n, size_t offset, int kind, void *stream) {
    return copy_symbol((symbol_part){host, offset, n}, src, true, kind, stream, false);
}
RT_D(cudaMemcpyFromSymbol)(void *dst, const void *host, size_t n, size_t offset, int kind) {
    return copy_symbol((symbol_part){host, offset, n}, dst, false, kind, NULL, true);
}
RT_S(cudaMemcpyFromSymbolAsync)
(void *dst, const void *host, size_t n, size_t offset, int kind, void *stream) {
    return copy_symbol((symbol_part){host, offset, n}, dst, false, kind, stream, false);
}
