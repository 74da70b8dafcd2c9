// A result for people: aligned tables that fit a terminal, most important first. Colour only when the
// caller says that this is a terminal.
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TOP_OPS = 12, TOP_LINES = 40, LAUNCH_ROWS = 24 };

typedef struct page {
    orr_text *t;
    const orr_report_options *o;
} page;

static const char *bold(const page *p) { return p->o->colour ? "\033[1m" : ""; }
static const char *plain(const page *p) { return p->o->colour ? "\033[0m" : ""; }

static double percent(uint64_t a, uint64_t b) { return b ? 100.0 * (double)a / (double)b : 0; }

// "4096", "64 x 64": without trailing dimensions of 1.
static const char *shape(char buf[48], const uint32_t d[3]) {
    if (d[2] != 1)
        snprintf(buf, 48, "%u x %u x %u", d[0], d[1], d[2]);
    else if (d[1] != 1)
        snprintf(buf, 48, "%u x %u", d[0], d[1]);
    else
        snprintf(buf, 48, "%u", d[0]);
    return buf;
}

static const char *bytes_text(char buf[32], uint64_t v) {
    char n[32];
    snprintf(buf, 32, "%sB", orr_si(n, (double)v));
    if (!strchr(buf, ' ')) snprintf(buf, 32, "%llu B", (unsigned long long)v);
    return buf;
}

// ---- one kernel -------------------------------------------------------------------------------
// A kernel whose launches all have one shape says it; else the table of launches does.
static void kernel_head(const page *p, const orr_result *r, const orr_profile *f) {
    const orr_kernel *k = f->kernel;
    const orr_launch_result *first = NULL;
    bool same = true;
    for (size_t i = 0; i < r->launches.n; i++) {
        const orr_launch_result *l = &r->launches.at[i];
        if (l->kernel != k) continue;
        if (!first) first = l;
        same &= !memcmp(l->grid, first->grid, sizeof l->grid) &&
                !memcmp(l->block, first->block, sizeof l->block) &&
                l->dynamic_shared == first->dynamic_shared;
    }
    char a[48], b[48];
    orr_text_add(p->t, "\n%skernel %s%s  %u launch%s", bold(p), k->name, plain(p), f->launches,
                 f->launches == 1 ? "" : "es");
    if (first && same) {
        orr_text_add(p->t, "  grid %s  block %s", shape(a, first->grid), shape(b, first->block));
        if (first->dynamic_shared) orr_text_add(p->t, "  dynamic shared %u B", first->dynamic_shared);
    }
    orr_text_add(p->t, "\n  %u registers a thread, %u B shared", k->regs, k->shared_bytes);
    if (first && same && !isnan(first->occupancy))
        orr_text_add(p->t, ", occupancy %.0f %% on %s", first->occupancy * 100, r->gpu);
    orr_text_add(p->t, "\n");
}

static void kernel_totals(const page *p, const orr_sums *s) {
    char a[32], b[32];
    orr_text_add(p->t, "\n  %-22s %18s\n  %-22s %18s\n", "warp instructions", orr_commas(a, s->warp),
                 "thread instructions", orr_commas(b, s->thread));
    orr_text_add(p->t, "  %-22s %18.2f  of 32:", "active lanes",
                 s->warp ? (double)s->thread / (double)s->warp : 0);
    for (int i = ORR_ACTIVE_RANGES - 1; i >= 0; i--)
        if (s->active[i])
            orr_text_add(p->t, "  %s %.1f %%", orr_active_name[i], percent(s->active[i], s->warp));
    orr_text_add(p->t, "\n  %-22s %18s", "conditional branches", orr_commas(a, s->branches));
    if (s->branches)
        orr_text_add(p->t, "  divergent %s (%.1f %%)", orr_commas(b, s->divergent),
                     percent(s->divergent, s->branches));
    orr_text_add(p->t, "\n");
    const struct {
        const char *name;
        uint64_t n;
    } rare[] = {{"barriers", s->barriers},
                {"warp syncs", s->warp_syncs},
                {"fences", s->fences},
                {"atomics", s->atomics},
                {"calls", s->calls}};
    for (size_t i = 0; i < sizeof rare / sizeof rare[0]; i++)
        if (rare[i].n) orr_text_add(p->t, "  %-22s %18s\n", rare[i].name, orr_commas(a, rare[i].n));
}

// Units on the left, operations on the right.
static void kernel_mix(const page *p, const orr_sums *s) {
    char a[32];
    int units[ORR_UNIT_COUNT], n = 0;
    for (int u = 0; u < ORR_UNIT_COUNT; u++)
        if (s->unit_warp[u]) units[n++] = u;
    for (int i = 1; i < n; i++) // few: insertion
        for (int j = i; j > 0 && s->unit_warp[units[j]] > s->unit_warp[units[j - 1]]; j--) {
            int u = units[j];
            units[j] = units[j - 1];
            units[j - 1] = u;
        }
    int nops = s->ops.n < TOP_OPS ? (int)s->ops.n : TOP_OPS;
    orr_text_add(p->t, "\n  %s%-8s %16s %6s     %-20s %16s %6s%s\n", bold(p), "unit", "warp insts", "%",
                 "operation", "warp insts", "%", plain(p));
    for (int i = 0; i < n || i < nops; i++) {
        if (i < n)
            orr_text_add(p->t, "  %-8s %16s %6.1f", orr_unit_name[units[i]],
                         orr_commas(a, s->unit_warp[units[i]]), percent(s->unit_warp[units[i]], s->warp));
        else
            orr_text_add(p->t, "  %32s", "");
        if (i < nops)
            orr_text_add(p->t, "     %-20s %16s %6.1f", s->ops.at[i].name, orr_commas(a, s->ops.at[i].warp),
                         percent(s->ops.at[i].warp, s->warp));
        orr_text_add(p->t, "\n");
    }
    if (s->ops.n > TOP_OPS) orr_text_add(p->t, "  %32s     and %zu more\n", "", s->ops.n - TOP_OPS);
}

static void kernel_memory(const page *p, const orr_sums *s) {
    char a[32], b[32], c[32], d[32];
    bool sectors = false, banks = false;
    for (int space = 0; space < ORR_SPACE_COUNT; space++)
        for (int kind = 0; kind < ORR_MEM_KINDS; kind++)
            if (s->mem[space][kind].requests) *(space == ORR_SPACE_SHARED ? &banks : &sectors) = true;
    if (sectors)
        orr_text_add(p->t, "\n  %s%-12s %14s %16s %8s %16s %6s %10s%s\n", bold(p), "memory", "requests",
                     "sectors", "per req", "if packed", "%", "bytes", plain(p));
    for (int space = 0; space < ORR_SPACE_COUNT; space++)
        for (int kind = 0; kind < ORR_MEM_KINDS; kind++) {
            const orr_mem_sum *m = &s->mem[space][kind];
            if (!m->requests || space == ORR_SPACE_SHARED) continue;
            char name[24];
            snprintf(name, sizeof name, "%s %s", orr_space_name[space], orr_mem_kind_name[kind]);
            orr_text_add(p->t, "  %-12s %14s %16s %8.2f %16s %6.1f %10s\n", name, orr_commas(a, m->requests),
                         orr_commas(b, m->sectors), (double)m->sectors / (double)m->requests,
                         orr_commas(c, m->ideal), percent(m->ideal, m->sectors), bytes_text(d, m->bytes));
        }
    if (banks)
        orr_text_add(p->t, "\n  %s%-12s %14s %16s %8s %16s %6s %10s%s\n", bold(p), "memory", "requests",
                     "passes", "per req", "conflicts", "%", "bytes", plain(p));
    for (int kind = 0; kind < ORR_MEM_KINDS; kind++) {
        const orr_mem_sum *m = &s->mem[ORR_SPACE_SHARED][kind];
        if (!m->requests) continue;
        char name[24];
        snprintf(name, sizeof name, "shared %s", orr_mem_kind_name[kind]);
        orr_text_add(p->t, "  %-12s %14s %16s %8.2f %16s %6.1f %10s\n", name, orr_commas(a, m->requests),
                     orr_commas(b, m->passes), (double)m->passes / (double)m->requests,
                     orr_commas(c, m->passes - m->phases), percent(m->passes - m->phases, m->passes),
                     bytes_text(d, m->bytes));
    }
}

// ---- source lines -----------------------------------------------------------------------------
// A source file is looked for as the compiler named it, then beside the module.
typedef struct source_text {
    const char *name;
    char *text; // NULL: not found
} source_text;

// Only a regular file: the name is the module's, and reading a terminal or a pipe would wait for ever.
static char *read_regular(const char *path) {
    orr_err none = {0};
    size_t size;
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) return NULL;
    return orr_read_file(path, 16u << 20, &size, &none);
}

static char *read_source(const char *name, const char *module) {
    char *text = read_regular(name);
    const char *slash = strrchr(module, '/'), *base = strrchr(name, '/');
    if (text || !module[0]) return text;
    orr_text path = {0};
    orr_text_addn(&path, module, slash ? (size_t)(slash - module) + 1 : 0);
    orr_text_add(&path, "%s", base ? base + 1 : name);
    text = read_regular(path.s);
    free(path.s);
    return text;
}

// Line `n` without the blanks around it, shortened, and harmless to a terminal.
static void source_line(const char *text, uint32_t n, char to[64]) {
    to[0] = 0;
    if (!n) return;
    while (--n && text) {
        text = strchr(text, '\n');
        if (text) text++;
    }
    if (!text) return;
    while (*text == ' ' || *text == '\t') text++;
    size_t len = strcspn(text, "\r\n");
    while (len && (text[len - 1] == ' ' || text[len - 1] == '\t')) len--;
    bool cut = len > 56;
    if (cut) len = 53;
    for (size_t i = 0; i < len; i++) to[i] = (unsigned char)text[i] < 32 || text[i] == 127 ? ' ' : text[i];
    strcpy(to + len, cut ? "..." : "");
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void kernel_lines(const page *p, const orr_profile *f, const orr_sums *s) {
    const char *module = f->kernel->module && f->kernel->module->path ? f->kernel->module->path : "";
    ORR_VEC(source_text) sources = {0};
    char a[32], b[32];
    size_t shown = s->lines.n < TOP_LINES ? s->lines.n : TOP_LINES;
    int wide = 12;
    for (size_t i = 0; i < shown; i++) {
        int n = snprintf(NULL, 0, "%s:%u", base_name(s->lines.at[i].file ? s->lines.at[i].file : module),
                         s->lines.at[i].line);
        if (n > wide) wide = n < 36 ? n : 36;
    }
    orr_text_add(p->t, "\n  %s%-*s %14s %6s %7s %12s %8s %9s  source%s\n", bold(p), wide, "line",
                 "warp insts", "%", "active", "requests", "sect/req", "divergent", plain(p));
    for (size_t i = 0; i < shown; i++) {
        const orr_line_sum *l = &s->lines.at[i];
        const char *name = l->file ? l->file : module;
        size_t at = 0;
        while (at < sources.n && sources.at[at].name != name) at++;
        if (at == sources.n) {
            source_text *new = ORR_PUSH(&sources);
            new->name = name;
            new->text = read_source(name, module);
        }
        char where[64], text[64] = "", sect[16] = "", split[32] = "";
        const char *base = base_name(name);
        size_t len = strlen(base);
        snprintf(where, sizeof where, "%s:%u", len > 28 ? base + len - 28 : base, l->line);
        if (!l->line)
            strcpy(text, "(the compiler's own)"); // .loc with line 0
        else if (sources.at[at].text)
            source_line(sources.at[at].text, l->line, text);
        if (l->sector_requests)
            snprintf(sect, sizeof sect, "%.2f", (double)l->sectors / (double)l->sector_requests);
        if (l->branches) snprintf(split, sizeof split, "%.1f %%", percent(l->divergent, l->branches));
        orr_text_add(p->t, "  %-*s %14s %6.1f %7.2f %12s %8s %9s  %s\n", wide, where, orr_commas(a, l->warp),
                     percent(l->warp, s->warp), (double)l->thread / (double)l->warp,
                     l->requests ? orr_commas(b, l->requests) : "", sect, split, text);
    }
    if (s->lines.n > shown) orr_text_add(p->t, "  and %zu more; --json has all\n", s->lines.n - shown);
    for (size_t i = 0; i < sources.n; i++) free(sources.at[i].text);
    free(sources.at);
}

// ---- launches ---------------------------------------------------------------------------------
static void launch_table(const page *p, const orr_result *r) {
    char a[48], b[48], c[32], d[32];
    orr_text_add(p->t, "\n%s%6s  %-24s %-18s %-14s %16s %18s%s\n", bold(p), "launch", "kernel", "grid",
                 "block", "warp insts", "thread insts", plain(p));
    size_t shown = r->launches.n < LAUNCH_ROWS ? r->launches.n : LAUNCH_ROWS;
    for (size_t i = 0; i < shown; i++) {
        const orr_launch_result *l = &r->launches.at[i];
        orr_text_add(p->t, "%6u  %-24s %-18s %-14s %16s %18s\n", l->index, l->kernel->name, shape(a, l->grid),
                     shape(b, l->block), orr_commas(c, l->warp_insts), orr_commas(d, l->thread_insts));
    }
    if (r->launches.n > shown)
        orr_text_add(p->t, "        and %zu more; --json has all\n", r->launches.n - shown);
}

void orr_report_text(const orr_result *r, const orr_report_options *o, orr_text *t) {
    page p = {t, o};
    char a[32], b[32];
    uint64_t warp = 0, thread = 0;
    for (size_t i = 0; i < r->launches.n; i++) {
        warp += r->launches.at[i].warp_insts;
        thread += r->launches.at[i].thread_insts;
    }
    orr_text_add(t, "%s%s%s%s%s%s  model %s, %s%s, from %s\n", bold(&p), r->input, plain(&p),
                 r->size && *r->size ? " (" : "", r->size ? r->size : "", r->size && *r->size ? ")" : "",
                 r->model, r->gpu ? "gpu " : "no gpu", r->gpu ? r->gpu : "", r->source);
    orr_text_add(t, "%zu launch%s, %s warp instructions, %s thread instructions", r->launches.n,
                 r->launches.n == 1 ? "" : "es", orr_commas(a, warp), orr_commas(b, thread));
    if (r->checked) orr_text_add(t, "; %u buffer%s as expected", r->checked, r->checked == 1 ? "" : "s");
    orr_text_add(t, "\n");
    if (r->launches.n > 1 || !r->profiles.n) launch_table(&p, r);
    for (size_t i = 0; i < r->profiles.n; i++) {
        orr_sums s;
        orr_sums_make(r->profiles.at[i], &s);
        kernel_head(&p, r, r->profiles.at[i]);
        kernel_totals(&p, &s);
        kernel_mix(&p, &s);
        kernel_memory(&p, &s);
        if (o->lines) kernel_lines(&p, r->profiles.at[i], &s);
        orr_sums_free(&s);
    }
    if (o->host && r->host.seconds > 0) {
        char c[32];
        orr_text_add(t, "\n%.2f s on %d thread%s, %s thread instructions a second, peak memory %s\n",
                     r->host.seconds, r->host.threads, r->host.threads == 1 ? "" : "s",
                     orr_si(a, (double)thread / r->host.seconds), bytes_text(c, r->host.peak_rss));
    }
}
