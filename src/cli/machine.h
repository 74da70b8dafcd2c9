// Where an INPUT's kernels are executed (machine.c).
#ifndef ORR_CLI_MACHINE_H
#define ORR_CLI_MACHINE_H

#include "cli/cli.h"
#include "hw/hw.h"
#include "launch/launch.h"

typedef struct cli_machine {
    orr_cpu *cpu; // one of these two
    orr_native *native;
    orr_backend backend;
} cli_machine;

bool cli_on_gpu(const cli_options *o);
bool cli_check_on(cli_options *o, orr_err *e); // --on, and what goes with it
bool cli_machine_open(cli_machine *m, const cli_options *o, orr_on_launch *on_launch, void *arg, orr_err *e);
void cli_machine_note(const cli_machine *m, FILE *out); // what the GPU did, if it did
void cli_machine_close(cli_machine *m);

#endif
