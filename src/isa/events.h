// What an instrumented kernel writes while a real GPU runs it, and whoever reads it back: the one place that
// says how the bytes lie. ptx/instrument.c makes the code that writes them, exec/replay.c reads them.
//
// Memory for it is cut into chunks. A warp takes one when it has none or its own is full; a chunk begins with
// the warp's place as it was before (so chunks of a warp are a chain, from the last one backwards), then come
// events. Lanes of a warp that are together when they get somewhere write one event. Events of one lane are
// in the order in which it made them; which lanes were together is the machine's business, and is not relied
// on.
//
//   first word   bits 0-29 number, bits 30-31 kind, bits 32-63 lanes
//   block        number of the basic block that these lanes enter
//   access       number of the instruction; how its addresses follow:
//     regular    two words: the first lane's address, and what is added from each lane to the next
//     near       a word with the upper half of all addresses, then the lower half of each, two in a word
//     far        a word for each lane
// Where a block begins with an operation that waits for lanes which a register names, or ends in a barrier
// whose guard or operands are in registers, an "access" right there has those values for addresses. A lane
// that is there but whose guard is false is not in the event; an access by no lane writes nothing.
#ifndef ORR_EVENTS_H
#define ORR_EVENTS_H

#include "isa/isa.h"

enum { ORR_EVENT_BLOCK, ORR_EVENT_REGULAR, ORR_EVENT_NEAR, ORR_EVENT_FAR };
#define ORR_EVENT_NUMBERS      (1u << 30)
#define ORR_EVENT_KIND(word)   ((uint32_t)(word) >> 30)
#define ORR_EVENT_NUMBER(word) ((uint32_t)(word) & (ORR_EVENT_NUMBERS - 1))
#define ORR_EVENT_LANES(word)  ((uint32_t)((word) >> 32))

const orr_operand *orr_traced_address(const orr_kernel *k, const orr_inst *i); // of what orr_inst_traced
uint8_t orr_traced_space(const orr_inst *i);                                   // that address is of
bool orr_members_told(const orr_kernel *k, const orr_inst *i); // value: the lanes it waits for
bool orr_barrier_told(const orr_kernel *k, const orr_inst *i); // value: its number | threads << 32

// An address in local memory is an offset in the kernel's own frame or, with this added, in the frame of the
// function that the instruction is in.
#define ORR_EVENT_OWN_FRAME (1ull << 40)

// A warp's place: bits 0-31 bytes used of its chunk, bits 32-63 the chunk, counted from 1; 0: it has none.
#define ORR_CHUNK_BYTES 1024
#define ORR_CHUNK_HEAD  8 // bytes: the place before this chunk

// What the host tells the code, as 64-bit words of the variable orr_control.
enum {
    ORR_CONTROL_FIRST,  // thread block of the grid that block 0 of this launch stands for
    ORR_CONTROL_GRID_X, // of the whole grid
    ORR_CONTROL_GRID_Y,
    ORR_CONTROL_GRID_Z,
    ORR_CONTROL_DYNAMIC, // bytes of dynamic shared memory that the kernel was launched with
    ORR_CONTROL_PLACES,  // address of the warps' places, 8 bytes each
    ORR_CONTROL_CHUNKS,  // address of the chunks
    ORR_CONTROL_NCHUNKS, // how many there are
    ORR_CONTROL_TAKEN, // address of the number of chunks taken (4 bytes); more than there are: it was too few
    ORR_CONTROL_COUNTS, // address of the counts of blocks of code (below)
    ORR_CONTROL_BLOCKS, // address of the counts of thread blocks
    ORR_CONTROL_WORDS
};

// When only counts are wanted: for each block of code how often a warp entered it and with how many lanes in
// all, ORR_COUNT_COPIES times (by SM, so that not all add to one place); for each thread block of the launch
// the warp instructions it executed and its memory requests.
#define ORR_COUNT_COPIES 64
enum { ORR_COUNT_RUNS, ORR_COUNT_LANES, ORR_COUNT_WORDS };              // 64-bit, of a block of code
enum { ORR_COUNT_TB_INSTS, ORR_COUNT_TB_REQUESTS, ORR_COUNT_TB_WORDS }; // 64-bit, of a thread block

#endif
