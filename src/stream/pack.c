// Compression of sections: zstd, when it was there at build time. Level 3: streams are so regular that
// higher levels buy little and cost much.
#include "stream/file.h"

#include <stdlib.h>

#ifdef ORRERY_HAVE_ZSTD
#include <zstd.h>

struct packer {
    ZSTD_CCtx *c;
    ZSTD_DCtx *d;
};

bool pack_available(orr_err *e) {
    (void)e;
    return true;
}

packer *packer_new(void) { return orr_calloc(1, sizeof(packer)); }

void packer_free(packer *p) {
    if (!p) return;
    ZSTD_freeCCtx(p->c);
    ZSTD_freeDCtx(p->d);
    free(p);
}

size_t pack_bound(size_t raw) { return ZSTD_compressBound(raw); }

size_t pack(packer *p, const void *raw, size_t n, void *to, size_t cap) {
    if (!p->c && !(p->c = ZSTD_createCCtx())) return 0;
    size_t size = ZSTD_compressCCtx(p->c, to, cap, raw, n, 3);
    return ZSTD_isError(size) ? 0 : size;
}

bool unpack(packer *p, const void *packed, size_t n, void *to, size_t raw) {
    if (!p->d && !(p->d = ZSTD_createDCtx())) return false;
    return ZSTD_decompressDCtx(p->d, to, raw, packed, n) == raw;
}

#else

bool pack_available(orr_err *e) {
    return orr_fail(e, ORR_BAD_INPUT,
                    "this orrery was built without zstd, so it can neither record nor read streams; "
                    "install libzstd-dev and build again");
}
packer *packer_new(void) { return NULL; }
void packer_free(packer *p) { (void)p; }
size_t pack_bound(size_t raw) { return raw; }
size_t pack(packer *p, const void *raw, size_t n, void *to, size_t cap) {
    (void)p, (void)raw, (void)n, (void)to, (void)cap;
    return 0;
}
bool unpack(packer *p, const void *packed, size_t n, void *to, size_t raw) {
    (void)p, (void)packed, (void)n, (void)to, (void)raw;
    return false;
}

#endif
