// orr_app_run: an unmodified CUDA or OpenCL program on a simulated GPU.
//
// The program is started with our library in the place of CUDA's runtime (src/app/), found under its names in
// a folder that is put in front of LD_LIBRARY_PATH, loaded before everything else, and with the options in
// the environment. What it prints and its exit status are its own; the report comes when it ends.
//
// An OpenCL program asks the ICD loader for platforms: it is told of our driver alone (src/opencl/), by
// OCL_ICD_VENDORS (ocl-icd) and OCL_ICD_FILENAMES (Khronos' own). With `annotate` it keeps its device, and
// the loader puts our layer between (OPENCL_LAYERS).
//
// Signals that end this process end the program: they are handed on, and what is temporary goes.
//
// With `sample`, which launches stand for which is known when all have been made. So the program runs first,
// and its launches are recorded; then they are sampled as any recorded streams are (run.c).
#include "api/api.h"
#include "base/temp.h"
#include "node/node.h"
#include "report/html.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PREFIX "ORRERY_APP_"

// The program may change its folder before they are written.
static const char *from_here(orr_arena *a, const char *path) {
    char here[4096];
    if (!path || *path == '/' || !getcwd(here, sizeof here)) return path;
    return orr_arena_printf(a, "%s/%s", here, path);
}

// ---- the library that takes a driver's place ------------------------------------------------------------
// The folder that this code lies in: of the shared library, or of the program that it is linked into.
static bool own_folder(char folder[4096]) {
    Dl_info self;
    ssize_t n;
    if (dladdr((void *)(uintptr_t)own_folder, &self) && self.dli_fname && strstr(self.dli_fname, ".so")) {
        if (!realpath(self.dli_fname, folder)) return false;
    } else {
        n = readlink("/proc/self/exe", folder, 4095);
        folder[n > 0 ? n : 0] = 0;
    }
    char *slash = strrchr(folder, '/');
    if (slash) *slash = 0;
    return slash != NULL;
}

// The folder NAME with the library: as the variable says, beside this code, or where it is installed.
static const char *library_folder(orr_arena *a, const char *name, const char *library, const char *variable,
                                  orr_err *e) {
    const char *own = getenv(variable);
    if (own && *own) return own;
    static const char *const places[] = {"",
                                         "orrery/",
                                         "../lib/orrery/",
                                         "../lib64/orrery/",
                                         "../lib/x86_64-linux-gnu/orrery/",
                                         "../lib/aarch64-linux-gnu/orrery/"};
    char *self = orr_arena_alloc(a, 4096);
    bool known = own_folder(self);
    for (size_t i = 0; known && i < sizeof places / sizeof *places; i++) {
        const char *dir = orr_arena_printf(a, "%s/%s%s", self, places[i], name);
        if (access(orr_arena_printf(a, "%s/%s", dir, library), R_OK) == 0) return dir;
    }
    orr_fail(e, ORR_BAD_INPUT,
             "app: %s is not beside the command (build/%s) nor installed; run ./run build, or name its "
             "folder in %s",
             library, name, variable);
    return NULL;
}

// ---- the program --------------------------------------------------------------------------------------
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
            "%s: has CUDA's runtime linked into it, which insists on NVIDIA's driver; build it with nvcc "
            "-cudart shared (NVCC_APPEND_FLAGS='-cudart shared' does so in any build, in CMake's when it "
            "configures), or capture it on a GPU (orrery capture)",
            path);
    return true;
}

// Times are what people run programs for.
static const char *model_of(const orr_options *o) {
    if (o->model.model) return o->model.model;
    return o->app.annotate ? "analytic" : o->run.counts_only ? "functional" : "cycle";
}

static bool is_stream(const char *name) { // what an earlier --record left
    size_t n = strlen(name);
    return n > 4 && !strcmp(name + n - 4, ".orr");
}

// Whatever is to be written can be, before the program runs.
static bool check_outputs(const orr_options *o, orr_err *e) {
    if (!orr_check_writable(o->files.output, e) || !orr_check_writable(o->run.timeline, e)) return false;
    int packed = orr_accel_format(o->files.format);
    if (o->files.record && packed >= 0) {
        orr_accel_discard(orr_accel_create(o->files.record, packed != 0, e));
        return !e->status;
    }
    char *folder = o->files.record ? orr_out_folder(o->files.record, is_stream, e) : NULL;
    if (folder) orr_out_folder_end(folder, o->files.record, false, e);
    return !e->status;
}

// What --record writes: streams, unless it says otherwise.
static bool check_format(const orr_options *o, orr_err *e) {
    const char *format = o->files.format;
    if (!format || !strcmp(format, "json") || !strcmp(format, "orrery")) return true;
    if (orr_accel_format(format) < 0)
        return orr_fail(e, ORR_BAD_INPUT, "app: --format is orrery, accel-sim or accel-sim-plain, not %.40s",
                        format);
    if (!o->files.record)
        return orr_fail(e, ORR_BAD_INPUT, "app: --format says what --record DIR writes; name the folder");
    if (o->sampling.on)
        return orr_fail(e, ORR_BAD_INPUT,
                        "app: --sample looks at streams; leave out --format, and make traces of them with "
                        "orrery record DIR --format accel-sim");
    return true;
}

static bool check_node(const orr_options *o, orr_err *e) {
    if (!o->app.node) return true;
    if (o->app.opencl) return orr_fail(e, ORR_BAD_INPUT, "cl: --node is for CUDA programs (orrery app)");
    orr_node *n = orr_node_load(o->app.node, e);
    orr_gpu *g = n && !o->model.gpu ? orr_gpu_load(n->gpu_name, NULL, 0, e) : NULL;
    orr_gpu_free(g);
    orr_node_free(n);
    return !e->status;
}

// Mistakes are found here and not in the middle of the program.
static bool check_options(const orr_options *o, orr_err *e) {
    const char *model = model_of(o);
    orr_gpu *gpu = NULL;
    if (o->in.nsets)
        return orr_fail(e, ORR_BAD_INPUT,
                        "app: --set %s is not of the GPU; a program has no constants to set", o->in.sets[0]);
    if (o->run.counts_only && (strcmp(model, "functional") != 0 || o->files.record))
        return orr_fail(e, ORR_BAD_INPUT,
                        "app: --counts-only observes nothing; leave out --model and --record");
    const char *bounds = o->app.bounds;
    if (bounds && strcmp(bounds, "gpu") != 0 && strcmp(bounds, "strict") != 0)
        return orr_fail(e, ORR_BAD_INPUT, "app: --bounds is gpu or strict, not \"%.60s\"", bounds);
    const char *clock = o->app.clock;
    if (clock && strcmp(clock, "host") != 0 && strcmp(clock, "simulated") != 0)
        return orr_fail(e, ORR_BAD_INPUT, "app: --clock is host or simulated, not \"%.60s\"", clock);
    const char *source = o->in.source;
    if (source && strcmp(source, "ptx") != 0 && strcmp(source, "sass") != 0)
        return orr_fail(e, ORR_BAD_INPUT, "app: --source is ptx or sass, not \"%.40s\"", source);
    if (o->app.opencl && orr_input_on_gpu(&o->in))
        return orr_fail(e, ORR_BAD_INPUT, "cl: --on gpu is for CUDA programs (orrery app)");
    if (o->app.annotate && ((o->model.model && strcmp(model, "analytic") != 0) || o->sampling.on ||
                            o->files.record || o->run.counts_only || o->run.timeline || o->in.source))
        return orr_fail(
            e, ORR_BAD_INPUT,
            "cl: --annotate counts on the program's own device and predicts with --model analytic; leave "
            "out --source, --sample, --record, --timeline and --counts-only");
    if (!orr_input_check(&o->in, e) || !orr_model_find(model, e) || !check_node(o, e)) return false;
    if (!orr_asked_gpu(o, &gpu, e)) return false;
    orr_gpu_free(gpu);
    if (o->sampling.on && (strcmp(model, "functional") == 0 || o->run.timeline || o->run.counts_only))
        return orr_fail(e, ORR_BAD_INPUT,
                        "app: --sample needs a model that predicts time, as --model cycle, and knows it only "
                        "when the program has ended; leave out --timeline and --counts-only");
    return check_format(o, e) && check_outputs(o, e);
}

// ---- its environment ------------------------------------------------------------------------------------
typedef struct wanted { // where a job wants what comes of it
    const char *output, *record, *forms;
    bool sampled;            // by somebody else, later: now it only runs
    const char *const *more; // of a cluster: more variables, up to a NULL
} wanted;

typedef struct variables { // "NAME=value"
    orr_words at;
    orr_arena arena;
} variables;

static void put(variables *v, const char *name, const char *value) {
    if (value) *ORR_PUSH(&v->at) = orr_arena_printf(&v->arena, PREFIX "%s=%s", name, value);
}

static const char *flag(bool set) { return set ? "1" : NULL; }

// A file is named from here: the program may change its folder. Names stay names.
static const char *node_path(orr_arena *a, const char *node) {
    return strchr(node, '/') || strstr(node, ".conf") ? from_here(a, node) : node;
}

static void put_options(variables *v, const orr_options *o, const char *program, const wanted *w) {
    orr_arena *a = &v->arena;
    orr_text set = {0};
    for (size_t i = 0; i < o->sets.n; i++) orr_text_add(&set, "%s\n", o->sets.at[i]);
    put(v, "GPU", o->model.gpu);
    put(v, "NODE", o->app.node ? node_path(a, o->app.node) : NULL);
    put(v, "MODEL", w->sampled ? "functional" : model_of(o));
    put(v, "SET", set.s);
    put(v, "THREADS", orr_arena_printf(a, "%d", o->in.threads));
    put(v, "MAX_INSTS", orr_arena_printf(a, "%llu", (unsigned long long)o->in.max_insts));
    put(v, "KERNELS", o->in.kernels);
    put(v, "LAUNCHES", o->in.launches);
    put(v, "SOURCE", orr_input_source(&o->in));
    put(v, "ON", o->in.on);
    put(v, "BOUNDS", o->app.bounds);
    put(v, "CLOCK", o->app.clock);
    put(v, "LINES", flag(o->run.lines));
    put(v, "OUTPUT", from_here(a, w->output));
    put(v, "TIMELINE", from_here(a, o->run.timeline));
    put(v, "RECORD", from_here(a, w->record));
    put(v, "FORMAT", orr_accel_format(o->files.format) < 0 ? NULL : o->files.format);
    put(v, "FORMS", w->forms);
    put(v, "PROGRAM", program);
    put(v, "COUNTS_ONLY", flag(o->run.counts_only));
    put(v, "JSON", flag(!w->sampled && o->files.format && !strcmp(o->files.format, "json")));
    put(v, "QUIET", flag(o->files.quiet || w->sampled));
    free(set.s);
}

// All of this process's variables but those that are put anew, and then those; one block of memory.
static char **joined(const variables *v) {
    size_t n = 1, bytes = 0, at = 0;
    for (char **x = environ; *x; x++) n++, bytes += strlen(*x) + 1;
    for (size_t k = 0; k < v->at.n; k++) n++, bytes += strlen(v->at.at[k]) + 1;
    char **all = orr_malloc(n * sizeof *all + bytes), *to = (char *)(all + n);
    for (char **x = environ; *x; x++) {
        bool again = !strncmp(*x, PREFIX, sizeof PREFIX - 1);
        size_t name = strcspn(*x, "=") + 1;
        for (size_t k = 0; k < v->at.n && !again; k++) again = !strncmp(*x, v->at.at[k], name);
        if (again) continue;
        all[at++] = to;
        to = stpcpy(to, *x) + 1;
    }
    for (size_t k = 0; k < v->at.n; k++) {
        all[at++] = to;
        to = stpcpy(to, v->at.at[k]) + 1;
    }
    all[at] = NULL;
    return all;
}

static void in_front(variables *v, const char *dir) {
    const char *old = getenv("LD_LIBRARY_PATH");
    *ORR_PUSH(&v->at) =
        orr_arena_printf(&v->arena, "LD_LIBRARY_PATH=%s%s%s", dir, old && *old ? ":" : "", old ? old : "");
}

// Loaded before the program's libraries, under all names that they may ask for: a library that says itself
// where its CUDA lies (DT_RPATH, as PyTorch's do) finds that it is there already. NCCL only where there are
// several GPUs: a later one may have functions without which a library cannot be loaded, and for one GPU
// nobody calls it.
static void load_first(variables *v, bool nccl, bool clock) {
    const char *old = getenv("LD_PRELOAD");
    *ORR_PUSH(&v->at) = orr_arena_printf(
        &v->arena, "LD_PRELOAD=%s%slibcudart.so.11.0:libcudart.so.12:libcudart.so.13:libcuda.so.1%s%s",
        old ? old : "", old && *old ? ":" : "", nccl ? ":libnccl.so.2" : "",
        clock ? ":liborrery-clock.so" : "");
}

static bool put_cuda(variables *v, const orr_options *o, const char *program, const wanted *w, orr_err *e) {
    orr_arena *a = &v->arena;
    // That of a cluster also has MPI's functions, which write down what a rank does.
    const char *dir = w->more ? library_folder(a, "cluster", "liborrery-cluster.so", "ORRERY_CLUSTER", e)
                              : library_folder(a, "cuda", "liborrery-cuda.so", "ORRERY_CUDA", e);
    if (!dir || !check_program(program, e)) return false;
    // Our own library has the driver's name too: the program's process must know better.
    const char *driver = orr_input_on_gpu(&o->in) ? orr_hw_driver(a) : NULL;
    if (driver) *ORR_PUSH(&v->at) = orr_arena_printf(a, "ORRERY_LIBCUDA=%s", driver);
    in_front(v, dir);
    // smpirun is a script that starts many programs: the library is found by its name there.
    if (!w->more) load_first(v, o->app.node != NULL, o->app.clock && !strcmp(o->app.clock, "simulated"));
    // PyTorch has attention of its own, and prefers cuDNN's, which insists on NVIDIA's driver.
    if (!getenv("TORCH_CUDNN_SDPA_DEPRIORITIZED"))
        *ORR_PUSH(&v->at) = orr_arena_printf(a, "TORCH_CUDNN_SDPA_DEPRIORITIZED=1");
    for (const char *const *m = w->more; m && *m; m++) *ORR_PUSH(&v->at) = *m;
    *ORR_PUSH(&v->at) =
        orr_arena_printf(a, "NVTX_INJECTION64_PATH=%s/liborrery-%s.so", dir, w->more ? "cluster" : "cuda");
    return true;
}

// A program on a real GPU: the driver loads our library, which captures its launches (src/hook).
static bool put_capture(variables *v, const orr_options *o, const char *program, orr_err *e) {
    orr_arena *a = &v->arena;
    const char *dir = library_folder(a, "capture", "liborrery-capture.so", "ORRERY_CAPTURE", e);
    if (!dir) return false;
    if (!o->files.output) return orr_fail(e, ORR_BAD_INPUT, "capture: say where to: -o FOLDER");
    if (!orr_hw_driver(a))
        return orr_fail(e, ORR_BAD_INPUT,
                        "capture: there is no CUDA driver (libcuda.so.1); it needs a machine with a GPU");
    *ORR_PUSH(&v->at) = orr_arena_printf(a, "CUDA_INJECTION64_PATH=%s/liborrery-capture.so", dir);
    *ORR_PUSH(&v->at) = orr_arena_printf(a, "NVTX_INJECTION64_PATH=%s/liborrery-capture.so", dir);
    const struct {
        const char *name, *value;
    } options[] = {
        {"FOLDER", from_here(a, o->files.output)},
        {"PROGRAM", program},
        {"KERNELS", o->in.kernels},
        {"LAUNCHES", o->in.launches},
        {"RANGE", o->in.range},
        {"MEASURE", flag(o->app.measure)},
        {"ALL_MEMORY", flag(o->app.all_memory)},
        {"INPUTS_ONLY", flag(o->app.inputs_only)},
        {"SAMPLE", flag(o->sampling.on)},
        {"MEMORY", o->app.memory ? orr_arena_printf(a, "%llu", (unsigned long long)o->app.memory) : NULL}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        *ORR_PUSH(&v->at) = orr_arena_printf(a, "ORRERY_CAPTURE_%s=%s", options[i].name,
                                             options[i].value ? options[i].value : "");
    return true;
}

static bool put_opencl(variables *v, const orr_options *o, orr_err *e) {
    orr_arena *a = &v->arena;
    const char *library = o->app.annotate ? "liborrery-opencl-layer.so" : "liborrery-opencl.so";
    const char *dir = library_folder(a, "opencl", library, "ORRERY_OPENCL", e);
    if (!dir) return false;
    if (o->app.annotate) {
        *ORR_PUSH(&v->at) = orr_arena_printf(a, "OPENCL_LAYERS=%s/%s", dir, library);
        return true;
    }
    *ORR_PUSH(&v->at) = orr_arena_printf(a, "OCL_ICD_VENDORS=%s/orrery.icd", dir);
    *ORR_PUSH(&v->at) = orr_arena_printf(a, "OCL_ICD_FILENAMES=%s/%s", dir, library);
    in_front(v, dir);
    return true;
}

static char **environment(const char *program, const orr_options *o, const wanted *w, orr_err *e) {
    variables v = {0};
    char **all = NULL;
    if (check_options(o, e) && (o->app.opencl ? put_opencl(&v, o, e) : put_cuda(&v, o, program, w, e))) {
        put_options(&v, o, program, w);
        all = joined(&v);
    }
    free(v.at.at);
    orr_arena_free(&v.arena);
    return all;
}

char **orr_app_environment(const char *program, const orr_options *o, orr_err *e) {
    if (e->status) return NULL;
    o = orr_asked(o);
    wanted w = {.output = o->files.output, .record = o->files.record};
    return environment(program, o, &w, e);
}

char **orr_app_cluster_environment(const char *program, const orr_options *o, const char *forms,
                                   const char *const *more, orr_err *e) {
    wanted w = {.forms = forms, .more = more};
    return environment(program, o, &w, e);
}

const char *orr_app_player(orr_arena *a, orr_err *e) {
    const char *dir = library_folder(a, "cluster", "orrery-player.so", "ORRERY_CLUSTER", e);
    return dir ? orr_arena_printf(a, "%s/orrery-player.so", dir) : NULL;
}

char **orr_capture_environment(const char *program, const orr_options *o, orr_err *e) {
    variables v = {0};
    if (e->status) return NULL;
    o = orr_asked(o);
    char **all = orr_input_check(&o->in, e) && put_capture(&v, o, program, e) ? joined(&v) : NULL;
    free(v.at.at);
    orr_arena_free(&v.arena);
    return all;
}

// ---- running it -----------------------------------------------------------------------------------------
static volatile sig_atomic_t running; // the program's process

static void hand_on(int number) {
    if (running > 0) kill((pid_t)running, number);
}

// SIGINT comes from the terminal, which sends it to the program too.
enum { SIGNALS = 3 };
static const int handed[SIGNALS] = {SIGTERM, SIGHUP, SIGINT};

static void take_signals(struct sigaction was[SIGNALS]) {
    for (int i = 0; i < SIGNALS; i++) {
        struct sigaction act = {.sa_handler = handed[i] == SIGINT ? SIG_IGN : hand_on,
                                .sa_flags = SA_RESTART};
        sigemptyset(&act.sa_mask);
        sigaction(handed[i], &act, &was[i]);
    }
}

static void give_signals(const struct sigaction was[SIGNALS]) {
    for (int i = 0; i < SIGNALS; i++) sigaction(handed[i], &was[i], NULL);
}

bool orr_app_wait(char *const *argv, char **env, int *status, orr_err *e) {
    struct sigaction was[SIGNALS];
    fflush(NULL);
    running = 0;
    take_signals(was);
    pid_t child = fork();
    running = child;
    if (!child) {
        give_signals(was);
        prctl(PR_SET_PDEATHSIG, SIGTERM); // whatever ends the one ends the other
        execvpe(argv[0], argv, env);
        dprintf(STDERR_FILENO, "orrery: %s: %s\n", argv[0], strerror(errno));
        _exit(127);
    }
    int got = 0, why = child < 0 ? errno : 0;
    while (child > 0 && waitpid(child, &got, 0) < 0)
        if (errno != EINTR) {
            why = errno;
            break;
        }
    running = 0;
    give_signals(was);
    if (why) return orr_fail(e, ORR_BAD_INPUT, "%s: %s", argv[0], strerror(why));
    *status = WIFEXITED(got) ? WEXITSTATUS(got) : 128 + WTERMSIG(got);
    return true;
}

static orr_report *run_sampled(char *const *argv, const orr_options *o, const char *temp, int *status,
                               orr_err *e) {
    wanted w = {.record = o->files.record ? o->files.record : temp, .sampled = true};
    char **env = environment(argv[0], o, &w, e);
    bool ok = env && orr_app_wait(argv, env, status, e);
    free(env);
    if (ok && !orr_stream_probe(w.record))
        ok = orr_fail(e, ORR_BAD_INPUT, "%s: made no launches that --sample could look at", argv[0]);
    if (!ok) return NULL;
    orr_options run = *o; // the streams are what they are
    run.in.source = run.in.kernels = run.in.launches = run.in.on = NULL;
    run.files = (orr_file_options){0};
    return orr_run(w.record, &run, e);
}

static bool read_form(orr_text *t, const char *folder, const char *name) {
    char path[4200];
    orr_err none = {0};
    size_t n = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    t->s = orr_read_file(path, (size_t)1 << 31, &n, &none);
    t->n = n;
    return t->s != NULL;
}

static void add_page(orr_report *r, const char *temp) {
    orr_text data = {0}, page = {0};
    if (!read_form(&data, temp, "report.page")) return;
    const char *one[] = {data.s};
    orr_html_runs(one, 1, &page);
    orr_report_add(r, ORR_HTML, page);
    orr_report_add(r, ORR_PAGE_DATA, data);
}

static orr_report *run_plain(char *const *argv, const orr_options *o, const char *temp, int *status,
                             orr_err *e) {
    wanted w = {.output = o->files.output, .record = o->files.record, .forms = temp};
    char **env = environment(argv[0], o, &w, e);
    bool ok = env && orr_app_wait(argv, env, status, e);
    free(env);
    if (!ok) return NULL;
    orr_text text = {0}, json = {0};
    if (read_form(&text, temp, "report.txt") && read_form(&json, temp, "report.json")) {
        orr_report *r = orr_report_of(text, json);
        add_page(r, temp);
        return r;
    }
    free(text.s);
    char used[4104];
    snprintf(used, sizeof used, "%s/used", temp);
    const char *what = o->app.opencl ? "OpenCL" : "CUDA";
    if (access(used, F_OK) == 0)
        orr_fail(e, ORR_PROGRAM_FAILED, "%s: ended with status %d before its report could be made", argv[0],
                 *status);
    else
        orr_fail(e, ORR_PROGRAM_FAILED,
                 "%s: made no %s call: there is nothing to report (it ended with status %d)", argv[0], what,
                 *status);
    return NULL;
}

orr_report *orr_app_run(char *const *argv, const orr_options *o, int *status, orr_err *e) {
    char temp[4096];
    int ignored;
    if (!status) status = &ignored;
    *status = 0;
    if (e->status) return NULL;
    o = orr_asked(o);
    if (!check_options(o, e) || !orr_temp_folder(temp, "app", e)) return NULL;
    orr_report *r = (o->sampling.on ? run_sampled : run_plain)(argv, o, temp, status, e);
    orr_temp_folder_end(temp);
    return r;
}
