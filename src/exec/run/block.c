// A thread block in flight: its warps in turn, its barriers, its shared and local memory.
//
// Warps run one after the other, each until it finishes, waits at a barrier, or has had its slice
// (only in kernels whose warps can wait for each other). A block all of whose warps wait will never
// go on: that is reported, not hung on.
#include <stdlib.h>
#include <string.h>

#include "exec/block.h"

#define ROUNDS 16 // rounds of slices before another thread block gets a turn

// ---- faults ---------------------------------------------------------------------------------
static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_file(const char *file, const char *path) { // a compiler writes it with another folder
    return !strcmp(name_of(file), name_of(path));
}

// Was the module's text made of the file that it has its name of? Then nobody has seen its own lines.
static bool made_here(const orr_module *m) {
    for (uint32_t n = 0; n < m->nfiles; n++)
        if (m->text_name || is_file(m->files[n], m->path)) return true;
    return false;
}

// Where an instruction is: its line in the module or its address in machine code, with the source line behind
// it; of a module that was made here the source line only.
static void place_of(const decoded *p, const orr_inst *i, char *to, size_t size) {
    const orr_module *m = p->kernel->module;
    const char *file =
        i->source.file && m && i->source.file <= m->nfiles ? m->files[i->source.file - 1] : NULL;
    if (file && made_here(m)) {
        bool own = (m->text_name && !strcmp(file, m->text_name)) || is_file(file, m->path);
        snprintf(to, size, "%.300s:%u", own ? m->path : file, i->source.line);
    } else {
        snprintf(to, size, p->kernel->machine ? "%.300s:0x%04x" : "%.300s:%u", m ? m->path : "?", i->line);
    }
}

static void source_of(const decoded *p, const orr_inst *i, char *to, size_t size) {
    const orr_module *m = p->kernel->module;
    *to = 0;
    if (i->source.file && m && i->source.file <= m->nfiles && !made_here(m))
        snprintf(to, size, " (%.150s:%u)", m->files[i->source.file - 1], i->source.line);
}

void orr_fault_as(int kind, warp *w, const uop *u, int lane, const char *fmt, ...) {
    tblock *tb = w->tb;
    if (tb->faulted) return;
    tb->faulted = true;
    const decoded *p = tb->prog;
    char what[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    const uint32_t *tid = p->tid + (size_t)w->index * 3 * ORR_WARP + lane;
    char source[200], place[330];
    place_of(p, u->inst, place, sizeof place);
    source_of(p, u->inst, source, sizeof source);
    tb->worker->fault_index = tb->index;
    tb->worker->fault = kind;
    orr_fail(&tb->worker->err, ORR_PROGRAM_FAILED,
             "%s: %s%s; kernel '%s', block (%u,%u,%u), thread (%u,%u,%u)", place, what, source,
             p->kernel->name, tb->ctaid[0], tb->ctaid[1], tb->ctaid[2], tid[0], tid[ORR_WARP],
             tid[2 * ORR_WARP]);
}

// ---- barriers -------------------------------------------------------------------------------
// A barrier counts threads. A warp all of whose live lanes have arrived counts as 32, as the hardware
// counts warps; lanes of a diverged warp count one by one. Lanes that have exited are not waited for.
static uint32_t arrived_threads(const tblock *tb, const barrier *b) {
    uint32_t n = 0;
    for (uint32_t w = 0; w < tb->prog->nwarps; w++) {
        uint32_t live = tb->warps[w].live, here = b->arrived[w];
        if (!live)
            n += b->threads && !here ? 0 : ORR_WARP;
        else if (here && !(live & ~here))
            n += ORR_WARP;
        else
            n += (uint32_t)orr_popc(here);
    }
    return n;
}

static void deliver(warp *w, const frag *f, const uop *u, const barrier *b) {
    if (u->inst->sub < ORR_BAR_RED_POPC || u->d.none) return;
    const frame *fr = &w->frames.at[f->frame];
    uint8_t *at = w->regs.at[u->d.cls] + fr->base[u->d.cls] + u->d.off;
    if (u->inst->sub == ORR_BAR_RED_POPC) {
        for (uint32_t m = f->mask; m; m &= m - 1) memcpy(at + 4 * orr_ffs(m), &b->popc, 4);
    } else {
        uint32_t v = u->inst->sub == ORR_BAR_RED_AND ? b->all : b->any, old;
        memcpy(&old, at, 4);
        old = v ? old | f->mask : old & ~f->mask;
        memcpy(at, &old, 4);
    }
}

static const uop *waiting_at(const warp *w, const frag *f) { return w->bars.waiting[f - w->frags]; }

// Clocks (orr_tally): who waited has the latest of those who came.
static void meet(tblock *tb, const barrier *b, uint32_t id) {
    uint64_t last = 0;
    for (uint32_t n = 0; n < tb->prog->nwarps; n++)
        if (b->arrived[n] && tb->warps[n].tally.clock > last) last = tb->warps[n].tally.clock;
    for (uint32_t n = 0; n < tb->prog->nwarps; n++)
        for (int x = next_frag(&tb->warps[n], 0); b->arrived[n] && x < ORR_WARP;
             x = next_frag(&tb->warps[n], x + 1))
            if (tb->warps[n].frags[x].state == FRAG_BAR && tb->warps[n].frags[x].bar == id)
                tb->warps[n].tally.clock = last;
}

// Has a warp not come with all of its lanes? The last warp nearly always comes last.
static bool somebody_missing(const tblock *tb, const barrier *b) {
    for (uint32_t w = tb->prog->nwarps; w-- > 0;)
        if (tb->warps[w].live & ~b->arrived[w]) return true;
    return false;
}

static bool try_release(tblock *tb, uint32_t id) {
    barrier *b = &tb->bar[id];
    uint32_t need = b->threads ? b->threads : tb->prog->nwarps * ORR_WARP;
    if (!b->threads && somebody_missing(tb, b)) return false;
    if (arrived_threads(tb, b) < need) return false;
    if (tb->worker->tally) meet(tb, b, id);
    for (uint32_t n = 0; n < tb->prog->nwarps; n++) {
        warp *w = &tb->warps[n];
        if (!b->arrived[n]) continue;
        for (int x = next_frag(w, 0); x < ORR_WARP; x = next_frag(w, x + 1)) {
            frag *f = &w->frags[x];
            if (f->state != FRAG_BAR || f->bar != id) continue;
            deliver(w, f, waiting_at(w, f), b);
            f->state = FRAG_READY;
        }
    }
    tb->releases++;
    memset(b, 0, sizeof *b);
    tb->bars_open &= ~(1u << id);
    // Lanes that were let go may stand at a join. (Not inside the loop above: settling may free and
    // take fragments.)
    for (uint32_t n = 0; n < tb->prog->nwarps; n++) {
        warp *w = &tb->warps[n];
        for (int x = next_frag(w, 0); x < ORR_WARP; x = next_frag(w, x + 1))
            if (w->frags[x].state == FRAG_READY && w->bars.waiting[x]) {
                w->bars.waiting[x] = NULL;
                orr_warp_settle(w, &w->frags[x]);
            }
    }
    return true;
}

bool orr_barrier_arrive(warp *w, frag *f, const uop *u) {
    tblock *tb = w->tb;
    int lane = orr_ffs(f->mask);
    uint32_t id = SRC_A(w, u, uint32_t)[lane];
    if (id >= BARRIERS) {
        orr_fault(w, u, lane, "barrier %u; there are %d", id, BARRIERS);
        return false;
    }
    bool red = u->inst->sub >= ORR_BAR_RED_POPC;
    uint32_t threads = u->b.none ? 0 : SRC_B(w, u, uint32_t)[lane];
    bool none = !threads && !u->b.none && !tb->prog->kernel->code.insts; // machine code says 0 for all
    if (threads > MAX_WARPS * ORR_WARP || threads % ORR_WARP || none) {
        orr_fault(w, u, lane, "barrier for %u threads; it must be a multiple of %d up to %d", threads,
                  ORR_WARP, MAX_WARPS * ORR_WARP);
        return false;
    }
    barrier *b = &tb->bar[id];
    if (!(tb->bars_open >> id & 1)) {
        tb->bars_open |= 1u << id;
        b->threads = threads;
        b->all = 1;
    }
    b->arrived[w->index] |= f->mask;
    if (red) {
        uint32_t p = pred_of(w, u->c) & f->mask;
        b->popc += (uint32_t)orr_popc(p);
        b->all &= p == f->mask;
        b->any |= p != 0;
    }
    if (u->inst->sub != ORR_BAR_ARRIVE) {
        f->state = FRAG_BAR;
        f->bar = (uint8_t)id;
        w->bars.waiting[f - w->frags] = u;
        w->bars.some = true;
    }
    try_release(tb, id);
    return u->inst->sub == ORR_BAR_ARRIVE; // a released fragment was settled already
}

void orr_barrier_lanes_gone(tblock *tb) {
    for (uint32_t id = 0; id < BARRIERS; id++)
        if (tb->bars_open >> id & 1) try_release(tb, id);
}

// ---- running --------------------------------------------------------------------------------
void orr_block_deadlock(tblock *tb) {
    for (uint32_t n = 0; n < tb->prog->nwarps; n++) {
        warp *w = &tb->warps[n];
        for (int x = next_frag(w, 0); x < ORR_WARP; x = next_frag(w, x + 1)) {
            if (w->frags[x].state != FRAG_BAR) continue;
            const barrier *b = &tb->bar[w->frags[x].bar];
            orr_fault_as(ORR_FAULT_HANG, w, waiting_at(w, &w->frags[x]), orr_ffs(w->frags[x].mask),
                         "deadlock: barrier %u has %u of %u threads and no other thread can run",
                         w->frags[x].bar, arrived_threads(tb, b),
                         b->threads ? b->threads : tb->prog->nwarps * ORR_WARP);
            return;
        }
    }
    for (uint32_t n = 0; n < tb->prog->nwarps; n++) {
        warp *w = &tb->warps[n];
        if (!w->live || !w->tries.held || w->tries.paused->inst->op != ORR_OP_MBARRIER) continue;
        orr_fault_as(ORR_FAULT_HANG, w, w->tries.paused, orr_ffs(w->frag->mask),
                     "deadlock: it waits for an mbarrier and no thread arrives there any more");
        return;
    }
    orr_fault_as(ORR_FAULT_HANG, &tb->warps[0], tb->prog->uops, 0,
                 "deadlock: no thread of the block can run");
}

// Lanes at a barrier may wait for lanes that wait for them where their ways meet: these go on without them.
bool orr_block_release(tblock *tb) {
    bool released = false;
    for (uint32_t n = 0; n < tb->prog->nwarps; n++)
        released |= tb->warps[n].live && orr_warp_release(&tb->warps[n]);
    return released;
}

int orr_block_run(tblock *tb) { return tb->cluster ? orr_cluster_run(tb) : orr_block_alone(tb); }

int orr_block_alone(tblock *tb) {
    const decoded *p = tb->prog;
    tb->progressed = false;
    for (;;) {
        bool progress = false, yields = false, only_looks = true;
        for (uint32_t n = 0; n < p->nwarps; n++) {
            warp *w = &tb->warps[n];
            if (!w->live || w->tries.held) continue;
            uint64_t before =
                w->tries.paused ? UINT64_MAX : w->insts; // to go on with a block is progress, too
            int r = orr_warp_run(w);
            if (r == RUN_FAULT) return RUN_FAULT;
            progress |= w->insts != before;
            yields |= r == RUN_YIELDS;
            only_looks &= w->insts == before || (r == RUN_YIELDS && w->polls.only_polled);
            if (r == RUN_DONE) {
                tb->running--;
                tb->rounds = 0;
                orr_warp_leaves(w);
            }
        }
        tb->progressed |= progress;
        if (!tb->running) return RUN_DONE;
        if (!progress) {
            if (tb->cluster) return RUN_STALLED;
            if (orr_mbar_fail_one(tb) || orr_block_release(tb)) continue;
            orr_block_deadlock(tb);
            return RUN_FAULT;
        }
        if (yields && (++tb->rounds >= ROUNDS || only_looks) && (p->kernel->effects.atomics || tb->cluster)) {
            tb->rounds = 0;
            return RUN_YIELDS;
        }
    }
}

// Is a thread block's stream wanted?
bool orr_tally_samples(const orr_tally *t, uint64_t index) {
    if (!t) return true;
    uint32_t lo = 0, hi = t->nsampled;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (t->sampled[mid] < index)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < t->nsampled && t->sampled[lo] == index;
}

// ---- life of a block ------------------------------------------------------------------------
static tblock *make_block(worker *k) {
    const decoded *p = k->prog;
    tblock *tb = orr_calloc(1, sizeof *tb);
    tb->prog = p;
    tb->worker = k;
    tb->warps = orr_aligned_alloc(64, p->nwarps * sizeof *tb->warps);
    memset(tb->warps, 0, p->nwarps * sizeof *tb->warps);
    tb->shared = orr_aligned_alloc(64, ((size_t)p->shared_bytes + 127) & ~(size_t)63);
    size_t local = (size_t)p->local_bytes * p->nwarps * ORR_WARP;
    tb->local = orr_aligned_alloc(64, (local + 127) & ~(size_t)63);
    if (p->kernel->recursive) memset(tb->local, 0, local);
    if (k->streams) {
        tb->traces = orr_calloc(p->nwarps, sizeof *tb->traces);
        tb->views = orr_calloc(p->nwarps, sizeof *tb->views);
    }
    return tb;
}

static tblock *start_block(worker *k, uint64_t index) {
    const decoded *p = k->prog;
    tblock *tb = k->spare;
    if (tb)
        k->spare = tb->next;
    else
        tb = make_block(k);
    tb->index = index;
    orr_block_place(p->launch, index, tb->ctaid);
    tb->cluster = NULL;
    tb->rank = tb->tag = 0;
    memset(&tb->single, 0, sizeof tb->single);
    tb->running = p->nwarps;
    for (uint32_t open = tb->bars_open; open; open &= open - 1) // the others are as they were made
        memset(&tb->bar[orr_ffs(open)], 0, sizeof *tb->bar);
    tb->rounds = tb->bars_open = tb->next_failing = tb->failed_tries = 0;
    tb->mbars.n = tb->flights.n = tb->maps.n = 0;
    free(tb->read_by);
    tb->read_by = NULL;
    tb->faulted = false;
    tb->releases = 0;
    tb->next = NULL;
    tb->sm = 0;
    // Real shared and local memory start with whatever was there; this is the same on every host.
    memset(tb->shared, 0, p->shared_bytes);
    for (uint32_t at = 0; p->unset && at + 8 <= p->shared_bytes; at += 8)
        memcpy(tb->shared + at, &(uint64_t){ORR_UNSET}, 8);
    // A recursive kernel's deep stack is left alone: zeroing it would cost more than most blocks, and such
    // kernels run their blocks in one order anyway.
    size_t threads = (size_t)p->nwarps * ORR_WARP;
    if (p->kernel->recursive)
        for (size_t t = 0; t < threads; t++)
            memset(tb->local + t * p->local_bytes, 0, p->kernel->stack_bytes);
    else
        memset(tb->local, 0, p->local_bytes * threads);
    for (uint32_t n = 0; n < p->nwarps; n++) {
        orr_warp_start(&tb->warps[n], tb, n);
        tb->warps[n].tally.of = k->tally;
        tb->warps[n].tally.counts = k->counts_of;
        tb->warps[n].tally.from = UINT32_MAX - 1; // nowhere
        tb->warps[n].tally.clock = tb->warps[n].tally.work = 0;
        if (k->streams) {
            tb->traces[n].n = 0;
            tb->traces[n].mask = 0;
            tb->warps[n].trace = orr_tally_samples(k->tally, index) ? &tb->traces[n] : NULL;
        }
        if (index < k->unobserved) tb->warps[n].trace = NULL;
    }
    return tb;
}

tblock *orr_block_start(worker *k, uint64_t index) {
    uint32_t size = orr_cluster_size(k->prog->launch);
    if (size == 1) return start_block(k, index);
    bool is_new;
    cluster *c = orr_cluster_of(k, index, &is_new);
    for (uint32_t r = 0; is_new && r < size; r++) {
        tblock *tb = c->tb[r] = start_block(k, c->index * size + r);
        tb->cluster = c;
        tb->rank = r;
        if (k->prog->kernel->code.insts) tb->tag = orr_cluster_tag(tb, r);
    }
    return c->tb[index % size];
}

void orr_block_finish(tblock *tb) {
    worker *k = tb->worker;
    orr_cluster_leave(tb);
    for (uint32_t n = 0; n < tb->prog->nwarps; n++) {
        k->counts.warp_insts += tb->warps[n].insts;
        k->counts.thread_insts += tb->warps[n].thread_insts;
    }
    k->counts.blocks++;
    tb->next = k->spare;
    k->spare = tb;
}

void orr_worker_init(worker *k, decoded *p, bool streams) {
    *k = (worker){.prog = p, .mem = p->launch->mem, .streams = streams};
    k->memory = (uintptr_t)orr_mem_at(k->mem, 0);
    k->range = orr_calloc(p->nmem + 1, sizeof *k->range);
    k->fault_index = UINT64_MAX;
}

static void free_block(tblock *tb) {
    for (uint32_t n = 0; n < tb->prog->nwarps; n++) {
        warp *w = &tb->warps[n];
        for (int c = 0; c < ORR_CLASSES; c++) free(w->regs.at[c]);
        free(w->joins.at);
        free(w->frames.at);
        if (tb->traces) free(tb->traces[n].bytes);
    }
    free(tb->warps);
    free(tb->shared);
    free(tb->local);
    free(tb->mbars.at);
    free(tb->flights.at);
    free(tb->read_by);
    free(tb->maps.at);
    free(tb->traces);
    free(tb->views);
    free(tb);
}

void orr_worker_free(worker *k) {
    while (k->clusters) { // of blocks that nobody asked for
        cluster *c = k->clusters;
        for (uint32_t r = 0; r < c->size; r++)
            if (c->tb[r]) free_block(c->tb[r]);
        k->clusters = c->next;
        free(c);
    }
    while (k->spare) {
        tblock *tb = k->spare;
        k->spare = tb->next;
        free_block(tb);
    }
    for (size_t n = 0; n < k->areas.n; n++)
        for (int c = 0; c < ORR_CLASSES; c++) free(k->areas.at[n].at[c]);
    free(k->areas.at);
    free(k->range);
    free(k->products);
}
