// orrery sweep: an INPUT on a grid of GPU descriptions. What the command adds to the library are the files'
// usual names and the command's own words for the database.
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- names --------------------------------------------------------------------------------------------
// The command as it was typed, near enough to be typed again.
static void command_line(orr_text *t) {
    orr_err e = {0};
    size_t n = 0;
    char *bytes = orr_read_file("/proc/self/cmdline", 1 << 20, &n, &e);
    n = bytes ? n : 0;
    for (size_t k = 0; k < n; k += strlen(bytes + k) + 1) {
        const char *word = bytes + k;
        const char *slash = k ? NULL : strrchr(word, '/');
        if (slash) word = slash + 1;
        bool plain = *word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                 "0123456789_./:=,%+@-")];
        orr_text_add(t, k ? (plain ? " %s" : " '%s'") : "%s", word);
    }
    free(bytes);
    if (!t->s) orr_text_add(t, "orrery sweep");
}

// "results.sqlite", ".csv" -> "results.csv"
static const char *beside(orr_arena *a, const char *database, const char *ending) {
    const char *dot = strrchr(database, '.'), *slash = strrchr(database, '/');
    int n =
        dot && (!slash || dot > slash + 1) && dot != database ? (int)(dot - database) : (int)strlen(database);
    return orr_arena_printf(a, "%.*s%s", n, database, ending);
}

static const char *default_name(orr_arena *a, const char *input) {
    const char *slash = strrchr(input, '/'), *name = slash ? slash + 1 : input, *dot = strrchr(name, '.');
    return orr_arena_printf(a, "%.*s.sweep.sqlite",
                            dot && dot != name ? (int)(dot - name) : (int)strlen(name), name);
}

int cli_sweep(cli_options *o, orr_err *e) {
    if (o->ninputs == 1 && o->slurm && cli_to_slurm(o, e)) return e->status;
    if (o->ninputs != 1) {
        orr_fail(e, ORR_BAD_INPUT, "sweep: name one INPUT: orrery sweep INPUT --vary KEY=VALUES");
        return e->status;
    }
    orr_arena a = {0};
    orr_text command = {0};
    const char *database = o->out.file ? o->out.file : default_name(&a, o->inputs[0]);
    command_line(&command);
    orr_options_set(o->job, "output", database, e);
    orr_options_set(o->job, "csv", o->out.csv ? o->out.csv : beside(&a, database, ".csv"), e);
    orr_options_set(o->job, "plot", o->out.plot ? o->out.plot : beside(&a, database, ".svg"), e);
    orr_options_set(o->job, "command", command.s, e);
    orr_options_print(o->job, stderr); // standard output is for the result
    cli_stops_gently();                // the file is whole at any moment
    o->out.file = NULL;                // is the database; the report goes to standard output
    int status = cli_say_page(o, orr_sweep(o->inputs[0], o->job, e), e);
    free(command.s);
    orr_arena_free(&a);
    return status;
}
