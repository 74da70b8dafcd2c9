// Nsight Compute: where it is, what it is asked for, and what it answers.
//
// `ncu --csv --page raw` prints lines of its own ("==PROF== ..."), then one table: names, units, a row for
// each kernel that it saw, in the order of launching, numbers with thousands separated. It knows kernels, not
// scripts. `orrery hw run
// --log` in the same process writes which script launched what, in the same order. The two are joined row by
// row, and every name and shape is compared, so that a kernel that one of them missed is noticed.
#include "hw/hw.h"
#include "lab/lab.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- the program ----------------------------------------------------------------------------
static bool can_run(const char *path) { return access(path, X_OK) == 0; }

// FOLDER/NAME/tail for the last name in FOLDER, as text is compared, that has it: the newest version.
static const char *newest(orr_arena *a, const char *folder, const char *start, const char *tail) {
    DIR *d = opendir(folder);
    const char *best = NULL;
    for (struct dirent *entry; d && (entry = readdir(d));) {
        if (strncmp(entry->d_name, start, strlen(start)) != 0 || entry->d_name[0] == '.') continue;
        const char *path = orr_arena_printf(a, "%s/%s/%s", folder, entry->d_name, tail);
        if (can_run(path) && (!best || strcmp(path, best) > 0)) best = path;
    }
    if (d) closedir(d);
    return best;
}

const char *orr_ncu_find(orr_arena *a, orr_err *e) {
    const char *told = getenv("ORRERY_NCU"), *path = getenv("PATH");
    if (told && *told) {
        if (can_run(told)) return orr_arena_strdup(a, told);
        orr_fail(e, ORR_BAD_INPUT, "$ORRERY_NCU names %s, which cannot be run", told);
        return NULL;
    }
    for (const char *p = path ? path : ""; *p;) {
        size_t n = strcspn(p, ":");
        const char *file = orr_arena_printf(a, "%.*s/ncu", (int)n, p);
        if (n && can_run(file)) return file;
        p += n + (p[n] == ':');
    }
    const char *file = "/usr/local/cuda/bin/ncu";
    if (can_run(file)) return file;
    if ((file = newest(a, "/usr/local", "cuda-", "bin/ncu"))) return file;
    if ((file = newest(a, "/opt/nvidia/nsight-compute", "", "ncu"))) return file;
    orr_fail(e, ORR_BAD_INPUT,
             "hw profile needs Nsight Compute's ncu, which is not in PATH, /usr/local/cuda*/bin or "
             "/opt/nvidia/nsight-compute; install it (it comes with CUDA) or name it with $ORRERY_NCU");
    return NULL;
}

// ---- what it is asked for ---------------------------------------------------------------------
// One pass: more of them would make a repeat longer than it need be.
static const char *const timing_metrics[] = {"gpc__cycles_elapsed.max", "gpu__time_duration.sum",
                                             "sm__cycles_active.avg", "gpc__cycles_elapsed.avg.per_second"};

// What L2 and memory were asked for, all in one pass, too: where a kernel takes several, the profiler saves
// and restores memory, L2 counts that, and what is left of it there is written back while the kernel reads
// (docs/reference/counters.md, What L2's counters hold).
static const char *const l2_metrics[] = {
    "lts__t_sectors.sum",
    "lts__t_sectors_op_read.sum",
    "lts__t_sectors_op_write.sum",
    "lts__t_sectors_op_red.sum",
    "lts__t_sectors_op_atom.sum",
    "lts__t_sectors_srcunit_tex_op_read.sum",
    "lts__t_sectors_srcunit_tex_op_write.sum",
    "lts__t_sectors_srcunit_ltcfabric.sum", // between the two halves of L2
    "dram__sectors_read.sum",
    "dram__sectors_write.sum",
};

// What the table of counters does not have, or has as made of others.
static const char *const also[] = {
    "gpc__cycles_elapsed.max",
    "sm__cycles_active.avg",
    "gpc__cycles_elapsed.avg.per_second",  // the SMs' clock
    "lts__cycles_elapsed.avg.per_second",  // L2's
    "dram__cycles_elapsed.avg.per_second", // memory's
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "launch__occupancy_limit_blocks",
    "launch__occupancy_limit_registers",
    "launch__occupancy_limit_shared_mem",
    "launch__occupancy_limit_warps",
    "launch__occupancy_limit_barriers",
    "launch__shared_mem_config_size",
    "launch__waves_per_multiprocessor",
};

// What a counter of ours is measured by: counts. Averages, shares and rates are made of those, bytes of
// sectors. Reasons of stalls have both forms in the table, and not every profiler has the counts
// (orr_ncu_known chooses).
static bool is_measured(const char *name) {
    size_t n = strlen(name);
    if (strstr(name, "orrery__") || strstr(name, "_bytes") || strstr(name, "m__cycles_elapsed.sum"))
        return false;
    return (n > 4 && !strcmp(name + n - 4, ".sum")) || strstr(name, "_per_issue_active.ratio");
}

bool orr_ncu_of_l2(const char *name) {
    for (size_t k = 0; k < sizeof l2_metrics / sizeof *l2_metrics; k++)
        if (!strcmp(name, l2_metrics[k])) return true;
    return false;
}

void orr_ncu_l2(orr_names *names) {
    for (size_t k = 0; k < sizeof l2_metrics / sizeof *l2_metrics; k++) *ORR_PUSH(names) = l2_metrics[k];
}

void orr_ncu_metrics(orr_names *names, bool timing) {
    if (timing) {
        for (size_t k = 0; k < sizeof timing_metrics / sizeof *timing_metrics; k++)
            *ORR_PUSH(names) = timing_metrics[k];
        return;
    }
    for (size_t k = 0; k < sizeof also / sizeof *also; k++) *ORR_PUSH(names) = also[k];
    for (int k = 0; k < ORR_COUNTERS; k++)
        if (is_measured(orr_counters[k].name) && !orr_ncu_of_l2(orr_counters[k].name))
            *ORR_PUSH(names) = orr_counters[k].name;
}

// A program has many kernels, and each pass over one saves and restores its memory.
static const char *const few_metrics[] = {
    "gpc__cycles_elapsed.max",
    "gpu__time_duration.sum",
    "sm__cycles_active.avg",
    "gpc__cycles_elapsed.avg.per_second",
    "smsp__inst_executed.sum",
    "smsp__thread_inst_executed.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "lts__t_sectors_op_read.sum",
    "lts__t_sectors_op_write.sum",
    "dram__sectors_read.sum",
    "dram__sectors_write.sum",
};

void orr_ncu_few(orr_names *names) {
    for (size_t k = 0; k < sizeof few_metrics / sizeof *few_metrics; k++) *ORR_PUSH(names) = few_metrics[k];
}

static bool has(const orr_names *names, const char *name) {
    for (size_t k = 0; k < names->n; k++)
        if (!strcmp(names->at[k], name)) return true;
    return false;
}

// Is it an average of a reason, and the count of it among the names?
static bool has_count(const orr_names *names, const char *average) {
    for (int k = 0; k < ORR_STALLS; k++)
        if (!strcmp(average, orr_counters[ORR_C_PER_ISSUE_ISSUED + k].name))
            return has(names, orr_counters[ORR_C_STALLED_ISSUED + k].name);
    return false;
}

// The list has a metric's name without what follows its first point as the first word of a line. Metrics of
// the launch are known without the hardware and are not in it.
void orr_ncu_known(orr_names *names, char *list) {
    orr_map known = {0};
    for (char *p = list; *p;) {
        size_t line = strcspn(p, "\n"), skip = strspn(p, " \""), word = strcspn(p + skip, " ,\"\r\n\t");
        if (skip < line && word && memmem(p + skip, word, "__", 2))
            orr_map_putn(&known, p + skip, word, list);
        p += line + (p[line] == '\n');
    }
    size_t kept = 0;
    for (size_t k = 0; k < names->n; k++) {
        const char *name = names->at[k];
        if (!strncmp(name, "launch__", 8) || orr_map_getn(&known, name, strcspn(name, ".")))
            names->at[kept++] = name;
    }
    names->n = kept;
    kept = 0;
    for (size_t k = 0; k < names->n; k++)
        if (!has_count(names, names->at[k])) names->at[kept++] = names->at[k];
    names->n = kept;
    orr_map_free(&known);
}

// ---- what it answers --------------------------------------------------------------------------
// It is asked for base units; a version that does not know how to still says what it uses.
static double scale(const char *unit) {
    static const struct {
        const char *unit;
        double scale;
    } known[] = {{"us", 1e3},
                 {"ms", 1e6},
                 {"s", 1e9},
                 {"usecond", 1e3},
                 {"msecond", 1e6},
                 {"second", 1e9},
                 {"Kbyte", 1e3},
                 {"Mbyte", 1e6},
                 {"Gbyte", 1e9},
                 {"Tbyte", 1e12},
                 {"Kbyte/s", 1e3},
                 {"Mbyte/s", 1e6},
                 {"Gbyte/s", 1e9},
                 {"Tbyte/s", 1e12},
                 {"Kbyte/second", 1e3},
                 {"Mbyte/second", 1e6},
                 {"Gbyte/second", 1e9},
                 {"Tbyte/second", 1e12},
                 {"Khz", 1e3},
                 {"Mhz", 1e6},
                 {"Ghz", 1e9},
                 {"cycle/nsecond", 1e9},
                 {"cycle/usecond", 1e6},
                 {"cycle/ns", 1e9},
                 {"cycle/us", 1e6},
                 {"Kbyte/block", 1e3}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (!strcmp(unit, known[k].unit)) return known[k].scale;
    return 1;
}

typedef struct table { // the profiler's
    orr_csv csv;
    int kernel, grid, block, gpu, regs, fixed_shared, dynamic_shared; // columns, -1: none
    const orr_names *metrics;                                         // that are asked for; of each:
    int *metric;                                                      // its column, -1: none
    double *scale;
    size_t *place; // in the measurements
} table;

static char *find_table(char *text) {
    for (char *p = text; *p; p++) {
        if (!strncmp(p, "\"ID\",", 5)) return p;
        p += strcspn(p, "\n");
        if (!*p) break;
    }
    return NULL;
}

static int line_of(const char *text, const char *at) {
    int n = 1;
    for (const char *p = text; p < at; p++) n += *p == '\n';
    return n;
}

static bool table_open(table *t, orr_hardware *h, const orr_ncu_files *f, const orr_names *metrics,
                       orr_err *e) {
    t->metrics = metrics;
    t->place = orr_calloc(metrics->n + 1, sizeof *t->place);
    for (size_t k = 0; k < metrics->n; k++) t->place[k] = orr_hardware_metric(h, metrics->at[k]);
    char *start = find_table(f->csv);
    if (!start)
        return orr_fail(e, ORR_BAD_INPUT,
                        "%s: there is no table of Nsight Compute in it (`ncu --csv --page raw`)",
                        f->csv_path);
    orr_csv_open(&t->csv, f->csv_path, start, (size_t)(f->csv + f->csv_bytes - start));
    t->csv.next_line = line_of(f->csv, start);
    if (!orr_csv_row(&t->csv, e)) return false;
    orr_csv *c = &t->csv;
    t->kernel = orr_csv_find(c, "Kernel Name");
    t->grid = orr_csv_find(c, "Grid Size");
    t->block = orr_csv_find(c, "Block Size");
    t->gpu = orr_csv_find(c, "device__attribute_display_name");
    t->regs = orr_csv_find(c, "launch__registers_per_thread");
    t->fixed_shared = orr_csv_find(c, "launch__shared_mem_per_block_static");
    t->dynamic_shared = orr_csv_find(c, "launch__shared_mem_per_block_dynamic");
    if (t->kernel < 0 || t->grid < 0 || t->block < 0)
        return orr_fail(e, ORR_BAD_INPUT, "%s:%d: the table has no Kernel Name, Grid Size or Block Size",
                        c->path, c->line);
    size_t columns = c->cells.n;
    t->metric = orr_calloc(metrics->n + 1, sizeof *t->metric);
    t->scale = orr_calloc(metrics->n + 1, sizeof *t->scale);
    for (size_t k = 0; k < metrics->n; k++) t->metric[k] = orr_csv_find(c, metrics->at[k]);
    if (!orr_csv_row(c, e) || c->cells.n != columns)
        return orr_fail(e, ORR_BAD_INPUT, "%s:%d: the row with the units is missing", c->path, c->line);
    for (size_t k = 0; k < metrics->n; k++)
        t->scale[k] = t->metric[k] < 0 ? 1 : scale(c->cells.at[t->metric[k]]);
    return true;
}

static void table_close(table *t) {
    orr_csv_close(&t->csv);
    free(t->metric);
    free(t->scale);
    free(t->place);
}

// The next kernel's row; what the profiler says in between is passed over, and so is the kernel that is
// launched for it to be the first.
static bool table_next(table *t, size_t columns, orr_err *e) {
    while (orr_csv_row(&t->csv, e)) {
        if (!strncmp(t->csv.cells.at[0], "==", 2)) continue;
        if (t->csv.cells.n == columns && !strcmp(t->csv.cells.at[t->kernel], ORR_HW_FIRST)) continue;
        if (t->csv.cells.n == columns) return true;
        return orr_fail(e, ORR_BAD_INPUT, "%s:%d: the row has %zu cells, the first one has %zu", t->csv.path,
                        t->csv.line, t->csv.cells.n, columns);
    }
    return false;
}

enum { L_SCRIPT, L_SIZE, L_ROUND, L_LAUNCH, L_KERNEL, L_GRID, L_BLOCK, L_REGS, L_SHARED, L_RIGHT, L_COLUMNS };
static const char *const log_name[L_COLUMNS] = {"script", "size",  "round",     "launch", "kernel",
                                                "grid",   "block", "registers", "shared", "right"};

static bool read_launch(orr_hardware *h, orr_csv *log, const int at[L_COLUMNS], orr_measured *m, bool *right,
                        orr_err *e) {
    char **cell = log->cells.at;
    m->script = orr_arena_strdup(&h->arena, cell[at[L_SCRIPT]]);
    m->size = orr_arena_strdup(&h->arena, cell[at[L_SIZE]]);
    m->kernel = orr_arena_strdup(&h->arena, cell[at[L_KERNEL]]);
    uint32_t round = 0;
    if (!orr_csv_uint(cell[at[L_ROUND]], &round) || !orr_csv_uint(cell[at[L_LAUNCH]], &m->launch) ||
        !orr_csv_shape(cell[at[L_GRID]], m->grid) || !orr_csv_shape(cell[at[L_BLOCK]], m->block) ||
        !orr_csv_uint(cell[at[L_REGS]], &m->regs) || !orr_csv_uint(cell[at[L_SHARED]], &m->shared))
        return orr_fail(e, ORR_BAD_INPUT, "%s:%d: this is not a launch as `hw run --log` writes it",
                        log->path, log->line);
    m->repeat += round;
    *right = !strcmp(cell[at[L_RIGHT]], "yes");
    return true;
}

static bool same_launch(const table *t, const orr_csv *log, const orr_measured *m, orr_err *e) {
    char **cell = t->csv.cells.at;
    uint32_t grid[3], block[3];
    if (!strcmp(cell[t->kernel], m->kernel) && orr_csv_shape(cell[t->grid], grid) &&
        orr_csv_shape(cell[t->block], block) && !memcmp(grid, m->grid, sizeof grid) &&
        !memcmp(block, m->block, sizeof block))
        return true;
    return orr_fail(
        e, ORR_BAD_INPUT,
        "%s:%d: the profiler saw kernel %.80s, grid %s, where %s launched %.80s, grid (%u, %u, %u) (%s:%d); "
        "the two do not belong together",
        t->csv.path, t->csv.line, cell[t->kernel], cell[t->grid], m->script, m->kernel, m->grid[0],
        m->grid[1], m->grid[2], log->path, log->line);
}

static void take_values(orr_hardware *h, const table *t, orr_measured *m) {
    char **cell = t->csv.cells.at;
    uint32_t fixed = 0, dynamic = 0;
    if (t->regs >= 0) orr_csv_uint(cell[t->regs], &m->regs);
    if (t->fixed_shared >= 0 && t->dynamic_shared >= 0 && orr_csv_uint(cell[t->fixed_shared], &fixed) &&
        orr_csv_uint(cell[t->dynamic_shared], &dynamic))
        m->shared = fixed + dynamic;
    if (t->gpu >= 0) m->gpu = orr_arena_strdup(&h->arena, cell[t->gpu]);
    for (size_t k = 0; k < t->metrics->n; k++) {
        double v;
        if (t->metric[k] < 0 || !orr_csv_number(cell[t->metric[k]], &v)) continue; // "n/a", "nan"
        m->metrics[t->place[k]] = v * t->scale[k];
    }
}

static bool join(orr_hardware *h, table *t, orr_csv *log, const orr_measured *proto, orr_err *e) {
    int at[L_COLUMNS];
    size_t columns = t->csv.cells.n;
    if (!orr_csv_row(log, e))
        return e->status ? false : orr_fail(e, ORR_BAD_INPUT, "%s: is empty", log->path);
    for (int k = 0; k < L_COLUMNS; k++) {
        at[k] = orr_csv_find(log, log_name[k]);
        if (at[k] < 0)
            return orr_fail(e, ORR_BAD_INPUT, "%s:1: there is no column %s", log->path, log_name[k]);
    }
    size_t cells = log->cells.n;
    while (orr_csv_row(log, e)) {
        if (log->cells.n != cells)
            return orr_fail(e, ORR_BAD_INPUT, "%s:%d: the row has %zu cells, the first one has %zu",
                            log->path, log->line, log->cells.n, cells);
        orr_measured *m = orr_hardware_add(h);
        bool right = false;
        m->cache = proto->cache;
        m->driver = proto->driver;
        m->date = proto->date;
        m->repeat = proto->repeat;
        if (!read_launch(h, log, at, m, &right, e)) return false;
        if (!table_next(t, columns, e))
            return e->status ? false
                             : orr_fail(e, ORR_BAD_INPUT,
                                        "%s: the profiler saw fewer kernels than were launched; the first "
                                        "without is %s of "
                                        "%s (%s:%d)",
                                        t->csv.path, m->kernel, m->script, log->path, log->line);
        if (!same_launch(t, log, m, e)) return false;
        take_values(h, t, m);
        if (!right) h->rows.n--;
    }
    if (e->status || !table_next(t, columns, e)) return !e->status;
    return orr_fail(e, ORR_BAD_INPUT, "%s:%d: the profiler saw more kernels than %s has", t->csv.path,
                    t->csv.line, log->path);
}

bool orr_ncu_read(orr_hardware *h, const orr_ncu_files *f, const orr_names *metrics,
                  const orr_measured *proto, orr_err *e) {
    table t = {0};
    orr_csv log = {0};
    orr_csv_open(&log, f->log_path, f->log, f->log_bytes);
    bool ok = table_open(&t, h, f, metrics, e) && join(h, &t, &log, proto, e);
    table_close(&t);
    orr_csv_close(&log);
    return ok;
}

// ---- a program that was captured --------------------------------------------------------------------
// Both runs of the program number its launches from 0, so a row is known by its number; name and shape must
// agree.
static bool join_these(orr_hardware *h, table *t, const orr_measured *proto, const orr_ncu_launches *list,
                       orr_err *e) {
    size_t columns = t->csv.cells.n, n = list->n;
    const orr_ncu_launch *these = list->at;
    uint64_t number = these[0].index;
    for (size_t i = 0; i < n; i++, number++) {
        bool more = table_next(t, columns, e);
        for (; more && number < these[i].index; number++) more = table_next(t, columns, e);
        if (!more && e->status) return false;
        char **cell = t->csv.cells.at;
        uint32_t grid[3], block[3];
        bool same = more && !strcmp(cell[t->kernel], these[i].kernel) && orr_csv_shape(cell[t->grid], grid) &&
                    orr_csv_shape(cell[t->block], block) && !memcmp(grid, these[i].grid, sizeof grid) &&
                    !memcmp(block, these[i].block, sizeof block);
        if (!same)
            return orr_fail(
                e, ORR_BAD_INPUT,
                "%s: launch %u was %.80s when it was captured, and %.80s under the profiler; a program "
                "that is measured must launch the same kernels each time",
                t->csv.path, these[i].index, these[i].kernel, more ? cell[t->kernel] : "nothing");
        orr_measured *m = orr_hardware_add(h);
        double *values = m->metrics;
        size_t nvalues = m->nmetrics;
        *m = *proto;
        m->metrics = values;
        m->nmetrics = nvalues;
        m->gpu = "";
        m->kernel = orr_arena_strdup(&h->arena, these[i].kernel);
        m->launch = these[i].index;
        memcpy(m->grid, grid, sizeof grid);
        memcpy(m->block, block, sizeof block);
        take_values(h, t, m);
    }
    return true;
}

bool orr_ncu_read_these(orr_hardware *h, const orr_ncu_files *f, const orr_names *metrics,
                        const orr_measured *proto, const orr_ncu_launches *these, orr_err *e) {
    table t = {0};
    bool ok = these->n && table_open(&t, h, f, metrics, e) && join_these(h, &t, proto, these, e);
    table_close(&t);
    return ok;
}
