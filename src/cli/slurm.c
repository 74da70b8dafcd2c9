// A sweep that is handed to Slurm: an array of jobs, each with its part of the points, and a last job behind
// them, however they end. The last one looks which of them have not finished (they were killed, ran out of
// time, their node went away), submits those again and itself behind them, at most twice; then it merges, and
// simulates what is still missing.
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 3

// The same command with `more` instead of what hands it to Slurm, as words that a shell reads back. `last`:
// the last job's, which may have to hand over again.
static bool same_command(orr_text *t, const char *more, bool last) {
    orr_err e = {0};
    size_t n = 0;
    char *bytes = orr_read_file("/proc/self/cmdline", 1 << 20, &n, &e), self[4096];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (!bytes || len <= 0) return false;
    self[len] = 0;
    orr_text_add(t, "exec");
    for (size_t k = 0; k < n; k += strlen(bytes + k) + 1) {
        const char *word = k ? bytes + k : self;
        bool slurm = !strcmp(word, "--slurm") || !strcmp(word, "--workers");
        if (!strcmp(word, "--merge") || (!last && slurm)) {
            if (slurm) k += strlen(bytes + k) + 1; // and its value
            continue;
        }
        if (!last && (!strncmp(word, "--slurm=", 8) || !strncmp(word, "--workers=", 10))) continue;
        orr_text_add(t, " '");
        for (; *word; word++) orr_text_add(t, *word == '\'' ? "'\\''" : "%c", *word);
        orr_text_add(t, "'");
    }
    orr_text_add(t, " %s\n", more);
    free(bytes);
    return true;
}

// sbatch with a script; the number of the job.
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

// Jobs `which` of an array of n, and the last one behind them.
static bool submit_round(const cli_options *o, long n, const char *which, int round, orr_err *e) {
    char first[64] = "", last[64] = "", shard[64], after[160];
    orr_text part = {0}, merge = {0}, array = {0};
    snprintf(shard, sizeof shard, "--shard \"$SLURM_ARRAY_TASK_ID/%ld\"", n);
    orr_text_add(&part, "#!/bin/sh\n");
    orr_text_add(&merge, "#!/bin/sh\nexport ORRERY_SWEEP_ROUND=%d\n", round);
    orr_text_add(&array, "--array=%s", which);
    bool ok = same_command(&part, shard, false) && same_command(&merge, "--merge", true) &&
              submit(o->slurm, array.s, &part, first, e);
    snprintf(after, sizeof after, "--dependency=afterany:%s", first);
    ok = ok && submit(o->slurm, after, &merge, last, e);
    if (ok && round == 1)
        printf("%ld jobs (%s), and %s, which merges them into %s and simulates what is missing;\n"
               "the same command again goes on from there\n",
               n, first, last, o->out.file);
    else if (ok)
        printf("jobs %s of %ld have not finished: they are submitted again (%s, and %s behind them)\n", which,
               n, first, last);
    free(part.s);
    free(merge.s);
    free(array.s);
    return ok;
}

static bool finished(const char *file, long k, bool forget) {
    orr_text name = {0};
    orr_text_add(&name, "%s.part-%ld.done", file, k);
    bool there = access(name.s, F_OK) == 0;
    if (forget) unlink(name.s);
    free(name.s);
    return there;
}

bool cli_to_slurm(const cli_options *o, orr_err *e) {
    long n = o->workers ? strtol(o->workers, NULL, 10) : 8;
    const char *said = getenv("ORRERY_SWEEP_ROUND");
    int round = said ? atoi(said) : 1;
    if (n < 1 || n > 10000 || !o->out.file) {
        orr_fail(e, ORR_BAD_INPUT,
                 "sweep: --slurm needs -o FILE, on a disk that all nodes see, and 1 to 10000 --workers");
        return true;
    }
    orr_text which = {0};
    if (o->job->share.merge) {
        for (long k = 1; k <= n; k++)
            if (!finished(o->out.file, k, false)) orr_text_add(&which, "%s%ld", which.n ? "," : "", k);
        if (!which.n || round >= ROUNDS) {
            free(which.s);
            return false; // this is the last job, and it merges
        }
        round++;
    } else {
        for (long k = 1; k <= n; k++) finished(o->out.file, k, true); // of an earlier study
        orr_text_add(&which, "1-%ld", n);
        round = 1;
    }
    submit_round(o, n, which.s, round, e);
    free(which.s);
    return true;
}
