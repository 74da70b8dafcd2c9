// orrery sample: what sampling rests on, and how well it does.
#include "cli/cli.h"

#include <string.h>

static int model(const cli_options *o, orr_err *e) {
    orr_report *r = orr_sample_model(o->job, e);
    if (cli_write_form(o->out.csv, r, ORR_CSV, e) && cli_write_form(o->out.html, r, ORR_HTML, e) &&
        cli_write_form(o->out.plot, r, ORR_SVG, e))
        return cli_say(o, r, e);
    orr_report_free(r);
    return e->status;
}

int cli_sample(cli_options *o, orr_err *e) {
    const char *what = o->ninputs ? o->inputs[0] : "";
    if (strcmp(what, "model") == 0 && o->ninputs == 1) return model(o, e);
    bool profile = strcmp(what, "profile") == 0, study = strcmp(what, "study") == 0;
    if ((!profile && !study) || o->ninputs < 2 || (profile && o->ninputs > 2)) {
        orr_fail(e, ORR_BAD_INPUT,
                 "sample: say `sample model`, `sample profile INPUT` or `sample study INPUT...`");
        return e->status;
    }
    cli_stops_gently();
    if (profile) return cli_say_page(o, orr_sample_profile(o->inputs[1], o->job, e), e);
    const char *const *inputs = (const char *const *)o->inputs + 1;
    return cli_say_page(o, orr_sample_study(inputs, o->ninputs - 1, o->job, e), e);
}
