// For tests of Accel-Sim's traces: their text, and what a source makes of it.
#ifndef ORRERY_TESTS_ACCEL_RIG_H
#define ORRERY_TESTS_ACCEL_RIG_H

#include "accel/accel.h"
#include "exec/exec.h"
#include "stream/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct event { // one instruction that a warp executed
    uint64_t block;
    uint32_t warp, mask, code; // code: block of the kernel
    const orr_inst *inst;
    bool mem;
    orr_access a;
} event;

typedef struct events {
    ORR_VEC(event) list;
    uint64_t blocks;
} events;

// Pulls everything. Instructions stay where they are after the last block has been read.
static inline int collect(orr_source *s, events *ev, orr_err *e) {
    const orr_kernel *k = s->info.kernel;
    orr_tb tb;
    int more;
    memset(ev, 0, sizeof *ev);
    ORR_VEC(uint32_t) insts = {0};
    while ((more = s->next(s, &tb, e)) > 0) {
        assert_int_equal(tb.index, ev->blocks++);
        for (uint32_t w = 0; w < tb.nwarps; w++) {
            orr_trace t = orr_trace_open(tb.warps[w]);
            uint32_t block, mask;
            int r;
            while ((r = orr_trace_block(&t, k->nblocks, &block, &mask)) > 0)
                for (uint32_t i = 0; i < k->blocks[block].count; i++) {
                    event *v = ORR_PUSH(&ev->list);
                    *ORR_PUSH(&insts) = k->blocks[block].first + i;
                    *v = (event){.block = tb.index, .warp = w, .mask = mask, .code = block};
                    v->mem = orr_inst_traced(&k->insts[k->blocks[block].first + i]);
                    if (v->mem) assert_true(orr_trace_access(&t, &v->a));
                }
            assert_int_equal(r, 0);
        }
    }
    for (size_t i = 0; i < ev->list.n; i++) ev->list.at[i].inst = &k->insts[insts.at[i]];
    free(insts.at);
    return more;
}

#define HEAD(version)                                                                                        \
    "-kernel name = k\n-kernel id = 3\n-grid dim = (1,1,1)\n-block dim = (32,1,1)\n-shmem = 0\n"             \
    "-nregs = 16\n-binary version = 70\n-cuda stream id = 0\n-shmem base_addr = 0x00007f0000000000\n"        \
    "-local mem base_addr = 0x00007f0002000000\n-nvbit version = 1.7\n" version                              \
    "\n#traces format = [line_num] PC mask ...\n"
#define V5 "-accelsim tracer version = 5\n-enable lineinfo = 0\n"
#define ONE(insts, body)                                                                                     \
    "\n#BEGIN_TB\n\nthread block = 0,0,0\n\nwarp = 0\ninsts = " #insts "\n" body "\n#END_TB\n"

#endif
