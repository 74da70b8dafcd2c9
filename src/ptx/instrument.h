// A module for a real GPU to run, whose kernels write down what they do (instrument.c).
#ifndef ORR_PTX_INSTRUMENT_H
#define ORR_PTX_INSTRUMENT_H

#include "isa/isa.h"

// Each kernel NAME is there as orr_run_NAME, orr_rec_NAME, orr_cnt_NAME and orr_tal_NAME, all launched with a
// grid of one dimension, and with all their shared memory, static and dynamic, as dynamic shared memory.
enum { ORR_COPY_PLAIN, ORR_COPY_RECORD, ORR_COPY_COUNT, ORR_COPY_TALLY, ORR_COPIES };
bool orr_ptx_instrument(orr_module *m, orr_text *out, orr_err *e);
// May this kernel be run so? False: why not.
bool orr_ptx_recordable(const orr_kernel *k, orr_err *e);

#endif
