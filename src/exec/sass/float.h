// Private to exec/: what the translations of floating point machine code share.
#ifndef ORR_SASS_FLOAT_H
#define ORR_SASS_FLOAT_H

#include "exec/sass/translate.h"

bool orr_sass_half(translator *m);    // half.c
bool orr_sass_convert(translator *m); // convert.c

uint8_t m_round(const translator *m);    // the RND modifier as ORR_RND_*
int m_fixed(const translator *m, int n); // predicate n is 1 always true, 0 always false, -1 a register
int m_compare(unsigned fcmp);            // FCMP as ORR_CMP_*; -1: never, -2: always
uint8_t m_bool(const translator *m);     // the BOOL modifier as ORR_BOOL_*
// d = min or max of the sources, as predicate argument `pred` says
bool m_minmax(translator *m, orr_inst like, int nsrc, int pred, const oper *sources);
// p, q of a comparison whose result is known
void m_set_known(translator *m, bool result, uint8_t boolop, oper p, oper q, oper ps);

#endif
