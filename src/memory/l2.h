// Private to memory/: a partition of the memory system, L2 slices and what is behind them.
#ifndef ORR_MEMORY_L2_H
#define ORR_MEMORY_L2_H

#include "memory/cache.h"
#include "memory/dram.h"
#include "memory/memsys.h"

typedef struct orr_l2_config { // the same for all slices; times in ticks
    orr_serve *serve;          // tells the sender (memsys.h); NULL: nobody
    void *serve_arg;
    bool fetch;                // a store in part of a sector fetches it (l2.write)
    uint32_t misses;           // lines on their way, per slice
    uint32_t chunk_shift;      // lines of a chunk, log2
    uint32_t sector_shift;     // sectors that are fetched together, log2
    uint32_t load_shift;       // sectors that a load that misses in L1 asks for together, or more, log2
    uint64_t cycle;            // of L2
    uint64_t sector;           // a sector through a port
    uint64_t atomic;           // an atomic operation of a lane
    uint64_t before, behind;   // on the way to DRAM and back, besides what DRAM itself takes
    uint64_t lookup;           // a request at least
    uint64_t write_sector;     // a sector of a store
    uint64_t fill;             // a sector that comes from DRAM, in the turn of those that are stored; 0: none
    uint64_t fill_ahead;       // that the input may be ahead of it
    uint64_t write_part;       // one of which it does not write every byte
    uint64_t write_mask;       // the same with write_turn, and once more for the mask
    uint64_t write_new;        // more for a line that is not there (l2.store_new)
    uint64_t write_again;      // from a store to the next one to its line
    uint64_t write_turn;       // from a store of one half to the next one to its line of the other
    uint64_t write_far;        // and for the one that comes from the other half, at most
    uint32_t write_queue;      // stores behind each port that wait for that
    uint64_t part_fill;        // a sector that is completed, of a line whose sectors came one by one
    uint64_t part_again;       // one of a line of which a sector was stored to again in part
    uint32_t parts;            // lines of a slice with sectors that are there in part; 0: any number
    uint32_t completing;       // of them that are being completed at a time; 0: any number
    uint32_t whole;            // that have been completed and are not written back yet
    uint32_t dirty;            // lines of a slice that memory has otherwise; 0: any number
    uint64_t atomic_again;     // until the next sum of floating-point numbers on the same sector
    uint64_t atomic_switch;    // to another piece
    uint32_t atomic_queue;     // sectors of atomics that missed and are not done; 0: any number
    uint32_t atomic_units;     // of a slice, less one
    bool atomic_turns;         // clusters of SMs have their turns
    uint32_t clusters;         // of a GPC
    uint64_t atomic_ahead;     // that the input may be ahead of a unit
    uint64_t atomic_load;      // a load of the line that the last atomic was on
    uint64_t fence;            // a fence that asks
    uint64_t atomic_more;      // until an atomic's result leaves, besides the time it takes its turn
    bool copies;               // halves that keep copies of each other's lines (l2.copies)
    bool copy_told;            // and tell each other what becomes of them before a write is heard of
    bool store_waits;          // for loads of its line, and all behind it (l2.store_waits)
    uint64_t far;              // from one half to the other
    uint64_t far_sector;       // a sector on that way; 0: any number at once
    uint64_t far_ahead;        // that stores which wait for it may be ahead
    uint32_t merge;            // loads of a line, from one GPC, that are answered together
    uint64_t merge_time;       // that one may come after the answer of another left, and have it
    bool multicast;            // a packet goes to as many SMs as it has sectors, not to all
    uint32_t gpcs;             // which SMs they have (orr_gpc_sms)
} orr_l2_config;

#define ORR_L2_FAR (1ull << 62)           // in a tag: the line is the other half's
enum { ORR_L2_DROP = ORR_REQ_FENCE + 1 }; // to the other half: a copy is not valid any more

typedef struct orr_l2_waiter { // a request that waits for sectors, or an atomic that is being done
    uint32_t sm, token;
    uint32_t next; // of the same miss; of the free ones
    uint8_t sectors, kind, ops;
    uint8_t needs; // sectors that are not here yet
    uint8_t hit;
    uint8_t quarters;
    bool slow, told, more;
    bool late;   // an atomic: the other half has a copy to drop
    bool far;    // the other half waits, or an SM there
    bool joined; // has the answer of another load,
    bool again;  // but in a packet of its own
    uint32_t live;
    uint64_t line;
} orr_l2_waiter;

typedef struct orr_l2_miss { // a line on its way
    uint32_t line;           // in the slice's cache; ORR_NO_LINE: it is not kept
    uint32_t slice;
    uint32_t open;       // times it was asked for and has not come
    bool copy;           // of the other half's
    bool clean;          // it is written to DRAM when it has come
    uint32_t head, tail; // waiters, in order; of the free ones: next
} orr_l2_miss;

typedef struct orr_l2_event { // sectors have come, or an atomic is done
    uint64_t time;
    uint32_t seq;   // of those at one time
    uint32_t at;    // miss, or waiter
    uint16_t slice; // of the atomic
    uint8_t sectors;
    bool atomic;
    bool worked; // an atomic that had missed is done
    bool turn;   // it has waited for its turn (l2.fill)
    bool back;   // from the other half: of those at one time, after what happens here
    bool next;   // the next atomic of unit `at` has its turn (l2.atomic_turns)
} orr_l2_event;

typedef struct orr_l2_ahead { // a request on its way to the other half
    orr_request r;
    uint32_t slice;
} orr_l2_ahead;
typedef ORR_VEC(orr_l2_ahead) orr_l2_aheads;

typedef struct orr_l2_met { // a load that later ones of its GPC may be answered with
    uint64_t line, reply;   // UINT64_MAX: it is not answered yet
    uint64_t sent;          // the last packet of the answer
    uint32_t open;          // of the line's `open` (orr_l2_open): those that were closed meet nobody
    uint16_t gpc;
    uint8_t n; // so many so far, it among them; 0: there is none
    uint8_t sectors;
    uint8_t to_n;   // SMs that the last packet of the answer goes to (l2.multicast)
    uint16_t to[4]; // and which
} orr_l2_met;
#define ORR_L2_MET     64  // of a slice of quick.h
#define ORR_L2_MEETING 512 // of one here: more than are on their way

typedef struct orr_l2_open { // a line whose loads can meet, those of one set of sectors
    uint64_t line, until;    // UINT64_MAX: the last answer is outstanding
    uint32_t open;           // counts lines that were opened; 0: none
    uint8_t sectors;
} orr_l2_open;
#define ORR_L2_OPEN 512

enum { ORR_L2_SLOW = 8 }; // lines of sums that a unit has under way

typedef struct orr_l2_stored { // a line that was stored to, and when it can be again
    uint64_t line, until;
    bool far; // from the other half
} orr_l2_stored;
#define ORR_L2_STORED 16 // of a slice of quick.h
#define ORR_L2_TURNS  64 // of one here: more than there are in l2.store_turn
#define ORR_L2_WORKED 4  // micro/contention: four lines are as many as a slice's units work on at full speed

// Where requests wait at a slice. With l2.store_turn, stores of part of a sector that come from the other
// half have a port for themselves, and behind each of the two ports there is a queue of such stores that wait
// for their line. What is for lines of the other half, or a load of it, is taken in order with all else,
// except where that stands still because its queue is full.
enum {
    ORR_L2_ALL,
    ORR_L2_OTHER,
    ORR_L2_ALL_QUEUE,
    ORR_L2_OTHER_QUEUE,
    ORR_L2_ASIDE,
    ORR_L2_ASKED,
    ORR_L2_LANES
};
// Why a lane's first request is not taken; 0: as orr_l2_reset leaves it.
enum { ORR_L2_FREE, ORR_L2_BLOCKED_LINES, ORR_L2_BLOCKED_WRITES, ORR_L2_BLOCKED_LOADS };
typedef struct orr_l2_lane { // in order: a ring
    orr_request *at;
    uint32_t head, n, cap;
    uint8_t blocked; // the first of them: ORR_L2_BLOCKED_*
    uint32_t parts;  // of them that store part of a sector
    uint64_t free;   // the next one is taken then
    uint64_t masked; // and the next one that stores part of a sector
    uint64_t taken;  // when it last took one
    uint64_t pace;   // between two that waited, on average: how fast it gets shorter
} orr_l2_lane;

#define ORR_L2_CLUSTERS 64 // that are told apart

typedef struct orr_l2_slice {
    orr_cache cache; // tags: lines of this slice, counted densely
    orr_l2_lane in[ORR_L2_LANES];
    uint32_t lanes;      // bits of those in which somebody waits
    uint32_t now;        // which of them is taken from
    uint32_t came;       // requests so far
    uint64_t looked_up;  // of them, those that the profiler counts
    uint32_t misses;     // lines on their way
    uint32_t completing; // those among them that were there in part
    bool told;           // the last store is heard of when the other half has dropped its copy
    uint64_t out_free;
    uint64_t far_free;        // its way to the other half takes the next sector
    uint64_t fill_free;       // its data take the next sector that comes or is stored
    uint64_t atomic_free[2];  // of each of its units
    uint64_t atomic_busy[2];  // with what it is doing now; others may wait for their turn:
    uint64_t atomic_waits[2]; // bits of clusters of SMs of which there are such,
    uint32_t atomic_head[2][ORR_L2_CLUSTERS], atomic_tail[2][ORR_L2_CLUSTERS]; // in order,
    uint32_t atomic_last[2];  // and the cluster that had its turn last
    uint64_t atomic_piece[2]; // of the last atomic, + 1
    uint32_t reducing;        // sectors of atomics that missed and are not done
    uint64_t slow_line[2][ORR_L2_SLOW], slow_until[2][ORR_L2_SLOW]; // the last sums of floating-point numbers
    uint8_t slow_sectors[2][ORR_L2_SLOW];
    orr_l2_met met[ORR_L2_MEETING];
    orr_l2_open open[ORR_L2_OPEN];
    uint32_t opened; // lines so far
    orr_l2_stored stored[ORR_L2_TURNS];
    uint64_t worked[ORR_L2_WORKED]; // lines of the last atomics, + 1
    uint64_t busy_until;            // one of its ports, for the statistics
    uint64_t atomic_line;           // that the last atomic was on, + 1; 0: a load of it has come since
    bool made;                      // the last store was to a line that was not there
    uint64_t part_time;             // that completing one takes the input, not taken yet
    uint64_t *asked[2];             // bits of SMs that have asked for a line of this half, of the other
} orr_l2_slice;

typedef struct orr_l2 { // a partition
    const orr_l2_config *c;
    orr_l2_slice *slice;
    orr_dram *channel;
    uint32_t slices, channels; // each slice uses all of them
    ORR_VEC(orr_l2_waiter) waiters;
    ORR_VEC(orr_l2_miss) misses;
    uint32_t free_waiter, free_miss;
    ORR_VEC(orr_l2_event) events; // a heap, the next first
    uint32_t seq;
    uint64_t until; // of the last call
    uint64_t now;   // of what was done last
    bool stuck;     // a slice is BLOCKED_WRITES
    uint32_t words; // of a slice's `asked`
    // for the other half, in order of time; and what it has asked for, on its way back
    orr_l2_aheads ahead;
    ORR_VEC(orr_l2_event) back;
    orr_memsys_stats stats;
} orr_l2;

void orr_l2_configure(orr_l2_config *c, const orr_gpu *g, const orr_dram_config *d);
void orr_l2_init(orr_l2 *p, const orr_l2_config *c, const orr_gpu *g, const orr_dram_config *d,
                 uint32_t slices, uint32_t channels, uint32_t first_channel);
void orr_l2_free(orr_l2 *p);
// Pools, and the heap of events (l2_state.c).
uint32_t orr_l2_new_waiter(orr_l2 *p);
void orr_l2_free_waiter(orr_l2 *p, uint32_t w);
uint32_t orr_l2_new_miss(orr_l2 *p);
void orr_l2_add_event(orr_l2 *p, orr_l2_event e);
orr_l2_event orr_l2_take_event(orr_l2 *p); // the next

void orr_l2_reset(orr_l2 *p); // time 0, statistics 0; what was on its way has come
void orr_l2_add(orr_l2 *p, uint32_t slice, const orr_request *r, uint64_t tag); // in order of time
void orr_l2_come_back(orr_l2 *p, const orr_l2_event *e); // one of the other half's `back`
uint64_t orr_l2_next(const orr_l2 *p);                   // UINT64_MAX: nothing is to be done
void orr_l2_run(orr_l2 *p, uint64_t until, orr_replies *out);
void orr_l2_warm(orr_l2 *p, uint32_t slice, uint64_t tag, uint8_t sectors,
                 bool write); // the same, perhaps dirty
void orr_l2_warm_copy(orr_l2 *p, orr_l2 *other, uint32_t slice, uint64_t tag, uint8_t sectors, bool write,
                      bool far);
void orr_l2_fill(orr_l2 *p, uint32_t slice, uint64_t tag, uint8_t sectors); // there now, without time

// Among l2.c, l2_lines.c, l2_meet.c and l2_state.c:
void orr_l2_add_to(orr_l2_slice *s, uint32_t lane, const orr_request *r);
void orr_l2_take_from(orr_l2_slice *s, uint32_t lane);
void orr_l2_may_meet(orr_l2 *p, orr_l2_slice *s, const orr_request *r); // L2 looks this load up
uint64_t orr_l2_answered(orr_l2 *p, orr_l2_slice *s, const orr_l2_waiter *w, uint64_t t);
uint64_t orr_l2_held(const orr_l2 *p, orr_l2_slice *s, const orr_request *r, uint64_t t);
bool orr_l2_join(orr_l2 *p, uint32_t slice, const orr_request *r, uint64_t t, orr_replies *out);
uint64_t orr_l2_leave(orr_l2 *p, orr_l2_slice *s, uint64_t t, uint8_t sectors);
void orr_l2_wait_for(orr_l2 *p, orr_l2_miss *miss, const orr_l2_waiter *w);
void orr_l2_drop(orr_l2 *p, uint32_t slice, uint64_t tag); // a copy of the other half's line

// A slice's lines (l2_lines.c). Those that say false, or ORR_NO_LINE, have blocked the slice.
uint8_t orr_l2_whole_sectors(const orr_request *r);
uint32_t orr_l2_make_room(orr_l2 *p, uint32_t slice, uint64_t tag, uint64_t t);
uint32_t orr_l2_fetch(orr_l2 *p, uint32_t slice, uint32_t i, uint64_t tag, uint8_t want, bool behind,
                      uint64_t t);
bool orr_l2_blocked_by_misses(const orr_l2 *p, orr_l2_slice *s, uint32_t i);
bool orr_l2_room_for_dirty(orr_l2 *p, uint32_t slice, uint64_t tag, uint32_t at, uint64_t t);
void orr_l2_clean(orr_l2 *p, uint32_t slice, orr_cache_line *l, uint8_t sectors, uint64_t t);
bool orr_l2_store(orr_l2 *p, uint32_t slice, const orr_request *r, uint64_t t);
void orr_l2_pass_on(orr_l2 *p, uint32_t slice, const orr_request *r, uint64_t t);
bool orr_l2_drop_copy(orr_l2 *p, uint32_t slice, orr_cache_line *l, bool far, uint64_t t);
void orr_l2_forget_copy(orr_l2 *p, uint32_t slice, uint64_t tag);
void orr_l2_leave_copy(orr_l2 *p, uint32_t slice, const orr_request *r, uint64_t t);
// Whether the last packet of an answer takes one more receiver; if not, there is another packet.
static inline bool orr_l2_same_packet(const orr_l2_config *c, orr_l2_met *e, uint32_t sm) {
    if (!c->multicast) return true;
    bool room = e->to_n < orr_popc(e->sectors);
    for (int i = 0; room && i < e->to_n; i++) room = e->to[i] != sm;
    if (!room) e->to_n = 0;
    e->to[e->to_n++] = (uint16_t)sm;
    return room;
}
static inline void orr_l2_serve(const orr_l2 *p, uint32_t sm, uint32_t live) {
    if (live && p->c->serve) p->c->serve(p->c->serve_arg, sm, live);
}
static inline uint8_t orr_l2_widened(uint8_t sectors, uint32_t shift) { // sectors that go together
    if (shift == 0) return sectors;
    if (shift == 2) return sectors ? 15 : 0;
    return (uint8_t)((sectors & 3 ? 3 : 0) | (sectors & 12 ? 12 : 0));
}

#endif
