// orrery hw profile: launch scripts under Nsight Compute, on the GPU of this machine.
//
// ncu runs `orrery hw run` and profiles every kernel but two of its own (src/hw/cuda.c).
// The first round measures nearly everything, which takes the profiler several passes over each kernel; those
// that follow measure the time and what L2 was asked for, in one pass.
//
// ncu does not survive Ctrl-C, and what it has measured would be lost. So it runs in a process group of its
// own; a file tells `hw run` to stop, ncu writes what it has, and that is kept.
#include "cli/cli.h"
#include "lab/lab.h"
#include "launch/launch.h"
#include "cli/ncu.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST_BYTES ((size_t)1 << 30) // of what the profiler writes

typedef struct profiling {
    const cli_options *o;
    const char *ncu, *self;
    char folder[PATH_MAX]; // temporary
    const char *const *inputs;
    int ninputs;
    orr_arena arena;
} profiling;

typedef cli_words words;
static void word(words *w, const char *s) { *ORR_PUSH(w) = (char *)(uintptr_t)s; }

static const char *in_folder(profiling *p, const char *name) {
    return orr_arena_printf(&p->arena, "%s/%s", p->folder, name);
}

// Waits for a child. Once Ctrl-C has come there is a file `stop`, for who looks for it.
static int wait_for(pid_t child, const char *stop) {
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        if (stop && cli_interrupted()) close(open(stop, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    return status;
}

int cli_run_program(char *const *argv, char *const *env, const cli_child *how) {
    const char *out = how->out;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (how->stop) setpgid(0, 0);
        int fd = out ? open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
        if (fd >= 0) dup2(fd, STDOUT_FILENO);
        execvpe(argv[0], argv, env ? env : environ);
        _exit(127);
    }
    int status = wait_for(child, how->stop);
    if (child > 0 && WIFSIGNALED(status)) return 128 + WTERMSIG(status);
    if (child < 0 || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
}

static int run_program(words *w, const cli_child *how) {
    word(w, NULL);
    return cli_run_program(w->at, NULL, how);
}

static char *read_whole(const char *path, size_t *n) {
    orr_err none = {0};
    return orr_read_file(path, MOST_BYTES, n, &none);
}

// ---- metrics --------------------------------------------------------------------------------
// Those the user names, or the usual ones as far as this profiler knows them on this GPU.
static void choose_metrics(profiling *p, orr_names *all, orr_names *timing) {
    if (p->o->metrics) {
        for (const char *s = p->o->metrics; *s;) {
            size_t n = strcspn(s, ",");
            if (n) *ORR_PUSH(all) = orr_arena_strndup(&p->arena, s, n);
            s += n + (s[n] == ',');
        }
    } else {
        orr_ncu_metrics(all, false);
    }
    orr_ncu_metrics(timing, true);
    if (!p->o->metrics) orr_ncu_l2(timing);
    words w = {0};
    size_t n;
    const char *out = in_folder(p, "metrics.txt");
    word(&w, p->ncu);
    word(&w, "--query-metrics");
    int status = run_program(&w, &(cli_child){.out = out});
    char *list = status ? NULL : read_whole(out, &n);
    if (list && strstr(list, "__")) {
        if (!p->o->metrics) orr_ncu_known(all, list);
        orr_ncu_known(timing, list);
    }
    free(list);
    free(w.at);
}

const char *cli_metrics(orr_arena *a, const orr_names *names) {
    orr_text t = {0};
    orr_text_addn(&t, "", 0);
    for (size_t k = 0; k < names->n; k++) orr_text_add(&t, "%s%s", k ? "," : "", names->at[k]);
    const char *s = orr_arena_strdup(a, t.s);
    free(t.s);
    return s;
}

// ---- one run of the profiler ------------------------------------------------------------------
void cli_ncu_start(cli_words *w, const char *ncu, bool warm, const char *csv) {
    const char *const start[] = {ncu,
                                 "--clock-control",
                                 "none",
                                 "--cache-control",
                                 warm ? "none" : "all",
                                 "--csv",
                                 "--page",
                                 "raw",
                                 "--print-units",
                                 "base",
                                 "--print-kernel-base",
                                 "mangled",
                                 "--log-file",
                                 csv};
    for (size_t k = 0; k < sizeof start / sizeof *start; k++) *ORR_PUSH(w) = (char *)(uintptr_t)start[k];
}

static void command_of(profiling *p, const orr_names *metrics, int rounds, const char *csv, const char *log,
                       words *w) {
    const cli_options *o = p->o;
    cli_ncu_start(w, p->ncu, o->job->sampling.warm, csv);
    const char *const start[] = {"--kernel-name",
                                 "regex:^(?!orr_(spin|touch))",
                                 "--metrics",
                                 cli_metrics(&p->arena, metrics),
                                 p->self,
                                 "hw",
                                 "run",
                                 "--log",
                                 log,
                                 "--repeat"};
    for (size_t k = 0; k < sizeof start / sizeof *start; k++) word(w, start[k]);
    word(w, orr_arena_printf(&p->arena, "%d", rounds));
    if (o->job->in.size) {
        word(w, "--size");
        word(w, o->job->in.size);
    }
    for (size_t k = 0; k < o->job->sets.n; k++) {
        word(w, "--set");
        word(w, o->job->sets.at[k]);
    }
    if (o->job->in.source) {
        word(w, "--source");
        word(w, o->job->in.source);
    }
    if (o->job->in.no_check) word(w, "--no-check");
    if (o->out.quiet) word(w, "--quiet");
    word(w, "--");
    for (int k = 0; k < p->ninputs; k++) word(w, p->inputs[k]);
}

// What the profiler complains of, for a message.
static const char *complaint(profiling *p, const char *text) {
    const char *at = text ? strstr(text, "==ERROR==") : NULL;
    if (!at) return "it does not say why";
    at += strlen("==ERROR==");
    at += strspn(at, " ");
    return orr_arena_strndup(&p->arena, at, strcspn(at, "\r\n"));
}

static bool profile(profiling *p, const orr_names *metrics, int rounds, const orr_measured *proto,
                    orr_hardware *h, orr_err *e) {
    words w = {0};
    orr_ncu_files f = {.csv_path = in_folder(p, "ncu.csv"), .log_path = in_folder(p, "launches.csv")};
    unlink(f.csv_path);
    unlink(f.log_path);
    command_of(p, metrics, rounds, f.csv_path, f.log_path, &w);
    int status = run_program(&w, &(cli_child){.out = in_folder(p, "run.txt"), .stop = in_folder(p, "stop")});
    free(w.at);
    f.csv = read_whole(f.csv_path, &f.csv_bytes);
    f.log = read_whole(f.log_path, &f.log_bytes);
    bool ok;
    if (f.csv && f.log && strchr(f.csv, ',') && !strstr(f.csv, "==ERROR== ERR_"))
        ok = orr_ncu_read(h, &f, metrics, proto, e);
    else
        ok = orr_fail(e, ORR_BAD_INPUT, "%s ended with status %d and has no results: %s", p->ncu, status,
                      complaint(p, f.csv));
    free(f.csv);
    free(f.log);
    return ok;
}

// ---- the command ----------------------------------------------------------------------------
const char *cli_today(orr_arena *a) {
    time_t now = time(NULL);
    struct tm t;
    gmtime_r(&now, &t);
    return orr_arena_printf(a, "%04d-%02d-%02d", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday);
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  ...": the first word that is a version.
const char *cli_driver_version(orr_arena *a) {
    FILE *f = fopen("/proc/driver/nvidia/version", "r"); // has no size to be read by
    char line[512], *save = NULL;
    if (!f) return "";
    const char *found = "";
    if (fgets(line, sizeof line, f))
        for (char *s = strtok_r(line, " \t\n", &save); s && !*found; s = strtok_r(NULL, " \t\n", &save))
            if (s[0] >= '0' && s[0] <= '9' && strchr(s, '.') && !s[strspn(s, "0123456789.")])
                found = orr_arena_strdup(a, s);
    fclose(f);
    return found;
}

static void remove_folder(profiling *p) {
    static const char *const files[] = {"metrics.txt", "ncu.csv", "launches.csv", "run.txt", "stop"};
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) unlink(in_folder(p, files[k]));
    rmdir(p->folder);
}

// An input without a row was not measured, or gave wrong results: hw run has said so.
static bool all_measured(const profiling *p, const orr_hardware *h, orr_err *e) {
    orr_text t = {0};
    int n = 0;
    for (int k = 0; k < p->ninputs; k++) {
        bool found = false;
        for (size_t r = 0; r < h->rows.n && !found; r++) found = !strcmp(h->rows.at[r].script, p->inputs[k]);
        if (!found && n++ < 10) orr_text_add(&t, "%s%s", n > 1 ? ", " : "", p->inputs[k]);
    }
    if (n)
        orr_fail(e, ORR_PROGRAM_FAILED,
                 "hw profile: %d of %d scripts are not in %s, they launched nothing or left wrong "
                 "results: %s",
                 n, p->ninputs, p->o->out.file, t.s);
    free(t.s);
    return n == 0;
}

static bool collect_inputs(profiling *p, orr_err *e) {
    const cli_options *o = p->o;
    int bundled = 0, given = o->ninputs - 1;
    const char *const *names = o->all ? orr_list_workloads(&p->arena, &bundled) : NULL;
    const char **all = orr_arena_alloc(&p->arena, (size_t)(given + bundled + 1) * sizeof *all);
    for (int k = 0; k < given + bundled; k++) all[k] = k < given ? o->inputs[k + 1] : names[k - given];
    p->inputs = all;
    p->ninputs = given + bundled;
    if (!p->ninputs)
        return orr_fail(
            e, ORR_BAD_INPUT,
            "hw profile: an INPUT is needed: a bundled workload's name, a launch script, or --all");
    if (!o->out.file) return orr_fail(e, ORR_BAD_INPUT, "hw profile: name the file to write with -o FILE");
    const orr_direct *d = &o->job->in.direct;
    if (d->kernel || d->grid || d->block || d->shared || d->nargs || o->out.json || o->out.log)
        return orr_fail(e, ORR_BAD_INPUT,
                        "hw profile: takes launch scripts, and no --json, --log, --kernel, --grid, --block, "
                        "--shared, --arg");
    return true;
}

int cli_profile(cli_options *o, orr_err *e) {
    profiling p = {.o = o};
    orr_names all = {0}, timing = {0};
    orr_hardware h = {0};
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    p.self = self;
    const char *temp = getenv("TMPDIR");
    snprintf(p.folder, sizeof p.folder, "%s/orrery-XXXXXX", temp && *temp ? temp : "/tmp");
    bool ok = collect_inputs(&p, e) && (p.ncu = orr_ncu_find(&p.arena, e));
    if (ok && !mkdtemp(p.folder)) {
        ok = orr_fail(e, ORR_BAD_INPUT, "%s: cannot make a temporary folder: %s", p.folder, strerror(errno));
    } else if (ok) {
        orr_measured proto = {.cache = o->job->sampling.warm ? "warm" : "flushed",
                              .driver = cli_driver_version(&p.arena),
                              .date = cli_today(&p.arena)};
        choose_metrics(&p, &all, &timing);
        setenv("ORRERY_STOP", in_folder(&p, "stop"), 1); // for hw run
        cli_stops_gently();
        ok = profile(&p, &all, 1, &proto, &h, e);
        proto.repeat = 1;
        if (ok && !cli_interrupted() && (o->job->lab.repeat > 1 || !o->metrics))
            ok = profile(&p, &timing, o->job->lab.repeat > 1 ? o->job->lab.repeat - 1 : 1, &proto, &h, e);
        if (ok || access(in_folder(&p, "launches.csv"), F_OK) != 0)
            remove_folder(&p); // else the message names its files
    }
    if (ok) {
        orr_text t = {0};
        orr_out out;
        orr_hardware_write(&h, &t);
        if (orr_out_open(&out, o->out.file, e)) {
            fwrite(t.s, 1, t.n, out.f);
            if (orr_out_commit(&out, e) && !cli_interrupted()) all_measured(&p, &h, e);
        }
        free(t.s);
    }
    orr_hardware_free(&h);
    free(all.at);
    free(timing.at);
    orr_arena_free(&p.arena);
    return e->status;
}
