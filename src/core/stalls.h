// Why a resident warp does not issue: every cycle of it has one reason (stalls.def).
#ifndef ORR_CORE_STALLS_H
#define ORR_CORE_STALLS_H

enum orr_stall {
#define STALL(id, name, metric, meaning) ORR_STALL_##id,
#include "core/stalls.def"
#undef STALL
    ORR_STALLS
};

#endif
