// Running a script: statements against a backend. Buffers are made, moved and compared in blocks, so
// that a script needs little memory beside the backend's own.
#include "clc/clc.h"
#include "launch/script.h"
#include "ptx/ptx.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void orr_script_stop(run *r, int status, int line, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    orr_script_error(r->s, r->e, status, line, fmt, ap);
    va_end(ap);
    longjmp(r->out, 1);
}

// A backend failed. Faults of the simulated program already say where; the rest gets the line.
static _Noreturn void backend_failed(run *r, int line, const orr_err *why) {
    if (why->status == ORR_PROGRAM_FAILED || why->status == ORR_STOPPED) {
        orr_fail(r->e, why->status, "%s", why->text);
        longjmp(r->out, 1);
    }
    stop(r, ORR_BAD_INPUT, line, "%s", why->status ? why->text : "it failed without a reason");
}

// ---- buffers --------------------------------------------------------------------------------
buffer *orr_buffer(run *r, int slot, int line) {
    buffer *b = &r->bufs[slot];
    if (!b->made)
        stop(r, ORR_BAD_INPUT, line, "buffer '%s' was not made before this line", r->s->names.at[slot].text);
    return b;
}

void orr_buffer_read(run *r, const buffer *b, uint64_t first, uint64_t n, void *out, int line) {
    orr_err why = {0};
    uint64_t size = orr_elem_bytes(b->type);
    if (!r->b->read(r->b->self, b->addr + first * size, out, n * size, &why)) backend_failed(r, line, &why);
}

void orr_buffer_write(run *r, const buffer *b, uint64_t first, uint64_t n, const void *data, int line) {
    orr_err why = {0};
    uint64_t size = orr_elem_bytes(b->type);
    r->cache_bytes = 0;
    if (!r->b->write(r->b->self, b->addr + first * size, data, n * size, &why)) backend_failed(r, line, &why);
}

static void fill_buffer(run *r, const buffer *b, const fill *f, const char *name, int line) {
    maker m;
    orr_maker_start(r, &m, f, b->type, b->count, name);
    uint64_t per = BLOCK_BYTES / orr_elem_bytes(b->type);
    for (uint64_t at = 0; at < b->count; at += per) {
        uint64_t n = b->count - at < per ? b->count - at : per;
        orr_maker_make(r, &m, at, n, r->block);
        orr_buffer_write(r, b, at, n, r->block, line);
    }
    free(r->file);
    r->file = NULL;
}

static uint64_t length_of(run *r, const stmt *st) {
    if (!st->a) return st->fill->nlist;
    uint64_t size = orr_elem_bytes(r->s->names.at[st->slot].type);
    return (uint64_t)orr_eval_int(r, st->a, "the number of elements", 1, (int64_t)(MAX_BUFFER_BYTES / size));
}

static uint64_t allocate(run *r, const stmt *st, const char *name, uint64_t bytes) {
    if (bytes > r->s->max_bytes - r->stats.buffer_bytes) {
        stop(r, ORR_BAD_INPUT, st->line, "with '%s' the buffers take more than %" PRIu64 " MiB", name,
             r->s->max_bytes >> 20);
    }
    orr_err why = {0};
    uint64_t addr = r->b->alloc(r->b->self, name, bytes, &why);
    if (!addr) backend_failed(r, st->line, &why);
    r->stats.buffer_bytes += bytes;
    return addr;
}

static void do_buffer(run *r, const stmt *st) {
    const name *n = &r->s->names.at[st->slot];
    buffer *b = &r->bufs[st->slot];
    if (b->made)
        stop(r, ORR_BAD_INPUT, st->line, "buffer '%s' was made already; make it once, before the loop",
             n->text);
    uint64_t count = length_of(r, st), bytes = count * orr_elem_bytes(n->type);
    uint64_t addr = allocate(r, st, n->text, bytes);
    *b = (buffer){.made = true, .type = n->type, .addr = addr, .count = count};
    r->stats.buffers++;
    if (st->fill->kind != FILL_ZERO) fill_buffer(r, b, st->fill, n->text, st->line);
}

static bool has_variable(const orr_module *m, const char *name) {
    for (uint32_t v = 0; m && v < m->nvars; v++)
        if (!strcmp(m->vars[v].name, name)) return true;
    for (uint32_t y = 0; m && y < m->nsymbols; y++)
        if (!strcmp(m->symbols[y].name, name)) return true;
    return false;
}

// A module's variable, which from here on is a buffer like others.
static void do_symbol(run *r, const stmt *st) {
    const name *n = &r->s->names.at[st->slot];
    uint64_t count = length_of(r, st), bytes = count * orr_elem_bytes(n->type), addr = 0, has = 0;
    orr_err why = {0};
    bool found = false;
    for (size_t k = 0; k < r->s->modules.n && !found; k++) {
        found = has_variable(r->s->modules.at[k].module, n->text);
        if (found && !r->b->symbol(r->b->self, (int)k, n->text, &addr, &has, &why))
            backend_failed(r, st->line, &why);
    }
    if (!found && r->reference) { // without modules: memory of its own, once
        const buffer *b = &r->bufs[st->slot];
        addr = b->made ? b->addr : allocate(r, st, n->text, bytes);
        has = b->made ? b->count * orr_elem_bytes(b->type) : bytes;
        found = true;
    }
    if (!found) stop(r, ORR_BAD_INPUT, st->line, "no module has a variable '%s'", n->text);
    if (bytes > has) {
        stop(r, ORR_BAD_INPUT, st->line, "'%s' has %" PRIu64 " bytes in the module and %" PRIu64 " here",
             n->text, has, bytes);
    }
    r->bufs[st->slot] = (buffer){.made = true, .symbol = true, .type = n->type, .addr = addr, .count = count};
    if (st->fill->kind != FILL_KEEP) fill_buffer(r, &r->bufs[st->slot], st->fill, n->text, st->line);
}

static void do_set(run *r, const stmt *st) {
    buffer *b = orr_buffer(r, st->slot, st->line);
    if (!st->b) {
        fill_buffer(r, b, &(fill){.kind = FILL_VALUE, .line = st->line, .a = st->a}, "", st->line);
        return;
    }
    uint8_t one[8];
    char buf[80];
    int64_t at = orr_eval_int(r, st->b, "the index", 0, (int64_t)b->count - 1);
    value v = orr_eval(r, st->a);
    if (v.kind == V_BUF || !orr_elem_store(b->type, v, false, one)) {
        stop(r, ORR_BAD_INPUT, st->line, "%s does not fit the element type %s", orr_value_text(v, buf),
             orr_elem_name(b->type));
    }
    orr_buffer_write(r, b, (uint64_t)at, 1, one, st->line);
}

static void do_copy(run *r, const stmt *st) {
    buffer *to = orr_buffer(r, st->slot, st->line), *from = orr_buffer(r, st->slot2, st->line);
    uint64_t bytes = to->count * orr_elem_bytes(to->type);
    if (bytes != from->count * orr_elem_bytes(from->type)) {
        stop(r, ORR_BAD_INPUT, st->line, "'%s' and '%s' have different sizes", r->s->names.at[st->slot].text,
             r->s->names.at[st->slot2].text);
    }
    buffer src = *from, dst = *to;
    src.type = dst.type = ORR_T_U8;
    for (uint64_t at = 0; at < bytes; at += BLOCK_BYTES) {
        uint64_t n = bytes - at < BLOCK_BYTES ? bytes - at : BLOCK_BYTES;
        orr_buffer_read(r, &src, at, n, r->block, st->line);
        orr_buffer_write(r, &dst, at, n, r->block, st->line);
    }
}

static void do_swap(run *r, const stmt *st) {
    buffer *a = orr_buffer(r, st->slot, st->line), *b = orr_buffer(r, st->slot2, st->line);
    if (a->type != b->type || a->count != b->count || a->symbol || b->symbol) {
        stop(r, ORR_BAD_INPUT, st->line,
             "'%s' and '%s' must be buffers of the same type and length to be swapped",
             r->s->names.at[st->slot].text, r->s->names.at[st->slot2].text);
    }
    buffer t = *a;
    *a = *b;
    *b = t;
}

// What a backend that measures makes of it is its own business.
static void do_measure(run *r, const stmt *st) {
    if (!r->b || !r->b->measure) return;
    const measuring *m = st->measuring;
    char point[MAX_POINT * 96], buf[80];
    size_t n = 0;
    point[0] = 0;
    for (uint32_t k = 0; k < m->nvars && n < sizeof point; k++) {
        value v = r->vars[m->vars[k]];
        const char *name = r->s->names.at[m->vars[k]].text;
        if (v.kind == V_NONE) stop(r, ORR_BAD_INPUT, st->line, "'%s' has no value here", name);
        n += (size_t)snprintf(point + n, sizeof point - n, "%s%.60s=%s", k ? " " : "", name,
                              orr_value_text(v, buf));
    }
    orr_reading got = {.name = m->name, .unit = m->unit, .point = point, .line = st->line};
    got.value = orr_eval_double(r, st->a);
    r->b->measure(r->b->self, &got);
}

static void do_print(run *r, const stmt *st) {
    const buffer *b = orr_buffer(r, st->slot, st->line);
    uint64_t most = b->count < 4096 ? b->count : 4096;
    uint64_t n = st->a       ? (uint64_t)orr_eval_int(r, st->a, "the number of elements", 0, (int64_t)most)
                 : most < 16 ? most
                             : 16;
    char buf[80];
    orr_buffer_read(r, b, 0, n, r->block, st->line);
    FILE *out = r->s->print ? r->s->print : stderr;
    fprintf(out, "%s:", r->s->names.at[st->slot].text);
    for (uint64_t k = 0; k < n; k++) {
        fprintf(out, " %s", orr_elem_text(b->type, r->block + k * orr_elem_bytes(b->type), false, buf));
    }
    fprintf(out, "%s\n", n < b->count ? " ..." : "");
}

// ---- launches -------------------------------------------------------------------------------
// Which module has the kernel. Runs before anything else, so a misspelt name costs nothing.
static void find_kernel(run *r, const stmt *st) {
    call *c = st->call;
    orr_script *s = r->s;
    orr_text known = {0};
    orr_nearest near = {.to = c->kernel};
    uint32_t kernels = 0;
    c->module = -1;
    for (size_t k = 0; k < s->modules.n && c->module < 0; k++) {
        const orr_module *m = s->modules.at[k].module;
        for (uint32_t j = 0; j < m->nkernels && c->module < 0; j++) {
            if (!strcmp(m->kernel_names[j], c->kernel)) c->module = (int)k;
            orr_consider(&near, m->kernel_names[j]);
            if (kernels++ < 20) orr_text_add(&known, " %s", m->kernel_names[j]);
        }
    }
    for (size_t k = 0; k < s->modules.n && c->module < 0 && *c->kernel;
         k++) { // a C++ name as people write it
        const char *meant = orr_module_kernel_meant(s->modules.at[k].module, c->kernel);
        if (!meant) continue;
        c->module = (int)k;
        c->kernel = meant;
    }
    if (c->module < 0 && !*c->kernel && kernels == 1) { // none named and there is but one
        for (size_t k = 0; k < s->modules.n; k++) {
            if (!s->modules.at[k].module->nkernels) continue;
            c->module = (int)k;
            c->kernel = orr_arena_strdup(&s->arena, s->modules.at[k].module->kernel_names[0]);
        }
    }
    if (c->module >= 0) {
        free(known.s);
        return;
    }
    char list[400];
    snprintf(list, sizeof list, "%s%s", known.s ? known.s : " none", kernels > 20 ? " ..." : "");
    free(known.s);
    if (!*c->kernel) stop(r, ORR_BAD_INPUT, st->line, "say which kernel; there are:%s", list);
    if (!s->modules.n)
        stop(r, ORR_BAD_INPUT, st->line, "kernel '%s' needs a module; name its file with module \"FILE\"",
             c->kernel);
    if (orr_is_near(&near))
        stop(r, ORR_BAD_INPUT, st->line, "no module has a kernel '%s'; did you mean '%s'?", c->kernel,
             near.best);
    stop(r, ORR_BAD_INPUT, st->line, "no module has a kernel '%s'; there are:%s", c->kernel, list);
}

static void find_kernels(run *r, const stmt *st) {
    for (; st; st = st->next) {
        if (st->kind == S_LAUNCH) find_kernel(r, st);
        find_kernels(r, st->body);
        find_kernels(r, st->other);
    }
}

static void open_modules(run *r) {
    orr_script *s = r->s;
    for (size_t k = 0; k < s->modules.n; k++) {
        module_ref *m = &s->modules.at[k];
        orr_err why = {0};
        if (!m->module) {
            m->module =
                s->open ? s->open(m->path, &why) : orr_module_find(m->path, m->build, s->source, s->sm, &why);
            if (m->module && !s->open && !s->as_is) orr_ptx_long_ways(m->module);
        }
        if (!m->module) {
            orr_fail(r->e, why.status ? why.status : ORR_BAD_INPUT, "%s", why.text);
            longjmp(r->out, 1);
        }
        if (!r->b->load(r->b->self, (int)k, m->module, &why)) backend_failed(r, m->line, &why);
    }
    find_kernels(r, s->stmts);
}

// A number or a buffer's address as `bytes` bytes of type `type` at `out`.
static void pack_value(run *r, const arg *a, int type, uint32_t bytes, uint8_t *out, const char *what) {
    value v = orr_eval(r, a->e);
    char buf[80];
    int line = a->e->line;
    if (v.kind == V_BUF) {
        if (bytes != 8) {
            stop(r, ORR_BAD_INPUT, line, "%s takes %u bytes and buffer '%s' is an address of 8", what, bytes,
                 r->s->names.at[v.slot].text);
        }
        const buffer *b = orr_buffer(r, v.slot, line);
        uint64_t addr = b->addr + (uint64_t)v.i * orr_elem_bytes(b->type);
        memcpy(out, &addr, 8);
        return;
    }
    if (orr_elem_bytes(type) != bytes) {
        stop(r, ORR_BAD_INPUT, line, "%s takes %u bytes and %s is not of that size", what, bytes,
             orr_elem_name(type));
    }
    if (v.kind == V_FLOAT && !orr_elem_float(type) &&
        !(v.f - v.f == 0 && v.f < 0x1p63 && v.f >= -0x1p63 && (double)(int64_t)v.f == v.f)) {
        stop(r, ORR_BAD_INPUT, line, "%s is an integer and gets %s; write f%u:... or int(...)", what,
             orr_value_text(v, buf), 8 * bytes);
    }
    if (!orr_elem_store(type, v, false, out)) {
        stop(r, ORR_BAD_INPUT, line, "%s does not fit %s, which is %s", orr_value_text(v, buf), what,
             orr_elem_name(type));
    }
}

// The type an argument is converted to when the script states none. PTX's untyped .b32 may hold a
// float, so a double there is not guessed at. Machine code has no types at all: there a number with a
// fraction is a float, and an integer an integer.
static int param_type(run *r, const orr_param *p, const arg *a, const orr_kernel *k, const char *what) {
    switch (p->type) {
    case ORR_T_U8:
    case ORR_T_S8:
    case ORR_T_U16:
    case ORR_T_S16:
    case ORR_T_F16:
    case ORR_T_BF16:
    case ORR_T_U32:
    case ORR_T_S32:
    case ORR_T_F32:
    case ORR_T_U64:
    case ORR_T_S64:
    case ORR_T_F64: return p->type;
    default: break;
    }
    static const int untyped[9] = {0, ORR_T_U8, ORR_T_U16, 0, ORR_T_U32, 0, 0, 0, ORR_T_U64};
    int type = p->bytes <= 8 ? untyped[p->bytes] : 0;
    if (!type)
        stop(r, ORR_BAD_INPUT, a->e->line, "%s is a structure of %u bytes; write {f32:1.5, s32:2, ...}", what,
             p->bytes);
    value v = orr_eval(r, a->e);
    if (v.kind == V_FLOAT) {
        bool fraction = v.f != v.f || v.f >= 0x1p63 || v.f < -0x1p63 || (double)(int64_t)v.f != v.f;
        if (k->machine && fraction && p->bytes >= 4) return p->bytes == 8 ? ORR_T_F64 : ORR_T_F32;
        stop(r, ORR_BAD_INPUT, a->e->line, "%s has no type in the module; write f%u:... or int(...)", what,
             8 * p->bytes);
    }
    return type;
}

// A stated type that the module contradicts is a mistake; .b32 and the like take any.
static void check_type(run *r, const orr_param *p, const arg *a, const char *what) {
    bool integer = p->type == ORR_T_U16 || p->type == ORR_T_S16 || p->type == ORR_T_U32 ||
                   p->type == ORR_T_S32 || p->type == ORR_T_U64 || p->type == ORR_T_S64;
    bool contradicts = orr_elem_float(a->type) ? integer : orr_elem_float(p->type);
    if (!contradicts || orr_elem_bytes(a->type) != p->bytes || orr_eval(r, a->e).kind == V_BUF) return;
    stop(r, ORR_BAD_INPUT, a->e->line, "%s is %s in the module and is given as %s", what,
         orr_elem_name(p->type), orr_elem_name(a->type));
}

static void pack_arg(run *r, const arg *a, const orr_param *p, uint32_t index, const stmt *st) {
    char what[120], of[160];
    snprintf(what, sizeof what, "argument %u (%.80s)", index + 1, p->name ? p->name : "?");
    uint8_t *out = r->params + p->offset;
    if (a->e) {
        if (a->type != ORR_T_NONE) check_type(r, p, a, what);
        int type = a->type != ORR_T_NONE ? a->type : param_type(r, p, a, st->call->loaded, what);
        pack_value(r, a, type, p->bytes, out, what);
        return;
    }
    if (a->tensor) {
        orr_pack_tensor(r, a->tensor, p->bytes, out, what);
        return;
    }
    if (a->texture) {
        orr_pack_texture(r, a->texture, p->bytes, out, what);
        return;
    }
    uint32_t at = 0; // a structure: fields one after the other, each aligned to its size
    for (uint32_t k = 0; k < a->nfields; k++) {
        const arg *f = &a->fields[k];
        int type = f->type;
        snprintf(of, sizeof of, "field %u of %s", k + 1, what);
        if (type == ORR_T_NONE) {
            if (orr_eval(r, f->e).kind != V_BUF)
                stop(r, ORR_BAD_INPUT, f->e->line, "%s needs a type, as in f32:1.5", of);
            type = ORR_T_U64;
        }
        uint32_t size = orr_elem_bytes(type);
        at = (at + size - 1) / size * size;
        if (at + size > p->bytes)
            stop(r, ORR_BAD_INPUT, st->line, "%s does not fit: the parameter has %u bytes", of, p->bytes);
        pack_value(r, f, type, size, out + at, of);
        at += size;
    }
}

// local:BYTES: more dynamic shared memory, behind what there is; the argument is its address.
static void pack_local(run *r, const arg *a, const orr_param *p, uint32_t index, orr_call *out) {
    uint64_t bytes = (uint64_t)orr_eval_int(r, a->e, "the local memory", 1, 1 << 20);
    uint64_t base = (out->kernel->shared_base + out->kernel->shared_bytes + 15) & ~15u;
    uint64_t at = orr_clc_local_begin(base + out->dynamic_shared, bytes);
    if (p->bytes != 8 && p->bytes != 4)
        stop(r, ORR_BAD_INPUT, a->e->line, "argument %u is not a pointer to local memory", index + 1);
    out->dynamic_shared = (uint32_t)(at - base + bytes);
    memcpy(r->params + p->offset, &at, p->bytes);
}

static void pack_args(run *r, const stmt *st, orr_call *out) {
    const orr_kernel *k = out->kernel;
    const call *c = st->call;
    if (c->nargs != k->nparams) {
        orr_text types = {0};
        for (uint32_t j = 0; j < k->nparams && j < 40; j++) {
            orr_text_add(&types, "%s%s", j ? ", " : " (", orr_elem_name(k->params[j].type));
        }
        char list[300];
        snprintf(list, sizeof list, "%s%s", types.s ? types.s : "", types.s ? ")" : "");
        free(types.s);
        stop(r, ORR_BAD_INPUT, st->line, "kernel '%s' takes %u arguments%s and %u are given", k->name,
             k->nparams, list, c->nargs);
    }
    free(r->params);
    r->params = orr_calloc(1, (size_t)k->param_bytes + 8);
    for (uint32_t j = 0; j < c->nargs; j++)
        if (c->args[j].local)
            pack_local(r, &c->args[j], &k->params[j], j, out);
        else
            pack_arg(r, &c->args[j], &k->params[j], j, st);
}

static void do_launch(run *r, const stmt *st) {
    call *c = st->call;
    orr_err why = {0};
    if (!c->loaded) {
        orr_module *m = r->s->modules.at[c->module].module;
        c->loaded = m->load(m, c->kernel, &why);
        if (!c->loaded) {
            orr_fail(r->e, why.status ? why.status : ORR_BAD_INPUT, "%s", why.text);
            longjmp(r->out, 1);
        }
    }
    orr_call out = {.kernel = c->loaded, .module = c->module, .index = r->launches, .line = st->line};
    static const int64_t most[3] = {INT32_MAX, 65535, 65535}, wide[3] = {1024, 1024, 64};
    for (int k = 0; k < 3; k++) {
        out.grid[k] = c->grid[k] ? (uint32_t)orr_eval_int(r, c->grid[k], "a grid's size", 1, most[k]) : 1;
        out.block[k] = c->block[k] ? (uint32_t)orr_eval_int(r, c->block[k], "a block's size", 1, wide[k]) : 1;
    }
    for (int k = 0; k < 3; k++) {
        out.cluster[k] = c->loaded->bounds.cluster[k];
        if (c->cluster[0]) out.cluster[k] = 1;
        if (c->cluster[k])
            out.cluster[k] = (uint32_t)orr_eval_int(r, c->cluster[k], "a cluster's size", 1, 16);
    }
    if (c->shared) out.dynamic_shared = (uint32_t)orr_eval_int(r, c->shared, "the shared memory", 0, 1 << 20);
    pack_args(r, st, &out);
    out.params = r->params;
    r->cache_bytes = 0;
    if (!r->b->launch(r->b->self, &out, &why)) backend_failed(r, st->line, &why);
    r->launches++;
    r->stats.launches++;
}

// ---- statements -----------------------------------------------------------------------------
static void execute(run *r, const stmt *st);

static void do_for(run *r, const stmt *st) {
    int64_t from = orr_eval_int(r, st->a, "the first value", INT64_MIN, INT64_MAX);
    int64_t to = orr_eval_int(r, st->b, "the last value", INT64_MIN, INT64_MAX);
    int64_t step = st->c ? orr_eval_int(r, st->c, "the step", INT64_MIN, INT64_MAX) : 1;
    if (!step) stop(r, ORR_BAD_INPUT, st->line, "a step of 0 never ends");
    for (int64_t k = from; step > 0 ? k <= to : k >= to;) {
        if (++r->steps > r->s->max_steps)
            stop(r, ORR_BAD_INPUT, st->line, "more than %" PRIu64 " statements executed", r->s->max_steps);
        r->vars[st->slot] = (value){.kind = V_INT, .i = k};
        execute(r, st->body);
        if (__builtin_add_overflow(k, step, &k)) break;
    }
}

static void do_repeat(run *r, const stmt *st) {
    int64_t most = orr_eval_int(r, st->a, "the number of rounds", 1, INT64_MAX);
    for (int64_t k = 0; k < most; k++) {
        if (++r->steps > r->s->max_steps)
            stop(r, ORR_BAD_INPUT, st->line, "more than %" PRIu64 " statements executed", r->s->max_steps);
        execute(r, st->body);
        if (r->referenced || orr_eval_true(r, st->b)) return;
    }
    stop(r, ORR_PROGRAM_FAILED, st->line, "after %" PRId64 " rounds the condition of 'until' is still false",
         most);
}

static void do_size(run *r, const stmt *st) {
    const name *n = &r->s->names.at[st->slot];
    if (n->replaced)
        r->vars[st->slot] = n->given;
    else if (st->size == r->s->size)
        r->vars[st->slot] = orr_eval(r, st->a);
    if (r->vars[st->slot].kind == V_BUF) stop(r, ORR_BAD_INPUT, st->line, "a variable cannot hold a buffer");
}

// With a reference, the first launch is one call of it; then kernels and what moves data stand still,
// because the reference has left every buffer as the whole script would.
static void execute_one(run *r, const stmt *st) {
    switch (st->kind) {
    case S_SIZE: do_size(r, st); break;
    case S_LET:
        r->vars[st->slot] = orr_eval(r, st->a);
        if (r->vars[st->slot].kind == V_BUF)
            stop(r, ORR_BAD_INPUT, st->line, "a variable cannot hold a buffer");
        break;
    case S_BUFFER: do_buffer(r, st); break;
    case S_SYMBOL:
        if (!r->referenced) do_symbol(r, st);
        break;
    case S_LAUNCH:
        if (!r->reference)
            do_launch(r, st);
        else if (!r->referenced)
            r->reference(r->ref);
        r->referenced = r->reference != NULL;
        break;
    case S_FOR: do_for(r, st); break;
    case S_REPEAT: do_repeat(r, st); break;
    case S_IF: execute(r, orr_eval_true(r, st->a) ? st->body : st->other); break;
    case S_SET:
        if (!r->referenced) do_set(r, st);
        break;
    case S_COPY:
        if (!r->referenced) do_copy(r, st);
        break;
    case S_SWAP:
        if (!r->referenced) do_swap(r, st);
        break;
    case S_EXPECT:
        if (r->check && !r->s->unchecked) orr_check(r, st);
        break;
    case S_PRINT: do_print(r, st); break;
    case S_MEASURE:
        if (!r->reference) do_measure(r, st);
        break;
    }
}

static void execute(run *r, const stmt *st) {
    for (; st; st = st->next) {
        if (++r->steps > r->s->max_steps)
            stop(r, ORR_BAD_INPUT, st->line, "more than %" PRIu64 " statements executed", r->s->max_steps);
        execute_one(r, st);
    }
}

void orr_script_digests(orr_script *s, orr_text *out) { s->digests = out; }

static void add_digests(run *r) {
    const orr_script *s = r->s;
    const char *name = strrchr(s->path, '/');
    name = name ? name + 1 : s->path;
    for (size_t n = 0; n < s->names.n; n++) {
        const buffer *b = &r->bufs[n];
        if (!b->made) continue;
        uint64_t bytes = b->count * orr_elem_bytes(b->type), digest = 0;
        for (uint64_t at = 0; at < bytes; at += BLOCK_BYTES) {
            uint64_t part = bytes - at < BLOCK_BYTES ? bytes - at : BLOCK_BYTES;
            if (!r->b->read(r->b->self, b->addr + at, r->block, part, r->e)) longjmp(r->out, 1);
            digest = orr_hash64(r->block, part, digest);
        }
        orr_text_add(s->digests, "%s,%s,%s,%" PRIu64 ",%016" PRIx64 "\n", name, orr_script_size(s),
                     s->names.at[n].text, bytes, digest);
    }
}

bool orr_script_run_with(orr_script *s, run *r, orr_script_stats *stats) {
    size_t names = s->names.n ? s->names.n : 1;
    r->s = s;
    r->vars = orr_calloc(names, sizeof *r->vars);
    r->bufs = orr_calloc(names, sizeof *r->bufs);
    r->block = orr_malloc(BLOCK_BYTES);
    r->block2 = orr_malloc(BLOCK_BYTES);
    volatile bool ok = false;
    if (!setjmp(r->out)) {
        if (!r->reference) open_modules(r);
        execute(r, s->stmts);
        if (s->digests && !r->reference) add_digests(r);
        ok = true;
    }
    if (stats) *stats = r->stats;
    free(r->vars);
    free(r->bufs);
    free(r->block);
    free(r->block2);
    free(r->params);
    free(r->file);
    return ok;
}

bool orr_script_decides(const orr_script *s) { return s->decides; }
void orr_script_unchecked(orr_script *s) { s->unchecked = true; }

bool orr_script_run(orr_script *s, const orr_backend *b, bool check, orr_script_stats *stats, orr_err *e) {
    run *r = orr_calloc(1, sizeof *r);
    r->b = b;
    r->e = e;
    r->check = check;
    bool ok = orr_script_run_with(s, r, stats);
    free(r);
    return ok;
}
