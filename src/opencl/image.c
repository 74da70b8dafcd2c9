// Images: their bytes in device memory row by row, and a description beside them that the functions of
// device.cl read.
#include "opencl/functions.h"

#include <stdlib.h>
#include <string.h>

#define SET_ERROR(p, v)                                                                                      \
    do {                                                                                                     \
        if (p) *(p) = (v);                                                                                   \
    } while (0)

// ---- formats ----------------------------------------------------------------------------------------
static size_t channels(cl_channel_order o) {
    switch (o) {
    case CL_R:
    case CL_A:
    case CL_INTENSITY:
    case CL_LUMINANCE:
    case CL_DEPTH: return 1;
    case CL_RG:
    case CL_RA: return 2;
    case CL_RGB: return 3;
    case CL_RGBA:
    case CL_BGRA:
    case CL_ARGB:
    case CL_ABGR: return 4;
    default: return 0;
    }
}

static size_t channel_bytes(cl_channel_type t) {
    switch (t) {
    case CL_SNORM_INT8:
    case CL_UNORM_INT8:
    case CL_SIGNED_INT8:
    case CL_UNSIGNED_INT8: return 1;
    case CL_SNORM_INT16:
    case CL_UNORM_INT16:
    case CL_SIGNED_INT16:
    case CL_UNSIGNED_INT16:
    case CL_HALF_FLOAT: return 2;
    case CL_SIGNED_INT32:
    case CL_UNSIGNED_INT32:
    case CL_FLOAT: return 4;
    default: return 0;
    }
}

size_t cl_pixel_bytes(const cl_image_format *f) {
    cl_channel_type t = f->image_channel_data_type;
    cl_channel_order o = f->image_channel_order;
    bool norm = t == CL_SNORM_INT8 || t == CL_SNORM_INT16 || t == CL_UNORM_INT8 || t == CL_UNORM_INT16;
    if (o == CL_RGB)
        return t == CL_UNORM_SHORT_565 || t == CL_UNORM_SHORT_555 ? 2 : t == CL_UNORM_INT_101010 ? 4 : 0;
    if ((o == CL_INTENSITY || o == CL_LUMINANCE) && !norm && t != CL_HALF_FLOAT && t != CL_FLOAT) return 0;
    if ((o == CL_BGRA || o == CL_ARGB || o == CL_ABGR) && channel_bytes(t) != 1) return 0;
    if (o == CL_DEPTH) return 0; // depth images are an extension that is not offered
    return channels(o) * channel_bytes(t);
}

cl_int cl_clGetSupportedImageFormats(cl_context c, cl_mem_flags flags, cl_mem_object_type type, cl_uint room,
                                     cl_image_format *formats, cl_uint *n) {
    (void)flags;
    if (!cl_is(c, KIND_CONTEXT)) return CL_INVALID_CONTEXT;
    if (type < CL_MEM_OBJECT_IMAGE2D || type > CL_MEM_OBJECT_IMAGE1D_BUFFER || (formats && !room))
        return CL_INVALID_VALUE;
    static const cl_channel_order orders[] = {CL_R,    CL_A,    CL_RG,   CL_RA,        CL_RGB,
                                              CL_RGBA, CL_BGRA, CL_ARGB, CL_INTENSITY, CL_LUMINANCE};
    cl_uint count = 0;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        for (cl_channel_type t = CL_SNORM_INT8; t <= CL_FLOAT; t++) {
            cl_image_format f = {orders[i], t};
            if (!cl_pixel_bytes(&f)) continue;
            if (formats && count < room) formats[count] = f;
            count++;
        }
    if (n) *n = count;
    return CL_SUCCESS;
}

// ---- making -----------------------------------------------------------------------------------------
static cl_int check_desc(const cl_image_desc *d) {
    enum { SIDE = 16384, LAYERS = 2048 };
    cl_mem_object_type t = d->image_type;
    bool array = t == CL_MEM_OBJECT_IMAGE1D_ARRAY || t == CL_MEM_OBJECT_IMAGE2D_ARRAY;
    bool flat = t == CL_MEM_OBJECT_IMAGE2D || t == CL_MEM_OBJECT_IMAGE2D_ARRAY || t == CL_MEM_OBJECT_IMAGE3D;
    if (t < CL_MEM_OBJECT_IMAGE2D || t > CL_MEM_OBJECT_IMAGE1D_BUFFER) return CL_INVALID_IMAGE_DESCRIPTOR;
    if (!d->image_width || (flat && !d->image_height) || (t == CL_MEM_OBJECT_IMAGE3D && !d->image_depth) ||
        (array && !d->image_array_size) || d->num_mip_levels || d->num_samples)
        return CL_INVALID_IMAGE_DESCRIPTOR;
    if (t == CL_MEM_OBJECT_IMAGE1D_BUFFER)
        return d->image_width > (size_t)1 << 27 ? CL_INVALID_IMAGE_SIZE
               : !cl_is(d->mem_object, KIND_MEM) || d->mem_object->type != CL_MEM_OBJECT_BUFFER
                   ? CL_INVALID_IMAGE_DESCRIPTOR
                   : CL_SUCCESS;
    if (d->mem_object && (t != CL_MEM_OBJECT_IMAGE2D || !cl_is(d->mem_object, KIND_MEM) ||
                          d->mem_object->type != CL_MEM_OBJECT_BUFFER))
        return CL_INVALID_IMAGE_DESCRIPTOR;
    if (d->image_width > SIDE || (flat && d->image_height > SIDE) ||
        (t == CL_MEM_OBJECT_IMAGE3D && d->image_depth > SIDE) || (array && d->image_array_size > LAYERS))
        return CL_INVALID_IMAGE_SIZE;
    return CL_SUCCESS;
}

static void describe(cl_mem m, size_t pixel, size_t row, size_t slice) {
    const cl_image_desc *d = &m->desc;
    cl_mem_object_type t = d->image_type;
    bool flat = t == CL_MEM_OBJECT_IMAGE2D || t == CL_MEM_OBJECT_IMAGE2D_ARRAY || t == CL_MEM_OBJECT_IMAGE3D;
    bool array = t == CL_MEM_OBJECT_IMAGE1D_ARRAY || t == CL_MEM_OBJECT_IMAGE2D_ARRAY;
    *m->image = (image_description){.data = (uintptr_t)m->data,
                                    .width = (int32_t)d->image_width,
                                    .height = flat ? (int32_t)d->image_height : 1,
                                    .depth = t == CL_MEM_OBJECT_IMAGE3D ? (int32_t)d->image_depth : 1,
                                    .layers = array ? (int32_t)d->image_array_size : 0,
                                    .row = (uint32_t)row,
                                    .slice = (uint32_t)slice,
                                    .order = m->format.image_channel_order,
                                    .type = m->format.image_channel_data_type,
                                    .bytes = (uint32_t)pixel,
                                    .dims = t == CL_MEM_OBJECT_IMAGE3D ? 3
                                            : flat                     ? 2
                                                                       : 1};
}

// The program's memory, with its own pitches, to ours or back.
static void exchange(cl_mem m, char *host, bool in) {
    const image_description *i = m->image;
    size_t line = (size_t)i->width * i->bytes, planes = (size_t)(i->layers ? i->layers : i->depth);
    size_t row = m->desc.image_row_pitch ? m->desc.image_row_pitch : line;
    size_t slice = m->desc.image_slice_pitch ? m->desc.image_slice_pitch : row * (size_t)i->height;
    for (size_t z = 0; z < planes; z++)
        for (size_t y = 0; y < (size_t)i->height; y++) {
            char *a = m->data + z * i->slice + y * i->row, *b = host + z * slice + y * row;
            if (in)
                memcpy(a, b, line);
            else
                memcpy(b, a, line);
        }
}

static cl_mem make(cl_context c, cl_mem_flags flags, const cl_image_format *f, const cl_image_desc *d,
                   void *host, cl_int *error) {
    size_t pixel = cl_pixel_bytes(f), row = d->image_width * pixel, height = 1, planes = 1;
    cl_mem_object_type t = d->image_type;
    if (t == CL_MEM_OBJECT_IMAGE2D || t == CL_MEM_OBJECT_IMAGE2D_ARRAY || t == CL_MEM_OBJECT_IMAGE3D)
        height = d->image_height;
    if (t == CL_MEM_OBJECT_IMAGE3D) planes = d->image_depth;
    if (t == CL_MEM_OBJECT_IMAGE1D_ARRAY || t == CL_MEM_OBJECT_IMAGE2D_ARRAY) planes = d->image_array_size;
    if (d->mem_object && t == CL_MEM_OBJECT_IMAGE2D && d->image_row_pitch) row = d->image_row_pitch;
    size_t bytes = row * height * planes;
    void *data = NULL, *image = NULL;
    cl_mem of = d->mem_object;
    *error = bytes > (size_t)the_app.gpu->dram_size / 4 || row * height > UINT32_MAX ? CL_INVALID_IMAGE_SIZE
                                                                                     : CL_SUCCESS;
    if (!*error && of) *error = bytes > of->bytes ? CL_INVALID_IMAGE_SIZE : CL_SUCCESS;
    if (!*error && !of) *error = cl_error(app_alloc(bytes, PLACE_DEVICE, "image", &data));
    if (!*error)
        *error = cl_error(app_alloc(sizeof(image_description), PLACE_DEVICE, "image description", &image));
    if (*error) return NULL;
    cl_mem m = cl_new(sizeof *m, KIND_MEM);
    m->context = c;
    m->type = t;
    m->flags = flags & (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY) ? flags
                                                                                  : flags | CL_MEM_READ_WRITE;
    m->bytes = bytes;
    m->format = *f;
    m->desc = *d;
    m->data = of ? of->data : data;
    m->parent = of;
    m->host = flags & CL_MEM_USE_HOST_PTR ? host : NULL;
    m->image = image;
    if (of) of->head.refs++;
    c->head.refs++;
    describe(m, pixel, row, row * height);
    if (host) exchange(m, host, true);
    return m;
}

cl_mem cl_clCreateImage(cl_context c, cl_mem_flags flags, const cl_image_format *f, const cl_image_desc *d,
                        void *host, cl_int *error) {
    const cl_mem_flags pointer = CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR;
    cl_int bad = CL_SUCCESS;
    size_t pixel = 0;
    if (!cl_is(c, KIND_CONTEXT))
        bad = CL_INVALID_CONTEXT;
    else if (orr_popc64(flags & (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY)) > 1)
        bad = CL_INVALID_VALUE;
    else if (!f)
        bad = CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
    else if (!d)
        bad = CL_INVALID_IMAGE_DESCRIPTOR;
    else if (!(pixel = cl_pixel_bytes(f)))
        bad = channels(f->image_channel_order) ? CL_IMAGE_FORMAT_NOT_SUPPORTED
                                               : CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
    else if (!(bad = check_desc(d)) && !host != !(flags & pointer))
        bad = CL_INVALID_HOST_PTR;
    if (!bad && !host && !d->mem_object && (d->image_row_pitch || d->image_slice_pitch))
        bad = CL_INVALID_IMAGE_DESCRIPTOR;
    if (!bad && host && d->image_row_pitch && d->image_row_pitch < d->image_width * pixel)
        bad = CL_INVALID_IMAGE_DESCRIPTOR;
    cl_mem m = NULL;
    if (!bad) {
        cl_lock();
        m = make(c, flags, f, d, host, &bad);
        cl_unlock();
    }
    SET_ERROR(error, bad);
    return m;
}

cl_mem cl_clCreateImageWithProperties(cl_context c, const cl_mem_properties *list, cl_mem_flags flags,
                                      const cl_image_format *f, const cl_image_desc *d, void *host,
                                      cl_int *error) {
    SET_ERROR(error, CL_INVALID_PROPERTY);
    if (list && *list) return NULL;
    cl_mem m = cl_clCreateImage(c, flags, f, d, host, error);
    if (m) m->nlist = cl_zero_list(list, &m->list);
    return m;
}

cl_mem cl_clCreateImage2D(cl_context c, cl_mem_flags flags, const cl_image_format *f, size_t w, size_t h,
                          size_t row, void *host, cl_int *error) {
    cl_image_desc d = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = w, .image_height = h, .image_row_pitch = row};
    cl_mem m = cl_clCreateImage(c, flags, f, &d, host, error);
    if (error && *error == CL_INVALID_IMAGE_DESCRIPTOR) *error = CL_INVALID_IMAGE_SIZE;
    return m;
}

cl_mem cl_clCreateImage3D(cl_context c, cl_mem_flags flags, const cl_image_format *f, size_t w, size_t h,
                          size_t depth, size_t row, size_t slice, void *host, cl_int *error) {
    cl_image_desc d = {.image_type = CL_MEM_OBJECT_IMAGE3D,
                       .image_width = w,
                       .image_height = h,
                       .image_depth = depth,
                       .image_row_pitch = row,
                       .image_slice_pitch = slice};
    cl_mem m = cl_clCreateImage(c, flags, f, &d, host, error);
    if (error && *error == CL_INVALID_IMAGE_DESCRIPTOR) *error = CL_INVALID_IMAGE_SIZE;
    return m;
}

cl_int cl_clGetImageInfo(cl_mem m, cl_image_info what, size_t room, void *value, size_t *size) {
    if (!cl_is(m, KIND_MEM) || !m->image) return CL_INVALID_MEM_OBJECT;
    const image_description *i = m->image;
    cl_mem_object_type t = m->type;
    bool planes = t == CL_MEM_OBJECT_IMAGE3D || i->layers;
    switch (what) {
    case CL_IMAGE_FORMAT: ANSWER(cl_image_format, m->format);
    case CL_IMAGE_ELEMENT_SIZE: ANSWER(size_t, i->bytes);
    case CL_IMAGE_ROW_PITCH: ANSWER(size_t, i->row);
    case CL_IMAGE_SLICE_PITCH: ANSWER(size_t, planes ? i->slice : 0);
    case CL_IMAGE_WIDTH: ANSWER(size_t, (size_t)i->width);
    case CL_IMAGE_HEIGHT: ANSWER(size_t, i->dims > 1 ? (size_t)i->height : 0);
    case CL_IMAGE_DEPTH: ANSWER(size_t, i->dims > 2 ? (size_t)i->depth : 0);
    case CL_IMAGE_ARRAY_SIZE: ANSWER(size_t, (size_t)i->layers);
    case CL_IMAGE_BUFFER: ANSWER(cl_mem, m->parent);
    case CL_IMAGE_NUM_MIP_LEVELS:
    case CL_IMAGE_NUM_SAMPLES: ANSWER(cl_uint, 0);
    default: return CL_INVALID_VALUE;
    }
}
