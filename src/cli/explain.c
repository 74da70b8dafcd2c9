// orrery explain and diff: what would help, and where the time went.
#include "cli/cli.h"

int cli_explain(cli_options *o, orr_err *e) {
    const char *const out[] = {o->out.file, o->out.html};
    if (o->ninputs != 1) orr_fail(e, ORR_BAD_INPUT, "explain: name one INPUT: orrery explain INPUT");
    if (e->status || !cli_check_outputs("explain", out, 2, o->inputs, o->ninputs, e)) return e->status;
    orr_options_print(o->job, stderr); // standard output is for the result
    cli_stops_gently();
    return cli_say_page(o, orr_explain(o->inputs[0], o->job, e), e);
}

int cli_diff(cli_options *o, orr_err *e) {
    const char *const out[] = {o->out.file, o->out.html};
    if (o->ninputs != 2)
        orr_fail(e, ORR_BAD_INPUT, "diff: name two, each an INPUT or a report (.json): orrery diff A B");
    if (e->status || !cli_check_outputs("diff", out, 2, o->inputs, o->ninputs, e)) return e->status;
    orr_options_print(o->job, stderr);
    cli_stops_gently();
    return cli_say_page(o, orr_diff(o->inputs[0], o->inputs[1], o->job, e), e);
}
