// What an instrumented kernel writes while a real GPU runs it, and whoever reads it back: the one place that
// says how the bytes lie. ptx/instrument.c makes the code that writes them, exec/run/replay.c reads them.
//
// All warps write into one log, one event behind the other. Lanes of a warp that are together when they get
// somewhere write one event. Events of one lane are in the order in which it made them; which lanes were
// together is the machine's business, and is not relied on.
//
//   first word   bits 0-29 number, bits 30-31 kind, bits 32-63 lanes
//   second word  the warp, counted through the thread blocks of the launch
//   block        number of the basic block that these lanes enter
//   access       number of the instruction; how its addresses follow:
//     regular    two words: the first lane's address, and what is added from each lane to the next
//     near       a word with the upper half of all addresses, then the lower half of each, two in a word
//     far        a word for each lane
// An event ends at a multiple of 16 bytes.
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
#define ORR_EVENT_HEAD         2 // words before the addresses
// Words of an event, its head included.
static inline size_t orr_event_words(uint64_t head) {
    size_t n = (size_t)orr_popc(ORR_EVENT_LANES(head));
    switch (ORR_EVENT_KIND(head)) {
    case ORR_EVENT_REGULAR: return ORR_EVENT_HEAD + 2;
    case ORR_EVENT_NEAR: return ORR_EVENT_HEAD + ((1 + (n + 1) / 2 + 1) & ~(size_t)1);
    case ORR_EVENT_FAR: return ORR_EVENT_HEAD + ((n + 1) & ~(size_t)1);
    default: return ORR_EVENT_HEAD;
    }
}

const orr_operand *orr_traced_address(const orr_kernel *k, const orr_inst *i); // of what orr_inst_traced
uint8_t orr_traced_space(const orr_inst *i);                                   // that address is of
bool orr_members_told(const orr_kernel *k, const orr_inst *i); // value: the lanes it waits for
bool orr_barrier_told(const orr_kernel *k, const orr_inst *i); // value: its number | threads << 32

// An address in local memory is an offset in the kernel's own frame or, with this added, in the frame of the
// function that the instruction is in.
#define ORR_EVENT_OWN_FRAME (1ull << 40)

// What the host tells the code, as 64-bit words of the variable orr_control.
enum {
    ORR_CONTROL_FIRST,  // thread block of the grid that block 0 of this launch stands for
    ORR_CONTROL_GRID_X, // of the whole grid
    ORR_CONTROL_GRID_Y,
    ORR_CONTROL_GRID_Z,
    ORR_CONTROL_DYNAMIC, // bytes of dynamic shared memory that the kernel was launched with
    ORR_CONTROL_LOG,     // address of the log
    ORR_CONTROL_BYTES,   // how large it is
    ORR_CONTROL_USED,    // address of the number of bytes taken (8); more than there are: some are missing
    ORR_CONTROL_NOWHERE, // address of ORR_NOWHERE_BYTES that nobody reads: lanes that have nothing to say
                         // write there
    ORR_CONTROL_COUNTS,  // address of the counts of blocks of code (below)
    ORR_CONTROL_BLOCKS,  // address of the counts of thread blocks
    ORR_CONTROL_TABLE,   // address of ORR_TALLY_ROW words of 32 bits for each block of code (below)
    ORR_CONTROL_CELLS,   // address of the warps' clocks
    ORR_CONTROL_WORDS
};

#define ORR_NOWHERE_SMS   256
#define ORR_NOWHERE_BYTES (ORR_NOWHERE_SMS * 32 * 32) // 32 for each lane of a warp on each SM

// When only counts are wanted: for each block of code how often a warp entered it and with how many lanes in
// all, ORR_COUNT_COPIES times (by SM, so that not all add to one place); for each thread block of the launch
// its warp and thread instructions, and the lines of 128 bytes of global and local memory that its warps
// asked for. A warp whose lanes the machine had apart counts more than once.
#define ORR_COUNT_COPIES 64
enum { ORR_COUNT_RUNS, ORR_COUNT_LANES, ORR_COUNT_WORDS }; // 64-bit, of a block of code
enum {
    ORR_COUNT_TB_INSTS,
    ORR_COUNT_TB_THREADS,
    ORR_COUNT_TB_REQUESTS,
    ORR_COUNT_TB_WORDS
}; // of a thread block

// Counting with clocks (orr_tally of exec/exec.h): the same by the block that the warp was in before. Of each
// block of code the table has the blocks it is entered from, each + 1, and what is added to the warp's clock
// then; for each the runs are counted, the last for all others. A warp has a cell: its clock, what was added,
// the block it was in + 1. The words of a thread block are two: where warps leave their clocks before a
// barrier and find the latest behind it, in turns.
enum { ORR_TALLY_ROW = 8, ORR_TALLY_WAYS = 4 }; // from[3], weight[4], nothing
enum { ORR_TALLY_COUNTS = ORR_TALLY_WAYS + 1 }; // 64-bit: runs[4], lanes
enum { ORR_TALLY_TB_WORDS = 2 };
enum { ORR_CELL_CLOCK, ORR_CELL_WORK, ORR_CELL_FROM, ORR_CELL_WORDS = 4 }; // 64-bit

#endif
