// A cubin: an ELF file with a section .text.NAME for each function and the rest beside it.
//
// What is said of a function is in .nv.info (records that name the function by its symbol) and .nv.info.NAME.
// A record is a format, an attribute and a value: nothing (format 1), a byte (2), two bytes (3), or a length
// of two bytes and that many bytes (4). The attributes used here, with the names cuobjdump -elf has for them:
//
//   0x05 MAX_THREADS, 0x10 REQNTID, 0x3d CTA_PER_CLUSTER   three 32-bit numbers
//   0x0a PARAM_CBANK                        a symbol, then where in the bank the parameters begin and their
//   bytes 0x11 FRAME_SIZE, 0x12 MIN_STACK_SIZE, 0x2f REGCOUNT     a symbol and a number 0x17 KPARAM_INFO 0,
//   ordinal (16 bits), offset (16), bytes in bits 18 and up 0x19 CBANK_PARAM_SIZE                   bytes of
//   all parameters 0x4c NUM_BARRIERS                       a byte; before CUDA 13 bits 20 to 26 of the
//   section's flags; 0x45 KPARAM_INFO_V2   as 0x17 with the bytes as they are, where they need more than 14
//   bits
#include "sass/cubin.h"
#include "sass/elf.h"
#include "sass/lines.h"

#include <stdlib.h>
#include <string.h>

enum { SHT_SYMTAB_ = 2, SHT_RELA_ = 4, SHT_REL_ = 9 };
#define STO_CUDA_ENTRY 0x10

static uint16_t get16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static uint32_t get32(const uint8_t *p) { return get16(p) | (uint32_t)get16(p + 2) << 16; }
static uint64_t get64(const uint8_t *p) { return get32(p) | (uint64_t)get32(p + 4) << 32; }

static bool damaged(const orr_cubin *c, orr_err *e, const char *what) {
    return orr_fail(e, ORR_BAD_INPUT, "%s: a damaged cubin: %s", c->path, what);
}

// ---- sections, symbols, relocations -----------------------------------------------------------
static bool read_sections(orr_cubin *c, const sass_elf *elf, orr_err *e) {
    c->nsections = elf->nsections;
    if (c->nsections < 2) return damaged(c, e, "it has no sections; is it whole?");
    c->sections = orr_arena_alloc(&c->arena, sizeof *c->sections * (c->nsections ? c->nsections : 1));
    for (uint32_t i = 0; i < c->nsections; i++) {
        sass_elf_section s;
        if (!sass_elf_section_at(elf, i, &s)) {
            if (i == 0) continue;
            return damaged(c, e, "a section is not inside the file");
        }
        c->sections[i] = (orr_cubin_section){.name = s.name, // the image stays as long as the cubin
                                             .type = s.type,
                                             .link = s.link,
                                             .info = s.info,
                                             .flags = s.flags,
                                             .bytes = s.bytes,
                                             .size = s.size};
    }
    return true;
}

static bool read_symbols(orr_cubin *c, orr_err *e) {
    for (uint32_t i = 1; i < c->nsections; i++) {
        const orr_cubin_section *s = &c->sections[i];
        if (s->type != SHT_SYMTAB_ || !s->bytes) continue;
        if (s->link >= c->nsections) return damaged(c, e, "the symbols have no names");
        const orr_cubin_section *names = &c->sections[s->link];
        c->nsymbols = (uint32_t)(s->size / 24);
        c->symbols = orr_arena_alloc(&c->arena, sizeof *c->symbols * ((size_t)c->nsymbols + 1));
        for (uint32_t k = 0; k < c->nsymbols; k++) {
            const uint8_t *p = s->bytes + 24 * (size_t)k;
            uint32_t name = get32(p), section = get16(p + 6);
            orr_cubin_symbol *y = &c->symbols[k];
            *y = (orr_cubin_symbol){.name = "",
                                    .section = section < c->nsections ? section : 0,
                                    .type = p[4] & 15,
                                    .bind = p[4] >> 4,
                                    .other = p[5],
                                    .value = get64(p + 8),
                                    .size = get64(p + 16)};
            if (names->bytes && name < names->size) {
                const char *n = (const char *)names->bytes + name;
                if (memchr(n, 0, names->size - name)) y->name = n;
            }
        }
        return true; // a cubin has one table
    }
    return true;
}

static int by_place(const void *x, const void *y) {
    const orr_cubin_reloc *a = x, *b = y;
    if (a->section != b->section) return a->section < b->section ? -1 : 1;
    if (a->offset != b->offset) return a->offset < b->offset ? -1 : 1;
    return a->type < b->type ? -1 : a->type > b->type;
}

static bool read_relocs(orr_cubin *c, orr_err *e) {
    uint64_t n = 0;
    for (uint32_t i = 1; i < c->nsections; i++) {
        const orr_cubin_section *s = &c->sections[i];
        if (s->bytes && (s->type == SHT_RELA_ || s->type == SHT_REL_))
            n += s->size / (s->type == SHT_RELA_ ? 24 : 16);
    }
    if (n > UINT32_MAX / 2) return damaged(c, e, "too many relocations");
    c->relocs = orr_arena_alloc(&c->arena, sizeof *c->relocs * ((size_t)n + 1));
    for (uint32_t i = 1; i < c->nsections; i++) {
        const orr_cubin_section *s = &c->sections[i];
        if (!s->bytes || (s->type != SHT_RELA_ && s->type != SHT_REL_)) continue;
        size_t each = s->type == SHT_RELA_ ? 24 : 16;
        for (uint64_t k = 0; k < s->size / each; k++) {
            const uint8_t *p = s->bytes + each * k;
            uint64_t info = get64(p + 8);
            orr_cubin_reloc r = {.section = s->info,
                                 .type = (uint32_t)info,
                                 .symbol = (uint32_t)(info >> 32),
                                 .offset = get64(p),
                                 .addend = each == 24 ? (int64_t)get64(p + 16) : 0,
                                 .in_place = each == 16};
            if (r.section >= c->nsections || r.symbol >= c->nsymbols ||
                r.offset >= c->sections[r.section].size)
                continue; // of nothing here
            c->relocs[c->nrelocs++] = r;
        }
    }
    if (c->nrelocs) qsort(c->relocs, c->nrelocs, sizeof *c->relocs, by_place);
    return true;
}

// ---- functions --------------------------------------------------------------------------------
static const orr_cubin_section *section_of(const orr_cubin *c, orr_map *names, const char *prefix,
                                           const char *name) {
    size_t n = strlen(prefix) + strlen(name) + 1;
    char small[512], *key = n <= sizeof small ? small : orr_malloc(n);
    snprintf(key, n, "%s%s", prefix, name);
    uintptr_t i = (uintptr_t)orr_map_get(names, key);
    if (key != small) free(key);
    return i ? &c->sections[i] : NULL;
}

static bool read_funcs(orr_cubin *c, orr_err *e) {
    uint32_t n = 0;
    for (uint32_t i = 1; i < c->nsections; i++) n += strncmp(c->sections[i].name, ".text.", 6) == 0;
    c->funcs = orr_arena_alloc(&c->arena, sizeof *c->funcs * ((size_t)n + 1));
    uint8_t *entry = orr_calloc((size_t)c->nsections + 1, 1); // 1 an entry, by section
    uint32_t *symbol = orr_calloc((size_t)c->nsections + 1, sizeof *symbol);
    for (uint32_t k = 0; k < c->nsymbols; k++) {
        const orr_cubin_symbol *y = &c->symbols[k];
        if (y->type != 2 || !y->section || y->value) continue; // functions at the start of a section
        const char *of = c->sections[y->section].name;
        if (strncmp(of, ".text.", 6) != 0 || strcmp(of + 6, y->name) != 0) continue;
        symbol[y->section] = k;
        entry[y->section] = y->other & STO_CUDA_ENTRY ? 1 : 0;
    }
    bool ok = true;
    for (int want = 1; want >= 0 && ok; want--) {
        for (uint32_t i = 1; i < c->nsections && ok; i++) {
            const orr_cubin_section *s = &c->sections[i];
            if (strncmp(s->name, ".text.", 6) != 0 || entry[i] != want) continue;
            if (s->size > UINT32_MAX / 2 || s->size % 16 || (s->size && !s->bytes)) {
                ok = damaged(c, e, "a function's code is not whole instructions");
                break;
            }
            c->funcs[c->nfuncs++] = (orr_cubin_func){.name = s->name + 6,
                                                     .entry = want,
                                                     .code = s->bytes,
                                                     .code_bytes = (uint32_t)s->size,
                                                     .section = i,
                                                     .symbol = symbol[i],
                                                     .barriers = s->flags >> 20 & 0x7f};
            c->nkernels += (uint32_t)want;
        }
    }
    free(entry);
    free(symbol);
    return ok;
}

// ---- .nv.info ---------------------------------------------------------------------------------
// The next record at *at; false at the end, or where it is damaged.
static bool next_attr(const orr_cubin_section *s, uint64_t *at, orr_cubin_attr *a) {
    if (!s->bytes || s->size - *at < 4 || *at > s->size) return false;
    const uint8_t *p = s->bytes + *at;
    *a = (orr_cubin_attr){.format = p[0], .attribute = p[1], .bytes = 2, .value = p + 2};
    *at += 4;
    if (a->format != 4) return true;
    a->bytes = get16(p + 2);
    a->value = p + 4;
    if (a->bytes > s->size - *at) return false;
    *at += a->bytes;
    return true;
}

static void of_symbol(orr_cubin *c, const orr_cubin_attr *a, const uint32_t *func_of) {
    if (a->format != 4 || a->bytes < 8) return;
    uint32_t symbol = get32(a->value), v = get32(a->value + 4);
    if (symbol >= c->nsymbols || c->symbols[symbol].value) return; // of a part of a section: its whole counts
    uint32_t f = func_of[c->symbols[symbol].section];
    if (!f) return;
    orr_cubin_func *x = &c->funcs[f - 1];
    switch (a->attribute) {
    case 0x11: x->frame_bytes = v; break;
    case 0x12: x->stack_bytes = v == UINT32_MAX ? 0 : v; break; // all ones: it calls itself
    case 0x2f: x->regs = v; break;
    }
}

static void of_func(orr_cubin *c, orr_cubin_func *x, const orr_cubin_section *s) {
    uint64_t at = 0;
    orr_cubin_attr a;
    uint32_t params = 0;
    while (next_attr(s, &at, &a)) {
        x->nattrs++;
        params += a.attribute == 0x17 || a.attribute == 0x45;
    }
    x->attrs = orr_arena_alloc(&c->arena, sizeof a * ((size_t)x->nattrs + 1));
    x->params = orr_arena_alloc(&c->arena, sizeof *x->params * ((size_t)params + 1));
    at = 0;
    for (uint32_t i = 0; i < x->nattrs; i++) {
        next_attr(s, &at, &x->attrs[i]);
        a = x->attrs[i];
        uint32_t *three = a.attribute == 0x05   ? x->maxntid
                          : a.attribute == 0x10 ? x->reqntid
                          : a.attribute == 0x3d ? x->cluster
                                                : NULL;
        if (three && a.format == 4 && a.bytes >= 12)
            for (int k = 0; k < 3; k++) three[k] = get32(a.value + 4 * k);
        if (a.attribute == 0x0a && a.format == 4 && a.bytes >= 8) {
            x->param_base = get16(a.value + 4);
            x->param_bytes = get16(a.value + 6);
        }
        if (a.attribute == 0x19 && a.format == 3 && !x->param_bytes) x->param_bytes = get16(a.value);
        if (a.attribute == 0x4c && a.format == 2) x->barriers = a.value[0];
        if ((a.attribute == 0x17 || a.attribute == 0x45) && a.format == 4 && a.bytes >= 12) {
            uint32_t ordinal = get16(a.value + 4), bytes = get32(a.value + 8);
            if (ordinal >= params) continue;
            x->params[ordinal] = (orr_cubin_param){.offset = get16(a.value + 6),
                                                   .bytes = a.attribute == 0x17 ? bytes >> 18 : bytes};
            if (ordinal >= x->nparams) x->nparams = ordinal + 1;
        }
    }
}

static void read_info(orr_cubin *c) {
    orr_map names = {0};
    uint32_t *func_of = orr_calloc((size_t)c->nsections + 1, sizeof *func_of);
    for (uint32_t i = c->nsections; i-- > 1;) orr_map_put(&names, c->sections[i].name, (void *)(uintptr_t)i);
    for (uint32_t i = 0; i < c->nfuncs; i++) func_of[c->funcs[i].section] = i + 1;

    const orr_cubin_section *info = section_of(c, &names, ".nv.info", "");
    uint64_t at = 0;
    orr_cubin_attr a;
    while (info && next_attr(info, &at, &a)) of_symbol(c, &a, func_of);
    uint32_t r = 0;
    for (uint32_t i = 0; i < c->nfuncs; i++) {
        orr_cubin_func *x = &c->funcs[i];
        const orr_cubin_section *s = section_of(c, &names, ".nv.info.", x->name);
        if (s) of_func(c, x, s);
        s = section_of(c, &names, ".nv.shared.", x->name);
        if (s && s->size <= UINT32_MAX) x->shared_bytes = (uint32_t)s->size;
        s = section_of(c, &names, ".nv.constant0.", x->name);
        if (s && s->bytes && s->size <= 65536) {
            x->constant0 = s->bytes;
            x->constant0_bytes = (uint32_t)s->size;
        }
        // relocations are sorted by section: find the first of this one
        uint32_t lo = 0, hi = c->nrelocs;
        while (lo < hi) {
            r = (lo + hi) / 2;
            if (c->relocs[r].section < x->section)
                lo = r + 1;
            else
                hi = r;
        }
        x->relocs = c->relocs + lo;
        while (lo + x->nrelocs < c->nrelocs && c->relocs[lo + x->nrelocs].section == x->section) x->nrelocs++;
    }
    free(func_of);
    orr_map_free(&names);
}

// ---- the whole --------------------------------------------------------------------------------
orr_cubin *orr_cubin_read(const void *bytes, size_t n, const char *path, orr_err *e) {
    orr_cubin *c = orr_calloc(1, sizeof *c);
    c->path = orr_arena_strdup(&c->arena, path);
    c->image = orr_malloc(n + 1);
    c->size = n;
    if (n) memcpy(c->image, bytes, n);
    sass_elf elf;
    if (!sass_elf_open(&elf, c->image, n, path, e)) {
        orr_cubin_free(c);
        return NULL;
    }
    c->elf_flags = elf.flags;
    c->elf_type = get16(c->image + 16);
    c->sm = sass_elf_sm(&elf);
    bool ok = true;
    if (elf.machine != SASS_EM_CUDA)
        ok = orr_fail(e, ORR_BAD_INPUT, "%s: an ELF file, but not a cubin", path);
    else if (!orr_sass_supported(c->sm))
        ok = orr_fail(e, ORR_BAD_INPUT,
                      "%s: code for sm_%u, which Orrery does not know; it knows sm_70, 72, 75, 80, 86, 87, "
                      "89, 90, 100 and 120",
                      path, c->sm);
    ok = ok && read_sections(c, &elf, e) && read_symbols(c, e) && read_relocs(c, e) && read_funcs(c, e);
    if (ok) {
        read_info(c);
        sass_read_lines(c, &elf);
    }
    sass_elf_close(&elf);
    if (ok) return c;
    orr_cubin_free(c);
    return NULL;
}

void orr_cubin_free(orr_cubin *c) {
    if (!c) return;
    free(c->image);
    orr_arena_free(&c->arena);
    free(c);
}

const orr_cubin_func *orr_cubin_find(const orr_cubin *c, const char *name) {
    for (uint32_t i = 0; i < c->nfuncs; i++)
        if (strcmp(c->funcs[i].name, name) == 0) return &c->funcs[i];
    return NULL;
}

const orr_cubin_section *orr_cubin_bank(const orr_cubin *c, unsigned bank) {
    char name[40];
    snprintf(name, sizeof name, ".nv.constant%u", bank);
    for (uint32_t i = 1; i < c->nsections; i++)
        if (strcmp(c->sections[i].name, name) == 0) return &c->sections[i];
    return NULL;
}

const orr_cubin_line *orr_cubin_line_at(const orr_cubin_func *f, uint32_t address) {
    uint32_t lo = 0, hi = f->nlines; // the last one at or before it
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (f->lines[mid].address <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo && f->lines[lo - 1].line ? &f->lines[lo - 1] : NULL;
}
