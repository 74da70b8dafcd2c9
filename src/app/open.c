// The code that a program carries: a fatbin, a cubin or PTX in its memory, to a module.
//
// Machine code for this GPU is taken if there is some (code of one generation runs on later members of it),
// else PTX, the newest that is not newer than the GPU if there is such: a simulated GPU can be older than the
// program's code. --source says otherwise.
#include "app/open.h"
#include "app/abi.h"
#include "ptx/link.h"
#include "sass/cubin.h"
#include "sass/module.h"

#include <stdlib.h>
#include <string.h>

enum { FATBIN = 0xba55ed50, ELF = 0x464c457f, MAX_PARTS = 1 << 16 };

static uint32_t get32(const uint8_t *p) { return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24; }

static orr_module *parse_ptx(const char *name, const char *text, size_t n, orr_err *e) {
    while (n && !text[n - 1]) n--; // a fatbin pads it
    return orr_ptx_parse(name, text, n, e);
}

// The newest PTX that is not newer than the GPU, else the oldest; -1: there is none.
static int best_ptx(const orr_images *f, unsigned sm) {
    int best = -1;
    for (uint32_t i = 0; i < f->n; i++) {
        const orr_stored_image *im = &f->at[i], *b = best < 0 ? NULL : &f->at[best];
        if (im->kind != ORR_IMAGE_PTX) continue;
        bool fits = im->sm <= sm, best_fits = b && b->sm <= sm;
        if (!b || (fits && (!best_fits || im->sm > b->sm)) || (!fits && !best_fits && im->sm < b->sm))
            best = (int)i;
    }
    return best;
}

static bool has_machine_code(const orr_images *f, unsigned sm) {
    for (uint32_t i = 0; i < f->n; i++) {
        const orr_stored_image *im = &f->at[i];
        if (im->kind == ORR_IMAGE_CUBIN && im->sm / 10 == sm / 10 && im->sm <= sm) return true;
    }
    return false;
}

static void no_code(const char *name, unsigned sm, orr_err *e) {
    orr_fail(e, ORR_BAD_INPUT, "%s: has no code for sm_%u and no PTX; compile it with -arch=sm_%u", name, sm,
             sm);
}

static orr_module *open_images(const void *bytes, size_t n, const char *name, unsigned sm, const char *source,
                               orr_err *e) {
    orr_images *f = orr_images_read(bytes, n, name, e);
    if (!f) return NULL;
    int best = best_ptx(f, sm);
    bool machine = has_machine_code(f, sm);
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
        no_code(name, sm, e);
    }
    orr_images_free(f);
    return m;
}

char *app_image_ptx(const void *image, size_t n, const char *name, unsigned sm, size_t *size, orr_err *e) {
    if (app_image_is_text(image)) {
        char *own = orr_malloc(n + 1);
        memcpy(own, image, n);
        while (n && !own[n - 1]) n--;
        own[n] = 0;
        *size = n;
        return own;
    }
    orr_images *f = orr_images_read(image, n, name, e);
    if (!f) return NULL;
    int best = best_ptx(f, sm);
    char *text = best < 0 ? NULL : (char *)orr_images_unpack(f, (uint32_t)best, size, e);
    while (text && *size && !text[*size - 1]) --*size; // a fatbin pads it
    if (best < 0) no_code(name, sm, e);
    orr_images_free(f);
    return text;
}

orr_module *app_image_link(const void *const *parts, const char *name, unsigned sm, orr_err *e) {
    ORR_VEC(orr_ptx_file) files = {0};
    orr_text text = {0};
    orr_module *m = NULL;
    bool ok = true;
    for (size_t i = 0; parts[i] && i < MAX_PARTS && ok; i++) {
        orr_ptx_file f = {.name = name};
        f.text = app_image_ptx(parts[i], app_image_bytes(parts[i]), name, sm, &f.n, e);
        ok = f.text != NULL;
        if (ok) *ORR_PUSH(&files) = f;
    }
    if (ok && orr_ptx_link(files.at, files.n, &text, e)) m = parse_ptx(name, text.s, text.n, e);
    for (size_t i = 0; i < files.n; i++) free((void *)(uintptr_t)files.at[i].text);
    free(files.at);
    free(text.s);
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
