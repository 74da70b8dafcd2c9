// The simulated GPU of a process: opened when the program first calls a function, with the options that
// `orrery app` left in the environment; its memory; the errors that CUDA remembers; the report when the
// program ends.
//
// Errors. CUDA's runtime keeps the last error of each host thread until it is asked for (cudaGetLastError);
// what functions of the driver return is not kept. A kernel that fails kills the context: from then on every
// call returns its error. Both are as on a GPU, so that the program goes on as it would there; what happened
// is said on stderr with kernel, thread and source line.
#include "app/app.h"
#include "app/nccl.h"
#include "app/pending.h"
#include "report/report.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

app the_app;
// One thread at a time is in CUDA, in the order in which they came: with a plain mutex a thread that calls
// again and again would keep out another that was woken for its turn.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards the two
static pthread_cond_t next_turn = PTHREAD_COND_INITIALIZER;
static uint64_t turns_given, turn;
static _Thread_local int driver_calls; // functions of the driver that are being done by the runtime's
static _Thread_local int depth;        // a host function of a stream may call CUDA again

void app_say(const char *fmt, ...) {
    char text[1200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fflush(stdout);
    fprintf(stderr, "orrery: %s\n", text);
}

int app_missing(const char *function) {
    app *a = &the_app;
    if (!orr_map_get(&a->missing, function)) {
        orr_map_put(&a->missing, function, a);
        app_say("%s: not among the CUDA functions that Orrery has; it returns cudaErrorNotSupported",
                function);
    }
    return E_NOT_SUPPORTED;
}

// ---- options ----------------------------------------------------------------------------------------
static const char *option(const char *name) {
    char key[64];
    snprintf(key, sizeof key, "ORRERY_APP_%s", name);
    const char *v = getenv(key);
    return v && *v ? v : NULL;
}

static uint64_t number(const char *name) {
    const char *v = option(name);
    return v ? strtoull(v, NULL, 10) : 0;
}

// ORRERY_APP_SET: one "key=value" a line.
static int settings(orr_arena *arena, const char **sets, int room) {
    const char *v = option("SET");
    int n = 0;
    while (v && *v && n < room) {
        size_t len = strcspn(v, "\n");
        if (len) sets[n++] = orr_arena_strndup(arena, v, len);
        v += len + (v[len] == '\n');
    }
    return n;
}

// The report of the first process that uses the GPU goes to whoever started it; others of the same program
// print their own.
static void claim_forms(app *a) {
    char path[4200];
    if (!a->asked.forms) return;
    snprintf(path, sizeof path, "%s/used", a->asked.forms);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) a->asked.forms = NULL;
    if (fd >= 0) close(fd);
}

// A signal that ends the program must not leave half a recording behind. A program that has a handler of its
// own keeps it. The first Ctrl-C ends the kernel that is being simulated, and every later one, with an error
// that the program sees, so that it ends by itself and the launches that are done are reported.
static void on_signal(int number) {
    app *a = &the_app;
    bool some = a->result.launches.n || a->progress.parts; // done, or under way
    if (number == SIGINT && !a->asked.quiet && !a->progress.stopped && some) {
        a->progress.stopped = true;
        return;
    }
    orr_out_abort_all();
    signal(number, SIG_DFL);
    raise(number);
}

static void catch_signals(void) {
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction was, act = {.sa_handler = on_signal, .sa_flags = SA_NODEFER};
        sigemptyset(&act.sa_mask);
        if (sigaction(numbers[i], NULL, &was) == 0 && was.sa_handler == SIG_DFL)
            sigaction(numbers[i], &act, NULL);
    }
}

void app_no_time(void) {
    app *a = &the_app;
    if (a->model->needs_gpu || a->told || a->asked.quiet) return;
    a->told = true;
    app_say("--model %s simulates no time of kernels: what the program makes of its events' times (GB/s, "
            "speed-ups) is not "
            "the GPU's; --model cycle tells",
            a->model->name);
}

// The ranks of a cluster are stopped by a file, because SimGrid's smpirun ends with the first signal.
static bool stop_is_there(void) {
    char path[4200];
    snprintf(path, sizeof path, "%s/stop", the_app.asked.forms);
    return access(path, F_OK) == 0;
}
static bool cluster_watch(void *line, const orr_status *s) {
    return (!isatty(STDERR_FILENO) || orr_progress_line(line, s)) && !stop_is_there();
}

// Who only sends messages, or launches what is known, has nobody who watches: it looks itself, now and then.
static bool asked_to_stop(void) {
    static double next;
    double now = orr_seconds();
    if (the_app.progress.stopped || now < next) return the_app.progress.stopped;
    next = now + 0.1;
    return !the_app.asked.quiet && the_app.asked.forms && stop_is_there();
}

// The GPU of --node, unless --gpu says another.
static bool open_node(app *a, const char **gpu, orr_err *e) {
    const char *node = option("NODE");
    if (!node) return true;
    a->node = orr_node_load(node, e);
    if (a->node && !*gpu) *gpu = a->node->gpu_name;
    return a->node != NULL;
}

static bool open_device(app *a, orr_err *e) {
    const char *gpu = option("GPU"), *model = option("MODEL"), *sets[256];
    int nsets = settings(&a->result.arena, sets, 256);
    a->model = orr_model_find(model ? model : "functional", e);
    a->gpu = a->model && open_node(a, &gpu, e) ? orr_gpu_load(gpu ? gpu : "h200", sets, nsets, e) : NULL;
    a->mem = a->gpu ? orr_mem_new(e) : NULL;
    if (!a->mem || !app_devices_open(a, (int)number("NODES"), e)) return false;
    if (!orr_mem_shared(a->mem))
        return orr_fail(e, ORR_BAD_INPUT,
                        "the addresses of the GPU's memory (0x%llx and up) are taken in this process; run "
                        "the program without what maps memory there",
                        (unsigned long long)ORR_GLOBAL_BASE);
    const char *bounds = option("BOUNDS");
    orr_mem_as_gpu(a->mem, !bounds || strcmp(bounds, "strict") != 0);
    a->asked.threads = (int)number("THREADS");
    if (a->asked.threads < 1 || a->asked.threads > 1024) a->asked.threads = orr_host_threads();
    a->asked.max_insts = number("MAX_INSTS");
    a->asked.kernels = option("KERNELS");
    a->asked.launches = option("LAUNCHES");
    a->asked.source = option("SOURCE");
    a->asked.on_gpu = option("ON") && !strcmp(option("ON"), "gpu");
    a->asked.output = option("OUTPUT");
    a->asked.timeline = option("TIMELINE");
    a->asked.program = option("PROGRAM");
    a->asked.forms = option("FORMS");
    a->asked.host_clock = option("CLOCK") && !strcmp(option("CLOCK"), "simulated");
    a->asked.json = option("JSON") != NULL;
    a->asked.lines = option("LINES") != NULL;
    a->asked.quiet = option("QUIET") != NULL;
    a->result.gpu = a->gpu->name;
    a->result.model = a->model->name;
    a->result.source = "sass";
    a->result.input = a->asked.program ? a->asked.program : "program";
    a->streams.next_id = 2;
    a->asked.counts_only = option("COUNTS_ONLY") != NULL;
    a->asked.only_time = app_in_cluster() && option("ALIKE") && !strcmp(option("ALIKE"), "time");
    a->asked.alike = app_in_cluster() && (!option("ALIKE") || strcmp(option("ALIKE"), "no") != 0);
    claim_forms(a);
    catch_signals();
    static bool line; // on the terminal
    orr_watcher terminal = {orr_progress_line, &line};
    if (!a->asked.quiet && a->asked.forms && app_in_cluster()) terminal.tell = cluster_watch;
    if (!a->asked.quiet && (isatty(STDERR_FILENO) || terminal.tell == cluster_watch))
        orr_progress_start(&a->progress, terminal, a->result.input, "launches", "blocks", 0);
    a->progress.what = a->result.input; // also where nobody watches
    return app_record_open(a, option("RECORD"), option("FORMAT"), e);
}

// ---- in and out of every function ----------------------------------------------------------------------
static void take_turn(void) { // with the lock
    uint64_t mine = turns_given++;
    while (turn != mine) pthread_cond_wait(&next_turn, &lock);
}

static void end_turn(void) { // with the lock
    if (++turn != turns_given) pthread_cond_broadcast(&next_turn);
}

static void come_in(void) {
    pthread_mutex_lock(&lock);
    take_turn();
    pthread_mutex_unlock(&lock);
}

static void go_out(void) {
    pthread_mutex_lock(&lock);
    end_turn();
    pthread_mutex_unlock(&lock);
}

int app_enter(void) {
    app *a = &the_app;
    if (depth == 0) app_rank_pause();
    if (depth++ == 0) come_in();
    if (a->closed) return E_UNLOADING;
    if (!a->open) {
        orr_err e = {0};
        a->open = true;
        if (!open_device(a, &e)) {
            app_say("%s", e.text);
            a->failed = E_NO_DEVICE;
        }
    }
    if (depth == 1 && !a->failed) app_rank_enter();
    return a->failed ? a->failed : a->sticky;
}

int app_leave_driver(int error) {
    if (--depth > 0) return error;
    double wait = the_app.failed || the_app.closed ? 0 : app_rank_leave();
    go_out();
    app_rank_wait(wait);
    return error;
}

void app_let_others(void) {
    if (app_in_cluster()) return; // ranks have turns where they wait
    pthread_mutex_lock(&lock);
    end_turn();
    take_turn();
    pthread_mutex_unlock(&lock);
}

// ---- waiting for another thread, or another rank ----------------------------------------------------
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

void app_wait_change(void) {
    if (app_in_cluster()) {
        int was = depth;
        uint64_t seen = app_rank_changes();
        depth = 0;
        app_rank_self()->inside = "NCCL";
        go_out();
        app_rank_park(seen);
        come_in();
        depth = was;
        app_rank_enter();
        app_rank_self()->inside = NULL;
        return;
    }
    static bool told;
    struct timespec until;
    orr_clock(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    pthread_mutex_lock(&lock);
    end_turn();
    bool late = pthread_cond_timedwait(&changed, &lock, &until) != 0;
    take_turn();
    pthread_mutex_unlock(&lock);
    if (!late || told) return;
    told = true;
    app_say(
        "NCCL waits for the other ranks of a communicator; one thread that asks for several ranks does so "
        "between ncclGroupStart and ncclGroupEnd");
}

void app_changed(void) {
    app_rank_change();
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

int app_remember(int error) {
    if (error && error != E_NOT_READY && !driver_calls) *app_last_error_of() = error;
    return error;
}

int app_leave(int error) { return app_remember(app_leave_driver(error)); }

void app_driver_begin(void) { driver_calls++; }
int app_driver_end(int error) {
    driver_calls--;
    return error;
}

int app_last(bool reset) {
    int error = *app_last_error_of();
    if (reset && error != the_app.sticky) *app_last_error_of() = E_OK;
    return error;
}

// ---- memory ---------------------------------------------------------------------------------------------
// Where the first block that lies above addr is in the list.
static size_t above(uint64_t addr) {
    const app *a = &the_app;
    size_t lo = 0, hi = a->blocks.n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (a->blocks.at[mid].addr <= addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

app_block *app_block_of(uint64_t addr) {
    size_t n = above(addr);
    if (!n) return NULL;
    app_block *b = &the_app.blocks.at[n - 1];
    return addr - b->addr < b->bytes || addr == b->addr ? b : NULL;
}

int app_place(const void *p) {
    const app_block *b = app_block_of((uintptr_t)p);
    if (b) return b->place;
    uint64_t addr = (uintptr_t)p; // a module's variables are in device memory too
    return orr_mem_host(the_app.mem, addr, 1) ? PLACE_DEVICE : PLACE_HOST;
}

app_block *app_block_add(uint64_t addr, uint64_t bytes, int device, int place) {
    app *a = &the_app;
    size_t at = above(addr);
    (void)ORR_PUSH(&a->blocks);
    memmove(a->blocks.at + at + 1, a->blocks.at + at, (a->blocks.n - 1 - at) * sizeof *a->blocks.at);
    a->blocks.at[at] =
        (app_block){.addr = addr, .bytes = bytes, .owner = device, .device = device, .place = (uint8_t)place};
    return &a->blocks.at[at];
}

void app_block_remove(app_block *b) {
    app *a = &the_app;
    size_t at = (size_t)(b - a->blocks.at);
    free(b->pages);
    free(b->touched);
    a->blocks.n--;
    memmove(b, b + 1, (a->blocks.n - at) * sizeof *b);
}

int app_alloc(uint64_t bytes, int place, const char *name, void **p) {
    app *a = &the_app;
    *p = NULL;
    if (!bytes) return E_OK;
    // What a GPU has is the limit of device memory; the host's is the host's.
    int device = app_device_index(app_device_now());
    app_device *d = &a->devices[device];
    uint64_t size = (uint64_t)a->gpu->dram_size;
    if (place == PLACE_DEVICE && bytes > size - (d->used < size ? d->used : size)) return E_MEMORY;
    orr_err e = {0};
    uint64_t addr = orr_mem_alloc(a->mem, bytes, name, &e);
    if (!addr) return E_MEMORY;
    app_block_add(addr, bytes, device, place);
    if (place != PLACE_PINNED) d->used += bytes;
    if (d->used > d->peak) d->peak = d->used;
    *p = (void *)(uintptr_t)addr;
    return E_OK;
}

int app_alloc_kept(uint64_t bytes, const char *name, void **p) {
    int error = app_alloc(bytes, PLACE_DEVICE, name, p);
    app_block *b = !error && *p ? app_block_of((uintptr_t)*p) : NULL;
    if (b) b->kept = true;
    return error;
}

int app_free(void *p) {
    app *a = &the_app;
    if (!p) return E_OK;
    app_block *b = app_block_of((uintptr_t)p);
    if (!b || b->addr != (uintptr_t)p || b->foreign) return E_VALUE;
    if (b->kept) return E_OK;
    if (b->place != PLACE_PINNED) a->devices[b->owner].used -= b->bytes;
    orr_mem_free(a->mem, b->addr);
    app_block_remove(b);
    return E_OK;
}

app_stream *app_stream_of(void *handle) {
    app *a = &the_app;
    app_device *d = &a->devices[app_device_index(app_device_now())];
    if (!handle || handle == STREAM_LEGACY) return &d->legacy;
    if (handle == STREAM_PER_THREAD) return &d->per_thread;
    for (app_stream *s = a->streams.first; s; s = s->next)
        if (s == handle) return s;
    return NULL;
}

// ---- the end ----------------------------------------------------------------------------------------------
static void write_file(const char *path, const orr_text *t, orr_err *e) {
    orr_out f;
    if (!orr_out_open(&f, path, e)) return;
    fwrite(t->s, 1, t->n, f.f);
    orr_out_commit(&f, e);
}

static void make_report(const app *a, bool json, orr_text *out) {
    orr_report_options o = {.host = true, .lines = a->asked.lines};
    if (json)
        orr_result_json(&a->result, &o, out);
    else if (a->result.launches.n || a->asked.output)
        orr_result_text(&a->result, &o, out);
    if (!json && a->counts.skipped)
        orr_text_add(out, "%u of %u launches were executed and not simulated (--kernels, --launches)\n",
                     a->counts.skipped, a->counts.nlaunches);
    if (!json && a->counts.strays)
        orr_text_add(out,
                     "%llu accesses were outside all allocations (--bounds strict ends a kernel there)\n",
                     (unsigned long long)a->counts.strays);
}

// For `orrery cluster`: what each rank did, a line each.
static void write_ranks(const app *a, orr_err *e) {
    orr_text out = {0};
    orr_arena name = {0};
    const app_rank *ranks;
    size_t n = app_rank_all(&ranks);
    orr_text_add(&out, "launches %u alike %u nccl %llu\n", a->counts.nlaunches, a->counts.nalike,
                 (unsigned long long)a->counts.nccl_calls);
    const app_kernel_total *kernels;
    size_t nkernels = app_kernel_totals(&kernels);
    for (size_t i = 0; i < nkernels; i++)
        orr_text_add(&out, "kernel %llu %.17g %s\n", (unsigned long long)kernels[i].launches, kernels[i].ns,
                     kernels[i].kernel->name);
    const app_mpi_total *mpi;
    size_t nmpi = app_mpi_totals(&mpi);
    for (size_t i = 0; i < nmpi; i++)
        orr_text_add(&out, "mpi %llu %llu %.17g %s\n", (unsigned long long)mpi[i].calls,
                     (unsigned long long)mpi[i].bytes, mpi[i].ns, mpi[i].name);
    for (size_t i = 0; i < n; i++) {
        const app_rank *r = &ranks[i];
        orr_text_add(&out, "%zu %d %u %.17g %llu %llu %.17g %.17g %.17g %.17g %.17g %llu %llu\n", i, r->node,
                     r->launches, r->kernel_ns, (unsigned long long)r->copies,
                     (unsigned long long)r->copy_bytes, r->copy_ns, r->nccl_ns, r->wait_ns, r->mpi_ns,
                     r->end_ns, (unsigned long long)r->messages, (unsigned long long)r->sent);
    }
    for (size_t i = 0; i < n; i++)
        if (ranks[i].inside) orr_text_add(&out, "inside %zu %s\n", i, ranks[i].inside);
    write_file(orr_arena_printf(&name, "%s/ranks", a->asked.forms), &out, e);
    orr_arena_free(&name);
    free(out.s);
}

// For the process that started this one (api/app.c).
static void write_forms(const app *a, orr_err *e) {
    static const char *const names[] = {"report.txt", "report.json", "report.page"};
    const orr_report_options page = {.lines = true, .host = true, .page = true};
    for (int form = 0; form < 3; form++) {
        orr_text out = {0};
        orr_arena names_of = {0};
        if (form == 2)
            orr_result_json(&a->result, &page, &out);
        else
            make_report(a, form, &out);
        write_file(orr_arena_printf(&names_of, "%s/%s", a->asked.forms, names[form]), &out, e);
        orr_arena_free(&names_of);
        free(out.s);
    }
}

static void write_report(app *a) {
    orr_err e = {0};
    orr_text out = {0};
    app_pending_end();
    orr_progress_end(&a->progress);
    app_queue_flush_all();
    a->result.host.peak_rss = orr_peak_rss();
    a->result.host.threads = a->asked.threads;
    for (int i = 0; i < a->ndevices; i++) a->result.buffer_bytes += a->devices[i].peak;
    if (a->times.kernel_ns > 0) { // of models that predict time
        a->result.app.elapsed_ns = app_clock_all();
        a->times.elapsed_ns = a->result.app.elapsed_ns;
        a->result.app = a->times;
        // The host asks for kernels while others run: what is between them is only what nothing runs in.
        double idle = a->result.app.elapsed_ns - a->times.kernel_ns + a->times.overlap_ns - a->times.copy_ns;
        a->result.app.gap_ns = idle > 0 ? idle : 0;
    }
    make_report(a, a->asked.json, &out);
    if (a->asked.forms) write_forms(a, &e);
    if (a->asked.forms && app_in_cluster()) write_ranks(a, &e);
    if (a->asked.output) {
        write_file(a->asked.output, &out, &e);
    } else if (a->asked.forms) {
        // the report is the caller's
    } else if (!a->asked.quiet && out.n) {
        fflush(stdout);
        fwrite(out.s, 1, out.n, a->asked.json ? stdout : stderr);
    }
    if (!e.status && a->asked.timeline) app_timeline_write(a->asked.timeline, &e);
    app_record_close(a, &e);
    if (e.status) app_say("%s", e.text);
    free(out.s);
}

__attribute__((destructor)) static void close_device(void);
void app_cluster_abort(int rank, int status) {
    app_say("rank %d: MPI_Abort(%d): all ranks end", rank, status);
    close_device();
    fflush(NULL);
    _exit(status > 0 && status < 126 ? status : 1);
}

void app_cluster_stops(void) {
    if (!app_in_cluster() || !asked_to_stop()) return;
    the_app.progress.stopped = false; // what is queued is not asked for any more
    close_device();
    fflush(NULL);
    _exit(130);
}

__attribute__((destructor)) static void close_device(void) {
    app *a = &the_app;
    if (!a->open || a->closed) return;
    a->closed = true;
    if (!a->failed) write_report(a);
    // The program may still hold pointers while it ends: what it was given stays where it is.
}
