// Private to exec/: what the translators of memory instructions share (memory.c, atomic.c).
#ifndef ORR_SASS_MEMORY_H
#define ORR_SASS_MEMORY_H

#include "exec/sass/translate.h"

oper m_pair(translator *m, oper lo, oper hi); // a row of bank D: hi:lo

// Appends a memory micro-op with a handler of our own; the handler's u->inst is `like`.
uop *m_access(translator *m, handlers h, orr_inst like, int ndst, int nsrc, const oper *opers);

// The address that argument n names, without its immediate offset, which is *disp. 64-bit addresses are a row
// of bank D, those of shared and local memory one of bank W: the register itself when there is nothing to
// add.
oper m_address64(translator *m, int n, int32_t *disp);
oper m_address32(translator *m, int n, int32_t *disp);
// Of a generic or global access: 64 bits with .E, else 32.
oper m_address(translator *m, int n, int32_t *disp);

bool m_has(const translator *m, enum orr_smod kind); // the instruction has this modifier, shown or not
bool m_no(translator *m, const char *why);           // false, and the reason

bool orr_sass_atomic(translator *m); // atomic.c: ATOM and its like, SYNCS, ARRIVES
bool orr_sass_matrix(translator *m); // matrix.c: HMMA and its like, LDSM, STSM, MOVM
bool orr_sass_sreg(translator *m);   // system.c: S2R and its like

#endif
