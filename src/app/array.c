// Arrays, textures and surfaces: the one table of each. Texels of an array are in device memory, in blocks as
// exec/texture.h lays them out; programs see them only through copies and textures.
#include "app/array.h"

#include <stdlib.h>
#include <string.h>

static app_array *arrays;

// ---- formats --------------------------------------------------------------------------------------------
int app_channels_format(const channel_desc *c, uint8_t *format, uint8_t *channels) {
    int n = 0, bits = c->bits[0];
    while (n < 4 && c->bits[n]) n++;
    if (n != 1 && n != 2 && n != 4) return E_CHANNEL;
    for (int i = 0; i < n; i++)
        if (c->bits[i] != bits) return E_CHANNEL;
    *channels = (uint8_t)n;
    bool is_signed = c->kind == CHANNEL_SIGNED;
    if (c->kind == CHANNEL_FLOAT && (bits == 16 || bits == 32))
        *format = bits == 16 ? ORR_TEX_F16 : ORR_TEX_F32;
    else if (c->kind != CHANNEL_SIGNED && c->kind != CHANNEL_UNSIGNED)
        return E_CHANNEL;
    else if (bits == 8)
        *format = is_signed ? ORR_TEX_S8 : ORR_TEX_U8;
    else if (bits == 16)
        *format = is_signed ? ORR_TEX_S16 : ORR_TEX_U16;
    else if (bits == 32)
        *format = is_signed ? ORR_TEX_S32 : ORR_TEX_U32;
    else
        return E_CHANNEL;
    return E_OK;
}

// ---- arrays ---------------------------------------------------------------------------------------------
app_array *app_array_of(void *handle) {
    for (app_array *a = arrays; a; a = a->next) {
        if (a == handle) return a;
        for (int l = 0; l < ORR_TEX_LEVELS && a->levels[l]; l++)
            if (a->levels[l] == handle) return a->levels[l];
    }
    return NULL;
}

int app_array_new(const channel_desc *c, extent size, unsigned levels, unsigned flags, app_array **to) {
    orr_texture t = {0};
    int error = app_channels_format(c, &t.format, &t.channels);
    if (error) return error;
    const size_t sides[3] = {size.width, size.height, size.depth};
    if (!orr_tex_array(&t, sides, flags & (ARRAY_LAYERED | ARRAY_CUBE), levels)) return E_VALUE;
    void *at = NULL;
    error = app_alloc(t.bytes, PLACE_DEVICE, "array", &at);
    if (error) return error;
    t.at = (uintptr_t)at;
    app_array *a = orr_calloc(1, sizeof *a);
    *a = (app_array){.t = t, .channels = *c, .size = size, .flags = flags, .next = arrays};
    arrays = *to = a;
    return E_OK;
}

int app_array_free(app_array *a) {
    if (!a) return E_OK;
    app_array **at = &arrays;
    while (*at && *at != a) at = &(*at)->next;
    if (!*at) return E_HANDLE;
    *at = a->next;
    int error = app_free((void *)(uintptr_t)a->t.at);
    for (int l = 0; l < ORR_TEX_LEVELS; l++) free(a->levels[l]);
    free(a);
    return error;
}

bool app_array_row(const app_array *a, position at, size_t bytes, void *host, bool write) {
    const orr_tex_level *v = &a->t.level[a->level];
    size_t row = (size_t)v->width * orr_tex_texel_bytes(&a->t), deep = a->t.layers ? a->t.layers : v->depth;
    if (at.x > row || bytes > row - at.x || at.y >= v->height || at.z >= deep) return false;
    uint8_t *base = orr_mem_host(the_app.mem, a->t.at, a->t.bytes);
    uint32_t z = a->t.layers ? 0 : (uint32_t)at.z, layer = a->t.layers ? (uint32_t)at.z : 0;
    for (size_t done = 0; done < bytes && base;) { // 16 bytes of a row lie side by side
        uint32_t x = (uint32_t)(at.x + done);
        size_t n = 16 - x % 16 < bytes - done ? 16 - x % 16 : bytes - done;
        uint8_t *texel = base + orr_tex_offset(&a->t, a->level, x, (uint32_t)at.y, z, layer);
        if (write)
            memcpy(texel, (const char *)host + done, n);
        else
            memcpy((char *)host + done, texel, n);
        done += n;
    }
    return base != NULL;
}

// ---- objects --------------------------------------------------------------------------------------------
typedef struct object { // what a handle was made of, for those who ask
    resource_desc resource;
    texture_desc how;
} object;
static object **objects;
static size_t nobjects;

static void remember(uint64_t handle, const resource_desc *r, const texture_desc *d) {
    if (handle >= nobjects) {
        size_t n = handle + 16;
        objects = orr_realloc(objects, n * sizeof(object *));
        while (nobjects < n) objects[nobjects++] = NULL;
    }
    if (!objects[handle]) objects[handle] = orr_calloc(1, sizeof(object));
    *objects[handle] = (object){*r, d ? *d : (texture_desc){.srgb = 0}};
}

const resource_desc *app_texture_resource(uint64_t handle) {
    return handle < nobjects && objects[handle] ? &objects[handle]->resource : NULL;
}
const texture_desc *app_texture_how(uint64_t handle) {
    return handle < nobjects && objects[handle] ? &objects[handle]->how : NULL;
}

static int linear(const resource_desc *r, orr_texture *t) {
    bool pitch = r->type == RESOURCE_PITCH;
    const channel_desc *c = pitch ? &r->of.pitch.channels : &r->of.linear.channels;
    int error = app_channels_format(c, &t->format, &t->channels);
    if (error) return error;
    uint32_t texel = orr_tex_texel_bytes(t);
    size_t width = pitch ? r->of.pitch.width : r->of.linear.bytes / texel,
           height = pitch ? r->of.pitch.height : 1;
    if (!width || !height || width > 1u << 28 || height > 1u << 17) return E_VALUE;
    t->at = (uintptr_t)(pitch ? r->of.pitch.at : r->of.linear.at);
    if (t->at % (pitch ? 32 : texel)) return E_VALUE;
    t->where = pitch ? ORR_TEX_PITCH : ORR_TEX_LINEAR;
    t->shape = pitch ? ORR_TEX_2D : ORR_TEX_1D;
    t->nlevels = 1;
    t->level[0] = (orr_tex_level){.width = (uint32_t)width, .height = (uint32_t)height, .depth = 1};
    t->level[0].row = (uint32_t)(pitch ? r->of.pitch.pitch : width * texel);
    t->bytes = (uint64_t)t->level[0].row * (height - 1) + width * texel;
    return orr_mem_host(the_app.mem, t->at, t->bytes) ? E_OK : E_VALUE;
}

static int resource(const resource_desc *r, orr_texture *t) {
    if (r->type == RESOURCE_LINEAR || r->type == RESOURCE_PITCH) return linear(r, t);
    if (r->type != RESOURCE_ARRAY && r->type != RESOURCE_MIPMAP) return E_VALUE;
    const app_array *a = app_array_of(r->of.array);
    if (!a) return E_HANDLE;
    *t = a->t;
    if (r->type == RESOURCE_ARRAY) { // one level
        t->level[0] = t->level[a->level];
        t->nlevels = 1;
    }
    return E_OK;
}

int app_texture_new(const resource_desc *r, const texture_desc *d, uint64_t *handle) {
    orr_texture t = {0};
    if (!r || !d || !handle) return E_VALUE;
    int error = resource(r, &t);
    if (error) return error;
    bool wide = t.format == ORR_TEX_U32 || t.format == ORR_TEX_S32;
    bool floats = t.format == ORR_TEX_F16 || t.format == ORR_TEX_F32;
    for (int n = 0; n < 3; n++) {
        if (d->address[n] < 0 || d->address[n] > ORR_TEX_BORDER) return E_VALUE;
        t.address[n] = (uint8_t)d->address[n];
    }
    t.normalized_read = d->read == 1 && !floats;
    if (t.normalized_read && wide) return E_VALUE;
    t.linear = d->filter == 1;
    if (t.linear && !floats && !t.normalized_read) return E_VALUE;
    t.mip_linear = d->mip_filter == 1 && t.nlevels > 1;
    t.normalized = d->normalized != 0;
    if (t.nlevels > 1 && !t.normalized) return E_VALUE;
    t.srgb = d->srgb != 0;
    t.seamless = d->seamless != 0;
    t.bias = d->bias, t.min_level = d->min_level, t.max_level = d->max_level;
    memcpy(t.border, d->border, sizeof t.border);
    if (t.srgb && t.linear) app_say("filtering of sRGB textures is not to the last bit as on a GPU");
    *handle = orr_mem_texture_new(the_app.mem, &t);
    if (!*handle) return E_MEMORY;
    remember(*handle, r, d);
    return E_OK;
}

int app_surface_new(const resource_desc *r, uint64_t *handle) {
    orr_texture t = {0};
    if (!r || !handle) return E_VALUE;
    if (r->type != RESOURCE_ARRAY) return E_VALUE;
    int error = resource(r, &t);
    if (error) return error;
    *handle = orr_mem_texture_new(the_app.mem, &t);
    if (!*handle) return E_MEMORY;
    remember(*handle, r, NULL);
    return E_OK;
}

int app_texture_free(uint64_t handle) {
    if (!orr_mem_texture_free(the_app.mem, handle)) return handle ? E_VALUE : E_OK;
    if (handle < nobjects) {
        free(objects[handle]);
        objects[handle] = NULL;
    }
    return E_OK;
}
