// Textures as arguments of a launch: a buffer as a kernel's texture unit reads it, in its place.
#include "exec/texture.h"
#include "launch/script.h"

#include <string.h>

static bool format_of(int type, uint8_t *format) {
    static const struct {
        int type;
        uint8_t format;
    } formats[] = {{ORR_T_U8, ORR_TEX_U8},   {ORR_T_S8, ORR_TEX_S8},   {ORR_T_U16, ORR_TEX_U16},
                   {ORR_T_S16, ORR_TEX_S16}, {ORR_T_U32, ORR_TEX_U32}, {ORR_T_S32, ORR_TEX_S32},
                   {ORR_T_F16, ORR_TEX_F16}, {ORR_T_F32, ORR_TEX_F32}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (formats[i].type != type) continue;
        *format = formats[i].format;
        return true;
    }
    return false;
}

void orr_pack_texture(run *r, const texture *t, uint32_t bytes, uint8_t *out, const char *what) {
    enum { ROWS = 32, WIDEST = 1 << 28, HIGHEST = 1 << 17 }; // rows begin at multiples of so many bytes
    value base = orr_eval(r, t->buffer);
    if (base.kind != V_BUF) stop(r, ORR_BAD_INPUT, t->line, "%s: a texture needs a buffer", what);
    if (bytes != 8) stop(r, ORR_BAD_INPUT, t->line, "%s has %u bytes and a texture's handle 8", what, bytes);
    if (!r->b->texture) stop(r, ORR_BAD_INPUT, t->line, "%s: textures are executed on the CPU only", what);
    const buffer *b = orr_buffer(r, base.slot, t->line);
    bool rows = t->dims[1] != NULL;
    orr_texture x = {.shape = rows ? ORR_TEX_2D : ORR_TEX_1D,
                     .where = rows ? ORR_TEX_PITCH : ORR_TEX_LINEAR,
                     .linear = t->linear,
                     .normalized = t->normalized,
                     .normalized_read = t->unit,
                     .nlevels = 1,
                     .max_level = 0};
    memset(x.address, t->address, sizeof x.address);
    if (!format_of(b->type, &x.format))
        stop(r, ORR_BAD_INPUT, t->line, "%s: there are no textures of %s", what, orr_elem_name(b->type));
    int64_t channels = t->channels ? orr_eval_int(r, t->channels, "the channels", 1, 4) : 1;
    if (channels == 3) stop(r, ORR_BAD_INPUT, t->line, "%s: a texel has 1, 2 or 4 channels", what);
    x.channels = (uint8_t)channels;
    bool integers = x.format != ORR_TEX_F16 && x.format != ORR_TEX_F32;
    if (t->linear && integers && !t->unit)
        stop(r, ORR_BAD_INPUT, t->line, "%s: integers are filtered only when they are read as 0 to 1 (unit)",
             what);
    if (!rows && (t->linear || t->normalized))
        stop(r, ORR_BAD_INPUT, t->line, "%s: a texture of one dimension is read by element only", what);
    uint64_t width = (uint64_t)orr_eval_int(r, t->dims[0], "the width", 1, WIDEST),
             height = rows ? (uint64_t)orr_eval_int(r, t->dims[1], "the height", 1, HIGHEST) : 1;
    uint64_t texel = orr_tex_texel_bytes(&x), size = orr_elem_bytes(b->type);
    x.at = b->addr + (uint64_t)base.i * size;
    x.level[0] = (orr_tex_level){
        .width = (uint32_t)width, .height = (uint32_t)height, .depth = 1, .row = (uint32_t)(width * texel)};
    x.bytes = width * texel * height;
    if (rows && (x.at % ROWS || width * texel % ROWS))
        stop(r, ORR_BAD_INPUT, t->line, "%s: rows of a texture are multiples of %d bytes", what, ROWS);
    if (base.i < 0 || (uint64_t)base.i > b->count || x.bytes > (b->count - (uint64_t)base.i) * size)
        stop(r, ORR_BAD_INPUT, t->line, "%s: the texture is larger than its buffer", what);
    uint64_t handle = r->b->texture(r->b->self, &x, r->e);
    if (!handle) longjmp(r->out, 1);
    memcpy(out, &handle, sizeof handle);
}
