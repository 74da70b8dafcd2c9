// Private to ptx/: the PTX that is inserted into kernels (inserts.c). Registers that begin with %orr_ are
// declared at the top of the function; all others belong to the piece.
#ifndef ORR_PTX_INSERTS_H
#define ORR_PTX_INSERTS_H

#include "base/base.h"

extern const char ptx_ins_variables[]; // of the module
// at the top of a function
extern const char ptx_ins_opening[], ptx_ins_which[], ptx_ins_nowhere[];
// what is written down
extern const char ptx_ins_enter[], ptx_ins_access[], ptx_ins_in_frame[];
// what is counted
extern const char ptx_ins_count[], ptx_ins_lines[], ptx_ins_tally[], ptx_ins_arrive[], ptx_ins_leave[];

// A piece, with its $NAMES replaced.
void ptx_insert(const char *text, unsigned number, unsigned requests, orr_text *out);

#endif
