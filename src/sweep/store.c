// The results of sweeps in an SQLite file (docs/guides/sweep.md shows its tables).
//
// A point is known by the digest of all that its result depends on: streams and kernels, model, description,
// program. One that is in the file under its digest is not simulated again, whichever sweep put it there, so
// a sweep that was killed goes on where it was, and one that is made larger simulates what is new. Each
// finished point is a transaction: whatever ends the process, the file holds points that are whole.
#include "sweep/sweep.h"

#ifndef ORRERY_HAVE_SQLITE

static bool missing(orr_err *e) {
    return orr_fail(e, ORR_BAD_INPUT,
                    "sweep: this orrery was built without SQLite (Debian: libsqlite3-dev); build it again");
}
orr_store *orr_store_open(const char *path, orr_err *e) {
    (void)path;
    missing(e);
    return NULL;
}
bool orr_store_begin(orr_store *st, orr_sweep_job *s, size_t first, size_t n, orr_err *e) {
    (void)st, (void)s, (void)first, (void)n;
    return missing(e);
}
bool orr_store_put(orr_store *st, orr_sweep_job *s, size_t point, orr_err *e) {
    (void)st, (void)s, (void)point;
    return missing(e);
}
bool orr_store_take(orr_store *st, const char *path, orr_err *e) {
    (void)st, (void)path;
    return missing(e);
}
bool orr_store_end(orr_store *st, const orr_sweep_job *s, orr_err *e) {
    (void)st, (void)s;
    return missing(e);
}
int64_t orr_store_number(const orr_store *st) { return (void)st, 0; }
void orr_store_close(orr_store *st) { (void)st; }

#else

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define APPLICATION 0x4f727279 // "Orry", in the file's header: it is one of ours
#define VERSION     1          // of the tables

struct orr_store {
    sqlite3 *db;
    char *path;
    int64_t sweep; // 0: not registered yet
    sqlite3_stmt *find, *put_point, *put_launch, *put_member, *put_setting, *link;
};

// ---- SQL with one voice -----------------------------------------------------------------------------
static bool bad(const orr_store *st, orr_err *e) {
    return orr_fail(e, ORR_BAD_INPUT, "%s: %s", st->path, sqlite3_errmsg(st->db));
}

static bool sql(orr_store *st, const char *text, orr_err *e) {
    return sqlite3_exec(st->db, text, NULL, NULL, NULL) == SQLITE_OK || bad(st, e);
}

static bool prepare(orr_store *st, const char *text, sqlite3_stmt **to, orr_err *e) {
    return sqlite3_prepare_v2(st->db, text, -1, to, NULL) == SQLITE_OK || bad(st, e);
}

// Arguments in order: i integer (int64_t), r real (double, NAN is NULL), t text (NULL is NULL).
static void bind(sqlite3_stmt *q, const char *kinds, ...) {
    va_list ap;
    va_start(ap, kinds);
    sqlite3_reset(q);
    // clang 14 does not see va_start on aarch64. NOLINTBEGIN(clang-analyzer-valist.Uninitialized)
    for (int k = 1; *kinds; k++, kinds++) {
        if (*kinds == 'i') {
            sqlite3_bind_int64(q, k, va_arg(ap, int64_t));
        } else if (*kinds == 'r') {
            double v = va_arg(ap, double);
            if (isnan(v))
                sqlite3_bind_null(q, k);
            else
                sqlite3_bind_double(q, k, v);
        } else {
            sqlite3_bind_text(q, k, va_arg(ap, const char *), -1, SQLITE_TRANSIENT);
        }
    }
    // NOLINTEND(clang-analyzer-valist.Uninitialized)
    va_end(ap);
}

static bool step(orr_store *st, sqlite3_stmt *q, orr_err *e) { // one that gives no rows
    int rc = sqlite3_step(q);
    bool ok = rc == SQLITE_DONE || rc == SQLITE_ROW || bad(st, e);
    sqlite3_reset(q);
    return ok;
}

static int64_t number(orr_store *st, const char *text, orr_err *e) { // the first cell of the answer
    sqlite3_stmt *q = NULL;
    int64_t v = -1;
    if (!prepare(st, text, &q, e)) return -1;
    int rc = sqlite3_step(q);
    if (rc == SQLITE_ROW)
        v = sqlite3_column_int64(q, 0);
    else if (rc != SQLITE_DONE)
        bad(st, e);
    sqlite3_finalize(q);
    return v;
}

// ---- the tables -----------------------------------------------------------------------------------
static void add_columns(orr_text *t, const char *before, const char *after) {
    for (int c = 0; c < ORR_COLUMNS; c++) orr_text_add(t, ", %s%s%s", before, orr_columns[c].name, after);
}

static bool make_tables(orr_store *st, orr_err *e) {
    orr_text t = {0};
    orr_text_add(
        &t,
        "BEGIN IMMEDIATE;"
        "CREATE TABLE sweeps(id INTEGER PRIMARY KEY, digest TEXT UNIQUE, input TEXT, size TEXT, gpu TEXT,"
        " model TEXT, source TEXT, command TEXT, version TEXT, build TEXT, points INTEGER,"
        " started TEXT DEFAULT CURRENT_TIMESTAMP, finished TEXT, execute_seconds REAL, seconds REAL);"
        "CREATE TABLE points(id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE,"
        " state TEXT NOT NULL CHECK(state IN ('done', 'failed')), message TEXT, cycles REAL, time_ns REAL,"
        " blocks INTEGER, warp_insts INTEGER, thread_insts INTEGER, launches INTEGER, seconds REAL,"
        " finished TEXT DEFAULT CURRENT_TIMESTAMP");
    add_columns(&t, "", " REAL");
    orr_text_add(
        &t, ");"
            "CREATE TABLE launches(point INTEGER NOT NULL REFERENCES points(id), launch INTEGER, kernel TEXT,"
            " times INTEGER, grid TEXT, block TEXT, dynamic_shared INTEGER, cycles REAL, time_ns REAL, "
            "occupancy REAL,"
            " blocks INTEGER, warp_insts INTEGER, thread_insts INTEGER");
    add_columns(&t, "", " REAL");
    orr_text_add(
        &t,
        ", PRIMARY KEY(point, launch)) WITHOUT ROWID;"
        "CREATE TABLE members(sweep INTEGER NOT NULL REFERENCES sweeps(id), number INTEGER,"
        " point INTEGER REFERENCES points(id), PRIMARY KEY(sweep, number)) WITHOUT ROWID;"
        "CREATE TABLE settings(sweep INTEGER NOT NULL REFERENCES sweeps(id), number INTEGER, key TEXT,"
        " value TEXT, PRIMARY KEY(sweep, number, key)) WITHOUT ROWID;"
        "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT;",
        APPLICATION, VERSION);
    bool ok = sql(st, t.s, e);
    free(t.s);
    return ok;
}

static bool prepare_all(orr_store *st, orr_err *e) {
    orr_text put = {0}, find = {0}, launch = {0};
    orr_text_add(&put, "INSERT INTO points(digest, state, message, cycles, time_ns, blocks, warp_insts,"
                       " thread_insts, launches, seconds");
    add_columns(&put, "", "");
    orr_text_add(&put, ") VALUES(?,?,?,?,?,?,?,?,?,?");
    for (int c = 0; c < ORR_COLUMNS; c++) orr_text_add(&put, ",?");
    orr_text_add(&put, ")");
    orr_text_add(&find, "SELECT id, state, message, cycles, time_ns, blocks, warp_insts, thread_insts,"
                        " launches, seconds");
    add_columns(&find, "", "");
    orr_text_add(&find, " FROM points WHERE digest = ?");
    orr_text_add(&launch, "INSERT INTO launches VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?");
    for (int c = 0; c < ORR_COLUMNS; c++) orr_text_add(&launch, ",?");
    orr_text_add(&launch, ")");
    bool ok = prepare(st, put.s, &st->put_point, e) && prepare(st, find.s, &st->find, e) &&
              prepare(st, launch.s, &st->put_launch, e) &&
              prepare(st, "INSERT OR REPLACE INTO members VALUES(?,?,?)", &st->put_member, e) &&
              prepare(st, "INSERT OR REPLACE INTO settings VALUES(?,?,?,?)", &st->put_setting, e) &&
              prepare(st, "UPDATE members SET point = ? WHERE sweep = ? AND number = ?", &st->link, e);
    free(put.s);
    free(find.s);
    free(launch.s);
    return ok;
}

// A file that is there and is not ours is left alone.
static bool check_file(orr_store *st, orr_err *e) {
    int64_t application = number(st, "PRAGMA application_id", e);
    if (e->status) return false;
    if (application == APPLICATION) {
        int64_t version = number(st, "PRAGMA user_version", e);
        if (e->status || version == VERSION) return !e->status;
        return orr_fail(e, ORR_BAD_INPUT,
                        "%s: its tables are of version %lld, not %d; name another file with -o", st->path,
                        (long long)version, VERSION);
    }
    int64_t tables = number(st, "SELECT count(*) FROM sqlite_master", e);
    if (e->status) return false;
    if (application || tables)
        return orr_fail(e, ORR_BAD_INPUT,
                        "%s: is a database, but not one of sweeps; name another file with -o", st->path);
    return make_tables(st, e);
}

orr_store *orr_store_open(const char *path, orr_err *e) {
    orr_store *st = orr_calloc(1, sizeof *st);
    st->path = orr_malloc(strlen(path) + 1);
    strcpy(st->path, path);
    bool ok = sqlite3_open_v2(path, &st->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) == SQLITE_OK ||
              bad(st, e);
    if (ok) sqlite3_busy_timeout(st->db, 60000); // another sweep may be writing
    if (ok && check_file(st, e) && sql(st, "PRAGMA synchronous = NORMAL", e) && prepare_all(st, e)) return st;
    orr_store_close(st);
    return NULL;
}

void orr_store_close(orr_store *st) {
    if (!st) return;
    sqlite3_stmt *const all[] = {st->find,       st->put_point,   st->put_launch,
                                 st->put_member, st->put_setting, st->link};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) sqlite3_finalize(all[k]);
    sqlite3_close(st->db);
    free(st->path);
    free(st);
}

int64_t orr_store_number(const orr_store *st) { return st->sweep; }

// ---- sweeps -----------------------------------------------------------------------------------------
static const char *hex(char buf[20], uint64_t v) {
    snprintf(buf, 20, "%016llx", (unsigned long long)v);
    return buf;
}

// The same question again is the same sweep: input, model, build and grid, whatever the streams turn out to
// be.
static uint64_t sweep_digest(const orr_sweep_job *s) {
    orr_text t = {0};
    orr_text_add(&t, "%s\n%s\n%s\n%s\n%s\n%s\n%llx %llx\n", s->input, s->size, s->gpu, s->model->name,
                 s->source, s->version, (unsigned long long)s->build, (unsigned long long)s->options);
    for (int k = 0; k < s->nsets; k++) orr_text_add(&t, "%s\n", s->sets[k]);
    for (int k = 0; k < s->grid->naxes; k++) {
        orr_text_add(&t, "%s\n", s->grid->axes[k].key);
        for (int i = 0; i < s->grid->axes[k].n; i++) orr_text_add(&t, " %s\n", s->grid->axes[k].values[i]);
    }
    uint64_t v = orr_hash64(t.s, t.n, 2);
    free(t.s);
    return v;
}

static void add_quoted(orr_text *t, const char *s, char quote) {
    orr_text_add(t, "%c", quote);
    for (; *s; s++) orr_text_add(t, *s == quote ? "%c%c" : "%c", *s, *s);
    orr_text_add(t, "%c", quote);
}

// For people: a row a point, a column for each key that is varied.
static bool make_view(orr_store *st, const orr_sweep_job *s, orr_err *e) {
    orr_text t = {0};
    orr_text_add(&t, "CREATE VIEW IF NOT EXISTS sweep_%lld AS SELECT m.number", (long long)st->sweep);
    for (int k = 0; k < s->grid->naxes; k++) {
        const orr_axis *x = &s->grid->axes[k];
        orr_text_add(&t, ", (SELECT %s FROM settings WHERE sweep = m.sweep AND number = m.number AND key = ",
                     x->numeric ? "CAST(value AS REAL)" : "value");
        add_quoted(&t, x->key, '\'');
        orr_text_add(&t, ") AS ");
        add_quoted(&t, x->key, '"');
        if (!*orr_axis_unit(x)) continue;
        orr_text column = {0};
        orr_text_add(&column, "%s unit", x->key);
        orr_text_add(&t, ", ");
        add_quoted(&t, orr_axis_unit(x), '\'');
        orr_text_add(&t, " AS ");
        add_quoted(&t, column.s, '"');
        free(column.s);
    }
    orr_text_add(&t, ", p.state, p.message, p.cycles, p.time_ns, p.warp_insts, p.thread_insts, p.seconds");
    add_columns(&t, "p.", "");
    orr_text_add(&t, " FROM members m LEFT JOIN points p ON p.id = m.point WHERE m.sweep = %lld",
                 (long long)st->sweep);
    bool ok = sql(st, t.s, e);
    free(t.s);
    return ok;
}

static bool register_sweep(orr_store *st, const orr_sweep_job *s, orr_err *e) {
    char digest[20], build[20];
    sqlite3_stmt *q = NULL;
    bool ok = prepare(st, "SELECT id FROM sweeps WHERE digest = ?", &q, e);
    if (ok) {
        bind(q, "t", hex(digest, sweep_digest(s)));
        if (sqlite3_step(q) == SQLITE_ROW) st->sweep = sqlite3_column_int64(q, 0);
    }
    sqlite3_finalize(q);
    if (!ok || st->sweep) return ok;
    q = NULL;
    ok =
        prepare(st,
                "INSERT INTO sweeps(digest, input, size, gpu, model, source, command, version, build, points)"
                " VALUES(?,?,?,?,?,?,?,?,?,?)",
                &q, e);
    if (ok) {
        bind(q, "ttttttttti", digest, s->input, s->size, s->gpu, s->model->name, s->source, s->command,
             s->version, hex(build, s->build), (int64_t)s->grid->npoints);
        ok = step(st, q, e);
        st->sweep = sqlite3_last_insert_rowid(st->db);
    }
    sqlite3_finalize(q);
    return ok && make_view(st, s, e);
}

// ---- points -----------------------------------------------------------------------------------------
static double real(sqlite3_stmt *q, int column) {
    return sqlite3_column_type(q, column) == SQLITE_NULL ? (double)NAN : sqlite3_column_double(q, column);
}

// What the file knows of the point; its row's number, 0: nothing.
static bool find(orr_store *st, orr_swept_point *p, int64_t *row, orr_err *e) {
    char digest[20];
    bind(st->find, "t", hex(digest, p->digest));
    int rc = sqlite3_step(st->find);
    sqlite3_stmt *q = st->find;
    *row = 0;
    if (rc == SQLITE_ROW) {
        const char *state = (const char *)sqlite3_column_text(q, 1);
        const char *message = (const char *)sqlite3_column_text(q, 2);
        *row = sqlite3_column_int64(q, 0);
        p->kept = true;
        p->state = state && !strcmp(state, "done") ? ORR_POINT_DONE : ORR_POINT_FAILED;
        p->message = message ? orr_arena_strdup(&p->arena, message) : NULL;
        p->total = (orr_swept){.cycles = real(q, 3),
                               .time_ns = real(q, 4),
                               .occupancy = NAN,
                               .blocks = (uint64_t)sqlite3_column_int64(q, 5),
                               .warp_insts = (uint64_t)sqlite3_column_int64(q, 6),
                               .thread_insts = (uint64_t)sqlite3_column_int64(q, 7)};
        p->nlaunches = (size_t)sqlite3_column_int64(q, 8);
        p->seconds = real(q, 9);
        for (int c = 0; c < ORR_COLUMNS; c++) p->total.columns[c] = real(q, 10 + c);
    }
    sqlite3_reset(q);
    return rc == SQLITE_ROW || rc == SQLITE_DONE || bad(st, e);
}

static bool register_point(orr_store *st, orr_sweep_job *s, size_t k, orr_err *e) {
    int64_t row = 0;
    if (s->points[k].digest && !find(st, &s->points[k], &row, e)) return false;
    bind(st->put_member, "iii", st->sweep, (int64_t)k, row);
    if (!row) sqlite3_bind_null(st->put_member, 3);
    bool ok = step(st, st->put_member, e);
    for (int a = 0; ok && a < s->grid->naxes; a++) {
        const orr_axis *x = &s->grid->axes[a];
        bind(st->put_setting, "iitt", st->sweep, (int64_t)k, x->key, x->values[orr_grid_at(s->grid, k, a)]);
        ok = step(st, st->put_setting, e);
    }
    return ok;
}

bool orr_store_begin(orr_store *st, orr_sweep_job *s, size_t first, size_t n, orr_err *e) {
    bool ok = sql(st, "BEGIN IMMEDIATE", e) && (st->sweep || register_sweep(st, s, e));
    for (size_t k = first; ok && k < first + n; k++) ok = register_point(st, s, k, e);
    ok = ok && sql(st, "COMMIT", e);
    if (!ok) sqlite3_exec(st->db, "ROLLBACK", NULL, NULL, NULL);
    return ok;
}

static void bind_columns(sqlite3_stmt *q, int at, const orr_swept *l) {
    for (int c = 0; c < ORR_COLUMNS; c++)
        if (isnan(l->columns[c]))
            sqlite3_bind_null(q, at + c);
        else
            sqlite3_bind_double(q, at + c, l->columns[c]);
}

static bool put_launch(orr_store *st, int64_t point, const orr_swept *l, orr_err *e) {
    char grid[40], block[40];
    snprintf(grid, sizeof grid, "%ux%ux%u", l->grid[0], l->grid[1], l->grid[2]);
    snprintf(block, sizeof block, "%ux%ux%u", l->block[0], l->block[1], l->block[2]);
    bind(st->put_launch, "iitittirrriii", point, (int64_t)l->index, l->kernel, (int64_t)l->times, grid, block,
         (int64_t)l->shared, l->cycles, l->time_ns, l->occupancy, (int64_t)l->blocks, (int64_t)l->warp_insts,
         (int64_t)l->thread_insts);
    bind_columns(st->put_launch, 14, l);
    return step(st, st->put_launch, e);
}

bool orr_store_put(orr_store *st, orr_sweep_job *s, size_t number_, orr_err *e) {
    orr_swept_point *p = &s->points[number_];
    const orr_swept *t = &p->total;
    bool done = p->state == ORR_POINT_DONE;
    char digest[20];
    bool ok = sql(st, "BEGIN IMMEDIATE", e);
    // Another process may have been faster.
    orr_swept_point theirs = {.digest = p->digest};
    int64_t row = 0;
    ok = ok && find(st, &theirs, &row, e);
    orr_arena_free(&theirs.arena);
    if (ok && !row) {
        bind(st->put_point, "tttrriiiir", hex(digest, p->digest), done ? "done" : "failed", p->message,
             done ? t->cycles : (double)NAN, done ? t->time_ns : (double)NAN, (int64_t)t->blocks,
             (int64_t)t->warp_insts, (int64_t)t->thread_insts, (int64_t)p->nlaunches, p->seconds);
        orr_swept none = *t;
        for (int c = 0; !done && c < ORR_COLUMNS; c++) none.columns[c] = NAN;
        bind_columns(st->put_point, 11, &none);
        ok = step(st, st->put_point, e);
        row = sqlite3_last_insert_rowid(st->db);
        for (size_t k = 0; ok && k < p->nlaunches; k++) ok = put_launch(st, row, &p->launches[k], e);
    }
    if (ok) {
        bind(st->link, "iii", row, st->sweep, (int64_t)number_);
        ok = step(st, st->link, e);
    }
    ok = ok && sql(st, "COMMIT", e);
    if (!ok) sqlite3_exec(st->db, "ROLLBACK", NULL, NULL, NULL);
    free(p->launches);
    p->launches = NULL;
    return ok;
}

bool orr_store_end(orr_store *st, const orr_sweep_job *s, orr_err *e) {
    sqlite3_stmt *q = NULL;
    bool ok = prepare(st,
                      "UPDATE sweeps SET finished = CURRENT_TIMESTAMP, execute_seconds = ?, seconds = ?"
                      " WHERE id = ?",
                      &q, e);
    if (ok) {
        bind(q, "rri", s->execute_seconds, s->seconds, st->sweep);
        ok = step(st, q, e);
    }
    sqlite3_finalize(q);
    return ok;
}

// ---- what others have simulated ---------------------------------------------------------------------
static bool attach(orr_store *st, const char *path, orr_err *e) {
    sqlite3_stmt *q = NULL;
    bool ok = prepare(st, "ATTACH DATABASE ? AS part", &q, e);
    if (ok) {
        bind(q, "t", path);
        ok = step(st, q, e);
    }
    sqlite3_finalize(q);
    if (!ok) return false;
    if (number(st, "PRAGMA part.application_id", e) == APPLICATION &&
        number(st, "PRAGMA part.user_version", e) == VERSION)
        return true;
    return orr_fail(e, ORR_BAD_INPUT, "%s: is not a file of orrery sweep of this version", path);
}

bool orr_store_take(orr_store *st, const char *path, orr_err *e) {
    orr_text t = {0}, columns = {0};
    orr_text_add(
        &columns,
        "digest, state, message, cycles, time_ns, blocks, warp_insts, thread_insts, launches, seconds");
    add_columns(&columns, "", "");
    orr_text_add(
        &t,
        "BEGIN IMMEDIATE; DROP TABLE IF EXISTS temp.fresh;"
        "CREATE TEMP TABLE fresh AS SELECT id, digest FROM part.points WHERE digest NOT IN"
        " (SELECT digest FROM main.points);"
        "INSERT INTO main.points(%s) SELECT %s FROM part.points WHERE id IN (SELECT id FROM fresh);"
        "INSERT INTO main.launches SELECT m.id, l.launch, l.kernel, l.times, l.grid, l.block,"
        " l.dynamic_shared, l.cycles, l.time_ns, l.occupancy, l.blocks, l.warp_insts, l.thread_insts",
        columns.s, columns.s);
    add_columns(&t, "l.", "");
    orr_text_add(&t, " FROM temp.fresh f JOIN main.points m ON m.digest = f.digest"
                     " JOIN part.launches l ON l.point = f.id; DROP TABLE temp.fresh; COMMIT;");
    bool ok = attach(st, path, e) && sql(st, t.s, e);
    if (!ok) sqlite3_exec(st->db, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_exec(st->db, "DETACH DATABASE part", NULL, NULL, NULL);
    free(t.s);
    free(columns.s);
    return ok;
}

#endif
