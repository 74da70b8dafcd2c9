// PTX with its blocks as ptxas makes them (lower/ifconvert.c), and traces of it (lower/remap.c). What becomes
// one block and what is unrolled follows what ptxas 13.0 does with the same PTX (docs/how/lowering.md); that
// no access is lost, invented or moved to another lane is checked on traces made here and on random ones.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ptx/ptx.h"
#include "stream/trace.h"
#include "lower/rewrite.h"

// Loads a[i] for i from 0 to n; `step`, `head`: what is added, and what stands at the loop's start.
static orr_module *loop(const char *step, const char *head) {
    orr_text t = {0};
    orr_text_add(&t,
                 ".version 8.0\n.target sm_90\n.address_size 64\n"
                 ".visible .entry k(.param .u64 a, .param .u32 n, .param .u32 m)\n{\n"
                 ".reg .pred %%p<9>; .reg .b32 %%r<40>; .reg .f32 %%f<40>; .reg .b64 %%d<40>;\n"
                 "ld.param.u64 %%d1, [a]; ld.param.u32 %%r1, [n]; ld.param.u32 %%r9, [m];\n"
                 "mov.u32 %%r2, 0; mov.f32 %%f1, 0f00000000;\n"
                 "LOOP:\n%s\nld.global.f32 %%f2, [%%d1]; add.f32 %%f1, %%f1, %%f2;\n"
                 "add.s64 %%d1, %%d1, 4; add.s32 %%r2, %%r2, %s;\n"
                 "setp.lt.s32 %%p1, %%r2, %%r1; @%%p1 bra LOOP;\nst.global.f32 [%%d1], %%f1;\nret;\n}\n",
                 head, step);
    orr_err e = {0};
    orr_module *m = orr_ptx_parse("test.ptx", t.s, t.n, &e);
    if (!m) fail_msg("%s", e.text);
    free(t.s);
    return m;
}

// if (x > 0) s += b[i]; (else s -= x;) three times: head, bodies and join of each are blocks of PTX.
static orr_module *bodies(bool both) {
    orr_text t = {0};
    orr_text_add(&t, ".version 8.0\n.target sm_90\n.address_size 64\n"
                     ".visible .entry k(.param .u64 a, .param .u64 b)\n{\n"
                     ".reg .pred %%p<9>; .reg .f32 %%f<40>; .reg .b64 %%d<40>;\n"
                     "ld.param.u64 %%d1, [a]; ld.param.u64 %%d2, [b]; mov.f32 %%f1, 0f00000000;\n");
    for (int i = 0; i < 3; i++) {
        orr_text_add(&t, "ld.global.f32 %%f2, [%%d1+%d]; setp.gt.f32 %%p1, %%f2, 0f00000000;\n", 4 * i);
        if (both) // as nvcc writes it: two branches
            orr_text_add(&t, "@%%p1 bra T%d; bra.uni E%d;\nT%d: ", i, i, i);
        else
            orr_text_add(&t, "@!%%p1 bra J%d;\n", i);
        orr_text_add(&t, "ld.global.f32 %%f3, [%%d2+%d]; add.f32 %%f1, %%f1, %%f3;\n", 4 * i);
        if (both) orr_text_add(&t, "bra.uni J%d;\nE%d: sub.f32 %%f1, %%f1, %%f2;\n", i, i);
        orr_text_add(&t, "J%d:\n", i);
    }
    orr_text_add(&t, "st.global.f32 [%%d1], %%f1;\nret;\n}\n");
    orr_err e = {0};
    orr_module *m = orr_ptx_parse("test.ptx", t.s, t.n, &e);
    if (!m) fail_msg("%s", e.text);
    free(t.s);
    return m;
}

static orr_kernel *kernel_of(orr_module *m) {
    orr_err e = {0};
    orr_kernel *k = m->load(m, "k", &e);
    if (!k) fail_msg("%s", e.text);
    return k;
}

// ---- a source of one warp ------------------------------------------------------------------------------
typedef struct one {
    orr_source base;
    orr_warp_trace warp;
    bool given;
} one;

static int next_one(orr_source *s, orr_tb *tb, orr_err *e) {
    one *o = (one *)(void *)s;
    (void)e;
    if (o->given) return 0;
    o->given = true;
    *tb = (orr_tb){0, 1, &o->warp};
    return 1;
}
static void close_one(orr_source *s) { (void)s; }

typedef struct ran { // a block of the new kernel
    uint32_t block, mask, naccess;
    orr_access access[64];
} ran;

// What a trace of k becomes.
static uint32_t reshape(orr_rewritten *s, const orr_kernel *k, const orr_trace_out *t, ran *out,
                        uint32_t most) {
    one o = {.base = {.info = {.kernel = k}, .next = next_one, .close = close_one}, .warp = {t->bytes, t->n}};
    orr_source *to = orr_rewritten_source(s, &o.base);
    const orr_kernel *nk = orr_rewritten_kernel(s);
    assert_ptr_equal(to->info.kernel, nk);
    orr_tb tb;
    orr_err e = {0};
    assert_int_equal(to->next(to, &tb, &e), 1);
    orr_trace x = orr_trace_open(tb.warps[0]);
    uint32_t n = 0, block, mask;
    int more;
    while ((more = orr_trace_block(&x, nk->nblocks, &block, &mask)) > 0) {
        assert_true(n < most);
        out[n] = (ran){.block = block, .mask = mask, .naccess = nk->blocks[block].nmem};
        assert_true(out[n].naccess <= 64);
        for (uint32_t a = 0; a < out[n].naccess; a++) assert_true(orr_trace_access(&x, &out[n].access[a]));
        n++;
    }
    assert_int_equal(more, 0);
    to->close(to);
    return n;
}

// The block of the old kernel whose last instruction branches to itself.
static uint32_t loop_block(const orr_kernel *k) {
    for (uint32_t b = 0; b < k->nblocks; b++) {
        const orr_inst *i = &k->insts[k->blocks[b].first + k->blocks[b].count - 1];
        if (i->op == ORR_OP_BRA && i->target == (int32_t)b) return b;
    }
    fail_msg("no loop");
    return 0;
}

static void put_load(orr_trace_out *t, uint32_t mask, uint32_t round) { // lane l at 1000 l + round
    uint64_t addr[32];
    for (uint64_t l = 0; l < 32; l++) addr[l] = 1000 * l + round;
    orr_trace_put_access(t, mask, addr);
}

// Rounds that lane l does: given. The trace as the executor writes it.
static void put_loop(orr_trace_out *t, const orr_kernel *k, const uint32_t rounds[32]) {
    uint32_t b = loop_block(k), most = 0;
    orr_trace_put_block(t, b - 1, UINT32_MAX);
    for (int l = 0; l < 32; l++) most = rounds[l] > most ? rounds[l] : most;
    for (uint32_t r = 0; r < most; r++) {
        uint32_t mask = 0;
        for (int l = 0; l < 32; l++) mask |= (uint32_t)(rounds[l] > r) << l;
        orr_trace_put_block(t, b, mask);
        put_load(t, mask, r);
    }
    orr_trace_put_block(t, b + 1, UINT32_MAX);
    put_load(t, UINT32_MAX, 999);
}

// Each lane's addresses in the order in which it had them, of blocks that are of the loop.
static void check_lanes(const ran *r, uint32_t n, const uint32_t rounds[32]) {
    uint32_t at[32] = {0};
    for (uint32_t x = 0; x < n; x++)
        for (uint32_t a = 0; a < r[x].naccess; a++)
            for (uint32_t l = 0; l < 32; l++)
                if (r[x].access[a].mask >> l & 1) {
                    uint64_t want = 1000 * (uint64_t)l + (at[l] < rounds[l] ? at[l] : 999);
                    assert_int_equal(r[x].access[a].addr[l], want);
                    at[l]++;
                }
    for (int l = 0; l < 32; l++) assert_int_equal(at[l], rounds[l] + 1);
}

static void test_rounds(void **state) {
    (void)state;
    orr_module *m = loop("1", "");
    orr_kernel *k = kernel_of(m);
    orr_rewritten *s = orr_rewrite(k);
    assert_non_null(s);
    const chain *c = &s->chains[s->chain_of[loop_block(k)]];
    assert_true(c->loop);
    static ran r[64];
    for (uint32_t rounds = 1; rounds < 20; rounds++) {
        uint32_t all[32], four = 0, two = 0, single = 0;
        for (int l = 0; l < 32; l++) all[l] = rounds;
        orr_trace_out t = {0};
        put_loop(&t, k, all);
        uint32_t n = reshape(s, k, &t, r, 64);
        for (uint32_t x = 0; x < n; x++) {
            four += r[x].block == c->part[LOOP_FOUR];
            two += r[x].block == c->part[LOOP_TWO];
            single += r[x].block == c->block;
        }
        assert_int_equal(four, rounds / 4); // the test in front of it asks for four
        assert_int_equal(two, rounds % 4 / 2);
        assert_int_equal(single, rounds % 2);
        check_lanes(r, n, all);
        free(t.bytes);
    }
    orr_rewritten_free(s);
    m->free(m);
}

// Lanes that leave early do the rest of their rounds behind the four, with others that have such a rest.
static void test_lanes_leave(void **state) {
    (void)state;
    orr_module *m = loop("1", "");
    orr_kernel *k = kernel_of(m);
    orr_rewritten *s = orr_rewrite(k);
    const chain *c = &s->chains[s->chain_of[loop_block(k)]];
    static ran r[64];
    uint32_t rounds[32]; // lanes 0 to 15: 8, 16 to 23: 7, 24 to 31: 5
    for (int l = 0; l < 32; l++) rounds[l] = l < 16 ? 8 : l < 24 ? 7 : 5;
    orr_trace_out t = {0};
    put_loop(&t, k, rounds);
    uint32_t n = reshape(s, k, &t, r, 64), four = 0;
    for (uint32_t x = 0; x < n; x++) {
        if (r[x].block == c->part[LOOP_FOUR]) assert_int_equal(r[x].mask, four++ ? 0xffff : UINT32_MAX);
        if (r[x].block == c->part[LOOP_TWO]) assert_int_equal(r[x].mask, 0xff0000); // three left: two and one
        if (r[x].block == c->block) assert_int_equal(r[x].mask, 0xffff0000);        // and one left
    }
    assert_int_equal(four, 2);
    check_lanes(r, n, rounds);
    free(t.bytes);
    uint64_t seed = 12345;
    for (int turn = 0; turn < 200; turn++) {
        for (int l = 0; l < 32; l++) {
            seed = seed * 6364136223846793005ull + 1442695040888963407ull;
            rounds[l] = 1 + (uint32_t)(seed >> 40) % 13;
        }
        t = (orr_trace_out){0};
        put_loop(&t, k, rounds);
        n = reshape(s, k, &t, r, 64);
        check_lanes(r, n, rounds);
        free(t.bytes);
    }
    orr_rewritten_free(s);
    m->free(m);
}

// Loops that ptxas leaves alone: it is told to, or does not know how many rounds there are.
static void test_left_alone(void **state) {
    (void)state;
    orr_module *m = loop("1", ".pragma \"nounroll\";");
    assert_null(orr_rewrite(kernel_of(m)));
    m->free(m);
    m = loop("%r9", "");
    assert_null(orr_rewrite(kernel_of(m)));
    m->free(m);
    m = loop("1", "ld.global.u32 %r1, [%d1+4096];"); // the bound is loaded in the loop
    assert_null(orr_rewrite(kernel_of(m)));
    m->free(m);
}

static void test_bodies(void **state) {
    (void)state;
    for (int both = 0; both < 2; both++) {
        orr_module *m = bodies(both);
        orr_kernel *k = kernel_of(m);
        orr_rewritten *s = orr_rewrite(k);
        assert_non_null(s);
        const orr_kernel *nk = orr_rewritten_kernel(s);
        assert_int_equal(nk->nblocks, 1); // all of it
        assert_int_equal(nk->blocks[0].nmem, 7);
        uint32_t guarded = 0;
        for (uint32_t n = 0; n < nk->ninsts; n++) guarded += nk->insts[n].guard >= 0;
        assert_int_equal(guarded, both ? 9 : 6); // loads and sums of bodies
        // Lanes 0 to 7 go into the first body, nobody into the second, all into the third; what they skip
        // is run before or behind it.
        static const uint32_t into[] = {0xff, 0, UINT32_MAX};
        orr_trace_out t = {0};
        for (uint32_t i = 0, b = 0; i < 3; i++) {
            orr_trace_put_block(&t, b, UINT32_MAX);
            put_load(&t, UINT32_MAX, 10 * i);
            if (both && i == 0) {
                orr_trace_put_block(&t, b + 1, ~into[i]);
                orr_trace_put_block(&t, b + 3, ~into[i]);
            }
            if (into[i]) {
                orr_trace_put_block(&t, b + (both ? 2 : 1), into[i]);
                put_load(&t, into[i], 10 * i + 1);
            }
            if (both && i == 1) {
                orr_trace_put_block(&t, b + 1, UINT32_MAX);
                orr_trace_put_block(&t, b + 3, UINT32_MAX);
            }
            b += both ? 4 : 2;
            if (i == 2) {
                orr_trace_put_block(&t, b, UINT32_MAX);
                put_load(&t, UINT32_MAX, 999);
            }
        }
        static ran r[8];
        assert_int_equal(reshape(s, k, &t, r, 8), 1);
        assert_int_equal(r[0].mask, UINT32_MAX);
        for (uint32_t a = 0; a < 7; a++) {
            uint32_t want = a % 2 ? into[a / 2] : UINT32_MAX;
            assert_int_equal(r[0].access[a].mask, want);
            if (want) assert_int_equal(r[0].access[a].addr[0], a == 6 ? 999 : 10 * (a / 2) + a % 2);
        }
        free(t.bytes);
        orr_rewritten_free(s);
        m->free(m);
    }
}

// What a round costs decides (docs/how/lowering.md): a load 2, a sum and an address 1 each, which is 4 of 47
// here.
static bool unrolls(const char *what, int times) {
    orr_text t = {0};
    for (int n = 0; n < times; n++) orr_text_add(&t, "%s", what);
    orr_module *m = loop("1", t.s ? t.s : "");
    orr_rewritten *s = orr_rewrite(kernel_of(m));
    bool yes = s && s->chains[s->chain_of[loop_block(kernel_of(m))]].loop;
    orr_rewritten_free(s);
    m->free(m);
    free(t.s);
    return yes;
}

static void test_costs(void **state) {
    (void)state;
    assert_true(unrolls("mul.f32 %f1, %f1, %f1;", 43));
    assert_false(unrolls("mul.f32 %f1, %f1, %f1;", 44));
    assert_true(unrolls("ex2.approx.f32 %f1, %f1;", 7)); // 6 each
    assert_false(unrolls("ex2.approx.f32 %f1, %f1;", 8));
    assert_true(unrolls("ex2.approx.ftz.f32 %f1, %f1;", 43));
    assert_true(unrolls("st.global.f32 [%d1+64], %f1;", 21)); // 2 each
    assert_false(unrolls("st.global.f32 [%d1+64], %f1;", 22));
    assert_false(unrolls("div.rn.f32 %f1, %f1, %f2;", 1)); // a function is called
    assert_false(unrolls("atom.global.add.u32 %r5, [%d1+64], %r9; st.global.u32 [%d1+128], %r5;", 1));
    // predicates that are alive at other times may be in the register of the loop's own
    assert_true(unrolls("setp.gt.f32 %p1, %f1, %f2; selp.f32 %f1, %f2, %f1, %p1;", 3));
}

// Loops of which it is known how many rounds they have, of products alone: what ptxas writes out completely,
// and the next larger that it does not (docs/how/lowering.md); products besides four multiples of the
// counter.
static void test_completely(void **state) {
    (void)state;
    static const struct {
        uint64_t rounds, yes, no;
    } at[] = {{2, 194, 205}, {4, 97, 104}, {8, 55, 60},  {16, 37, 41},
              {32, 25, 28},  {64, 17, 19}, {128, 12, 14}};
    for (size_t n = 0; n < sizeof at / sizeof *at; n++) {
        assert_true(unroll_completely(at[n].rounds, at[n].yes, 0));
        assert_false(unroll_completely(at[n].rounds, at[n].no, 0));
    }
    assert_true(unroll_completely(16, 60, 4)); // 73 at most
    assert_false(unroll_completely(16, 77, 4));
    assert_false(unroll_completely(1ull << 40, 1ull << 40, 0));
}

// A kernel with a loop of so many rounds of so many products: is it unrolled, and are its tests known?
static bool known(int rounds, int products, bool *tests) {
    orr_text t = {0};
    orr_text_add(&t, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a)\n{\n"
                     ".reg .pred %%p<3>; .reg .b32 %%r<3>; .reg .f32 %%f<3>; .reg .b64 %%d<3>;\n"
                     "ld.param.u64 %%d1, [a]; ld.global.f32 %%f1, [%%d1]; mov.u32 %%r1, 0;\nL:\n");
    for (int n = 0; n < products; n++) orr_text_add(&t, "mul.f32 %%f1, %%f1, %%f1;\n");
    orr_text_add(
        &t,
        "add.s32 %%r1, %%r1, 1; setp.ne.s32 %%p1, %%r1, %d; @%%p1 bra L; st.global.f32 [%%d1], %%f1; "
        "ret;\n}\n",
        rounds);
    orr_err e = {0};
    orr_module *m = orr_ptx_parse("known.ptx", t.s, strlen(t.s), &e);
    if (!m) fail_msg("%s", e.text);
    orr_rewritten *s = orr_rewrite(kernel_of(m));
    bool yes = s && s->chains[s->chain_of[1]].loop;
    uint32_t found = 0;
    for (uint32_t n = 0; s && n < s->to->ninsts; n++) found += (s->to->insts[n].mods & ORR_M_KNOWN) != 0;
    *tests = found == 9; // the difference, a comparison and a branch, three times
    orr_rewritten_free(s);
    m->free(m);
    free(t.s);
    return yes;
}

static void test_known_rounds(void **state) {
    (void)state;
    bool tests;
    assert_true(known(4, 97, &tests));
    assert_true(tests);
    assert_false(known(4, 104, &tests));
    assert_true(known(8, 62, &tests)); // in part
    assert_false(known(8, 74, &tests));
    assert_false(known(6, 80, &tests));
    assert_true(known(1000, 18, &tests)); // as any loop
    assert_true(tests);
}

// Shuffles where no lane can have parted are in the block that they are in; under a branch that differs from
// lane to lane the first begins a block, the others do not. A branch by what was loaded from one place does
// not part them.
static orr_rewritten *shuffles(const char *value, orr_module **m) {
    orr_text t = {0};
    orr_text_add(
        &t,
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 a, .param .u32 n)\n{\n"
        ".reg .pred %%p<9>; .reg .b32 %%r<40>; .reg .b64 %%d<40>;\n"
        "ld.param.u64 %%d1, [a]; ld.param.u32 %%r1, [n]; mov.u32 %%r4, -1;\n"
        "%s; ld.global.u32 %%r3, [%%d1+8]; setp.gt.u32 %%p1, %%r2, 3; @%%p1 bra E;\n"
        "add.u32 %%r3, %%r3, 1; shfl.sync.bfly.b32 %%r5|%%p2, %%r3, 1, 31, %%r4; add.u32 %%r3, %%r3, %%r5;\n"
        "shfl.sync.bfly.b32 %%r6|%%p2, %%r3, 2, 31, %%r4; add.u32 %%r3, %%r3, %%r6;\n"
        "atom.global.add.u32 %%r7, [%%d1], %%r3; E: st.global.u32 [%%d1], %%r3;\nret;\n}\n",
        value);
    orr_err e = {0};
    *m = orr_ptx_parse("test.ptx", t.s, t.n, &e);
    if (!*m) fail_msg("%s", e.text);
    free(t.s);
    return orr_rewrite(kernel_of(*m));
}

static void test_together(void **state) {
    (void)state;
    static const char *const values[] = {"mov.u32 %r2, %laneid", "ld.global.u32 %r2, [%d1]",
                                         "mov.u32 %r2, %r1"};
    for (int v = 0; v < 3; v++) {
        orr_module *m;
        orr_rewritten *s = shuffles(values[v], &m);
        assert_non_null(s);
        assert_int_equal(kernel_of(m)->nblocks, 5); // each shuffle begins one
        const orr_kernel *nk = orr_rewritten_kernel(s);
        assert_int_equal(nk->nblocks, v == 0 ? 4 : 3);
        uint32_t waits = 0, shuffled = 0;
        for (uint32_t n = 0; n < nk->ninsts; n++) {
            waits += orr_inst_waits_for(nk, &nk->insts[n]) != NULL;
            shuffled += nk->insts[n].op == ORR_OP_SHFL;
        }
        assert_int_equal(shuffled, 2);
        assert_int_equal(waits, v == 0);
        orr_rewritten_free(s);
        m->free(m);
    }
}

// A thousand shuffles, one behind the other, that nothing else parts: one block, and none asks for lanes.
static void test_many_together(void **state) {
    (void)state;
    orr_text t = {0};
    orr_text_add(&t, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a)\n{\n"
                     ".reg .b32 %%r<9>; .reg .b64 %%d<9>;\nld.param.u64 %%d1, [a]; ld.global.u32 %%r1, "
                     "[%%d1];\nmov.u32 %%r4, -1;\n");
    for (int n = 0; n < 1000; n++)
        orr_text_add(&t, "shfl.sync.bfly.b32 %%r2, %%r1, 1, 31, %%r4; add.u32 %%r1, %%r1, %%r2;\n");
    orr_text_add(&t, "st.global.u32 [%%d1], %%r1;\nret;\n}\n");
    orr_err e = {0};
    orr_module *m = orr_ptx_parse("test.ptx", t.s, t.n, &e);
    if (!m) fail_msg("%s", e.text);
    assert_int_equal(kernel_of(m)->nblocks, 1001);
    orr_rewritten *s = orr_rewrite(kernel_of(m));
    assert_non_null(s);
    const orr_kernel *k = orr_rewritten_kernel(s);
    assert_int_equal(k->nblocks, 1);
    for (uint32_t n = 0; n < k->ninsts; n++) assert_null(orr_inst_waits_for(k, &k->insts[n]));
    orr_rewritten_free(s);
    m->free(m);
    free(t.s);
}

// A matrix of 16 x 16 halves, 64 bytes from row to row: in the stream each lane has 16 bytes, two lanes a
// row. As four loads, lane 5 has the second word of row 1, then of row 9; then the same of the other half.
static void test_matrix(void **state) {
    (void)state;
    static const char text[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a)\n{\n"
        ".reg .b32 %r<40>; .reg .f32 %f<9>; .reg .b64 %d<9>;\nld.param.u64 %d1, [a]; mov.u32 %r9, 32;\n"
        "wmma.load.a.sync.aligned.row.m16n16k16.global.bf16 {%r1, %r2, %r3, %r4}, [%d1], %r9;\n"
        "st.global.v4.u32 [%d1], {%r1, %r2, %r3, %r4};\nret;\n}\n";
    orr_err e = {0};
    orr_module *m = orr_ptx_parse("test.ptx", text, sizeof text - 1, &e);
    if (!m) fail_msg("%s", e.text);
    orr_kernel *k = kernel_of(m);
    orr_rewritten *s = orr_rewrite(k);
    assert_non_null(s);
    orr_trace_out t = {0};
    uint64_t addr[32];
    for (uint64_t l = 0; l < 32; l++) addr[l] = 1024 + l / 2 * 64 + l % 2 * 16;
    for (uint32_t b = 0; b < k->nblocks; b++) {
        orr_trace_put_block(&t, b, UINT32_MAX);
        for (uint32_t a = 0; a < k->blocks[b].nmem; a++) orr_trace_put_access(&t, UINT32_MAX, addr);
    }
    static ran r[8];
    assert_int_equal(reshape(s, k, &t, r, 8), 1);
    assert_int_equal(r[0].naccess, 5);
    static const uint64_t lane5[] = {1024 + 64 + 4, 1024 + 9 * 64 + 4, 1024 + 64 + 20, 1024 + 9 * 64 + 20};
    for (uint32_t p = 0; p < 4; p++) {
        assert_int_equal(r[0].access[p].mask, UINT32_MAX);
        assert_int_equal(r[0].access[p].addr[5], lane5[p]);
    }
    assert_int_equal(r[0].access[4].addr[5], addr[5]);
    free(t.bytes);
    orr_rewritten_free(s);
    m->free(m);
}

// A trace that is damaged is damaged behind it too.
static void test_damaged(void **state) {
    (void)state;
    orr_module *m = loop("1", "");
    orr_kernel *k = kernel_of(m);
    orr_rewritten *s = orr_rewrite(k);
    uint32_t rounds[32];
    for (int l = 0; l < 32; l++) rounds[l] = 3 + (uint32_t)l % 5;
    orr_trace_out t = {0};
    put_loop(&t, k, rounds);
    for (size_t cut = 0; cut < t.n; cut++) {
        one o = {.base = {.info = {.kernel = k}, .next = next_one, .close = close_one},
                 .warp = {t.bytes, cut}};
        orr_source *to = orr_rewritten_source(s, &o.base);
        orr_tb tb;
        orr_err e = {0};
        assert_int_equal(to->next(to, &tb, &e), 1);
        orr_trace whole = orr_trace_open(o.warp), x = orr_trace_open(tb.warps[0]);
        int ends[2] = {1, 1};
        const orr_kernel *of[2] = {k, orr_rewritten_kernel(s)};
        for (int w = 0; w < 2; w++) {
            orr_trace *y = w ? &x : &whole;
            uint32_t block, mask;
            orr_access a;
            while (ends[w] > 0 && (ends[w] = orr_trace_block(y, of[w]->nblocks, &block, &mask)) > 0)
                for (uint32_t i = 0; i < of[w]->blocks[block].nmem && ends[w] > 0; i++)
                    if (!orr_trace_access(y, &a)) ends[w] = -1;
        }
        assert_int_equal(ends[0], ends[1]);
        to->close(to);
    }
    free(t.bytes);
    orr_rewritten_free(s);
    m->free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounds),     cmocka_unit_test(test_lanes_leave),
        cmocka_unit_test(test_left_alone), cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_damaged),    cmocka_unit_test(test_costs),
        cmocka_unit_test(test_completely), cmocka_unit_test(test_known_rounds),
        cmocka_unit_test(test_together),   cmocka_unit_test(test_many_together),
        cmocka_unit_test(test_matrix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
