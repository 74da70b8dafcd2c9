// Programs as binaries of our own: a header, then bitcode, LLVM's text of it, and the build options. Numbers
// are little-endian; the hash is of all that follows it.
//
//   "ORRERYCL"  version  type  hash  bytes of bitcode, of text, of options
#include "clc/clc.h"

#include <stdlib.h>
#include <string.h>

enum { VERSION = 1, HEADER = 48 };

static void put(uint8_t *p, uint64_t v, int n) {
    for (int i = 0; i < n; i++) p[i] = (uint8_t)(v >> 8 * i);
}
static uint64_t get(const uint8_t *p, int n) {
    uint64_t v = 0;
    for (int i = 0; i < n; i++) v |= (uint64_t)p[i] << 8 * i;
    return v;
}

uint8_t *orr_clc_write_binary(const orr_clc_binary *b, size_t *n) {
    *n = HEADER + b->nbitcode + b->nir + b->noptions;
    uint8_t *out = orr_calloc(1, *n + 1), *p = out + HEADER;
    memcpy(out, "ORRERYCL", 8);
    put(out + 8, VERSION, 4);
    put(out + 12, b->type, 4);
    put(out + 24, b->nbitcode, 8);
    put(out + 32, b->nir, 8);
    put(out + 40, b->noptions, 8);
    if (b->nbitcode) memcpy(p, b->bitcode, b->nbitcode);
    if (b->nir) memcpy(p + b->nbitcode, b->ir, b->nir);
    if (b->noptions) memcpy(p + b->nbitcode + b->nir, b->options, b->noptions);
    put(out + 16, orr_hash64(out + 24, *n - 24, VERSION), 8);
    return out;
}

bool orr_clc_read_binary(const void *bytes, size_t n, orr_clc_binary *b) {
    const uint8_t *p = bytes;
    if (!p || n < HEADER || memcmp(p, "ORRERYCL", 8) != 0 || get(p + 8, 4) != VERSION) return false;
    uint64_t nbitcode = get(p + 24, 8), nir = get(p + 32, 8), noptions = get(p + 40, 8), left = n - HEADER;
    if (nbitcode > left || nir > left - nbitcode || noptions != left - nbitcode - nir) return false;
    if (get(p + 16, 8) != orr_hash64(p + 24, n - 24, VERSION)) return false;
    b->type = (uint32_t)get(p + 12, 4);
    if (b->type != ORR_CLC_OBJECT && b->type != ORR_CLC_LIBRARY && b->type != ORR_CLC_EXECUTABLE)
        return false;
    b->bitcode = p + HEADER;
    b->nbitcode = nbitcode;
    b->ir = (const char *)p + HEADER + nbitcode;
    b->nir = nir;
    b->options = b->ir + nir;
    b->noptions = noptions;
    return nbitcode > 0;
}
