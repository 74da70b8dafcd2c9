// orrery show and disasm: kernels as Orrery sees them, and machine code as nvdisasm writes it.
#include "cli/cli.h"

#include <unistd.h>

int cli_show(cli_options *o, orr_err *e) {
    const orr_options *job = o->job;
    if (o->ninputs != 1)
        orr_fail(e, ORR_BAD_INPUT, "show: name one module: orrery show FILE.ptx [--kernel NAME]");
    if (job->code.ptx && (job->code.timed || job->in.direct.kernel || o->out.json))
        orr_fail(e, ORR_BAD_INPUT, "show: --ptx prints a whole module: neither --kernel, --timed nor --json");
    if (job->code.tasks && (job->code.ptx || job->code.timed || o->out.json))
        orr_fail(e, ORR_BAD_INPUT, "show: --tasks prints a task list: neither --ptx, --timed nor --json");
    if (job->code.timed || job->code.tasks) o->out.json = false; // it has text only
    cli_stops_gently();
    return e->status ? e->status : cli_say(o, orr_show(o->inputs[0], job, e), e);
}

int cli_disasm(cli_options *o, orr_err *e) {
    if (o->ninputs != 1)
        orr_fail(e, ORR_BAD_INPUT,
                 "disasm: name one file: orrery disasm FILE [--kernel NAME] [--arch sm_90]");
    if (o->out.json) orr_options_set(o->job, "format", "json", e);
    o->out.quiet |= isatty(STDOUT_FILENO); // a line of progress would be between the instructions
    cli_stops_gently();
    if (!e->status) orr_disassemble(o->inputs[0], stdout, o->job, e); // main() checks that it got out
    return e->status;
}
