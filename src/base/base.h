// The ground everything stands on: errors, arenas, growable arrays, a string map, text building,
// whole-file reading, atomic file writing, a progress line and a small thread helper.
//
// Nothing here knows what a GPU is.
#ifndef ORR_BASE_H
#define ORR_BASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// ---- errors ---------------------------------------------------------------------------------
// One mechanism: a function that can fail takes an `orr_err *` last and returns false (or NULL)
// after calling orr_fail(). The first error wins; later ones are ignored. `text` has the form
// "file:line: what is wrong and what to do", without the leading "orrery: ", which the command
// line adds; control characters, which come from hostile files, are shown as '?'. `status` is the exit
// status: 1 the simulated program failed, 2 bad input or usage.
#define ORR_PROGRAM_FAILED 1
#define ORR_BAD_INPUT      2
#define ORR_STOPPED        3 // by whoever watches the job (orr_progress_go); not an exit status

#ifndef ORR_ERR // include/orrery.h has the same
#define ORR_ERR
typedef struct orr_err {
    int status; // 0 while nothing went wrong
    char text[1000];
} orr_err;
#endif

bool orr_fail(orr_err *e, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
bool orr_vfail(orr_err *e, int status, const char *fmt, va_list ap);

// Memory that cannot be had ends the process with a message: nobody can do better, and it keeps
// every caller simple. Sizes that come from input are bounded by the parsers before they get here.
void *orr_malloc(size_t n);
void *orr_calloc(size_t n, size_t size);
void *orr_apart(size_t n, size_t size); // zeroed too, in host cache lines of its own
void *orr_realloc(void *p, size_t n);
void *orr_aligned_alloc(size_t align, size_t n); // free with free(); contents undefined
// As orr_apart, in large pages of the host where it has them: for what is large in all and looked at
// anywhere.
void *orr_pages(size_t n, size_t size);
void orr_pages_free(void *p);
_Noreturn void orr_no_memory(size_t n); // n more bytes were needed

// ---- arena ----------------------------------------------------------------------------------
// Memory with one owner, freed in one go. All of it is zeroed and 16-byte aligned.
typedef struct orr_arena {
    struct orr_chunk *chunk;
    size_t total; // bytes taken from the system, for limits
} orr_arena;

void *orr_arena_alloc(orr_arena *a, size_t n);
char *orr_arena_strndup(orr_arena *a, const char *s, size_t n);
char *orr_arena_strdup(orr_arena *a, const char *s);
char *orr_arena_printf(orr_arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void orr_arena_free(orr_arena *a);

// ---- growable array -------------------------------------------------------------------------
// ORR_VEC(T) declares one; ORR_PUSH appends and yields a pointer to the new, zeroed element.
// Free with free(v.at).
#define ORR_VEC(T)                                                                                           \
    struct {                                                                                                 \
        T *at;                                                                                               \
        size_t n, cap;                                                                                       \
    }
#define ORR_PUSH(v)                                                                                          \
    ((v)->n == (v)->cap ? orr_vec_grow((void **)&(v)->at, &(v)->cap, sizeof *(v)->at) : (void)0,             \
     memset(&(v)->at[(v)->n], 0, sizeof *(v)->at), &(v)->at[(v)->n++])
void orr_vec_grow(void **at, size_t *cap, size_t size); // room for more

// ---- string map -----------------------------------------------------------------------------
// From byte strings to pointers; keys are copied into the map. Zero-initialise it.
typedef struct orr_map {
    struct orr_map_slot *slot;
    size_t cap, n;
    orr_arena keys;
} orr_map;

void *orr_map_get(const orr_map *m, const char *key);                  // NULL when absent
void *orr_map_getn(const orr_map *m, const char *key, size_t n);       // the key need not end in 0
bool orr_map_put(orr_map *m, const char *key, void *value);            // false: it was there already
bool orr_map_putn(orr_map *m, const char *key, size_t n, void *value); // (the value is replaced)
void orr_map_free(orr_map *m);

// ---- text -----------------------------------------------------------------------------------
typedef struct orr_text {
    char *s; // always 0-terminated once something was added; free with free()
    size_t n, cap;
} orr_text;

void orr_text_add(orr_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void orr_text_addn(orr_text *t, const char *s, size_t n);
void orr_text_json(orr_text *t, const char *s); // quoted and escaped as a JSON string

// 1234567 -> "1,234,567" and 1.5e9 -> "1.50 G"; both write into buf and return it.
const char *orr_commas(char buf[32], uint64_t v);
const char *orr_si(char buf[32], double v);

// "3-7,9,12-": is n in the list? -1: it is no such list.
int orr_in_list(const char *list, uint64_t n);

// Names of C++ (demangle.c). As people write it, to be freed; NULL: it is no mangled name.
char *orr_demangle(const char *name);
// Does a shell pattern match a name as it is, demangled, without its parameters, or without what is in <>?
bool orr_name_matches(const char *pattern, const char *name);
bool orr_name_is(const char *wanted, const char *name); // the same forms, to the letter

// "did you mean": orr_consider every word there is, then ask whether the best is near enough to be meant.
typedef struct orr_nearest {
    const char *to;   // the word that is not there
    const char *best; // NULL: none considered yet
    int edits;        // from one to the other
} orr_nearest;
void orr_consider(orr_nearest *n, const char *word);
bool orr_is_near(const orr_nearest *n);

// ---- files ----------------------------------------------------------------------------------
// The whole file, with a 0 byte after the last; free() it. Refuses what is larger than `limit`.
char *orr_read_file(const char *path, size_t limit, size_t *size, orr_err *e);

// Output goes to a temporary name beside `path`; orr_out_commit renames it, orr_out_abort removes
// it. A write error (full disk) is reported at commit.
typedef struct orr_out {
    FILE *f;
    char *path, *temp;
} orr_out;
bool orr_out_open(orr_out *o, const char *path, orr_err *e);
bool orr_out_commit(orr_out *o, orr_err *e);
void orr_out_abort(orr_out *o);
void orr_out_abort_all(void); // async-signal-safe enough for a SIGINT handler: unlinks open temps
// The same for a folder of files: a temporary one beside `path`, into which files are written as they are.
// Its name, to be freed by orr_out_folder_end; NULL on error. A folder that is there already must be empty,
// or hold nothing but files for which `ours` is true: those are replaced.
char *orr_out_folder(const char *path, bool (*ours)(const char *name), orr_err *e);
bool orr_out_folder_end(char *temp, const char *path, bool commit, orr_err *e); // renames, or removes

uint64_t orr_hash64(const void *data, size_t n, uint64_t seed); // stable across hosts (XXH64-like)

// ---- host -----------------------------------------------------------------------------------
double orr_seconds(void); // monotonic
struct timespec;
int orr_clock(int which, struct timespec *t); // the system's, whoever stands in for clock_gettime
uint64_t orr_peak_rss(void);
uint64_t orr_host_memory(void); // bytes that this process may hope for: the machine's, or its container's
int orr_host_threads(void);

// ---- progress and notes -----------------------------------------------------------------------
#ifndef ORR_STATUS // include/orrery.h has the same
#define ORR_STATUS
typedef struct orr_status { // how far a job is
    const char *what;       // the input, or the job: "saxpy", "sweep"
    const char *units;      // what is counted, in the plural: "launches", "points"
    uint64_t done, total;   // total 0: not known
    const char *part_units; // parts of the one that is being done: "blocks"
    uint64_t part, parts;   // parts 0: not known
    double seconds;         // since the job began
    bool ended;             // this is the last call
    double begun;           // parts, of those that have begun and not ended: 0.5 is half of one
} orr_status;
typedef bool (*orr_watch)(void *arg, const orr_status *s); // false: the job is to stop
#endif

typedef struct orr_watcher { // who is told how far a job is; zero: nobody
    orr_watch tell;
    void *arg;
} orr_watcher;

// How far a job is. Those who work only store numbers. A thread of its own tells the watcher five times a
// second, so that a long silence shows too; the first and the last call come from orr_progress_start and
// orr_progress_end. Must not move between the two.
typedef struct orr_progress {
    const char *what, *units, *part_units;
    double start;
    _Atomic uint64_t done, total; // total 0: unknown
    _Atomic uint64_t part, parts; // of the one being done; parts 0: unknown
    _Atomic double begun;         // parts, of those that have begun and not ended
    _Atomic bool stopped;         // the watcher has had enough
    orr_watcher watcher;
    struct orr_ticker *ticker; // NULL: nobody is told
    struct orr_progress *all;  // of which this is a part (orr_progress_beside); NULL: it is the whole job
    double before, told;       // parts of launches that are over; what `all` was told of
    _Atomic bool several;      // has parts that are done beside each other
} orr_progress;
void orr_progress_start(orr_progress *p, orr_watcher to, const char *what, const char *units,
                        const char *part_units, uint64_t total); // units in the plural
void orr_progress_step(orr_progress *p, uint64_t done);
void orr_progress_parts(orr_progress *p, uint64_t parts); // that the next one has; none is done
void orr_progress_part(orr_progress *p, uint64_t more);   // any thread
void orr_progress_begun(orr_progress *p, double parts);   // of those that have begun, so much is done
void orr_progress_end(orr_progress *p);                   // also when it was never started, and zero
// One of several things that a job does beside each other, by one thread at a time: stopped when the job is,
// and what it has done is among what the job has begun, of as many parts as orr_progress_parts said that each
// has.
void orr_progress_beside(orr_progress *p, orr_progress *all);
void orr_progress_beside_end(orr_progress *p);
// May the job go on? False with e set, status ORR_STOPPED: the watcher has stopped it. p may be NULL.
bool orr_progress_go(const orr_progress *p, orr_err *e);
// A watcher that writes a line on stderr, from the third second on and only to a terminal:
// "bfs: launches 3, blocks 12 of 64 (19%), 8 s". arg points to a bool, false before the first call.
bool orr_progress_line(void *arg, const orr_status *s);

// Remarks that are neither results nor errors, a line each without its end. Zero: nobody reads them.
typedef struct orr_notes {
    void (*say)(void *arg, const char *text);
    void *arg;
} orr_notes;
void orr_note(const orr_notes *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// ---- threads ----------------------------------------------------------------------------------
// Run fn(arg, worker) on n threads and wait for all; n == 1 runs in the caller.
void orr_parallel(int n, void (*fn)(void *arg, int worker), void *arg);

// ---- bits -----------------------------------------------------------------------------------
static inline int orr_popc(uint32_t m) { return __builtin_popcount(m); }
static inline int orr_popc64(uint64_t m) { return __builtin_popcountll(m); }
static inline int orr_ffs(uint32_t m) { return __builtin_ctz(m); } // undefined for 0

#endif
