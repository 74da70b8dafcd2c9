// The runtime API: arrays, textures and surfaces.
#include "app/array.h"
#include "app/rt.h"

#include <string.h>

// ---- arrays ---------------------------------------------------------------------------------------------
IN_ALL(cudaCreateChannelDesc, cudaCreateChannelDesc)
API channel_desc orr_cudaCreateChannelDesc(int x, int y, int z, int w, int kind) {
    return (channel_desc){{x, y, z, w}, kind};
}

static int make(void **array, const channel_desc *c, extent size, unsigned levels, unsigned flags) {
    ENTER();
    return app_leave(array && c ? app_array_new(c, size, levels, flags, (app_array **)array) : E_VALUE);
}
RT(cudaMallocArray)(void **array, const channel_desc *c, size_t width, size_t height, unsigned flags) {
    return make(array, c, (extent){width, height, 0}, 1, flags);
}
RT(cudaMalloc3DArray)(void **array, const channel_desc *c, extent size, unsigned flags) {
    return make(array, c, size, 1, flags);
}
RT(cudaMallocMipmappedArray)
(void **array, const channel_desc *c, extent size, unsigned levels, unsigned flags) {
    return levels ? make(array, c, size, levels, flags) : (app_enter(), app_leave(E_VALUE));
}
RT(cudaFreeArray)(void *array) {
    ENTER();
    return app_leave(app_array_free(array));
}
RT(cudaFreeMipmappedArray)(void *array) { return orr_cudaFreeArray(array); }

RT(cudaGetMipmappedArrayLevel)(void **level, void *array, unsigned n) {
    ENTER();
    app_array *a = app_array_of(array);
    if (!level || !a || a->whole || n >= a->t.nlevels) return app_leave(E_VALUE);
    if (!a->levels[n]) {
        app_array *l = orr_calloc(1, sizeof *l);
        *l = *a;
        const orr_tex_level *v = &a->t.level[n];
        l->size = (extent){v->width, a->size.height ? v->height : 0,
                           a->t.layers     ? a->t.layers
                           : a->size.depth ? v->depth
                                           : 0};
        l->level = n;
        l->whole = a;
        memset(l->levels, 0, sizeof l->levels);
        a->levels[n] = l;
    }
    *level = a->levels[n];
    return app_leave(E_OK);
}

RT(cudaArrayGetInfo)(channel_desc *c, extent *size, unsigned *flags, void *array) {
    ENTER();
    const app_array *a = app_array_of(array);
    if (!a) return app_leave(E_HANDLE);
    if (c) *c = a->channels;
    if (size) *size = a->size;
    if (flags) *flags = a->flags;
    return app_leave(E_OK);
}
RT(cudaGetChannelDesc)(channel_desc *c, void *array) { return orr_cudaArrayGetInfo(c, NULL, NULL, array); }

// ---- copying --------------------------------------------------------------------------------------------
static int submit(app_call *c, void *stream, bool wait) {
    app_stream *s = app_stream_of(stream);
    int error = s ? app_submit(s, c) : E_HANDLE;
    if (!error && wait) app_clock_wait(app_clock_end(s));
    return error;
}

typedef struct array_copy { // rows of arrays, or of memory
    void *to, *from;        // arrays; NULL: host
    position to_at, from_at;
    pitched_ptr host;
    extent size;
    int kind;
} array_copy;

static int copy(array_copy x, void *stream, bool wait) {
    ENTER();
    app_call c = {.what = DO_COPY, .kind = x.kind, .size = x.size, .to_at = x.to_at, .from_at = x.from_at};
    c.to = x.to ? app_array_of(x.to) : NULL;
    c.from = x.from ? app_array_of(x.from) : NULL;
    if ((x.to && !c.to) || (x.from && !c.from)) return app_leave(E_HANDLE);
    if (!x.to) c.dst = x.host;
    if (!x.from) c.src = x.host;
    return app_leave(submit(&c, stream, wait));
}

static pitched_ptr rows(const void *p, size_t pitch, size_t width, size_t height) {
    return (pitched_ptr){(void *)(uintptr_t)p, pitch, width, height};
}
static array_copy into(void *to, size_t x, size_t y, pitched_ptr from, int kind) {
    return (array_copy){
        .to = to, .to_at = {x, y, 0}, .host = from, .size = {from.xsize, from.ysize, 1}, .kind = kind};
}
static array_copy out_of(void *from, size_t x, size_t y, pitched_ptr to, int kind) {
    return (array_copy){
        .from = from, .from_at = {x, y, 0}, .host = to, .size = {to.xsize, to.ysize, 1}, .kind = kind};
}

RT_D(cudaMemcpy2DToArray)
(void *to, size_t x, size_t y, const void *src, size_t pitch, size_t width, size_t height, int kind) {
    return copy(into(to, x, y, rows(src, pitch, width, height), kind), NULL, true);
}
RT_S(cudaMemcpy2DToArrayAsync)
(void *to, size_t x, size_t y, const void *src, size_t pitch, size_t width, size_t height, int kind,
 void *stream) {
    return copy(into(to, x, y, rows(src, pitch, width, height), kind), stream, false);
}
RT_D(cudaMemcpy2DFromArray)
(void *dst, size_t pitch, void *from, size_t x, size_t y, size_t width, size_t height, int kind) {
    return copy(out_of(from, x, y, rows(dst, pitch, width, height), kind), NULL, true);
}
RT_S(cudaMemcpy2DFromArrayAsync)
(void *dst, size_t pitch, void *from, size_t x, size_t y, size_t width, size_t height, int kind,
 void *stream) {
    return copy(out_of(from, x, y, rows(dst, pitch, width, height), kind), stream, false);
}
RT_D(cudaMemcpy2DArrayToArray)
(void *to, size_t tx, size_t ty, void *from, size_t fx, size_t fy, size_t width, size_t height, int kind) {
    return copy((array_copy){.to = to,
                             .from = from,
                             .to_at = {tx, ty, 0},
                             .from_at = {fx, fy, 0},
                             .size = {width, height, 1},
                             .kind = kind},
                NULL, true);
}

// Bytes one after the other, through as many rows as they fill: whole rows, or part of one. `x` says where
// they begin, on both sides; its size is not looked at.
static int lines(array_copy x, size_t n, void *stream, bool wait) {
    int error = app_enter();
    const app_array *a = error ? NULL : app_array_of(x.to ? x.to : x.from);
    position *at = x.to ? &x.to_at : &x.from_at;
    size_t row = a ? (size_t)a->t.level[a->level].width * orr_tex_texel_bytes(&a->t) : 0;
    app_leave(E_OK);
    if (error || !a) return app_remember(error ? error : E_HANDLE);
    while (!error && n) {
        size_t width = row - (at->x < row ? at->x : row), height = 1;
        if (!width) return app_remember(E_VALUE);
        if (n < width) width = n;
        if (!at->x && n >= row) width = row, height = n / row;
        x.host.pitch = x.host.xsize = x.size.width = width;
        x.host.ysize = x.size.height = height;
        error = copy(x, stream, wait);
        x.host.ptr = (char *)x.host.ptr + width * height;
        n -= width * height;
        at->y += height;
        at->x = 0;
    }
    return error;
}
RT_D(cudaMemcpyToArray)(void *to, size_t x, size_t y, const void *src, size_t n, int kind) {
    return lines(into(to, x, y, rows(src, n, n, 1), kind), n, NULL, true);
}
RT_S(cudaMemcpyToArrayAsync)
(void *to, size_t x, size_t y, const void *src, size_t n, int kind, void *stream) {
    return lines(into(to, x, y, rows(src, n, n, 1), kind), n, stream, false);
}
RT_D(cudaMemcpyFromArray)(void *dst, void *from, size_t x, size_t y, size_t n, int kind) {
    return lines(out_of(from, x, y, rows(dst, n, n, 1), kind), n, NULL, true);
}
RT_S(cudaMemcpyFromArrayAsync)(void *dst, void *from, size_t x, size_t y, size_t n, int kind, void *stream) {
    return lines(out_of(from, x, y, rows(dst, n, n, 1), kind), n, stream, false);
}

// ---- objects --------------------------------------------------------------------------------------------
// 13's cudaResourceDesc has room behind what 11's and 12's have, and 11's cudaTextureDesc ends before
// seamlessCubemap.
enum { RESOURCE_12 = 64, TEXTURE_11 = offsetof(texture_desc, seamless) };

static int new_texture(uint64_t *handle, const resource_desc *r, const texture_desc *d, const void *view) {
    ENTER();
    if (view && *(const int *)view)
        return app_leave(app_missing("cudaCreateTextureObject with a resource view"));
    return app_leave(app_texture_new(r, d, handle));
}
// The program's descriptions, as far as they go, and nothing behind them.
static const resource_desc *resource_12(const void *r, resource_desc *own) {
    *own = (resource_desc){.flags = 0};
    return r ? memcpy(own, r, RESOURCE_12) : NULL;
}
static const texture_desc *texture_11(const void *d, texture_desc *own) {
    *own = (texture_desc){.seamless = 0};
    return d ? memcpy(own, d, TEXTURE_11) : NULL;
}
RT_13(cudaCreateTextureObject)
(uint64_t *handle, const resource_desc *r, const texture_desc *d, const void *view) {
    return new_texture(handle, r, d, view);
}
IN_11(create_texture_12, cudaCreateTextureObject_v2) // of 11.8
IN_12(create_texture_12, cudaCreateTextureObject)
API int orr_create_texture_12(uint64_t *handle, const void *r, const texture_desc *d, const void *view) {
    resource_desc own;
    return new_texture(handle, resource_12(r, &own), d, view);
}
RT_11(cudaCreateTextureObject, create_texture_11)
(uint64_t *handle, const void *r, const void *d, const void *view) {
    resource_desc own;
    texture_desc how;
    return new_texture(handle, resource_12(r, &own), texture_11(d, &how), view);
}

static int new_surface(uint64_t *handle, const resource_desc *r) {
    ENTER();
    return app_leave(app_surface_new(r, handle));
}
RT_13(cudaCreateSurfaceObject)(uint64_t *handle, const resource_desc *r) { return new_surface(handle, r); }
RT_11_12(cudaCreateSurfaceObject, create_surface_12)(uint64_t *handle, const void *r) {
    resource_desc own;
    return new_surface(handle, resource_12(r, &own));
}
RT(cudaDestroyTextureObject)(uint64_t handle) {
    ENTER();
    return app_leave(app_texture_free(handle));
}
RT(cudaDestroySurfaceObject)(uint64_t handle) { return orr_cudaDestroyTextureObject(handle); }

static int tell(void *to, const void *is, size_t n) {
    if (!to || !is) return app_leave(E_VALUE);
    memcpy(to, is, n);
    return app_leave(E_OK);
}
IN_13(cudaGetTextureObjectResourceDesc, cudaGetSurfaceObjectResourceDesc)
RT_13(cudaGetTextureObjectResourceDesc)(resource_desc *r, uint64_t handle) {
    ENTER();
    return tell(r, app_texture_resource(handle), sizeof *r);
}
IN_11(texture_resource_12, cudaGetSurfaceObjectResourceDesc)
IN_12(texture_resource_12, cudaGetSurfaceObjectResourceDesc)
RT_11_12(cudaGetTextureObjectResourceDesc, texture_resource_12)(void *r, uint64_t handle) {
    ENTER();
    return tell(r, app_texture_resource(handle), RESOURCE_12);
}
IN_11(cudaGetTextureObjectTextureDesc, cudaGetTextureObjectTextureDesc_v2)
RT_12_13(cudaGetTextureObjectTextureDesc)(texture_desc *d, uint64_t handle) {
    ENTER();
    return tell(d, app_texture_how(handle), sizeof *d);
}
RT_11(cudaGetTextureObjectTextureDesc, texture_how_11)(void *d, uint64_t handle) {
    ENTER();
    return tell(d, app_texture_how(handle), TEXTURE_11);
}
RT(cudaDeviceGetTexture1DLinearMaxWidth)(size_t *width, const channel_desc *c, int device) {
    ENTER();
    if (!width || !c || !app_device_at(device)) return app_leave(E_VALUE);
    *width = 1u << 28;
    return app_leave(E_OK);
}
