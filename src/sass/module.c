// A cubin as a module (module.h): which cubin of a file, its variables, where its functions are.
//
// Relocations. What the compiler could not know is where things are: the addresses of variables, and of
// functions when they are compiled separately (-G, -rdc). In data they become orr_relocs, which the image
// loader applies when it knows the addresses. In code, lift.c applies those of functions at once and keeps
// those of variables for the executor (orr_fix).
#include "sass/lift.h"

#include <stdlib.h>
#include <string.h>

#define ET_REL     1
#define STT_OBJECT 1
#define STT_FUNC   2
#define MAX_CODE   (1ull << 40)

static uint64_t get(const uint8_t *p, int bytes) {
    uint64_t v = 0;
    for (int i = bytes; i-- > 0;) v = v << 8 | p[i];
    return v;
}

// ---- functions --------------------------------------------------------------------------------
static uint64_t missing_address(const sass_front *f, const char *name) {
    const orr_syscall *sys = orr_syscall_named(name);
    if (sys) return ORR_CODE_SYSTEM(sys->sys);
    for (uint32_t i = 0; i < f->nmissing; i++)
        if (strcmp(name, f->missing[i]) == 0) return ORR_CODE_MISSING + 16ull * i;
    return 0;
}

const char *orr_sass_missing(const orr_module *m, uint64_t address) {
    const sass_front *f = m->front;
    if (address >= ORR_CODE_SYSTEM(0) && address < ORR_CODE_MISSING && address % 16 == 0)
        return orr_syscall_name((unsigned)((address - ORR_CODE_SYSTEM(0)) / 16));
    if (!f || address < ORR_CODE_MISSING || address % 16) return NULL;
    uint64_t n = (address - ORR_CODE_MISSING) / 16;
    return n < f->nmissing ? f->missing[n] : NULL;
}

bool sass_provided(const orr_cubin_symbol *y) {
    const orr_syscall *sys = y->type == STT_FUNC ? orr_syscall_named(y->name) : NULL;
    return sys && orr_syscall_linked(sys);
}

static bool place_functions(orr_module *m, orr_err *e) {
    sass_front *f = m->front;
    const orr_cubin *c = f->cubin;
    f->address = orr_arena_alloc(&m->arena, sizeof *f->address * ((size_t)c->nfuncs + 1));
    f->taken = orr_arena_alloc(&m->arena, sizeof *f->taken * ((size_t)c->nfuncs + 1));
    f->func_of = orr_arena_alloc(&m->arena, sizeof *f->func_of * ((size_t)c->nsections + 1));
    uint64_t at = ORR_CODE_BASE;
    for (uint32_t i = 0; i < c->nfuncs; i++) {
        f->address[i] = at;
        f->func_of[c->funcs[i].section] = i + 1;
        at += ((uint64_t)c->funcs[i].code_bytes + 255) / 128 *
              128; // at least a gap, so that running off is seen
        if (at > MAX_CODE) return orr_fail(e, ORR_BAD_INPUT, "%s: too much code", m->path);
    }
    const uint32_t room = (uint32_t)((ORR_CODE_BASE - ORR_CODE_MISSING) / 16);
    f->missing = orr_arena_alloc(&m->arena, sizeof *f->missing * room);
    for (uint32_t i = 1; i < c->nsymbols; i++) {
        const orr_cubin_symbol *y = &c->symbols[i];
        f->system |= sass_provided(y) || (y->type == STT_FUNC && !y->section && orr_syscall_named(y->name));
        if (y->type != STT_FUNC || y->section || !*y->name || missing_address(f, y->name)) continue;
        if (f->nmissing == room) break; // the others have no address: an error where one is used
        f->missing[f->nmissing++] = y->name;
    }
    return true;
}

static const char *kernel_at(const orr_module *m, uint64_t address) {
    const sass_front *f = m->front;
    for (uint32_t i = 0; i < f->cubin->nkernels; i++)
        if (f->address[i] == address) return f->cubin->funcs[i].name;
    return NULL;
}

bool sass_resolve(const sass_front *f, const orr_cubin_reloc *r, bool *function, uint32_t *var,
                  uint64_t *address) {
    const orr_cubin_symbol *y = &f->cubin->symbols[r->symbol];
    *function = true;
    if (!y->section) {
        *address = y->type == STT_FUNC ? missing_address(f, y->name) : 0;
        return *address != 0;
    }
    if (sass_provided(y)) {
        *address = missing_address(f, y->name);
        return true;
    }
    if (f->func_of[y->section]) {
        *address = f->address[f->func_of[y->section] - 1] + y->value;
        return true;
    }
    *function = false;
    *var = f->var_of[y->section] - 1;
    *address = y->value;
    return f->var_of[y->section] != 0;
}

// ---- variables --------------------------------------------------------------------------------
// The bank of ".nv.constantN" or ".nv.constantN.KERNEL", -1: it is none.
static int bank_of(const char *name, const char **kernel) {
    const char *prefix = ".nv.constant";
    size_t n = strlen(prefix);
    if (strncmp(name, prefix, n) != 0 || name[n] < '0' || name[n] > '9') return -1;
    char *end;
    long bank = strtol(name + n, &end, 10);
    if (bank >= ORR_BANKS || (*end && *end != '.')) return -1;
    *kernel = *end ? end + 1 : NULL;
    return (int)bank;
}

static bool make_variables(orr_module *m, orr_err *e) {
    sass_front *f = m->front;
    const orr_cubin *c = f->cubin;
    f->var_of = orr_arena_alloc(&m->arena, sizeof *f->var_of * ((size_t)c->nsections + 1));
    m->vars = orr_arena_alloc(&m->arena, sizeof *m->vars * ((size_t)c->nsections + 1));
    uint64_t total = 0;
    for (uint32_t i = 1; i < c->nsections; i++) {
        const orr_cubin_section *s = &c->sections[i];
        const char *kernel;
        int bank = bank_of(s->name, &kernel);
        bool global = strcmp(s->name, ".nv.global") == 0 || strcmp(s->name, ".nv.global.init") == 0;
        if ((bank <= 0 && !global) || !s->size) continue;
        if (bank > 0 && s->size > 1u << 16)
            return orr_fail(e, ORR_BAD_INPUT, "%s: a damaged cubin: constant bank %d has %llu bytes", m->path,
                            bank, (unsigned long long)s->size);
        if (s->size > (1ull << 36) || (total += s->size) > (1ull << 36))
            return orr_fail(e, ORR_BAD_INPUT, "%s: its variables have more than 64 GiB", m->path);
        orr_var *v = &m->vars[m->nvars];
        *v = (orr_var){.name = s->name,
                       .space = bank > 0 ? ORR_SPACE_CONST : ORR_SPACE_GLOBAL,
                       .align = 256,
                       .bytes = s->size};
        if (s->bytes) { // the cubin lives as long as the module
            v->init = (uint8_t *)(uintptr_t)s->bytes;
            v->init_bytes = s->size;
        }
        f->var_of[i] = ++m->nvars;
    }
    m->symbols = orr_arena_alloc(&m->arena, sizeof *m->symbols * ((size_t)c->nsymbols + 1));
    for (uint32_t i = 1; i < c->nsymbols; i++) {
        const orr_cubin_symbol *y = &c->symbols[i];
        uint32_t v = y->section ? f->var_of[y->section] : 0;
        if (y->type != STT_OBJECT || !v || !*y->name) continue;
        uint64_t bytes = m->vars[v - 1].bytes;
        if (y->value > bytes || y->size > bytes - y->value)
            return orr_fail(e, ORR_BAD_INPUT, "%s: a damaged cubin: '%s' is not inside its section", m->path,
                            y->name);
        m->symbols[m->nsymbols++] =
            (orr_symbol){.name = y->name, .var = v - 1, .offset = y->value, .bytes = y->size};
    }
    return true;
}

static bool relocate_variables(orr_module *m, orr_err *e) {
    sass_front *f = m->front;
    const orr_cubin *c = f->cubin;
    for (uint32_t i = 0; i < c->nrelocs;) { // they are sorted by section
        uint32_t section = c->relocs[i].section, n = 0;
        while (i + n < c->nrelocs && c->relocs[i + n].section == section) n++;
        const orr_cubin_reloc *from = &c->relocs[i];
        i += n;
        if (!f->var_of[section]) continue;
        orr_var *v = &m->vars[f->var_of[section] - 1];
        v->relocs = orr_arena_alloc(&m->arena, sizeof *v->relocs * n);
        for (uint32_t k = 0; k < n; k++) {
            const orr_cubin_reloc *r = &from[k];
            if (r->type == R_CUDA_NONE) continue;
            bool wide = r->type == R_CUDA_64 || r->type == R_CUDA_G64 || r->type == R_CUDA_FUNC_DESC_64;
            bool function,
                narrow = r->type == R_CUDA_32 || r->type == R_CUDA_G32 || r->type == R_CUDA_FUNC_DESC_32;
            const char *symbol = c->symbols[r->symbol].name;
            if (!wide && !narrow)
                return orr_fail(e, ORR_BAD_INPUT,
                                "%s: %s has a relocation of type %u for '%s', which Orrery cannot do",
                                m->path, v->name, r->type, symbol);
            uint8_t bytes = wide ? 8 : 4;
            if (r->offset > v->bytes || v->bytes - r->offset < bytes)
                return orr_fail(e, ORR_BAD_INPUT, "%s: a damaged cubin: a relocation is outside %s", m->path,
                                v->name);
            uint32_t var = 0;
            uint64_t address = 0;
            if (!sass_resolve(f, r, &function, &var, &address))
                return orr_fail(e, ORR_BAD_INPUT,
                                "%s: %s needs '%s', which is not in the file; link it with nvcc -dlink",
                                m->path, v->name, symbol);
            address += (uint64_t)r->addend;
            if (r->in_place && v->init) address += get(v->init + r->offset, bytes);
            if (function) {
                const orr_cubin_symbol *y = &c->symbols[r->symbol];
                if (y->section && !sass_provided(y)) f->taken[f->func_of[y->section] - 1] = true;
            }
            v->relocs[v->nrelocs++] = (orr_reloc){.offset = (uint32_t)r->offset,
                                                  .bytes = bytes,
                                                  .var = function ? -1 : (int32_t)var,
                                                  .value = address};
        }
    }
    return true;
}

// ---- kernels ----------------------------------------------------------------------------------
static void own_banks(orr_module *m, orr_kernel *k) {
    for (uint32_t v = 0; v < m->nvars; v++) {
        const char *kernel;
        int bank = bank_of(m->vars[v].name, &kernel);
        if (bank <= 0 || (kernel && strcmp(kernel, k->name) != 0)) continue;
        if (kernel || !k->code.bank_var[bank]) k->code.bank_var[bank] = v + 1;
    }
}

static orr_kernel *load(orr_module *m, const char *name, orr_err *e) {
    sass_front *f = m->front;
    uintptr_t n = (uintptr_t)orr_map_get(&f->kernel_of, name);
    const char *meant = n ? NULL : orr_module_kernel_meant(m, name);
    if (meant) n = (uintptr_t)orr_map_get(&f->kernel_of, meant);
    if (!n) {
        orr_nearest near = {.to = name};
        for (uint32_t i = 0; i < m->nkernels; i++) orr_consider(&near, m->kernel_names[i]);
        if (orr_is_near(&near))
            orr_fail(e, ORR_BAD_INPUT, "%s: it has no kernel '%s'; did you mean '%s'?", m->path, name,
                     near.best);
        else
            orr_fail(e, ORR_BAD_INPUT, "%s: it has no kernel '%s'", m->path, name);
        return NULL;
    }
    if (!f->kernels[n - 1]) {
        orr_kernel *k = sass_lift(m, &f->cubin->funcs[n - 1], e);
        if (k) own_banks(m, k);
        f->kernels[n - 1] = k;
    }
    return f->kernels[n - 1];
}

static void free_module(orr_module *m) {
    if (!m) return;
    sass_front *f = m->front;
    for (uint32_t i = 0; f->kernels && i < f->cubin->nkernels; i++) {
        if (!f->kernels[i]) continue;
        orr_arena a = f->kernels[i]->arena; // it is in there too
        orr_arena_free(&a);
    }
    orr_map_free(&f->kernel_of);
    orr_cubin_free(f->cubin);
    orr_arena a = m->arena;
    orr_arena_free(&a);
}

static orr_module *make(orr_cubin *c, const char *path, orr_err *e) {
    orr_arena arena = {0};
    orr_module *m = orr_arena_alloc(&arena, sizeof *m);
    sass_front *f = orr_arena_alloc(&arena, sizeof *f);
    m->arena = arena;
    m->path = orr_arena_strdup(&m->arena, path);
    m->source = "sass";
    m->target = c->sm;
    m->front = f;
    m->load = load;
    m->kernel_at = kernel_at;
    m->free = free_module;
    m->files = c->files;
    m->nfiles = c->nfiles;
    f->cubin = c;
    f->kernels = orr_arena_alloc(&m->arena, sizeof *f->kernels * ((size_t)c->nkernels + 1));
    m->kernel_names = orr_arena_alloc(&m->arena, sizeof *m->kernel_names * ((size_t)c->nkernels + 1));
    for (uint32_t i = 0; i < c->nkernels; i++) {
        m->kernel_names[m->nkernels++] = c->funcs[i].name;
        orr_map_put(&f->kernel_of, c->funcs[i].name, (void *)(uintptr_t)(i + 1));
    }
    if (c->elf_type == ET_REL)
        orr_fail(e, ORR_BAD_INPUT, "%s: an object to be linked (nvcc -rdc=true); link it: nvcc -dlink -cubin",
                 path);
    else if (place_functions(m, e) && make_variables(m, e) && relocate_variables(m, e))
        return m;
    free_module(m);
    return NULL;
}

const void *orr_sass_image(const orr_module *m, size_t *n) {
    const sass_front *f = m->front;
    *n = f->cubin->size;
    return f->cubin->image;
}

// ---- files ------------------------------------------------------------------------------------
bool orr_sass_probe(const char *path) {
    uint8_t magic[4] = {0};
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    size_t n = fread(magic, 1, sizeof magic, f);
    fclose(f);
    return n == 4 && (memcmp(magic, "\177ELF", 4) == 0 || memcmp(magic, "\x50\xed\x55\xba", 4) == 0);
}

static bool no_code(const orr_images *f, unsigned sm, orr_err *e) {
    bool any = false, ptx = false;
    for (uint32_t i = 0; i < f->n; i++) {
        any |= f->at[i].kind == ORR_IMAGE_CUBIN;
        ptx |= f->at[i].kind == ORR_IMAGE_PTX;
    }
    if (!any)
        return orr_fail(e, ORR_BAD_INPUT, "%s: has no machine code%s", f->path, ptx ? ", only PTX" : "");
    if (sm)
        return orr_fail(e, ORR_BAD_INPUT,
                        "%s: has no machine code for sm_%u or an older architecture from sm_70 on", f->path,
                        sm);
    return orr_fail(e, ORR_BAD_INPUT,
                    "%s: has no machine code of an architecture that Orrery knows (sm_70 and later)",
                    f->path);
}

// The image for an architecture: its own, else the nearest older one's. A program made of several files has
// several images of each; the first one with kernels is taken.
static orr_module *choose(orr_images *f, unsigned sm, orr_err *e) {
    unsigned best = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        const orr_stored_image *im = &f->at[i];
        bool fits = im->kind == ORR_IMAGE_CUBIN && orr_sass_supported(im->sm) && (!sm || im->sm <= sm);
        if (fits && im->sm > best) best = im->sm;
    }
    orr_module *m = NULL;
    orr_err first = {0};
    for (uint32_t i = 0; best && i < f->n && !(m && m->nkernels); i++) {
        if (f->at[i].kind != ORR_IMAGE_CUBIN || f->at[i].sm != best) continue;
        orr_err why = {0};
        orr_cubin *c = orr_images_cubin(f, i, &why);
        orr_module *next = c ? make(c, f->path, &why) : NULL;
        if (why.status && !first.status) first = why;
        if (m && next) m->free(m);
        if (next) m = next;
    }
    if (!best)
        no_code(f, sm, e);
    else if (!m)
        orr_fail(e, first.status, "%s", first.text);
    orr_images_free(f);
    return m;
}

orr_module *orr_sass_open(const char *path, unsigned sm, orr_err *e) {
    orr_images *f = orr_images_open(path, e);
    return f ? choose(f, sm, e) : NULL;
}

orr_module *orr_sass_read(const void *bytes, size_t n, const char *path, unsigned sm, orr_err *e) {
    orr_images *f = orr_images_read(bytes, n, path, e);
    return f ? choose(f, sm, e) : NULL;
}
