// What run and record share: turning an INPUT into a script, and a launch into a checked one.
#ifndef ORR_CLI_INPUT_H
#define ORR_CLI_INPUT_H

#include "cli/cli.h"
#include "gpu/gpu.h"
#include "launch/launch.h"

// --set goes to two places: a key with a point is the GPU's (sm.count), any other the script's (n).
typedef struct cli_sets {
    const char **gpu, **script;
    int ngpu, nscript;
} cli_sets;
void cli_split_sets(const cli_options *o, cli_sets *s);
void cli_free_sets(cli_sets *s);

// The GPU that was asked for. None was, and the usual one's description is not to be found: true with *gpu
// NULL; execution does not need it, only what is said of occupancy does.
bool cli_load_gpu(const cli_options *o, const cli_sets *s, orr_gpu **gpu, orr_err *e);

// Refuses to write over what is being read.
bool cli_check_output(const cli_options *o, const char *input, orr_err *e);

// A bundled workload's name, a script, or a module with --kernel --grid --block --arg; `sm` is the
// architecture that machine code must be for (90), 0: any.
orr_script *cli_open_script(const cli_options *o, const cli_sets *s, const char *input, unsigned sm,
                            orr_err *e);
unsigned cli_sm(const orr_gpu *g); // of a GPU, 0: none

// Makes a launch fit the GPU (or none) and the options: %nsmid, resident blocks, --max-insts, and whether it
// could be launched there at all.
bool cli_prepare(const cli_options *o, const orr_gpu *g, orr_launch *l, orr_err *e);

// --kernels and --launches: is it one of those that are asked for? And is --launches a list at all?
bool cli_chosen(const cli_options *o, const orr_kernel *k, uint32_t index);
bool cli_check_launches(const cli_options *o, orr_err *e);

bool cli_write_file(const char *path, const orr_text *t, orr_err *e); // as a whole, or not at all
// Writes to -o FILE, or to stdout.
bool cli_write(const cli_options *o, const orr_text *t, orr_err *e);

#endif
