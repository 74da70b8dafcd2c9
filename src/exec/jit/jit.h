// Private to exec/: basic blocks as host code.
//
// Micro-ops of a block that compute each lane by itself (exec/lanewise.h) become straight host code over
// slices of a warp, 16 lanes at a time with AVX-512 and eight with AVX2: rows that are used again stay in
// vector registers, predicates in general ones. All other micro-ops (memory, shuffles, products, ...) are
// called as the interpreter calls them, with the same lanes. So a compiled block does what run_plain
// (run/warp.c) does, bit for bit; which of them runs it is a question of time only. There are four of each
// block: all lanes active or some, with and without a stream.
//
// Operands and constants are those of one launch, so code lives as long as its `decoded`; what a block costs
// to compile is about what it costs to interpret it ten times. A block is compiled when it has been entered
// HOT times. Only on x86_64 with AVX2: elsewhere orr_jit_open returns NULL, and all is interpreted.
#ifndef ORR_JIT_H
#define ORR_JIT_H

#include "exec/block.h"

typedef void block_fn(warp *w);
enum { JIT_MASKED = 1, JIT_STREAM = 2, JIT_KINDS = 4 };

typedef struct jit_block {
    _Atomic(block_fn *) code[JIT_KINDS]; // NULL: not yet
    atomic_uint entered[JIT_KINDS];      // times, up to HOT; NEVER: it is not worth it, or there is no room
} jit_block;

struct jit; // of a launch
// With AVX-512, if it is wanted and there; else with AVX2. NULL: no code is made.
struct jit *orr_jit_open(const decoded *p, bool wide);
bool orr_jit_is_wide(const struct jit *j); // with AVX-512
// Does AVX-512 make this processor faster? The clock of those before Ice Lake goes down for it, and with it
// all that is no vector code.
bool orr_jit_wide_pays(void);
void orr_jit_close(struct jit *j);
jit_block *orr_jit_blocks(struct jit *j); // [nblocks of the kernel]
// Compiles a block; NULL: it is left to the interpreter.
block_fn *orr_jit_compile(struct jit *j, uint32_t block, int kind);

enum { JIT_NEVER = 1u << 30 };

#endif
