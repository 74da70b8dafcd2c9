// What correlate and tune share.
#ifndef ORR_CLI_COMPARE_H
#define ORR_CLI_COMPARE_H

#include "cli/cli.h"
#include "lab/lab.h"

// Simulates what was measured, as far as `run` chooses it (--size, --kernels, names of scripts), and fills in
// figures. The rows that are not chosen are taken out of `h`. True with an error in e: some scripts have no
// prediction.
bool cli_compare(const cli_options *run, orr_hardware *h, orr_comparison *c, orr_err *e);

#endif
