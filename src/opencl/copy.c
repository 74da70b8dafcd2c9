// Commands on memory: read, write, copy, fill, map. All but maps and fills are one copy of a box of bytes
// between two places, each with its own pitches.
#include "opencl/functions.h"

#include <stdlib.h>
#include <string.h>

// ---- a box ------------------------------------------------------------------------------------------
typedef struct side {
    char *at; // the first byte of the box
    size_t row, slice;
} side;
typedef struct box {
    side to, from;
    size_t width, height, depth; // width in bytes
    int engine;
    const char *name;

} box;

static void move(const box *b) {
    for (size_t z = 0; z < b->depth; z++)
        for (size_t y = 0; y < b->height; y++)
            memmove(b->to.at + z * b->to.slice + y * b->to.row,
                    b->from.at + z * b->from.slice + y * b->from.row, b->width);
}

static cl_int run_box(command *c) {
    const box *b = c->data;
    move(b);
    cl_took(c, b->engine, b->name, b->width * b->height * b->depth, b->to.at);
    return CL_SUCCESS;
}

static cl_int enqueue_box(const request *r, const box *b, cl_mem m1, cl_mem m2) {
    cl_lock();
    command *c = orr_calloc(1, sizeof *c);
    box *copy = orr_calloc(1, sizeof *copy);
    *copy = *b;
    c->data = copy;
    c->run = run_box;
    c->mem[0] = m1;
    c->mem[1] = m2;
    return cl_enqueue(r, c);
}

// ---- checks -----------------------------------------------------------------------------------------
static cl_int check(const request *r, cl_mem m, bool image) {
    if (!cl_is(r->queue, KIND_QUEUE)) return CL_INVALID_COMMAND_QUEUE;
    if (!cl_is(m, KIND_MEM) || (m->image != NULL) != image) return CL_INVALID_MEM_OBJECT;
    if (m->context != r->queue->context) return CL_INVALID_CONTEXT;
    return cl_check_waits(r->queue, r->n, r->waits);
}

static bool within(size_t offset, size_t bytes, size_t all) { return offset <= all && bytes <= all - offset; }

typedef struct rectangle { // where a region lies in a buffer, or in memory of the host
    const size_t *origin;
    size_t row, slice; // 0: it is packed
} rectangle;

// Works out the pitches, and where the region begins. False: it is not inside `bytes` (0: nobody knows).
static bool place(rectangle *x, const size_t region[3], size_t bytes, size_t *at) {
    enum { MOST = 1 << 30 };
    const size_t *origin = x->origin;
    size_t *row = &x->row, *slice = &x->slice;
    if (!*row) *row = region[0];
    if (*row < region[0] || *row > (size_t)MOST << 10) return false;
    if (!*slice) *slice = region[1] * *row;
    if (*slice < region[1] * *row || (*slice % *row && region[2] > 1)) return false;
    for (int i = 0; i < 3; i++)
        if (!region[i] || region[i] > (size_t)MOST << 8 || origin[i] > (size_t)MOST << 8) return false;
    *at = origin[2] * *slice + origin[1] * *row + origin[0];
    size_t end = *at + (region[2] - 1) * *slice + (region[1] - 1) * *row + region[0];
    return !bytes || end <= bytes;
}

// ---- buffers ----------------------------------------------------------------------------------------
// May the host write to it, or read from it?
static bool refused(const struct _cl_mem *m, bool write) {
    cl_mem_flags no = write ? CL_MEM_HOST_READ_ONLY : CL_MEM_HOST_WRITE_ONLY;
    return (m->flags & (no | CL_MEM_HOST_NO_ACCESS)) != 0;
}

// The box between the device and the host, in either direction: size[0] in bytes.
static box between(bool in, side device, side host, const size_t size[3], const char *name) {
    return (box){
        in ? device : host, in ? host : device, size[0], size[1], size[2], in ? ENGINE_IN : ENGINE_OUT, name};
}

static cl_int transfer(const request *r, cl_mem m, size_t offset, size_t bytes, void *host) {
    bool in = r->type == CL_COMMAND_WRITE_BUFFER;
    cl_int error = check(r, m, false);
    if (error) return error;
    if (!host || !bytes || !within(offset, bytes, m->bytes)) return CL_INVALID_VALUE;
    if (refused(m, in)) return CL_INVALID_OPERATION;
    side device = {m->data + offset, bytes, bytes}, own = {host, bytes, bytes};
    box b = between(in, device, own, (size_t[3]){bytes, 1, 1}, in ? "write buffer" : "read buffer");
    return enqueue_box(r, &b, m, NULL);
}

cl_int cl_clEnqueueReadBuffer(cl_command_queue q, cl_mem m, cl_bool blocking, size_t offset, size_t bytes,
                              void *host, cl_uint n, const cl_event *waits, cl_event *event) {
    return transfer(&(request){q, CL_COMMAND_READ_BUFFER, blocking, n, waits, event}, m, offset, bytes, host);
}
cl_int cl_clEnqueueWriteBuffer(cl_command_queue q, cl_mem m, cl_bool blocking, size_t offset, size_t bytes,
                               const void *host, cl_uint n, const cl_event *waits, cl_event *event) {
    return transfer(&(request){q, CL_COMMAND_WRITE_BUFFER, blocking, n, waits, event}, m, offset, bytes,
                    (void *)(uintptr_t)host);
}

static cl_int transfer_rect(const request *r, cl_mem m, rectangle device, rectangle own, const size_t *region,
                            char *host) {
    bool in = r->type == CL_COMMAND_WRITE_BUFFER_RECT;
    cl_int error = check(r, m, false);
    if (error) return error;
    size_t at, host_at;
    if (!host || !device.origin || !own.origin || !region || !place(&device, region, m->bytes, &at) ||
        !place(&own, region, 0, &host_at))
        return CL_INVALID_VALUE;
    if (refused(m, in)) return CL_INVALID_OPERATION;
    box b = between(in, (side){m->data + at, device.row, device.slice},
                    (side){host + host_at, own.row, own.slice}, region, in ? "write buffer" : "read buffer");
    return enqueue_box(r, &b, m, NULL);
}

cl_int cl_clEnqueueReadBufferRect(cl_command_queue q, cl_mem m, cl_bool blocking, const size_t *origin,
                                  const size_t *host_origin, const size_t *region, size_t row, size_t slice,
                                  size_t host_row, size_t host_slice, void *host, cl_uint n,
                                  const cl_event *waits, cl_event *event) {
    return transfer_rect(&(request){q, CL_COMMAND_READ_BUFFER_RECT, blocking, n, waits, event}, m,
                         (rectangle){origin, row, slice}, (rectangle){host_origin, host_row, host_slice},
                         region, host);
}
cl_int cl_clEnqueueWriteBufferRect(cl_command_queue q, cl_mem m, cl_bool blocking, const size_t *origin,
                                   const size_t *host_origin, const size_t *region, size_t row, size_t slice,
                                   size_t host_row, size_t host_slice, const void *host, cl_uint n,
                                   const cl_event *waits, cl_event *event) {
    return transfer_rect(&(request){q, CL_COMMAND_WRITE_BUFFER_RECT, blocking, n, waits, event}, m,
                         (rectangle){origin, row, slice}, (rectangle){host_origin, host_row, host_slice},
                         region, (void *)(uintptr_t)host);
}

cl_int cl_clEnqueueCopyBuffer(cl_command_queue q, cl_mem from, cl_mem to, size_t from_at, size_t to_at,
                              size_t bytes, cl_uint n, const cl_event *waits, cl_event *event) {
    const request r = {q, CL_COMMAND_COPY_BUFFER, false, n, waits, event};
    cl_int error = check(&r, from, false);
    if (!error) error = check(&r, to, false);
    if (error) return error;
    if (!bytes || !within(from_at, bytes, from->bytes) || !within(to_at, bytes, to->bytes))
        return CL_INVALID_VALUE;
    const char *a = from->data + from_at, *b = to->data + to_at;
    if (a < b + bytes && b < a + bytes) return CL_MEM_COPY_OVERLAP;
    box x = {{to->data + to_at, bytes, bytes},
             {from->data + from_at, bytes, bytes},
             bytes,
             1,
             1,
             ENGINE_WITHIN,
             "copy buffer"};
    return enqueue_box(&r, &x, from, to);
}

// Do two regions of the same size have nothing in common?
static bool apart(const size_t a[3], const size_t b[3], const size_t region[3]) {
    for (int i = 0; i < 3; i++)
        if (a[i] >= b[i] + region[i] || b[i] >= a[i] + region[i]) return true;
    return false;
}

cl_int cl_clEnqueueCopyBufferRect(cl_command_queue q, cl_mem from, cl_mem to, const size_t *from_origin,
                                  const size_t *to_origin, const size_t *region, size_t from_row,
                                  size_t from_slice, size_t to_row, size_t to_slice, cl_uint n,
                                  const cl_event *waits, cl_event *event) {
    const request r = {q, CL_COMMAND_COPY_BUFFER_RECT, false, n, waits, event};
    cl_int error = check(&r, from, false);
    if (!error) error = check(&r, to, false);
    if (error) return error;
    size_t from_at, to_at;
    rectangle source = {from_origin, from_row, from_slice}, target = {to_origin, to_row, to_slice};
    if (!from_origin || !to_origin || !region || !place(&source, region, from->bytes, &from_at) ||
        !place(&target, region, to->bytes, &to_at))
        return CL_INVALID_VALUE;
    if (from->data == to->data) { // overlapping boxes of one buffer have the same pitches
        if (source.row != target.row || source.slice != target.slice) return CL_INVALID_VALUE;
        if (!apart(from_origin, to_origin, region)) return CL_MEM_COPY_OVERLAP;
    }
    box b = {{to->data + to_at, target.row, target.slice},
             {from->data + from_at, source.row, source.slice},
             region[0],
             region[1],
             region[2],
             ENGINE_WITHIN,
             "copy buffer"};
    return enqueue_box(&r, &b, from, to);
}

// ---- fills ------------------------------------------------------------------------------------------
typedef struct filling {
    box box; // `to` only
    uint8_t pattern[128];
    size_t bytes; // of it
} filling;

static cl_int run_fill(command *c) {
    const filling *f = c->data;
    const box *b = &f->box;
    for (size_t z = 0; z < b->depth; z++)
        for (size_t y = 0; y < b->height; y++) {
            char *row = b->to.at + z * b->to.slice + y * b->to.row;
            for (size_t x = 0; x < b->width; x += f->bytes) memcpy(row + x, f->pattern, f->bytes);
        }
    cl_took(c, ENGINE_WITHIN, b->name, b->width * b->height * b->depth, b->to.at);
    return CL_SUCCESS;
}

static cl_int enqueue_fill(const request *r, const filling *f, cl_mem m) {
    cl_lock();
    command *c = orr_calloc(1, sizeof *c);
    filling *copy = orr_calloc(1, sizeof *copy);
    *copy = *f;
    c->data = copy;
    c->run = run_fill;
    c->mem[0] = m;
    return cl_enqueue(r, c);
}

cl_int cl_clEnqueueFillBuffer(cl_command_queue q, cl_mem m, const void *pattern, size_t np, size_t offset,
                              size_t bytes, cl_uint n, const cl_event *waits, cl_event *event) {
    const request r = {q, CL_COMMAND_FILL_BUFFER, false, n, waits, event};
    cl_int error = check(&r, m, false);
    if (error) return error;
    if (!pattern || !np || np > 128 || (np & (np - 1)) || offset % np || bytes % np ||
        !within(offset, bytes, m->bytes))
        return CL_INVALID_VALUE;
    filling f = {.box = {.to = {m->data + offset, bytes, bytes},
                         .width = bytes,
                         .height = 1,
                         .depth = 1,
                         .name = "fill buffer"},
                 .bytes = np};
    memcpy(f.pattern, pattern, np);
    return enqueue_fill(&r, &f, m);
}

// ---- images -----------------------------------------------------------------------------------------
// The box of an image: of a 1D array, the second coordinate is the layer.
static bool image_side(const struct _cl_mem *m, const size_t *origin, const size_t *region, side *s,
                       size_t size[3]) {
    const image_description *i = m->image;
    if (!origin || !region) return false;
    size_t o[3] = {origin[0], origin[1], origin[2]}, r[3] = {region[0], region[1], region[2]};
    if (i->dims == 1 && i->layers) {
        if (o[2] || r[2] != 1) return false;
        o[2] = o[1], r[2] = r[1];
        o[1] = 0, r[1] = 1;
    }
    size_t most[3] = {(size_t)i->width, (size_t)i->height, (size_t)(i->layers ? i->layers : i->depth)};
    for (int k = 0; k < 3; k++)
        if (!r[k] || !within(o[k], r[k], most[k])) return false;
    *s = (side){m->data + o[2] * i->slice + o[1] * i->row + o[0] * i->bytes, i->row, i->slice};
    for (int k = 0; k < 3; k++) size[k] = r[k];
    return true;
}

static cl_int transfer_image(const request *r, cl_mem m, const size_t *origin, const size_t *region,
                             side own) {
    bool in = r->type == CL_COMMAND_WRITE_IMAGE;
    cl_int error = check(r, m, true);
    if (error) return error;
    side device;
    size_t size[3];
    if (!own.at || !image_side(m, origin, region, &device, size)) return CL_INVALID_VALUE;
    size_t line = size[0] * m->image->bytes;
    if (!own.row) own.row = line;
    if (m->image->dims == 1 && m->image->layers && !own.slice) own.slice = own.row; // its rows are layers
    if (!own.slice) own.slice = own.row * size[1];
    if (own.row < line || own.slice < own.row * size[1]) return CL_INVALID_VALUE;
    if (refused(m, in)) return CL_INVALID_OPERATION;
    size[0] = line;
    box b = between(in, device, own, size, in ? "write image" : "read image");
    return enqueue_box(r, &b, m, NULL);
}

cl_int cl_clEnqueueReadImage(cl_command_queue q, cl_mem m, cl_bool blocking, const size_t *origin,
                             const size_t *region, size_t row, size_t slice, void *host, cl_uint n,
                             const cl_event *waits, cl_event *event) {
    return transfer_image(&(request){q, CL_COMMAND_READ_IMAGE, blocking, n, waits, event}, m, origin, region,
                          (side){host, row, slice});
}
cl_int cl_clEnqueueWriteImage(cl_command_queue q, cl_mem m, cl_bool blocking, const size_t *origin,
                              const size_t *region, size_t row, size_t slice, const void *host, cl_uint n,
                              const cl_event *waits, cl_event *event) {
    return transfer_image(&(request){q, CL_COMMAND_WRITE_IMAGE, blocking, n, waits, event}, m, origin, region,
                          (side){(void *)(uintptr_t)host, row, slice});
}

cl_int cl_clEnqueueCopyImage(cl_command_queue q, cl_mem from, cl_mem to, const size_t *from_origin,
                             const size_t *to_origin, const size_t *region, cl_uint n, const cl_event *waits,
                             cl_event *event) {
    const request r = {q, CL_COMMAND_COPY_IMAGE, false, n, waits, event};
    cl_int error = check(&r, from, true);
    if (!error) error = check(&r, to, true);
    if (error) return error;
    if (memcmp(&from->format, &to->format, sizeof from->format) != 0) return CL_IMAGE_FORMAT_MISMATCH;
    box b = {.engine = ENGINE_WITHIN, .name = "copy image"};
    size_t size[3], other[3];
    if (!image_side(from, from_origin, region, &b.from, size) ||
        !image_side(to, to_origin, region, &b.to, other))
        return CL_INVALID_VALUE;
    if (from == to && !apart(from_origin, to_origin, region)) return CL_MEM_COPY_OVERLAP;
    b.width = size[0] * from->image->bytes, b.height = size[1], b.depth = size[2];
    if (memcmp(size, other, sizeof size) != 0) { // a layer of one is a row of the other
        b.height = 1, b.depth = region[1] * region[2];
        if (size[1] > 1) b.from.slice = b.from.row;
        if (other[1] > 1) b.to.slice = b.to.row;
    }
    return enqueue_box(&r, &b, from, to);
}

static cl_int image_and_buffer(const request *r, cl_mem image, cl_mem buffer, const size_t *origin,
                               const size_t *region, size_t offset) {
    bool to_image = r->type == CL_COMMAND_COPY_BUFFER_TO_IMAGE;
    cl_int error = check(r, image, true);
    if (!error) error = check(r, buffer, false);
    if (error) return error;
    side pixels;
    size_t size[3];
    if (!image_side(image, origin, region, &pixels, size)) return CL_INVALID_VALUE;
    size_t line = size[0] * image->image->bytes;
    if (!within(offset, line * size[1] * size[2], buffer->bytes)) return CL_INVALID_VALUE;
    side bytes = {buffer->data + offset, line, line * size[1]};
    box b = {to_image ? pixels : bytes,
             to_image ? bytes : pixels,
             line,
             size[1],
             size[2],
             ENGINE_WITHIN,
             to_image ? "copy buffer to image" : "copy image to buffer"};
    return enqueue_box(r, &b, image, buffer);
}

cl_int cl_clEnqueueCopyImageToBuffer(cl_command_queue q, cl_mem from, cl_mem to, const size_t *origin,
                                     const size_t *region, size_t offset, cl_uint n, const cl_event *waits,
                                     cl_event *event) {
    return image_and_buffer(&(request){q, CL_COMMAND_COPY_IMAGE_TO_BUFFER, false, n, waits, event}, from, to,
                            origin, region, offset);
}
cl_int cl_clEnqueueCopyBufferToImage(cl_command_queue q, cl_mem from, cl_mem to, size_t offset,
                                     const size_t *origin, const size_t *region, cl_uint n,
                                     const cl_event *waits, cl_event *event) {
    return image_and_buffer(&(request){q, CL_COMMAND_COPY_BUFFER_TO_IMAGE, false, n, waits, event}, to, from,
                            origin, region, offset);
}

// A colour as four floats, integers or unsigned ones, to a pixel of the image's format.
static uint16_t to_half(float v) {
    uint32_t b;
    memcpy(&b, &v, 4);
    uint32_t sign = b >> 16 & 0x8000, e = b >> 23 & 255, m = b & 0x7fffff;
    if (e == 255) return (uint16_t)(sign | 0x7c00 | (m ? 0x200 : 0));
    int x = (int)e - 112;
    if (x >= 31) return (uint16_t)(sign | 0x7c00);
    if (x <= 0) {
        if (x < -10) return (uint16_t)sign;
        m = (m | 0x800000) >> (1 - x);
        x = 0;
    }
    uint32_t h = sign | (uint32_t)x << 10 | m >> 13, rest = m & 0x1fff;
    return (uint16_t)(h + (rest > 0x1000 || (rest == 0x1000 && (h & 1))));
}

static void put_channel(uint8_t *p, cl_channel_type t, uint32_t bits) {
    float f;
    memcpy(&f, &bits, 4);
    float unit = f < 0 ? 0 : f > 1 ? 1 : f, both = f < -1 ? -1 : f > 1 ? 1 : f;
    uint32_t v = bits;
    size_t n = 4;
    switch (t) {
    case CL_SNORM_INT8: v = (uint32_t)(int32_t)__builtin_rintf(both * 127), n = 1; break;
    case CL_SNORM_INT16: v = (uint32_t)(int32_t)__builtin_rintf(both * 32767), n = 2; break;
    case CL_UNORM_INT8: v = (uint32_t)__builtin_rintf(unit * 255), n = 1; break;
    case CL_UNORM_INT16: v = (uint32_t)__builtin_rintf(unit * 65535), n = 2; break;
    case CL_HALF_FLOAT: v = to_half(f), n = 2; break;
    case CL_SIGNED_INT8:
        v = (uint32_t)((int32_t)bits < -128 ? -128 : (int32_t)bits > 127 ? 127 : (int32_t)bits), n = 1;
        break;
    case CL_SIGNED_INT16:
        v = (uint32_t)((int32_t)bits < -32768  ? -32768
                       : (int32_t)bits > 32767 ? 32767
                                               : (int32_t)bits),
        n = 2;
        break;
    case CL_UNSIGNED_INT8: v = bits > 255 ? 255 : bits, n = 1; break;
    case CL_UNSIGNED_INT16: v = bits > 65535 ? 65535 : bits, n = 2; break;
    default: break;
    }
    memcpy(p, &v, n);
}

static size_t pixel_of(const cl_image_format *f, const uint32_t c[4], uint8_t *out) {
    static const struct {
        cl_channel_order order;
        int n, from[4];
    } orders[] = {{CL_R, 1, {0}},
                  {CL_A, 1, {3}},
                  {CL_RG, 2, {0, 1}},
                  {CL_RA, 2, {0, 3}},
                  {CL_RGBA, 4, {0, 1, 2, 3}},
                  {CL_BGRA, 4, {2, 1, 0, 3}},
                  {CL_ARGB, 4, {3, 0, 1, 2}},
                  {CL_ABGR, 4, {3, 2, 1, 0}},
                  {CL_INTENSITY, 1, {0}},
                  {CL_LUMINANCE, 1, {0}}};
    size_t bytes = cl_pixel_bytes(f);
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (orders[i].order == f->image_channel_order)
            for (int k = 0; k < orders[i].n; k++)
                put_channel(out + (size_t)k * (bytes / (size_t)orders[i].n), f->image_channel_data_type,
                            c[orders[i].from[k]]);
    if (f->image_channel_order == CL_RGB) {
        uint32_t v[3], limit[3] = {31, f->image_channel_data_type == CL_UNORM_SHORT_565 ? 63 : 31, 31};
        bool ten = f->image_channel_data_type == CL_UNORM_INT_101010;
        for (int k = 0; k < 3; k++) {
            float x;
            memcpy(&x, &c[k], 4);
            x = x < 0 ? 0 : x > 1 ? 1 : x;
            v[k] = (uint32_t)__builtin_rintf(x * (float)(ten ? 1023 : limit[k]));
        }
        uint32_t packed =
            ten ? v[0] << 20 | v[1] << 10 | v[2] : v[0] << (limit[1] == 63 ? 11 : 10) | v[1] << 5 | v[2];
        memcpy(out, &packed, bytes);
    }
    return bytes;
}

cl_int cl_clEnqueueFillImage(cl_command_queue q, cl_mem m, const void *colour, const size_t *origin,
                             const size_t *region, cl_uint n, const cl_event *waits, cl_event *event) {
    const request r = {q, CL_COMMAND_FILL_IMAGE, false, n, waits, event};
    cl_int error = check(&r, m, true);
    if (error) return error;
    filling f = {.box = {.name = "fill image"}};
    size_t size[3];
    if (!colour || !image_side(m, origin, region, &f.box.to, size)) return CL_INVALID_VALUE;
    uint32_t c[4];
    memcpy(c, colour, sizeof c);
    f.bytes = pixel_of(&m->format, c, f.pattern);
    f.box.width = size[0] * f.bytes, f.box.height = size[1], f.box.depth = size[2];
    return enqueue_fill(&r, &f, m);
}

// ---- maps -------------------------------------------------------------------------------------------
// The host sees device memory: a map is its address. Of CL_MEM_USE_HOST_PTR it is the program's own memory,
// and the bytes are exchanged.
typedef struct map_command {
    mapping *map; // of unmap: taken out of the list, freed
    box box;      // the exchange; width 0: none
    bool out;
} map_command;

static cl_int run_map(command *c) {
    map_command *m = c->data;
    if (m->box.width) move(&m->box);
    uint64_t bytes = m->map->bytes;
    bool moves = m->out ? (m->map->flags & CL_MAP_READ) != 0
                        : (m->map->flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)) != 0;
    if (moves) cl_took(c, m->out ? ENGINE_OUT : ENGINE_IN, m->out ? "map" : "unmap", bytes, c->mem[0]->data);
    if (!m->out) free(m->map);
    return CL_SUCCESS;
}

static void *enqueue_map(const request *r, cl_mem m, mapping *x, const box *b, cl_int *error) {
    cl_lock();
    command *c = orr_calloc(1, sizeof *c);
    map_command *d = orr_calloc(1, sizeof *d);
    *d = (map_command){x, *b, true};
    c->data = d;
    c->run = run_map;
    c->mem[0] = m;
    x->next = m->maps;
    m->maps = x;
    m->nmaps++;
    void *p = x->pointer;
    *error = cl_enqueue(r, c);
    return *error ? NULL : p;
}

static cl_int check_map(cl_mem m, cl_map_flags flags) {
    const cl_map_flags write = CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;
    if ((flags & ~(write | CL_MAP_READ)) ||
        ((flags & CL_MAP_WRITE_INVALIDATE_REGION) && (flags & (CL_MAP_READ | CL_MAP_WRITE))))
        return CL_INVALID_VALUE;
    if ((flags & CL_MAP_READ) && (m->flags & (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS)))
        return CL_INVALID_OPERATION;
    if ((flags & write) && (m->flags & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS)))
        return CL_INVALID_OPERATION;
    return CL_SUCCESS;
}

void *cl_clEnqueueMapBuffer(cl_command_queue q, cl_mem m, cl_bool blocking, cl_map_flags flags, size_t offset,
                            size_t bytes, cl_uint n, const cl_event *waits, cl_event *event, cl_int *error) {
    const request r = {q, CL_COMMAND_MAP_BUFFER, blocking, n, waits, event};
    cl_int bad = check(&r, m, false);
    if (!bad && (!bytes || !within(offset, bytes, m->bytes))) bad = CL_INVALID_VALUE;
    if (!bad) bad = check_map(m, flags);
    void *p = NULL;
    if (!bad) {
        char *host = m->host ? (char *)m->host + offset : NULL;
        mapping *x = orr_calloc(1, sizeof *x);
        *x = (mapping){
            .pointer = host ? host : m->data + offset, .flags = flags, .offset = offset, .bytes = bytes};
        box b = {.to = {host, bytes, bytes},
                 .from = {m->data + offset, bytes, bytes},
                 .width = host ? bytes : 0,
                 .height = 1,
                 .depth = 1};
        p = enqueue_map(&r, m, x, &b, &bad);
    }
    if (error) *error = bad;
    return p;
}

// Where in the program's own memory a pixel is.
static side host_side(const struct _cl_mem *m, const size_t o[3]) {
    const image_description *i = m->image;
    size_t row = m->desc.image_row_pitch ? m->desc.image_row_pitch : (size_t)i->width * i->bytes;
    size_t slice = m->desc.image_slice_pitch ? m->desc.image_slice_pitch : row * (size_t)i->height;
    bool lines = i->dims == 1 && i->layers;
    return (side){(char *)m->host + (lines ? o[1] : o[2]) * slice + (lines ? 0 : o[1]) * row +
                      o[0] * i->bytes,
                  row, slice};
}

void *cl_clEnqueueMapImage(cl_command_queue q, cl_mem m, cl_bool blocking, cl_map_flags flags,
                           const size_t *origin, const size_t *region, size_t *row, size_t *slice, cl_uint n,
                           const cl_event *waits, cl_event *event, cl_int *error) {
    const request r = {q, CL_COMMAND_MAP_IMAGE, blocking, n, waits, event};
    cl_int bad = check(&r, m, true);
    side device = {0};
    size_t size[3];
    bool planes = !bad && (m->image->layers || m->image->dims == 3);
    if (!bad && (!row || (planes && !slice) || !image_side(m, origin, region, &device, size)))
        bad = CL_INVALID_VALUE;
    if (!bad) bad = check_map(m, flags);
    void *p = NULL;
    if (!bad) {
        side own = m->host ? host_side(m, origin) : device;
        mapping *x = orr_calloc(1, sizeof *x);
        *x = (mapping){.pointer = own.at, .flags = flags};
        memcpy(x->origin, origin, sizeof x->origin);
        memcpy(x->region, region, sizeof x->region);
        box b = {.to = own,
                 .from = device,
                 .width = size[0] * m->image->bytes,
                 .height = size[1],
                 .depth = size[2]};
        x->bytes = b.width * b.height * b.depth;
        if (!m->host) b.width = 0;
        *row = own.row;
        if (slice) *slice = planes ? own.slice : 0;
        p = enqueue_map(&r, m, x, &b, &bad);
    }
    if (error) *error = bad;
    return p;
}

cl_int cl_clEnqueueUnmapMemObject(cl_command_queue q, cl_mem m, void *pointer, cl_uint n,
                                  const cl_event *waits, cl_event *event) {
    if (!cl_is(q, KIND_QUEUE)) return CL_INVALID_COMMAND_QUEUE;
    if (!cl_is(m, KIND_MEM)) return CL_INVALID_MEM_OBJECT;
    const request r = {q, CL_COMMAND_UNMAP_MEM_OBJECT, false, n, waits, event};
    cl_int error = check(&r, m, m->image != NULL);
    if (error) return error;
    cl_lock();
    mapping **at = &m->maps;
    while (*at && (*at)->pointer != pointer) at = &(*at)->next;
    mapping *x = *at;
    if (!x) {
        cl_unlock();
        return CL_INVALID_VALUE;
    }
    *at = x->next;
    m->nmaps--;
    command *c = orr_calloc(1, sizeof *c);
    map_command *d = orr_calloc(1, sizeof *d);
    *d = (map_command){.map = x};
    bool writes = x->flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION);
    if (m->host && writes && !m->image) {
        d->box = (box){.to = {m->data + x->offset, 0, 0},
                       .from = {pointer, 0, 0},
                       .width = x->bytes,
                       .height = 1,
                       .depth = 1};
    } else if (m->host && writes) {
        size_t size[3];
        image_side(m, x->origin, x->region, &d->box.to, size);
        d->box.from = host_side(m, x->origin);
        d->box.width = size[0] * m->image->bytes, d->box.height = size[1], d->box.depth = size[2];
    }
    c->data = d;
    c->run = run_map;
    c->mem[0] = m;
    return cl_enqueue(&r, c);
}

cl_int cl_clEnqueueMigrateMemObjects(cl_command_queue q, cl_uint nmems, const cl_mem *mems,
                                     cl_mem_migration_flags flags, cl_uint n, const cl_event *waits,
                                     cl_event *event) {
    if (!cl_is(q, KIND_QUEUE)) return CL_INVALID_COMMAND_QUEUE;
    if (!nmems || !mems || (flags & ~(cl_mem_migration_flags)3)) return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < nmems; i++) {
        if (!cl_is(mems[i], KIND_MEM)) return CL_INVALID_MEM_OBJECT;
        if (mems[i]->context != q->context) return CL_INVALID_CONTEXT;
    }
    cl_int error = cl_check_waits(q, n, waits);
    if (error) return error;
    cl_lock();
    return cl_enqueue(&(request){q, CL_COMMAND_MIGRATE_MEM_OBJECTS, false, n, waits, event},
                      orr_calloc(1, sizeof(command)));
}
