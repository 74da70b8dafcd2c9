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

// A bundled workload's name, a script, or a module with --kernel --grid --block --arg.
orr_script *cli_open_script(const cli_options *o, const cli_sets *s, const char *input, orr_err *e);

// Makes a launch fit the GPU and the options: %nsmid, resident blocks, --max-insts, and whether it could
// be launched there at all.
bool cli_prepare(const cli_options *o, const orr_gpu *g, orr_launch *l, orr_err *e);

// Writes to -o FILE, or to stdout.
bool cli_write(const cli_options *o, const orr_text *t, orr_err *e);

#endif
