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

static int rows(void *to, position to_at, void *from, position from_at, pitched_ptr host, extent size,
                int kind, void *stream, bool wait) {
    ENTER();
    app_call c = {.what = DO_COPY, .kind = kind, .size = size, .to_at = to_at, .from_at = from_at};
    c.to = to ? app_array_of(to) : NULL;
    c.from = from ? app_array_of(from) : NULL;
    if ((to && !c.to) || (from && !c.from)) return app_leave(E_HANDLE);
    if (!to) c.dst = host;
    if (!from) c.src = host;
    return app_leave(submit(&c, stream, wait));
}

static int to_array(void *to, size_t x, size_t y, const void *src, size_t pitch, size_t width, size_t height,
                    int kind, void *stream, bool wait) {
    return rows(to, (position){x, y, 0}, NULL, (position){0, 0, 0},
                (pitched_ptr){(void *)(uintptr_t)src, pitch, width, height}, (extent){width, height, 1}, kind,
                stream, wait);
}
static int from_array(void *dst, size_t pitch, void *from, size_t x, size_t y, size_t width, size_t height,
                      int kind, void *stream, bool wait) {
    return rows(NULL, (position){0, 0, 0}, from, (position){x, y, 0},
                (pitched_ptr){dst, pitch, width, height}, (extent){width, height, 1}, kind, stream, wait);
}

RT_D(cudaMemcpy2DToArray)
(void *to, size_t x, size_t y, const void *src, size_t pitch, size_t width, size_t height, int kind) {
    return to_array(to, x, y, src, pitch, width, height, kind, NULL, true);
}
RT_S(cudaMemcpy2DToArrayAsync)
(void *to, size_t x, size_t y, const void *src, size_t pitch, size_t width, size_t height, int kind,
 void *stream) {
    return to_array(to, x, y, src, pitch, width, height, kind, stream, false);
}
RT_D(cudaMemcpy2DFromArray)
(void *dst, size_t pitch, void *from, size_t x, size_t y, size_t width, size_t height, int kind) {
    return from_array(dst, pitch, from, x, y, width, height, kind, NULL, true);
}
RT_S(cudaMemcpy2DFromArrayAsync)
(void *dst, size_t pitch, void *from, size_t x, size_t y, size_t width, size_t height, int kind,
 void *stream) {
    return from_array(dst, pitch, from, x, y, width, height, kind, stream, false);
}
RT_D(cudaMemcpy2DArrayToArray)
(void *to, size_t tx, size_t ty, void *from, size_t fx, size_t fy, size_t width, size_t height, int kind) {
    return rows(to, (position){tx, ty, 0}, from, (position){fx, fy, 0}, (pitched_ptr){NULL, 0, 0, 0},
                (extent){width, height, 1}, kind, NULL, true);
}

// Bytes one after the other, through as many rows as they fill: whole rows, or part of one.
static int lines(void *array, size_t x, size_t y, void *host, size_t n, int kind, void *stream, bool wait,
                 bool to) {
    int error = app_enter();
    const app_array *a = error ? NULL : app_array_of(array);
    size_t row = a ? (size_t)a->t.level[a->level].width * orr_tex_texel_bytes(&a->t) : 0;
    app_leave(E_OK);
    if (error || !a) return app_remember(error ? error : E_HANDLE);
    while (!error && n) {
        size_t width = row - (x < row ? x : row), height = 1;
        if (!width) return app_remember(E_VALUE);
        if (n < width) width = n;
        if (!x && n >= row) width = row, height = n / row;
        error = to ? to_array(array, x, y, host, width, width, height, kind, stream, wait)
                   : from_array(host, width, array, x, y, width, height, kind, stream, wait);
        host = (char *)host + width * height;
        n -= width * height;
        y += height;
        x = 0;
    }
    return error;
}
RT_D(cudaMemcpyToArray)(void *to, size_t x, size_t y, const void *src, size_t n, int kind) {
    return lines(to, x, y, (void *)(uintptr_t)src, n, kind, NULL, true, true);
}
RT_S(cudaMemcpyToArrayAsync)
(void *to, size_t x, size_t y, const void *src, size_t n, int kind, void *stream) {
    return lines(to, x, y, (void *)(uintptr_t)src, n, kind, stream, false, true);
}
RT_D(cudaMemcpyFromArray)(void *dst, void *from, size_t x, size_t y, size_t n, int kind) {
    return lines(from, x, y, dst, n, kind, NULL, true, false);
}
RT_S(cudaMemcpyFromArrayAsync)(void *dst, void *from, size_t x, size_t y, size_t n, int kind, void *stream) {
    return lines(from, x, y, dst, n, kind, stream, false, false);
}

// ---- objects --------------------------------------------------------------------------------------------
RT(cudaCreateTextureObject)
(uint64_t *handle, const resource_desc *r, const texture_desc *d, const void *view) {
    ENTER();
    if (view && *(const int *)view)
        return app_leave(app_missing("cudaCreateTextureObject with a resource view"));
    return app_leave(app_texture_new(r, d, handle));
}
RT(cudaCreateSurfaceObject)(uint64_t *handle, const resource_desc *r) {
    ENTER();
    return app_leave(app_surface_new(r, handle));
}
RT(cudaDestroyTextureObject)(uint64_t handle) {
    ENTER();
    return app_leave(app_texture_free(handle));
}
RT(cudaDestroySurfaceObject)(uint64_t handle) { return orr_cudaDestroyTextureObject(handle); }
RT(cudaGetTextureObjectResourceDesc)(resource_desc *r, uint64_t handle) {
    ENTER();
    const resource_desc *is = app_texture_resource(handle);
    if (!r || !is) return app_leave(E_VALUE);
    *r = *is;
    return app_leave(E_OK);
}
RT(cudaGetSurfaceObjectResourceDesc)(resource_desc *r, uint64_t handle) {
    return orr_cudaGetTextureObjectResourceDesc(r, handle);
}
RT(cudaGetTextureObjectTextureDesc)(texture_desc *d, uint64_t handle) {
    ENTER();
    const texture_desc *is = app_texture_how(handle);
    if (!d || !is) return app_leave(E_VALUE);
    *d = *is;
    return app_leave(E_OK);
}
RT(cudaDeviceGetTexture1DLinearMaxWidth)(size_t *width, const channel_desc *c, int device) {
    ENTER();
    if (!width || !c || !app_device_at(device)) return app_leave(E_VALUE);
    *width = 1u << 28;
    return app_leave(E_OK);
}
