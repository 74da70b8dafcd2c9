// From a profile's blocks and places to what people ask for: the mix of instructions, the memory
// spaces, the source lines.
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

const char *const orr_active_name[ORR_ACTIVE_RANGES] = {"1-8", "9-16", "17-24", "25-31", "32"};
const char *const orr_mem_kind_name[ORR_MEM_KINDS] = {"ld", "st", "atom"};

// "fma.f32", "ld.global.u32", "bra": the operation with what tells its cost. Machine instructions have names.
static void op_name(const orr_kernel *k, const orr_inst *i, char *to, size_t n) {
    if (k->machine && i->name < k->nnames) {
        snprintf(to, n, "%s", k->names[i->name]);
        return;
    }
    const char *name = orr_ops[i->op].name, *type = i->type ? orr_types[i->type].name : "";
    if (i->space && (orr_ops[i->op].flags & ORR_F_MEMORY)) {
        const char *vec = i->vec == 2 ? ".v2" : i->vec == 4 ? ".v4" : i->vec == 8 ? ".v8" : "";
        snprintf(to, n, "%s.%s%s%s%s", name, orr_space_name[i->space], vec, *type ? "." : "", type);
    } else {
        snprintf(to, n, "%s%s%s", name, *type ? "." : "", type);
    }
}

static int by_warp(const void *a, const void *b) {
    const orr_mix *x = a, *y = b;
    if (x->warp != y->warp) return x->warp < y->warp ? 1 : -1;
    return strcmp(x->name, y->name);
}

static int by_line_warp(const void *a, const void *b) {
    const orr_line_sum *x = a, *y = b;
    if (x->warp != y->warp) return x->warp < y->warp ? 1 : -1;
    if (x->file != y->file) {
        int c = !x->file ? -1 : !y->file ? 1 : strcmp(x->file, y->file);
        if (c) return c;
    }
    return x->line < y->line ? -1 : x->line > y->line;
}

static const char *source_file(const orr_kernel *k, const orr_inst *i) {
    return i->source.file && k->module && i->source.file <= k->module->nfiles
               ? k->module->files[i->source.file - 1]
               : NULL;
}

// The instruction's index in s->ops and s->lines, made when it is the first of its kind.
static orr_mix *mix_of(orr_sums *s, orr_map *names, const orr_kernel *k, const orr_inst *i) {
    char name[sizeof s->ops.at->name];
    op_name(k, i, name, sizeof name);
    size_t at = (size_t)orr_map_get(names, name);
    if (!at) {
        memcpy(ORR_PUSH(&s->ops)->name, name, sizeof name);
        at = s->ops.n;
        orr_map_put(names, name, (void *)at);
    }
    return &s->ops.at[at - 1];
}

static size_t line_of(orr_sums *s, orr_map *names, const orr_kernel *k, const orr_inst *i) {
    const char *file = source_file(k, i);
    uint32_t key[2] = {file ? i->source.file : 0, file ? i->source.line : i->line};
    size_t at = (size_t)orr_map_getn(names, (const char *)key, sizeof key);
    if (!at) {
        orr_line_sum *l = ORR_PUSH(&s->lines);
        l->file = file;
        l->line = key[1];
        at = s->lines.n;
        orr_map_putn(names, (const char *)key, sizeof key, (void *)at);
    }
    return at - 1;
}

static void add_memory(orr_sums *s, orr_line_sum *line, const orr_mem_place *place, const orr_inst *inst,
                       const orr_mem_stats *m) {
    uint32_t flags = orr_ops[inst->op].flags;
    int kind = flags & ORR_F_ATOMIC ? ORR_MEM_ATOM : flags & ORR_F_LOAD ? ORR_MEM_LD : ORR_MEM_ST;
    orr_mem_sum *t = &s->mem[place->space][kind];
    t->requests += m->requests;
    t->lanes += m->lanes;
    t->bytes += m->lanes * place->bytes;
    t->sectors += m->sectors;
    t->lines += m->lines;
    t->ideal += m->ideal;
    t->phases += m->phases;
    t->passes += m->passes;
    line->requests += m->requests;
    if (place->space == ORR_SPACE_SHARED) {
        line->conflicts += m->passes - m->phases;
    } else {
        line->sectors += m->sectors;
        line->sector_requests += m->requests;
    }
}

void orr_sums_make(const orr_profile *p, orr_sums *s) {
    memset(s, 0, sizeof *s);
    const orr_kernel *k = p->kernel;
    orr_map op_names = {0}, line_names = {0};
    uint32_t place = 0;
    for (uint32_t b = 0; b < p->nblocks; b++) {
        const orr_block *block = &k->blocks[b];
        const orr_block_stats *stats = &p->blocks[b];
        uint64_t runs = orr_block_runs(stats);
        uint32_t counts = orr_block_counts(k, block);
        s->warp += runs * counts;
        s->thread += stats->lanes * counts;
        s->cycles += p->clocks ? p->clocks[b] : 0;
        for (int a = 0; a < ORR_ACTIVE_RANGES; a++) s->active[a] += stats->runs[a] * counts;
        size_t last = 0;
        for (uint32_t i = block->first; runs && i < block->first + block->count; i++) {
            const orr_inst *inst = &k->insts[i];
            if (inst->mods & ORR_M_ASIDE) continue;
            uint32_t flags = orr_ops[inst->op].flags;
            s->unit_warp[inst->unit] += runs;
            s->unit_thread[inst->unit] += stats->lanes;
            if (flags & ORR_F_BARRIER) s->barriers += runs;
            if (flags & ORR_F_FENCE) s->fences += runs;
            if (flags & ORR_F_CALL) s->calls += runs;
            if (flags & ORR_F_ATOMIC) s->atomics += runs;
            if (inst->op == ORR_OP_WARPSYNC) s->warp_syncs += runs;
            orr_mix *mix = mix_of(s, &op_names, k, inst);
            mix->warp += runs;
            mix->thread += stats->lanes;
            last = line_of(s, &line_names, k, inst);
            orr_line_sum *line = &s->lines.at[last];
            line->warp += runs;
            line->thread += stats->lanes;
            line->cycles += p->clocks ? p->clocks[b] / block->count : 0; // a block's are dealt out evenly
            while (place < p->nplaces && p->places[place].inst < i) place++;
            for (; place < p->nplaces && p->places[place].inst == i; place++)
                add_memory(s, line, &p->places[place], inst, &p->mems[place]);
        }
        if (runs && p->ends[b]) {
            s->branches += runs;
            s->divergent += stats->divergent;
            s->lines.at[last].branches += runs;
            s->lines.at[last].divergent += stats->divergent;
        }
    }
    if (s->ops.n) qsort(s->ops.at, s->ops.n, sizeof *s->ops.at, by_warp);
    if (s->lines.n) qsort(s->lines.at, s->lines.n, sizeof *s->lines.at, by_line_warp);
    orr_map_free(&op_names);
    orr_map_free(&line_names);
}

void orr_sums_free(orr_sums *s) {
    free(s->ops.at);
    free(s->lines.at);
}
