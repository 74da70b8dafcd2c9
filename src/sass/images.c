// What is in a file: a cubin by itself, the entries of a fatbin, or those of the fatbins that nvcc has put
// into a program, library or object (sections .nv_fatbin and __nv_relfatbin).
//
// A fatbin is a header of 16 bytes (magic 0xba55ed50, version, size of the header, size of what follows) and
// entries. An entry has a header with its kind (1 PTX, 2 cubin), the header's size, the size of what follows
// it (padded), the size of the packed bytes, the architecture, where its name is, flags, and the unpacked
// size. Flag 0x2000 says that it is packed with LZ4, 0x8000 with zstd (what CUDA 13 does). Found by looking
// at what nvcc 13 makes with each
// --compress-mode.
#include "sass/cubin.h"
#include "sass/elf.h"

#include <stdlib.h>
#include <string.h>

#ifdef ORRERY_HAVE_ZSTD
#include <zstd.h>
#endif

#define FATBIN_MAGIC 0xba55ed50u
#define FILE_LIMIT   ((size_t)4 << 30)
#define IMAGE_LIMIT  ((uint64_t)1 << 30) // unpacked
#define MAX_IMAGES   (1u << 20)

static uint16_t get16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static uint32_t get32(const uint8_t *p) { return get16(p) | (uint32_t)get16(p + 2) << 16; }
static uint64_t get64(const uint8_t *p) { return get32(p) | (uint64_t)get32(p + 4) << 32; }

// ---- fatbins ----------------------------------------------------------------------------------
static orr_stored_image *add(orr_images *f, size_t *cap) {
    if (f->n == *cap) {
        *cap = *cap ? *cap * 2 : 16;
        f->at = orr_realloc(f->at, *cap * sizeof *f->at);
    }
    f->at[f->n] = (orr_stored_image){0};
    return &f->at[f->n++];
}

static bool entries(orr_images *f, size_t *cap, uint64_t at, uint64_t end, orr_err *e) {
    const uint8_t *b = f->bytes;
    while (at < end) {
        if (end - at < 16) return true; // padding
        uint32_t kind = get16(b + at), header = get32(b + at + 4);
        uint64_t padded = get64(b + at + 8);
        if (header < 16 || header > end - at || padded > end - at - header)
            return orr_fail(e, ORR_BAD_INPUT, "%s: the fatbin's entry at 0x%llx is not inside it", f->path,
                            (unsigned long long)at);
        if ((kind == 1 || kind == 2) && header >= 64 && f->n < MAX_IMAGES) {
            const uint8_t *h = b + at;
            uint64_t packed = get32(h + 16), flags = get64(h + 40), unpacked = get64(h + 56);
            orr_stored_image *i = add(f, cap);
            i->kind = kind == 1 ? ORR_IMAGE_PTX : ORR_IMAGE_CUBIN;
            i->sm = get32(h + 28);
            i->offset = at + header;
            i->bytes = padded;
            i->pack = flags & 0x8000 ? ORR_PACK_ZSTD : flags & 0x2000 ? ORR_PACK_LZ4 : ORR_PACK_NONE;
            if (i->pack != ORR_PACK_NONE) {
                if (packed > padded)
                    return orr_fail(e, ORR_BAD_INPUT,
                                    "%s: the fatbin's entry at 0x%llx is larger than its place", f->path,
                                    (unsigned long long)at);
                i->bytes = packed;
            }
            i->unpacked = i->pack == ORR_PACK_NONE ? i->bytes : unpacked;
            uint32_t name = get32(h + 32), len = get32(h + 36);
            if (len && len < 4096 && name < header && len <= header - name)
                i->name = orr_arena_strndup(&f->arena, (const char *)h + name,
                                            strnlen((const char *)h + name, len));
        }
        at += header + padded;
    }
    return true;
}

// Fatbins in [from, to): one after another, with bytes between them that align the next.
static bool fatbins(orr_images *f, size_t *cap, uint64_t from, uint64_t to, orr_err *e) {
    const uint8_t *b = f->bytes;
    for (uint64_t at = from; to - at >= 16 && at <= to;) {
        if (get32(b + at) != FATBIN_MAGIC) {
            at += 8;
            continue;
        }
        uint32_t header = get16(b + at + 6);
        uint64_t size = get64(b + at + 8);
        if (header < 16 || header > to - at || size > to - at - header)
            return orr_fail(e, ORR_BAD_INPUT, "%s: the fatbin at 0x%llx is larger than what holds it",
                            f->path, (unsigned long long)at);
        if (!entries(f, cap, at + header, at + header + size, e)) return false;
        at = from + (at + header + size - from + 7) / 8 * 8;
        if (at > to) break;
    }
    return true;
}

static bool find_images(orr_images *f, orr_err *e) {
    size_t cap = 0;
    if (f->size >= 16 && get32(f->bytes) == FATBIN_MAGIC) return fatbins(f, &cap, 0, f->size, e);
    sass_elf elf;
    if (!sass_elf_open(&elf, f->bytes, f->size, f->path, e)) return false;
    bool ok = true;
    if (elf.machine == SASS_EM_CUDA) {
        orr_stored_image *i = add(f, &cap);
        i->kind = ORR_IMAGE_CUBIN;
        i->sm = sass_elf_sm(&elf);
        i->bytes = i->unpacked = f->size;
    } else {
        for (uint32_t s = 1; s < elf.nsections && ok; s++) {
            sass_elf_section x;
            if (!sass_elf_section_at(&elf, s, &x)) continue;
            if (!x.bytes || (strcmp(x.name, ".nv_fatbin") != 0 && strcmp(x.name, "__nv_relfatbin") != 0))
                continue;
            uint64_t from = (uint64_t)(x.bytes - f->bytes);
            ok = fatbins(f, &cap, from, from + x.size, e);
        }
        if (ok && !f->n)
            ok = orr_fail(e, ORR_BAD_INPUT, "%s: an ELF file without code for a GPU in it (no .nv_fatbin)",
                          f->path);
    }
    sass_elf_close(&elf);
    return ok;
}

static orr_images *take(uint8_t *bytes, size_t n, const char *path, orr_err *e) {
    orr_images *f = orr_calloc(1, sizeof *f);
    f->path = orr_arena_strdup(&f->arena, path);
    f->bytes = bytes;
    f->size = n;
    if (find_images(f, e)) {
        if (f->n) return f;
        orr_fail(e, ORR_BAD_INPUT, "%s: a fatbin with nothing in it", path);
    }
    orr_images_free(f);
    return NULL;
}

orr_images *orr_images_read(const void *bytes, size_t n, const char *path, orr_err *e) {
    uint8_t *copy = orr_malloc(n + 1);
    if (n) memcpy(copy, bytes, n);
    return take(copy, n, path, e);
}

orr_images *orr_images_open(const char *path, orr_err *e) {
    size_t n;
    uint8_t *bytes = (uint8_t *)orr_read_file(path, FILE_LIMIT, &n, e);
    return bytes ? take(bytes, n, path, e) : NULL;
}

void orr_images_free(orr_images *f) {
    if (!f) return;
    free(f->at);
    free(f->bytes);
    orr_arena_free(&f->arena);
    free(f);
}

// ---- unpacking --------------------------------------------------------------------------------
// A block of LZ4: literals and copies of what was written before. How much it made, or 0 when it is damaged.
static size_t unlz4(const uint8_t *in, size_t n, uint8_t *out, size_t cap) {
    size_t i = 0, o = 0;
    while (i < n) {
        uint8_t token = in[i++];
        size_t literals = token >> 4, length = token & 15;
        for (uint8_t more = 255; literals >= 15 && more == 255;) {
            if (i >= n) return 0;
            literals += more = in[i++];
        }
        if (literals > n - i || literals > cap - o) return 0;
        memcpy(out + o, in + i, literals);
        i += literals;
        o += literals;
        if (i == n) break; // the last one has no copy
        if (n - i < 2) return 0;
        size_t back = get16(in + i);
        i += 2;
        for (uint8_t more = 255; length >= 15 && more == 255;) {
            if (i >= n) return 0;
            length += more = in[i++];
        }
        length += 4;
        if (!back || back > o || length > cap - o) return 0;
        for (size_t k = 0; k < length; k++) out[o + k] = out[o + k - back]; // may overlap
        o += length;
    }
    return o;
}

uint8_t *orr_images_unpack(const orr_images *f, uint32_t i, size_t *n, orr_err *e) {
    const orr_stored_image *im = &f->at[i];
    if (im->unpacked > IMAGE_LIMIT) {
        orr_fail(e, ORR_BAD_INPUT, "%s: image %u has %llu bytes when unpacked, more than the limit of %llu",
                 f->path, i, (unsigned long long)im->unpacked, (unsigned long long)IMAGE_LIMIT);
        return NULL;
    }
    const uint8_t *from = f->bytes + im->offset;
    size_t cap = (size_t)im->unpacked, got = 0;
    // Neither compression packs better than 1:255 for LZ4; for zstd the frame says its size, which is
    // compared first.
    if (im->pack == ORR_PACK_LZ4 && im->unpacked / 256 > im->bytes) cap = 0;
#ifdef ORRERY_HAVE_ZSTD
    if (im->pack == ORR_PACK_ZSTD && ZSTD_getFrameContentSize(from, (size_t)im->bytes) != im->unpacked)
        cap = 0;
#else
    if (im->pack == ORR_PACK_ZSTD) {
        orr_fail(e, ORR_BAD_INPUT,
                 "%s: image %u is packed with zstd, and this build has no zstd (Debian: libzstd-dev)",
                 f->path, i);
        return NULL;
    }
#endif
    uint8_t *to = orr_malloc(cap + 1);
    switch (im->pack) {
    case ORR_PACK_NONE:
        memcpy(to, from, cap);
        got = cap;
        break;
    case ORR_PACK_LZ4: got = unlz4(from, (size_t)im->bytes, to, cap); break;
    case ORR_PACK_ZSTD: {
#ifdef ORRERY_HAVE_ZSTD
        size_t r = cap ? ZSTD_decompress(to, cap, from, (size_t)im->bytes) : 0;
        got = ZSTD_isError(r) ? 0 : r;
#endif
        break;
    }
    }
    if (!got || got != im->unpacked) {
        free(to);
        orr_fail(e, ORR_BAD_INPUT, "%s: image %u (sm_%u) is damaged: it does not unpack", f->path, i, im->sm);
        return NULL;
    }
    to[got] = 0;
    *n = got;
    return to;
}

orr_cubin *orr_images_cubin(const orr_images *f, uint32_t i, orr_err *e) {
    if (i >= f->n || f->at[i].kind != ORR_IMAGE_CUBIN) {
        orr_fail(e, ORR_BAD_INPUT, "%s: image %u is not machine code", f->path, i);
        return NULL;
    }
    size_t n;
    uint8_t *bytes = orr_images_unpack(f, i, &n, e);
    if (!bytes) return NULL;
    char *path = (char *)f->path, *own = NULL;
    if (f->n > 1) {
        size_t len = strlen(f->path) + 40;
        own = path = orr_malloc(len);
        snprintf(path, len, "%s, image %u", f->path, i);
    }
    orr_cubin *c = orr_cubin_read(bytes, n, path, e);
    free(bytes);
    free(own);
    return c;
}
