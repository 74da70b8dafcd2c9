// Execution as it is timed.
//
// A kernel whose threads can see each other's accesses while it runs (isa/observable.h) cannot be executed
// first and timed afterwards: what a thread finds in memory depends on when it is there. A model with time
// executes such a kernel instruction by instruction, through this door:
//
//   orr_step_next      which block of code a warp goes on with, as a block event of its trace
//   orr_step_issue     an instruction is issued: it is executed. What it does to global memory is not done
//                      yet; it is an access that the model takes along
//   orr_step_read, orr_step_atomic, orr_step_memory
//                      the simulated memory serves the access, in its order of time: it is done
//   orr_step_deliver   the answer has reached the warp: values go into registers
//
// Or, simpler (ORR_STEP_AT_ISSUE), an instruction does all that it does when it is issued, and the model
// takes nothing along: a store is seen by others half a round trip too early, and so is what a load looks at.
// That is for code whose instructions are not issued as they are executed, PTX that has been lowered, and for
// models that serve no accesses one by one. Instructions are executed in the order of the code: one that is
// issued has those before it executed, too.
//
// Shared and local memory, constants and barriers are the SM's own, which issues in order of time: they are
// done at issue. Registers need no protection, because the machine code's own barriers keep a warp from
// issuing what needs a value that has not been delivered.
//
// Who may call what, when. An SM and its blocks, warps and accesses belong to one host thread at a time, and
// none of the calls for one SM touches what another SM has. While SMs run nobody writes global memory, so
// that an SM may read it (orr_step_read for a hit in L1). While the memory runs no SM does; then a partition
// may serve accesses of any SM, as long as a word of memory is served by one partition only: what it writes
// is that word and the lanes of accesses to it. So nothing depends on the number of host threads. With
// ORR_STEP_AT_ISSUE one host thread runs all SMs, in a fixed order.
#ifndef ORR_STEP_H
#define ORR_STEP_H

#include "exec/exec.h"
#include "stream/trace.h"

typedef struct orr_step orr_step;             // a launch
typedef struct orr_step_block orr_step_block; // a thread block that is resident on an SM
typedef struct orr_step_warp orr_step_warp;

enum orr_step_kind { ORR_STEP_LOAD, ORR_STEP_STORE, ORR_STEP_ATOMIC };
enum { ORR_STEP_BYTES = 32 }; // of a lane, at most

typedef struct orr_step_access { // a warp's access of global memory, between issue and delivery
    uint8_t kind;                // enum orr_step_kind
    uint8_t bytes;               // of each lane
    bool shared;                 // of shared memory
    bool done;                   // shared memory: the access has been done
    uint32_t mask;               // lanes
    uint32_t refs, ops, first;   // the model's own: what of it is under way
    uint64_t addr[32];
    uintptr_t memory;                  // where address 0 would be
    uint8_t data[32 * ORR_STEP_BYTES]; // `bytes` a lane. Loads: what was read; stores: what is to be written
    struct orr_step_atomic *atomic;    // operands and results
    orr_step_warp *warp;
    const void *uop;              // micro-op that the executor goes on with
    const void *rest;             // the micro-ops behind it, up to the instruction's end
    struct orr_step_access *next; // of the free ones
} orr_step_access;

enum { // how it is executed
    ORR_STEP_AT_ISSUE = 1,
    ORR_STEP_SHARED =
        2, // accesses of shared memory are the model's to do in time, too, and not done at issue
};
// Whether a launch can be executed this way; else *why is the reason.
bool orr_step_can(const orr_launch *l, int how, const char **why);

// A launch on so many SMs. ns: nanoseconds of a cycle.
orr_step *orr_step_new(const orr_launch *l, uint32_t sms, double ns, int how, orr_err *e);
void orr_step_free(orr_step *l, orr_exec_counts *counts); // counts may be NULL
bool orr_step_failed(const orr_step *l, orr_err *e);      // a kernel's fault, of the first SM that has one
// Simulated time has come to cycle `now`: those that it runs beside have their turns (orr_launch.turn).
// False: it is to end.
bool orr_step_turn(const orr_step *l, uint64_t now, orr_err *e);
uint32_t orr_step_warps(const orr_step *l); // of a thread block

orr_source *orr_step_source(const orr_step *l); // its thread blocks, without streams

orr_step_block *orr_step_start(orr_step *l, uint32_t sm, uint64_t index);
void orr_step_end(orr_step_block *b);
orr_step_warp *orr_step_warp_of(orr_step_block *b, uint32_t n);
bool orr_step_faulted(const orr_step_block *b);
bool orr_step_released(orr_step_block *b); // a barrier has let warps go since this was asked last

// The next block of code, in the warp's trace. A trace may have events in front of it of instructions that
// the warp executes once more without any effect; the last event is the block that is to be issued.
enum { ORR_STEP_GOES, ORR_STEP_WAITS, ORR_STEP_ENDED };
int orr_step_next(orr_step_warp *w);
int orr_step_run(orr_step_warp *w, uint64_t now); // and all of it is executed
orr_trace_out *orr_step_trace(orr_step_warp *w);  // whoever reads it takes events out by setting n to 0
size_t orr_step_block_at(const orr_step_warp *w); // where in it the last block's event is

// Instruction `inst` of that block is issued in cycle `now`. An access of global memory, or NULL.
orr_step_access *orr_step_issue(orr_step_warp *w, uint32_t inst, uint64_t now);
uint64_t
orr_step_sleeps(orr_step_warp *w); // cycles that it has asked to sleep for, since this was asked last

// Some of its lanes are done: on memory, in which `memory` is where address 0 would be.
uintptr_t orr_step_memory(const orr_step *l);                               // global memory
void orr_step_read(orr_step_access *a, uint32_t lanes, uintptr_t memory);   // a load
void orr_step_atomic(orr_step_access *a, uint32_t lanes, uintptr_t memory); // one lane after the other
void orr_step_put(const orr_step_access *a);                                // a store of shared memory
void orr_step_deliver(orr_step_access *a); // into registers; the access is gone
void orr_step_drop(orr_step_access *a);    // it is gone

#endif
