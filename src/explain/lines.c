// What each source line asks of memory, from the streams alone (explain.h).
//
// Of a launch with many thread blocks some are looked at, evenly spread: figures are averages of a request.
// The second reading is of the same blocks with all accesses of global memory put in order, so that it is
// known before anything is simulated what order alone would save.
#include "explain/explain.h"
#include "explain/seen.h"
#include "memory/memory.h"
#include "memory/space.h"

#include <stdlib.h>
#include <string.h>

#define BLOCKS 256 // of a launch that are looked at, about

typedef struct reading {
    const orr_tape *tape;
    orr_line_uses *all;
    orr_map names; // of lines: index + 1
    seen seen;
    bool in_order; // the second reading
    orr_arena arena;
} reading;

uint32_t orr_inst_line(const orr_kernel *k, const orr_inst *i, const char **file) {
    *file = i->source.file && k->module && i->source.file <= k->module->nfiles
                ? k->module->files[i->source.file - 1]
                : NULL;
    return *file ? i->source.line : i->line;
}

uint32_t orr_line_group(const orr_kernel *k, const orr_inst *i) {
    const char *file;
    const uint32_t key[3] = {orr_inst_line(k, i, &file), i->source.file, orr_inst_access(i)};
    return (uint32_t)orr_hash64(key, sizeof key, 0);
}

static orr_line_use *use_of(reading *r, const orr_kernel *k, const orr_inst *i, uint8_t space) {
    struct {
        const void *kernel;
        uint64_t file;
        uint32_t line, space;
    } key = {.kernel = k, .space = (uint32_t)space | (uint32_t)orr_inst_access(i) << 8};
    const char *file;
    key.line = orr_inst_line(k, i, &file);
    key.file = file ? orr_hash64(file, strlen(file), 0) : 0;
    size_t n = (size_t)orr_map_getn(&r->names, (const char *)&key, sizeof key);
    if (n) return &r->all->at[n - 1];
    orr_line_use *u = ORR_PUSH(r->all);
    *u = (orr_line_use){
        .kernel = k, .file = file, .line = key.line, .space = space, .kind = orr_inst_access(i)};
    orr_map_putn(&r->names, (const char *)&key, sizeof key, (void *)r->all->n);
    return u;
}

enum orr_access_kind orr_inst_access(const orr_inst *i) {
    return i->op == ORR_OP_LD                            ? ORR_ACCESS_LOADS
           : i->op == ORR_OP_ST                          ? ORR_ACCESS_STORES
           : i->op == ORR_OP_ATOM || i->op == ORR_OP_RED ? ORR_ACCESS_ATOMICS
                                                         : ORR_ACCESS_OTHER;
}

static void count_global(reading *r, orr_line_use *u, const orr_inst *i, const orr_access *a) {
    uint32_t bytes = (uint32_t)i->width * (i->vec ? i->vec : 1);
    orr_coalesced c;
    orr_coalesce(a, bytes, ORR_WHOLE_WARP, &c);
    if (r->in_order) {
        u->sectors_in_order += c.sectors;
        return;
    }
    u->sectors += c.sectors;
    u->ideal_sectors += orr_ideal_sectors((uint32_t)orr_popc(a->mask), bytes);
    for (uint32_t m = a->mask; m && u->kind != ORR_ACCESS_STORES; m &= m - 1)
        u->repeated += seen_before(&r->seen, a->addr[orr_ffs(m)]);
}

static void count_shared(orr_line_use *u, const orr_inst *i, const orr_access *a) {
    int kind = u->kind == ORR_ACCESS_ATOMICS  ? ORR_BANKS_ATOMIC
               : u->kind == ORR_ACCESS_STORES ? ORR_BANKS_STORE
                                              : ORR_BANKS_LOAD;
    orr_banked b = orr_bank_conflicts(a, (uint32_t)i->width * (i->vec ? i->vec : 1), kind);
    u->passes += b.passes;
    u->phases += b.phases;
}

static void count(reading *r, const orr_kernel *k, const orr_inst *i, const orr_access *a) {
    uint8_t space =
        i->space == ORR_SPACE_GENERIC && a->mask ? orr_space_at(a->addr[orr_ffs(a->mask)]) : i->space;
    if (!a->mask || orr_inst_access(i) == ORR_ACCESS_OTHER ||
        (space != ORR_SPACE_GLOBAL && space != ORR_SPACE_SHARED))
        return;
    orr_line_use *u = use_of(r, k, i, space);
    if (!r->in_order) {
        uint32_t lanes = (uint32_t)orr_popc(a->mask);
        u->requests++;
        u->lanes += lanes;
        u->bytes += (uint64_t)lanes * i->width * (i->vec ? i->vec : 1);
    }
    if (space == ORR_SPACE_GLOBAL)
        count_global(r, u, i, a);
    else if (!r->in_order)
        count_shared(u, i, a);
}

static bool read_block(reading *r, const orr_kernel *k, const orr_tb *tb) {
    seen_forget(&r->seen);
    for (uint32_t w = 0; w < tb->nwarps; w++) {
        orr_trace t = orr_trace_open(tb->warps[w]);
        uint32_t block, mask;
        int more;
        while ((more = orr_trace_block(&t, k->nblocks, &block, &mask)) > 0) {
            const orr_block *b = &k->blocks[block];
            for (uint32_t i = b->first, left = b->nmem; left; i++) {
                orr_access a;
                if (!orr_inst_traced(&k->insts[i])) continue;
                left--;
                if (!orr_trace_access(&t, &a)) return false;
                count(r, k, &k->insts[i], &a);
            }
        }
        if (more) return false;
    }
    return true;
}

// All accesses of global memory in order, a line at a time.
static orr_ideal_kernel all_in_order(orr_arena *a, const orr_kernel *k) {
    orr_ideal_kernel to = {.kernel = k, .ninsts = k->ninsts};
    to.how = orr_arena_alloc(a, k->ninsts + 1);
    to.group = orr_arena_alloc(a, (k->ninsts + 1) * sizeof *to.group);
    for (uint32_t n = 0; n < k->ninsts; n++) {
        const orr_inst *i = &k->insts[n];
        bool global = i->space == ORR_SPACE_GLOBAL || i->space == ORR_SPACE_GENERIC;
        to.group[n] = orr_line_group(k, i);
        to.how[n] = global && orr_inst_access(i) != ORR_ACCESS_OTHER ? ORR_ACCESS_IN_ORDER : ORR_ACCESS_AS_IS;
    }
    return to;
}

static bool read_launch(reading *r, size_t item, orr_err *e) {
    const orr_tape_item *i = orr_tape_item_at(r->tape, item);
    const orr_kernel *k = i->info.kernel;
    orr_player player = {0};
    orr_source *from = orr_player_open(&player, r->tape, item);
    orr_ideal_stream *stream = r->in_order ? orr_ideal_stream_new() : NULL;
    orr_ideal_kernel ideal = {0};
    if (stream) {
        ideal = all_in_order(&r->arena, k);
        from = orr_ideal_stream_open(stream, from, &ideal);
    }
    uint64_t step = i->blocks / BLOCKS + 1;
    orr_tb tb;
    int more = 1;
    for (uint64_t b = 0; more > 0 && b < i->blocks; b += step) {
        if (b) from->skip(from, b, e);
        more = from->next(from, &tb, e);
        if (more > 0 && !read_block(r, k, &tb)) {
            orr_fail(e, ORR_BAD_INPUT, "thread block %llu of %s: its stream is damaged",
                     (unsigned long long)tb.index, k->name);
            more = -1;
        }
    }
    orr_ideal_stream_free(stream);
    orr_player_free(&player);
    return more >= 0;
}

bool orr_line_uses_make(const orr_tape *t, orr_line_uses *all, orr_err *e) {
    reading r = {.tape = t, .all = all};
    bool ok = true;
    for (int second = 0; ok && second < 2; second++) {
        r.in_order = second;
        for (size_t k = 0; ok && k < orr_tape_items(t); k++) {
            const orr_tape_item *i = orr_tape_item_at(t, k);
            if (!i->copy && !i->list) ok = read_launch(&r, k, e);
        }
    }
    orr_map_free(&r.names);
    orr_arena_free(&r.arena);
    free(r.seen.at);
    return ok;
}
