// Private to isa/: the steps of orr_kernel_finish.
#ifndef ORR_CFG_H
#define ORR_CFG_H

#include "isa/isa.h"

bool orr_cfg_build(orr_kernel *k, orr_err *e); // cfg.c: blocks and successors
void orr_cfg_postdom(orr_kernel *k);           // cfg.c
void orr_reductions(orr_kernel *k);            // liveness.c: atomics whose results nobody reads
void orr_effects(orr_kernel *k);               // effects.c: must run before registers are shared
void orr_liveness(orr_kernel *k);              // liveness.c: fewer registers, and `regs`

#endif
