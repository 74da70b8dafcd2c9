// The executor: lanes that part and meet, threads that wait for each other, barriers, calls, faults,
// and the streams it delivers. Every kernel is a few lines of PTX; what it must compute is worked
// out by hand beside it.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "exec/exec.h"
#include "ptx/ptx.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"

// ---- a small bench --------------------------------------------------------------------------
typedef struct bench {
    orr_mem *mem;
    orr_module *module;
    orr_image *image;
    orr_launch launch;
    uint64_t out; // one output buffer, the kernel's first parameter
    uint32_t words;
    uint8_t params[64];
    orr_err err;
} bench;

static void open_bench(bench *b, const char *ptx, const char *kernel, uint32_t grid, uint32_t block,
                       uint32_t words) {
    memset(b, 0, sizeof *b);
    b->mem = orr_mem_new(&b->err);
    assert_non_null(b->mem);
    b->module = orr_ptx_parse("test.ptx", ptx, strlen(ptx), &b->err);
    if (!b->module) fail_msg("%s", b->err.text);
    b->image = orr_image_load(b->mem, b->module, &b->err);
    assert_non_null(b->image);
    const orr_kernel *k = b->module->load(b->module, kernel, &b->err);
    if (!k) fail_msg("%s", b->err.text);
    b->words = words;
    b->out = orr_mem_alloc(b->mem, words * 4, "out", &b->err);
    memcpy(b->params, &b->out, 8);
    b->launch = (orr_launch){.kernel = k,
                             .image = b->image,
                             .mem = b->mem,
                             .grid = {grid, 1, 1},
                             .block = {block, 1, 1},
                             .params = b->params};
}

static const uint32_t *run_bench(bench *b, int threads) {
    bool ok = orr_launch_check(&b->launch, 232448, &b->err) &&
              orr_exec_run(&b->launch, threads, NULL, NULL, &b->err);
    if (!ok) fail_msg("%s", b->err.text);
    return orr_mem_host(b->mem, b->out, b->words * 4);
}

static void close_bench(bench *b) {
    orr_image_free(b->mem, b->image);
    b->module->free(b->module);
    orr_mem_delete(b->mem);
}

// out[global thread id] = value computed by `body` in %r1; %r0 is the global thread id, %r9 the lane.
#define KERNEL(regs, body)                                                                                   \
    HEAD ".visible .entry k(.param .u64 out){\n"                                                             \
         ".reg .b32 %r<32>; .reg .b64 %rd<16>; .reg .pred %p<8>; .reg .f32 %f<8>;\n" regs                    \
         "ld.param.u64 %rd1,[out]; cvta.to.global.u64 %rd1,%rd1;\n"                                          \
         "mov.u32 %r2,%ctaid.x; mov.u32 %r3,%ntid.x; mov.u32 %r4,%tid.x; mad.lo.s32 %r0,%r2,%r3,%r4;\n"      \
         "mov.u32 %r9,%laneid; mul.wide.u32 %rd2,%r0,4; add.s64 %rd3,%rd1,%rd2;\n" body                      \
         "st.global.u32 [%rd3],%r1; ret;\n}\n"

static void lanes_part_and_meet(void **state) {
    (void)state;
    bench b;
    // if (lane odd) r1 = 100 + lane else r1 = 200 + lane; then all together: r1 += popc(activemask)
    open_bench(
        &b,
        KERNEL("",
               "and.b32 %r5,%r9,1; setp.eq.u32 %p1,%r5,1; @%p1 bra ODD;\n"
               "add.u32 %r1,%r9,200; bra.uni MEET;\nODD: add.u32 %r1,%r9,100;\n"
               "MEET: activemask.b32 %r6; popc.b32 %r7,%r6; mul.lo.u32 %r7,%r7,1000; add.u32 %r1,%r1,%r7;\n"),
        "k", 2, 64, 128);
    const uint32_t *out = run_bench(&b, 1);
    for (uint32_t i = 0; i < 128; i++) assert_int_equal(out[i], 32000 + (i % 2 ? 100 : 200) + i % 32);
    close_bench(&b);
}

static void loops_of_different_length(void **state) {
    (void)state;
    bench b;
    // r1 = sum of 1..lane, by a loop each lane leaves at its own time; all meet behind it
    open_bench(&b,
               KERNEL("", "mov.u32 %r1,0; mov.u32 %r5,0;\nL: setp.ge.u32 %p1,%r5,%r9; @%p1 bra OUT;\n"
                          "add.u32 %r5,%r5,1; add.u32 %r1,%r1,%r5; bra L;\nOUT: vote.sync.ballot.b32 "
                          "%r6,%p1,-1; popc.b32 %r6,%r6;\n"
                          "mad.lo.u32 %r1,%r6,10000,%r1;\n"),
               "k", 1, 32, 32);
    const uint32_t *out = run_bench(&b, 1);
    for (uint32_t i = 0; i < 32; i++) assert_int_equal(out[i], 320000 + i * (i + 1) / 2);
    close_bench(&b);
}

static void early_exit_does_not_keep_others_apart(void **state) {
    (void)state;
    bench b;
    // lanes 24..31 return inside an if; the rest must be together afterwards
    open_bench(&b,
               KERNEL("", "setp.lt.u32 %p1,%r9,16; @%p1 bra LOW;\nsetp.ge.u32 %p2,%r9,24; @%p2 bra GONE; "
                          "mov.u32 %r1,2; bra MEET;\n"
                          "GONE: ret;\nLOW: mov.u32 %r1,1;\nMEET: activemask.b32 %r6; popc.b32 %r6,%r6; "
                          "mad.lo.u32 %r1,%r6,10,%r1;\n"),
               "k", 1, 32, 32);
    const uint32_t *out = run_bench(&b, 1);
    for (uint32_t i = 0; i < 32; i++) assert_int_equal(out[i], i < 16 ? 241 : i < 24 ? 242 : 0);
    close_bench(&b);
}

// `return` in a branch of a loop, as nvcc writes it: a jump to the one block that ends the kernel, which all
// other ways lead to as well. Lanes that stay meet behind the branch all the same: of four rounds lane 30
// leaves in the third, so that the others count 32 + 32 + 31 + 31 lanes.
static void a_return_in_a_loop_does_not_keep_others_apart(void **state) {
    (void)state;
    bench b;
    open_bench(&b,
               HEAD ".visible .entry k(.param .u64 out){\n"
                    ".reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .pred %p<6>;\n"
                    "ld.param.u64 %rd1,[out]; mov.u32 %r0,%tid.x; mul.wide.u32 %rd2,%r0,4; add.s64 "
                    "%rd3,%rd1,%rd2; mov.u32 %r1,0; mov.u32 %r2,0; mov.u32 %r3,0; mov.u32 %r7,7;\n"
                    "L: and.b32 %r5,%r0,1; setp.eq.u32 %p1,%r5,1; @%p1 bra ODD;\n"
                    "setp.eq.u32 %p2,%r0,30; setp.eq.u32 %p3,%r2,2; and.pred %p2,%p2,%p3; @%p2 bra GONE; "
                    "bra MEET;\n"
                    "ODD: add.u32 %r3,%r3,1;\n"
                    "MEET: activemask.b32 %r6; popc.b32 %r6,%r6; add.u32 %r1,%r1,%r6; add.u32 %r2,%r2,1; "
                    "setp.lt.u32 %p4,%r2,4; @%p4 bra L;\n"
                    "st.global.u32 [%rd3],%r1; bra END;\nGONE: st.global.u32 [%rd3],%r7;\nEND: ret;\n}\n",
               "k", 1, 32, 32);
    const uint32_t *out = run_bench(&b, 1);
    for (uint32_t i = 0; i < 32; i++) assert_int_equal(out[i], i == 30 ? 7 : 126);
    close_bench(&b);
}

static void a_lock_inside_one_warp(void **state) {
    (void)state;
    bench b;
    // Each lane takes a spin lock, adds 1 without atomics, frees it. Without progress for every lane
    // this never ends: the lane that holds the lock would wait for the spinning ones at the join.
    open_bench(&b,
               HEAD ".global .u32 lock; .global .u32 count;\n.visible .entry k(.param .u64 out){\n"
                    ".reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p<4>;\n"
                    "SPIN: atom.global.cas.b32 %r1,[lock],0,1; setp.ne.u32 %p1,%r1,0; @%p1 bra SPIN;\n"
                    "ld.volatile.global.u32 %r2,[count]; add.u32 %r2,%r2,1; st.volatile.global.u32 "
                    "[count],%r2; membar.gl;\n"
                    "atom.global.exch.b32 %r3,[lock],0;\nret;\n}\n",
               "k", 4, 64, 1);
    run_bench(&b, 2);
    uint64_t addr, bytes;
    assert_true(orr_image_symbol(b.image, "count", &addr, &bytes));
    assert_int_equal(*(uint32_t *)orr_mem_host(b.mem, addr, 4), 256);
    close_bench(&b);
}

static void blocks_wait_for_each_other(void **state) {
    (void)state;
    bench b;
    // A grid barrier: block 0 waits for the last one. All blocks are resident, so it must end.
    open_bench(
        &b,
        HEAD
        ".global .u32 arrived;\n.visible .entry k(.param .u64 out){\n.reg .b32 %r<8>; .reg .b64 %rd<4>; .reg "
        ".pred %p<4>;\n"
        "atom.global.add.u32 %r1,[arrived],1;\nW: ld.volatile.global.u32 %r2,[arrived]; setp.lt.u32 "
        "%p1,%r2,20; @%p1 bra W;\n"
        "ld.param.u64 %rd1,[out]; mov.u32 %r3,%ctaid.x; mul.wide.u32 %rd2,%r3,4; add.s64 %rd1,%rd1,%rd2;\n"
        "st.global.u32 [%rd1],%r2;\nret;\n}\n",
        "k", 20, 1, 20);
    const uint32_t *out = run_bench(&b, 2);
    for (int i = 0; i < 20; i++) assert_int_equal(out[i], 20);
    close_bench(&b);
}

// Blocks of one thread draw 13 pieces of work from a counter. Piece 0 takes long.
static const uint32_t *draw(bench *b, int threads) {
    open_bench(
        b,
        HEAD ".global .u32 next;\n.visible .entry k(.param .u64 out){\n.reg .b32 %r<8>; .reg .b64 "
             "%rd<4>; .reg .pred %p<4>;\n"
             "mov.u32 %r3,0;\nMORE: atom.global.add.u32 %r1,[next],1; setp.ge.u32 %p1,%r1,13; @%p1 bra END;\n"
             "add.u32 %r3,%r3,1; setp.ne.u32 %p2,%r1,0; @%p2 bra MORE;\n"
             "mov.u32 %r2,0;\nLONG: add.u32 %r2,%r2,1; setp.lt.u32 %p3,%r2,1000; @%p3 bra LONG;\nbra MORE;\n"
             "END: ld.param.u64 %rd1,[out]; mov.u32 %r4,%ctaid.x; mul.wide.u32 %rd2,%r4,4; add.s64 "
             "%rd1,%rd1,%rd2;\nst.global.u32 [%rd1],%r3;\nret;\n}\n",
        "k", 4, 1, 4);
    return run_bench(b, threads);
}

// Without time thread blocks run in grid order as long as they do not wait: the first one draws all pieces.
static void work_goes_to_who_is_first(void **state) {
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        bench b;
        const uint32_t *out = draw(&b, threads), want[4] = {13, 0, 0, 0};
        for (int i = 0; i < 4; i++) assert_int_equal(out[i], want[i]);
        close_bench(&b);
    }
}

static void warps_wait_through_shared_memory(void **state) {
    (void)state;
    bench b;
    // warp 0 spins on a flag that warp 1 sets
    open_bench(&b,
               HEAD ".visible .entry k(.param .u64 out){\n.reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred "
                    "%p<4>; .shared .u32 flag;\n"
                    "mov.u32 %r1,%tid.x; setp.ge.u32 %p1,%r1,32; @%p1 bra SET;\n"
                    "W: ld.volatile.shared.u32 %r2,[flag]; setp.ne.u32 %p2,%r2,7; @%p2 bra W; bra DONE;\n"
                    "SET: mov.u32 %r2,7; st.volatile.shared.u32 [flag],%r2;\n"
                    "DONE: ld.param.u64 %rd1,[out]; mul.wide.u32 %rd2,%r1,4; add.s64 %rd1,%rd1,%rd2; "
                    "st.global.u32 [%rd1],%r2;\nret;\n}\n",
               "k", 1, 64, 64);
    const uint32_t *out = run_bench(&b, 1);
    for (int i = 0; i < 64; i++) assert_int_equal(out[i], 7);
    close_bench(&b);
}

static void barriers(void **state) {
    (void)state;
    bench b;
    // Reverse 100 words through shared memory; the last warp is ragged.
    open_bench(&b,
               HEAD ".visible .entry k(.param .u64 out){\n.reg .b32 %r<8>; .reg .b64 %rd<4>; .shared .align "
                    "4 .b8 s[400];\n"
                    "mov.u32 %r1,%tid.x; shl.b32 %r2,%r1,2; mov.u32 %r3,s; add.u32 %r3,%r3,%r2; "
                    "st.shared.u32 [%r3],%r1; bar.sync 0;\n"
                    "sub.u32 %r4,99,%r1; shl.b32 %r4,%r4,2; mov.u32 %r3,s; add.u32 %r3,%r3,%r4; "
                    "ld.shared.u32 %r5,[%r3];\n"
                    "ld.param.u64 %rd1,[out]; mul.wide.u32 %rd2,%r1,4; add.s64 %rd1,%rd1,%rd2; st.global.u32 "
                    "[%rd1],%r5;\nret;\n}\n",
               "k", 1, 100, 100);
    const uint32_t *out = run_bench(&b, 1);
    for (uint32_t i = 0; i < 100; i++) assert_int_equal(out[i], 99 - i);
    close_bench(&b);
    // Reductions over the block: 96 threads, predicate true for tid % 3 == 0 -> 32; not all, some.
    open_bench(&b,
               KERNEL("", "rem.u32 %r5,%r4,3; setp.eq.u32 %p1,%r5,0; barrier.red.popc.u32 %r1,0,%p1;\n"
                          "barrier.red.and.pred %p2,0,%p1; barrier.red.or.pred %p3,0,%p1;\n"
                          "@%p2 add.u32 %r1,%r1,1000; @%p3 add.u32 %r1,%r1,2000;\n"),
               "k", 1, 96, 96);
    out = run_bench(&b, 1);
    for (uint32_t i = 0; i < 96; i++) assert_int_equal(out[i], 2032);
    close_bench(&b);
    // A barrier of 64 threads: warp 0 arrives and goes on, warp 1 waits; warps 2 and 3 have no part in it.
    open_bench(
        &b,
        KERNEL("",
               "mov.u32 %r1,5; setp.ge.u32 %p1,%r4,64; @%p1 bra END; setp.lt.u32 %p2,%r4,32; @%p2 bra ARR;\n"
               "bar.sync 3,64; mov.u32 %r1,6; bra END;\nARR: bar.arrive 3,64;\nEND: \n"),
        "k", 1, 128, 128);
    out = run_bench(&b, 1);
    for (uint32_t i = 0; i < 128; i++) assert_int_equal(out[i], i >= 32 && i < 64 ? 6 : 5);
    close_bench(&b);
    // Threads that exit are not waited for.
    open_bench(&b, KERNEL("", "setp.ge.u32 %p1,%r4,40; @%p1 exit; bar.sync 0; mov.u32 %r1,3;\n"), "k", 1, 128,
               128);
    out = run_bench(&b, 1);
    for (uint32_t i = 0; i < 128; i++) assert_int_equal(out[i], i < 40 ? 3 : 0);
    close_bench(&b);
}

static void calls(void **state) {
    (void)state;
    bench b;
    // fib by recursion, for lane % 12; lanes end at different depths
    open_bench(&b,
               HEAD ".func (.param .b32 r) fib(.param .b32 n){\n.reg .b32 %r<8>; .reg .pred %p<2>;\n"
                    "ld.param.u32 %r1,[n]; setp.lt.u32 %p1,%r1,2; @%p1 bra BASE;\n"
                    "sub.u32 %r2,%r1,1; { .param .b32 a; .param .b32 q; st.param.b32 [a],%r2; call.uni (q), "
                    "fib, (a); ld.param.b32 %r3,[q]; }\n"
                    "sub.u32 %r2,%r1,2; { .param .b32 a; .param .b32 q; st.param.b32 [a],%r2; call.uni (q), "
                    "fib, (a); ld.param.b32 %r4,[q]; }\n"
                    "add.u32 %r5,%r3,%r4; st.param.b32 [r],%r5; ret;\nBASE: st.param.b32 [r],%r1; ret;\n}\n"
                    ".visible .entry k(.param .u64 out){\n.reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
                    "mov.u32 %r1,%tid.x; rem.u32 %r2,%r1,12;\n"
                    "{ .param .b32 a; .param .b32 q; st.param.b32 [a],%r2; call.uni (q), fib, (a); "
                    "ld.param.b32 %r3,[q]; }\n"
                    "activemask.b32 %r4; popc.b32 %r4,%r4; mad.lo.u32 %r3,%r4,1000,%r3;\n"
                    "ld.param.u64 %rd1,[out]; mul.wide.u32 %rd2,%r1,4; add.s64 %rd1,%rd1,%rd2; st.global.u32 "
                    "[%rd1],%r3;\nret;\n}\n",
               "k", 1, 32, 32);
    static const uint32_t fib[12] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
    const uint32_t *out = run_bench(&b, 1);
    for (uint32_t i = 0; i < 32; i++) assert_int_equal(out[i], 32000 + fib[i % 12]);
    close_bench(&b);
    // Indirect: even lanes call one function, odd lanes another, through a pointer.
    open_bench(&b,
               HEAD
               ".func (.param .b32 r) two(.param .b32 n){ .reg .b32 %r<3>; ld.param.u32 %r1,[n]; mul.lo.u32 "
               "%r1,%r1,2; st.param.b32 [r],%r1; ret; }\n"
               ".func (.param .b32 r) ten(.param .b32 n){ .reg .b32 %r<3>; ld.param.u32 %r1,[n]; mul.lo.u32 "
               "%r1,%r1,10; st.param.b32 [r],%r1; ret; }\n"
               ".visible .entry k(.param .u64 out){\n.reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<2>;\n"
               "mov.u32 %r1,%tid.x; and.b32 %r2,%r1,1; setp.eq.u32 %p1,%r2,1; mov.u64 %rd4,two; mov.u64 "
               "%rd5,ten; selp.b64 %rd6,%rd5,%rd4,%p1;\n"
               "{ .param .b32 a; .param .b32 q; st.param.b32 [a],%r1; P: .callprototype (.param .b32 _) _ "
               "(.param .b32 _);\n"
               "call (q), %rd6, (a), P; ld.param.b32 %r3,[q]; }\n"
               "ld.param.u64 %rd1,[out]; mul.wide.u32 %rd2,%r1,4; add.s64 %rd1,%rd1,%rd2; st.global.u32 "
               "[%rd1],%r3;\nret;\n}\n",
               "k", 1, 32, 32);
    out = run_bench(&b, 1);
    for (uint32_t i = 0; i < 32; i++) assert_int_equal(out[i], i % 2 ? 10 * i : 2 * i);
    close_bench(&b);
}

static void branch_tables(void **state) {
    (void)state;
    bench b;
    open_bench(&b,
               KERNEL("", "and.b32 %r5,%r9,3; T: .branchtargets A, B, C, D;\nbrx.idx %r5, T;\n"
                          "A: mov.u32 %r1,11; bra M; B: mov.u32 %r1,22; bra M; C: mov.u32 %r1,33; bra M; D: "
                          "mov.u32 %r1,44;\nM:\n"),
               "k", 1, 32, 32);
    const uint32_t *out = run_bench(&b, 1);
    for (uint32_t i = 0; i < 32; i++) assert_int_equal(out[i], 11 * (i % 4 + 1));
    close_bench(&b);
}

// ---- blocks that may see each other ---------------------------------------------------------
static const orr_kernel *loaded(bench *b, const char *body) {
    open_bench(b, body, "k", 1, 1, 1);
    return b->launch.kernel;
}

// May its blocks run side by side, as far as the code tells?
static bool apart(const orr_kernel *k) {
    for (uint32_t n = 0; n < k->effects.nbases; n++)
        if ((k->effects.bases[n].stores || k->effects.bases[n].reduces) && k->effects.bases[n].loads)
            return false;
    return (!k->effects.atomics || k->effects.reduces) && !k->effects.blocks_meet &&
           !k->effects.reads_anywhere;
}

#define TWO(body)                                                                                            \
    HEAD                                                                                                     \
        ".visible .entry k(.param .u64 in, .param .u64 out){\n.reg .b32 %r<16>; .reg .b64 %rd<16>;\n"        \
        "ld.param.u64 %rd1,[in]; ld.param.u64 %rd2,[out]; mov.u32 %r1,%ctaid.x; mov.u32 %r2,%ntid.x;\n"      \
        "mov.u32 %r3,%tid.x; mad.lo.s32 %r4,%r1,%r2,%r3; mul.wide.u32 %rd3,%r4,4; add.s64 %rd4,%rd1,%rd3;\n" \
        "add.s64 %rd5,%rd2,%rd3;\n" body "ret;\n}\n"

static void which_blocks_keep_apart(void **state) {
    (void)state;
    static const struct {
        bool apart;
        const char *what, *ptx;
    } cases[] = {
        {true, "out[i] = in[i]", TWO("ld.global.u32 %r5,[%rd4]; st.global.u32 [%rd5],%r5;")},
        {true, "out[i] += in[i]",
         TWO("ld.global.u32 %r5,[%rd4]; ld.global.u32 %r6,[%rd5]; add.u32 %r6,%r6,%r5; st.global.u32 "
             "[%rd5],%r6;")},
        {true, "a flag", TWO("mov.u32 %r5,1; st.global.u32 [%rd2],%r5;")},
        {false, "out[i] = out[i + 1]", TWO("ld.global.u32 %r5,[%rd5+4]; st.global.u32 [%rd5],%r5;")},
        {false, "out[in[i]] = i",
         TWO("ld.global.u32 %r5,[%rd4]; mul.wide.u32 %rd6,%r5,4; add.s64 %rd7,%rd2,%rd6; st.global.u32 "
             "[%rd7],%r4;")},
        {false, "out[thread] = block",
         TWO("mul.wide.u32 %rd6,%r3,4; add.s64 %rd7,%rd2,%rd6; st.global.u32 [%rd7],%r1;")},
        {true, "a sum", TWO("red.global.add.u32 [%rd2],1;")},
        {true, "a histogram",
         TWO("ld.global.u32 %r5,[%rd4]; mul.wide.u32 %rd6,%r5,4; add.s64 %rd7,%rd2,%rd6; "
             "red.global.max.s32 [%rd7],%r4;")},
        {false, "a sum that is looked at", TWO("red.global.add.u32 [%rd2],1; ld.global.u32 %r5,[%rd2];")},
        {true, "what a sum was, which nobody reads", TWO("atom.global.add.u32 %r5,[%rd2],1;")},
        {false, "what a sum was", TWO("atom.global.add.u32 %r5,[%rd2],1; st.global.u32 [%rd4],%r5;")},
        {false, "a sum and a maximum", TWO("red.global.add.u32 [%rd2],1; red.global.max.u32 [%rd1],%r4;")},
        {false, "the least signed and the least unsigned",
         TWO("red.global.min.s32 [%rd2],%r4; red.global.min.u32 [%rd1],%r4;")},
        {false, "a sum of floats", TWO("red.global.add.f32 [%rd2],0f3f800000;")},
        {false, "counting up to a limit", TWO("red.global.inc.u32 [%rd2],%r4;")},
        {false, "a sum where a pointer leads",
         TWO("ld.global.u64 %rd8,[%rd1]; red.global.add.u32 [%rd8],1;")},
        {false, "a pointer out of memory", TWO("ld.global.u64 %rd8,[%rd1]; st.global.u32 [%rd8],%r1;")},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        bench b;
        if (apart(loaded(&b, cases[n].ptx)) != cases[n].apart) fail_msg("%s", cases[n].what);
        close_bench(&b);
    }
}

// Is it known without data what is accessed? (docs/guides/lab.md, regular kernels)
static void which_kernels_are_regular(void **state) {
    (void)state;
#define P ".reg .pred %p<4>;\n"
    static const struct {
        bool regular;
        const char *what, *ptx;
    } cases[] = {
        {true, "out[i] = in[i]", TWO("ld.global.u32 %r5,[%rd4]; st.global.u32 [%rd5],%r5;")},
        {true, "if (i < 100) out[i] = i",
         TWO(P "setp.lt.u32 %p1,%r4,100; @!%p1 bra E; st.global.u32 [%rd5],%r4;\nE:\n")},
        {false, "out[in[i]] = i",
         TWO("ld.global.u32 %r5,[%rd4]; mul.wide.u32 %rd6,%r5,4; add.s64 %rd7,%rd2,%rd6; st.global.u32 "
             "[%rd7],%r4;")},
        {false, "if (in[i]) out[i] = i",
         TWO(P "ld.global.u32 %r5,[%rd4]; setp.ne.u32 %p1,%r5,0; @!%p1 bra E; st.global.u32 "
               "[%rd5],%r4;\nE:\n")},
        {false, "the same with a guard",
         TWO(P "ld.global.u32 %r5,[%rd4]; setp.ne.u32 %p1,%r5,0; @%p1 st.global.u32 [%rd5],%r4;\n")},
        {true, "x = in[i]; if (x == 0) x = 7; out[i] = x: no access between the branch and where it ends",
         TWO(P "ld.global.u32 %r5,[%rd4]; setp.ne.u32 %p1,%r5,0; @%p1 bra E; mov.u32 %r5,7;\nE:\n"
               "st.global.u32 [%rd5],%r5;\n")},
        {false, "if (in[i] == 0) return; out[i] = i",
         TWO(P "ld.global.u32 %r5,[%rd4]; setp.eq.u32 %p1,%r5,0; @%p1 exit; st.global.u32 [%rd5],%r4;\n")},
        {false, "while (*in) ;", TWO(P "L: ld.global.u32 %r5,[%rd1]; setp.ne.u32 %p1,%r5,0; @%p1 bra L;\n")},
        {false, "by what an atomic returns",
         TWO("atom.global.add.u32 %r5,[%rd2],1; mul.wide.u32 %rd6,%r5,4; add.s64 %rd7,%rd2,%rd6; "
             "st.global.u32 [%rd7],%r1;")},
    };
#undef P
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        bench b;
        if (loaded(&b, cases[n].ptx)->effects.regular != cases[n].regular) fail_msg("%s", cases[n].what);
        close_bench(&b);
    }
}

// A racing kernel: each thread adds what its right neighbour holds, in place, over block borders.
static void a_race_has_one_outcome(void **state) {
    (void)state;
    uint32_t first[512];
    for (int threads = 1; threads <= 4; threads++) {
        bench b;
        open_bench(&b, KERNEL("", "ld.global.u32 %r5,[%rd3+4]; add.u32 %r1,%r5,1;\n"), "k", 511, 1, 512);
        const uint32_t *out = run_bench(&b, threads);
        if (threads == 1) memcpy(first, out, sizeof first);
        assert_memory_equal(first, out, sizeof first);
        close_bench(&b);
    }
}

// Reductions of one kind come to the same from any number of host threads: 160 blocks of 64 threads, of which
// thread i of all reduces word i % 32 with 7 * i + 1, by red and by an atom whose result nobody reads.
static void reductions_commute(void **state) {
    (void)state;
    static const struct {
        const char *op;
        uint32_t start;
    } cases[] = {{"add.u32", 5}, {"min.u32", 500}, {"min.s32", 500}, {"max.u32", 5},
                 {"max.s32", 5}, {"and.b32", ~0u}, {"or.b32", 8},    {"xor.b32", 3}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        uint32_t want[32];
        for (int n = 0; n < 32; n++) want[n] = cases[c].start;
        for (uint32_t i = 0; i < 160 * 64; i++) {
            uint32_t v = 7 * i + 1, *at = &want[i % 32];
            *at = c == 0   ? *at + v
                  : c <= 2 ? (*at < v ? *at : v)
                  : c <= 4 ? (*at > v ? *at : v)
                  : c == 5 ? *at & v
                  : c == 6 ? *at | v
                           : *at ^ v;
        }
        static const char text[] =
            TWO("and.b32 %r6,%r4,31; mul.wide.u32 %rd6,%r6,4; add.s64 %rd7,%rd1,%rd6;\n"
                "mad.lo.u32 %r7,%r4,7,1; WHAT [%rd7],%r7;\n");
        char ptx[2000];
        const char *what = strstr(text, "WHAT");
        for (int threads = 1; threads <= 4; threads++) {
            snprintf(ptx, sizeof ptx, "%.*s%s.global.%s%s%s", (int)(what - text), text,
                     threads % 2 ? "red" : "atom", cases[c].op, threads % 2 ? "" : " %r8,", what + 4);
            bench b;
            open_bench(&b, ptx, "k", 160, 64, 32);
            assert_true(b.launch.kernel->effects.reduces);
            uint32_t *out = orr_mem_host(b.mem, b.out, 32 * 4);
            for (int n = 0; n < 32; n++) out[n] = cases[c].start;
            assert_memory_equal(run_bench(&b, threads), want, sizeof want);
            close_bench(&b);
        }
    }
}

// Loads and stores of one, two and four words by 1 to 32 lanes (block b: those with 5 * lane % 32 <= b), by a
// branch and by guards: scattered, side by side, all at one place; interpreted, and compiled both ways. Words
// 1024 and up hold 3 j + 7. Of lanes that store to one place the last one wins.
#define ACCESSES(g)                                                                                          \
    g "ld.global.v4.u32 {%r10,%r11,%r12,%r13},[%rd4+4096];\n" g                                              \
      "ld.global.v2.u32 {%r14,%r15},[%rd5+4096];\n" g "ld.global.u32 %r16,[%rd6+4096];\n" g                  \
      "ld.global.u32 %r17,[%rd7+4096];\n" g "ld.global.u32 %r18,[%rd8+4096];\n" g                            \
      "st.shared.v4.u32 [%r8],{%r10,%r11,%r12,%r13};\n" g "ld.shared.v2.u32 {%r20,%r21},[%r8+8];\n" g        \
      "st.shared.u32 [%r8],%r9;\n" g "ld.shared.u32 %r22,[%r8];\n" g                                         \
      "st.global.v4.u32 [%rd9+8192],{%r10,%r14,%r16,%r20};\n" g                                              \
      "st.global.v2.u32 [%rd9+8200],{%r9,%r22};\n" g "st.global.u32 [%rd7+24576],%r9;\n"
#define ANYWHERE(skip, g)                                                                                    \
    KERNEL(                                                                                                  \
        ".shared .align 16 .b8 s[512];",                                                                     \
        "mov.u32 %r10,0; mov.u32 %r11,0; mov.u32 %r12,0; mov.u32 %r13,0; mov.u32 %r14,0; mov.u32 %r15,0;\n"  \
        "mov.u32 %r16,0; mov.u32 %r17,0; mov.u32 %r18,0; mov.u32 %r20,0; mov.u32 %r21,0; mov.u32 %r22,0;\n"  \
        "mul.lo.u32 %r5,%r9,5; and.b32 %r5,%r5,31; setp.gt.u32 %p1,%r5,%r2;\n"                               \
        "mul.lo.u32 %r6,%r9,37; mad.lo.u32 %r6,%r2,11,%r6; and.b32 %r6,%r6,127;\n"                           \
        "mul.wide.u32 %rd4,%r6,16; add.s64 %rd4,%rd4,%rd1; mul.wide.u32 %rd5,%r6,8; add.s64 "                \
        "%rd5,%rd5,%rd1;\n"                                                                                  \
        "mul.wide.u32 %rd6,%r6,4; add.s64 %rd6,%rd6,%rd1; mul.wide.u32 %rd7,%r2,4; add.s64 "                 \
        "%rd7,%rd7,%rd1;\n"                                                                                  \
        "mul.wide.u32 %rd8,%r9,4; add.s64 %rd8,%rd8,%rd1; mad.lo.u32 %r7,%r2,32,%r5;\n"                      \
        "mul.wide.u32 %rd9,%r7,16; add.s64 %rd9,%rd9,%rd1;\n"                                                \
        "mov.u32 %r8,s; mad.lo.u32 %r8,%r5,16,%r8;\n" skip ACCESSES(                                         \
            g) "SKIP:\n"                                                                                     \
               "mad.lo.u32 %r1,%r11,3,%r10; mad.lo.u32 %r1,%r12,5,%r1; mad.lo.u32 %r1,%r13,7,%r1;\n"         \
               "mad.lo.u32 %r1,%r14,11,%r1; mad.lo.u32 %r1,%r15,13,%r1; mad.lo.u32 %r1,%r16,17,%r1;\n"       \
               "mad.lo.u32 %r1,%r17,19,%r1; mad.lo.u32 %r1,%r18,23,%r1; mad.lo.u32 %r1,%r20,29,%r1;\n"       \
               "mad.lo.u32 %r1,%r21,31,%r1;\n")

static uint32_t held(uint32_t j) { return 3 * j + 7; } // by word 1024 + j

static void check_anywhere(const uint32_t *out, uint32_t b) {
    uint32_t last = 0;
    for (uint32_t lane = 0; lane < 32; lane++) {
        uint32_t p = lane * 5 % 32, x = (lane * 37 + b * 11) % 128, sum = 0;
        const uint32_t *to = &out[2048 + (b * 32 + p) * 4];
        if (p <= b) {
            sum = held(4 * x) + 3 * held(4 * x + 1) + 5 * held(4 * x + 2) + 7 * held(4 * x + 3) +
                  11 * held(2 * x) + 13 * held(2 * x + 1) + 17 * held(x) + 19 * held(b) + 23 * held(lane) +
                  29 * held(4 * x + 2) + 31 * held(4 * x + 3);
            assert_int_equal(to[0], held(4 * x));
            assert_int_equal(to[1], held(2 * x));
            assert_int_equal(to[2], lane);
            assert_int_equal(to[3], lane);
            last = lane;
        } else {
            for (int n = 0; n < 4; n++) assert_int_equal(to[n], 0);
        }
        assert_int_equal(out[b * 32 + lane], sum);
    }
    assert_int_equal(out[6144 + b], last);
}

static void lanes_anywhere(void **state) {
    (void)state;
    static const char *const kernels[] = {ANYWHERE("@%p1 bra SKIP;\n", ""), ANYWHERE("", "@!%p1 ")};
    static const uint8_t ways[] = {ORR_JIT_OFF, ORR_JIT_ON, ORR_JIT_AVX2};
    for (int n = 0; n < 6; n++) {
        bench b;
        open_bench(&b, kernels[n / 3], "k", 32, 32, 6176);
        b.launch.jit = ways[n % 3];
        uint32_t *memory = orr_mem_host(b.mem, b.out, 6176 * 4);
        for (uint32_t j = 0; j < 1024; j++) memory[1024 + j] = held(j);
        const uint32_t *out = run_bench(&b, 1);
        for (uint32_t block = 0; block < 32; block++) check_anywhere(out, block);
        close_bench(&b);
    }
}

// ---- faults ---------------------------------------------------------------------------------
static void expect_fault(const char *ptx, uint32_t grid, uint32_t block, uint64_t max_insts,
                         const char *const *parts) {
    for (int threads = 1; threads <= 2; threads++) {
        bench b;
        open_bench(&b, ptx, "k", grid, block, 16);
        b.launch.max_insts = max_insts;
        assert_false(orr_exec_run(&b.launch, threads, NULL, NULL, &b.err));
        assert_int_equal(b.err.status, ORR_PROGRAM_FAILED);
        for (; *parts && threads == 1; parts++)
            if (!strstr(b.err.text, *parts)) fail_msg("'%s' is not in: %s", *parts, b.err.text);
        close_bench(&b);
    }
}

static void faults(void **state) {
    (void)state;
    // 16 words; thread 16 of block 0 is the first outside
    expect_fault(KERNEL("", "mov.u32 %r1,1;\n"), 4, 64, 0,
                 (const char *[]){"test.ptx:", "out of bounds", "kernel 'k'", "block (0,0,0)",
                                  "thread (16,0,0)", "'out'", NULL});
    expect_fault(KERNEL("", "add.s64 %rd3,%rd1,2; mov.u32 %r1,1;\n"), 1, 1, 0,
                 (const char *[]){"not a multiple of 4", "thread (0,0,0)", NULL});
    expect_fault(KERNEL("", "mov.u32 %r1,1; setp.eq.u32 %p1,%r0,5; @%p1 trap;\n"), 1, 8, 0,
                 (const char *[]){"trap", "thread (5,0,0)", NULL});
    expect_fault(KERNEL("", "mov.u32 %r1,1;\nL: bra L;\n"), 1, 1, 1000,
                 (const char *[]){"1000 instructions", "--max-insts", NULL});
    expect_fault(KERNEL("", "mov.u32 %r1,1; setp.lt.u32 %p1,%r4,32; @%p1 exit; bar.sync 1,96;\n"), 1, 64, 0,
                 (const char *[]){"deadlock", "barrier 1", NULL});
    expect_fault(KERNEL(".shared .b32 s[4];", "mov.u32 %r1,1; ld.shared.u32 %r1,[s+16];\n"), 1, 1, 0,
                 (const char *[]){"shared memory", "16 bytes", NULL});
}

// One block fails, all others never end: the fault is reported all the same, and it is block 0's.
static void a_fault_ends_endless_blocks(void **state) {
    (void)state;
    expect_fault(KERNEL("", "mov.u32 %r1,1; setp.eq.u32 %p1,%r2,0; @%p1 trap;\nL: bra L;\n"), 8, 1, 0,
                 (const char *[]){"trap", "block (0,0,0)", NULL});
}

// ---- streams and determinism ----------------------------------------------------------------
typedef struct digest {
    uint64_t sum, blocks;
} digest;

static bool add_block(void *arg, int worker, const orr_tb *tb, orr_err *e) {
    (void)e;
    digest *d = &((digest *)arg)[worker];
    for (uint32_t w = 0; w < tb->nwarps; w++)
        d->sum += orr_hash64(tb->warps[w].bytes, tb->warps[w].n, tb->index * 64 + w);
    d->blocks++;
    return true;
}

static bool in_order(void *arg, int worker, const orr_tb *tb, orr_err *e) {
    (void)worker;
    uint64_t *next = arg;
    if (tb->index != *next)
        return orr_fail(e, ORR_PROGRAM_FAILED, "block %llu", (unsigned long long)tb->index);
    ++*next;
    return true;
}

// ---- mbarriers --------------------------------------------------------------------------------
#define MBAR_INIT(count)                                                                                     \
    "setp.ne.u32 %p1,%r4,0; @%p1 bra J; mbarrier.init.shared.b64 [bar]," #count ";\nJ: bar.sync 0;\n"
static void tries_wait(void **state) {
    (void)state;
    bench b;
    // Four warps arrive and wait, five times. A try waits: each thread makes five.
    const char *rounds = KERNEL(
        ".shared .b64 bar;\n",
        MBAR_INIT(128) "mov.u32 %r1,0; mov.u32 %r5,0;\n"
                       "L: mbarrier.arrive.shared.b64 %rd5,[bar];\n"
                       "W: add.u32 %r1,%r1,1; mbarrier.try_wait.shared.b64 %p2,[bar],%rd5; @!%p2 bra W;\n"
                       "add.u32 %r5,%r5,1; setp.lt.u32 %p3,%r5,5; @%p3 bra L;\n");
    open_bench(&b, rounds, "k", 3, 128, 384);
    const uint32_t *out = run_bench(&b, 1);
    for (int i = 0; i < 384; i++) assert_int_equal(out[i], 5);
    close_bench(&b);
    // Odd lanes wait for the even ones of their warp: a try fails, and the others have their turn. Nobody
    // comes to the second mbarrier: its tries fail, and the thread gives up.
    const char *apart =
        KERNEL(".shared .b64 bar, never;\n",
               MBAR_INIT(16) "mbarrier.init.shared.b64 [never],1;\n"
                             "and.b32 %r5,%r4,1; setp.eq.u32 %p1,%r5,1; @%p1 bra W;\n"
                             "mbarrier.arrive.shared.b64 _,[bar]; bra M;\n"
                             "W: mbarrier.try_wait.parity.shared.b64 %p2,[bar],0; @!%p2 bra W;\n"
                             "M: mov.u32 %r1,0;\n"
                             "N: add.u32 %r1,%r1,1; mbarrier.try_wait.parity.shared.b64 %p2,[never],0; "
                             "setp.lt.u32 %p3,%r1,7;\n"
                             "@%p2 bra E; @%p3 bra N;\nE:\n");
    open_bench(&b, apart, "k", 1, 32, 32);
    out = run_bench(&b, 1);
    for (int i = 0; i < 32; i++) assert_int_equal(out[i], 7);
    close_bench(&b);
}

// The second warp takes from the first what it puts into shared memory, one after the other. Its waits need
// 1, 2, ... 6 arrivals at the first mbarrier; those of the first warp, from the second round on, 32, 64, ...
// at the other one. A wait that fails says nothing, nor does one for the phase before the first.
static void waits_say_what_they_need(void **state) {
    (void)state;
    bench b;
    const char *text =
        KERNEL(".shared .b64 full, empty;\n",
               "setp.ne.u32 %p1,%r4,0; @%p1 bra J; mbarrier.init.shared.b64 [full],1; "
               "mbarrier.init.shared.b64 [empty],32;\n"
               "J: bar.sync 0; mov.u32 %r5,0; mov.u32 %r1,0; setp.lt.u32 %p4,%r4,32;\n"
               "L: and.b32 %r6,%r5,1; xor.b32 %r7,%r6,1; @!%p4 bra C;\n"
               "P: mbarrier.try_wait.parity.shared.b64 %p2,[empty],%r7; @!%p2 bra P;\n"
               "setp.ne.u32 %p1,%r9,0; @%p1 bra N; mbarrier.arrive.shared.b64 _,[full]; bra N;\n"
               "C: mbarrier.try_wait.parity.shared.b64 %p2,[full],%r6; @!%p2 bra C;\n"
               "mbarrier.arrive.shared.b64 _,[empty];\n"
               "N: add.u32 %r5,%r5,1; setp.lt.u32 %p3,%r5,6; @%p3 bra L;\n");
    open_bench(&b, text, "k", 1, 64, 64);
    orr_source *s = orr_exec_source(&b.launch, NULL, &b.err);
    assert_non_null(s);
    orr_tb tb;
    assert_int_equal(s->next(s, &tb, &b.err), 1);
    const orr_kernel *k = b.launch.kernel;
    for (uint32_t w = 0; w < 2; w++) {
        orr_trace t = orr_trace_open(tb.warps[w]);
        uint32_t block, mask, waits = 0;
        while (orr_trace_block(&t, k->nblocks, &block, &mask) > 0)
            for (uint32_t n = k->blocks[block].first; n < k->blocks[block].first + k->blocks[block].count;
                 n++) {
                orr_access a;
                if (!orr_inst_traced(&k->insts[n])) continue;
                assert_true(orr_trace_access(&t, &a));
                if (k->insts[n].op != ORR_OP_MBARRIER || k->insts[n].sub != ORR_MBAR_TRY_WAIT) {
                    assert_false(a.versioned);
                    continue;
                }
                uint32_t need = w ? waits + 1 : 32 * waits;
                assert_int_equal(a.versioned, need != 0);
                for (int lane = 0; lane < 32 && need; lane++) assert_int_equal(a.version[lane], need);
                waits++;
            }
        assert_int_equal(waits, 6);
    }
    s->close(s);
    close_bench(&b);
}

static void streams_do_not_depend_on_threads(void **state) {
    (void)state;
    static const char *const ptx = KERNEL(
        "", "mov.u32 %r1,0; mov.u32 %r5,0; and.b32 %r8,%r0,15;\nL: setp.ge.u32 %p1,%r5,%r8; @%p1 bra OUT;\n"
            "ld.global.u32 %r6,[%rd3]; add.u32 %r5,%r5,1; add.u32 %r1,%r1,%r5; bra L;\nOUT:\n");
    bench b;
    open_bench(&b, ptx, "k", 37, 96, 37 * 96);
    digest one[1] = {{0}}, two[3] = {{0}};
    orr_exec_counts c1, c2;
    assert_true(orr_exec_run(&b.launch, 1, &(orr_visitor){.visit = add_block, .arg = one}, &c1, &b.err));
    assert_true(orr_exec_run(&b.launch, 3, &(orr_visitor){.visit = add_block, .arg = two}, &c2, &b.err));
    assert_int_equal(one[0].sum, two[0].sum + two[1].sum + two[2].sum);
    assert_int_equal(one[0].blocks, 37);
    assert_int_equal(c1.warp_insts, c2.warp_insts);
    assert_int_equal(c1.thread_insts, c2.thread_insts);
    // the same again, pulled one by one
    digest pulled = {0};
    orr_source *s = orr_exec_source(&b.launch, &c2, &b.err);
    assert_non_null(s);
    orr_tb tb;
    while (s->next(s, &tb, &b.err) > 0) add_block(&pulled, 0, &tb, &b.err);
    s->close(s);
    assert_int_equal(pulled.sum, one[0].sum);
    assert_int_equal(c1.warp_insts, c2.warp_insts);
    uint64_t next = 0;
    assert_true(orr_exec_run(&b.launch, 3, &(orr_visitor){in_order, &next, true}, NULL, &b.err));
    assert_int_equal(next, 37);
    close_bench(&b);
}

// Two blocks of a thread each that meet twice: each adds 1 and looks until it finds 2, then 4. Who has looked
// gives way to the other block (run/poll.c). Block 0 adds and finds 1; block 1 adds and finds 2; block 0
// finds 2; block 1 adds and finds 3; block 0 adds and finds 4; block 1 finds 4: each has looked three times.
static void blocks_that_look_take_turns(void **state) {
    (void)state;
    bench b;
    open_bench(&b,
               KERNEL("", "mov.u32 %r5,0;\nAGAIN: add.u32 %r5,%r5,2; atom.global.add.u32 %r6,[%rd1],1;\n"
                          "L: ld.volatile.global.u32 %r1,[%rd1]; setp.lt.u32 %p1,%r1,%r5; @%p1 bra L;\n"
                          "setp.lt.u32 %p2,%r5,4; @%p2 bra AGAIN; add.s64 %rd3,%rd3,64;\n"),
               "k", 2, 1, 32);
    orr_source *s = orr_exec_source(&b.launch, NULL, &b.err);
    orr_tb tb;
    for (uint32_t n = 0; n < 2; n++) {
        assert_int_equal(s->next(s, &tb, &b.err), 1);
        orr_trace t = orr_trace_open(tb.warps[0]);
        const orr_kernel *k = b.launch.kernel;
        uint32_t block, mask, looks = 0;
        while (orr_trace_block(&t, k->nblocks, &block, &mask) > 0)
            for (uint32_t i = 0; i < k->blocks[block].count; i++) {
                const orr_inst *in = &k->insts[k->blocks[block].first + i];
                orr_access a;
                if (!orr_inst_traced(in)) continue;
                assert_true(orr_trace_access(&t, &a));
                looks += in->op == ORR_OP_LD;
            }
        assert_int_equal(looks, 3);
    }
    s->close(s);
    close_bench(&b);
}

// Three lanes add 1 to a word by compare and swap. Each looks and gives way, so that all have seen 0. Then
// the first has it with one try; the others find another number, and have it with the second: nobody comes in
// between within a quantum. It does not matter whether they are in three warps of a block or in three blocks.
static void swaps_race(void **state) {
    (void)state;
    static const char *const ptx = KERNEL(
        "", "mov.u32 %r1,0; setp.ne.u32 %p1,%r9,0; @%p1 bra OUT; ld.volatile.global.u32 %r5,[%rd1+512];\n"
            "L: mov.u32 %r6,%r5; add.u32 %r7,%r6,1; add.u32 %r1,%r1,1;\n"
            "atom.global.cas.b32 %r5,[%rd1+512],%r6,%r7; setp.ne.u32 %p2,%r5,%r6; @%p2 bra L;\nOUT:\n");
    for (uint32_t blocks = 1; blocks <= 3; blocks += 2) {
        bench b;
        open_bench(&b, ptx, "k", blocks, 96 / blocks, 256);
        const uint32_t *out = run_bench(&b, 2);
        for (uint32_t n = 0; n < 3; n++) assert_int_equal(out[32 * n], n ? 2 : 1);
        assert_int_equal(out[128], 3);
        close_bench(&b);
    }
}

static void a_stream_says_what_happened(void **state) {
    (void)state;
    bench b;
    // one warp; lanes 0..15 load [out + 4 lane], then all store with stride 8
    open_bench(&b,
               HEAD
               ".visible .entry k(.param .u64 out){\n.reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<2>;\n"
               "ld.param.u64 %rd1,[out]; mov.u32 %r1,%tid.x; mul.wide.u32 %rd2,%r1,4; add.s64 "
               "%rd3,%rd1,%rd2; setp.lt.u32 %p1,%r1,16;\n"
               "@%p1 ld.global.u32 %r2,[%rd3]; mul.wide.u32 %rd4,%r1,8; add.s64 %rd5,%rd1,%rd4; "
               "st.global.u32 [%rd5+4],%r1; ret;\n}\n",
               "k", 1, 32, 64);
    orr_source *s = orr_exec_source(&b.launch, NULL, &b.err);
    orr_tb tb;
    assert_int_equal(s->next(s, &tb, &b.err), 1);
    assert_int_equal(tb.nwarps, 1);
    orr_trace t = orr_trace_open(tb.warps[0]);
    uint32_t block, mask;
    orr_access a;
    assert_int_equal(orr_trace_block(&t, b.launch.kernel->nblocks, &block, &mask), 1);
    assert_int_equal(block, 0);
    assert_int_equal(mask, 0xffffffff);
    assert_int_equal(b.launch.kernel->blocks[0].nmem, 2);
    assert_true(orr_trace_access(&t, &a));
    assert_int_equal(a.mask, 0xffff);
    for (uint32_t i = 0; i < 16; i++) assert_int_equal(a.addr[i], b.out + 4 * i);
    assert_true(orr_trace_access(&t, &a));
    assert_int_equal(a.mask, 0xffffffff);
    for (uint32_t i = 0; i < 32; i++) assert_int_equal(a.addr[i], b.out + 4 + 8 * i);
    assert_int_equal(orr_trace_block(&t, b.launch.kernel->nblocks, &block, &mask), 0);
    assert_int_equal(s->next(s, &tb, &b.err), 0);
    s->close(s);
    close_bench(&b);
}

// ---- device runtime -------------------------------------------------------------------------
static void printing(void **state) {
    (void)state;
    bench b;
    open_bench(
        &b,
        HEAD
        ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
        ".global .align 1 .b8 fmt[24] = {116, 37, 100, 32, 37, 46, 50, 102, 32, 37, 115, 10, 0};\n" // "t%d
                                                                                                    // %.2f
                                                                                                    // %s\n"
        ".global .align 1 .b8 str[4] = {104, 105, 0};\n"
        ".visible .entry k(.param .u64 out){\n.local .align 8 .b8 depot[24]; .reg .b32 %r<4>; .reg .b64 "
        "%rd<8>; .reg .f64 %d<2>;\n"
        "mov.u64 %rd1,depot; cvta.local.u64 %rd2,%rd1; mov.u32 %r1,%tid.x; st.local.u32 [%rd1],%r1; mov.f64 "
        "%d1,0d3FF8000000000000;\n"
        "st.local.f64 [%rd1+8],%d1; mov.u64 %rd3,str; cvta.global.u64 %rd4,%rd3; st.local.u64 "
        "[%rd1+16],%rd4;\n"
        "mov.u64 %rd5,fmt; cvta.global.u64 %rd6,%rd5;\n"
        "{ .param .b64 p0; .param .b64 p1; .param .b32 q; st.param.b64 [p0],%rd6; st.param.b64 [p1],%rd2; "
        "call.uni (q), vprintf, (p0,p1); ld.param.b32 %r2,[q]; }\n"
        "ret;\n}\n",
        "k", 1, 2, 4);
    char *text = NULL;
    size_t n = 0;
    b.launch.print = open_memstream(&text, &n);
    run_bench(&b, 1);
    fclose(b.launch.print);
    assert_string_equal(text, "t0 1.50 hi\nt1 1.50 hi\n");
    free(text);
    close_bench(&b);
}

// ---- plain races ----------------------------------------------------------------------------
// Does a launch of a kernel that goes on with `body` from %rd3, the address of out[thread], race? What the
// look at it does to memory is undone. 1024 words, word i has i + 5.
static bool races(const char *ptx, uint32_t grid, uint32_t block) {
    bench b;
    open_bench(&b, ptx, "k", grid, block, 1024);
    uint32_t *out = orr_mem_host(b.mem, b.out, 4096);
    for (uint32_t i = 0; i < 1024; i++) out[i] = i + 5;
    bool race = orr_launch_races(&b.launch);
    for (uint32_t i = 0; i < 1024; i++) assert_int_equal(out[i], i + 5);
    close_bench(&b);
    return race;
}

// out[thread] = out[thread] + 1 through a pointer in out[512], to which a number is added that is a parameter
// of 8 bytes and no pointer: what the look stores through it is undone, too.
static void what_loaded_pointers_lead_to(void **state) {
    (void)state;
    bench b;
    open_bench(&b,
               HEAD ".visible .entry k(.param .u64 out, .param .u64 n){\n.reg .b32 %r<4>; .reg .b64 %rd<8>;\n"
                    "ld.param.u64 %rd1,[out]; ld.param.u64 %rd2,[n]; ld.global.u64 %rd3,[%rd1+2048];\n"
                    "mov.u32 %r1,%tid.x; mul.wide.u32 %rd4,%r1,4; add.s64 %rd3,%rd3,%rd4;\n"
                    "add.s64 %rd3,%rd3,%rd2; ld.global.u32 %r2,[%rd3]; add.u32 %r2,%r2,1;\n"
                    "st.global.u32 [%rd3],%r2; ret;\n}\n",
               "k", 1, 32, 1024);
    uint32_t *out = orr_mem_host(b.mem, b.out, 4096);
    for (uint32_t i = 0; i < 32; i++) out[i] = i + 5;
    memcpy(out + 512, &b.out, 8);
    assert_false(orr_launch_races(&b.launch));
    for (uint32_t i = 0; i < 32; i++) assert_int_equal(out[i], i + 5);
    run_bench(&b, 1);
    for (uint32_t i = 0; i < 32; i++) assert_int_equal(out[i], i + 6);
    close_bench(&b);
}

static void plain_loads_of_what_others_store(void **state) {
    (void)state;
    // out[i] = out[i + 1]: the last thread of a warp loads what the next warp stores, of its block or
    // another.
    const char *next = KERNEL("", "ld.global.u32 %r1,[%rd3+4];\n");
    assert_false(races(next, 1, 32));
    assert_true(races(next, 1, 64));
    assert_true(races(next, 2, 32));
    // A barrier between the load and the store orders the warps of a block, and not its neighbour's.
    const char *meet = KERNEL("", "ld.global.u32 %r1,[%rd3+4]; bar.sync 0;\n");
    assert_false(races(meet, 1, 128));
    assert_true(races(meet, 2, 128));
    // out[i] = out[i] + 1 is the thread's own; out[i] = out[i + 512] is so as long as there are 512 threads.
    assert_false(races(KERNEL("", "ld.global.u32 %r1,[%rd3]; add.u32 %r1,%r1,1;\n"), 4, 64));
    const char *far = KERNEL("", "ld.global.u32 %r1,[%rd3+2048];\n");
    assert_false(races(far, 8, 64));
    assert_true(races(far, 9, 32 * 3));
    // All threads store to one word, and nobody loads it; or store if they find something there.
    assert_false(races(KERNEL("", "mov.u32 %r1,1; st.global.u32 [%rd1],%r1;\n"), 4, 64));
    const char *flag = KERNEL("", "ld.global.u32 %r1,[%rd1+2048]; setp.eq.u32 %p1,%r1,0;\n"
                                  "mov.u32 %r5,0; @!%p1 st.global.u32 [%rd1+2048],%r5;\n");
    assert_false(races(flag, 1, 32));
    assert_true(races(flag, 2, 32));
    // Where a pointer is loaded, nothing is known of it before: it leads to the word itself.
    const char *loaded = KERNEL("", "cvta.global.u64 %rd4,%rd1; st.global.u64 [%rd1+1024],%rd4;\n"
                                    "ld.global.u64 %rd5,[%rd1+1024]; ld.u32 %r1,[%rd5+4];\n");
    assert_true(races(loaded, 2, 32));
}

// A thread loads one byte of a word and stores the next: the bytes of others are others.
static void bytes_of_one_word_are_no_race(void **state) {
    (void)state;
#define BYTES(apart)                                                                                         \
    KERNEL("", "mul.wide.u32 %rd4,%r0," apart "; add.s64 %rd4,%rd1,%rd4; ld.global.u8 %r1,[%rd4+2048];\n"    \
               "st.global.u8 [%rd4+2049],%r1; add.s64 %rd3,%rd3,3072;\n")
    assert_false(races(BYTES("2"), 4, 32));
    assert_true(races(BYTES("1"), 4, 32));
}

// A kernel that fails is none of this look's business: the launch itself says so.
static void faults_are_no_race(void **state) {
    (void)state;
    bench b;
    open_bench(&b, KERNEL("", "ld.global.u32 %r1,[%rd3+4];\n"), "k", 1, 32, 32); // word 32 is not there
    assert_false(orr_launch_races(&b.launch));
    assert_int_equal(b.err.status, 0);
    close_bench(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_part_and_meet),
        cmocka_unit_test(loops_of_different_length),
        cmocka_unit_test(early_exit_does_not_keep_others_apart),
        cmocka_unit_test(a_return_in_a_loop_does_not_keep_others_apart),
        cmocka_unit_test(a_lock_inside_one_warp),
        cmocka_unit_test(blocks_wait_for_each_other),
        cmocka_unit_test(work_goes_to_who_is_first),
        cmocka_unit_test(warps_wait_through_shared_memory),
        cmocka_unit_test(barriers),
        cmocka_unit_test(tries_wait),
        cmocka_unit_test(waits_say_what_they_need),
        cmocka_unit_test(calls),
        cmocka_unit_test(branch_tables),
        cmocka_unit_test(which_blocks_keep_apart),
        cmocka_unit_test(which_kernels_are_regular),
        cmocka_unit_test(a_race_has_one_outcome),
        cmocka_unit_test(reductions_commute),
        cmocka_unit_test(lanes_anywhere),
        cmocka_unit_test(faults),
        cmocka_unit_test(a_fault_ends_endless_blocks),
        cmocka_unit_test(streams_do_not_depend_on_threads),
        cmocka_unit_test(a_stream_says_what_happened),
        cmocka_unit_test(blocks_that_look_take_turns),
        cmocka_unit_test(swaps_race),
        cmocka_unit_test(printing),
        cmocka_unit_test(plain_loads_of_what_others_store),
        cmocka_unit_test(what_loaded_pointers_lead_to),
        cmocka_unit_test(bytes_of_one_word_are_no_race),
        cmocka_unit_test(faults_are_no_race),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
