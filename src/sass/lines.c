// Which source line an instruction comes from: the DWARF line tables, read by libdw.
//
// A cubin is not linked: its line programs set addresses that are relocated to functions, each of which
// begins at 0 of its own section. libdw knows nothing of NVIDIA's relocations. So they are applied here, in
// the copy of the file that the cubin owns, in a way that keeps the functions apart: address = section << 32
// | offset.
#include "sass/lines.h"

#include <stdlib.h>
#include <string.h>

#ifdef ORRERY_HAVE_DW
#include <elfutils/libdw.h>

#define MAX_LINES (64u << 20)

static void relocate(orr_cubin *c, sass_elf *elf) {
    for (uint32_t i = 0; i < c->nrelocs; i++) {
        const orr_cubin_reloc *r = &c->relocs[i];
        const orr_cubin_section *s = &c->sections[r->section];
        if (strcmp(s->name, ".debug_line") != 0 || !s->bytes || s->size < 8 || r->offset > s->size - 8)
            continue;
        const orr_cubin_symbol *y = &c->symbols[r->symbol];
        uint64_t address = (uint64_t)y->section << 32 | (uint32_t)(y->value + (uint64_t)r->addend);
        uint8_t *to = elf->bytes + (s->bytes - elf->bytes) + r->offset;
        for (int k = 0; k < 8; k++) to[k] = (uint8_t)(address >> 8 * k);
    }
}

typedef struct row {
    uint64_t address;
    uint32_t file, line; // line 0: the end of a sequence
    uint32_t order;
} row;

static int by_address(const void *x, const void *y) {
    const row *a = x, *b = y;
    if (a->address != b->address) return a->address < b->address ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

typedef struct names { // of source files, numbered as they come
    orr_map known;
    ORR_VEC(const char *) list;
} names;

static uint32_t file_number(orr_cubin *c, names *f, const char *name) {
    uintptr_t at = (uintptr_t)orr_map_get(&f->known, name);
    if (!at) {
        *ORR_PUSH(&f->list) = orr_arena_strdup(&c->arena, name);
        at = f->list.n;
        orr_map_put(&f->known, name, (void *)at);
    }
    return (uint32_t)at - 1;
}

static void collect(orr_cubin *c, Dwarf *dw, row **rows, size_t *n, names *f) {
    size_t cap = 0;
    Dwarf_Off at = 0, next = 0;
    Dwarf_CU *cu = NULL;
    for (;; at = next) {
        Dwarf_Files *files;
        Dwarf_Lines *lines;
        size_t nfiles, nlines;
        int got = dwarf_next_lines(dw, at, &next, &cu, &files, &nfiles, &lines, &nlines);
        if (got > 0 || next <= at) break;
        if (got < 0) continue; // a damaged table: the next one may be whole
        for (size_t i = 0; i < nlines && *n < MAX_LINES; i++) {
            Dwarf_Line *l = dwarf_onesrcline(lines, i);
            Dwarf_Addr address;
            int line = 0;
            bool end = false;
            if (!l || dwarf_lineaddr(l, &address) != 0) continue;
            dwarf_lineno(l, &line);
            dwarf_lineendsequence(l, &end);
            const char *name = dwarf_linesrc(l, NULL, NULL);
            if (*n == cap) *rows = orr_realloc(*rows, (cap = cap ? cap * 2 : 256) * sizeof **rows);
            (*rows)[*n] = (row){.address = address,
                                .file = name ? file_number(c, f, name) : 0,
                                .line = end || !name || line < 0 ? 0 : (uint32_t)line,
                                .order = (uint32_t)*n};
            (*n)++;
        }
    }
}

static void distribute(orr_cubin *c, const row *rows, size_t n) {
    for (uint32_t f = 0; f < c->nfuncs; f++) {
        orr_cubin_func *x = &c->funcs[f];
        uint64_t from = (uint64_t)x->section << 32, to = from + x->code_bytes;
        size_t lo = 0, hi = n;
        while (lo < hi) {
            size_t mid = (lo + hi) / 2;
            if (rows[mid].address < from)
                lo = mid + 1;
            else
                hi = mid;
        }
        size_t end = lo;
        while (end < n && rows[end].address < to) end++;
        if (end == lo) continue;
        x->lines = orr_arena_alloc(&c->arena, (end - lo) * sizeof *x->lines);
        for (size_t i = lo; i < end; i++) {
            if (i + 1 < end && rows[i + 1].address == rows[i].address)
                continue; // the last one at a place counts
            x->lines[x->nlines++] = (orr_cubin_line){(uint32_t)rows[i].address, rows[i].file, rows[i].line};
        }
    }
}

void sass_read_lines(orr_cubin *c, sass_elf *elf) {
    bool any = false;
    for (uint32_t i = 1; i < c->nsections; i++) {
        const orr_cubin_section *s = &c->sections[i];
        any |= strcmp(s->name, ".debug_line") == 0;
        // nvcc compresses none of its sections; what does may be made to unpack into more memory than there
        // is
        if (s->flags & 0x800 || strncmp(s->name, ".zdebug", 7) == 0) return;
    }
    if (!any) return;
    relocate(c, elf);
    Dwarf *dw = dwarf_begin_elf(elf->handle, DWARF_C_READ, NULL);
    if (!dw) return;
    row *rows = NULL;
    size_t n = 0;
    names f = {0};
    collect(c, dw, &rows, &n, &f);
    if (n && f.list.n) { // lines of no file say nothing
        qsort(rows, n, sizeof *rows, by_address);
        distribute(c, rows, n);
    }
    c->nfiles = (uint32_t)f.list.n;
    c->files = orr_arena_alloc(&c->arena, sizeof *c->files * (f.list.n + 1));
    if (f.list.n) memcpy(c->files, f.list.at, sizeof *c->files * f.list.n);
    free(f.list.at);
    orr_map_free(&f.known);
    free(rows);
    dwarf_end(dw);
}

#else

void sass_read_lines(orr_cubin *c, sass_elf *elf) {
    (void)elf;
    for (uint32_t i = 1; i < c->nsections; i++)
        c->no_lines |= strcmp(c->sections[i].name, ".debug_line") == 0;
}

#endif
