// OpenCL C with counters: the kernel's source again, which computes the same and counts, for each work-item,
// how often it came through each part of the source. Section IV of Gerum, Rosenstiel and Bringmann.
//
// A segment is a stretch of source that runs as a whole: every statement of it as often as the first. Some
// segments have a counter in the annotated program (bodies of loops, branches of if, cases); the others
// follow from them: what is behind an if runs as often as what is in front of it, but for those that left in
// it.
#ifndef ORR_CLC_ANNOTATE_H
#define ORR_CLC_ANNOTATE_H

#include "clc/clc.h"

enum { ORR_SEGMENT_TERMS = 24 };
typedef struct orr_segment {
    int32_t counter;                 // in the array of the kernel (own) or of functions; -1: derived
    int32_t term[ORR_SEGMENT_TERMS]; // derived: s + 1 adds segment s, -(s + 1) takes it away
    uint32_t nterms;
    uint32_t function; // whose it is
    uint32_t depth;    // loops around it
    int32_t loop;      // the innermost of them, -1 none
    int32_t parent;    // the segment that it is inside, -1: a function's first
    bool head;         // the condition of a loop: runs once more than its body
    uint32_t line;     // where it begins
} orr_segment;

typedef struct orr_source_loop {
    int32_t body, before; // segments: of its body, of what it stands in
    int32_t outer;        // loop around it, -1
    uint32_t from, to;    // bytes of its condition and step; to 0: it has none
} orr_source_loop;

typedef struct orr_source_function {
    const char *name;
    bool kernel, calls; // calls functions of the file
    int32_t first;      // its first segment
    uint32_t ncounters; // of a kernel: in its array, with those of functions when it calls any
} orr_source_function;

typedef struct orr_annotated {
    char *text; // the program with counters; malloc'd
    size_t n;
    orr_segment *segments;
    uint32_t nsegments;
    orr_source_loop *loops;
    uint32_t nloops;
    orr_source_function *functions;
    uint32_t nfunctions;
    uint16_t *of_byte; // segment of each byte of the source, + 1; 0: none
    uint32_t *line_at; // where each line begins; line_at[nlines] is the end
    uint32_t nlines, bytes;
    orr_arena arena;
} orr_annotated;

#define ORR_COUNTS_PARAMETER "orr_counts" // the last parameter of an annotated kernel: __global uint *

// What cannot be annotated (a goto, a body that comes out of a macro) is an error that names it.
bool orr_clc_annotate(const orr_clc_source *s, orr_annotated *a, orr_err *e);
// The same from a tree that is there already (the fuzzer's), of a text that is called `path`.
bool orr_annotate_tree(const orr_clc_source *s, const char *json, size_t njson, orr_annotated *a, orr_err *e);
void orr_annotated_free(orr_annotated *a);
// A place is a byte of the source, from 1: programs that are made by a macro are one line of many columns.
uint32_t orr_place_at(const orr_annotated *a, uint32_t line, uint32_t column); // from 1; 0: none
uint32_t orr_place_line(const orr_annotated *a, uint32_t place);               // 0: none
int32_t orr_segment_at(const orr_annotated *a, uint32_t place);                // -1: none
// The lines that .loc names become places. *ptx is malloc'd, and replaced.
void orr_place_lines(const orr_annotated *a, char **ptx, size_t *bytes);
const orr_source_function *orr_annotated_kernel(const orr_annotated *a, const char *name);

// ---- which block of code is which segment (match.c) ---------------------------------------------------
// The source lines of the kernel's instructions are places (orr_place_lines).
typedef struct orr_match {
    int32_t *segment; // [nblocks] of the kernel, -1: none
    uint32_t *group;  // [nblocks] blocks that have the same segment in the same loop of the code
    double *copies;   // [nblocks] how often the segment is in its group (an unrolled loop)
    bool *step;       // [nblocks] not in a loop: takes a part of what an unrolled one leaves over
    uint8_t *done;    // scratch
} orr_match;
// `k` is what the GPU runs of `plain`, as it was compiled: it may be unrolled further.
void orr_match_blocks(const orr_annotated *a, const orr_kernel *plain, const orr_kernel *k, orr_match *m);
void orr_match_free(orr_match *m);
// The blocks that may come after block `b`, each once; returns how many.
int orr_match_successors(const orr_kernel *k, uint32_t b, uint32_t out[2]);
// Runs of each block of code, from those of each segment.
void orr_match_runs(const orr_annotated *a, const orr_kernel *k, orr_match *m, const double *segments,
                    double *runs);

#endif
