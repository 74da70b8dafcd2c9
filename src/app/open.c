// The code that a program carries: a fatbin, a cubin or PTX in its memory, to a module.
//
// Machine code for this GPU is taken if there is some (code of one generation runs on later members of it),
// else PTX, the newest that is not newer than the GPU if there is such: a simulated GPU can be older than the
// program's code. --source says otherwise.
#include "app/open.h"
#include "app/abi.h"
#include "ptx/ptx.h"
#include "sass/cubin.h"
#include "sass/module.h"

#include <stdlib.h>
#include <string.h>

enum { FATBIN = 0xba55ed50, ELF = 0x464c457f };

static uint32_t get32(const uint8_t *p) { return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24; }

static orr_module *parse_ptx(const char *name, const char *text, size_t n, orr_err *e) {
    while (n && !text[n - 1]) n--; // a fatbin pads it
    return orr_ptx_parse(name, text, n, e);
}

static orr_module *open_images(const void *bytes, size_t n, const char *name, unsigned sm, const char *source,
                               orr_err *e) {
    orr_images *f = orr_images_read(bytes, n, name, e);
    if (!f) return NULL;
    int best = -1;
    bool machine = false;
    for (uint32_t i = 0; i < f->n; i++) {
        const orr_stored_image *im = &f->at[i];
        if (im->kind == ORR_IMAGE_CUBIN) {
            machine |= im->sm / 10 == sm / 10 && im->sm <= sm;
            continue;
        }
        const orr_stored_image *b = best < 0 ? NULL : &f->at[best];
        bool fits = im->sm <= sm, best_fits = b && b->sm <= sm;
        if (!b || (fits && (!best_fits || im->sm > b->sm)) || (!fits && !best_fits && im->sm < b->sm))
            best = (int)i;
    }
    if (source && !strcmp(source, "ptx")) machine = machine && best < 0;
    if (source && !strcmp(source, "sass")) best = -1;
    orr_module *m = NULL;
    if (machine) {
        m = orr_sass_read(bytes, n, name, sm, e);
    } else if (best >= 0) {
        size_t size;
        uint8_t *text = orr_images_unpack(f, (uint32_t)best, &size, e);
        if (text) m = parse_ptx(name, (const char *)text, size, e);
        free(text);
    } else {
        orr_fail(e, ORR_BAD_INPUT, "%s: has no code for sm_%u and no PTX; compile it with -arch=sm_%u", name,
                 sm, sm);
    }
    orr_images_free(f);
    return m;
}

// The bytes of what a program points at: only its own header says how long it is.
size_t app_image_bytes(const void *image) {
    const uint8_t *p = image;
    if (get32(p) == (uint32_t)FATBIN) // a fatbin: header, then what follows it (sass/images.c)
        return (size_t)(p[6] | p[7] << 8) + (get32(p + 8) | (uint64_t)get32(p + 12) << 32);
    if (get32(p) == (uint32_t)ELF) { // ELF: the section headers are last
        uint64_t shoff = get32(p + 40) | (uint64_t)get32(p + 44) << 32;
        uint64_t end = shoff + (uint64_t)(p[58] | p[59] << 8) * (uint64_t)(p[60] | p[61] << 8);
        uint64_t phoff = get32(p + 32) | (uint64_t)get32(p + 36) << 32;
        uint64_t phend = phoff + (uint64_t)(p[54] | p[55] << 8) * (uint64_t)(p[56] | p[57] << 8);
        return end > phend ? end : phend;
    }
    return strlen((const char *)p) + 1; // PTX
}

bool app_image_is_text(const void *image) {
    return get32(image) != (uint32_t)FATBIN && get32(image) != (uint32_t)ELF;
}

orr_module *app_image_open(const void *image, size_t n, const char *name, unsigned sm, const char *source,
                           orr_err *e) {
    return app_image_is_text(image) ? parse_ptx(name, image, n, e)
                                    : open_images(image, n, name, sm, source, e);
}

const void *app_image_of(const void *wrapper) {
    const fat_wrapper *w = wrapper;
    return w && w->magic == FAT_WRAPPER_MAGIC ? w->data : NULL;
}

// The linker's wrapper, of version 2, has a list of what it linked (nvcc's crt/link.stub).
const void *const *app_image_parts(const void *wrapper) {
    const fat_wrapper *w = wrapper;
    return w && w->version == 2 ? w->prelinked : NULL;
}

bool app_pack_params(const orr_kernel *k, void *const *args, uint8_t *to) {
    for (uint32_t i = 0; i < k->nparams; i++) {
        if (!args || !args[i]) return false;
        memcpy(to + k->params[i].offset, args[i], k->params[i].bytes);
    }
    return true;
}
