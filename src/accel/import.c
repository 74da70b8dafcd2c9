// A configuration of GPGPU-Sim or Accel-Sim as a GPU description.
//
// The files are options, `-name value`, as GPGPU-Sim's own reader takes them: `#` begins a comment, values in
// double quotes may go over several lines, the last of two settings wins. Each part of the description asks
// for the options it is made from; what nobody asked for is named in the notes, with the reason where there
// is one (options.def). The result is read back as a description before it is handed out, so that what was
// imported loads.
//
// What the options mean is from GPGPU-Sim's manual and source (gpgpu-sim_distribution, dev of October 2024)
// and Accel-Sim's (accel-sim-framework); files are named where a number depends on how they do it.
#include "accel/import.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE    (1 << 20)
#define MAX_OPTIONS 4096
#define MAX_VALUE   1000

// ---- reading the options --------------------------------------------------------------------------

typedef struct words {
    const char *at, *end;
    const char *file;
    int line;
} words;

static bool blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

static void skip(words *w) {
    while (w->at < w->end) {
        if (*w->at == '#')
            while (w->at < w->end && *w->at != '\n') w->at++;
        else if (blank(*w->at))
            w->line += *w->at++ == '\n';
        else
            return;
    }
}

// The next word, or what is between double quotes with its blanks made one each; NULL at the end or on error.
static const char *next_word(importer *m, words *w) {
    char buf[MAX_VALUE + 1];
    size_t n = 0;
    skip(w);
    if (w->at == w->end) return NULL;
    bool quoted = *w->at == '"';
    int line = w->line;
    if (quoted) w->at++;
    for (;;) {
        if (w->at == w->end || (quoted ? *w->at == '"' : blank(*w->at) || *w->at == '#')) break;
        char c = *w->at;
        if (quoted && (blank(c) || c == '#')) {
            skip(w);
            c = ' ';
        } else {
            w->at++;
        }
        if (n == MAX_VALUE || (unsigned char)c < ' ' || c == 127) {
            orr_fail(m->e, ORR_BAD_INPUT, "%s:%d: %s", w->file, line,
                     n == MAX_VALUE ? "a word is longer than 1000 characters" : "this is not a text file");
            return NULL;
        }
        buf[n++] = c;
    }
    if (quoted && w->at == w->end) {
        orr_fail(m->e, ORR_BAD_INPUT, "%s:%d: the closing quote is missing", w->file, line);
        return NULL;
    }
    if (quoted) w->at++;
    return orr_arena_strndup(&m->arena, buf, n);
}

static bool read_options(importer *m, const char *text, size_t n, const char *file) {
    words w = {text, text + n, orr_arena_strdup(&m->arena, file), 1};
    for (;;) {
        skip(&w);
        int line = w.line;
        const char *name = next_word(m, &w);
        if (!name) return m->e->status == 0;
        if (name[0] != '-' || !isalpha((unsigned char)name[1]))
            return orr_fail(m->e, ORR_BAD_INPUT,
                            "%s:%d: expected an option, as -gpgpu_n_clusters 80, not '%.40s'", w.file, line,
                            name);
        const char *value = next_word(m, &w);
        if (!value) return orr_fail(m->e, ORR_BAD_INPUT, "%s:%d: %.60s has no value", w.file, line, name);
        if (m->options.n == MAX_OPTIONS)
            return orr_fail(m->e, ORR_BAD_INPUT, "%s:%d: more than %d options", w.file, line, MAX_OPTIONS);
        *ORR_PUSH(&m->options) = (import_option){name, value, w.file, line, false};
    }
}

// ---- asking for options ---------------------------------------------------------------------------

// The last one of that name; all of them count as used.
static import_option *find(importer *m, const char *name) {
    import_option *found = NULL;
    for (size_t i = 0; i < m->options.n; i++)
        if (strcmp(m->options.at[i].name, name) == 0) {
            found = &m->options.at[i];
            found->used = true;
        }
    return found;
}

bool import_has(const importer *m, const char *name) {
    for (size_t i = 0; i < m->options.n; i++)
        if (strcmp(m->options.at[i].name, name) == 0) return true;
    return false;
}

void import_wrong(importer *m, const char *name, const char *what) {
    const import_option *o = find(m, name);
    if (o)
        orr_fail(m->e, ORR_BAD_INPUT, "%s:%d: %s: '%.60s' is not %s", o->file, o->line, name, o->value, what);
    else
        orr_fail(m->e, ORR_BAD_INPUT, "%s is missing", name);
}

const char *import_text(importer *m, const char *name, const char *usual) {
    const import_option *o = find(m, name);
    return o ? o->value : usual;
}

// A number at *p, with or without a fraction; false when there is none.
static bool number(const char **p, double *v) {
    const char *s = *p;
    double whole = 0, scale = 1;
    bool digits = false, minus = *s == '-';
    if (minus) s++;
    for (; *s >= '0' && *s <= '9'; s++, digits = true) whole = whole * 10 + (*s - '0');
    if (digits && *s == '.')
        for (s++; *s >= '0' && *s <= '9'; s++) whole += (*s - '0') * (scale /= 10);
    if (!digits || whole > 1e15) return false;
    *v = minus ? -whole : whole;
    *p = s;
    return true;
}

int64_t import_int(importer *m, const char *name, int64_t usual, int64_t lo, int64_t hi) {
    const import_option *o = find(m, name);
    if (!o) return usual;
    const char *p = o->value;
    double v;
    if (!number(&p, &v) || *p || v != floor(v) || v < (double)lo || v > (double)hi) {
        char what[80];
        snprintf(what, sizeof what, "a number from %lld to %lld", (long long)lo, (long long)hi);
        import_wrong(m, name, what);
        return lo;
    }
    return (int64_t)v;
}

int import_numbers(importer *m, const char *name, const char *usual, const char *seps, double *out, int max) {
    const char *p = import_text(m, name, usual);
    int n = 0;
    while (*p == ' ') p++;
    while (*p) {
        if (n == max) return n; // what follows is of a newer version
        if (!number(&p, &out[n])) {
            import_wrong(m, name, "a list of numbers");
            return n;
        }
        n++;
        while (*p == ' ') p++;
        if (!*p) break;
        if (!strchr(seps, *p)) {
            import_wrong(m, name, "a list of numbers");
            return n;
        }
        p++;
        while (*p == ' ') p++;
    }
    return n;
}

// Cache strings (GPGPU-Sim's gpu-cache.h, cache_config::init):
//   type:sets:line:ways,replacement:write:alloc:write_alloc:index,mshr:entries:merges,queue[:fifo][,port]
// Version 3 had neither the type in front nor the set index.
static bool field(const char **p, char sep, int64_t *v) {
    double d;
    if (!number(p, &d) || d < 0 || d != floor(d) || d > 1e9) return false;
    *v = (int64_t)d;
    if (sep && **p != sep) return false;
    *p += sep != 0;
    return true;
}

static bool letter(const char **p, const char *known, char *c) {
    if (!**p || !strchr(known, **p)) return false;
    *c = *(*p)++;
    return true;
}

static bool read_cache(const char *p, import_cache *c) {
    char rep, mshr, after;
    int64_t queue, fifo;
    *c = (import_cache){.type = 'N', .index = 'L'};
    if ((*p == 'S' || *p == 'N') && p[1] == ':') c->type = *p, p += 2;
    if (!field(&p, ':', &c->sets) || !field(&p, ':', &c->line) || !field(&p, ',', &c->ways)) return false;
    if (!letter(&p, "LF", &rep) || *p++ != ':' || !letter(&p, "RBTEL", &c->write) || *p++ != ':' ||
        !letter(&p, "mfs", &c->alloc) || *p++ != ':' || !letter(&p, "NWFL", &c->write_alloc))
        return false;
    if (*p == ':' && (p++, !letter(&p, "HPCLX", &c->index))) return false;
    if (*p++ != ',' || !letter(&p, "AFST", &mshr) || *p++ != ':' || !field(&p, ':', &c->misses) ||
        !field(&p, ',', &c->merges) || !field(&p, 0, &queue))
        return false;
    while (*p == ':' || *p == ',') {
        after = *p++;
        if (!field(&p, 0, after == ',' ? &c->port : &fifo)) return false;
    }
    if (!c->port) c->port = c->line;
    return !*p && c->sets > 0 && c->line > 0 && c->ways > 0 && c->misses > 0 && c->merges > 0;
}

bool import_cache_string(importer *m, const char *name, const char *usual, import_cache *c) {
    const char *s = import_text(m, name, usual);
    if (strcmp(s, "none") == 0) {
        *c = (import_cache){.none = true};
        return true;
    }
    if (read_cache(s, c)) return true;
    import_wrong(m, name, "a cache, as S:32:128:24,L:B:m:L:P,A:192:4,32:0,32");
    *c = (import_cache){
        .type = 'N', .sets = 1, .line = 128, .ways = 1, .index = 'L', .misses = 1, .merges = 1};
    return false;
}

// Booksim's file: "flit_size = 40;", with // in front of comments.
static bool read_flit(const char *text, size_t n, int64_t *flit) {
    bool found = false;
    for (const char *p = text, *end = text + n; p < end;) {
        const char *next = memchr(p, '\n', (size_t)(end - p));
        if (!next) next = end;
        while (p < next && blank(*p)) p++;
        if (next - p > 9 && memcmp(p, "flit_size", 9) == 0) {
            p += 9;
            while (p < next && (blank(*p) || *p == '=')) p++;
            int64_t v = 0;
            for (; p < next && *p >= '0' && *p <= '9' && v < 100000; p++) v = v * 10 + (*p - '0');
            if (v >= 9 && v <= 4096) *flit = v, found = true; // the last one counts
        }
        p = next + 1;
    }
    return found;
}

bool import_network(importer *m, int64_t *flit) {
    const import_option *o = m->files ? find(m, "-inter_config_file") : NULL;
    if (!o) return false;
    const char *slash = strrchr(o->file, '/');
    const char *path =
        orr_arena_printf(&m->arena, "%.*s%s", slash ? (int)(slash - o->file) + 1 : 0, o->file, o->value);
    orr_err none = {0};
    size_t n;
    char *text = orr_read_file(path, MAX_FILE, &n, &none);
    bool ok = text && read_flit(text, n, flit);
    free(text);
    orr_text_add(
        &m->said,
        ok ? "%s:%d: %s %.80s: of the network's file its flit_size is used; a crossbar is assumed\n"
           : "%s:%d: %s %.80s: the network's file is not beside the configuration, or has no flit_size: "
             "-icnt_flit_size counts, or its default of 32 bytes\n",
        o->file, o->line, o->name, o->value);
    return ok;
}

// ---- writing the description ------------------------------------------------------------------------

const char *import_from(importer *m, const char *name) {
    const import_option *o = find(m, name);
    if (!o) return orr_arena_printf(&m->arena, "%s is not given: its default", name);
    bool cut = strlen(o->value) > 60;
    return orr_arena_printf(&m->arena, "%s %.60s%s", name, o->value, cut ? "..." : "");
}

void import_put(importer *m, const char *key, const char *from, const char *fmt, ...) {
    char value[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(value, sizeof value, fmt, ap);
    va_end(ap);
    orr_text_add(&m->conf, "%-22s = %-18s # published: %s\n", key, value, from);
}

void import_num(importer *m, const char *key, double v, const char *unit, const char *from) {
    char digits[80]; // never an exponent: descriptions have none
    snprintf(digits, sizeof digits, "%.4f", v);
    char *end = digits + strlen(digits);
    while (end[-1] == '0') *--end = 0;
    if (end[-1] == '.') *--end = 0;
    import_put(m, key, from, "%s%s%s", digits, *unit ? " " : "", unit);
}

void import_heading(importer *m, const char *what) { orr_text_add(&m->conf, "\n# %s\n", what); }

// A name that a description can hold: letters, digits and a few signs.
static void printable(char *to, size_t size, const char *from) {
    size_t n = 0;
    for (; *from && n + 1 < size; from++)
        to[n++] = isalnum((unsigned char)*from) || strchr(" ._-()", *from) ? *from : '_';
    to[n] = 0;
}

static void what_it_is(importer *m, const char *name) {
    static const struct {
        int cc;
        const char *family;
    } families[] = {{20, "Fermi"},  {30, "Kepler"}, {50, "Maxwell"}, {60, "Pascal"}, {70, "Volta"},
                    {75, "Turing"}, {80, "Ampere"}, {89, "Ada"},     {90, "Hopper"}, {100, "Blackwell"}};
    char product[60];
    printable(product, sizeof product, name);
    m->cc_major = import_int(m, "-gpgpu_compute_capability_major", 7, 1, 99);
    m->cc_minor = import_int(m, "-gpgpu_compute_capability_minor", 0, 0, 9);
    int64_t cc = m->cc_major * 10 + m->cc_minor;
    const char *family = "unknown";
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (cc >= families[i].cc) family = families[i].family;
    orr_text_add(&m->conf, "# Made by `orrery gpu import` from a configuration of GPGPU-Sim%s.\n",
                 m->trace ? " and Accel-Sim" : "");
    orr_text_add(
        &m->conf,
        "# Behind each value: the option it comes from, or how it follows from GPGPU-Sim's source.\n");
    import_heading(m, "what it is");
    import_put(m, "product", "the configuration's name", "\"%s\"", product);
    import_put(m, "family", "by compute capability", "\"%s\"", family);
    import_num(m, "cc.major", (double)m->cc_major, "", import_from(m, "-gpgpu_compute_capability_major"));
    import_num(m, "cc.minor", (double)m->cc_minor, "", import_from(m, "-gpgpu_compute_capability_minor"));
    m->clusters = import_int(m, "-gpgpu_n_clusters", 10, 1, 4096);
    m->cores_per_cluster = import_int(m, "-gpgpu_n_cores_per_cluster", 3, 1, 4096);
    import_num(m, "sm.count", (double)(m->clusters * m->cores_per_cluster), "SMs",
               orr_arena_printf(&m->arena, "%s x %s", import_from(m, "-gpgpu_n_clusters"),
                                import_from(m, "-gpgpu_n_cores_per_cluster")));
    import_num(m, "tpc.count", (double)m->clusters, "TPCs", "cores of a cluster share a port of the network");

    double clock[4] = {500, 2000, 2000, 2000};
    int n = import_numbers(m, "-gpgpu_clock_domains", "500:2000:2000:2000", ":", clock, 4);
    if (n != 4) import_wrong(m, "-gpgpu_clock_domains", "four clocks, as 1132:1132:1132:850");
    for (int i = 0; i < 4; i++)
        if (clock[i] < 1 || clock[i] > 20000) {
            import_wrong(m, "-gpgpu_clock_domains", "four clocks from 1 to 20000 MHz");
            clock[i] = 1000;
        }
    m->clock_sm = clock[0], m->clock_net = clock[1], m->clock_l2 = clock[2], m->clock_dram = clock[3];
    const char *from = import_from(m, "-gpgpu_clock_domains");
    import_num(m, "clock.sm", clock[0], "MHz", from);
    import_num(m, "clock.l2", clock[2], "MHz", from);
    import_num(m, "clock.dram", clock[3], "MHz", from);
}

// ---- the notes --------------------------------------------------------------------------------------

static const char *why_unused(const char *name) {
    static const struct {
        const char *name, *why;
    } unused[] = {
#define UNUSED(name, why) {name, why},
#include "accel/options.def"
#undef UNUSED
    };
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++) {
        size_t n = strlen(unused[i].name);
        bool same = unused[i].name[n - 1] == '*' ? strncmp(name, unused[i].name, n - 1) == 0
                                                 : strcmp(name, unused[i].name) == 0;
        if (same) return unused[i].why;
    }
    return "this option is not known";
}

static void add_notes(importer *m, orr_text *notes) {
    for (size_t i = 0; i < m->options.n; i++) {
        const import_option *o = &m->options.at[i];
        if (!o->used)
            orr_text_add(notes, "%s:%d: %.80s %.80s: not used: %s\n", o->file, o->line, o->name, o->value,
                         why_unused(o->name));
    }
}

// ---- the door ---------------------------------------------------------------------------------------

static bool make(importer *m, const char *name, orr_text *conf, orr_text *notes) {
    if (!m->options.n && !m->e->status)
        orr_fail(m->e, ORR_BAD_INPUT, "%s: has no options; is it a gpgpusim.config?", name);
    if (!m->e->status) {
        what_it_is(m, name);
        import_core(m);
        import_memory(m);
    }
    if (!m->e->status) { // what it says must be a description
        orr_err why = {0};
        orr_gpu *g = orr_gpu_parse("the description", m->conf.s, m->conf.n, NULL, 0, &why);
        if (!g) orr_fail(m->e, ORR_BAD_INPUT, "%s: cannot be described: %s", name, why.text);
        orr_gpu_free(g);
    }
    bool ok = m->e->status == 0;
    if (ok) {
        orr_text_addn(conf, m->conf.s, m->conf.n);
        add_notes(m, notes);
        orr_text_addn(notes, m->said.s ? m->said.s : "", m->said.n);
    }
    free(m->said.s);
    free(m->conf.s);
    free(m->options.at);
    orr_arena_free(&m->arena);
    return ok;
}

bool orr_accel_import_text(const orr_accel_text *t, orr_text *conf, orr_text *notes, orr_err *e) {
    importer m = {.trace = t->trace != NULL, .e = e};
    if (t->gpgpusim_n > MAX_FILE || t->trace_n > MAX_FILE)
        return orr_fail(e, ORR_BAD_INPUT, "%s: a configuration cannot be larger than 1 MB", t->name);
    if (read_options(&m, t->gpgpusim, t->gpgpusim_n, "gpgpusim.config") && t->trace)
        read_options(&m, t->trace, t->trace_n, "trace.config");
    return make(&m, t->name, conf, notes);
}

// "configs/SM7_QV100/gpgpusim.config" is called SM7_QV100.
static const char *name_of(importer *m, const char *path) {
    const char *slash = strrchr(path, '/'), *end = slash;
    if (!slash) return path;
    if (strcmp(slash + 1, "gpgpusim.config") != 0) return slash + 1;
    const char *start = slash;
    while (start > path && start[-1] != '/') start--;
    if (start == end || *start == '.') return slash + 1;
    return orr_arena_strndup(&m->arena, start, (size_t)(end - start));
}

static bool read_path(importer *m, const char *path) {
    size_t n;
    char *text = orr_read_file(path, MAX_FILE, &n, m->e);
    bool ok = text && read_options(m, text, n, path);
    free(text);
    return ok;
}

bool orr_accel_import(const char *gpgpusim, const char *trace, orr_text *conf, orr_text *notes, orr_err *e) {
    importer m = {.trace = trace != NULL, .files = true, .e = e};
    if (read_path(&m, gpgpusim) && trace) read_path(&m, trace);
    return make(&m, name_of(&m, gpgpusim), conf, notes);
}
