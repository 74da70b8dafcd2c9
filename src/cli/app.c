// orrery app: an unmodified CUDA program on a simulated GPU. What starts it is orrery cl's too (cl.c).
//
// The program is started with our library in the place of CUDA's runtime (src/app/), found under its names in
// a folder that is put in front of LD_LIBRARY_PATH, and with the options in the environment. What it prints
// and its exit status are its own; the report comes when it ends.
#include "cli/app.h"
#include "cli/input.h"
#include "cli/machine.h"
#include "model/model.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>


// The program may change its folder before they are written.
static const char *from_here(orr_arena *a, const char *path) {
    char here[4096];
    if (!path || *path == '/' || !getcwd(here, sizeof here)) return path;
    return orr_arena_printf(a, "%s/%s", here, path);
}

static void pass(const char *name, const char *value) {
    char key[64];
    snprintf(key, sizeof key, "ORRERY_APP_%s", name);
    if (value)
        setenv(key, value, 1);
    else
        unsetenv(key);
}

const char *cli_library_folder(orr_arena *a, const char *name, const char *library, const char *variable, orr_err *e) {
    const char *own = getenv(variable);
    if (own && *own) return own;
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) n = 0;
    self[n] = 0;
    char *slash = strrchr(self, '/');
    if (slash) *slash = 0;
    static const char *const places[] = {"", "../lib/orrery/", "../lib64/orrery/", "../lib/x86_64-linux-gnu/orrery/",
                                         "../lib/aarch64-linux-gnu/orrery/"};
    for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
        const char *dir = orr_arena_printf(a, "%s/%s%s", self, places[i], name);
        if (access(orr_arena_printf(a, "%s/%s", dir, library), R_OK) == 0) return dir;
    }
    orr_fail(e, ORR_BAD_INPUT,
             "%s is not beside the command (build/%s) nor installed; run ./run build, or name its folder in %s",
             library, name, variable);
    return NULL;
}

void cli_in_front(orr_arena *a, const char *variable, const char *dir) {
    const char *old = getenv(variable);
    setenv(variable, orr_arena_printf(a, "%s%s%s", dir, old && *old ? ":" : "", old ? old : ""), 1);
}

// A program with CUDA's runtime linked into it never asks for the library: say so instead of running it.
static bool check_program(const char *path, orr_err *e) {
    if (!strchr(path, '/')) return true; // found by PATH
    if (access(path, X_OK) != 0)
        return orr_fail(e, ORR_BAD_INPUT, "%s: %s; name a program that can be executed", path,
                        strerror(errno));
    FILE *f = fopen(path, "rb");
    if (!f) return true;
    // The library that is linked in has its messages with it; one that is loaded is named.
    static const char text[] = "no CUDA-capable device is detected", name[] = "libcudart.so.";
    bool linked = false, elf = false, inside = false;
    char buf[1 << 16];
    size_t kept = 0, n;
    while ((n = fread(buf + kept, 1, sizeof buf - kept, f)) > 0) {
        n += kept;
        if (!elf && !kept) elf = n > 4 && memcmp(buf, "\177ELF", 4) == 0;
        if (!elf) break;
        linked |= memmem(buf, n, name, sizeof name - 1) != NULL;
        inside |= memmem(buf, n, text, sizeof text - 1) != NULL;
        kept = n > 64 ? 64 : n;
        memmove(buf, buf + n - kept, kept);
    }
    fclose(f);
    if (elf && inside && !linked)
        return orr_fail(
            e, ORR_BAD_INPUT,
            "%s: has CUDA's runtime linked into it, so that it cannot be replaced; build it with nvcc "
            "-cudart shared",
            path);
    return true;
}

// ---- sampling -------------------------------------------------------------------------------------------
// Which launches stand for which is known when all have been made. So the program runs first, and its
// launches are recorded; then they are sampled as any recorded streams are (cli/run.c).
static int wait_for(const char *program, char **args, orr_err *e) {
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        execvp(program, args);
        fprintf(stderr, "orrery: %s: %s\n", program, strerror(errno));
        _exit(127);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0) {
        orr_fail(e, ORR_BAD_INPUT, "%s: %s", program, strerror(errno));
        return e->status;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void remove_folder(const char *path) {
    DIR *d = opendir(path);
    for (struct dirent *x; d && (x = readdir(d));)
        if (x->d_name[0] != '.') unlinkat(dirfd(d), x->d_name, 0);
    if (d) closedir(d);
    rmdir(path);
}

static int sampled(cli_options *o, const char *dir, bool temporary, orr_err *e) {
    int status = wait_for(o->rest[0], o->rest, e);
    char *input[] = {(char *)(uintptr_t)dir, NULL};
    cli_options run = *o;
    run.inputs = input;
    run.ninputs = 1;
    run.source = run.kernels = run.launches = run.record = run.timeline = NULL;
    if (!e->status && !orr_stream_probe(dir))
        orr_fail(e, ORR_BAD_INPUT, "%s: made no launches that --sample could look at", o->rest[0]);
    if (!e->status && !o->output && !o->json && dup2(2, 1) < 0) // the report is not the program's output
        orr_fail(e, ORR_BAD_INPUT, "app: %s", strerror(errno));
    if (!e->status && !(o->quiet && !o->output)) cli_run(&run, e);
    if (temporary) remove_folder(dir);
    return e->status ? e->status : status;
}

// CUDA's libraries, under their names, in front of others.
static bool prepare_cuda(cli_options *o, orr_arena *a, orr_err *e) {
    const char *dir = cli_library_folder(a, "cuda", "liborrery-cuda.so", "ORRERY_CUDA", e);
    if (!dir || !check_program(o->rest[0], e)) return false;
    if (cli_on_gpu(o)) { // our own library has the driver's name too: the program's process must know better
        const char *driver = orr_hw_driver(a);
        if (driver) setenv("ORRERY_LIBCUDA", driver, 1);
    }
    cli_in_front(a, "LD_LIBRARY_PATH", dir);
    return true;
}

int cli_app(cli_options *o, orr_err *e) { return cli_program(o, "app", "./vectorAdd", prepare_cuda, e); }

static void check_options(cli_options *o, const char *command, orr_err *e) {
    orr_gpu *gpu = NULL;
    cli_sets sets;
    cli_split_sets(o, &sets);
    if (sets.nscript)
        orr_fail(e, ORR_BAD_INPUT, "%s: --set %s is not of the GPU; a program has no constants to set", command,
                 sets.script[0]);
    if (o->counts_only && ((o->model && strcmp(o->model, "functional") != 0) || o->record))
        orr_fail(e, ORR_BAD_INPUT, "%s: --counts-only observes nothing; leave out --model and --record", command);
    // Mistakes are found here and not in the middle of the program.
    if (!e->status && cli_check_launches(o, e) && orr_model_find(o->model, e)) cli_load_gpu(o, &sets, &gpu, e);
    if (gpu) orr_gpu_free(gpu);
    cli_free_sets(&sets);
    if (o->sample && (!o->model || strcmp(o->model, "functional") == 0 || o->timeline || o->counts_only))
        orr_fail(e, ORR_BAD_INPUT,
                 "%s: --sample needs a model that predicts time, as --model cycle, and knows it only when "
                 "the program has ended; leave out --timeline and --counts-only",
                 command);
}

static void pass_options(cli_options *o, orr_arena *a, const char *record) {
    orr_text set = {0};
    for (int i = 0; i < o->nsets; i++) orr_text_add(&set, "%s\n", o->sets[i]);
    char threads[16], most[32];
    snprintf(threads, sizeof threads, "%d", o->threads);
    snprintf(most, sizeof most, "%llu", (unsigned long long)o->max_insts);
    const struct {
        const char *name, *value;
    } options[] = {{"GPU", o->gpu},
                   {"MODEL", o->sample ? "functional" : o->model},
                   {"SET", set.s},
                   {"THREADS", threads},
                   {"MAX_INSTS", most},
                   {"KERNELS", o->kernels},
                   {"LAUNCHES", o->launches},
                   {"SOURCE", o->source},
                   {"ON", o->on},
                   {"LINES", o->lines ? "1" : NULL},
                   {"OUTPUT", o->sample ? NULL : from_here(a, o->output)},
                   {"TIMELINE", from_here(a, o->timeline)},
                   {"RECORD", record},
                   {"PROGRAM", o->rest[0]},
                   {"COUNTS_ONLY", o->counts_only ? "1" : NULL},
                   {"JSON", o->json && !o->sample ? "1" : NULL},
                   {"QUIET", o->quiet || o->sample ? "1" : NULL}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) pass(options[i].name, options[i].value);
    free(set.s);
}

int cli_program(cli_options *o, const char *command, const char *example,
                bool (*prepare)(cli_options *o, orr_arena *a, orr_err *e), orr_err *e) {
    if (!o->nrest) {
        orr_fail(e, ORR_BAD_INPUT, "%s: name a PROGRAM and its arguments, as in orrery %s %s", command, command, example);
        return e->status;
    }
    int status = 0;
    check_options(o, command, e);
    orr_arena a = {0};
    char *kept = NULL; // --sample: the recorded launches, when nobody else wants them
    if (!e->status && o->sample && !o->record) {
        const char *tmp = getenv("TMPDIR");
        kept = orr_arena_printf(&a, "%s/orrery-app-XXXXXX", tmp && *tmp ? tmp : "/tmp");
        if (!mkdtemp(kept)) orr_fail(e, ORR_BAD_INPUT, "%s: %s", kept, strerror(errno));
    }
    const char *record = kept ? kept : from_here(&a, o->record);
    if (!e->status && prepare(o, &a, e)) {
        pass_options(o, &a, record);
        if (o->sample) {
            status = sampled(o, record, kept != NULL, e);
        } else {
            fflush(NULL);
            execvp(o->rest[0], o->rest); // returns only when it cannot
            orr_fail(e, ORR_BAD_INPUT, "%s: %s", o->rest[0], strerror(errno));
        }
    }
    orr_arena_free(&a);
    return e->status ? e->status : status;
}
