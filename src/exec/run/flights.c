// Bulk copies under way to shared memory: copied at once here, on a GPU some time until their mbarrier's
// phase is over. Who reads the bytes before anybody of the block has seen that (a wait of any kind that
// succeeds) reads what happens to be there.
//
// A copy is kept as its bytes, its mbarrier, and which of the operations on that its arrival was. A phase
// that is over has had all operations until mbar_count.over, so a wait that succeeds lands those copies. It
// is not asked whether the warp that reads is the one that has waited or has met it since: what is said to
// race does.
#include "exec/block.h"

void orr_copy_begins(tblock *tb, const mbar_count *c, uint32_t from, uint32_t bytes) {
    uint32_t kept = 0, end = from + bytes;
    for (size_t n = 0; n < tb->flights.n; n++) { // one that is written over is nobody's concern
        flight f = tb->flights.at[n];
        if (f.from < from || f.end > end) tb->flights.at[kept++] = f;
    }
    tb->flights.n = kept;
    *ORR_PUSH(&tb->flights) = (flight){.from = from, .end = end, .mbar = c->at, .number = c->n};
}

void orr_copies_land(tblock *tb, const mbar_count *c) {
    uint32_t kept = 0;
    for (size_t n = 0; n < tb->flights.n; n++) {
        flight f = tb->flights.at[n];
        if (f.mbar != c->at || f.number > c->over) tb->flights.at[kept++] = f;
    }
    tb->flights.n = kept;
}

const flight *orr_copy_over(const tblock *tb, uint32_t from, uint32_t end) {
    for (size_t n = 0; n < tb->flights.n; n++)
        if (tb->flights.at[n].from < end && from < tb->flights.at[n].end) return &tb->flights.at[n];
    return NULL;
}
