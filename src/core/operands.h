// Reading operands: the register file of a sub-core, its operand caches or collectors, and the bus on which
// results go back to it.
//
// There are two kinds of cores. With collectors (before Volta) an instruction sits in a collector while its
// operands are read from the banks, one after the other. Without (since Volta) a bank is a queue that serves
// `ports` reads a cycle, and an instruction has a window of some cycles in which its operands must have been
// read; one that does not fit in waits, and its scheduler with it.
//
// Invariants: a bank serves an access once; an operand cache entry holds one register of one
// warp; in a cycle at most one result of a fixed latency goes to the registers.
//
// The component knows an instruction's operands (orr_tinst, orr_program.reads) and nothing of warps but a
// number.
#ifndef ORR_CORE_OPERANDS_H
#define ORR_CORE_OPERANDS_H

#include <string.h>

#include "core/core.h"
#include "program/program.h"

typedef struct operands_spec {
    uint32_t collectors;       // of a sub-core; 0: it has none
    uint32_t banks, bank_mask; // of a sub-core with collectors; the mask is 0 where banks are no power of two
    uint32_t read_banks;       // of a sub-core without collectors, ORR_READ_BANKS at most
    uint32_t ports;            // accesses that a bank serves at a time (regs.ports)
    uint32_t interval;         // cycles from one time to the next, with collectors (regs.interval)
    uint64_t collect;          // cycles from issue to the unit through a collector (core.collect)
    uint32_t late;             // cycles until a result can be read a cycle late (regs.late); 0: at once
    uint32_t late_result;      // the same of results that take as long as an FFMA's (op.fp32.result)
} operands_spec;

// A bank of a core with collectors, whose reads and writes share its ports: a bit for each access from `from`
// on that is taken. Results are written long after what is read now, so a bank's accesses are not in order.
typedef struct register_bank {
    uint64_t from, taken;
} register_bank;

typedef struct operands { // of one sub-core
    const operands_spec *spec;
    register_bank *bank;                              // [banks]
    uint64_t *collector_free;                         // [collectors] in cycles
    uint64_t read_free[ORR_READ_BANKS];               // without collectors, in reads
    uint32_t cached[ORR_READ_PLACES][ORR_READ_BANKS]; // register and warp that the operand cache has, + 1
    uint64_t results, results_from; // a bit for each cycle from results_from on in which a result is written
    uint64_t conflict_cycles;       // counter: cycles that instructions have waited
} operands;

// Results of a warp's last instructions, which may not be in the register file yet.
#define RECENT_RESULTS 8
typedef struct recent_results {
    uint16_t reg[RECENT_RESULTS];     // + 1; 0: none
    uint32_t written[RECENT_RESULTS]; // cycle of issue, low bits
    uint8_t next;
} recent_results;

typedef struct operand_reader { // who reads
    uint32_t warp;              // its number on the SM
    uint32_t shift;             // by which its registers are spread over a collector core's banks
    recent_results *recent;
} operand_reader;

void operands_spec_read(operands_spec *s, const orr_gpu *g);
void operands_init(operands *o, const operands_spec *s);
void operands_free(operands *o);
void operands_reset(operands *o);

// On a core with collectors the instruction takes one. Returns the cycles from issue to its unit; *lost is
// set to those of them that bank conflicts cost. operands_collector_free says when the next one can be taken.
uint64_t operands_collect(operands *o, const orr_program *p, const orr_tinst *i, const operand_reader *r,
                          uint64_t now, uint64_t *lost);
uint64_t operands_collector_free(const operands *o);
// On such a core the instruction's result comes at `ready` and takes its banks; returns when it is written.
uint64_t operands_write(operands *o, const orr_program *p, const orr_tinst *i, const operand_reader *r,
                        uint64_t now, uint64_t ready);

// On a core without, returns the cycles that the instruction and its scheduler wait for its operands and for
// the result bus.
uint64_t operands_read(operands *o, const orr_program *p, const orr_tinst *i, const operand_reader *r,
                       uint64_t now);
#endif
