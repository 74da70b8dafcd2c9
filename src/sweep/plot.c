// A sweep as a plot, made by gnuplot: cycles (or time, where clocks are varied) over the varied keys.
//
//   one key of numbers      a line
//   one key of words        bars
//   more                    over the key of numbers with the most values, a line for each combination of the
//                           others; two keys of numbers with more than 8 lines are a map of heat instead, and
//                           of more than 16 combinations only the best at each place is drawn
//
// The program that gnuplot is given holds its data, so it is also what is left where there is no gnuplot.
#include "sweep/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_LINES    16
#define LINES_OR_HEAT 8

// Text between single quotes: gnuplot doubles those inside, and takes _ ^ { } @ & ~ \ for markup unless told
// not to (noenhanced).
static void add_quoted(orr_text *t, const char *s) {
    orr_text_add(t, "'");
    for (; *s; s++)
        if ((unsigned char)*s >= 32) orr_text_add(t, *s == '\'' ? "''" : "%c", *s);
    orr_text_add(t, "'");
}

static void add_label(orr_text *t, const char *set, const orr_axis *x) {
    orr_text label = {0};
    const char *unit = orr_axis_unit(x);
    orr_text_add(&label, "%s%s%s%s", x->key, *unit ? " (" : "", unit, *unit ? ")" : "");
    orr_text_add(t, "set %s ", set);
    add_quoted(t, label.s);
    orr_text_add(t, " noenhanced\n");
    free(label.s);
}

// The key that goes along the bottom: numbers before words, then the one with the most values.
static int bottom_axis(const orr_grid *g) {
    int best = 0;
    for (int k = 1; k < g->naxes; k++) {
        const orr_axis *x = &g->axes[k], *b = &g->axes[best];
        if (x->numeric != b->numeric ? x->numeric : x->n > b->n) best = k;
    }
    return best;
}

// Cycles or microseconds; functional runs have warp instructions.
static double height(const orr_sweep_summary *sum, const orr_swept_point *p) {
    if (p->state != ORR_POINT_DONE) return NAN;
    if (isnan(p->total.cycles)) return (double)p->total.warp_insts;
    return sum->by_time ? p->total.time_ns / 1e3 : p->total.cycles;
}

// Which of the lines a point is on: its place in the grid without the bottom axis.
static size_t line_of(const orr_grid *g, size_t point, int bottom) {
    size_t line = 0;
    for (int k = 0; k < g->naxes; k++)
        if (k != bottom) line = line * (size_t)g->axes[k].n + (size_t)orr_grid_at(g, point, k);
    return line;
}

static void add_line_name(orr_text *t, const orr_grid *g, size_t point, int bottom) {
    orr_text name = {0};
    for (int k = 0; k < g->naxes; k++)
        if (k != bottom)
            orr_text_add(&name, "%s%s = %s", name.n ? ", " : "", g->axes[k].key,
                         g->axes[k].values[orr_grid_at(g, point, k)]);
    add_quoted(t, name.s ? name.s : "");
    free(name.s);
}

// Up to MOST_LINES lines, no two alike: eight colours that the colour-blind tell apart (Okabe and Ito), then
// the same with dashes; the points differ too.
static void add_style(orr_text *t, size_t line) {
    static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                          "#e69f00", "#56b4e9", "#000000", "#8a7000"};
    static const int points[] = {7, 5, 9, 11, 13, 15, 6, 4};
    orr_text_add(t, " linecolor rgb '%s' dashtype %zu pointtype %d", colours[line % 8], 1 + line / 8,
                 points[(line + line / 8) % 8]);
}

// The points that none beats have a ring; where the key at the bottom has a knee there is a line.
static void add_front(const orr_sweep_job *s, const orr_sweep_summary *sum, int bottom, bool map,
                      orr_text *t) {
    const orr_grid *g = s->grid;
    bool *on = orr_calloc(g->npoints + 1, sizeof *on);
    size_t n = orr_sweep_front(s, sum, on);
    orr_text_add(t, "$front << EOD\n");
    for (size_t k = 0; k < g->npoints; k++) {
        if (!on[k]) continue;
        int i = orr_grid_at(g, k, bottom);
        if (map)
            orr_text_add(t, "%d %d\n", i, orr_grid_at(g, k, 1 - bottom));
        else if (g->axes[bottom].numeric)
            orr_text_add(t, "%.15g %.15g\n", g->axes[bottom].numbers[i], height(sum, &s->points[k]));
        else
            orr_text_add(t, "%d %.15g\n", i, height(sum, &s->points[k]));
    }
    if (!n) orr_text_add(t, "NaN NaN\n");
    orr_text_add(t, "EOD\n");
    free(on);
}
#define FRONT                                                                                                \
    ", \\\n  $front using 1:2 with points pointtype 6 pointsize 1.4 linewidth 1.5 linecolor rgb '%s' title " \
    "'none with as little is as fast'\n"

static void add_knee(const orr_sweep_job *s, const orr_sweep_summary *sum, int bottom, orr_text *t) {
    orr_arena a = {0};
    const orr_axis *x = &s->grid->axes[bottom];
    orr_axis_effect f = orr_sweep_effect(s, sum, bottom, &a);
    if (f.knee >= 0 && x->numeric)
        orr_text_add(
            t,
            "set arrow from %.15g, graph 0 to %.15g, graph 1 nohead dashtype 3 linecolor rgb '#888888'\n"
            "set label 'knee' at %.15g, graph 0.97 offset 0.5,0 textcolor rgb '#888888'\n",
            x->numbers[f.knee], x->numbers[f.knee], x->numbers[f.knee]);
    orr_arena_free(&a);
}

// ---- the kinds ----------------------------------------------------------------------------------------
// Heights by line and place at the bottom; NAN: none. `all`: every line, else the lowest of all of them.
static double *heights(const orr_sweep_job *s, const orr_sweep_summary *sum, int bottom, size_t nlines,
                       bool all) {
    const orr_grid *g = s->grid;
    size_t n = (size_t)g->axes[bottom].n, cells = (all ? nlines : 1) * n;
    double *v = orr_calloc(cells, sizeof *v);
    for (size_t k = 0; k < cells; k++) v[k] = NAN;
    for (size_t k = 0; k < g->npoints; k++) {
        double *cell = &v[(all ? line_of(g, k, bottom) : 0) * n + (size_t)orr_grid_at(g, k, bottom)];
        double h = height(sum, &s->points[k]);
        if (isnan(*cell) || h < *cell) *cell = h;
    }
    return v;
}

static void add_height(orr_text *t, double v) {
    if (isnan(v))
        orr_text_add(t, " NaN\n");
    else
        orr_text_add(t, " %.15g\n", v);
}

static void number_tics(orr_text *t, char axis, const orr_axis *x) {
    orr_text_add(t, "set %ctics (", axis);
    for (int i = 0; i < x->n; i++) orr_text_add(t, "%s\"%.15g\" %d", i ? ", " : "", x->numbers[i], i);
    orr_text_add(t, ")\n");
}

static void heat(const orr_sweep_job *s, const orr_sweep_summary *sum, int bottom, orr_text *t) {
    const orr_axis *x = &s->grid->axes[bottom], *y = &s->grid->axes[1 - bottom];
    double *v = heights(s, sum, bottom, (size_t)y->n, true);
    orr_text_add(t, "$data << EOD\n");
    for (int j = 0; j < y->n; j++)
        for (int i = 0; i < x->n; i++) {
            orr_text_add(t, "%d %d", i, j);
            add_height(t, v[(size_t)j * (size_t)x->n + (size_t)i]);
        }
    free(v);
    orr_text_add(t, "EOD\n");
    number_tics(t, 'x', x);
    number_tics(t, 'y', y);
    add_label(t, "ylabel", y);
    add_front(s, sum, bottom, true, t);
    orr_text_add(t, "set cblabel what\nset key below\nunset grid\n"
                    "set palette defined (0 '#fde725', 0.5 '#21918c', 1 '#440154')\n"
                    "plot $data using 1:2:3 with image title ''");
    orr_text_add(t, FRONT, "#ffffff");
}

static void word_tics(orr_text *t, const orr_axis *x) {
    orr_text_add(t, "set xtics (");
    for (int i = 0; i < x->n; i++) {
        orr_text_add(t, i ? ", " : "");
        add_quoted(t, x->values[i]);
        orr_text_add(t, " %d", i);
    }
    orr_text_add(t, ") noenhanced\nset xrange [-0.6:%d.6]\n", x->n - 1);
}

static void lines(const orr_sweep_job *s, const orr_sweep_summary *sum, int bottom, size_t nlines,
                  orr_text *t) {
    const orr_grid *g = s->grid;
    const orr_axis *x = &g->axes[bottom];
    bool all = nlines <= MOST_LINES;
    size_t shown = all ? nlines : 1;
    double *v = heights(s, sum, bottom, nlines, all);
    for (size_t line = 0; line < shown; line++) {
        orr_text_add(t, "$line%zu << EOD\n", line);
        for (int i = 0; i < x->n; i++) {
            if (x->numeric)
                orr_text_add(t, "%.15g", x->numbers[i]);
            else
                orr_text_add(t, "%d", i);
            add_height(t, v[line * (size_t)x->n + (size_t)i]);
        }
        orr_text_add(t, "EOD\n");
    }
    free(v);
    if (!x->numeric) word_tics(t, x);
    add_front(s, sum, bottom, false, t);
    add_knee(s, sum, bottom, t);
    orr_text_add(t, "set yrange [0:*]\nset ylabel what\nset key outside right noenhanced\nplot ");
    for (size_t line = 0; line < shown; line++) {
        size_t member = 0;
        while (all && line_of(g, member, bottom) != line) member++;
        orr_text_add(t, "%s$line%zu using 1:2 with %s", line ? ", \\\n  " : "", line,
                     x->numeric  ? "linespoints linewidth 2 pointsize 0.6"
                     : shown > 1 ? "points"
                                 : "boxes fill solid 0.6");
        if (x->numeric || shown > 1) add_style(t, line);
        orr_text_add(t, " title ");
        if (!all)
            add_quoted(t, "the best of all others");
        else if (nlines > 1)
            add_line_name(t, g, member, bottom);
        else
            orr_text_add(t, "''");
    }
    orr_text_add(t, FRONT, "#000000");
}

void orr_sweep_gnuplot(const orr_sweep_job *s, orr_text *t) {
    const orr_grid *g = s->grid;
    orr_sweep_summary sum;
    orr_text title = {0};
    orr_sweep_sum_up(s, &sum);
    int bottom = bottom_axis(g);
    size_t nlines = g->npoints / (size_t)g->axes[bottom].n;
    orr_text_add(&title, "%s%s%s on %s, model %s", s->input, *s->size ? ", " : "", s->size, s->gpu,
                 s->model->name);
    orr_text_add(t,
                 "# gnuplot: a sweep by orrery %s\nset terminal svg size 900,560 background 'white'\n"
                 "if (!exists(\"out\")) out = 'sweep.svg'\nset output out\nset title ",
                 s->version);
    add_quoted(t, title.s);
    free(title.s);
    orr_text_add(t, " noenhanced\nset grid\nset boxwidth 0.7\nset style fill solid\nwhat = '%s'\n",
                 sum.best == SIZE_MAX ? "warp instructions"
                 : sum.by_time        ? "time (us)"
                                      : "cycles");
    add_label(t, "xlabel", &g->axes[bottom]);
    if (g->naxes == 2 && g->axes[0].numeric && g->axes[1].numeric && nlines > LINES_OR_HEAT)
        heat(s, &sum, bottom, t);
    else
        lines(s, &sum, bottom, nlines, t);
}

// ---- gnuplot ----------------------------------------------------------------------------------------
static bool write_whole(const char *path, const orr_text *t, orr_err *e) {
    orr_out out;
    if (!orr_out_open(&out, path, e)) return false;
    fwrite(t->s, 1, t->n, out.f);
    return orr_out_commit(&out, e);
}

// Runs gnuplot on a program; 127: there is none.
static int run_gnuplot(const char *program, const char *out_name) {
    char *argv[] = {(char *)(uintptr_t) "gnuplot", (char *)(uintptr_t) "-e", (char *)(uintptr_t)out_name,
                    (char *)(uintptr_t)program, NULL};
    posix_spawn_file_actions_t to;
    pid_t pid;
    int status = 0;
    posix_spawn_file_actions_init(&to);
    posix_spawn_file_actions_addopen(&to, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&to, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&to, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int why = posix_spawnp(&pid, "gnuplot", &to, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&to);
    if (why) return why == ENOENT || why == EACCES || why == ENOTDIR ? 127 : 126;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return 126;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

bool orr_sweep_plot(const orr_sweep_job *s, const char *path, char **instead, orr_err *e) {
    orr_text program = {0}, gp = {0}, temp = {0}, set = {0};
    *instead = NULL;
    orr_sweep_gnuplot(s, &program);
    orr_text_add(&gp, "%s.gp", path);
    orr_text_add(&temp, "%s.tmp-%d", path, (int)getpid());
    orr_text_add(&set, "out = ");
    add_quoted(&set, temp.s);
    bool ok = write_whole(gp.s, &program, e);
    int status = ok ? run_gnuplot(gp.s, set.s) : 0;
    struct stat st;
    if (ok && status == 0 && (stat(temp.s, &st) != 0 || st.st_size == 0)) status = 126;
    if (ok && status == 0) {
        if (rename(temp.s, path) != 0)
            ok = orr_fail(e, ORR_BAD_INPUT, "%s: cannot be written: %s", path, strerror(errno));
        unlink(gp.s);
    } else if (ok) {
        unlink(temp.s);
        temp.n = 0;
        orr_text_add(&temp,
                     status == 127
                         ? "gnuplot is not there; the plot is in %s: run `gnuplot %s` where it is"
                         : "gnuplot could not make the plot; its program is in %s: run `gnuplot %s`",
                     gp.s, gp.s);
        *instead = temp.s;
        temp.s = NULL;
    }
    free(program.s);
    free(gp.s);
    free(temp.s);
    free(set.s);
    return ok;
}
