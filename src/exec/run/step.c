// Execution as it is timed (step.h): one warp, one instruction at a time.
//
// An instruction of machine code is a few micro-ops. All of them run at issue, but for the one that touches
// global memory and those behind it. That one is run up to its addresses (orr_step_address, where every
// access of memory comes by):
//
//   a load      its handler stops there. When what it loads has been read it is run again, with the lanes'
//               values in place of memory.
//   a store     its handler writes what it stores into the access instead of memory.
//   an atomic   its handler stops there, and its operands are kept. When a slice of L2 serves some of its
//               lanes it is run for those, on the operands as they were.
//
// The micro-ops behind it, which make results of what was found, are run when that is delivered.
#include "exec/step.h"

#include <stdlib.h>
#include <string.h>

#include "exec/sass/translate.h"

#define OPERANDS 16
#define ROWS     (OPERANDS * 512)

struct orr_step_atomic {
    uop u;
    uop_fn *run;
    oper opers[OPERANDS];
    uint8_t rows[ROWS] __attribute__((aligned(64)));
};

typedef struct step_sm {
    worker k; // must be first: a warp's worker is its SM's
    orr_step *launch;
    orr_step_access *spare;
    ORR_VEC(orr_step_access *) all;
    orr_step_block *blocks; // spare ones
} step_sm;

struct orr_step {
    decoded p;
    orr_launch launch;
    step_sm *sms;
    uint32_t nsms;
    double ns;
    int how; // ORR_STEP_*
};

struct orr_step_warp {
    warp *w;
    frag *f; // that runs, or ran last
    size_t block_at;
    uint32_t inst;      // of the kernel: the next
    const xblock *left; // the block that it has left and not yet gone on from; NULL: none
    live live;
};

struct orr_step_block {
    tblock *tb;
    uint32_t releases; // tblock.releases when it was asked last
    orr_step_block *next;
    orr_step_warp *warps;
};

// What is the SM's own business, and not executed instruction by instruction.
static const char *never(uint16_t op, const orr_code *c) {
    uint16_t code = c ? c->op : ORR_SASS_NONE;
    if (op == ORR_OP_MBARRIER || op == ORR_OP_CPMBAR || code == ORR_SASS_SYNCS || code == ORR_SASS_ARRIVES)
        return "it waits at mbarriers";
    if ((op >= ORR_OP_WGMMA && op <= ORR_OP_REDASYNC) || orr_sass_group_product(code) ||
        code == ORR_SASS_UCGABAR_ARV)
        return "it uses groups of warps, bulk copies or clusters";
    return NULL;
}

static bool calls_system(const orr_kernel *k, uint32_t n) {
    if (k->insts[n].op == ORR_OP_SYSCALL) return true;
    return k->code.insts && k->code.insts[n].op == ORR_SASS_CALL &&
           orr_code_mod(&k->code.insts[n], ORR_SM_RELABS);
}

bool orr_calls_system(const orr_kernel *k) {
    for (uint32_t n = 0; n < k->ninsts; n++)
        if (calls_system(k, n)) return true;
    return false;
}

// What all SMs share is one host thread's business.
static const char *not_served(const orr_kernel *k, uint32_t n) {
    uint16_t op = k->insts[n].op;
    if (calls_system(k, n)) return "it prints, asserts or takes memory of the heap";
    if (op == ORR_OP_CPASYNC || k->code.insts[n].op == ORR_SASS_LDGSTS)
        return "it copies to shared memory asynchronously";
    return NULL;
}

bool orr_step_can(const orr_launch *l, int how, const char **why) {
    const orr_kernel *k = l->kernel;
    bool served = !(how & ORR_STEP_AT_ISSUE);
    *why = orr_cluster_size(l) > 1        ? "its thread blocks are in clusters"
           : k->machine && !k->code.insts ? "its machine code is not known"
           : served && !k->code.insts     ? "it is lowered before it is timed"
           : l->elsewhere                 ? "it is executed elsewhere"
                                          : NULL;
    for (uint32_t n = 0; n < k->ninsts && !*why; n++) {
        *why = never(k->insts[n].op, k->code.insts ? &k->code.insts[n] : NULL);
        if (!*why && served) *why = not_served(k, n);
    }
    return !*why;
}

// ---- a launch -------------------------------------------------------------------------------
orr_step *orr_step_new(const orr_launch *l, uint32_t sms, double ns, int how, orr_err *e) {
    orr_step *x = orr_calloc(1, sizeof *x);
    x->launch = *l;
    x->ns = ns;
    x->how = how;
    if (!orr_decode(&x->p, &x->launch, e)) {
        free(x);
        return NULL;
    }
    x->nsms = sms;
    x->sms = orr_calloc(sms, sizeof *x->sms);
    for (uint32_t n = 0; n < sms; n++) {
        orr_worker_init(&x->sms[n].k, &x->p, true);
        x->sms[n].launch = x;
    }
    return x;
}

static void free_sm(step_sm *s) {
    for (size_t n = 0; n < s->all.n; n++) {
        free(s->all.at[n]->atomic);
        free(s->all.at[n]);
    }
    free(s->all.at);
    while (s->blocks) {
        orr_step_block *b = s->blocks;
        s->blocks = b->next;
        free(b->warps);
        free(b);
    }
    orr_worker_free(&s->k);
}

void orr_step_free(orr_step *l, orr_exec_counts *counts) {
    if (!l) return;
    for (uint32_t n = 0; n < l->nsms; n++) {
        const orr_exec_counts *c = &l->sms[n].k.counts;
        if (counts) {
            counts->warp_insts += c->warp_insts;
            counts->thread_insts += c->thread_insts;
            counts->blocks += c->blocks;
        }
        free_sm(&l->sms[n]);
    }
    free(l->sms);
    orr_decoded_free(&l->p);
    free(l);
}

bool orr_step_turn(const orr_step *l, uint64_t now, orr_err *e) {
    if (!l->launch.turn || l->launch.turn((double)now * l->ns)) return true;
    return orr_fail(e, ORR_STOPPED, ORR_BESIDE_FAILED, l->launch.kernel->name);
}

bool orr_step_failed(const orr_step *l, orr_err *e) {
    for (uint32_t n = 0; n < l->nsms; n++) {
        const worker *k = &l->sms[n].k;
        if (!k->err.status) continue;
        if (l->launch.fault) *l->launch.fault = k->fault;
        orr_fail(e, k->err.status, "%s", k->err.text);
        return true;
    }
    return false;
}

uint32_t orr_step_warps(const orr_step *l) { return l->p.nwarps; }

typedef struct step_source {
    orr_source base;
    uint64_t next, total;
    uint32_t nwarps;
    orr_warp_trace *none;
} step_source;

static int source_next(orr_source *base, orr_tb *tb, orr_err *e) {
    (void)e;
    step_source *s = (step_source *)base;
    if (s->next == s->total) return 0;
    *tb = (orr_tb){.index = s->next++, .nwarps = s->nwarps, .warps = s->none};
    return 1;
}

static void source_close(orr_source *base) {
    free(((step_source *)base)->none);
    free(base);
}

orr_source *orr_step_source(const orr_step *l) {
    const uint32_t *grid = l->launch.grid;
    step_source *s = orr_calloc(1, sizeof *s);
    s->base.info = orr_info_of(&l->launch);
    s->base.next = source_next;
    s->base.close = source_close;
    s->total = (uint64_t)grid[0] * grid[1] * grid[2];
    s->nwarps = orr_step_warps(l);
    s->none = orr_calloc(s->nwarps, sizeof *s->none);
    return &s->base;
}

orr_step_block *orr_step_start(orr_step *l, uint32_t sm, uint64_t index) {
    step_sm *s = &l->sms[sm];
    orr_step_block *b = s->blocks;
    if (b) {
        s->blocks = b->next;
    } else {
        b = orr_calloc(1, sizeof *b);
        b->warps = orr_calloc(l->p.nwarps, sizeof *b->warps);
    }
    b->tb = orr_block_start(&s->k, index);
    b->tb->sm = sm;
    b->releases = 0;
    for (uint32_t n = 0; n < l->p.nwarps; n++) {
        orr_step_warp *w = &b->warps[n];
        *w = (orr_step_warp){.w = &b->tb->warps[n],
                             .live = {.ns = l->ns, .at_issue = l->how & ORR_STEP_AT_ISSUE}};
        w->w->step = &w->live;
        w->live.self = w;
        w->w->frag = NULL;
        orr_warp_registers(w->w);
    }
    return b;
}

void orr_step_end(orr_step_block *b) {
    step_sm *s = (step_sm *)b->tb->worker;
    for (uint32_t n = 0; n < b->tb->prog->nwarps; n++) b->tb->warps[n].step = NULL;
    orr_block_finish(b->tb);
    b->next = s->blocks;
    s->blocks = b;
}

orr_step_warp *orr_step_warp_of(orr_step_block *b, uint32_t n) { return &b->warps[n]; }

bool orr_step_faulted(const orr_step_block *b) { return b->tb->faulted; }

bool orr_step_released(orr_step_block *b) {
    bool some = b->tb->releases != b->releases;
    b->releases = b->tb->releases;
    return some;
}

orr_trace_out *orr_step_trace(orr_step_warp *w) { return w->w->trace; }
size_t orr_step_block_at(const orr_step_warp *w) { return w->block_at; }

// ---- accesses -------------------------------------------------------------------------------
static orr_step_access *take_access(warp *w) {
    step_sm *s = (step_sm *)w->worker;
    orr_step_access *a = s->spare;
    if (a) {
        s->spare = a->next;
    } else {
        a = orr_calloc(1, sizeof *a);
        *ORR_PUSH(&s->all) = a;
    }
    a->refs = 0;
    return a;
}

void orr_step_drop(orr_step_access *a) {
    step_sm *s = (step_sm *)a->warp->w->worker;
    a->next = s->spare;
    s->spare = a;
}

// Where all lanes are: ORR_SPACE_GLOBAL or ORR_SPACE_SHARED, else ORR_SPACE_GENERIC.
static uint8_t space_of(const warp *w, const uint64_t addr[ORR_WARP], uint8_t space) {
    if (space != ORR_SPACE_GENERIC) return space;
    uint32_t shared = 0, global = 0;
    for (uint32_t m = w->exec; m; m &= m - 1) {
        uint64_t at = addr[orr_ffs(m)];
        if (at - ORR_SHARED_WINDOW < ORR_WINDOW_BYTES)
            shared |= m & -m;
        else if (at - ORR_LOCAL_WINDOW >= ORR_WINDOW_BYTES && at - ORR_PARAM_WINDOW >= ORR_WINDOW_BYTES)
            global |= m & -m;
    }
    return global == w->exec ? ORR_SPACE_GLOBAL : shared == w->exec ? ORR_SPACE_SHARED : space;
}

// The operands as they are, in rows of the access's own.
static void keep_operands(orr_step_access *a, const warp *w, const uop *u) {
    if (!a->atomic) a->atomic = orr_aligned_alloc(64, (sizeof *a->atomic + 63) & ~(size_t)63);
    struct orr_step_atomic *x = a->atomic;
    uint32_t n = (uint32_t)u->ndst + u->nsrc, at = 0;
    if (n > OPERANDS) abort(); // an atomic of 128 bits has 13
    x->u = *u;
    x->run = u->inner ? u->inner : u->masked;
    for (uint32_t i = 0; i < n; i++) {
        oper o = u->all[i];
        uint32_t bytes = reg_bytes(o.cls);
        memcpy(x->rows + at, w->bank[o.bank] + o.off, bytes);
        o.off = at;
        o.bank = BANK_W;
        x->opers[i] = o;
        at += (bytes + 63) & ~63u;
    }
    x->u.all = x->opers;
    if (u->ndst > 0) x->u.d = x->opers[0];
    if (u->nsrc > 0) x->u.a = x->opers[u->ndst];
    if (u->nsrc > 1) x->u.b = x->opers[u->ndst + 1];
    if (u->nsrc > 2) x->u.c = x->opers[u->ndst + 2];
}

int orr_step_address(warp *w, const uop *u, const uint64_t addr[ORR_WARP], uint8_t space, uint32_t bytes,
                     uint8_t *host[ORR_WARP]) {
    live *l = w->step;
    if (l->watched && space_of(w, addr, space) == ORR_SPACE_GLOBAL &&
        !orr_watch_access(w, u, addr, w->exec, bytes))
        return STEP_LATER;
    if (l->at_issue) return STEP_NOW;
    if (l->values) { // what was loaded
        for (int i = 0; i < ORR_WARP; i++) host[i] = l->values + (size_t)i * bytes;
        return STEP_AGAIN;
    }
    if (l->addr) { // an atomic is served
        for (uint32_t m = w->exec; m; m &= m - 1)
            host[orr_ffs(m)] = (uint8_t *)((uintptr_t)l->memory + l->addr[orr_ffs(m)]);
        return STEP_AGAIN;
    }
    uint16_t op = u->inst->op;
    bool load = op == ORR_OP_LD, store = op == ORR_OP_ST, atomic = op == ORR_OP_ATOM || op == ORR_OP_RED;
    const step_sm *s = (const step_sm *)w->worker;
    uint8_t where = space_of(w, addr, space);
    bool shared = where == ORR_SPACE_SHARED && s->launch->how & ORR_STEP_SHARED;
    if (!(load || store || atomic) || bytes > ORR_STEP_BYTES) return STEP_NOW;
    if (where != ORR_SPACE_GLOBAL && !shared) return STEP_NOW;
    orr_step_access *a = take_access(w);
    a->kind = load ? ORR_STEP_LOAD : store ? ORR_STEP_STORE : ORR_STEP_ATOMIC;
    a->bytes = (uint8_t)bytes;
    a->mask = w->exec;
    a->warp = l->self;
    a->uop = u;
    a->shared = shared;
    a->done = false;
    memcpy(a->addr, addr, sizeof a->addr);
    a->memory = shared ? (uintptr_t)w->tb->shared : orr_step_memory(s->launch);
    if (shared && space == ORR_SPACE_GENERIC)
        for (int i = 0; i < ORR_WARP; i++) a->addr[i] -= ORR_SHARED_WINDOW;
    l->access = a;
    if (atomic) keep_operands(a, w, u);
    if (!store) return STEP_LATER;
    for (int i = 0; i < ORR_WARP; i++) host[i] = a->data + (size_t)i * bytes;
    return STEP_AGAIN;
}

uintptr_t orr_step_memory(const orr_step *l) { return (uintptr_t)orr_mem_at(l->launch.mem, 0); }

// Most loads are of one word, which is worth a loop of its own.
void orr_step_read(orr_step_access *a, uint32_t lanes, uintptr_t memory) {
    uint32_t m = lanes & a->mask, bytes = a->bytes;
    if (bytes == 4) {
        for (; m; m &= m - 1)
            memcpy(a->data + 4 * (size_t)orr_ffs(m), (const void *)(memory + a->addr[orr_ffs(m)]), 4);
        return;
    }
    for (; m; m &= m - 1)
        memcpy(a->data + bytes * (size_t)orr_ffs(m), (const void *)(memory + a->addr[orr_ffs(m)]), bytes);
}

void orr_step_put(const orr_step_access *a) {
    for (uint32_t m = a->mask; m; m &= m - 1)
        memcpy((void *)(a->memory + a->addr[orr_ffs(m)]), a->data + a->bytes * (size_t)orr_ffs(m), a->bytes);
}

// On a warp that has nothing but the operands: any host thread may do it.
void orr_step_atomic(orr_step_access *a, uint32_t lanes, uintptr_t memory) {
    static _Thread_local warp of_thread;
    warp *w = &of_thread;
    live at_memory = {.memory = (uint8_t *)memory, .addr = a->addr};
    for (int b = 0; b < BANKS; b++) w->bank[b] = a->atomic->rows;
    w->step = &at_memory;
    w->trace = NULL;
    set_exec(w, lanes & a->mask);
    a->atomic->run(w, &a->atomic->u);
    w->step = NULL;
}

// ---- answers --------------------------------------------------------------------------------
static void copy_lanes(uint8_t *to, const uint8_t *from, uint8_t cls, uint32_t lanes) {
    uint32_t each = reg_bytes(cls) / ORR_WARP;
    for (uint32_t m = lanes; m; m &= m - 1)
        memcpy(to + each * (uint32_t)orr_ffs(m), from + each * (uint32_t)orr_ffs(m), each);
}

static bool is_destination(const uop *u, const uop *end, oper o) {
    for (; u < end; u++)
        for (int n = 0; n < u->ndst; n++)
            if (u->all[n].bank == o.bank && u->all[n].off == o.off) return true;
    return false;
}

// The micro-ops behind an access, with the access's operands as they were.
static void run_rest(warp *w, const orr_step_access *a, const uop *from, const uop *end) {
    const uop *u = a->uop;
    uint8_t kept[OPERANDS][512];
    bool swapped[OPERANDS] = {false};
    for (int n = u->ndst; a->kind == ORR_STEP_ATOMIC && n < u->ndst + u->nsrc; n++) {
        oper o = u->all[n];
        if (o.bank == BANK_CONST || is_destination(u, end, o)) continue;
        uint32_t bytes = reg_bytes(o.cls);
        swapped[n] = true;
        memcpy(kept[n], w->bank[o.bank] + o.off, bytes);
        memcpy(w->bank[o.bank] + o.off, a->atomic->rows + a->atomic->opers[n].off, bytes);
    }
    for (const uop *r = from; r < end; r++) {
        set_exec(w, a->mask);
        r->masked(w, r);
    }
    for (int n = u->ndst; n < u->ndst + u->nsrc && n < OPERANDS; n++)
        if (swapped[n]) memcpy(w->bank[u->all[n].bank] + u->all[n].off, kept[n], reg_bytes(u->all[n].cls));
}

void orr_step_deliver(orr_step_access *a) {
    orr_step_warp *lw = a->warp;
    warp *w = lw->w;
    const uop *u = a->uop, *end = a->rest;
    orr_trace_out *trace = w->trace;
    w->trace = NULL;
    set_exec(w, a->mask);
    const orr_inst *in = u->inst;
    if (a->kind == ORR_STEP_LOAD && in->width == 4 && in->vec == 1 && u->d.cls == ORR_W && !u->d.none) {
        uint32_t *d = DST(w, u, uint32_t), v[ORR_WARP]; // most are of one word
        memcpy(v, a->data, sizeof v);
        LANES d[i] = w->lane[i] ? v[i] : d[i];
    } else if (a->kind == ORR_STEP_LOAD) {
        lw->live.values = a->data;
        u->masked(w, u);
        lw->live.values = NULL;
    } else {
        for (int n = 0; n < u->ndst; n++)
            if (!u->all[n].none && u->all[n].cls != ORR_P)
                copy_lanes(w->bank[u->all[n].bank] + u->all[n].off, a->atomic->rows + a->atomic->opers[n].off,
                           u->all[n].cls, a->mask);
    }
    if (u + 1 < end) run_rest(w, a, u + 1, end);
    w->trace = trace;
    orr_step_drop(a);
}

// ---- instructions ---------------------------------------------------------------------------
static bool memory_op(const uop *u) { return (orr_ops[u->inst->op].flags & ORR_F_MEMORY) != 0; }

static void execute(orr_step_warp *lw, uint32_t inst) {
    warp *w = lw->w;
    const decoded *p = w->tb->prog;
    frag *f = lw->f;
    const xblock *x = &p->blocks[f->pc];
    const orr_block *b = &p->kernel->blocks[f->pc];
    const uop *u = p->uops + (p->uop_of ? p->uop_of[inst] : inst),
              *end = p->uops + (p->uop_of ? p->uop_of[inst + 1] : inst + 1);
    if (x->last && end > x->last) end = x->last;
    uint32_t mask = f->mask;
    for (; u < end && !w->tb->faulted; u++) {
        uint32_t m = guarded(w, u, mask);
        if (m) {
            set_exec(w, m);
            (m == FULL ? u->full : u->masked)(w, u);
        } else if (u->traced && w->trace) {
            orr_trace_put_access(w->trace, 0, NULL);
        }
        if (lw->live.access && memory_op(u)) break;
    }
    if (lw->live.access) lw->live.access->rest = end;
    if (inst + 1 < b->first + b->count || w->tb->faulted) return;
    lw->left = x;
    orr_warp_last(w, f, x);
}

uint64_t orr_step_sleeps(orr_step_warp *w) {
    uint64_t n = w->live.sleeps;
    w->live.sleeps = 0;
    return n;
}

orr_step_access *orr_step_issue(orr_step_warp *lw, uint32_t inst, uint64_t now) {
    lw->live.now = now;
    lw->live.access = NULL;
    while (lw->inst <= inst && !lw->live.access) execute(lw, lw->inst++);
    return lw->live.access;
}

// Who goes on behind a block: the same lanes, unless they have yielded, wait, or have polled for long.
static frag *who_goes_on(orr_step_warp *lw) {
    warp *w = lw->w;
    frag *f = lw->f;
    const xblock *x = lw->left;
    bool yields = f && w->convergence.switches;
    w->convergence.switches = false;
    // Lanes of PTX that only poll give way to others of their warp; machine code says so itself, by YIELD.
    if (x && !yields && f) yields = orr_warp_polled(w, f, x, x->spins ? POLL_QUANTUM : 1);
    if (f && !yields && f->state == FRAG_READY && f->mask && orr_warp_meets(w, f)) return f;
    do f = orr_warp_choose(w, yields);
    while (f && !orr_warp_meets(w, f));
    return f;
}

int orr_step_next(orr_step_warp *lw) {
    warp *w = lw->w;
    const decoded *p = w->tb->prog;
    while (lw->f && !lw->left && !w->tb->faulted) execute(lw, lw->inst++); // what the model has none of
    if (w->tb->faulted) return ORR_STEP_ENDED;
    frag *f = who_goes_on(lw);
    lw->left = NULL;
    lw->f = f;
    if (!f) return w->live ? ORR_STEP_WAITS : ORR_STEP_ENDED;
    const xblock *x = &p->blocks[f->pc];
    if (!w->frag || !p->kernel->code.insts) orr_warp_banks(w, f); // machine code has one set of registers
    w->frag = f;
    lw->block_at = w->trace->n;
    lw->inst = p->kernel->blocks[f->pc].first;
    orr_trace_put_block(w->trace, f->pc, f->mask);
    w->insts += x->count;
    w->thread_insts += (uint64_t)x->count * (uint32_t)orr_popc(f->mask);
    if (p->launch->max_insts && w->insts > p->launch->max_insts)
        orr_fault_as(ORR_FAULT_HANG, w, x->last ? x->last : x->end - 1, orr_ffs(f->mask),
                     "more than %llu instructions in one warp (--max-insts)",
                     (unsigned long long)p->launch->max_insts);
    return ORR_STEP_GOES;
}

int orr_step_run(orr_step_warp *lw, uint64_t now) {
    int next = orr_step_next(lw);
    lw->live.now = now;
    while (next == ORR_STEP_GOES && !lw->left && !lw->w->tb->faulted) execute(lw, lw->inst++);
    return next;
}
