// orrery explain and diff: what would help, and where the time went.
#include "cli/cli.h"

int cli_explain(cli_options *o, orr_err *e) {
    const char *const out[] = {o->out.file};
    if (o->ninputs != 1) orr_fail(e, ORR_BAD_INPUT, "explain: name one INPUT: orrery explain INPUT");
    if (e->status || !cli_check_outputs("explain", out, 1, o->inputs, o->ninputs, e)) return e->status;
    orr_options_print(o->job, stderr); // standard output is for the result
    return cli_say(o, orr_explain(o->inputs[0], o->job, e), e);
}
