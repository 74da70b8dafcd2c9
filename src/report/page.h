// What the text reports share (private to report/): headings, shapes, sizes, lines of source files.
#ifndef ORR_REPORT_PAGE_H
#define ORR_REPORT_PAGE_H

#include "report/report.h"

typedef struct page {
    orr_text *t;
    const orr_report_options *o;
} page;

static inline const char *bold(const page *p) { return p->o->colour ? "\033[1m" : ""; }
static inline const char *plain(const page *p) { return p->o->colour ? "\033[0m" : ""; }
static inline double percent(uint64_t a, uint64_t b) { return b ? 100.0 * (double)a / (double)b : 0; }

const char *page_shape(char buf[48],
                       const uint32_t d[3]);            // "4096", "64 x 64": without trailing dimensions of 1
const char *page_bytes(char buf[32], uint64_t v);       // "13.1 MB"
const char *page_time(char buf[32], double ns);         // "58.71 us"
const char *page_name(char buf[120], const char *name); // of a kernel, harmless to a terminal, cut
const char *page_base(const char *path);                // after the last slash
void page_where(char to[64], const char *file, uint32_t line); // "saxpy.cu:12", shortened from the left

// Source files, read when a line of them is first asked for; free at the end.
struct page_source {
    const char *name;
    char *text; // NULL: not found
};
typedef struct page_sources {
    const char *module;           // its path: files are also looked for beside it; "": it has none
    const char *text_name, *text; // of the module
    ORR_VEC(struct page_source) at;
} page_sources;
page_sources page_sources_of(const orr_module *m); // NULL: there is none
// The line, without the blanks around it, shortened, harmless to a terminal; "" when the file is not there.
void page_source_line(page_sources *s, const char *file, uint32_t line, char to[64]);
const char *page_source_text(page_sources *s, const char *file); // all of it; NULL: the file is not there
void page_sources_free(page_sources *s);

// In what order its threads saw each other, a line; nothing where that does not matter.
void page_events(const page *p, enum orr_events events);
void page_readings(const page *p, const orr_result *r); // what the script measured (readings.c)

// Kernels as a model of time saw them (timing_text.c).
void page_timing(const page *p, const orr_result *r);

#endif
