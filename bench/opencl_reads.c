// What an OpenCL program reads from its device: a layer for the ICD loader (OPENCL_LAYERS). The first run,
// with ORRERY_READS_KEEP, writes all of it to that file; another one, with ORRERY_READS_LIKE, compares what
// it reads, read by read, with that file and leaves a line `reads bytes equal near other` in the file of
// ORRERY_READS_SAID, the last three in words of 32 bits.
//
// Words are near if both are floats within 0.1 % of each other, or less apart than 0.00001 of the largest of
// that read, or if all of a read is so as doubles, ten million times nearer. Whole numbers are denormal as
// floats: they have to be equal. What is no number is so whatever its bits.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cl_icd_dispatch *below;
static cl_icd_dispatch table;
static FILE *kept, *like;
static unsigned long reads, bytes;

typedef struct found {
    unsigned long equal, near, other;
} found;

static double value(const char *p, size_t size) {
    float f = 0;
    double d = 0;
    memcpy(size == 8 ? (void *)&d : (void *)&f, p, size);
    return size == 8 ? d : fabsf(f) < FLT_MIN && f != 0 ? NAN : f;
}

static found all;

static found compare(const char *a, const char *b, size_t n, size_t size) {
    double most = 0, share = size == 8 ? 1e-10 : 1e-3;
    unsigned long words = size / 4;
    found x = {0};
    for (size_t i = 0; i + size <= n; i += size)
        if (isfinite(value(b + i, size)) && fabs(value(b + i, size)) > most) most = fabs(value(b + i, size));
    for (size_t i = 0; i + size <= n; i += size) {
        float f[2] = {0};
        double u = value(a + i, size), v = value(b + i, size), far = fabs(u - v);
        memcpy(&f[0], a + i, 4);
        memcpy(&f[1], b + i, 4);
        bool no_numbers = size == 8 ? isnan(u) && isnan(v) : isnan(f[0]) && isnan(f[1]);
        *(!memcmp(a + i, b + i, size)                                          ? &x.equal
          : no_numbers || far <= share * fabs(v) || far <= 1e-2 * share * most ? &x.near
                                                                               : &x.other) += words;
    }
    if (n % size) *(memcmp(a + n - n % size, b + n - n % size, n % size) ? &x.other : &x.equal) += 1;
    return x;
}

static void look(const void *p, size_t n) {
    unsigned long size = n;
    reads++;
    bytes += n;
    if (kept) {
        fwrite(&size, sizeof size, 1, kept);
        fwrite(p, 1, n, kept);
    }
    if (!like) return;
    if (fread(&size, sizeof size, 1, like) != 1 || size != n) {
        all.other += n / 4 + 1;
        fclose(like); // from here on it reads something else
        like = NULL;
        return;
    }
    char *was = malloc(n + 1);
    if (was && fread(was, 1, n, like) == n) {
        found x = compare(p, was, n, 4), y = n % 8 || !x.other ? x : compare(p, was, n, 8);
        if (y.other < x.other) x = y;
        all = (found){all.equal + x.equal, all.near + x.near, all.other + x.other};
    }
    free(was);
}

// Memory that nobody writes would be different each time: it is 0.
static cl_mem create_buffer(cl_context c, cl_mem_flags flags, size_t size, void *from, cl_int *error) {
    void *zeros = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) ? NULL : calloc(size ? size : 1, 1);
    cl_mem m = below->clCreateBuffer(c, zeros ? flags | CL_MEM_COPY_HOST_PTR : flags, size,
                                     zeros ? zeros : from, error);
    free(zeros);
    return m;
}

// Reads that the program does not wait for are waited for.
static cl_int read_buffer(cl_command_queue q, cl_mem m, cl_bool wait, size_t offset, size_t size, void *to,
                          cl_uint nwaits, const cl_event *waits, cl_event *event) {
    (void)wait;
    cl_int error = below->clEnqueueReadBuffer(q, m, CL_TRUE, offset, size, to, nwaits, waits, event);
    if (!error) look(to, size);
    return error;
}

static void *map_buffer(cl_command_queue q, cl_mem m, cl_bool wait, cl_map_flags flags, size_t offset,
                        size_t size, cl_uint nwaits, const cl_event *waits, cl_event *event, cl_int *error) {
    (void)wait;
    void *at = below->clEnqueueMapBuffer(q, m, CL_TRUE, flags, offset, size, nwaits, waits, event, error);
    if (at && flags & CL_MAP_READ) look(at, size);
    return at;
}

static cl_int read_image(cl_command_queue q, cl_mem m, cl_bool wait, const size_t *origin,
                         const size_t *region, size_t row, size_t slice, void *to, cl_uint nwaits,
                         const cl_event *waits, cl_event *event) {
    (void)wait;
    cl_int error =
        below->clEnqueueReadImage(q, m, CL_TRUE, origin, region, row, slice, to, nwaits, waits, event);
    size_t element = 0;
    below->clGetImageInfo(m, CL_IMAGE_ELEMENT_SIZE, sizeof element, &element, NULL);
    if (!error && !row && !slice) look(to, element * region[0] * region[1] * region[2]);
    return error;
}

static void leave(void) {
    const char *path = getenv("ORRERY_READS_SAID");
    FILE *f = path ? fopen(path, "w") : NULL;
    if (f) {
        fprintf(f, "%lu %lu %lu %lu %lu\n", reads, bytes, all.equal, all.near, all.other);
        fclose(f);
    }
    if (kept) fclose(kept);
}

cl_int clGetLayerInfo(cl_layer_info what, size_t room, void *value, size_t *size) {
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (what != CL_LAYER_API_VERSION || (value && room < sizeof version)) return CL_INVALID_VALUE;
    if (value) memcpy(value, &version, sizeof version);
    if (size) *size = sizeof version;
    return CL_SUCCESS;
}

cl_int clInitLayer(cl_uint n, const cl_icd_dispatch *target, cl_uint *own, const cl_icd_dispatch **layer) {
    if (!target || !own || !layer || n < sizeof table / sizeof(void *)) return CL_INVALID_VALUE;
    const char *to = getenv("ORRERY_READS_KEEP"), *from = getenv("ORRERY_READS_LIKE");
    kept = to ? fopen(to, "wb") : NULL;
    like = from ? fopen(from, "rb") : NULL;
    below = target;
    table = *target;
    table.clCreateBuffer = create_buffer;
    table.clEnqueueReadBuffer = read_buffer;
    table.clEnqueueMapBuffer = map_buffer;
    table.clEnqueueReadImage = read_image;
    *own = sizeof table / sizeof(void *);
    *layer = &table;
    atexit(leave);
    return CL_SUCCESS;
}
