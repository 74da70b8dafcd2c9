// Textures and surfaces: what their handles stand for, and the texels of arrays.
//
// Where the texels of an array lie no program can see. They are copied, row by row, to memory of the host, in
// the blocks that exec/texture.h lays arrays out in, and that memory is the region that is captured. A kernel
// that reads textures may find their handles anywhere, so it reaches all that there are.
#include "hook/hook.h"
#include "isa/isa.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct hook_array {
    void *handle;
    bool mipmapped;
    unsigned users; // textures
    orr_texture t;  // how it lies in `copy`
    char *copy;
} hook_array;

// ---- the driver's descriptions (cuda.h) -------------------------------------------------------------------
typedef struct { // CUDA_ARRAY3D_DESCRIPTOR
    size_t size[3];
    int format;
    unsigned channels, flags;
} array_description;
typedef struct { // CUDA_RESOURCE_DESC
    int type;
    union {
        void *array;
        struct {
            uint64_t at;
            int format;
            unsigned channels;
            size_t bytes_or_width, height, pitch; // linear memory has bytes alone
        } memory;
        int reserved[32];
    } of;
} resource;
typedef struct { // CUDA_TEXTURE_DESC
    int address[3], filter;
    unsigned flags, anisotropy;
    int mip_filter;
    float bias, min_level, max_level, border[4];
} description;
typedef struct { // half of CUDA_MEMCPY3D
    size_t x, y, z, level;
    int type;
    void *host;
    uint64_t device;
    void *array, *reserved;
    size_t pitch, height;
} side;
typedef struct {
    side from, to;
    size_t width, height, depth;
} copy_3d;
enum { OF_ARRAY, OF_MIPMAP, OF_LINEAR, OF_PITCH };
enum { SIDE_HOST = 1, SIDE_ARRAY = 3 };
enum { AS_INTEGER = 1, NORMALIZED = 2, SRGB = 16, SEAMLESS = 64 };

static bool format_of(int format, unsigned channels, orr_texture *t) {
    static const uint8_t known[] = {
        [1] = 1 + ORR_TEX_U8,  [2] = 1 + ORR_TEX_U16,  [3] = 1 + ORR_TEX_U32,    [8] = 1 + ORR_TEX_S8,
        [9] = 1 + ORR_TEX_S16, [10] = 1 + ORR_TEX_S32, [0x10] = 1 + ORR_TEX_F16, [0x20] = 1 + ORR_TEX_F32};
    if (format < 0 || format >= (int)sizeof known || !known[format]) return false;
    t->format = known[format] - 1;
    t->channels = (uint8_t)channels;
    return channels == 1 || channels == 2 || channels == 4;
}

// ---- arrays -----------------------------------------------------------------------------------------------
static void *level_of(const hook_array *a, unsigned level) {
    void *array = NULL;
    if (!a->mipmapped) return a->handle;
    return the_hook.cu.cuMipmappedArrayGetLevel(&array, a->handle, level) == 0 ? array : NULL;
}

// One level, all of its layers or slices; rows of `rows` lie one after the other.
static bool copy_level(const hook_array *a, unsigned level, char *rows, bool write) {
    const orr_tex_level *v = &a->t.level[level];
    size_t row = (size_t)v->width * orr_tex_texel_bytes(&a->t), deep = a->t.layers ? a->t.layers : v->depth;
    side host = {.type = SIDE_HOST, .host = rows, .pitch = row, .height = v->height};
    side array = {.type = SIDE_ARRAY, .array = level_of(a, level)};
    copy_3d c = {write ? host : array, write ? array : host, row, v->height, deep};
    return array.array && the_hook.cu.cuMemcpy3D_v2(&c) == 0;
}

static void rows_and_blocks(const hook_array *a, unsigned level, char *rows, bool write) {
    const orr_tex_level *v = &a->t.level[level];
    size_t row = (size_t)v->width * orr_tex_texel_bytes(&a->t), deep = a->t.layers ? a->t.layers : v->depth;
    for (size_t z = 0; z < deep; z++)
        for (size_t y = 0; y < v->height; y++)
            for (size_t x = 0; x < row; x += 16) { // 16 bytes of a row lie side by side
                size_t n = row - x < 16 ? row - x : 16;
                char *from = rows + (z * v->height + y) * row + x;
                char *block =
                    a->copy + orr_tex_offset(&a->t, level, (uint32_t)x, (uint32_t)y,
                                             a->t.layers ? 0 : (uint32_t)z, a->t.layers ? (uint32_t)z : 0);
                memcpy(write ? from : block, write ? block : from, n);
            }
}

static bool transfer(hook_array *a, bool write) {
    const orr_tex_level *v = &a->t.level[0];
    size_t deep = a->t.layers ? a->t.layers : v->depth;
    char *rows = malloc((size_t)v->width * orr_tex_texel_bytes(&a->t) * v->height * deep);
    bool ok = rows != NULL;
    for (unsigned l = 0; l < a->t.nlevels && ok; l++) {
        if (write) rows_and_blocks(a, l, rows, true);
        ok = copy_level(a, l, rows, write);
        if (ok && !write) rows_and_blocks(a, l, rows, false);
    }
    free(rows);
    return ok;
}

bool hook_array_read(hook_array *a) { return transfer(a, false); }
bool hook_array_write(hook_array *a) { return transfer(a, true); }

static hook_array *array_of(void *handle, bool mipmapped, const char **why) {
    hook *h = &the_hook;
    for (size_t i = 0; i < h->textures.n; i++) {
        hook_array *a = h->textures.at[i].array;
        if (a && a->handle == handle && a->mipmapped == mipmapped) return a;
    }
    hook_array a = {.handle = handle, .mipmapped = mipmapped};
    array_description d = {.flags = 0};
    void *first = NULL;
    *why = "an array of a kind that is not kept";
    if (!h->cu.cuArray3DGetDescriptor_v2 || !h->cu.cuMemcpy3D_v2 || !h->cu.cuMipmappedArrayGetLevel)
        return NULL;
    first = level_of(&a, 0);
    if (!first || h->cu.cuArray3DGetDescriptor_v2(&d, first) != 0) return NULL;
    if (!format_of(d.format, d.channels, &a.t)) return NULL;
    unsigned levels = 1;
    while (mipmapped && levels < ORR_TEX_LEVELS && level_of(&a, levels)) levels++;
    if (!orr_tex_array(&a.t, d.size, d.flags & (ORR_TEX_LAYERED | ORR_TEX_IS_CUBE), levels)) return NULL;
    *why = "an array larger than the memory that is left";
    a.copy =
        mmap(NULL, a.t.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (a.copy == MAP_FAILED) return NULL;
    hook_array *own = malloc(sizeof *own);
    *own = a;
    own->t.at = (uintptr_t)a.copy;
    hook_add(own->t.at, a.t.bytes, true);
    h->regions.at[h->regions.n - 1].array = own;
    *why = NULL;
    return own;
}

static void release(hook_array *a) {
    if (!a || --a->users) return;
    hook_remove(a->t.at);
    munmap(a->copy, a->t.bytes);
    free(a);
}

// ---- textures ---------------------------------------------------------------------------------------------
static const char *of_memory(const resource *r, orr_texture *t) {
    bool pitch = r->type == OF_PITCH;
    if (!format_of(r->of.memory.format, r->of.memory.channels, t)) return "a format that is not kept";
    uint32_t texel = orr_tex_texel_bytes(t);
    size_t width = pitch ? r->of.memory.bytes_or_width : r->of.memory.bytes_or_width / texel,
           height = pitch ? r->of.memory.height : 1, row = pitch ? r->of.memory.pitch : width * texel;
    if (!width || !height || width > 1u << 28 || height > 1u << 17 || row > UINT32_MAX)
        return "an unusual size";
    t->at = r->of.memory.at;
    t->where = pitch ? ORR_TEX_PITCH : ORR_TEX_LINEAR;
    t->shape = pitch ? ORR_TEX_2D : ORR_TEX_1D;
    t->nlevels = 1;
    t->level[0] = (orr_tex_level){.width = (uint32_t)width, .height = (uint32_t)height, .depth = 1};
    t->level[0].row = (uint32_t)row;
    t->bytes = (uint64_t)row * (height - 1) + width * texel;
    return NULL;
}

static void how_it_is_read(const description *d, orr_texture *t) {
    bool floats = t->format == ORR_TEX_F16 || t->format == ORR_TEX_F32;
    bool wide = t->format == ORR_TEX_U32 || t->format == ORR_TEX_S32; // these are never promoted
    for (int n = 0; n < 3; n++) t->address[n] = (uint8_t)(d->address[n] & 3);
    t->linear = d->filter == 1;
    t->mip_linear = d->mip_filter == 1 && t->nlevels > 1;
    t->normalized = d->flags & NORMALIZED;
    t->normalized_read = !(d->flags & AS_INTEGER) && !floats && !wide;
    t->srgb = d->flags & SRGB;
    t->seamless = d->flags & SEAMLESS;
    t->bias = d->bias, t->min_level = d->min_level, t->max_level = d->max_level;
    memcpy(t->border, d->border, sizeof t->border);
}

void hook_texture_made(uint64_t handle, const void *of, const void *how, const void *view) {
    const resource *r = of;
    hook_texture x = {.handle = handle};
    hook_texture_gone(handle);
    if (r->type == OF_LINEAR || r->type == OF_PITCH) {
        x.unknown = of_memory(r, &x.t);
    } else {
        x.array = array_of(r->of.array, r->type == OF_MIPMAP, &x.unknown);
        if (x.array) {
            x.t = x.array->t;
            x.array->users++;
        }
    }
    if (view && *(const int *)view) x.unknown = "a view of another format";
    if (how && !x.unknown) how_it_is_read(how, &x.t);
    *ORR_PUSH(&the_hook.textures) = x;
}

void hook_texture_gone(uint64_t handle) {
    hook *h = &the_hook;
    for (size_t i = 0; i < h->textures.n; i++) {
        if (h->textures.at[i].handle != handle) continue;
        release(h->textures.at[i].array);
        h->textures.at[i] = h->textures.at[--h->textures.n];
        return;
    }
}

bool hook_uses_textures(hook_module *m, const char *kernel) {
    orr_err e = {0};
    if (!the_hook.textures.n) return false;
    const orr_kernel *k = m && hook_parse(m) ? m->parsed->load(m->parsed, kernel, &e) : NULL;
    if (!k) return true; // who knows
    for (uint32_t i = 0; i < k->ninsts; i++) {
        uint16_t op = k->insts[i].op;
        if (op == ORR_OP_TEX || op == ORR_OP_TXQ || op == ORR_OP_SULD || op == ORR_OP_SUST ||
            op == ORR_OP_SURED)
            return true;
    }
    return false;
}
