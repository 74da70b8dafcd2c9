// Any bytes as a cubin, a fatbin or a program that holds some; and, when they are none of these, as machine
// code: the first byte chooses the architecture. Whatever is read is decoded and printed, and its kernels are
// loaded.
#include "sass/cubin.h"
#include "sass/module.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void code(orr_text *t, unsigned sm, const uint8_t *bytes, size_t n) {
    if (n > 1 << 13) n = 1 << 13; // inputs are many rather than long
    for (size_t at = 0; at + 16 <= n; at += 16) {
        orr_code c;
        bool known = orr_sass_decode(&c, sm, bytes + at, (uint32_t)at);
        if (known != (c.op != ORR_SASS_NONE) || c.nargs > ORR_CODE_ARGS || c.nmods > ORR_CODE_MODS) abort();
        orr_sass_print(t, &c);
        orr_sass_print_ctrl(t, c.ctrl);
        t->n = 0;
    }
}

static void walk(orr_text *t, const orr_cubin *c) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < c->nfuncs; i++) {
        const orr_cubin_func *f = &c->funcs[i];
        code(t, c->sm, f->code, f->code_bytes);
        for (uint32_t k = 0; k < f->nlines; k++)
            if (f->lines[k].file >= c->nfiles || (k && f->lines[k].address < f->lines[k - 1].address))
                abort();
        for (uint32_t k = 0; k < f->nrelocs; k++)
            if (f->relocs[k].offset >= f->code_bytes || f->relocs[k].symbol >= c->nsymbols) abort();
        for (uint32_t k = 0; k < f->nattrs; k++)
            for (uint32_t b = 0; b < f->attrs[k].bytes; b++) sum += f->attrs[k].value[b];
        for (uint32_t k = 0; k < f->constant0_bytes; k++) sum += f->constant0[k];
        for (uint32_t k = 0; k < f->nparams; k++) sum += f->params[k].bytes;
        if (f->code_bytes && f->nlines) orr_cubin_line_at(f, f->code_bytes / 2);
    }
    for (uint32_t i = 0; i < c->nsymbols; i++) sum += strlen(c->symbols[i].name);
    for (uint32_t i = 0; i < c->nsections; i++)
        if (c->sections[i].bytes && c->sections[i].size) sum += c->sections[i].bytes[c->sections[i].size - 1];
    orr_cubin_bank(c, 3);
    orr_text_add(t, "%llu", (unsigned long long)sum); // used
    t->n = 0;
}

// A kernel must be what everyone takes for granted.
static void check(orr_text *t, const orr_kernel *k) {
    uint32_t at = 0;
    for (uint32_t b = 0; b < k->nblocks; b++) {
        const orr_block *x = &k->blocks[b];
        if (x->first != at || !x->count || x->count > k->ninsts - at || x->func >= k->nfuncs) abort();
        at += x->count;
    }
    if (at != k->ninsts || !k->nfuncs) abort();
    uint64_t *places = orr_calloc((size_t)k->module->nvars + 1, sizeof *places);
    for (uint32_t n = 0; n < k->ninsts; n++) {
        const orr_inst *i = &k->insts[n];
        if (i->name >= k->nnames || (uint64_t)i->first + i->ndst + i->nsrc > k->noperands) abort();
        if (i->op == ORR_OP_BRA && (uint32_t)i->target >= k->nblocks) abort();
        if (i->op == ORR_OP_CALL && i->target >= (int32_t)k->nfuncs) abort();
        if (i->source.file > k->module->nfiles) abort();
        orr_code buf;
        if (orr_code_placed(k, n, places, &buf)->address != i->line) abort();
    }
    free(places);
    for (int i = 0; i < ORR_BANKS; i++)
        if (k->code.bank_var[i] > k->module->nvars) abort();
    orr_kernel_print(k, t);
    t->n = 0;
}

static void load(orr_text *t, const uint8_t *data, size_t n) {
    orr_err e = {0};
    orr_module *m = orr_sass_read(data, n, "fuzz", 0, &e);
    if (!m && (!e.status || !e.text[0])) abort();
    for (uint32_t i = 0; m && i < m->nkernels && i < 16; i++) {
        orr_err why = {0};
        orr_kernel *k = m->load(m, m->kernel_names[i], &why);
        if (!k && (!why.status || !why.text[0])) abort();
        if (k) check(t, k);
    }
    for (uint32_t v = 0; m && v < m->nvars; v++)
        for (uint32_t r = 0; r < m->vars[v].nrelocs; r++)
            if (m->vars[v].relocs[r].offset + m->vars[v].relocs[r].bytes > m->vars[v].bytes) abort();
    if (m) m->free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    orr_text t = {0};
    bool file = n >= 4 && (memcmp(data, "\177ELF", 4) == 0 || memcmp(data, "\x50\xed\x55\xba", 4) == 0);
    if (!file && n) {
        static const uint8_t sm[] = {75, 80, 86, 89, 90, 100, 120};
        code(&t, sm[data[0] % sizeof sm], data + 1, n - 1);
    }
    orr_err e = {0};
    orr_images *f = orr_images_read(data, n, "fuzz", &e);
    if (!f && (!e.status || !e.text[0])) abort(); // refused without a reason
    for (uint32_t i = 0; f && i < f->n && i < 8; i++) {
        orr_err why = {0};
        if (f->at[i].kind == ORR_IMAGE_PTX) {
            size_t size;
            if (f->at[i].unpacked < 1 << 20) free(orr_images_unpack(f, i, &size, &why));
            continue;
        }
        if (f->at[i].unpacked > 1 << 22) continue;
        orr_cubin *c = orr_images_cubin(f, i, &why);
        if (!c && (!why.status || !why.text[0])) abort();
        if (c) walk(&t, c);
        orr_cubin_free(c);
    }
    orr_images_free(f);
    load(&t, data, n);
    free(t.s);
    return 0;
}
