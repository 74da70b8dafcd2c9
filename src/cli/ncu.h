// What commands that run Nsight Compute share (profile.c, capture.c).
#ifndef ORR_CLI_NCU_H
#define ORR_CLI_NCU_H

#include "lab/lab.h"

// How a program is run. With `stop` it is in a process group of its own, which Ctrl-C does not reach, and
// that file is there once Ctrl-C has come.
typedef struct cli_child {
    const char *out; // a file for its standard output; NULL: where ours goes
    const char *stop;
} cli_child;
// Runs a program to its end, with another environment (NULL: ours). Its exit status; 128 and more: a signal
// ended it; -1: it could not be run.
int cli_run_program(char *const *argv, char *const *env, const cli_child *how);
const char *cli_metrics(orr_arena *a, const orr_names *names); // with commas between them
// Nsight Compute, with what every run of it has: clocks as the GPU has them when nobody looks, and a CSV file
// of raw values.
typedef ORR_VEC(char *) cli_words;
void cli_ncu_start(cli_words *w, const char *ncu, bool warm, const char *csv);
const char *cli_today(orr_arena *a);
const char *cli_driver_version(orr_arena *a); // "" where it is not to be found

#endif
