// The driver API: arrays, textures and surfaces, as the runtime's under other names.
#include "app/array.h"
#include "app/dr.h"

#include <string.h>

typedef uint64_t devptr;
typedef struct { // CUDA_ARRAY3D_DESCRIPTOR
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
} array_desc;
typedef struct { // CUDA_ARRAY_DESCRIPTOR
    size_t width, height;
    int format;
    unsigned channels;
} array_desc_2d;

int orr_cudaGetMipmappedArrayLevel(void **level, void *array, unsigned n);
int orr_cudaMemcpyToArray(void *to, size_t x, size_t y, const void *src, size_t n, int kind);
int orr_cudaMemcpyFromArray(void *dst, void *from, size_t x, size_t y, size_t n, int kind);

// ---- formats --------------------------------------------------------------------------------------------
static const struct {
    int format, bits, kind; // CUarray_format
} formats[] = {{1, 8, CHANNEL_UNSIGNED}, {2, 16, CHANNEL_UNSIGNED}, {3, 32, CHANNEL_UNSIGNED},
               {8, 8, CHANNEL_SIGNED},   {9, 16, CHANNEL_SIGNED},   {10, 32, CHANNEL_SIGNED},
               {16, 16, CHANNEL_FLOAT},  {32, 32, CHANNEL_FLOAT}};

static channel_desc channels_of(int format, unsigned n) {
    channel_desc c = {{0}, CHANNEL_NONE};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].format == format) {
            c.kind = formats[i].kind;
            for (unsigned k = 0; k < n && k < 4; k++) c.bits[k] = formats[i].bits;
        }
    return c;
}

static int format_of(const channel_desc *c) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].bits == c->bits[0] && formats[i].kind == c->kind) return formats[i].format;
    return 0;
}

// ---- arrays ---------------------------------------------------------------------------------------------
static int make(void **array, const array_desc *d, unsigned levels) {
    DR_ENTER();
    if (!array || !d || !levels) return app_leave_driver(E_VALUE);
    channel_desc c = channels_of(d->format, d->channels);
    return app_leave_driver(app_array_new(&c, (extent){d->width, d->height, d->depth}, levels, d->flags & 15,
                                          (app_array **)array));
}
API int cuArray3DCreate_v2(void **array, const array_desc *d) { return make(array, d, 1); }
API int cuArrayCreate_v2(void **array, const array_desc_2d *d) {
    if (!d) return E_VALUE;
    array_desc full = {d->width, d->height, 0, d->format, d->channels, 0};
    return make(array, &full, 1);
}
API int cuMipmappedArrayCreate(void **array, const array_desc *d, unsigned levels) {
    return make(array, d, levels);
}
API int cuArrayDestroy(void *array) {
    DR_ENTER();
    return app_leave_driver(array ? app_array_free(array) : E_HANDLE);
}
API int cuMipmappedArrayDestroy(void *array) { return cuArrayDestroy(array); }
API int cuMipmappedArrayGetLevel(void **level, void *array, unsigned n) {
    return BY_RUNTIME(orr_cudaGetMipmappedArrayLevel(level, array, n));
}
API int cuArray3DGetDescriptor_v2(array_desc *d, void *array) {
    DR_ENTER();
    const app_array *a = app_array_of(array);
    if (!d || !a) return app_leave_driver(d ? E_HANDLE : E_VALUE);
    *d = (array_desc){a->size.width,           a->size.height, a->size.depth,
                      format_of(&a->channels), a->t.channels,  a->flags};
    return app_leave_driver(E_OK);
}
API int cuArrayGetDescriptor_v2(array_desc_2d *d, void *array) {
    array_desc full;
    int error = d ? cuArray3DGetDescriptor_v2(&full, array) : E_VALUE;
    if (!error) *d = (array_desc_2d){full.width, full.height, full.format, full.channels};
    return error;
}
API int cuMemcpyHtoA_v2(void *array, size_t at, const void *host, size_t n) {
    return BY_RUNTIME(orr_cudaMemcpyToArray(array, at, 0, host, n, COPY_DEFAULT));
}
API int cuMemcpyAtoH_v2(void *host, void *array, size_t at, size_t n) {
    return BY_RUNTIME(orr_cudaMemcpyFromArray(host, array, at, 0, n, COPY_DEFAULT));
}
API int cuMemcpyDtoA_v2(void *array, size_t at, devptr from, size_t n) {
    return cuMemcpyHtoA_v2(array, at, (const void *)(uintptr_t)from, n);
}
API int cuMemcpyAtoD_v2(devptr to, void *array, size_t at, size_t n) {
    return cuMemcpyAtoH_v2((void *)(uintptr_t)to, array, at, n);
}

typedef struct { // CUDA_MEMCPY3D: one side
    size_t x, y, z, level;
    int type; // CUmemorytype
    void *host;
    devptr device;
    void *array, *reserved;
    size_t pitch, height;
} copy_side;
typedef struct {
    copy_side from, to;
    size_t width, height, depth;
} dr_copy_3d;
enum { TYPE_HOST = 1, TYPE_DEVICE, TYPE_ARRAY, TYPE_UNIFIED };

static int side(const copy_side *s, const dr_copy_3d *p, pitched_ptr *at, app_array **array, position *pos) {
    if (s->type == TYPE_ARRAY) {
        *array = app_array_of(s->array);
        *pos = (position){s->x, s->y, s->z};
        return *array ? E_OK : E_HANDLE;
    }
    size_t pitch = s->pitch ? s->pitch : p->width, height = s->height ? s->height : p->height;
    char *base = s->type == TYPE_HOST ? s->host : (char *)(uintptr_t)s->device;
    if (!base || (p->height > 1 && pitch < p->width)) return E_VALUE;
    *at = (pitched_ptr){base + (s->z * height + s->y) * pitch + s->x, pitch, p->width, height};
    return E_OK;
}

int app_copy_3d_call(const void *copy, app_call *c) {
    const dr_copy_3d *p = copy;
    if (!p) return E_VALUE;
    *c = (app_call){.what = DO_COPY, .kind = COPY_DEFAULT, .size = {p->width, p->height, p->depth}};
    int error = side(&p->from, p, &c->src, &c->from, &c->from_at);
    return error ? error : side(&p->to, p, &c->dst, &c->to, &c->to_at);
}

static int copy_3d_driver(const dr_copy_3d *p, void *stream, bool wait) {
    DR_ENTER();
    app_call c;
    int error = app_copy_3d_call(p, &c);
    app_stream *s = app_stream_of(stream);
    if (!error) error = s ? app_submit(s, &c) : E_HANDLE;
    if (!error && wait) app_clock_wait(app_clock_end(s));
    return app_leave_driver(error);
}
typedef struct { // CUDA_MEMCPY2D: one side
    size_t x, y;
    int type;
    void *host;
    devptr device;
    void *array;
    size_t pitch;
} copy_side_2d;
int app_copy_2d_arrays(const void *copy, void *stream) {
    const copy_side_2d *from = copy, *to = from + 1;
    const size_t *size = (const size_t *)(to + 1);
    dr_copy_3d p = {
        {from->x, from->y, 0, 0, from->type, from->host, from->device, from->array, NULL, from->pitch, 0},
        {to->x, to->y, 0, 0, to->type, to->host, to->device, to->array, NULL, to->pitch, 0},
        size[0],
        size[1],
        1};
    return copy_3d_driver(&p, stream, false);
}

API int cuMemcpy3D_v2(const dr_copy_3d *p) { return copy_3d_driver(p, NULL, true); }
API int cuMemcpy3DAsync_v2(const dr_copy_3d *p, void *stream) { return copy_3d_driver(p, stream, false); }

// ---- objects --------------------------------------------------------------------------------------------
typedef struct { // CUDA_RESOURCE_DESC: the runtime's, with another description of channels
    int type;
    union {
        void *array;
        struct {
            devptr at;
            int format;
            unsigned channels;
            size_t bytes;
        } linear;
        struct {
            devptr at;
            int format;
            unsigned channels;
            size_t width, height, pitch;
        } pitch;
        int reserved[32];
    } of;
    unsigned flags;
} dr_resource;
typedef struct { // CUDA_TEXTURE_DESC
    int address[3], filter;
    unsigned flags, anisotropy;
    int mip_filter;
    float bias, min_level, max_level, border[4];
    int reserved[12];
} dr_texture;
enum { READ_AS_INTEGER = 1, NORMALIZED_COORDINATES = 2, SRGB = 16, SEAMLESS = 64 };

static resource_desc resource_of(const dr_resource *r) {
    resource_desc to = {.type = r->type};
    if (r->type == RESOURCE_LINEAR) {
        to.of.linear.at = (void *)(uintptr_t)r->of.linear.at;
        to.of.linear.channels = channels_of(r->of.linear.format, r->of.linear.channels);
        to.of.linear.bytes = r->of.linear.bytes;
    } else if (r->type == RESOURCE_PITCH) {
        to.of.pitch.at = (void *)(uintptr_t)r->of.pitch.at;
        to.of.pitch.channels = channels_of(r->of.pitch.format, r->of.pitch.channels);
        to.of.pitch.width = r->of.pitch.width;
        to.of.pitch.height = r->of.pitch.height;
        to.of.pitch.pitch = r->of.pitch.pitch;
    } else {
        to.of.array = r->of.array;
    }
    return to;
}

API int cuTexObjectCreate(uint64_t *handle, const dr_resource *r, const dr_texture *d, const void *view) {
    DR_ENTER();
    if (!r || !d) return app_leave_driver(E_VALUE);
    if (view && *(const int *)view)
        return app_leave_driver(app_missing("cuTexObjectCreate with a resource view"));
    resource_desc resource = resource_of(r);
    texture_desc how = {.filter = d->filter, .anisotropy = d->anisotropy, .mip_filter = d->mip_filter};
    memcpy(how.address, d->address, sizeof how.address);
    memcpy(how.border, d->border, sizeof how.border);
    how.bias = d->bias, how.min_level = d->min_level, how.max_level = d->max_level;
    how.normalized = (d->flags & NORMALIZED_COORDINATES) != 0;
    how.srgb = (d->flags & SRGB) != 0;
    how.seamless = (d->flags & SEAMLESS) != 0;
    // Integers of 32 bits are never promoted.
    const app_array *a = r->type < RESOURCE_LINEAR ? app_array_of(r->of.array) : NULL;
    int format = a                            ? format_of(&a->channels)
                 : r->type == RESOURCE_LINEAR ? r->of.linear.format
                                              : r->of.pitch.format;
    how.read = !(d->flags & READ_AS_INTEGER) && format != 3 && format != 10;
    return app_leave_driver(app_texture_new(&resource, &how, handle));
}
API int cuSurfObjectCreate(uint64_t *handle, const dr_resource *r) {
    DR_ENTER();
    if (!r) return app_leave_driver(E_VALUE);
    resource_desc resource = resource_of(r);
    return app_leave_driver(app_surface_new(&resource, handle));
}
API int cuTexObjectDestroy(uint64_t handle) {
    DR_ENTER();
    return app_leave_driver(app_texture_free(handle));
}
API int cuSurfObjectDestroy(uint64_t handle) { return cuTexObjectDestroy(handle); }
