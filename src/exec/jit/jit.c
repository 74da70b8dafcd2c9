// Basic blocks as host code (jit.h): when a block is compiled, where its code is put, and how it is entered.
#include "exec/jit/jit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "exec/jit/compile.h"

// As the rest of the executor is compiled (ORRERY_MARCH).
#if defined(__x86_64__) && defined(__AVX2__) && defined(__FMA__)
#define COMPILES 1
#else
#define COMPILES 0
#endif

#define ROOM (8u << 20) // bytes of code of a launch; pages that nothing is written to are not there

struct jit {
    const decoded *p;
    pthread_mutex_t lock;
    uint8_t *write, *run; // the same memory twice: nothing is both written and executed
    size_t used;
    bool wide; // AVX-512
    orr_arena arena;
    jit_block *blocks;
};

// ---- room -----------------------------------------------------------------------------------
static bool map_room(struct jit *j) {
    int fd = memfd_create("orrery-blocks", MFD_CLOEXEC);
    if (fd < 0) return false;
    bool ok = ftruncate(fd, ROOM) == 0;
    j->write = ok ? mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    j->run = ok ? mmap(NULL, ROOM, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0) : MAP_FAILED;
    close(fd);
    return j->write != MAP_FAILED && j->run != MAP_FAILED;
}

static void unmap_room(struct jit *j) {
    if (j->write && j->write != MAP_FAILED) munmap(j->write, ROOM);
    if (j->run && j->run != MAP_FAILED) munmap(j->run, ROOM);
    j->write = j->run = NULL;
}

static void put_numbers(struct jit *j) {
    numbers *n = (numbers *)(void *)j->write;
    for (int i = 0; i < ORR_WARP; i++) n->lane_bit[i] = lane_bit[i];
    for (int i = 0; i < MOST_LANES; i++) {
        n->nan[i] = 0x7fffffff;
        n->sign[i] = 0x80000000;
        n->wrap32[i] = 31;
        n->wrap64[i] = 63;
        n->ones[i] = ~0u;
    }
    j->used = (sizeof *n + 63) & ~(size_t)63;
}

static bool has_avx512(void) {
#if COMPILES
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
    return false;
#endif
}

bool orr_jit_wide_pays(void) {
#if COMPILES
    return has_avx512() && __builtin_cpu_supports("avx512vbmi2"); // which came with Ice Lake
#else
    return false;
#endif
}

struct jit *orr_jit_open(const decoded *p, bool wide) {
    if (!COMPILES) return NULL;
    struct jit *j = orr_calloc(1, sizeof *j);
    j->p = p;
    j->wide = wide && has_avx512();
    j->blocks = orr_calloc(p->kernel->nblocks, sizeof *j->blocks);
    pthread_mutex_init(&j->lock, NULL);
    return j;
}

void orr_jit_close(struct jit *j) {
    if (!j) return;
    unmap_room(j);
    pthread_mutex_destroy(&j->lock);
    orr_arena_free(&j->arena);
    free(j->blocks);
    free(j);
}

jit_block *orr_jit_blocks(struct jit *j) { return j->blocks; }
bool orr_jit_is_wide(const struct jit *j) { return j->wide; }

// ---- calls ----------------------------------------------------------------------------------
// A micro-op with a guard, for the lanes in w->exec, which are as they were afterwards.
void jit_guarded_call(warp *w, const uop *u) {
    uint32_t mask = w->exec, m = guarded(w, u, mask);
    if (m == FULL) {
        u->full(w, u);
    } else if (m) {
        set_exec(w, m);
        u->masked(w, u);
        if (mask == FULL)
            w->exec = FULL;
        else
            set_exec(w, mask);
    } else if (u->traced && w->trace) {
        orr_trace_put_access(w->trace, 0, NULL);
    }
}

void jit_call(compiler *c, const uop *u) {
    bool noted = c->kind & JIT_STREAM && u->traced; // an access of nobody is told, too
    uint8_t *nobody = u->guard >= 0 && !noted ? jit_guard(c, u) : NULL;
    bool all = !(c->kind & JIT_MASKED) && u->guard < 0;
    uop_fn *lanes = all && !c->as.wide ? NULL : jit_lanes(u, c->as.wide);
    uop_fn *f = lanes ? lanes : u->guard >= 0 ? jit_guarded_call : c->kind & JIT_MASKED ? u->masked : u->full;
    as_general(&c->as, true, 0x8b, RDI, rm_reg(REG_WARP));
    as_number(&c->as, RSI, (uint64_t)(uintptr_t)u);
    as_number(&c->as, RAX, (uint64_t)(uintptr_t)f);
    as_call(&c->as, RAX);
    if (nobody) as_here(&c->as, nobody);
}

// ---- runs -----------------------------------------------------------------------------------
static bool fits(oper o, bool source) {
    if (o.off >= 1u << 28) return false;
    if (o.cls == ORR_P) return o.none || o.bank == BANK_P || (source && o.bank == BANK_CONST);
    if (o.cls != ORR_W) return false;
    return o.bank == BANK_W || (source ? o.bank == BANK_CONST && !o.none : o.none);
}

// The rule by which a micro-op is compiled; NULL: it is called.
static const lanewise_rule *rule_of(const compiler *c, const uop *u) {
    const lanewise_rule *r = jit_rule(u);
    if (!r || r->lane == LANE_LOAD || r->lane == LANE_STORE) return NULL;
    bool known = r->lane == LANE_KNOWN;
    if (known && ((u->traced && c->kind & JIT_STREAM) || u->ndst > 4)) return NULL;
    if (u->guard >= 0 && (u->inner || (known && u->masked == u->full))) return NULL; // if any lane is active
    int nsrc = known ? u->ndst : u->nsrc;
    for (int n = 0; n < u->ndst; n++)
        if (!fits(u->all[n], false)) return NULL;
    for (int n = 0; n < nsrc; n++)
        if (!fits(u->all[u->ndst + n], true)) return NULL;
    return r;
}

// Does the run have a general register for the predicates that u writes?
static bool note_written(compiler *c, const uop *u) {
    enum { MOST = 5 };
    uint32_t was = (uint32_t)c->nwritten;
    for (int n = 0; n < u->ndst; n++) {
        oper o = u->all[n];
        if (o.cls != ORR_P || o.none) continue;
        int i = 0;
        while (i < c->nwritten && c->written[i] != o.off) i++;
        if (i < c->nwritten) continue;
        if (c->nwritten == MOST) {
            c->nwritten = (int)was;
            return false;
        }
        c->written[c->nwritten++] = o.off;
    }
    return true;
}

static void move_predicates(compiler *c, int op) {
    static const uint8_t registers[] = {RSI, RDI, R8, R9, R10};
    for (int n = 0; n < c->nwritten; n++)
        as_general(&c->as, false, op, registers[n], rm_mem(REG_P, (int32_t)c->written[n]));
}

static void compile_slices(compiler *c) {
    move_predicates(c, 0x8b);
    for (int slice = 0; slice < c->slices; slice++) {
        jit_slice_begins(c, slice);
        for (const uop *u = c->first; u < c->end; u++) jit_operation(c, u, jit_rule(u));
        jit_slice_ends(c);
    }
    move_predicates(c, 0x89);
}

// The lanes that the guard of u lets through in EAX, all 32, and a jump for when there are none.
uint8_t *jit_guard(compiler *c, const uop *u) {
    assembler *a = &c->as;
    as_general(a, false, 0x8b, RAX, rm_mem(REG_P, u->guard));
    if (u->guard_neg) as_group(a, false, 6, RAX, ~0u);
    if (c->kind & JIT_MASKED)
        as_general(a, false, 0x23, RAX, rm_mem(REG_WARP, (int32_t)offsetof(warp, exec)));
    else
        as_general(a, false, 0x85, RAX, rm_reg(RAX));
    return as_jump(a, JUMP_EQUAL);
}

// A jump for when those in EAX are not all active lanes.
uint8_t *jit_guard_parts(compiler *c) {
    if (c->kind & JIT_MASKED)
        as_general(&c->as, false, 0x3b, RAX, rm_mem(REG_WARP, (int32_t)offsetof(warp, exec)));
    else
        as_group(&c->as, false, 7, RAX, ~0u);
    return as_jump(&c->as, JUMP_UNEQUAL);
}

// Micro-ops with one guard: nothing is done where it lets no lane through, and nothing is blended where it
// lets all.
static void compile_run(compiler *c) {
    if (c->first->guard < 0) {
        compile_slices(c);
        return;
    }
    uint8_t *nobody = jit_guard(c, c->first), *parts = jit_guard_parts(c);
    c->whole = true;
    compile_slices(c);
    c->whole = false;
    uint8_t *done = as_jump(&c->as, JUMP_ALWAYS);
    as_here(&c->as, parts);
    compile_slices(c);
    as_here(&c->as, nobody);
    as_here(&c->as, done);
}

static bool writes_guard(const uop *u) {
    for (int n = 0; n < u->ndst; n++)
        if (u->all[n].cls == ORR_P && !u->all[n].none && (int32_t)u->all[n].off == u->guard) return true;
    return false;
}

// The micro-ops from u on that are compiled together.
static const uop *run_of(compiler *c, const uop *u) {
    const uop *first = u;
    c->nwritten = 0;
    while (u < c->x->end && u->guard == first->guard && u->guard_neg == first->guard_neg && rule_of(c, u) &&
           note_written(c, u))
        if (writes_guard(u++)) break; // no guard is -1, which is no predicate's place
    return u;
}

// ---- blocks ---------------------------------------------------------------------------------
static const uint8_t saved[] = {RBX, RBP, R12, R13, R14, R15};
enum { SAVED = sizeof saved };

static rm bank_at(int bank) {
    return rm_mem(REG_WARP, (int32_t)(offsetof(warp, bank) + (size_t)bank * sizeof(uint8_t *)));
}

static void begin(compiler *c, const struct jit *j) {
    assembler *a = &c->as;
    for (int n = 0; n < SAVED; n++) as_push(a, saved[n]);
    as_group(a, true, 5, RSP, FRAME);
    as_general(a, true, 0x8b, REG_WARP, rm_reg(RDI));
    as_general(a, true, 0x8b, REG_CONST, bank_at(BANK_CONST));
    as_general(a, true, 0x8b, REG_W, bank_at(BANK_W));
    as_general(a, true, 0x8b, REG_P, bank_at(BANK_P));
    as_number(a, REG_NUMBERS, (uint64_t)(uintptr_t)j->run);
}

static void finish(compiler *c) {
    as_bytes(&c->as, "\xc5\xf8\x77", 3); // vzeroupper
    as_group(&c->as, true, 0, RSP, FRAME);
    for (int n = SAVED; n-- > 0;) as_pop(&c->as, saved[n]);
    as_byte(&c->as, 0xc3);
}

// May bulk copies to shared memory begin in it, so that spots that have been found go bad?
static bool begins_copies(const xblock *x) {
    for (const uop *u = x->first; u < x->end; u++) {
        uint16_t op = u->inst->op, flags = orr_ops[op].flags;
        bool plain = op == ORR_OP_LD || op == ORR_OP_ST || op == ORR_OP_ATOM || op == ORR_OP_RED;
        if (op == ORR_OP_BULK || (flags & ORR_F_MEMORY && !plain)) return true;
    }
    return false;
}

static void compile_block(compiler *c, const struct jit *j) {
    begin(c, j);
    for (const uop *u = c->x->first; u < c->x->end;) {
        if (!rule_of(c, u)) {
            if (!jit_access(c, u)) jit_call(c, u);
            u++;
            continue;
        }
        c->first = u;
        c->end = u = run_of(c, u);
        compile_run(c);
    }
    finish(c);
}

static block_fn *compile(struct jit *j, uint32_t block, int kind) {
    if (!j->write) {
        if (!map_room(j)) unmap_room(j);
        if (!j->write) return NULL;
        put_numbers(j);
    }
    compiler c = {.as = {.at = j->write + j->used, .end = j->write + ROOM},
                  .p = j->p,
                  .x = &j->p->blocks[block],
                  .kind = kind,
                  .arena = &j->arena};
    c.as.wide = j->wide;
    c.lanes = j->wide ? 16 : 8;
    c.slices = ORR_WARP / c.lanes;
    c.some = (1u << c.lanes) - 1;
    c.pool = j->wide ? POOL : POOL_AVX2;
    c.spots = !begins_copies(c.x);
    compile_block(&c, j);
    if (c.as.full || c.failed) return NULL;
    uint8_t *code = j->run + j->used;
    j->used = ((size_t)(c.as.at - j->write) + 63) & ~(size_t)63;
    block_fn *f;
    memcpy(&f, &code, sizeof f);
    return f;
}

block_fn *orr_jit_compile(struct jit *j, uint32_t block, int kind) {
    jit_block *b = &j->blocks[block];
    pthread_mutex_lock(&j->lock);
    block_fn *f = atomic_load(&b->code[kind]);
    if (!f && atomic_load(&b->entered[kind]) < JIT_NEVER) {
        f = compile(j, block, kind);
        if (f)
            atomic_store(&b->code[kind], f);
        else
            atomic_store(&b->entered[kind], JIT_NEVER);
    }
    pthread_mutex_unlock(&j->lock);
    return f;
}
