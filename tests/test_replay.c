// Instrumented kernels (ptx/instrument.c) and the replay of what they write down (exec/run/replay.c), without
// a GPU: the executor runs the instrumented code, and the streams made from what it wrote must be, byte for
// byte, those it makes of the kernel itself. A real GPU has lanes run together or apart as it likes. So the
// events are also torn into parts and shuffled, keeping only the order that each lane has: that must not
// change a byte.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "exec/replay.h"
#include "isa/events.h"
#include "ptx/instrument.h"
#include "ptx/ptx.h"

enum { BLOCK = 96, GRID = 6, WARPS = 3, WORDS = 4096, LOG_BYTES = 4 << 20 };

// Loops of different lengths, guarded and irregular accesses, copies of which some lanes read nothing, a
// call, early exits, barriers under a guard, shuffles under a mask in a register, a branch table, shared and
// local memory, a grid of two dimensions.
static const char code[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".global .align 4 .b8 table[64];\n"
    ".func (.param .b32 r) twice(.param .b32 x, .param .b64 at)\n{\n"
    " .reg .b32 %v<4>; .reg .b64 %w<3>; .reg .pred %p<2>;\n"
    " ld.param.b32 %v1, [x]; ld.param.b64 %w1, [at];\n"
    " and.b32 %v2, %v1, 1; setp.eq.u32 %p1, %v2, 0; @%p1 bra even;\n"
    " ld.global.u32 %v3, [%w1]; add.u32 %v1, %v1, %v3;\n"
    "even: shl.b32 %v1, %v1, 1; st.param.b32 [r], %v1; ret;\n}\n"
    ".visible .entry mix(.param .u64 a)\n{\n"
    " .reg .b32 %r<40>; .reg .b64 %d<20>; .reg .pred %p<12>;\n"
    " .shared .align 4 .b8 s[512];\n"
    " .shared .align 16 .b8 copied[512];\n"
    " .local .align 8 .b8 stack[32];\n"
    " ld.param.u64 %d1, [a]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ctaid.y;\n"
    " mov.u32 %r20, %nctaid.x; mad.lo.u32 %r2, %r3, %r20, %r2;\n"
    " mul.wide.u32 %d2, %r1, 4; add.u64 %d3, %d1, %d2; mul.wide.u32 %d4, %r2, 384; add.u64 %d3, %d3, %d4;\n"
    " setp.eq.u32 %p1, %r1, 37; @%p1 exit;\n"
    " and.b32 %r4, %r1, 7; mov.u32 %r5, 0; mov.u32 %r6, 0;\n"
    "outer: xor.b32 %r7, %r5, %r1; and.b32 %r8, %r7, 1; setp.ne.u32 %p2, %r8, 0;\n"
    " @%p2 ld.global.u32 %r9, [%d3+4];\n"
    " @%p2 bra skip;\n"
    " mul.lo.u32 %r10, %r7, 37; and.b32 %r10, %r10, 1023; mul.wide.u32 %d5, %r10, 4; add.u64 %d6, %d1, %d5;\n"
    " ld.global.u32 %r11, [%d6]; add.u32 %r6, %r6, %r11;\n"
    " shr.u32 %r12, %r1, 3; and.b32 %r12, %r12, 3;\n"
    "inner: setp.eq.u32 %p3, %r12, 0; @%p3 bra skip; sub.u32 %r12, %r12, 1;\n"
    " ld.global.u32 %r13, [%d3]; add.u32 %r6, %r6, %r13; bra inner;\n"
    "skip: add.u32 %r5, %r5, 1; setp.le.u32 %p4, %r5, %r4; @%p4 bra outer;\n"
    " mov.u64 %d7, stack; and.b32 %r14, %r1, 4; cvt.u64.u32 %d8, %r14; add.u64 %d7, %d7, %d8;\n"
    " st.local.u32 [%d7+8], %r6; ld.local.u32 %r6, [%d7+8];\n"
    " mov.u32 %r15, s; shl.b32 %r16, %r1, 2; add.u32 %r15, %r15, %r16; st.shared.u32 [%r15], %r6;\n"
    " setp.lt.u32 %p5, %r1, 64; @%p5 bar.sync 1, 64;\n"
    " bar.sync 0;\n"
    " mov.u32 %r27, copied; add.u32 %r27, %r27, %r16; and.b32 %r28, %r1, 4; setp.gt.u32 %p9, %r1, 50;\n"
    " cp.async.ca.shared.global [%r27], [%d3], 4, %r28; cp.async.ca.shared.global [%r27], [%d3], 4, %p9;\n"
    " cp.async.wait_all;\n"
    " ld.shared.u32 %r17, [s+20]; add.u32 %r6, %r6, %r17;\n"
    " { .param .b32 q0; .param .b64 q1; .param .b32 q2; st.param.b32 [q0], %r1; st.param.b64 [q1], %d3;\n"
    "   call (q2), twice, (q0, q1); ld.param.b32 %r18, [q2]; }\n"
    " add.u32 %r6, %r6, %r18;\n"
    " and.b32 %r21, %r1, 3; ts: .branchtargets t0, t1, t2, t0;\n"
    " brx.idx %r21, ts;\n"
    "t0: add.u32 %r6, %r6, 1; bra met;\n"
    "t1: ld.global.u32 %r22, [table+16]; add.u32 %r6, %r6, %r22; bra met;\n"
    "t2: setp.gt.u32 %p6, %r1, 80; @%p6 exit; add.u32 %r6, %r6, 3;\n"
    "met: and.b32 %r23, %r1, 16; setp.ne.u32 %p7, %r23, 0; selp.b32 %r24, 0xffff0000, 0xffff, %p7;\n"
    " setp.gt.u32 %p8, %r1, 31; @%p8 bra end;\n"
    " shfl.sync.bfly.b32 %r25, %r6, 1, 31, %r24; add.u32 %r6, %r6, %r25;\n"
    " atom.global.add.u32 %r26, [%d1+8192], %r6;\n"
    "end: st.global.u32 [%d3+4096], %r6; ret;\n}\n";

typedef struct rig {
    orr_module *plain, *told;
    orr_mem *mem;
    orr_image *images[2];
    uint64_t data, log, used, nowhere;
    uint8_t params[8];
} rig;

static orr_module *parse(const char *name, const char *text) {
    orr_err e = {0};
    orr_module *m = orr_ptx_parse(name, text, strlen(text), &e);
    if (!m) fail_msg("%s", e.text);
    return m;
}

static void fill(const rig *r) {
    uint32_t *at = orr_mem_host(r->mem, r->data, WORDS * 4);
    for (uint32_t n = 0; n < WORDS; n++) at[n] = n * 2654435761u >> 20;
}

static void set_up(rig *r) {
    orr_err e = {0};
    *r = (rig){0};
    r->plain = parse("mix.ptx", code);
    orr_text text = {0};
    if (!orr_ptx_instrument(r->plain, &text, &e)) fail_msg("%s", e.text);
    r->told = parse("told.ptx", text.s);
    free(text.s);
    r->mem = orr_mem_new(&e);
    r->images[0] = orr_image_load(r->mem, r->plain, &e);
    r->images[1] = orr_image_load(r->mem, r->told, &e);
    r->data = orr_mem_alloc(r->mem, WORDS * 4, "data", &e);
    r->log = orr_mem_alloc(r->mem, LOG_BYTES, "log", &e);
    r->used = orr_mem_alloc(r->mem, 256, "used", &e);
    r->nowhere = orr_mem_alloc(r->mem, ORR_NOWHERE_BYTES, "nowhere", &e);
    assert_int_equal(e.status, 0);
    memcpy(r->params, &r->data, 8);
}

static void tear_down(rig *r) {
    for (int n = 0; n < 2; n++) orr_image_free(r->mem, r->images[n]);
    orr_mem_delete(r->mem);
    r->told->free(r->told);
    r->plain->free(r->plain);
}

static orr_launch launch_of(rig *r, bool told, const char *name) {
    orr_err e = {0};
    orr_module *m = told ? r->told : r->plain;
    const orr_kernel *k = m->load(m, name, &e);
    if (!k) fail_msg("%s", e.text);
    return (orr_launch){.kernel = k,
                        .image = r->images[told],
                        .mem = r->mem,
                        .grid = {told ? GRID : GRID / 2, told ? 1 : 2, 1},
                        .block = {BLOCK, 1, 1},
                        .dynamic_shared = told ? 1024 : 0,
                        .params = r->params};
}

static void run_told(rig *r, const char *name, uint64_t counts, uint64_t blocks) {
    orr_err e = {0};
    uint64_t at, bytes;
    assert_true(orr_image_symbol(r->images[1], "orr_control", &at, &bytes));
    assert_int_equal(bytes, ORR_CONTROL_WORDS * 8);
    uint64_t *control = orr_mem_host(r->mem, at, bytes);
    memset(orr_mem_host(r->mem, r->used, 8), 0, 8);
    control[ORR_CONTROL_GRID_X] = GRID / 2;
    control[ORR_CONTROL_GRID_Y] = 2;
    control[ORR_CONTROL_GRID_Z] = 1;
    control[ORR_CONTROL_LOG] = r->log;
    control[ORR_CONTROL_BYTES] = LOG_BYTES;
    control[ORR_CONTROL_USED] = r->used;
    control[ORR_CONTROL_NOWHERE] = r->nowhere;
    control[ORR_CONTROL_COUNTS] = counts;
    control[ORR_CONTROL_BLOCKS] = blocks;
    fill(r);
    orr_launch l = launch_of(r, true, name);
    if (!orr_exec_run(&l, 1, NULL, NULL, &e)) fail_msg("%s", e.text);
}

// ---- a warp's events ----------------------------------------------------------------------------------
typedef ORR_VEC(uint64_t) words;

static void events_of(rig *r, uint64_t warp, words *out) {
    uint64_t used = *(uint64_t *)orr_mem_host(r->mem, r->used, 8) / 8;
    const uint64_t *log = orr_mem_host(r->mem, r->log, LOG_BYTES);
    assert_in_range(used, 1, LOG_BYTES / 8);
    out->n = 0;
    for (uint64_t n = 0; n < used; n += orr_event_words(log[n]))
        for (size_t k = 0; log[n + 1] == warp && k < orr_event_words(log[n]); k++)
            *ORR_PUSH(out) = log[n + k];
}

typedef struct piece { // what one lane did
    uint32_t what;
    uint64_t addr;
} piece;

static uint32_t dice(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

// Each lane's own list.
static void take_apart(const words *w, piece *lists[32], size_t count[32]) {
    for (int i = 0; i < 32; i++) {
        lists[i] = orr_calloc(w->n + 1, sizeof(piece));
        count[i] = 0;
    }
    for (size_t n = ORR_EVENT_HEAD, next; n < w->n; n = next + ORR_EVENT_HEAD) {
        uint64_t head = w->at[n - ORR_EVENT_HEAD];
        next = n - ORR_EVENT_HEAD + orr_event_words(head);
        uint32_t kind = ORR_EVENT_KIND(head), lanes = ORR_EVENT_LANES(head), rank = 0;
        assert_true(lanes != 0);
        for (uint32_t m = lanes; m; m &= m - 1, rank++) {
            int i = orr_ffs(m);
            uint64_t a = 0;
            if (kind == ORR_EVENT_REGULAR) a = w->at[n] + rank * w->at[n + 1];
            if (kind == ORR_EVENT_NEAR)
                a = w->at[n] << 32 | (uint32_t)(w->at[n + 1 + rank / 2] >> (rank % 2 * 32));
            if (kind == ORR_EVENT_FAR) a = w->at[n + rank];
            lists[i][count[i]++] = (piece){ORR_EVENT_NUMBER(head) | (kind ? 1u << 31 : 0), a};
        }
    }
}

// Together again by chance: any lanes that are at the same thing may be one event, in any of the ways to
// write it.
static void shuffle(words *w, uint64_t seed) {
    piece *lists[32];
    size_t count[32], at[32] = {0};
    take_apart(w, lists, count);
    w->n = 0;
    for (;;) {
        int lead = -1, from = (int)(dice(&seed) % 32);
        for (int k = 0; k < 32 && lead < 0; k++)
            if (at[(from + k) % 32] < count[(from + k) % 32]) lead = (from + k) % 32;
        if (lead < 0) break;
        uint32_t what = lists[lead][at[lead]].what, lanes = 1u << lead, wish = dice(&seed) | dice(&seed);
        for (int i = 0; i < 32; i++)
            if (i != lead && wish >> i & 1 && at[i] < count[i] && lists[i][at[i]].what == what)
                lanes |= 1u << i;
        bool access = what >> 31;
        size_t head = w->n;
        *ORR_PUSH(w) =
            (what & 0x3fffffff) | (access ? (uint64_t)ORR_EVENT_FAR << 30 : 0) | (uint64_t)lanes << 32;
        *ORR_PUSH(w) = 0;
        for (uint32_t m = lanes; m; m &= m - 1) {
            int i = orr_ffs(m);
            if (access) *ORR_PUSH(w) = lists[i][at[i]].addr;
            at[i]++;
        }
        if (w->n < head + orr_event_words(w->at[head])) *ORR_PUSH(w) = 0;
    }
    for (int i = 0; i < 32; i++) free(lists[i]);
}

// As the replay wants them: where each begins.
typedef struct told {
    words w;
    ORR_VEC(uint32_t) at;
} told;

static orr_warp_events ready(told *t) {
    t->at.n = 0;
    for (size_t n = 0; n < t->w.n; n += orr_event_words(t->w.at[n])) *ORR_PUSH(&t->at) = (uint32_t)n;
    return (orr_warp_events){t->w.at, t->w.n, t->at.at, t->at.n};
}

static void free_told(told *t) {
    for (int n = 0; n < WARPS; n++) {
        free(t[n].w.at);
        free(t[n].at.at);
    }
}

// ---- tests --------------------------------------------------------------------------------------------
static void compare(rig *r, uint64_t seed) { // 0: as they are
    orr_err e = {0};
    run_told(r, "orr_rec_mix", 0, 0);
    uint32_t *result = orr_malloc(WORDS * 4);
    memcpy(result, orr_mem_host(r->mem, r->data, WORDS * 4), WORDS * 4);
    fill(r);
    orr_launch l = launch_of(r, false, "mix");
    // What is told of the copy's own variable is about the plain module's.
    uint64_t table[2], bytes;
    for (int n = 0; n < 2; n++) assert_true(orr_image_symbol(r->images[n], "table", &table[n], &bytes));
    orr_move moves[] = {{table[0], 64, table[0]}, {table[1], 64, table[0]}, {r->data, WORDS * 4, r->data}};
    orr_replay *replay = orr_replay_new(&l, moves, 3, NULL, &e);
    orr_source *direct = orr_exec_source(&l, NULL, &e);
    assert_non_null(replay);
    assert_non_null(direct);
    told t[WARPS] = {0};
    for (uint64_t b = 0; b < GRID; b++) {
        orr_tb want, have;
        orr_warp_events warps[WARPS];
        for (uint64_t n = 0; n < WARPS; n++) {
            events_of(r, b * WARPS + n, &t[n].w);
            if (seed) shuffle(&t[n].w, seed + b * WARPS + n);
            warps[n] = ready(&t[n]);
        }
        assert_int_equal(direct->next(direct, &want, &e), 1);
        if (!orr_replay_block(replay, b, warps, &have, &e)) fail_msg("%s", e.text);
        assert_int_equal(have.index, b);
        assert_int_equal(have.nwarps, want.nwarps);
        for (uint32_t n = 0; n < WARPS; n++) {
            assert_int_equal(have.warps[n].n, want.warps[n].n);
            assert_memory_equal(have.warps[n].bytes, want.warps[n].bytes, want.warps[n].n);
        }
    }
    orr_tb end;
    assert_int_equal(direct->next(direct, &end, &e), 0);
    direct->close(direct);
    // And the instrumented kernel computed the same.
    assert_memory_equal(result, orr_mem_host(r->mem, r->data, WORDS * 4), WORDS * 4);
    free(result);
    free_told(t);
    orr_replay_free(replay);
}

static void streams_are_the_executors(void **state) {
    (void)state;
    rig r;
    set_up(&r);
    compare(&r, 0);
    tear_down(&r);
}

static void lanes_may_run_as_they_like(void **state) {
    (void)state;
    rig r;
    set_up(&r);
    for (uint64_t seed = 1; seed <= 8; seed++) compare(&r, seed * 1000);
    tear_down(&r);
}

// Counted by the kernel: the same as counting the executor's.
static void counts_are_the_executors(void **state) {
    (void)state;
    orr_err e = {0};
    rig r;
    set_up(&r);
    fill(&r);
    orr_launch l = launch_of(&r, false, "mix");
    orr_exec_counts want;
    assert_true(orr_exec_run(&l, 1, NULL, &want, &e));
    const orr_kernel *k = l.kernel;
    size_t row = (size_t)k->nblocks * ORR_COUNT_WORDS;
    uint64_t counts = orr_mem_alloc(r.mem, row * ORR_COUNT_COPIES * 8, "counts", &e);
    uint64_t blocks = orr_mem_alloc(r.mem, GRID * ORR_COUNT_TB_WORDS * 8, "blocks", &e);
    run_told(&r, "orr_cnt_mix", counts, blocks);
    const uint64_t *at = orr_mem_host(r.mem, counts, row * ORR_COUNT_COPIES * 8);
    const uint64_t *tb = orr_mem_host(r.mem, blocks, GRID * ORR_COUNT_TB_WORDS * 8);
    uint64_t threads = 0, warps = 0, by_block = 0, threads_by_block = 0;
    for (size_t n = 0; n < row * ORR_COUNT_COPIES; n += ORR_COUNT_WORDS) {
        warps += at[n + ORR_COUNT_RUNS] * k->blocks[n % row / ORR_COUNT_WORDS].count;
        threads += at[n + ORR_COUNT_LANES] * k->blocks[n % row / ORR_COUNT_WORDS].count;
    }
    for (int n = 0; n < GRID; n++) by_block += tb[n * ORR_COUNT_TB_WORDS + ORR_COUNT_TB_INSTS];
    for (int n = 0; n < GRID; n++) threads_by_block += tb[n * ORR_COUNT_TB_WORDS + ORR_COUNT_TB_THREADS];
    assert_int_equal(threads, want.thread_insts);
    assert_int_equal(by_block, warps);
    assert_int_equal(threads_by_block, threads);
    assert_in_range(warps, want.warp_insts, want.warp_insts + want.warp_insts / 4); // lanes may be more apart
    tear_down(&r);
}

// Bytes that no kernel writes are refused, not believed.
static void damage_is_found(void **state) {
    (void)state;
    orr_err e = {0};
    rig r;
    set_up(&r);
    run_told(&r, "orr_rec_mix", 0, 0);
    orr_launch l = launch_of(&r, false, "mix");
    uint64_t seed = 7;
    told t[WARPS] = {0};
    for (int round = 0; round < 200; round++) {
        orr_replay *replay = orr_replay_new(&l, NULL, 0, NULL, &e);
        orr_warp_events warps[WARPS];
        for (uint64_t n = 0; n < WARPS; n++) {
            events_of(&r, n, &t[n].w);
            warps[n] = ready(&t[n]);
            if (n == 0) t[n].w.at[dice(&seed) % t[n].w.n] ^= 1ull << dice(&seed) % 64;
            if (n == 1) warps[n].n = dice(&seed) % (warps[n].n + 1);
            if (n == 2) warps[n].words = dice(&seed) % (warps[n].words + 1);
        }
        orr_tb tb;
        orr_err why = {0};
        if (!orr_replay_block(replay, 0, warps, &tb, &why)) assert_int_not_equal(why.status, 0);
        orr_replay_free(replay);
    }
    free_told(t);
    tear_down(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_are_the_executors),
        cmocka_unit_test(lanes_may_run_as_they_like),
        cmocka_unit_test(counts_are_the_executors),
        cmocka_unit_test(damage_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
