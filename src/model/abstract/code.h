// A kernel as the abstract model simulates it (code.c): not instructions but segments, instructions of one
// code block that a warp issues one after the other without waiting for anything that is not known beforehand
// (memory, other warps). A segment has been scheduled once, alone: how long it takes, and what it takes of
// its scheduler and of the units that can be in the way.
#ifndef ORR_ABSTRACT_CODE_H
#define ORR_ABSTRACT_CODE_H

#include "program/program.h"

struct machine;
struct orr_latencies;

typedef struct aseg {
    uint32_t len;            // cycles until the next segment can begin
    uint32_t tail;           // of them after the issue of its last instruction
    uint32_t burst, nbursts; // in code->bursts: what it takes of its scheduler
    uint32_t mem, wait;      // in code->mems, code->waits
    uint32_t line;           // of code, + 1, and how many
    uint32_t head, inst;     // the first instruction, the last
    uint16_t nmem, nwait, nlines;
    uint32_t slots;        // of all bursts: of the scheduler,
    uint16_t unit, busy;   // and of the unit that is needed longest; 0: none
    uint8_t before, after; // orr_tkind of a special instruction at its beginning, its end; else 0
    uint16_t gate;         // of a fence, + 1: the access that is under the same predicate; 0: there is none
} aseg;
// What a segment may end with besides an orr_tkind: setmaxnreg; tensor maps asked for ahead;
// CCTL that drops all that L1 has.
enum { AFTER_REGISTERS = 200, AFTER_MAPS, AFTER_INVALIDATE };

typedef struct aburst { // instructions issued one after the other without a gap
    uint16_t at;        // cycles after the segment's beginning
    uint16_t slots;     // of the scheduler
    uint16_t banks;     // and so many more, in which it waits for register banks
    uint16_t unit;      // that it needs more of than its scheduler gives it,
    uint16_t busy;      // and for how many cycles; 0: none
} aburst;

typedef struct amem { // a memory instruction of a segment
    uint32_t inst, memo;
    uint16_t at;      // cycles after the segment's beginning
    uint16_t slack;   // cycles that its result may be late without anybody noticing
    uint16_t latency; // as scheduled, when it is not `late`
    uint16_t access;
    uint16_t set[4]; // places that wait for it
    uint8_t nset, kind;
    bool strong; // other threads may be polling: its store is not merged with others
    bool late;   // only memory knows when it is done
    bool quiet;  // nothing but its cost matters
    bool loads, async;
    bool runs; // lanes in a row are nothing special: no atomic, no copy, nobody waits for it
    uint8_t bytes;
} amem;

typedef struct aplace { // a place, and cycles from a block's beginning or end
    uint32_t place, cycles;
} aplace;

typedef struct acblock { // a code block
    uint32_t dry, ndry;  // segments when nothing is under way; 0: it loads something
    uint32_t wet, nwet;  // and when something may be: begins a segment wherever somebody could wait
    uint32_t use, nuse, late, nlate; // in code->places: what it needs, what is not yet there when it ends
    uint32_t count, first, end;      // instructions; `end` is one behind the last
    bool jumps;                      // its branch costs more when taken
} acblock;

// Warps that run the same code tend to have the same pattern of addresses: what was worked out for the last
// one holds when the trace's bytes are the same but for the upper bits of the address.
#define MEMO_BYTES 80
#define MEMO_LINES 32
typedef struct amemo {
    uint32_t mask; // of the block
    uint8_t n;     // bytes of the trace; 0: nothing is kept
    uint8_t base;  // where in them the address is
    uint8_t low;   // its last 7 bits
    uint8_t space;
    uint16_t nlines, sectors, cost, lag, each, passes;
    uint8_t bytes[MEMO_BYTES];
    struct {
        int32_t line; // from that of the address
        uint8_t sectors, whole;
        uint8_t lanes;
    } at[MEMO_LINES];
} amemo;
// The same for lanes in a row (access.c, is_run), of which only the last one is kept.
typedef struct arow {
    uint32_t mask;
    uint8_t head, stride, low; // low: of the address, the last 7 bits
    uint8_t space, nlines;     // nlines 0: nothing is kept
    uint8_t first, last;       // sectors of the first and of the last line; all of those between
    uint8_t whole_first, whole_last, whole;
    uint16_t cost, lag, each, sectors;
} arow;
#define MEMOS 8
typedef struct amemos { // the last patterns of an instruction
    uint32_t next;
    // Where only the cost matters (shared memory, perfect memory): that of the last one, how many were like
    // it one after the other, and how many more are taken to be without looking.
    uint16_t cost, lag, each, sectors, lines;
    uint8_t space, alike, skip;
    arow row;
    amemo memo[MEMOS];
} amemos;

// What the traces of warps that do the same have in common: all bytes but those of addresses (warp_batch.c).
#define FORMS 16
typedef struct aform {
    uint32_t n, cap; // bytes; 0: none
    uint8_t *bytes, *mask;
    bool wide;  // goes to many lines of memory
    bool loose; // the distances of lanes may differ, too
    bool found; // again
} aform;

typedef struct acode {
    aform form[FORMS];
    uint32_t next_form;
    int gain; // of looking for them
    orr_program *program;
    amemos *memo;
    uint32_t *memo_of; // [ninsts] + 1
    uint32_t nmemo;
    ORR_VEC(aseg) segs;
    ORR_VEC(amem) mems;
    ORR_VEC(aburst) bursts;
    ORR_VEC(uint16_t) waits;
    ORR_VEC(aplace) places;
    acblock *blocks;
    uint32_t nblocks, ninsts; // taken over so far
    uint32_t *latency;        // [ninsts], pre-characterised
    uint32_t nplaces;         // registers, or the barriers of the control bits
    uint16_t unit[4];         // that bursts need, the first few
    uint32_t nunits;
    bool in_order;     // accesses come in the order in which the trace has them
    bool leaves_out;   // streams have accesses that are not looked at: of mbarriers, of uniform loads
    bool asynchronous; // it has mbarriers, bulk copies, products of groups of warps, clusters
    bool hands_on;     // warps arrive at barriers whose number is in a register, and do not wait there
    bool characterised;
    bool ordered; // warps write what others poll
} acode;

acode *abt_code_new(orr_program *p);
void abt_code_free(acode *c);
// Takes over what the program has more than before; latencies from the pre-characterisation.
bool abt_code_grow(acode *c, struct machine *m, orr_err *e);
// Latencies from a file, when it has them, and into one.
bool abt_code_from(acode *c, const struct machine *m, const struct orr_latencies *l);
bool abt_code_into(const acode *c, const struct machine *m, struct orr_latencies *l);

#endif
