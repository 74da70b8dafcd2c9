// What the parts of the import share: the options that were read, and the description being written.
#ifndef ORR_ACCEL_IMPORT_H
#define ORR_ACCEL_IMPORT_H

#include "accel/accel.h"

typedef struct import_option {
    const char *name, *value; // "-gpgpu_n_mem", "32"
    const char *file;
    int line;
    bool used;
} import_option;

typedef struct import_cache { // a cache string: sets:line:ways,policies,MSHRs,queues
    bool none;                // the string was "none"
    char type;                // S sectored, N not
    int64_t sets, line, ways;
    char write, alloc, write_alloc, index; // see read_cache
    int64_t misses, merges;
    int64_t port; // bytes a cycle
} import_cache;

typedef struct importer {
    orr_arena arena;
    ORR_VEC(import_option) options;
    bool trace;    // a trace.config was given: its latencies count
    orr_text conf; // what is being written
    orr_text said; // notes that are not about unused options
    bool files;    // it comes from files: others may be beside them
    orr_err *e;
    // found out while writing, needed further down
    double clock_sm, clock_net, clock_l2, clock_dram;
    int64_t cc_major, cc_minor;
    int64_t clusters, cores_per_cluster;
    int64_t schedulers, subcores;
    double collect, writeback; // cycles from issue to the unit, and behind it
    double int_latency;
    import_cache l1;
    bool l1_skipped; // by global loads
} importer;

// ---- options (import.c). A value that is not what it should be is an error in m->e; some legal value comes
// back then, so that only the end has to look. All of these count an option as used.
bool import_has(const importer *m, const char *name);
const char *import_text(importer *m, const char *name, const char *usual);
int64_t import_int(importer *m, const char *name, int64_t usual, int64_t lo, int64_t hi);
// Numbers between separators (any of `seps`): how many there were; the rest of `out` is as it was.
int import_numbers(importer *m, const char *name, const char *usual, const char *seps, double *out, int max);
bool import_cache_string(importer *m, const char *name, const char *usual, import_cache *c);
void import_wrong(importer *m, const char *name, const char *what); // the error about an option's value
// The width of the network's channels, from the file that -inter_config_file names, beside the configuration.
// False when there is none to be read; a note says so.
bool import_network(importer *m, int64_t *flit);

// ---- lines of the description
// Where a value comes from, for the comment: "-gpgpu_n_mem 32".
const char *import_from(importer *m, const char *name);
void import_put(importer *m, const char *key, const char *from, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void import_num(importer *m, const char *key, double v, const char *unit, const char *from);
void import_heading(importer *m, const char *what);

void import_core(importer *m);   // import_core.c: SM, units, latencies
void import_memory(importer *m); // import_memory.c: caches, network, DRAM

#endif
