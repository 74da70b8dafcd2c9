// Private to tasks/: what reads a task list, shared by its files.
#ifndef ORR_TASKS_PARSE_H
#define ORR_TASKS_PARSE_H

#include "tasks/list.h"

typedef struct tasks_known { // a name with a value
    char text[32];
    int64_t value;
    bool fixed; // by --set, or by where the list runs
    bool met;   // in the file
    bool place; // rank, ranks, ...: not the list's to say
} tasks_known;

typedef struct tasks_parser {
    const char *path, *at, *end;
    int line;
    orr_tasks *t;
    tasks_known names[MAX_NAMES];
    int nnames;
    orr_err *e;
    // the kernel that is being read
    task_kernel *k;
    uint32_t reg[MAX_TASKS]; // of task i: its result
    uint32_t ntasks, made;   // tasks; results so far, copies too
    uint32_t needed;         // the highest number that a task is `after`, and the line that says so
    int needed_line;
    bool open; // a block of code is being filled
    uint32_t first_mem;
    struct {
        uint32_t item;
        uint64_t times; // with the loops around it
    } loop[MAX_DEPTH];
    int depth;
    // the application
    orr_task_rank place;
    int gpu;          // `on gpu`; -1: the rank's own
    uint32_t counted; // launches and copies so far
    struct {
        uint64_t times;
        uint32_t step; // REPEAT
        int line;
        bool condition, taken;
    } around[MAX_DEPTH]; // repeat and if
    int depth_around;
} tasks_parser;

// words.c
bool tasks_fail(tasks_parser *p, const char *what, const char *word, size_t n);
bool tasks_bad(tasks_parser *p, const char *what);
void tasks_blanks(tasks_parser *p);
bool tasks_at_end(tasks_parser *p);
size_t tasks_word(tasks_parser *p); // length of the word that begins here
bool tasks_take_word(tasks_parser *p, const char *word);
bool tasks_take(tasks_parser *p, char c);
bool tasks_expression(tasks_parser *p, int64_t *v, int depth); // a sum
bool tasks_condition(tasks_parser *p, int64_t *v, int depth);  // comparisons, and, or: 0 or 1; or a sum
bool tasks_amount(tasks_parser *p, const char *what, uint64_t low, uint64_t high, uint64_t *v);
bool tasks_name(tasks_parser *p, const char *text, size_t n, int64_t v, bool fixed);
bool tasks_let(tasks_parser *p);

// kernel.c
bool tasks_begin_kernel(tasks_parser *p);
bool tasks_task(tasks_parser *p); // a line of a kernel
const task_kernel *tasks_find(const orr_tasks *t, const char *text, size_t n);

#endif
