// orrery sweep: an INPUT on a grid of GPU descriptions. What the command adds to the library are the files'
// usual names, the command's own words for the database, and what is said when it is interrupted.
#include "cli/cli.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- a signal ---------------------------------------------------------------------------------------
// The file is whole at any moment; the user should know that it is worth something.
static char farewell[400];
static struct sigaction before;

static void on_interrupt(int number) {
    ssize_t got = write(STDERR_FILENO, farewell, strlen(farewell));
    (void)got;
    sigaction(number, &before, NULL);
    raise(number);
}

static void catch_interrupt(const char *database, bool quiet) {
    struct sigaction act = {.sa_handler = on_interrupt};
    sigemptyset(&act.sa_mask);
    act.sa_flags = SA_NODEFER;
    if (quiet || sigaction(SIGINT, NULL, &before) != 0 || before.sa_handler == SIG_IGN) return;
    snprintf(farewell, sizeof farewell,
             "\norrery: sweep: stopped; what is done is in %.250s, and the same command goes on from there\n",
             database);
    sigaction(SIGINT, &act, NULL);
}

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

// ---- Slurm --------------------------------------------------------------------------------------------
// The same command without --slurm and --workers, as words that a shell reads back.
static bool same_command(orr_text *t, const char *more) {
    orr_err e = {0};
    size_t n = 0;
    char *bytes = orr_read_file("/proc/self/cmdline", 1 << 20, &n, &e), self[4096];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (!bytes || len <= 0) return false;
    self[len] = 0;
    orr_text_add(t, "#!/bin/sh\nexec");
    for (size_t k = 0; k < n; k += strlen(bytes + k) + 1) {
        const char *word = k ? bytes + k : self;
        if (!strcmp(word, "--slurm") || !strcmp(word, "--workers")) {
            k += strlen(bytes + k) + 1; // and its value
            continue;
        }
        if (!strncmp(word, "--slurm=", 8) || !strncmp(word, "--workers=", 10)) continue;
        orr_text_add(t, " '");
        for (; *word; word++) orr_text_add(t, *word == '\'' ? "'\\''" : "%c", *word);
        orr_text_add(t, "'");
    }
    orr_text_add(t, " %s\n", more);
    free(bytes);
    return true;
}

// sbatch with a script on its standard input; the number of the job.
static bool submit(const char *args, const char *how, const orr_text *script, char job[64], orr_err *e) {
    char path[] = "/tmp/orrery-slurm-XXXXXX", *line = NULL;
    int fd = mkstemp(path);
    bool ok = fd >= 0 && write(fd, script->s, script->n) == (ssize_t)script->n;
    if (fd >= 0) close(fd);
    size_t room = 0;
    orr_text command = {0};
    orr_text_add(&command, "sbatch --parsable %s %s '%s'", how, args, path);
    fflush(NULL);
    FILE *p = ok ? popen(command.s, "r") : NULL;
    ok = p && getline(&line, &room, p) > 0 && sscanf(line, "%63[0-9]", job) == 1;
    ok = p && pclose(p) == 0 && ok;
    unlink(path); // sbatch has copied it
    free(line);
    free(command.s);
    return ok || orr_fail(e, ORR_BAD_INPUT,
                          "sweep: sbatch took no job (is Slurm here, are --slurm's arguments right?)");
}

static int to_slurm(const cli_options *o, orr_err *e) {
    long n = o->workers ? strtol(o->workers, NULL, 10) : 8;
    char array[64], first[64] = "", last[64] = "", how[160];
    orr_text part = {0}, merge = {0};
    if (n < 1 || n > 10000 || !o->out.file) {
        orr_fail(e, ORR_BAD_INPUT,
                 "sweep: --slurm needs -o FILE, on a disk that all nodes see, and 1 to 10000 --workers");
        return e->status;
    }
    snprintf(array, sizeof array, "--shard \"$SLURM_ARRAY_TASK_ID/%ld\"", n);
    snprintf(how, sizeof how, "--array=1-%ld", n);
    bool ok = same_command(&part, array) && same_command(&merge, "--merge") &&
              submit(o->slurm, how, &part, first, e);
    snprintf(how, sizeof how, "--dependency=afterany:%s", first);
    ok = ok && submit(o->slurm, how, &merge, last, e);
    if (ok)
        printf("%ld jobs (%s), and %s, which merges them into %s and simulates what is missing;\n"
               "the same command again goes on from there\n",
               n, first, last, o->out.file);
    free(part.s);
    free(merge.s);
    return e->status;
}

int cli_sweep(cli_options *o, orr_err *e) {
    if (o->slurm && o->ninputs == 1) return to_slurm(o, e);
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
    catch_interrupt(database, o->out.quiet);
    o->out.file = NULL; // is the database; the report goes to standard output
    int status = cli_say_page(o, orr_sweep(o->inputs[0], o->job, e), e);
    free(command.s);
    orr_arena_free(&a);
    return status;
}
