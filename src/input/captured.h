// Private to input/: a capture's launches (capture/capture.h), on the CPU, with the memory that they had.
#ifndef ORR_INPUT_CAPTURED_H
#define ORR_INPUT_CAPTURED_H

#include "input/input.h"

// Counts a launch, and says whether it was chosen (input.c).
bool orr_input_choose(orr_input *in, const orr_kernel *k, uint32_t index);
// A launch that is ready: `work` or, when it was not chosen, nobody runs it.
bool orr_captured_run(orr_input *in, orr_err *e);
// A launch that is prepared: a model's work, or, when it was not chosen, executed.
bool orr_captured_work(orr_input *in, const orr_launch *l, bool chosen, orr_err *e);
// What the kernel of `parent` asked for (children.c).
bool orr_captured_children(orr_input *in, const orr_launch *parent, bool chosen, orr_children *first,
                           orr_err *e);
void orr_captured_close(struct orr_capture_run *r);

#endif
