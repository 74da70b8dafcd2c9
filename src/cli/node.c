// orrery node: the descriptions of machines with several GPUs.
#include "cli/cli.h"

#include <string.h>

int cli_node(cli_options *o, orr_err *e) {
    const char *verb = o->ninputs ? o->inputs[0] : "";
    if (strcmp(verb, "show") == 0 && o->ninputs == 2)
        return cli_say(o, orr_node_describe(o->inputs[1], e), e);
    if (strcmp(verb, "list") == 0 && o->ninputs == 1) return cli_say(o, orr_nodes(e), e);
    if (strcmp(verb, "keys") == 0 && o->ninputs == 1) return cli_say(o, orr_node_keys(e), e);
    orr_fail(e, ORR_BAD_INPUT, "node: expected list, keys or show NAME, as in `orrery node show dgx_h200`");
    return e->status;
}
