// orr_disassemble: the machine code of a cubin, a fatbin, a program or a library, as nvdisasm writes it, with
// the control word beside it and source lines between.
#include "api/api.h"
#include "sass/cubin.h"

#include <stdlib.h>
#include <string.h>

typedef struct printer {
    FILE *out; // what is in the text goes there from time to time: libraries are large
    orr_text *t;
    bool json;
    const char *between; // JSON: before the next function
    char *folder;        // code goes there instead
    uint64_t insts, unknown, functions;
} printer;

// ---- text -------------------------------------------------------------------------------------
static void head_text(orr_text *t, const orr_cubin *c, const orr_cubin_func *f) {
    orr_text_add(t, "\n// %s %s, sm_%u: %u registers, %u bytes shared, %u bytes local, %u barriers",
                 f->entry ? "kernel" : "function", f->name, c->sm, f->regs, f->shared_bytes, f->stack_bytes,
                 f->barriers);
    if (f->param_bytes) {
        orr_text_add(t, "\n// %u bytes of parameters at c[0x0][0x%x]:", f->param_bytes, f->param_base);
        for (uint32_t i = 0; i < f->nparams; i++)
            orr_text_add(t, " %u at 0x%x%s", f->params[i].bytes, f->param_base + f->params[i].offset,
                         i + 1 < f->nparams ? "," : "");
    }
    orr_text_add(t, "\n");
}

static void labels(orr_text *t, const orr_cubin *c, const orr_cubin_func *f, uint32_t address) {
    for (uint32_t i = 0; i < c->nsymbols; i++) {
        const orr_cubin_symbol *y = &c->symbols[i];
        if (y->section == f->section && y->value == address && y->type == 2 && y->value)
            orr_text_add(t, "%s:\n", y->name);
    }
}

// ---- JSON -------------------------------------------------------------------------------------
static void head_json(printer *p, const orr_cubin *c, const orr_cubin_func *f) {
    orr_text *t = p->t;
    orr_text_add(t, "%s\n {\"name\": ", p->between);
    p->between = ",";
    orr_text_json(t, f->name);
    orr_text_add(
        t, ", \"kernel\": %s, \"sm\": %u, \"registers\": %u, \"shared_bytes\": %u, \"local_bytes\": %u, ",
        f->entry ? "true" : "false", c->sm, f->regs, f->shared_bytes, f->stack_bytes);
    orr_text_add(t, "\"barriers\": %u, \"param_base\": %u, \"param_bytes\": %u, \"params\": [", f->barriers,
                 f->param_base, f->param_bytes);
    for (uint32_t i = 0; i < f->nparams; i++)
        orr_text_add(t, "%s{\"offset\": %u, \"bytes\": %u}", i ? ", " : "", f->params[i].offset,
                     f->params[i].bytes);
    orr_text_add(t, "], \"code\": [");
}

static void barrier_json(orr_text *t, const char *name, unsigned v) {
    if (v == 7)
        orr_text_add(t, ", \"%s\": null", name);
    else
        orr_text_add(t, ", \"%s\": %u", name, v);
}

static void inst_json(orr_text *t, const orr_cubin *c, const orr_code *code, const orr_cubin_line *line) {
    orr_text text = {0};
    orr_sass_print(&text, code);
    orr_text_add(t, "%s\n  {\"address\": %u, \"text\": ", code->address ? "," : "", code->address);
    orr_text_json(t, text.s);
    free(text.s);
    orr_text_add(t, ", \"opcode\": ");
    orr_text_json(t, code->op ? orr_sass[code->op].name : "");
    orr_text_add(t, ", \"bits\": \"0x%016llx%016llx\", \"stall\": %u, \"yield\": %s",
                 (unsigned long long)code->hi, (unsigned long long)code->lo, ORR_CTRL_STALL(code->ctrl),
                 ORR_CTRL_YIELD(code->ctrl) ? "false" : "true");
    barrier_json(t, "write_barrier", ORR_CTRL_WBAR(code->ctrl));
    barrier_json(t, "read_barrier", ORR_CTRL_RBAR(code->ctrl));
    orr_text_add(t, ", \"wait\": %u, \"reuse\": %u", ORR_CTRL_WAIT(code->ctrl), ORR_CTRL_REUSE(code->ctrl));
    if (line && c->files) {
        orr_text_add(t, ", \"file\": ");
        orr_text_json(t, c->files[line->file]);
        orr_text_add(t, ", \"line\": %u", line->line);
    }
    orr_text_add(t, "}");
}

// ---- functions and images ---------------------------------------------------------------------
static void func(printer *p, const orr_cubin *c, const orr_cubin_func *f) {
    orr_text *t = p->t;
    if (p->json)
        head_json(p, c, f);
    else
        head_text(t, c, f);
    const orr_cubin_line *last = NULL;
    uint32_t reloc = 0;
    bool many = c->nsymbols > 10000; // looking for labels costs the symbols at each instruction
    for (uint32_t at = 0; at < f->code_bytes; at += 16) {
        orr_code code;
        p->unknown += !orr_sass_decode(&code, c->sm, f->code + at, at);
        p->insts++;
        const orr_cubin_line *line = orr_cubin_line_at(f, at);
        if (line && (!c->files || line->file >= c->nfiles)) line = NULL;
        if (p->json) {
            inst_json(t, c, &code, line);
            continue;
        }
        if (!many) labels(t, c, f, at);
        if (line && c->files && (!last || line->line != last->line || line->file != last->file))
            orr_text_add(t, "\t//## File \"%s\", line %u\n", c->files[line->file], line->line);
        last = line;
        orr_text_add(t, "        /*%04x*/  [", at);
        orr_sass_print_ctrl(t, code.ctrl);
        orr_text_add(t, "]  ");
        orr_sass_print(t, &code);
        orr_text_add(t, " ;");
        for (; reloc < f->nrelocs && f->relocs[reloc].offset < at + 16; reloc++) {
            const orr_cubin_reloc *r = &f->relocs[reloc];
            orr_text_add(t, "  // R_CUDA %u %s+0x%llx", r->type, c->symbols[r->symbol].name,
                         (unsigned long long)r->addend);
        }
        orr_text_add(t, "\n");
    }
    if (p->json) orr_text_add(t, "]}");
    if (t->n > 1 << 20) {
        fwrite(t->s, 1, t->n, p->out);
        t->n = 0;
    }
}

// ---- code by itself ---------------------------------------------------------------------------
static bool dumped(const char *name) { // is it a file that --dump has made?
    size_t n = strspn(name, "0123456789");
    if (n < 5 || strncmp(name + n, ".sm_", 4) != 0) return false;
    size_t m = strspn(name + n + 4, "0123456789");
    return m && strcmp(name + n + 4 + m, ".bin") == 0;
}

static void dump(printer *p, const orr_cubin *c, const orr_cubin_func *f, orr_err *e) {
    if (!f->code_bytes) return;
    char name[64];
    snprintf(name, sizeof name, "%05llu.sm_%u.bin", (unsigned long long)++p->functions, c->sm);
    orr_text path = {0};
    orr_text_add(&path, "%s/%s", p->folder, name);
    FILE *f_out = fopen(path.s, "wb");
    bool ok = f_out && fwrite(f->code, 1, f->code_bytes, f_out) == f->code_bytes;
    if (f_out && fclose(f_out) != 0) ok = false;
    if (!ok) orr_fail(e, ORR_BAD_INPUT, "%s: cannot be written", path.s);
    free(path.s);
    orr_text_add(p->t, "%s %s %s\n", name, f->entry ? "kernel" : "function", f->name);
}

// ---- what is asked for ------------------------------------------------------------------------
static bool arch_number(const char *s, unsigned *sm, orr_err *e) {
    *sm = 0;
    if (!s) return true;
    const char *d = strncmp(s, "sm_", 3) == 0 ? s + 3 : s;
    char *end;
    unsigned long v = strtoul(d, &end, 10);
    if (end == d || v < 10 || v > 999 || (*end && strcmp(end, "a") != 0 && strcmp(end, "f") != 0))
        return orr_fail(e, ORR_BAD_INPUT, "disasm: --arch takes an architecture as sm_90, not \"%.40s\"", s);
    *sm = (unsigned)v;
    return true;
}

static void none_fits(const orr_options *o, const orr_images *f, unsigned sm, bool found, orr_err *e) {
    if (found) {
        orr_fail(e, ORR_BAD_INPUT, "%s: has no kernel \"%.200s\"", f->path, o->in.direct.kernel);
        return;
    }
    orr_text t = {0};
    for (uint32_t i = 0; i < f->n && t.n < 400; i++) {
        char word[40];
        snprintf(word, sizeof word, "%s_%u", f->at[i].kind == ORR_IMAGE_PTX ? "PTX for compute" : "sm",
                 f->at[i].sm);
        if (!t.s || !strstr(t.s, word)) orr_text_add(&t, "%s%s", t.n ? ", " : "", word);
    }
    if (sm)
        orr_fail(e, ORR_BAD_INPUT, "%s: has no code for sm_%u; it has %s", f->path, sm, t.s ? t.s : "none");
    else
        orr_fail(e, ORR_BAD_INPUT, "%s: has no machine code; it has %s", f->path, t.s ? t.s : "none");
    free(t.s);
}

// Which images: of each architecture all, or `images` of them, the first one and at even distances.
static bool chosen(const orr_options *o, const orr_images *f, uint32_t i, unsigned sm) {
    if (f->at[i].kind != ORR_IMAGE_CUBIN || (sm && f->at[i].sm != sm)) return false;
    if (!o->code.images) return true;
    uint64_t before = 0, all = 0, want = (uint64_t)o->code.images;
    for (uint32_t k = 0; k < f->n; k++)
        if (f->at[k].kind == ORR_IMAGE_CUBIN && f->at[k].sm == f->at[i].sm) {
            before += k < i;
            all++;
        }
    return want >= all || (before * want + all - 1) / all < ((before + 1) * want + all - 1) / all;
}

static void finish(const orr_options *o, const char *path, printer *p, bool any) {
    orr_text *t = p->t;
    if (p->json) orr_text_add(t, "%s\n]\n", any ? "" : "[");
    if (t->n) fwrite(t->s, 1, t->n, p->out);
    if (p->unknown)
        orr_note(&o->notes, "%s: %llu of %llu instructions are not known", path,
                 (unsigned long long)p->unknown, (unsigned long long)p->insts);
}

static void files(const orr_options *o, const char *path, unsigned sm, printer *p, orr_err *e) {
    orr_images *f = orr_images_open(path, e);
    if (!f) return;
    bool found = false, any = false, lines = true;
    unsigned old = 0;
    orr_progress progress;
    orr_progress_start(&progress, o->watcher, path, "images", "functions", f->n);
    for (uint32_t i = 0; i < f->n && !e->status && orr_progress_go(&progress, e); i++) {
        orr_progress_step(&progress, i);
        if (!chosen(o, f, i, sm)) continue;
        if (!sm && f->n > 1 && !orr_sass_supported(f->at[i].sm)) {
            old = f->at[i].sm;
            continue;
        }
        orr_cubin *c = orr_images_cubin(f, i, e);
        if (!c) break;
        found = true;
        lines = lines && !c->no_lines;
        for (uint32_t k = 0; k < c->nfuncs && !e->status; k++) {
            if (o->in.direct.kernel && strcmp(o->in.direct.kernel, c->funcs[k].name) != 0) continue;
            any = true;
            if (p->folder)
                dump(p, c, &c->funcs[k], e);
            else
                func(p, c, &c->funcs[k]);
        }
        orr_cubin_free(c);
    }
    orr_progress_end(&progress);
    if (!e->status && (!found || (o->in.direct.kernel && !any))) none_fits(o, f, sm, found, e);
    if (!e->status || e->status == ORR_STOPPED) finish(o, path, p, any);
    if (!e->status && !lines)
        orr_note(&o->notes, "%s: source lines are left out: this build has no libdw", f->path);
    if (!e->status && old)
        orr_note(&o->notes, "%s: code for sm_%u is left out: its encoding is another", f->path, old);
    orr_images_free(f);
}

// Nothing but instructions.
static void raw(const char *path, const orr_options *o, unsigned sm, printer *p, orr_err *e) {
    if (!sm || !orr_sass_supported(sm)) {
        orr_fail(e, ORR_BAD_INPUT, "disasm: --raw needs --arch, an architecture from sm_70 on");
        return;
    }
    size_t n;
    char *bytes = orr_read_file(path, 1u << 30, &n, e);
    if (!bytes) return;
    if (n == 0 || n % 16) {
        orr_fail(e, ORR_BAD_INPUT, "%s: is not machine code: its size is no multiple of 16 bytes", path);
    } else {
        orr_cubin c = {.path = path, .sm = sm};
        orr_cubin_func f = {.name = path, .code = (const uint8_t *)bytes, .code_bytes = (uint32_t)n};
        func(p, &c, &f);
        finish(o, path, p, true);
    }
    free(bytes);
}

bool orr_disassemble(const char *file, FILE *out, const orr_options *o, orr_err *e) {
    unsigned sm;
    if (e->status) return false;
    o = orr_asked(o);
    const orr_code_options *c = &o->code;
    if (!arch_number(c->arch, &sm, e)) return false;
    orr_text t = {0};
    printer p = {.out = out, .t = &t, .between = "["};
    p.json = o->files.format && !strcmp(o->files.format, "json");
    if (c->dump && (c->raw || p.json))
        return orr_fail(e, ORR_BAD_INPUT, "disasm: --dump goes with neither --raw nor --json");
    if (c->dump && !(p.folder = orr_out_folder(c->dump, dumped, e))) return false;
    if (c->raw)
        raw(file, o, sm, &p, e);
    else
        files(o, file, sm, &p, e);
    if (p.folder) orr_out_folder_end(p.folder, c->dump, !e->status, e);
    free(t.s);
    return !e->status;
}
