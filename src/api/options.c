// Options by name (include/orrery.h): the table, and what the jobs ask of them.
#include "api/api.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum kind { FLAG, STRING, LIST, INT, COUNT };
#define AT(field) offsetof(struct orr_options, field)
static const struct option {
    const char *name;
    enum kind kind;
    size_t at;
} options[] = {
    {"alike", STRING, AT(cluster.alike)},
    {"all-memory", FLAG, AT(app.all_memory)},
    {"annotate", FLAG, AT(app.annotate)},
    {"arch", STRING, AT(code.arch)},
    {"arg", LIST, AT(args)},
    {"barriers", INT, AT(barriers)},
    {"block", STRING, AT(in.direct.block)},
    {"bounds", STRING, AT(app.bounds)},
    {"budget", STRING, AT(run.budget)},
    {"build", STRING, AT(in.direct.build)},
    {"check", FLAG, AT(run.check)},
    {"clock", STRING, AT(app.clock)},
    {"command", STRING, AT(files.command)},
    {"counts-only", FLAG, AT(run.counts_only)},
    {"csv", STRING, AT(files.csv)},
    {"digests", STRING, AT(run.digests)},
    {"dump", STRING, AT(code.dump)},
    {"fail-if", STRING, AT(lab.fail_if)},
    {"flush", FLAG, AT(model.flush)},
    {"format", STRING, AT(files.format)},
    {"full", STRING, AT(sampling.full)},
    {"global", STRING, AT(in.direct.global)},
    {"gpu", STRING, AT(model.gpu)},
    {"grid", STRING, AT(in.direct.grid)},
    {"hardware", STRING, AT(lab.hardware)},
    {"host", STRING, AT(cluster.host)},
    {"images", INT, AT(code.images)},
    {"inputs-only", FLAG, AT(app.inputs_only)},
    {"kernel", STRING, AT(in.direct.kernel)},
    {"kernels", STRING, AT(in.kernels)},
    {"latencies", STRING, AT(model.latencies)},
    {"launches", STRING, AT(in.launches)},
    {"lines", FLAG, AT(run.lines)},
    {"local", STRING, AT(in.direct.local)},
    {"max-insts", COUNT, AT(in.max_insts)},
    {"measure", FLAG, AT(app.measure)},
    {"memory", COUNT, AT(app.memory)},
    {"merge", FLAG, AT(share.merge)},
    {"model", STRING, AT(model.model)},
    {"mpi", FLAG, AT(share.mpi)},
    {"node", STRING, AT(app.node)},
    {"no-check", FLAG, AT(in.no_check)},
    {"on", STRING, AT(in.on)},
    {"opencl", FLAG, AT(app.opencl)},
    {"output", STRING, AT(files.output)},
    {"per-node", INT, AT(cluster.per_node)},
    {"piece", COUNT, AT(sampling.piece)},
    {"platform", STRING, AT(cluster.platform)},
    {"plot", STRING, AT(files.plot)},
    {"precision", STRING, AT(sampling.precision)},
    {"profile", STRING, AT(sampling.profile)},
    {"ptx", FLAG, AT(code.ptx)},
    {"quiet", FLAG, AT(files.quiet)},
    {"range", STRING, AT(in.range)},
    {"ranks", INT, AT(cluster.ranks)},
    {"raw", FLAG, AT(code.raw)},
    {"record", STRING, AT(files.record)},
    {"regs", INT, AT(regs)},
    {"repeat", INT, AT(lab.repeat)},
    {"sample", FLAG, AT(sampling.on)},
    {"script", LIST, AT(lab.scripts)},
    {"second", LIST, AT(second)},
    {"set", LIST, AT(sets)},
    {"shard", STRING, AT(share.shard)},
    {"shared", STRING, AT(in.direct.shared)},
    {"size", STRING, AT(in.size)},
    {"source", STRING, AT(in.source)},
    {"tasks", FLAG, AT(code.tasks)},
    {"threads", INT, AT(in.threads)},
    {"timed", FLAG, AT(code.timed)},
    {"timeline", STRING, AT(run.timeline)},
    {"times", STRING, AT(cluster.times)},
    {"vary", LIST, AT(vary)},
    {"warm", STRING, AT(sampling.warm)},
    {"without", STRING, AT(lab.without)},
};
#define NOPTIONS (sizeof options / sizeof *options)

orr_options *orr_options_new(void) {
    orr_options *o = orr_calloc(1, sizeof *o);
    o->in.threads = orr_host_threads();
    o->regs = 32;
    o->barriers = 1;
    o->lab.repeat = 1;
    return o;
}

static const size_t lists[] = {AT(sets), AT(script_sets), AT(model.sets), AT(args),
                               AT(vary), AT(second),      AT(lab.scripts)};
static orr_words *list_of(orr_options *o, size_t at) { return (orr_words *)(void *)((char *)o + at); }

static void name_lists(orr_options *o) { // for those who have only pointers
    o->in.sets = o->script_sets.at;
    o->in.nsets = (int)o->script_sets.n;
    o->in.direct.args = o->args.at;
    o->in.direct.nargs = (int)o->args.n;
}

orr_options *orr_options_copy(const orr_options *o) {
    orr_options *copy = orr_calloc(1, sizeof *copy);
    *copy = *o;
    copy->arena = (orr_arena){0};
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        orr_words *to = list_of(copy, lists[k]), from = *to;
        *to = (orr_words){0};
        for (size_t n = 0; n < from.n; n++) *ORR_PUSH(to) = from.at[n];
    }
    name_lists(copy);
    return copy;
}

void orr_options_free(orr_options *o) {
    if (!o) return;
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) free(list_of(o, lists[k])->at);
    orr_arena_free(&o->arena);
    free(o);
}

// --set goes to two places: a key with a point is the GPU's (sm.count), and so is `memory`; any other is the
// script's (n).
static void split(orr_options *o, const char *set) {
    size_t key = strcspn(set, "=");
    // Two of the GPU's have no point.
    bool whole = (key == 6 && memcmp(set, "memory", 6) == 0) || (key == 8 && memcmp(set, "profiler", 8) == 0);
    bool gpu = whole || memchr(set, '.', key);
    *ORR_PUSH(gpu ? &o->model.sets : &o->script_sets) = set;
}

// A count: digits, perhaps followed by k, M or G.
static bool number(const char *s, uint64_t limit, uint64_t *out) {
    if (!isdigit((unsigned char)*s)) return false;
    char *end;
    errno = 0;
    unsigned long long v = strtoull(s, &end, 10);
    uint64_t unit = *end == 'k' ? 1000 : *end == 'M' ? 1000000 : *end == 'G' ? 1000000000 : 1;
    if (unit != 1) end++;
    if (errno || *end || v > limit / unit) return false;
    *out = v * unit;
    return true;
}

static bool store(orr_options *o, const struct option *x, const char *value, orr_err *e) {
    void *field = (char *)o + x->at;
    uint64_t v;
    switch (x->kind) {
    case FLAG:
        if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
            return orr_fail(e, ORR_BAD_INPUT, "--%s is yes or no, not \"%s\"", x->name, value);
        *(bool *)field = !strcmp(value, "yes");
        return true;
    case STRING: *(const char **)field = orr_arena_strdup(&o->arena, value); return true;
    case LIST: *ORR_PUSH((orr_words *)field) = orr_arena_strdup(&o->arena, value); return true;
    case INT:
        if (!number(value, 65536, &v) || v == 0)
            return orr_fail(e, ORR_BAD_INPUT, "--%s takes a number from 1 to 65536, not \"%s\"", x->name,
                            value);
        *(int *)field = (int)v;
        return true;
    case COUNT:
        if (!number(value, UINT64_MAX / 2, &v))
            return orr_fail(e, ORR_BAD_INPUT,
                            "--%s takes a number, perhaps with k, M or G behind it, not \"%s\"", x->name,
                            value);
        *(uint64_t *)field = v;
        return true;
    }
    return false;
}

bool orr_options_set(orr_options *o, const char *name, const char *value, orr_err *e) {
    if (e->status) return false;
    orr_nearest near = {.to = name};
    for (size_t k = 0; k < NOPTIONS; k++) {
        orr_consider(&near, options[k].name);
        if (strcmp(options[k].name, name) != 0) continue;
        if (!store(o, &options[k], value, e)) return false;
        // A key of the description that has an option of its own.
        if (!strcmp(name, "flush"))
            return orr_options_set(o, "set", o->model.flush ? "l2.flush=yes" : "l2.flush=no", e);
        if (!strcmp(name, "set")) split(o, o->sets.at[o->sets.n - 1]);
        name_lists(o);
        return true;
    }
    return orr_fail(e, ORR_BAD_INPUT, "there is no option \"%.60s\"%s%s%s", name,
                    orr_is_near(&near) ? "; did you mean \"" : "", orr_is_near(&near) ? near.best : "",
                    orr_is_near(&near) ? "\"?" : "");
}

void orr_options_watch(orr_options *o, orr_watch watch, void *arg) { o->watcher = (orr_watcher){watch, arg}; }
void orr_options_notes(orr_options *o, orr_reader reader, void *arg) { o->notes = (orr_notes){reader, arg}; }
void orr_options_print(orr_options *o, FILE *file) { o->in.print = file; }

// ---- what jobs ask ------------------------------------------------------------------------------
static orr_options *defaults;
static void make_defaults(void) { defaults = orr_options_new(); }

const orr_options *orr_asked(const orr_options *o) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (o) return o;
    pthread_once(&once, make_defaults);
    return defaults;
}

#define USUAL_GPU "h200"

// Keys that the description has under old names.
void orr_note_gpu(const orr_notes *notes, const orr_gpu *g) {
    for (int i = 0; i < g->nnotes; i++) orr_note(notes, "note: %s", g->notes[i]);
}

bool orr_asked_gpu(const orr_options *o, orr_gpu **gpu, orr_err *e) {
    orr_err why = {0};
    const orr_model_options *m = &o->model;
    *gpu = orr_gpu_load(m->gpu ? m->gpu : USUAL_GPU, m->sets.at, (int)m->sets.n, &why);
    if (*gpu) orr_note_gpu(&o->notes, *gpu);
    if (*gpu) return true;
    if (m->gpu || m->sets.n) return orr_fail(e, why.status, "%s", why.text);
    orr_note(&o->notes, "%s; going on without occupancy", why.text);
    return true;
}

orr_gpu *orr_asked_gpu_with(const orr_options *o, const char *set, orr_err *e) {
    const orr_model_options *m = &o->model;
    orr_words all = {0};
    if (set) *ORR_PUSH(&all) = set;
    for (size_t k = 0; k < m->sets.n; k++) *ORR_PUSH(&all) = m->sets.at[k];
    orr_gpu *g = orr_gpu_load(m->gpu ? m->gpu : USUAL_GPU, all.at, (int)all.n, e);
    free(all.at);
    return g;
}

bool orr_model_has_gpu(const orr_model *m, const orr_gpu *gpu, const char *what, const char *where,
                       orr_err *e) {
    if (!m->needs_gpu || gpu) return true;
    return orr_fail(e, ORR_BAD_INPUT, "%s: --model %s needs a GPU's description; name one with %s", what,
                    m->name, where);
}

// ---- files ----------------------------------------------------------------------------------------
bool orr_check_output(const char *output, const char *input, const char *option, orr_err *e) {
    struct stat in, out;
    if (!output || stat(input, &in) != 0 || stat(output, &out) != 0) return true;
    if (in.st_dev != out.st_dev || in.st_ino != out.st_ino) return true;
    return orr_fail(e, ORR_BAD_INPUT, "%s: is the INPUT; name another file with %s", output, option);
}

bool orr_check_writable(const char *output, orr_err *e) {
    orr_out out;
    struct stat st;
    if (!output || (stat(output, &st) == 0 && !S_ISREG(st.st_mode))) return true; // a pipe is opened once
    if (!orr_out_open(&out, output, e)) return false;
    orr_out_abort(&out);
    return true;
}

bool orr_write_file(const char *path, const char *text, size_t n, orr_err *e) {
    orr_out out;
    if (!orr_out_open(&out, path, e)) return false;
    if (n) fwrite(text, 1, n, out.f);
    return orr_out_commit(&out, e);
}
