// Which source line an instruction comes from: the DWARF line tables, read by libdw.
//
// A cubin is not linked: its line programs set addresses that are relocated to functions, each of which
// begins at 0 of its own section. libdw knows nothing of NVIDIA's relocations. So they are applied here, in
// the copy of the file that the cubin owns, in a way that keeps the functions apart: address = n << 32 |
// offset, for the n-th of them in the order of the line program, because that is the order in which rows name
// those that call them (dwarf_linecontext) and libdw sorts by address.
#include "sass/lines.h"

#include <stdlib.h>
#include <string.h>

#ifdef ORRERY_HAVE_DW
#include <elfutils/libdw.h>

#define MAX_LINES (64u << 20)

typedef ORR_VEC(const orr_cubin_reloc *) relocs;

static int by_offset(const void *x, const void *y) {
    const orr_cubin_reloc *a = *(const orr_cubin_reloc *const *)x, *b = *(const orr_cubin_reloc *const *)y;
    if (a->section != b->section) return a->section < b->section ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static void relocate(orr_cubin *c, sass_elf *elf, relocs *in_order) {
    for (uint32_t i = 0; i < c->nrelocs; i++) {
        const orr_cubin_reloc *r = &c->relocs[i];
        const orr_cubin_section *s = &c->sections[r->section];
        if (strcmp(s->name, ".debug_line") != 0 || !s->bytes || s->size < 8 || r->offset > s->size - 8)
            continue;
        *ORR_PUSH(in_order) = r;
    }
    if (in_order->n) qsort(in_order->at, in_order->n, sizeof *in_order->at, by_offset);
    for (size_t n = 0; n < in_order->n; n++) {
        const orr_cubin_reloc *r = in_order->at[n];
        const orr_cubin_section *s = &c->sections[r->section];
        const orr_cubin_symbol *y = &c->symbols[r->symbol];
        uint64_t address = (uint64_t)n << 32 | (uint32_t)(y->value + (uint64_t)r->addend);
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

// A function of the CUDA toolkit's headers that was inlined, such as atomicAdd, is nothing to its user: what
// counts is the line that calls it.
static bool of_toolkit(const char *name) {
    return name && strstr(name, "/include/") && (strstr(name, "/targets/") || strstr(name, "/cuda"));
}

// Rows are numbered from the beginning of their function (`first`); libdw takes it for that of the table.
static Dwarf_Line *calling_line(Dwarf_Lines *lines, size_t n, size_t first, Dwarf_Line *l) {
    const char *row = (const char *)dwarf_onesrcline(lines, 0);
    ptrdiff_t bytes = n > 1 ? (const char *)dwarf_onesrcline(lines, 1) - row : 0;
    for (int depth = 0; depth < 32 && bytes > 0 && of_toolkit(dwarf_linesrc(l, NULL, NULL)); depth++) {
        const char *from = (const char *)dwarf_linecontext(lines, l);
        if (!from || from < row || (size_t)((from - row) / bytes) >= n - first) break;
        l = dwarf_onesrcline(lines, first + (size_t)((from - row) / bytes));
    }
    return l;
}

static void collect(orr_cubin *c, Dwarf *dw, const relocs *in_order, row **rows, size_t *n, names *f) {
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
        for (size_t i = 0, first = 0; i < nlines && *n < MAX_LINES; i++) {
            Dwarf_Line *l = dwarf_onesrcline(lines, i);
            Dwarf_Addr address;
            int line = 0;
            bool end = false;
            if (!l || dwarf_lineaddr(l, &address) != 0 || address >> 32 >= in_order->n) continue;
            uint64_t section = c->symbols[in_order->at[address >> 32]->symbol].section;
            address = section << 32 | (uint32_t)address;
            dwarf_lineendsequence(l, &end);
            l = calling_line(lines, nlines, first, l);
            if (end) first = i + 1;
            dwarf_lineno(l, &line);
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
    relocs in_order = {0};
    relocate(c, elf, &in_order);
    Dwarf *dw = dwarf_begin_elf(elf->handle, DWARF_C_READ, NULL);
    if (!dw) {
        free(in_order.at);
        return;
    }
    row *rows = NULL;
    size_t n = 0;
    names f = {0};
    collect(c, dw, &in_order, &rows, &n, &f);
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
    free(in_order.at);
    dwarf_end(dw);
}

#else

void sass_read_lines(orr_cubin *c, sass_elf *elf) {
    (void)elf;
    for (uint32_t i = 1; i < c->nsections; i++)
        c->no_lines |= strcmp(c->sections[i].name, ".debug_line") == 0;
}

#endif
