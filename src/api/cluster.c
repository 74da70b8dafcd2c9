// orr_mpi_run: an unmodified MPI program with CUDA on a simulated cluster.
//
// The program, which was built with SimGrid's smpicc, is started by SimGrid's smpirun: all its ranks run in
// one process, in turns, on a platform that is made here (node/platform.h) or given. Our library takes CUDA's
// place there as under `orrery app` (api/app.c), and tells SimGrid how long a rank waits for its GPU
// (app/rank.c). Messages take what SimGrid's network says. Afterwards SimGrid's trace and the library's
// account of the ranks become one report.
#include "api/fabric.h"
#include "base/temp.h"
#include "node/platform.h"
#include "operators/operators.h"
#include "tasks/tasks.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_RANKS = 65536 };

typedef struct rank_line { // what the library says of a rank
    int node;
    unsigned launches;
    unsigned long long copies, copy_bytes, messages, sent;
    double kernel_ns, copy_ns, nccl_ns, wait_ns, mpi_ns, end_ns;
} rank_line;

typedef struct total_line { // of a kernel, or of a function of MPI
    const char *name;
    unsigned long long n, bytes;
    double ns;
} total_line;
typedef ORR_VEC(total_line) total_lines;

typedef struct cluster {
    const orr_options *o;
    const orr_node *node;
    int ranks, per_node, nodes;
    const char *fabric, *temp;
    const char *player; // what is started where there is no program
    bool trace;         // but an execution trace
    bool stopped;       // by who watches
    int stuck, first;   // ranks that were in a call when the program ended, and one of them
    const char *inside; // which call
    unsigned launches, alike;
    rank_line *rank;
    total_lines kernels, calls;
    orr_arena arena;
} cluster;

// ---- what is started --------------------------------------------------------------------------------
// The platform as a file, and which rank is on which host: `per_node` each, in the order of the file.
static const char *make_platform(cluster *c, const char **hostfile, orr_err *e) {
    orr_arena *a = &c->arena;
    orr_text xml = {0}, list = {0};
    const char *path = c->fabric;
    orr_words names = {0};
    if (strchr(c->fabric, '.') || strchr(c->fabric, '/')) {
        size_t n;
        xml.s = orr_read_file(path, 1 << 28, &n, e);
    } else if (orr_platform_write(c->node, c->fabric, c->nodes, &xml, e)) {
        path = orr_arena_printf(a, "%s/platform.xml", c->temp);
        orr_fabric_put(path, &xml, e);
    }
    if (!e->status) orr_fabric_hosts(a, xml.s, c->nodes, &names);
    if (!e->status && path == c->fabric) orr_fabric_check(c->o, c->temp, path, &names, e);
    if (!e->status && (int)names.n < c->nodes)
        orr_fail(e, ORR_BAD_INPUT, "%s: has %d hosts, and %d ranks with %d on each need %d", path,
                 (int)names.n, c->ranks, c->per_node, c->nodes);
    for (int r = 0; r < c->ranks && !e->status; r++) orr_text_add(&list, "%s\n", names.at[r / c->per_node]);
    *hostfile = orr_arena_printf(a, "%s/hosts", c->temp);
    if (!e->status) orr_fabric_put(*hostfile, &list, e);
    free(xml.s);
    free(list.s);
    free(names.at);
    return e->status ? NULL : path;
}

static bool installed(const char *program) {
    const char *path = getenv("PATH");
    char file[4200];
    while (path && *path) {
        size_t n = strcspn(path, ":");
        snprintf(file, sizeof file, "%.*s/%s", (int)n, path, program);
        if (access(file, X_OK) == 0) return true;
        path += n + (path[n] == ':');
    }
    return false;
}

// A task list is read for every rank before anything runs: what is wrong with it is said here.
static bool check_tasks(const cluster *c, const char *path, orr_err *e) {
    const orr_options *o = c->o;
    bool any = false;
    for (int r = 0; r < c->ranks && !e->status; r++) {
        orr_task_rank place = {.rank = r,
                               .ranks = c->ranks,
                               .node = r / c->per_node,
                               .nodes = c->nodes,
                               .gpus = c->node->gpus,
                               .local = r % c->per_node};
        const orr_task_step *steps;
        orr_tasks *t = orr_tasks_load_rank(path, o->in.sets, o->in.nsets, &place, e);
        any |= t && orr_tasks_steps(t, &steps);
        orr_tasks_free(t);
    }
    if (!e->status && !any)
        orr_fail(e, ORR_BAD_INPUT, "%s: nothing is done on any rank: launch KERNEL grid 128, or a message",
                 path);
    return !e->status;
}

// The file of a rank: "%r" in the name is its number.
static bool check_trace(const cluster *c, const char *path, orr_err *e) {
    const char *at = strstr(path, "%r"), *times = c->o->cluster.times;
    for (int r = 0; r < (at ? c->ranks : 1) && !e->status; r++) {
        char name[4200];
        snprintf(name, sizeof name, at ? "%.*s%d%s" : "%.*s", (int)(at ? (size_t)(at - path) : strlen(path)),
                 path, r, at ? at + 2 : "");
        orr_operators *o = orr_operators_load(name, e);
        if (o && !o->at.n) orr_fail(e, ORR_BAD_INPUT, "%s: has no operators", name);
        if (o && o->rank >= 0 && at && o->rank != r)
            orr_fail(e, ORR_BAD_INPUT, "%s: was recorded by rank %d, and is to be that of rank %d", name,
                     o->rank, r);
        orr_operators_free(o);
    }
    bool file = times && strcmp(times, "recorded") != 0 && strcmp(times, "model") != 0;
    if (!e->status && file && access(times, R_OK) != 0)
        orr_fail(e, ORR_BAD_INPUT,
                 "--times is recorded, model, or a report of orrery run --json, not \"%.200s\"", times);
    return !e->status;
}

static const char *from_here(orr_arena *a, const char *path) {
    char *full = realpath(path, NULL);
    const char *kept = orr_arena_strdup(a, full ? full : path);
    free(full);
    return kept;
}

static const char *full_name(orr_arena *a, const char *path) { // of what may not be there as it is written
    char here[4096];
    return *path == '/' || !getcwd(here, sizeof here) ? path : orr_arena_printf(a, "%s/%s", here, path);
}

static const char *joined(orr_arena *a, const orr_words *w) {
    orr_text t = {0};
    for (size_t i = 0; i < w->n; i++) orr_text_add(&t, "%s\n", w->at[i]);
    const char *all = orr_arena_strdup(a, t.s ? t.s : "");
    free(t.s);
    return all;
}

// smpirun tells on standard output how a program has ended, which would be in the middle of what the program
// and we write there. So it writes elsewhere, and what it starts to where it would have.
static const char *own_output(cluster *c, orr_err *e) {
    const char *path = orr_arena_printf(&c->arena, "%s/as-before", c->temp);
    orr_text script = {0};
    orr_text_add(&script, "#!/bin/sh\nexec \"$@\" >&9 9>&-\n");
    orr_fabric_put(path, &script, e);
    free(script.s);
    return e->status ? NULL : orr_arena_printf(&c->arena, "/bin/sh %s", path);
}

static bool start(cluster *c, char *const *program, int *status, orr_err *e) {
    orr_arena *a = &c->arena;
    bool tasks = orr_tasks_probe(program[0]);
    c->trace = !tasks && orr_operators_probe(program[0]);
    if ((tasks && !check_tasks(c, program[0], e)) || (c->trace && !check_trace(c, program[0], e)))
        return false;
    if ((tasks || c->trace) && !(c->player = orr_app_player(a, e))) return false;
    const char *hostfile, *platform = make_platform(c, &hostfile, e);
    if (!platform) return false;
    const char *host = c->o->cluster.host;
    double scale = host && strcmp(host, "ignore") != 0 ? strtod(host, NULL) : 0;
    const char *cuda[] = {
        "ORRERY_APP_CLUSTER=1",
        orr_arena_printf(a, "ORRERY_APP_NODES=%d", c->nodes),
        orr_arena_printf(a, "ORRERY_APP_PER_NODE=%d", c->per_node),
        orr_arena_printf(a, "ORRERY_APP_RANKS=%d", c->ranks),
        orr_arena_printf(a, "ORRERY_APP_ALIKE=%s", c->o->cluster.alike ? c->o->cluster.alike : "yes"),
        scale > 0 && !c->player ? "ORRERY_APP_MEASURED=1" : "ORRERY_APP_MEASURED=",
        orr_arena_printf(a, "ORRERY_APP_PLAY=%s", tasks ? from_here(a, program[0]) : ""),
        orr_arena_printf(a, "ORRERY_APP_TRACE=%s", c->trace ? full_name(a, program[0]) : ""),
        orr_arena_printf(a, "ORRERY_APP_TIMES=%s", c->o->cluster.times ? c->o->cluster.times : ""),
        orr_arena_printf(a, "ORRERY_APP_HOST=%g", scale),
        orr_arena_printf(a, "ORRERY_APP_PLAY_SETS=%s", tasks ? joined(a, &c->o->script_sets) : ""),
        NULL};
    orr_words argv = {0};
    const char *apart = own_output(c, e);
    if (!apart) return false;
    const char *const fixed[] = {
        "/bin/sh",
        "-c",
        "exec 9>&1 >\"$0\" && exec smpirun \"$@\"", // what the script itself says stays there
        orr_arena_printf(a, "%s/smpirun", c->temp),
        "-wrapper",
        apart,
        "-np",
        orr_arena_printf(a, "%d", c->ranks),
        "-hostfile",
        hostfile,
        "-platform",
        platform,
        orr_arena_printf(a, "--cfg=smpi/tmpdir:%s", c->temp),
        "--log=root.thresh:critical",
        "--cfg=contexts/stack-size:16384", // KiB: kernels are executed on a rank's stack
        c->player ? "--cfg=smpi/privatization:no" : "--cfg=smpi/privatization:dlopen",
        scale > 0 && !c->player ? orr_arena_printf(a, "--cfg=smpi/host-speed:%gGf", scale)
                                : "--cfg=smpi/simulate-computation:no"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) *ORR_PUSH(&argv) = fixed[i];
    const char *started = c->player ? c->player : program[0];
    *ORR_PUSH(&argv) = started;
    for (char *const *w = program + 1; *w && !c->player; w++) *ORR_PUSH(&argv) = *w;
    *ORR_PUSH(&argv) = NULL;
    orr_options o = *c->o;
    if (tasks) { // the rest is the list's
        o.sets = o.model.sets;
        o.script_sets.n = 0;
        o.in.nsets = 0;
    }
    char **env = orr_app_cluster_environment(started, &o, c->temp, cuda, e);
    const char *stop = o.files.quiet ? NULL : orr_arena_printf(a, "%s/stop", c->temp);
    bool ok = env && orr_app_wait((char *const *)argv.at, env, stop, status, e);
    c->stopped = ok && stop && access(stop, F_OK) == 0;
    if (c->stopped) orr_note(&o.notes, "cluster: stopped; this is what the ranks had done by then");
    free(env);
    free(argv.at);
    return ok;
}

// ---- what came of it ----------------------------------------------------------------------------------
static bool read_ranks(cluster *c, int status, orr_err *e) {
    char path[4200], line[1024], name[512];
    snprintf(path, sizeof path, "%s/ranks", c->temp);
    FILE *f = fopen(path, "r");
    if (!f && status > 128)
        return orr_fail(e, ORR_PROGRAM_FAILED,
                        "cluster: signal %d ended the program, or SimGrid (which says above why), before its "
                        "report could be made",
                        status - 128);
    if (!f)
        return orr_fail(
            e, ORR_PROGRAM_FAILED,
            "cluster: the program made no CUDA call, or ended before its report could be made (status %d)",
            status);
    c->rank = orr_calloc((size_t)c->ranks, sizeof *c->rank);
    while (fgets(line, sizeof line, f)) {
        int r;
        rank_line x = {0};
        total_line t = {0};
        if (sscanf(line, "launches %u alike %u", &c->launches, &c->alike) == 2) continue;
        if (sscanf(line, "inside %d %511s", &r, name) == 2) {
            if (!c->stuck++) c->first = r, c->inside = orr_arena_strdup(&c->arena, name);
        } else if (sscanf(line, "kernel %llu %lg %511[^\n]", &t.n, &t.ns, name) == 3) {
            t.name = orr_arena_strdup(&c->arena, name);
            *ORR_PUSH(&c->kernels) = t;
        } else if (sscanf(line, "mpi %llu %llu %lg %511s", &t.n, &t.bytes, &t.ns, name) == 4) {
            t.name = orr_arena_strdup(&c->arena, name);
            *ORR_PUSH(&c->calls) = t;
        } else if (sscanf(line, "%d %d %u %lg %llu %llu %lg %lg %lg %lg %lg %llu %llu", &r, &x.node,
                          &x.launches, &x.kernel_ns, &x.copies, &x.copy_bytes, &x.copy_ns, &x.nccl_ns,
                          &x.wait_ns, &x.mpi_ns, &x.end_ns, &x.messages, &x.sent) == 13 &&
                   r >= 0 && r < c->ranks) {
            c->rank[r] = x;
        }
    }
    fclose(f);
    return true;
}

static int last_rank(const cluster *c) {
    int last = 0;
    for (int r = 1; r < c->ranks; r++)
        if (c->rank[r].end_ns > c->rank[last].end_ns) last = r;
    return last;
}

// What the rank that ends last did most of the time.
static const char *bound(const rank_line *x) {
    double rest = x->end_ns - x->wait_ns - x->mpi_ns;
    if (x->mpi_ns >= x->wait_ns && x->mpi_ns >= rest) return "messages";
    if (rest > x->wait_ns) return "host code";
    if (x->nccl_ns > x->kernel_ns && x->nccl_ns > x->copy_ns) return "NCCL";
    return x->copy_ns > x->kernel_ns ? "copies to and from GPUs" : "kernels";
}

static void text_totals(const total_lines *t, const char *what, orr_text *out) {
    if (t->n) orr_text_add(out, "\n%-40s %10s %14s %14s\n", what, "times", "mean us", "MB in all");
    for (size_t i = 0; i < t->n; i++)
        orr_text_add(out, "%-40s %10llu %14.3f %14.3f\n", t->at[i].name, t->at[i].n,
                     t->at[i].ns / 1e3 / (double)t->at[i].n, (double)t->at[i].bytes / 1e6);
}

// Of an execution trace it is known when kernels run, and when only messages do.
static const char *trace_bound(const rank_line *x) {
    double rest = x->end_ns - x->wait_ns - x->mpi_ns;
    if (x->mpi_ns >= x->wait_ns && x->mpi_ns >= rest) return "communication";
    return rest > x->wait_ns ? "neither kernels nor communication" : "kernels";
}

static const char *bound_of(const cluster *c, const rank_line *x) {
    return c->trace ? trace_bound(x) : bound(x);
}

static void head_of(const cluster *c, int last, orr_text *out) {
    const rank_line *l = &c->rank[last];
    double end = l->end_ns > 0 ? l->end_ns : 1;
    orr_text_add(out, "%d ranks on %d x %s, %s\n", c->ranks, c->nodes, c->node->product, c->fabric);
    if (c->trace) {
        orr_text_add(
            out,
            "simulated time %.6f ms, bound by %s (rank %d, which ends last: kernels run for %.1f %%, "
            "communication that nothing hides for %.1f %%)\n\n",
            l->end_ns / 1e6, trace_bound(l), last, 100 * l->wait_ns / end, 100 * l->mpi_ns / end);
        return;
    }
    orr_text_add(
        out,
        "simulated time %.6f ms, bound by %s (rank %d, which ends last: %.1f %% waiting for its GPU, %.1f %% "
        "in MPI)\n",
        l->end_ns / 1e6, bound(l), last, 100 * l->wait_ns / end, 100 * l->mpi_ns / end);
    orr_text_add(out, "%u launches, of which %u took what one alike had taken\n\n", c->launches, c->alike);
}

static void text_of(const cluster *c, orr_text *out) {
    int last = last_rank(c);
    head_of(c, last, out);
    orr_text_add(out, "%6s %5s %12s %12s %12s %12s %12s %9s %12s\n", "rank", "node", "end ms", "kernels ms",
                 "copies ms", c->trace ? "comm. ms" : "NCCL ms", c->trace ? "not hidden" : "MPI ms",
                 "messages", "sent MB");
    for (int r = 0; r < c->ranks; r++) {
        if (c->ranks > 16 && r >= 8 && r != last && r != c->ranks - 1)
            continue; // all of them are in the JSON
        const rank_line *x = &c->rank[r];
        orr_text_add(out, "%6d %5d %12.6f %12.6f %12.6f %12.6f %12.6f %9llu %12.3f\n", r, x->node,
                     x->end_ns / 1e6, x->kernel_ns / 1e6, x->copy_ns / 1e6, x->nccl_ns / 1e6, x->mpi_ns / 1e6,
                     x->messages, (double)x->sent / 1e6);
    }
    text_totals(&c->kernels, "kernel", out);
    text_totals(&c->calls, c->trace ? "communication" : "MPI", out);
    if (!c->calls.n)
        orr_text_add(out, "\ncalls of MPI were not seen: link the program with smpicc and CUDA's library "
                          "before SimGrid's\n");
}

static void json_totals(const total_lines *t, const char *what, orr_text *out) {
    orr_text_add(out, ",\n\"%s\":[", what);
    for (size_t i = 0; i < t->n; i++) {
        orr_text_add(out, "%s\n{\"name\":", i ? "," : "");
        orr_text_json(out, t->at[i].name);
        orr_text_add(out, ",\"times\":%llu,\"bytes\":%llu,\"time_ns\":%.3f}", t->at[i].n, t->at[i].bytes,
                     t->at[i].ns);
    }
    orr_text_add(out, "]");
}

static void json_of(const cluster *c, orr_text *out) {
    const rank_line *last = &c->rank[last_rank(c)];
    orr_text_add(out, "{\"ranks\":%d,\"nodes\":%d,\"node\":", c->ranks, c->nodes);
    orr_text_json(out, c->node->name);
    orr_text_add(out, ",\"platform\":");
    orr_text_json(out, c->fabric);
    orr_text_add(out, ",\"elapsed_ns\":%.3f,\"bound_by\":\"%s\",\"launches\":%u,\"alike\":%u,\n\"by_rank\":[",
                 last->end_ns, bound_of(c, last), c->launches, c->alike);
    for (int r = 0; r < c->ranks; r++) {
        const rank_line *x = &c->rank[r];
        orr_text_add(out,
                     "%s\n{\"rank\":%d,\"node\":%d,\"end_ns\":%.3f,\"launches\":%u,\"kernel_ns\":%.3f,"
                     "\"copies\":%llu,\"copy_bytes\":%llu,\"copy_ns\":%.3f,\"nccl_ns\":%.3f,\"wait_ns\":%.3f,"
                     "\"mpi_ns\":%.3f,\"messages\":%llu,\"sent_bytes\":%llu}",
                     r ? "," : "", r, x->node, x->end_ns, x->launches, x->kernel_ns, x->copies, x->copy_bytes,
                     x->copy_ns, x->nccl_ns, x->wait_ns, x->mpi_ns, x->messages, x->sent);
    }
    orr_text_add(out, "]");
    json_totals(&c->kernels, "kernels", out);
    json_totals(&c->calls, "mpi", out);
    orr_text_add(out, "}\n");
}

// Ranks that wait for each other: SimGrid ends when nobody can go on.
static bool all_ended(const cluster *c, int *status, orr_err *e) {
    unsigned long long ended = 0;
    for (size_t i = 0; i < c->calls.n; i++)
        if (!strcmp(c->calls.at[i].name, "Finalize")) ended = c->calls.at[i].n;
    if (c->player ? ended == (unsigned long long)c->ranks : !c->stuck || *status) return true;
    if (!*status) *status = 1;
    if (!c->player)
        return orr_fail(e, ORR_PROGRAM_FAILED,
                        "cluster: %d of %d ranks wait for ever, rank %d in %s%s: what one sends another must "
                        "receive, and all members come to a collective",
                        c->stuck, c->ranks, c->first, !strcmp(c->inside, "NCCL") ? "" : "MPI_", c->inside);
    return orr_fail(e, ORR_PROGRAM_FAILED,
                    "cluster: %llu of %d ranks wait for ever: what one sends another must receive, and all "
                    "members come to a collective",
                    (unsigned long long)c->ranks - ended, c->ranks);
}

static orr_report *report(cluster *c, int *status, orr_err *e) {
    if (!read_ranks(c, *status, e) || !(c->stopped || all_ended(c, status, e))) return NULL;
    orr_text text = {0}, json = {0};
    text_of(c, &text);
    json_of(c, &json);
    return orr_report_of(text, json);
}

// ---- the job --------------------------------------------------------------------------------------------
static bool check(const cluster *c, orr_err *e) {
    const orr_options *o = c->o;
    const char *alike = o->cluster.alike, *host = o->cluster.host;
    if (c->ranks < 1 || c->ranks > MAX_RANKS)
        return orr_fail(e, ORR_BAD_INPUT, "cluster: say how many ranks, -n 64; 1 to %d", MAX_RANKS);
    if (o->cluster.per_node < 0 || c->per_node > MAX_RANKS)
        return orr_fail(e, ORR_BAD_INPUT, "cluster: --per-node is a number of ranks, at least 1");
    if (alike && strcmp(alike, "yes") != 0 && strcmp(alike, "no") != 0 && strcmp(alike, "time") != 0)
        return orr_fail(e, ORR_BAD_INPUT, "cluster: --alike is yes, no or time, not \"%.60s\"", alike);
    if (host && strcmp(host, "ignore") != 0 && !(strtod(host, NULL) > 0 && strtod(host, NULL) < 1e6))
        return orr_fail(e, ORR_BAD_INPUT, "cluster: --host is ignore or a factor, as 1.0, not \"%.60s\"",
                        host);
    if (o->sampling.on || o->files.record)
        return orr_fail(e, ORR_BAD_INPUT, "cluster: --sample and --record are for one GPU (orrery app)");
    if (!installed("smpirun"))
        return orr_fail(e, ORR_BAD_INPUT,
                        "cluster: SimGrid's smpirun is not there; install it (Debian: libsimgrid-dev)");
    return true;
}

orr_report *orr_mpi_run(char *const *argv, const orr_options *asked, int *status, orr_err *e) {
    int ignored;
    char temp[4096];
    if (!status) status = &ignored;
    *status = 0;
    if (e->status) return NULL;
    orr_options o = *orr_asked(asked);
    if (!o.model.model) o.model.model = "partial";
    if (!o.app.node) o.app.node = "dgx_h200";
    orr_node *node = orr_node_load(o.app.node, e);
    if (!node) return NULL;
    cluster c = {.o = &o, .node = node, .ranks = o.cluster.ranks, .temp = temp};
    c.fabric = o.cluster.platform ? o.cluster.platform : "fat-tree";
    c.per_node = o.cluster.per_node > 0 ? o.cluster.per_node : node->gpus;
    c.nodes = c.ranks > 0 ? (c.ranks + c.per_node - 1) / c.per_node : 1;
    orr_report *r = NULL;
    if (check(&c, e) && orr_temp_folder(temp, "cluster", e)) {
        if (strchr(temp, ' '))
            orr_fail(e, ORR_BAD_INPUT, "%s: smpirun takes no folder with a space in its name; set TMPDIR",
                     temp);
        else if (start(&c, argv, status, e))
            r = report(&c, status, e);
        orr_temp_folder_end(temp);
    }
    free(c.rank);
    free(c.kernels.at);
    free(c.calls.at);
    orr_arena_free(&c.arena);
    orr_node_free(node);
    return r;
}
