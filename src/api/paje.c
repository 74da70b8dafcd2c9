// Reads a trace line by line. A line is an event: its number, which the header gives a name, and fields
// separated by blanks; names may be in quotes. What is not needed is passed over.
#include "api/paje.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_EVENTS = 64, MAX_FIELDS = 8, MAX_DEPTH = 16 };
enum { OTHER, VALUE, CREATE, DESTROY, PUSH, POP, START_LINK, END_LINK };

typedef struct state { // of a rank
    int container, depth;
    size_t open[MAX_DEPTH]; // calls that have not ended
} state;

typedef struct reader {
    paje *p;
    int ranks;
    uint8_t kind[MAX_EVENTS];    // of an event's number
    ORR_VEC(const char *) names; // of a value's number
    ORR_VEC(int) rank_of;        // of a container's number; -1: it is no rank
    state *states;               // by rank
    orr_map waiting;             // key to message + 1, sent and not received
} reader;

static void header(reader *r, char *line) {
    static const struct {
        const char *name;
        uint8_t kind;
    } known[] = {
        {"PajeDefineEntityValue", VALUE}, {"PajeCreateContainer", CREATE}, {"PajeDestroyContainer", DESTROY},
        {"PajePushState", PUSH},          {"PajePopState", POP},           {"PajeStartLink", START_LINK},
        {"PajeEndLink", END_LINK}};
    char name[64];
    int number;
    if (sscanf(line, "%%EventDef %63s %d", name, &number) != 2 || number < 0 || number >= MAX_EVENTS) return;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, name)) r->kind[number] = known[i].kind;
}

static int split(char *line, char **field) {
    int n = 0;
    while (n < MAX_FIELDS) {
        line += strspn(line, " \t\r\n");
        if (!*line) break;
        char end = *line == '"' ? '"' : ' ';
        line += end == '"';
        field[n++] = line;
        line += strcspn(line, end == '"' ? "\"" : " \t\r\n");
        if (*line) *line++ = 0;
    }
    return n;
}

static int rank_at(const reader *r, const char *container) {
    long n = strtol(container, NULL, 10);
    return n >= 0 && (size_t)n < r->rank_of.n ? r->rank_of.at[n] : -1;
}

static void name_value(reader *r, char **f) {
    long n = strtol(f[1], NULL, 10);
    if (n < 0 || n > 100000) return;
    while (r->names.n <= (size_t)n) *ORR_PUSH(&r->names) = "";
    r->names.at[n] = orr_arena_strdup(&r->p->arena, strncmp(f[3], "PMPI_", 5) ? f[3] : f[3] + 5);
}

static void create(reader *r, char **f) { // 6 time container type parent "rank-0"
    long n = strtol(f[2], NULL, 10);
    int rank = -1;
    if (n < 0 || n > 10000000 || sscanf(f[5], "rank-%d", &rank) != 1 || rank < 0 || rank >= r->ranks) return;
    while (r->rank_of.n <= (size_t)n) *ORR_PUSH(&r->rank_of) = -1;
    r->rank_of.at[n] = rank;
}

static void push(reader *r, char **f) { // 12 time type container value
    int rank = rank_at(r, f[3]);
    long value = strtol(f[4], NULL, 10);
    if (rank < 0 || value < 0 || (size_t)value >= r->names.n) return;
    state *s = &r->states[rank];
    if (s->depth < MAX_DEPTH) s->open[s->depth] = r->p->calls.n;
    s->depth++;
    *ORR_PUSH(&r->p->calls) = (paje_call){rank, r->names.at[value], strtod(f[1], NULL), -1};
}

static void pop(reader *r, char **f) {
    int rank = rank_at(r, f[3]);
    if (rank < 0 || !r->states[rank].depth) return;
    state *s = &r->states[rank];
    if (--s->depth < MAX_DEPTH) r->p->calls.at[s->open[s->depth]].to = strtod(f[1], NULL);
}

static void start_link(reader *r, char **f, int n) { // 15 time type parent value container key bytes
    int rank = rank_at(r, f[5]);
    if (rank < 0) return;
    const char *key = orr_arena_strdup(&r->p->arena, f[6]);
    *ORR_PUSH(&r->p->messages) =
        (paje_message){rank, -1, n > 7 ? strtoull(f[7], NULL, 10) : 0, strtod(f[1], NULL), -1, key};
    orr_map_put(&r->waiting, key, (void *)(uintptr_t)r->p->messages.n);
}

static void end_link(reader *r, char **f) { // 16 time type parent value container key
    int rank = rank_at(r, f[5]);
    size_t at = (size_t)(uintptr_t)orr_map_get(&r->waiting, f[6]);
    if (rank < 0 || !at || at > r->p->messages.n) return;
    paje_message *m = &r->p->messages.at[at - 1];
    m->to = rank;
    m->got = strtod(f[1], NULL);
}

static void line_of(reader *r, char *line) {
    if (*line == '%') header(r, line + 0);
    if (*line < '0' || *line > '9') return;
    char *f[MAX_FIELDS];
    int n = split(line, f);
    long number = strtol(f[0], NULL, 10);
    int kind = n && number >= 0 && number < MAX_EVENTS ? r->kind[number] : OTHER;
    if (kind == VALUE && n >= 4) name_value(r, f);
    if (kind == CREATE && n >= 6) create(r, f);
    if (kind == PUSH && n >= 5) push(r, f);
    if (kind == POP && n >= 4) pop(r, f);
    if (kind == START_LINK && n >= 7) start_link(r, f, n);
    if (kind == END_LINK && n >= 7) end_link(r, f);
    if (kind == DESTROY && n >= 4 && rank_at(r, f[3]) >= 0)
        r->p->ends.at[rank_at(r, f[3])] = strtod(f[1], NULL);
}

bool paje_read(const char *path, int ranks, paje *p, orr_err *e) {
    *p = (paje){0};
    FILE *f = fopen(path, "r");
    if (!f)
        return orr_fail(e, ORR_PROGRAM_FAILED, "SimGrid left no trace: the program did not come to its end");
    reader r = {.p = p, .ranks = ranks};
    r.states = orr_calloc((size_t)ranks, sizeof *r.states);
    for (int i = 0; i < ranks; i++) *ORR_PUSH(&p->ends) = 0;
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, f) > 0) line_of(&r, line);
    free(line);
    fclose(f);
    free(r.states);
    free(r.names.at);
    free(r.rank_of.at);
    orr_map_free(&r.waiting);
    return true;
}

void paje_free(paje *p) {
    free(p->calls.at);
    free(p->messages.at);
    free(p->ends.at);
    orr_arena_free(&p->arena);
}
