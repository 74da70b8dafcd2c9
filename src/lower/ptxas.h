// Private to lower/: what ptxas 13.0 was found to do for sm_90, as numbers. They hold for every GPU that PTX
// is lowered for, because no other ptxas was looked at. Each was found by small kernels written for the
// purpose, in which one thing grew until the machine code changed; docs/how/lowering.md, "Blocks first", has
// the tables and what they miss.
#ifndef ORR_PTXAS_H
#define ORR_PTXAS_H

// Instructions that a body under a branch may have to become predicated: without loads, with.
enum { PTXAS_BODY_PLAIN = 7, PTXAS_BODY_LOADING = 18 };

// What one iteration of a counted loop may cost (unroll_cost) to be unrolled by four: without loads, with
// loads of global memory; each load from shared memory allows for four more; never more than the last.
enum { PTXAS_LOOP_PLAIN = 18, PTXAS_LOOP_LOADING = 47, PTXAS_LOOP_SHARED = 4, PTXAS_LOOP_MOST = 64 };

// A loop whose number of iterations is known is unrolled in part from so many iterations on.
enum { PTXAS_LOOP_SOME = 7 };

// A loop is written out whole where all iterations together cost no more than PTXAS_WHOLE_ALWAYS, or, all
// being what they cost, n their number and k the instructions that a known counter saves in each,
//     2 (all - PTXAS_WHOLE_BASE)^2 <= PTXAS_WHOLE_SLOPE n (2 + k).
// It is within 10 % of the largest body that ptxas wrote out for 2 to 128 iterations, and some 20 % too much
// where a fifth of the instructions is computed with the counter.
enum {
    PTXAS_WHOLE_ALWAYS = 390,
    PTXAS_WHOLE_BASE = 60,
    PTXAS_WHOLE_SLOPE = 18500,
    PTXAS_WHOLE_ROUNDS = 4096
};

// What is scheduled together: instructions of a chain with bodies, and its blocks.
enum { PTXAS_CHAIN_INSTS = 320, PTXAS_CHAIN_BLOCKS = 48 };

#endif
