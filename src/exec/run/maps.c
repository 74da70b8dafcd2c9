// Tensor maps in global memory that a thread block has copied by.
//
// An SM keeps the maps that it has used. Who changes one must have fence.proxy.tensormap make that known
// (acquire; UTMACCTL.IV) before it is used again; without, copies go by what the SM still has, or not. So
// each map's bytes are remembered as a digest until the block's next such fence. Of more than MOST of them,
// the oldest is forgotten.
#include <string.h>

#include "exec/block.h"
#include "exec/tensormap.h"

enum { MOST = 16 };

bool orr_map_known(tblock *tb, uint64_t addr, const uint8_t *map) {
    uint64_t digest = orr_hash64(map, ORR_MAP_USED, 0);
    for (size_t n = 0; n < tb->maps.n; n++)
        if (tb->maps.at[n].addr == addr) return tb->maps.at[n].digest == digest;
    if (tb->maps.n < MOST) ORR_PUSH(&tb->maps);
    memmove(tb->maps.at + 1, tb->maps.at, (tb->maps.n - 1) * sizeof *tb->maps.at);
    tb->maps.at[0] = (used_map){.addr = addr, .digest = digest};
    return true;
}

void orr_maps_fence(warp *w, const uop *u) {
    (void)u;
    w->tb->maps.n = 0;
}
