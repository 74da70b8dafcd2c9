// Private to exec/: products of a group of warps.
#ifndef ORR_WGMMA_H
#define ORR_WGMMA_H

#include "exec/warp.h"

// In a product's disp, beside ORR_WG_NEGATE_*: of machine code, a group of products ends with it (gsb0).
enum { ORR_WG_ENDS = 4 };

handlers orr_pick_wgmma(const orr_kernel *k, const orr_inst *i, const char **why);
bool orr_wgmma_holds(const warp *w); // wgmma.wait_group: others of the group have executed fewer products

#endif
