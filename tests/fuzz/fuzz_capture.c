// Any bytes as a captured launch's file. What is accepted has contents that can be asked for, right or
// damaged.
#include "capture/capture.h"
#include "exec/texture.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    orr_captured c;
    orr_err e = {0};
    uint8_t to[ORR_PIECE];
    if (!orr_captured_parse(&c, "input", data, n, &e)) return 0;
    for (size_t i = 0; i < c.pieces.n; i++) {
        orr_err why = {0};
        if (c.pieces.at[i].stored) orr_captured_contents(&c, i, to, &why);
    }
    for (size_t i = 0; i < c.textures.n; i++) { // a texture that is taken has all of its texels in its bytes
        orr_texture t;
        if (!orr_tex_of_numbers(&t, c.textures.at[i].addr, c.textures.at[i].n)) continue;
        const orr_tex_level *v = &t.level[t.nlevels - 1];
        uint64_t last = orr_tex_offset(&t, (uint32_t)(t.nlevels - 1), v->width * orr_tex_texel_bytes(&t) - 1,
                                       v->height - 1, v->depth - 1, t.layers ? t.layers - 1 : 0);
        if (last >= t.bytes) abort();
    }
    orr_captured_free(&c);
    return 0;
}
