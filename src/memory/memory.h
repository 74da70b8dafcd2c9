// The coalescer and shared memory's banks: from the addresses of a warp's lanes to lines, sectors and passes.
//
// Every model asks here what an access touches; what that costs is cost.h, where it lies is space.h and
// interleave.h. A line has 128 bytes and four sectors; sectors are what is transferred, lines are what tags
// are for. Nothing here keeps state.
#ifndef ORR_MEMORY_H
#define ORR_MEMORY_H

#include "program/program.h"
#include "stream/stream.h"

#define ORR_SECTOR         32  // bytes: the unit of transfer
#define ORR_LINE           128 // bytes: the unit of tags; four sectors
#define ORR_LANE_BYTES_MAX 32  // the widest access of a lane (v4.b64, v8.b32): it touches at most two lines
#define ORR_LINES_MAX      288 // lines one warp instruction can touch: local memory, 32 lanes of 9 words

typedef struct orr_line_access {
    uint64_t line;   // address / ORR_LINE
    uint8_t sectors; // bit s: sector s of the line is touched
} orr_line_access;

typedef struct orr_touched { // what a warp instruction that is executed and not simulated does to a line
    uint64_t line;
    uint64_t bytes[2]; // that a store writes; an atomic has the whole sectors
    uint8_t sectors;
    bool write;
} orr_touched;

typedef struct orr_coalesced {
    uint32_t requests; // groups of lanes with at least one taking part: 0 or 1 for a whole warp
    uint32_t lines;    // distinct lines in each group, summed: what the tags are asked for
    uint32_t sectors;  // distinct sectors in each group, summed: what L1 counts
    // Of copies past L1: lines from `again` on are fetched a second time, for the second halves of sectors.
    // L1 counts one sector for each, and for those from `more` on none.
    uint32_t again, more;
    orr_line_access line[ORR_LINES_MAX]; // by group, and in a group by first touch
} orr_coalesced;

// Which lanes are merged together: the whole warp (what the profiler's sector counts show), or each
// eight consecutive threads on their own (Accel-Sim, section II-B and table V).
enum orr_coalescing { ORR_WHOLE_WARP = 32, ORR_SUB_WARPS = 8 };

// `bytes` per lane, 1 to ORR_LANE_BYTES_MAX (larger counts as that). Addresses wrap at 2^64 as the hardware's
// would.
void orr_coalesce(const orr_access *a, uint32_t bytes, enum orr_coalescing how, orr_coalesced *out);

// Copies of 16 bytes to shared memory past L1 (cp.async.cg). Bit 3 is set in their addresses, and the bits
// below say where in 128 bytes of shared memory a lane's land, in units of 16. A request brings whole sectors
// to the same 128 bytes; where the two halves of a sector land in different 32 bytes each sector is fetched
// twice. (H200: rows of 32, 64 and 128 bytes to rows 48, 80 and 144 apart: 1.5 times the sectors from L2
// and 1.5, 1.25, 1.125 times in L1; 1.5, 1.9 and 2.5 requests a row.)
void orr_coalesce_copy(const orr_access *a, orr_coalesced *out);

// Reads of textures (texture.c): the lines of a footprint, and what it takes of the texture unit.
typedef struct orr_texture_cost {
    uint32_t cycles, requests, sectors; // of the unit; groups of lanes; sectors of each group, summed
} orr_texture_cost;
void orr_coalesce_texture(const orr_access *a, orr_coalesced *out);
orr_texture_cost orr_texture_takes(const orr_access *a);

// The bytes of a line that an access touches.
void orr_access_bytes(const orr_access *a, uint32_t bytes, uint64_t line, uint64_t touched[2]);

// Local memory is laid out so that word w of a thread's local memory lies beside word w of the other
// threads of its warp: rows of 32 words. An access whose addresses are offsets in each thread's local
// memory, seen as the sectors and lines of those rows (numbered from 0; the caller adds the base).
void orr_coalesce_local(const orr_access *a, uint32_t bytes, orr_coalesced *out);
// The bytes of its line that an access of local memory touches, with lines numbered as orr_coalesce_local
// does.
void orr_local_bytes(const orr_access *a, uint32_t bytes, uint32_t line, uint64_t written[2]);

// The access of an instruction to any memory but shared, by its kind. `how`: of plain loads and stores; an
// atomic is always a whole warp's.
void orr_coalesce_inst(const orr_tinst *i, const orr_access *a, bool local, enum orr_coalescing how,
                       orr_coalesced *out);

typedef struct orr_traffic { // accesses to global memory
    uint64_t requests;       // of warps, with at least one lane
    uint64_t sectors;        // that they touch
    uint64_t ideal;          // that they would touch, were their lanes' words side by side
} orr_traffic;

// Sectors that could hold what the lanes asked for if they asked for `lanes` different elements,
// packed and aligned.
static inline uint32_t orr_ideal_sectors(uint32_t lanes, uint32_t bytes) {
    return (lanes * bytes + ORR_SECTOR - 1) / ORR_SECTOR;
}

// Shared memory: 32 banks of 4 bytes. Lanes of up to 4 bytes are served together, of 8 bytes a half
// warp at a time, of 16 a quarter, of 32 an eighth. In such a phase a bank delivers one word a pass;
// lanes that want the same word share it. Atomics do not: each lane needs its own pass. A wide load whose
// lanes come in pairs with one address needs half the phases. All of it as measured on an H200
// (hardware/h200/banks.csv).
enum { ORR_BANKS_LOAD, ORR_BANKS_ATOMIC, ORR_BANKS_STORE };
typedef struct orr_banked {
    uint32_t phases;    // with at least one lane taking part: the passes without any conflict
    uint32_t passes;    // passes needed
    uint32_t conflicts; // passes - phases
} orr_banked;
orr_banked orr_bank_conflicts(const orr_access *a, uint32_t bytes, int kind);

#endif
