// Kernels as task lists (orrery show --tasks).
//
// A launch is executed once and its warps' ways are counted: how often each block of code, from which to
// which, what each access touches and where it would find it. The list has the average warp. A loop is a
// stretch of code from a block to one that goes back to it; it goes round as often as it did on average, its
// last round in part if need be. Of a block that only some warps run, as many of its instructions are kept as
// warps ran it on average, spread over it. What an instruction needs are the tasks that made its operands; of
// a loop, those of the round before.
//
// Global accesses look for their sectors in an L1 of each SM, which takes blocks in turn, and in an L2, which
// stays from launch to launch; what they found becomes l1 and l2 percent. Both forget what has not been used
// for long.
//
// What a list cannot hold is said in it, as a comment: that threads wait for each other, and that some thread
// blocks do much more than the average one.
#include "gpu/gpu.h"
#include "isa/observable.h"
#include "memory/cache.h"
#include "memory/memory.h"
#include "program/program.h"
#include "tasks/list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TURNS = 65536 };

typedef struct seen { // an access of the kernel
    uint64_t n, lanes, sectors, lines, passes, phases;
    uint64_t leaders, lead_sectors, l1, l2; // of those that do not do what the warp before did in this turn
    uint64_t step, steps;                   // from lane to lane, in most accesses: a vote
    uint64_t hash;
    uint32_t turn, block;
    ORR_VEC(uint64_t) first; // what the first block touched, by turn
    uint64_t alike;          // leaders of other blocks that touched the same in the same turn
} seen;

typedef struct profile { // of a launch
    const orr_kernel *k;
    orr_program *p;
    uint64_t *runs;  // of each block of code, by warps
    uint64_t *who;   // of each block of code: warps that ran it
    uint64_t *back;  // [from * nblocks + to] jumps to the same or an earlier block
    seen *accesses;  // by the kernel's instruction
    double *squares; // of each block of code: of its runs in a warp, summed
    double full;     // lanes of a whole warp for each that the blocks' warps have
    uint64_t warps, blocks;
    uint64_t longest, insts; // warp instructions: of the block with most, of all
} profile;

typedef struct way { // where a warp of a thread block is
    orr_trace t;
    uint32_t last;
    uint32_t *turns, *runs; // of each access (by instruction) and of each block of code
    bool ended;
} way;

typedef struct line { // a task of the list, before it has a number
    enum { TASK, LOOP_FROM, LOOP_TO, SOME_FROM, SOME_TO } what;
    uint32_t inst;        // of the program
    uint64_t times, most; // of a loop: rounds; up to `most` of them in some warps. SOME: percent of the warps
    bool blocks;          // of a loop: in some blocks
} line;

typedef struct emit {
    const profile *f;
    ORR_VEC(line) lines;
    int depth, loops; // of what is open: all, and loops
    double uneven;    // what the longest thread block does, of the average one; 1: it does not matter
    double owed[3];   // of blocks that run in part: accesses to shared memory, other accesses, all else
} emit;

struct orr_task_writer {
    const orr_gpu *g;
    orr_cache l2, *l1;
    uint32_t sms;
    orr_text kernels, steps;
    ORR_VEC(char *) known; // kernels' text without the name
    ORR_VEC(char *) names;
};

// ---- caches ----------------------------------------------------------------------------------------
orr_task_writer *orr_task_writer_new(const orr_gpu *g) {
    orr_task_writer *w = orr_calloc(1, sizeof *w);
    w->g = g;
    w->sms = (uint32_t)g->sm_count;
    w->l1 = orr_calloc(w->sms, sizeof *w->l1);
    orr_cache_init(&w->l2, (uint64_t)g->l2_size, ORR_LINE, 16, true, false);
    for (uint32_t s = 0; s < w->sms; s++)
        orr_cache_init(&w->l1[s], (uint64_t)g->l1_size / 2, ORR_LINE, 4, true, false);
    return w;
}

void orr_task_writer_free(orr_task_writer *w) {
    if (!w) return;
    orr_cache_free(&w->l2);
    for (uint32_t s = 0; s < w->sms; s++) orr_cache_free(&w->l1[s]);
    free(w->l1);
    free(w->kernels.s);
    free(w->steps.s);
    for (size_t i = 0; i < w->known.n; i++) free(w->known.at[i]);
    for (size_t i = 0; i < w->names.n; i++) free(w->names.at[i]);
    free(w->known.at);
    free(w->names.at);
    free(w);
}

static bool has(orr_cache *c, uint64_t line, uint8_t sector) { // and has it from now on
    uint32_t at = orr_cache_find(c, line);
    if (at == ORR_NO_LINE) {
        orr_cache_line out;
        at = orr_cache_take(c, line, &out, NULL);
        c->line[at].valid = 0;
    }
    orr_cache_touch(c, at);
    bool there = c->line[at].valid & sector;
    c->line[at].valid |= sector;
    return there;
}

// Warps of a block that touch the same lines in the same turn wait for the same data: the first of them is
// who finds it or not.
static bool follows(seen *s, const orr_coalesced *c, uint32_t turn, uint32_t block) {
    uint64_t h = 7;
    for (uint32_t i = 0; i < c->lines; i++)
        h = (h ^ (c->line[i].line * 16 + c->line[i].sectors)) * 0x9e3779b97f4a7c15ull;
    bool same = s->hash == h && s->turn == turn && s->block == block && c->lines;
    s->hash = h;
    s->turn = turn;
    s->block = block;
    if (same || turn >= MOST_TURNS) return same;
    if (block == 0 && turn == s->first.n) *ORR_PUSH(&s->first) = h;
    if (block == 0 || turn >= s->first.n || s->first.at[turn] != h) return false;
    s->alike++; // all blocks wait for the same data
    return true;
}

// Bytes from lane to lane, if they are the same between all; false: no rule, or one lane.
static bool lane_step(const orr_access *a, uint64_t *step) {
    int before = -1;
    bool known = false;
    for (int lane = 0; lane < 32; lane++) {
        if (!(a->mask >> lane & 1)) continue;
        uint64_t d = before >= 0 ? (a->addr[lane] - a->addr[before]) / (uint64_t)(lane - before) : 0;
        if (before >= 0 && (a->addr[lane] < a->addr[before] || (known && d != *step))) return false;
        if (before >= 0) *step = d;
        known = before >= 0;
        before = lane;
    }
    return known;
}

static void vote(seen *s, const orr_access *a) {
    uint64_t step = 0;
    bool regular = lane_step(a, &step);
    if (regular && (!s->steps || s->step == step)) {
        s->step = step;
        s->steps++;
    } else if (s->steps) {
        s->steps--;
    }
}

typedef struct reading { // a thread block that is looked at
    orr_task_writer *w;
    profile *f;
    orr_cache *l1;
    uint32_t block;
} reading;

static void global_access(const reading *r, const orr_tinst *t, const orr_access *a, seen *s, uint32_t turn) {
    orr_coalesced c;
    orr_coalesce(a, t->bytes, ORR_WHOLE_WARP, &c);
    s->sectors += c.sectors;
    s->lines += c.lines;
    vote(s, a);
    bool looks = t->flags & ORR_TF_LOAD && !(t->flags & (ORR_TF_BYPASS | ORR_TF_ATOMIC));
    if (follows(s, &c, turn, r->block) && looks) return;
    s->leaders++;
    s->lead_sectors += c.sectors;
    for (uint32_t i = 0; i < c.lines; i++)
        for (uint8_t bit = 1; bit < 16; bit = (uint8_t)(bit << 1)) {
            if (!(c.line[i].sectors & bit)) continue;
            if (looks && has(r->l1, c.line[i].line, bit))
                s->l1++;
            else
                s->l2 += has(&r->w->l2, c.line[i].line, bit);
        }
}

// ---- what a launch did -------------------------------------------------------------------------------
static bool read_access(const reading *r, way *x, const orr_tblock *b, uint32_t at) {
    profile *f = r->f;
    orr_access a;
    if (!orr_trace_access(&x->t, &a)) return false;
    for (uint32_t i = b->first; i < b->first + b->count && !a.fields; i++) {
        const orr_tinst *in = &f->p->insts[i];
        if (in->access != at) continue;
        seen *s = &f->accesses[i];
        uint32_t turn = x->turns[i]++;
        s->n++;
        s->lanes += (uint64_t)__builtin_popcount(a.mask);
        int space = in->space == ORR_SPACE_GENERIC && a.mask
                        ? orr_generic_space(a.addr[__builtin_ctz(a.mask)])
                        : in->space;
        if (space == ORR_SPACE_SHARED) {
            int kind = in->flags & ORR_TF_STORE ? ORR_BANKS_STORE : ORR_BANKS_LOAD;
            orr_banked y = orr_bank_conflicts(&a, in->bytes, kind);
            s->passes += y.passes;
            s->phases += y.phases;
        } else if (space == ORR_SPACE_GLOBAL) {
            global_access(r, in, &a, s, turn);
        }
    }
    return true;
}

// A basic block of a warp; 0: it has ended.
static int read_some(const reading *r, way *x) {
    profile *f = r->f;
    const orr_kernel *k = f->k;
    uint32_t block, mask;
    int more = orr_trace_block(&x->t, k->nblocks, &block, &mask);
    if (more <= 0) return more;
    f->runs[block]++;
    x->runs[block]++;
    if (x->last != UINT32_MAX && block <= x->last) f->back[(size_t)x->last * k->nblocks + block]++;
    x->last = block;
    for (uint32_t at = 0; at < k->blocks[block].nmem; at++)
        if (!read_access(r, x, &f->p->blocks[block], at)) return -1;
    return 1;
}

// Its warps in turns, a basic block each: as they share an SM.
static bool read_block(orr_task_writer *w, profile *f, orr_cache *l1, const orr_tb *tb) {
    size_t accesses = f->p->ninsts + 1, blocks = f->k->nblocks + 1;
    reading r = {.w = w, .f = f, .l1 = l1, .block = (uint32_t)tb->index};
    way *x = orr_calloc(tb->nwarps, sizeof *x);
    uint32_t *counts = orr_calloc(tb->nwarps * (accesses + blocks), sizeof *counts), left = tb->nwarps;
    for (uint32_t i = 0; i < tb->nwarps; i++)
        x[i] = (way){orr_trace_open(tb->warps[i]), UINT32_MAX, counts + i * (accesses + blocks),
                     counts + i * (accesses + blocks) + accesses, false};
    bool ok = true;
    while (ok && left)
        for (uint32_t i = 0; i < tb->nwarps && ok; i++) {
            if (x[i].ended) continue;
            int more = read_some(&r, &x[i]);
            ok = more >= 0;
            x[i].ended = more == 0;
            left -= more == 0;
        }
    uint64_t all = 0;
    for (uint32_t i = 0; i < tb->nwarps; i++)
        for (uint32_t b = 0; b < f->k->nblocks; b++) {
            f->squares[b] += (double)x[i].runs[b] * x[i].runs[b];
            f->who[b] += x[i].runs[b] > 0;
            all += (uint64_t)x[i].runs[b] * f->p->blocks[b].count;
        }
    f->warps += tb->nwarps;
    f->blocks++;
    f->insts += all;
    if (all > f->longest) f->longest = all;
    free(counts);
    free(x);
    return ok;
}

// The share of L1 that the blocks of an SM have for data, in lines of one block after the other.
static uint64_t l1_of(const orr_task_writer *w, const profile *f, const orr_launch_info *info) {
    uint64_t threads = (uint64_t)info->block[0] * info->block[1] * info->block[2],
             warps = (threads + 31) / 32;
    uint64_t shared = (uint64_t)f->k->shared_bytes + info->dynamic_shared;
    uint64_t blocks = (uint64_t)info->grid[0] * info->grid[1] * info->grid[2];
    uint64_t most = (uint64_t)w->g->limit_sm_threads / 32 / (warps ? warps : 1),
             each = (blocks + w->sms - 1) / w->sms;
    if (shared && (uint64_t)w->g->shared_per_sm / shared < most)
        most = (uint64_t)w->g->shared_per_sm / shared;
    if (each < most) most = each;
    if (!most) most = 1;
    uint64_t data = (uint64_t)w->g->l1_size - (shared * most < (uint64_t)w->g->l1_size ? shared * most : 0);
    return data / most > 8192 ? data / most : 8192;
}

static bool read_launch(orr_task_writer *w, profile *f, orr_source *s, orr_err *e) {
    orr_tb tb;
    int more;
    uint64_t bytes = l1_of(w, f, &s->info);
    for (uint32_t l = 0; l < w->sms; l++) { // L1 forgets between launches
        orr_cache_free(&w->l1[l]);
        orr_cache_init(&w->l1[l], bytes, ORR_LINE, 4, true, false);
    }
    while ((more = s->next(s, &tb, e)) > 0)
        if (!read_block(w, f, &w->l1[tb.index % w->sms], &tb))
            return orr_fail(e, ORR_BAD_INPUT, "kernel %s: its stream is damaged", f->k->name);
    return more == 0;
}

// ---- loops -----------------------------------------------------------------------------------------
// The block that goes back to `from` last, when most of its runs come so; UINT32_MAX: it begins no loop.
static uint32_t loop_end(const profile *f, uint32_t from, uint32_t to) {
    uint32_t last = UINT32_MAX;
    uint64_t jumps = 0;
    for (uint32_t b = from; b < to; b++) {
        uint64_t n = f->back[(size_t)b * f->k->nblocks + from];
        if (!n) continue;
        jumps += n;
        last = b;
    }
    return jumps * 3 >= f->runs[from] ? last : UINT32_MAX;
}

// How often warps come to a stretch from elsewhere.
static double entries(const profile *f, uint32_t from, uint32_t end) {
    uint64_t jumps = 0;
    for (uint32_t b = from; end != UINT32_MAX && b <= end; b++)
        jumps += f->back[(size_t)b * f->k->nblocks + from];
    return (double)(f->runs[from] - jumps);
}

// Each of so many warps comes to it once, as far as it does.
static bool entered_once(const profile *f, uint32_t from, uint32_t end, double warps) {
    double n = entries(f, from, end);
    return n <= (double)f->warps && n >= warps * 0.9;
}

static double deviation(const profile *f, uint32_t b, double n) { // of a warp's runs, of n warps
    double mean = (double)f->runs[b] / n, var = f->squares[b] / n - mean * mean;
    return var > 0 ? sqrt(var) : 0;
}

static void add(emit *m, uint32_t inst) { *ORR_PUSH(&m->lines) = (line){TASK, inst, 0, 0, false}; }

static bool goes_back(const profile *f, uint32_t b) { // mostly
    uint64_t jumps = 0;
    for (uint32_t to = 0; to <= b; to++) jumps += f->back[(size_t)b * f->k->nblocks + to];
    return jumps * 2 > f->runs[b];
}

static void block_of(emit *m, uint32_t b, double share) { // of the rounds around it
    const orr_program *p = m->f->p;
    const orr_tblock *t = &p->blocks[b];
    if (share > 0.8 && share < 1.2) share = 1;
    for (uint32_t i = t->first; i < t->first + t->count; i++) {
        // A kernel ends by itself; an exit that some lanes take is a branch to the others.
        if (p->insts[i].kind == ORR_TK_EXIT && !orr_succ_count(m->f->k, &m->f->k->blocks[b])) continue;
        if (p->insts[i].kind == ORR_TK_BRANCH && goes_back(m->f, b)) continue; // a loop has its own
        const orr_tinst *in = &p->insts[i];
        double *owed = &m->owed[in->space == ORR_SPACE_SHARED ? 0 : in->kind == ORR_TK_MEM ? 1 : 2];
        for (*owed += share; *owed >= 0.5; *owed -= 1) add(m, i);
    }
}

static bool waits(const profile *f, uint32_t from, uint32_t to) { // for a barrier
    for (uint32_t b = from; b < to; b++)
        for (uint32_t i = f->p->blocks[b].first; i < f->p->blocks[b].first + f->p->blocks[b].count; i++)
            if (f->p->insts[i].kind == ORR_TK_BARRIER) return true;
    return false;
}

// Outside of loops, code that some warps go through and others do not: up to where their share changes.
// UINT32_MAX: nearly all do.
static uint32_t some_end(const emit *m, uint32_t from, uint32_t to, double times) {
    const profile *f = m->f;
    double first = (double)f->who[from];
    uint32_t b = from;
    if (m->loops || m->depth > 3 || first > 0.8 * times) return UINT32_MAX;
    while (b < to) {
        uint32_t end = loop_end(f, b, to);
        if (f->runs[b] && fabs((double)f->who[b] - first) > 0.15 * first) break;
        b = end == UINT32_MAX ? b + 1 : end + 1;
    }
    return first * 100 < (double)f->warps || waits(f, from, b) ? UINT32_MAX : b;
}

// Blocks from `from` up to `to`, gone through `times` times; `part`: once more, for so much of a round.
static void region(emit *m, uint32_t from, uint32_t to, double times, double scale) {
    const profile *f = m->f;
    for (uint32_t b = from; b < to; b++) {
        if (!f->runs[b] || times <= 0) continue;
        uint32_t end = loop_end(f, b, to), some = scale < 1 ? UINT32_MAX : some_end(m, b, to, times);
        double each = (double)f->runs[b] / times * scale; // rounds
        if (some != UINT32_MAX) {
            double warps = (double)f->who[b];
            *ORR_PUSH(&m->lines) =
                (line){SOME_FROM, 0, (uint64_t)(100 * warps / (double)f->warps + 0.5), 0, false};
            m->depth++;
            region(m, b, some, warps, 1);
            m->depth--;
            *ORR_PUSH(&m->lines) = (line){SOME_TO, 0, 0, 0, false};
            b = some - 1;
            continue;
        }
        if (end == UINT32_MAX || each < 1.5 || (b == from && times == (double)f->runs[b])) {
            block_of(m, b, each);
            continue;
        }
        double whole = floor(each + 1e-9), rest = each - whole;
        // A last round in part would hold nobody up; it matters where there are few.
        if (each >= 3 || rest > 0.8 || rest < 0.2) {
            whole += rest >= 0.5;
            rest = 0;
        }
        bool once = !m->loops && entered_once(f, b, end, times);
        double spread = once ? deviation(f, b, times) * 1.732 : 0; // of numbers that are evenly spread
        uint64_t least = (uint64_t)whole, most = (uint64_t)whole;
        bool blocks = waits(f, b, end + 1); // the warps of a block have as many rounds
        if (!m->loops && m->uneven > 1 && (blocks || !(spread > 1))) {
            spread = (m->uneven - 1) * each;
            blocks = true;
        }
        if (spread > 0.15 * each && spread > 1) {
            least = each - spread > 1 ? (uint64_t)(each - spread + 0.5) : 1;
            most = (uint64_t)(2 * each + 0.5) - least;
            rest = 0;
        }
        *ORR_PUSH(&m->lines) = (line){LOOP_FROM, 0, least, most, blocks};
        double owed[3];
        memcpy(owed, m->owed, sizeof owed);
        m->depth++;
        m->loops++;
        region(m, b, end + 1, (double)f->runs[b], 1);
        m->depth--;
        m->loops--;
        memcpy(m->owed, owed, sizeof owed);
        *ORR_PUSH(&m->lines) = (line){LOOP_TO, 0, 0, 0, false};
        if (rest > 0.1) region(m, b, end + 1, (double)f->runs[b], rest);
        b = end;
    }
}

// ---- words -----------------------------------------------------------------------------------------
static const char *class_word(const orr_program *p, const orr_tinst *t) {
    static const struct {
        const char *mnemonic, *word;
    } known[] = {{"FFMA", "sp"},   {"FADD", "sp"},  {"FMUL", "sp"},  {"DFMA", "dp"}, {"HFMA2", "half"},
                 {"IADD3", "int"}, {"IMAD", "mul"}, {"MUFU", "sfu"}, {"MOV", "move"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(p->names[t->name], known[i].mnemonic)) return known[i].word;
    return NULL;
}

static const char *space_word(const orr_tinst *t, const seen *s) {
    if (t->tclass == ORR_TC_CONST || t->space == ORR_SPACE_CONST || t->space == ORR_SPACE_PARAM)
        return "const";
    if (t->space == ORR_SPACE_LOCAL) return "local";
    if (t->space == ORR_SPACE_SHARED || (t->space == ORR_SPACE_GENERIC && s->phases)) return "shared";
    return "global";
}

static uint32_t power(double x) { // of two, the nearest
    uint32_t p = 1;
    while (p < 32 && (double)p * 1.4142 < x) p *= 2;
    return p;
}

// An atomic takes its slice of L2 for each of its threads.
static unsigned lanes_of(const seen *s, bool atomic, double full) {
    double lanes = s->n ? (double)s->lanes / (double)s->n * full : 32;
    return atomic && lanes < 31.5 ? (lanes < 1.5 ? 1 : (unsigned)(lanes + 0.5)) : 32;
}

static void memory_words(const emit *m, const orr_tinst *t, const seen *s, orr_text *out) {
    const char *space = space_word(t, s);
    unsigned bytes = power((double)t->bytes) > 16 ? 16 : power((double)t->bytes);
    bool atomic = t->flags & ORR_TF_ATOMIC, store = t->flags & ORR_TF_STORE && !atomic;
    if (!strcmp(space, "const")) store = atomic = false;
    if (!strcmp(space, "local")) atomic = false;
    orr_text_add(out, "%s %s %u",
                 atomic  ? (t->ndst ? "atomic" : "red")
                 : store ? "store"
                         : "load",
                 space, bytes);
    if (!strcmp(space, "const")) orr_text_add(out, " stride 0");
    if (!strcmp(space, "shared") && s->n) { // as many passes as it took on average
        double passes = (double)s->passes / (double)s->n * m->f->full, usual = bytes > 4 ? bytes / 4.0 : 1;
        unsigned step = bytes < 4 ? 4 : bytes;
        if (passes > 1.3 * usual)
            orr_text_add(out, " stride %u", power(passes / usual) * step);
        else if (passes < 0.8 * usual)
            orr_text_add(out, " stride %u", (unsigned)((double)bytes * passes / usual + 0.5));
    }
    if (strcmp(space, "global") != 0 || !s->n) return;
    double sectors = (double)s->sectors / (double)s->n;
    if (sectors >= 1.5) sectors *= m->f->full;
    unsigned lanes = lanes_of(s, atomic, m->f->full);
    unsigned stride = (unsigned)(32 * sectors / lanes + 0.5); // lanes of so many bytes touch so many sectors
    if (sectors < 1.5 || !s->sectors) stride = 0;
    if (stride > 24 && stride <= 33) { // each lane its own sector: then as many lines
        double lines = (double)s->lines / (double)s->n * m->f->full;
        stride = lines > 8.5 ? (unsigned)(4 * lines + 0.5) : 32;
    }
    if (stride > 32 && sectors > 33) stride = bytes; // wide
    if (s->steps * 2 > s->n && s->step > 32 && s->step <= 1u << 16) stride = (unsigned)s->step;
    if (stride != bytes) orr_text_add(out, " stride %u", stride);
    if (lanes < 32) orr_text_add(out, " lanes %u", lanes);
    if (!s->sectors) {
        orr_text_add(out, " l1 100");
        return;
    }
    unsigned l1 = (unsigned)(100.0 * (double)s->l1 / (double)s->lead_sectors + 0.5);
    unsigned l2 = (unsigned)(100.0 * (double)s->l2 / (double)s->lead_sectors + 0.5);
    if (l1 + l2 > 100) l2 = 100 - l1;
    if (s->alike > (s->leaders + s->alike) / 2)
        orr_text_add(out, " everywhere");
    else if (s->n - s->leaders > s->n / 3)
        orr_text_add(out, " together");
    if (l1) orr_text_add(out, " l1 %u", l1);
    if (l2) orr_text_add(out, " l2 %u", l2);
}

// ---- dependences -----------------------------------------------------------------------------------
typedef struct writer_of { // the last task that wrote a register
    uint32_t task;
    size_t line;
    bool known;
} writer_of;

// In the loop around line `at`, the last task that writes `reg` from there on: what the next round finds.
static bool later_writer(const emit *m, const uint32_t *number, size_t at, uint16_t reg, uint32_t *task) {
    const orr_program *p = m->f->p;
    int depth = 0;
    bool found = false;
    size_t end = at;
    for (; end < m->lines.n; end++) {
        if (m->lines.at[end].what == LOOP_FROM) depth++;
        if (m->lines.at[end].what == LOOP_TO && depth-- == 0) break;
    }
    for (size_t i = at; i < end && end < m->lines.n; i++) {
        if (m->lines.at[i].what != TASK) continue;
        const orr_tinst *t = &p->insts[m->lines.at[i].inst];
        for (uint32_t d = 0; d < t->ndst; d++)
            if (p->regs[t->regs + t->nsrc + d] == reg) {
                *task = number[i];
                found = true;
            }
    }
    return found;
}

static void needs(const emit *m, const uint32_t *number, size_t at, const writer_of *last, orr_text *out) {
    const orr_program *p = m->f->p;
    const orr_tinst *t = &p->insts[m->lines.at[at].inst];
    uint32_t listed[MAX_DEPS];
    int n = 0, depth = 0;
    size_t from = at; // where the innermost loop around it begins
    while (from > 0 && depth <= 0) {
        from--;
        depth += m->lines.at[from].what == LOOP_FROM ? 1 : m->lines.at[from].what == LOOP_TO ? -1 : 0;
    }
    for (uint32_t s = 0; s < t->nsrc && n < MAX_DEPS; s++) {
        uint16_t reg = p->regs[t->regs + s];
        uint32_t tasks[2];
        int have = 0;
        if (last[reg].known) tasks[have++] = last[reg].task;
        bool here = last[reg].known && last[reg].line > from; // in this round
        if (depth > 0 && !here && later_writer(m, number, at, reg, &tasks[have])) have++;
        for (int h = 0; h < have && n < MAX_DEPS; h++) {
            bool twice = false;
            for (int i = 0; i < n; i++) twice |= listed[i] == tasks[h];
            if (!twice) listed[n++] = tasks[h];
        }
    }
    for (int i = 0; i < n; i++) orr_text_add(out, "%s%u", i ? ", " : " after ", listed[i]);
}

// ---- a kernel --------------------------------------------------------------------------------------
static void indent(orr_text *out, int depth) { orr_text_add(out, "%*s", 4 * (depth + 1), ""); }

static bool write_tasks(const emit *m, orr_text *out) {
    const orr_program *p = m->f->p;
    uint32_t *number = orr_calloc(m->lines.n + 1, sizeof *number), next = 0;
    writer_of *last = orr_calloc(p->nplaces + 2u, sizeof *last);
    int depth = 0;
    for (size_t i = 0; i < m->lines.n; i++) number[i] = m->lines.at[i].what == TASK ? next++ : 0;
    for (size_t i = 0; i < m->lines.n && next <= MAX_TASKS; i++) {
        const line *l = &m->lines.at[i];
        if (l->what == LOOP_FROM) {
            indent(out, depth++);
            orr_text_add(out, "loop %llu", (unsigned long long)l->times);
            if (l->most > l->times)
                orr_text_add(out, " to %llu%s", (unsigned long long)l->most, l->blocks ? " blocks" : "");
            orr_text_add(out, "\n");
            continue;
        }
        if (l->what == SOME_FROM) {
            indent(out, depth++);
            orr_text_add(out, "some %llu\n", (unsigned long long)l->times);
            continue;
        }
        if (l->what == LOOP_TO || l->what == SOME_TO) {
            indent(out, --depth);
            orr_text_add(out, "end\n");
            continue;
        }
        const orr_tinst *t = &p->insts[l->inst];
        const char *word = class_word(p, t);
        indent(out, depth);
        orr_text_add(out, "%u: ", number[i]);
        if (t->kind == ORR_TK_BARRIER)
            orr_text_add(out, "sync");
        else if (t->tclass == ORR_TC_CONST && t->access == ORR_NO_ACCESS)
            orr_text_add(out, "load const 4 stride 0"); // a parameter, the same for all lanes
        else if (t->kind == ORR_TK_MEM || t->tclass == ORR_TC_MEM || t->tclass == ORR_TC_CONST ||
                 t->tclass == ORR_TC_TEX)
            memory_words(m, t, &m->f->accesses[l->inst], out);
        else if (t->kind == ORR_TK_EXIT)
            orr_text_add(out, "inst BRA");
        else if (word)
            orr_text_add(out, "%s", word);
        else if ((t->kind == ORR_TK_ALU || t->kind == ORR_TK_BRANCH) &&
                 orr_sass_find(p->names[t->name], strcspn(p->names[t->name], ".")) != ORR_SASS_NONE)
            orr_text_add(out, "inst %s", p->names[t->name]);
        else
            orr_text_add(out, "move");
        if (t->kind != ORR_TK_BARRIER) needs(m, number, i, last, out);
        if (ORR_CTRL_STALL(t->ctrl) > 1) orr_text_add(out, " stall %u", ORR_CTRL_STALL(t->ctrl));
        orr_text_add(out, "\n");
        for (uint32_t d = 0; d < t->ndst; d++)
            last[p->regs[t->regs + t->nsrc + d]] = (writer_of){number[i], i, true};
    }
    free(number);
    free(last);
    return next <= MAX_TASKS;
}

static void put_name(orr_text *t, const char *name, size_t nth) {
    for (int n = 0; *name && n < 40; name++, n++) {
        bool letter = (*name | 32) >= 'a' && (*name | 32) <= 'z', digit = *name >= '0' && *name <= '9';
        orr_text_add(t, "%c", letter || (digit && n) ? *name : '_');
    }
    if (nth) orr_text_add(t, ".%zu", nth);
}

// Launches that did the same have one kernel.
static const char *kernel_named(orr_task_writer *w, const orr_kernel *k, const char *body) {
    size_t nth = 0;
    for (size_t i = 0; i < w->known.n; i++) {
        if (!strcmp(w->known.at[i], body) && !strncmp(w->names.at[i], k->name, 1)) return w->names.at[i];
        size_t n = strcspn(w->names.at[i], ".");
        nth += !strncmp(w->names.at[i], k->name, n) && n == strlen(k->name);
    }
    orr_text name = {0};
    put_name(&name, k->name, nth);
    *ORR_PUSH(&w->names) = name.s;
    char *kept = orr_malloc(strlen(body) + 1);
    memcpy(kept, body, strlen(body) + 1);
    *ORR_PUSH(&w->known) = kept;
    orr_text_add(&w->kernels, "kernel %s%send\n", name.s, body);
    return name.s;
}

// What the longest thread block does, of the average one, where a launch waits for it: its blocks run in one
// round. 1: elsewhere, others run meanwhile.
static double uneven(const orr_task_writer *w, const profile *f) {
    if (!f->blocks || !f->insts) return 1;
    uint64_t warps = f->warps / f->blocks, room = warps ? (uint64_t)w->g->limit_sm_threads / 32 / warps : 1;
    double mean = (double)f->insts / (double)f->blocks, part = (double)f->longest / mean;
    bool round = f->blocks <= (uint64_t)w->sms * (room ? room : 1);
    return round && part > 1.25 ? part : 1;
}

// What a list cannot have of the kernel, as comments.
static void write_limits(const profile *f, double uneven, orr_text *out) {
    const orr_kernel *k = f->k;
    orr_text why = {0};
    orr_observable_text(k, &why);
    if (orr_kernel_orders(k))
        orr_text_add(out, "    # its threads wait for each other (it %s): in a list nobody does\n",
                     why.s ? why.s : "swaps what others write");
    else if (orr_kernel_observable(k) & (ORR_OBS_ATOMIC | ORR_OBS_POLL | ORR_OBS_GUARD))
        orr_text_add(out,
                     "    # what it does depends on when its threads do it (it %s): a list has one way\n",
                     why.s ? why.s : "");
    free(why.s);
    if (uneven > 1)
        orr_text_add(out, "    # its longest thread block does %.1f times what the average one does\n",
                     uneven);
}

bool orr_task_writer_launch(orr_task_writer *w, orr_source *s, orr_err *e) {
    const orr_launch_info *info = &s->info;
    profile f = {.k = info->kernel};
    f.p = orr_program_new(info->kernel, w->g, e);
    if (!f.p) return false;
    if (info->kernel->nblocks > 8192) {
        orr_program_free(f.p);
        return orr_fail(e, ORR_BAD_INPUT, "kernel %s: more than 8192 blocks of code", info->kernel->name);
    }
    size_t nblocks = info->kernel->nblocks;
    f.runs = orr_calloc(nblocks + 1, sizeof *f.runs);
    f.back = orr_calloc(nblocks * nblocks + 1, sizeof *f.back);
    f.squares = orr_calloc(nblocks + 1, sizeof *f.squares);
    f.who = orr_calloc(nblocks + 1, sizeof *f.who);
    f.accesses = orr_calloc(f.p->ninsts + 1, sizeof *f.accesses);
    bool ok = read_launch(w, &f, s, e);
    emit m = {.f = &f};
    orr_text body = {0};
    uint64_t threads = (uint64_t)info->block[0] * info->block[1] * info->block[2];
    f.full = (double)((threads + 31) / 32 * 32) / (double)threads;
    if (ok) {
        orr_text_add(&body, " threads %llu registers %u shared %llu\n", (unsigned long long)threads,
                     f.p->registers < 255 ? (f.p->registers ? f.p->registers : 1) : 255,
                     (unsigned long long)info->kernel->shared_bytes + info->dynamic_shared);
        double longest = uneven(w, &f);
        m.uneven = longest < 1.95 ? longest : 1.95; // from nearly nothing to twice as much
        write_limits(&f, longest, &body);
        region(&m, 0, info->kernel->nblocks, (double)f.warps, 1);
        ok = write_tasks(&m, &body) ||
             orr_fail(e, ORR_BAD_INPUT,
                      "kernel %s: a warp has more than %d tasks; a list of loops that are not "
                      "unrolled must be written by hand",
                      info->kernel->name, MAX_TASKS);
    }
    if (ok) {
        const char *name = kernel_named(w, info->kernel, body.s);
        orr_text_add(&w->steps, "launch %s grid %u, %u, %u\n", name, info->grid[0], info->grid[1],
                     info->grid[2]);
    }
    free(body.s);
    free(m.lines.at);
    free(f.runs);
    free(f.back);
    free(f.squares);
    free(f.who);
    for (uint32_t i = 0; i < f.p->ninsts; i++) free(f.accesses[i].first.at);
    free(f.accesses);
    orr_program_free(f.p);
    return ok;
}

void orr_task_writer_text(const orr_task_writer *w, const char *title, orr_text *out) {
    orr_text_add(out, "# %s\n", title);
    orr_text_add(out, "%s%s", w->kernels.s ? w->kernels.s : "", w->steps.s ? w->steps.s : "");
}
