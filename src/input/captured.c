// A capture's launches, one after the other: memory is made as it was before the launch on the GPU, the
// kernel is run, and what it leaves is compared, bit for bit, with what the GPU left. Then memory is made as
// the GPU left it, so that every launch is judged by itself.
//
// A launch that was not chosen, whose memory was not captured, or whose kernel cannot be executed is left
// out, with a note in the last two cases. One that another stands for (capture --sample) is reported as that
// one. Where contents were left out (capture --inputs-only), what a launch leaves here is what the next one
// finds, so that those that were not chosen are executed too.
#include "input/captured.h"
#include "capture/capture.h"
#include "exec/islands.h"
#include "exec/texture.h"
#include "isa/isa.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SLACK (256ull << 20) // addresses on either side, for what has none of its own
#define MOST  (1ull << 46)   // addresses in all
#define NEAR  (1ull << 36)   // between places that are one
enum { ISLANDS = 64 };

typedef struct replay_module {
    uint64_t hash;
    orr_module *module;
} replay_module;

struct orr_capture_run {
    orr_capture *file;
    orr_mem *mem;
    ORR_VEC(replay_module) modules;
    orr_numbers now;     // contents of every piece, by address
    uint64_t touched;    // bytes of memory written so far
    uint32_t done, same; // launches that were replayed; that left memory as the GPU did
    uint32_t alike;      // that others stand for
    uint64_t lost;       // pieces that are not as the GPU left them, and whose contents were not kept
    uint32_t lost_by;    // the first launch that left such
    ORR_VEC(orr_mem_range) layout;
    ORR_VEC(orr_moved) moved; // variables of the launch's module
};

// ---- memory -------------------------------------------------------------------------------------
static bool in_window(const orr_captured_region *r) {
    const uint64_t windows[] = {ORR_SHARED_WINDOW, ORR_LOCAL_WINDOW, ORR_PARAM_WINDOW};
    for (int i = 0; i < 3; i++)
        if (r->addr < windows[i] + ORR_WINDOW_BYTES && r->addr + r->bytes > windows[i]) return true;
    return false;
}

static int by_address(const void *a, const void *b) {
    const orr_mem_range *x = a, *y = b;
    return x->addr < y->addr ? -1 : x->addr > y->addr;
}

// What is near each other is one place.
static size_t join(orr_mem_range *at, size_t n) {
    size_t m = 0;
    if (n) qsort(at, n, sizeof *at, by_address);
    for (size_t i = 0; i < n; i++) {
        orr_mem_range *last = m ? &at[m - 1] : NULL;
        uint64_t end = at[i].addr + at[i].bytes;
        if (!last || at[i].addr > last->addr + last->bytes + NEAR)
            at[m++] = at[i];
        else if (end > last->addr + last->bytes)
            last->bytes = end - last->addr;
    }
    return m;
}

// From the lowest address of all launches to the highest; if that is too far, the places where something is.
static bool reserve(struct orr_capture_run *r, orr_err *e) {
    uint64_t lo = UINT64_MAX, hi = 0, sum = 0;
    ORR_VEC(orr_mem_range) at = {0};
    for (size_t n = 0; n < orr_capture_launches(r->file); n++) {
        const orr_captured *c = orr_capture_launch(r->file, n);
        for (size_t i = 0; i < c->regions.n; i++) {
            const orr_captured_region *g = &c->regions.at[i];
            if (in_window(g)) {
                free(at.at);
                return orr_fail(e, ORR_BAD_INPUT,
                                "%s: has memory at 0x%" PRIx64 ", where Orrery has other things", c->path,
                                g->addr);
            }
            uint64_t from = g->addr > SLACK ? (g->addr - SLACK) & ~(SLACK - 1) : 0;
            *ORR_PUSH(&at) = (orr_mem_range){from, ((g->addr + g->bytes + 2 * SLACK) & ~(SLACK - 1)) - from};
            if (g->addr < lo) lo = g->addr;
            if (g->addr + g->bytes > hi) hi = g->addr + g->bytes;
        }
    }
    if (hi < lo) lo = hi = ORR_GLOBAL_BASE;
    lo = lo > SLACK ? (lo - SLACK) & ~(SLACK - 1) : 0;
    hi = (hi + 2 * SLACK) & ~(SLACK - 1);
    at.n = join(at.at, at.n);
    for (size_t i = 0; i < at.n; i++) sum += at.at[i].bytes;
    if (hi - lo <= MOST)
        r->mem = orr_mem_new_at(lo, hi - lo, e);
    else if (sum <= MOST && at.n <= ISLANDS)
        r->mem = orr_mem_new_islands(at.at, (uint32_t)at.n, e);
    else
        orr_fail(e, ORR_BAD_INPUT,
                 "its memory lies in %zu places, %" PRIu64 " TiB apart; that cannot be replayed", at.n,
                 (hi - lo) >> 40);
    free(at.at);
    if (r->mem) orr_mem_as_gpu(r->mem, true);
    return r->mem != NULL;
}

// Allocations and variables, of which a section of variables has several inside it.
static void lay_out(struct orr_capture_run *r) {
    size_t n = 0;
    qsort(r->layout.at, r->layout.n, sizeof *r->layout.at, by_address);
    for (size_t i = 0; i < r->layout.n; i++) {
        orr_mem_range *last = n ? &r->layout.at[n - 1] : NULL, next = r->layout.at[i];
        if (last && next.addr < last->addr + last->bytes) {
            if (next.addr + next.bytes > last->addr + last->bytes)
                last->bytes = next.addr + next.bytes - last->addr;
        } else {
            r->layout.at[n++] = next;
        }
    }
    r->layout.n = n;
    orr_mem_layout(r->mem, r->layout.at, (uint32_t)n);
}

static bool put_piece(struct orr_capture_run *r, size_t n, size_t piece, orr_err *e) {
    const orr_captured *c = orr_capture_launch(r->file, n);
    const orr_chunk *k = &c->pieces.at[piece];
    const uint64_t *was = orr_numbers_get(&r->now, k->addr);
    bool fresh = !was;
    uint8_t *to = orr_mem_host(r->mem, k->addr, k->raw);
    if (!to)
        return orr_fail(e, ORR_BAD_INPUT, "%s: has contents for 0x%" PRIx64 ", which is in no region",
                        c->path, k->addr);
    orr_numbers_put(&r->now, k->addr, k->hash);
    // Untouched memory is zero, and stays untouched; what lay there before, in another region, does not.
    if (fresh && !k->hash && !orr_piece_hash(to, k->raw)) return true;
    r->touched += fresh ? k->raw : 0;
    if (r->touched > orr_host_memory())
        return orr_fail(e, ORR_BAD_INPUT, "%s: needs more memory than this machine has", c->path);
    if (orr_capture_has(r->file, k->hash)) return orr_capture_contents(r->file, k->hash, k->raw, to, e);
    if (orr_piece_hash(to, k->raw) != k->hash && !r->lost++) r->lost_by = c->index;
    return true;
}

static bool put_pieces(struct orr_capture_run *r, size_t n, uint32_t tag, orr_err *e) {
    const orr_captured *c = orr_capture_launch(r->file, n);
    for (size_t i = 0; i < c->pieces.n; i++)
        if (c->pieces.at[i].tag == tag && !put_piece(r, n, i, e)) return false;
    return true;
}

// ---- modules ------------------------------------------------------------------------------------
static orr_module *module_of(struct orr_capture_run *r, uint64_t hash, unsigned sm, orr_err *e) {
    for (size_t i = 0; i < r->modules.n; i++)
        if (r->modules.at[i].hash == hash) return r->modules.at[i].module;
    char path[4200];
    orr_module *m = orr_module_find(orr_capture_module_path(r->file, hash, path), NULL, "sass", sm, e);
    if (m) *ORR_PUSH(&r->modules) = (replay_module){hash, m};
    return m;
}

// Where a module's variables were. Constants are one piece, of which any name tells where it is; other
// variables lie each by itself.
static void place_variables(struct orr_capture_run *r, const orr_captured *c, const orr_module *m,
                            uint64_t *addr) {
    for (size_t i = 0; i < c->regions.n; i++) {
        const orr_captured_region *g = &c->regions.at[i];
        for (uint32_t s = 0; g->symbol && s < m->nsymbols; s++) {
            const orr_symbol *y = &m->symbols[s];
            if (strcmp(y->name, g->symbol) != 0) continue;
            if (m->vars[y->var].space != ORR_SPACE_CONST)
                *ORR_PUSH(&r->moved) =
                    (orr_moved){y->var, y->offset, y->bytes < g->bytes ? y->bytes : g->bytes, g->addr};
            else if (y->offset < g->addr && m->vars[y->var].bytes < SLACK)
                addr[y->var] = g->addr - y->offset;
        }
    }
    for (uint32_t v = 0; v < m->nvars; v++)
        if (addr[v] && m->vars[v].bytes) *ORR_PUSH(&r->layout) = (orr_mem_range){addr[v], m->vars[v].bytes};
}

// ---- textures -----------------------------------------------------------------------------------
static_assert(ORR_CAPTURED_NUMBERS == ORR_TEX_NUMBERS, "a texture is as many numbers in a capture");

// Under the handles that they had: what a kernel reads of one are its low 20 bits.
enum { HANDLE_BITS = 0xfffff };

static bool put_textures(struct orr_capture_run *r, const orr_captured *c, orr_err *why, orr_err *e) {
    for (size_t i = 0; i < c->textures.n; i++) {
        const orr_captured_texture *g = &c->textures.at[i];
        orr_texture t;
        if (!orr_tex_of_numbers(&t, g->addr, g->n) || !orr_mem_host(r->mem, t.at, t.bytes))
            return orr_fail(e, ORR_BAD_INPUT, "%s: the texture 0x%" PRIx64 " is none", c->path, g->handle);
        if (orr_mem_texture(r->mem, g->handle & HANDLE_BITS))
            orr_fail(why, ORR_BAD_INPUT, "has two textures of the number %" PRIu64, g->handle & HANDLE_BITS);
        else if (!orr_mem_texture_put(r->mem, g->handle & HANDLE_BITS, &t))
            orr_fail(why, ORR_BAD_INPUT, "has a texture without a number");
    }
    return true;
}

static void drop_textures(struct orr_capture_run *r, const orr_captured *c) {
    for (size_t i = 0; i < c->textures.n; i++)
        orr_mem_texture_free(r->mem, c->textures.at[i].handle & HANDLE_BITS);
}

// ---- a launch -----------------------------------------------------------------------------------
static void tell(const orr_input *in, const orr_captured *c, const char *what) {
    if (in->notes) orr_note(in->notes, "launch %u, kernel '%.120s': %s", c->index, c->kernel, what);
}

// All regions, piece by piece, against what the GPU left. What the kernel changed here and not there is made
// as it was; AFTER pieces are written later.
typedef struct difference {
    uint64_t pieces, first;
} difference;

static difference compare(struct orr_capture_run *r, const orr_captured *c, orr_err *e) {
    orr_numbers after = {0};
    difference d = {0, 0};
    for (size_t i = 0; i < c->pieces.n; i++)
        if (c->pieces.at[i].tag == CHUNK_AFTER)
            orr_numbers_put(&after, c->pieces.at[i].addr, c->pieces.at[i].hash);
    for (size_t i = 0; i < c->regions.n; i++) {
        const orr_captured_region *g = &c->regions.at[i];
        for (uint64_t at = g->addr, end; at < g->addr + g->bytes; at = end) {
            end = (at | (ORR_PIECE - 1)) + 1;
            if (end > g->addr + g->bytes) end = g->addr + g->bytes;
            const uint64_t *left = orr_numbers_get(&after, at),
                           *want = left ? left : orr_numbers_get(&r->now, at);
            uint8_t *is = orr_mem_host(r->mem, at, end - at);
            if (!want || !is || orr_piece_hash(is, end - at) == *want) continue;
            if (!d.pieces++) d.first = at;
            if (!left && orr_capture_has(r->file, *want))
                orr_capture_contents(r->file, *want, (uint32_t)(end - at), is, e);
        }
    }
    free(after.at);
    return d;
}

bool orr_captured_work(orr_input *in, const orr_launch *l, bool chosen, orr_err *e) {
    orr_work w = {.info = orr_info_of(l), .launch = l, .threads = in->o->threads, .progress = in->progress};
    return chosen ? in->work(in->arg, &w, e) : orr_exec_run(l, in->o->threads, NULL, NULL, e);
}

static bool execute(orr_input *in, size_t n, const orr_kernel *k, orr_image *image, bool chosen, orr_err *e) {
    struct orr_capture_run *r = in->captured;
    const orr_captured *c = orr_capture_launch(r->file, n);
    orr_children asked = {0};
    orr_launch l = {.kernel = k,
                    .image = image,
                    .mem = r->mem,
                    .children = &asked,
                    .dynamic_shared = c->shared,
                    .index = c->index,
                    .max_insts = in->o->max_insts,
                    .range = c->range,
                    .print = in->o->print};
    memcpy(l.grid, c->grid, sizeof l.grid);
    memcpy(l.block, c->block, sizeof l.block);
    memcpy(l.cluster, c->cluster, sizeof l.cluster);
    l.params = orr_calloc(1, (size_t)k->param_bytes + 1);
    memcpy(l.params, c->params, k->param_bytes < c->nparams ? k->param_bytes : c->nparams);
    if (c->cooperative) l.workspace = orr_mem_alloc(r->mem, 8, "the grid's barrier", e);
    bool ok = !e->status && orr_launch_prepare(&l, in->gpu, e);
    if (ok && c->cooperative) memset(orr_mem_host(r->mem, l.workspace, 8), 0, 8);
    ok = ok && orr_captured_work(in, &l, chosen, e) && orr_captured_children(in, &l, chosen, &asked, e);
    orr_children_free(&asked, r->mem);
    free(l.params);
    return ok;
}

// The kernel, and memory as it was. False without an error: it cannot be replayed, and `why` says why.
static bool make_ready(orr_input *in, size_t n, const orr_kernel **k, orr_image **image, orr_err *why,
                       orr_err *e) {
    struct orr_capture_run *r = in->captured;
    const orr_captured *c = orr_capture_launch(r->file, n);
    orr_module *m = module_of(r, c->module, orr_input_sm(in->gpu), why);
    *k = m ? m->load(m, c->kernel, why) : NULL;
    *image = NULL;
    uint64_t *addr = orr_calloc(m ? m->nvars + 1 : 1, sizeof *addr);
    r->layout.n = 0;
    for (size_t i = 0; i < c->regions.n; i++)
        *ORR_PUSH(&r->layout) = (orr_mem_range){c->regions.at[i].addr, c->regions.at[i].bytes};
    r->moved.n = 0;
    if (m) place_variables(r, c, m, addr);
    lay_out(r);
    bool ok = put_pieces(r, n, CHUNK_BEFORE, e) && (c->incomplete || put_textures(r, c, why, e));
    if (ok && *k && c->nparams < (*k)->param_bytes)
        orr_fail(why, ORR_BAD_INPUT, "has %u bytes of parameters, and %u were captured", (*k)->param_bytes,
                 c->nparams);
    if (ok && c->incomplete) orr_fail(why, ORR_BAD_INPUT, "%s", c->incomplete);
    if (ok && *k && !why->status)
        *image = orr_image_at(r->mem, m, addr, r->moved.at, (uint32_t)r->moved.n, why);
    free(addr);
    return ok && *image;
}

// What became of it. A kernel that fails here ends its launch and not the replay.
static bool judge(orr_input *in, const orr_captured *c, bool ok, orr_err *why, orr_err *e) {
    struct orr_capture_run *r = in->captured;
    char text[200];
    if (!ok && why->status != ORR_PROGRAM_FAILED) {
        *e = *why;
        return false;
    }
    r->done++;
    difference d = in->check || !ok ? compare(r, c, e) : (difference){0, 0};
    r->same += ok && !d.pieces;
    int n = snprintf(text, sizeof text,
                     "memory is not as the GPU left it in %" PRIu64 " pieces, the first at 0x%" PRIx64,
                     d.pieces, d.first);
    if (r->lost && n > 0)
        snprintf(text + n, sizeof text - (size_t)n, "; launch %u and others before it did not either",
                 r->lost_by);
    if (!ok || d.pieces) tell(in, c, ok ? text : why->text);
    return !e->status;
}

// Of a launch without its memory there is the shape, and the launch that stands for it.
static void stand_in(orr_input *in, const orr_captured *c, const orr_kernel *k) {
    orr_launch_info info = {.kernel = k, .dynamic_shared = c->shared, .index = c->index, .range = c->range};
    memcpy(info.grid, c->grid, sizeof info.grid);
    memcpy(info.block, c->block, sizeof info.block);
    in->captured->alike++;
    if (in->alike) in->alike(in->arg, &info, (uint32_t)c->like);
}

static bool replay_one(orr_input *in, size_t n, orr_err *e) {
    struct orr_capture_run *r = in->captured;
    const orr_captured *c = orr_capture_launch(r->file, n);
    const orr_kernel *k;
    orr_image *image;
    orr_err why = {0};
    bool ready = make_ready(in, n, &k, &image, &why, e);
    if (e->status) return false;
    bool chosen = k && orr_input_choose(in, k, c->index) && orr_input_in_range(in->o, c->range), ok = true;
    if (!k) in->seen++;
    if (!ready && (!k || chosen) && c->like < 0) tell(in, c, why.text);
    if (ready && k && (chosen || orr_capture_inputs(r->file))) {
        in->source = k->module->source;
        ok = judge(in, c, execute(in, n, k, image, chosen, &why), &why, e);
    }
    if (chosen && c->like >= 0) stand_in(in, c, k);
    orr_image_forget(image);
    drop_textures(r, c);
    return ok && put_pieces(r, n, CHUNK_AFTER, e);
}

bool orr_captured_run(orr_input *in, orr_err *e) {
    struct orr_capture_run *r = in->captured = orr_calloc(1, sizeof *r);
    r->file = orr_capture_open(in->name, e);
    if (!r->file || !reserve(r, e)) return false;
    size_t all = orr_capture_launches(r->file);
    bool ok = true;
    for (size_t n = 0; ok && n < all; n++) ok = orr_progress_go(in->progress, e) && replay_one(in, n, e);
    if (!ok) return false;
    in->stats.checked = in->check ? r->same : 0;
    if (in->notes)
        orr_note(in->notes,
                 in->check ? "%u of %zu launches were replayed; %u left memory bit for bit as the GPU did"
                           : "%u of %zu launches were replayed; memory was not compared",
                 r->done, all, r->same);
    if (in->notes && r->alike)
        orr_note(in->notes,
                 "%u launches were captured without memory; what is said of them is of the launch like "
                 "each",
                 r->alike);
    if (in->check && r->same < r->done)
        return orr_fail(e, ORR_PROGRAM_FAILED,
                        "%s: %u of %u launches left other memory than on the GPU (--no-check does not look)",
                        in->name, r->done - r->same, r->done);
    return r->done || orr_fail(e, ORR_BAD_INPUT, "%s: none of its launches can be replayed", in->name);
}

void orr_captured_close(struct orr_capture_run *r) {
    if (!r) return;
    orr_capture_free(r->file);
    orr_mem_delete(r->mem);
    for (size_t i = 0; i < r->modules.n; i++) r->modules.at[i].module->free(r->modules.at[i].module);
    free(r->modules.at);
    free(r->now.at);
    free(r->layout.at);
    free(r->moved.at);
    free(r);
}
