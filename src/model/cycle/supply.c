// Thread blocks for the SMs (supply.h).
//
// With more than one host thread the source is read ahead by a thread of its own: executing or parsing the
// next blocks then goes on beside the simulation. How far ahead is bounded by bytes, so memory is too; who
// has read so far goes on when half of it has been taken, and is not woken for each block. Where the source
// comes in parts (orr_source.part) and the launch is large, several threads read: each has every n-th piece
// of the grid, and a list of its own, from which blocks are taken in grid order.
#include "model/cycle/supply.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define AHEAD_BLOCKS 512
#define AHEAD_BYTES  (32u << 20)
#define MOST_READERS 8
#define PIECE        4    // blocks in a row of one reader
#define READER_WARPS 1024 // for fewer, another reader takes longer to begin than it saves

typedef struct reader { // of some of the blocks
    struct supply *supply;
    orr_source *source;
    uint64_t *blocks;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    block_traces *first, **last;
    uint32_t queued;
    size_t bytes; // queued
    bool runs, ended, stop;
    orr_err err;
} reader;

struct supply {
    orr_source *source;
    uint64_t next; // the block that is taken after those returned
    // leaving out, by who reads
    uint64_t warm, to;
    orr_touch *touch;
    void *arg;
    orr_profile *places;
    orr_arena arena;
    block_traces *back;               // returned: come first, in order
    ORR_VEC(block_traces *) returned; // that are not in `back` yet,
    ORR_VEC(block_traces *) numbers;  // by number, to put them in order
    block_traces *spare;
    // read ahead
    bool ahead;
    pthread_t thread;
    pthread_mutex_t lock;    // of the list
    pthread_mutex_t reading; // of the source and its kernel
    pthread_cond_t changed;
    block_traces *first, **last;
    uint32_t queued;
    size_t bytes; // queued
    bool ended, stop;
    orr_err err;
    reader *readers; // NULL: there is one at most, `thread`
    uint32_t nreaders;
};

static void copy(block_traces *b, const orr_tb *tb, uint32_t nblocks) {
    size_t bytes = 0;
    for (uint32_t w = 0; w < tb->nwarps; w++) bytes += tb->warps[w].n;
    if (bytes > b->cap) {
        free(b->bytes);
        b->cap = bytes + bytes / 4;
        b->bytes = orr_malloc(b->cap);
    }
    if (tb->nwarps > b->warps_cap) {
        b->warps_cap = tb->nwarps;
        b->warps = orr_realloc(b->warps, b->warps_cap * sizeof *b->warps);
    }
    uint8_t *at = b->bytes;
    for (uint32_t w = 0; w < tb->nwarps; w++) {
        if (tb->warps[w].n) memcpy(at, tb->warps[w].bytes, tb->warps[w].n);
        b->warps[w] = (orr_warp_trace){at, tb->warps[w].n};
        at += tb->warps[w].n;
    }
    b->used = bytes;
    b->index = tb->index;
    b->nwarps = tb->nwarps;
    b->nblocks = nblocks;
    b->earliest = 0;
    b->grid = NULL;
    b->next = NULL;
}

// A reader of so many blocks and bytes is to stop, or to go on.
static bool is_ahead(uint32_t queued, size_t bytes, uint32_t readers) {
    return queued && (queued >= AHEAD_BLOCKS / readers || bytes >= AHEAD_BYTES / readers);
}
static bool is_behind(uint32_t queued, size_t bytes, uint32_t readers) {
    return queued <= AHEAD_BLOCKS / readers / 2 && bytes <= AHEAD_BYTES / readers / 2;
}

static void give(block_traces **list, block_traces *b) {
    b->next = *list;
    *list = b;
}

static block_traces *take(block_traces **list) {
    block_traces *b = *list;
    if (b)
        *list = b->next;
    else
        b = orr_calloc(1, sizeof *b);
    return b;
}

static bool read_into(orr_source *source, block_traces *b, orr_err *e) {
    orr_tb tb;
    if (source->next(source, &tb, e) <= 0) return false;
    copy(b, &tb, source->info.kernel->nblocks);
    return true;
}

static block_traces *take_spare(supply *s) {
    pthread_mutex_lock(&s->lock);
    block_traces *b = take(&s->spare);
    b->next = NULL;
    pthread_mutex_unlock(&s->lock);
    return b;
}

// ---- several readers ----------------------------------------------------------------------------
static void *read_part(void *arg) {
    reader *r = arg;
    supply *s = r->supply;
    for (bool more = true; more;) {
        pthread_mutex_lock(&r->lock);
        while (!r->stop && is_ahead(r->queued, r->bytes, s->nreaders))
            pthread_cond_wait(&r->changed, &r->lock);
        more = !r->stop;
        pthread_mutex_unlock(&r->lock);
        block_traces *b = take_spare(s);
        more = more && read_into(r->source, b, &r->err);
        if (!more) cyc_supply_done(s, b);
        pthread_mutex_lock(&r->lock);
        if (more) {
            *r->last = b;
            r->last = &b->next;
            r->bytes += b->used;
        }
        r->ended = !more;
        if ((more && !r->queued++) || !more) pthread_cond_broadcast(&r->changed); // who waits has found none
        pthread_mutex_unlock(&r->lock);
    }
    return NULL;
}

static void open_reader(supply *s, uint32_t k, uint64_t total) {
    reader *r = &s->readers[k];
    uint64_t n = 0, each = (uint64_t)PIECE * s->nreaders;
    r->supply = s;
    r->last = &r->first;
    r->blocks = orr_malloc((total / each + 1) * PIECE * sizeof *r->blocks);
    for (uint64_t from = (uint64_t)k * PIECE; from < total; from += each)
        for (uint64_t i = from; i < from + PIECE && i < total; i++) r->blocks[n++] = i;
    r->source = s->source->part(s->source, r->blocks, n);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
}

// As many as there is work for. The threads that cannot be had are done without: their part is read when it
// is asked for.
static void open_readers(supply *s, int threads) {
    const orr_launch_info *l = &s->source->info;
    uint64_t total = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2],
             warps = total * (((uint64_t)l->block[0] * l->block[1] * l->block[2] + 31) / 32),
             n = warps / READER_WARPS, most = (uint64_t)(threads + 1) / 2;
    if (most > MOST_READERS) most = MOST_READERS;
    if (n > most) n = most;
    if (!s->source->part || n < 2 || total / PIECE < n) return;
    s->nreaders = (uint32_t)n;
    s->readers = orr_calloc(n, sizeof *s->readers);
    for (uint32_t k = 0; k < n; k++) open_reader(s, k, total);
    for (uint32_t k = 0; k < n; k++)
        s->readers[k].runs = pthread_create(&s->readers[k].thread, NULL, read_part, &s->readers[k]) == 0;
}

static block_traces *take_from(supply *s, reader *r) {
    block_traces *b;
    if (!r->runs) {
        b = take_spare(s);
        if (read_into(r->source, b, &r->err)) return b;
        cyc_supply_done(s, b);
        s->err = r->err;
        return NULL;
    }
    pthread_mutex_lock(&r->lock);
    while (!r->first && !r->ended) pthread_cond_wait(&r->changed, &r->lock);
    b = r->first;
    if (b) {
        r->first = b->next;
        if (!r->first) r->last = &r->first;
        b->next = NULL;
        r->bytes -= b->used;
        r->queued--;
        if (is_behind(r->queued, r->bytes, s->nreaders)) pthread_cond_signal(&r->changed);
    }
    pthread_mutex_unlock(&r->lock);
    if (!b) s->err = r->err;
    return b;
}

static void free_list(block_traces *b) {
    while (b) {
        block_traces *next = b->next;
        free(b->bytes);
        free(b->warps);
        free(b);
        b = next;
    }
}

static void close_readers(supply *s) {
    for (uint32_t k = 0; k < s->nreaders; k++) {
        reader *r = &s->readers[k];
        pthread_mutex_lock(&r->lock);
        r->stop = true;
        pthread_cond_broadcast(&r->changed);
        pthread_mutex_unlock(&r->lock);
    }
    for (uint32_t k = 0; k < s->nreaders; k++) {
        reader *r = &s->readers[k];
        if (r->runs) pthread_join(r->thread, NULL);
        free_list(r->first);
        r->source->close(r->source);
        free(r->blocks);
        pthread_cond_destroy(&r->changed);
        pthread_mutex_destroy(&r->lock);
    }
    free(s->readers);
}

// ---- one reader ---------------------------------------------------------------------------------
static void *read_all(void *arg) {
    supply *s = arg;
    bool more = true;
    while (more) {
        pthread_mutex_lock(&s->lock);
        while (!s->stop && is_ahead(s->queued, s->bytes, 1)) pthread_cond_wait(&s->changed, &s->lock);
        more = !s->stop;
        block_traces *b = take(&s->spare);
        pthread_mutex_unlock(&s->lock);
        if (more) {
            pthread_mutex_lock(&s->reading);
            more = read_into(s->source, b, &s->err);
        } else {
            pthread_mutex_lock(&s->reading);
        }
        pthread_mutex_lock(&s->lock); // before another may read: what has been read is on the list then
        if (more) {
            *s->last = b;
            s->last = &b->next;
            s->bytes += b->used;
        } else {
            give(&s->spare, b);
            s->ended = true;
        }
        if (!more || !s->queued++) pthread_cond_broadcast(&s->changed); // who waits has found none
        pthread_mutex_unlock(&s->lock);
        pthread_mutex_unlock(&s->reading);
    }
    return NULL;
}

supply *cyc_supply_open(orr_source *source, int threads, bool skips) {
    supply *s = orr_calloc(1, sizeof *s);
    s->source = source;
    s->last = &s->first;
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->reading, NULL);
    pthread_cond_init(&s->changed, NULL);
    if (threads > 1 && !skips) open_readers(s, threads);
    s->ahead = threads > 1 && !s->readers && pthread_create(&s->thread, NULL, read_all, s) == 0;
    return s;
}

// There are as many as SMs have in stock, with numbers close together.
void cyc_supply_return(supply *s, block_traces *list) {
    for (; list; list = list->next) *ORR_PUSH(&s->returned) = list;
}

static int by_index(const void *a, const void *b) {
    uint64_t x = (*(block_traces *const *)a)->index, y = (*(block_traces *const *)b)->index;
    return (x > y) - (x < y);
}

// What has been returned goes to what was before.
static void put_back(supply *s) {
    if (!s->returned.n) return;
    cyc_supply_return(s, s->back);
    block_traces **at = &s->back, **all = s->returned.at;
    size_t n = s->returned.n;
    uint64_t first = all[0]->index, last = first;
    for (size_t i = 1; i < n; i++) {
        first = all[i]->index < first ? all[i]->index : first;
        last = all[i]->index > last ? all[i]->index : last;
    }
    if (last - first < 8 * n) { // a place for each number
        s->numbers.n = 0;
        for (uint64_t i = first; i <= last; i++) *ORR_PUSH(&s->numbers) = NULL;
        for (size_t i = 0; i < n; i++) s->numbers.at[all[i]->index - first] = all[i];
        all = s->numbers.at;
        n = s->numbers.n;
    } else {
        qsort(all, n, sizeof *all, by_index);
    }
    for (size_t i = 0; i < n; i++) {
        if (!all[i]) continue;
        *at = all[i];
        at = &all[i]->next;
    }
    *at = NULL;
    s->returned.n = 0;
}

static block_traces *take_new(supply *s);
block_traces *cyc_supply_take(supply *s) {
    put_back(s);
    block_traces *b = s->back;
    if (b) {
        s->back = b->next;
        b->next = NULL;
        return b;
    }
    b = take_new(s);
    if (b) s->next = b->index + 1;
    return b;
}

// The first block of the list, which is not empty; s->lock is held.
static block_traces *unlink_first(supply *s) {
    block_traces *b = s->first;
    s->first = b->next;
    if (!s->first) s->last = &s->first;
    b->next = NULL;
    s->queued--;
    s->bytes -= b->used;
    if (is_behind(s->queued, s->bytes, 1)) pthread_cond_broadcast(&s->changed);
    return b;
}

static block_traces *take_new(supply *s) {
    block_traces *b;
    if (s->readers) {
        b = s->ended ? NULL : take_from(s, &s->readers[s->next / PIECE % s->nreaders]);
        s->ended = !b;
        return b;
    }
    if (!s->ahead) {
        if (s->ended) return NULL;
        b = take(&s->spare);
        if (read_into(s->source, b, &s->err)) return b;
        give(&s->spare, b);
        s->ended = true;
        return NULL;
    }
    pthread_mutex_lock(&s->lock);
    while (!s->first && !s->ended) pthread_cond_wait(&s->changed, &s->lock);
    b = s->first ? unlink_first(s) : NULL;
    pthread_mutex_unlock(&s->lock);
    return b;
}

void cyc_supply_done(supply *s, block_traces *list) {
    if (!list) return;
    pthread_mutex_lock(&s->lock);
    while (list) {
        block_traces *b = list;
        list = b->next;
        give(&s->spare, b);
    }
    pthread_mutex_unlock(&s->lock);
}

uint64_t cyc_supply_next(supply *s) {
    put_back(s);
    return s->back ? s->back->index : s->next;
}

// A block that has been read is left out. Its lines, if they are wanted.
static bool leave_out(supply *s, const orr_tb *tb) {
    if (!s->touch || tb->index < s->warm) return true;
    if (!s->places) s->places = orr_warm_places(s->source->info.kernel, &s->arena);
    orr_profile_grow(s->places);
    return orr_warm_block(s->places, tb, s->touch, s->arg);
}

static bool leave_out_buffer(supply *s, block_traces *b) {
    orr_tb tb = {.index = b->index, .nwarps = b->nwarps, .warps = b->warps};
    bool ok = leave_out(s, &tb);
    cyc_supply_done(s, b);
    return ok;
}

// The reader's thread stands still between two blocks while this one has `reading`: what it has put on its
// list by then is left out from there, the rest from the source.
bool cyc_supply_skip(supply *s, uint64_t warm, uint64_t to, orr_touch *touch, void *arg, orr_err *e) {
    s->warm = warm;
    s->to = to;
    s->touch = touch;
    s->arg = arg;
    bool ok = true;
    put_back(s);
    while (ok && s->back && s->back->index < to) {
        block_traces *b = s->back;
        s->back = b->next;
        b->next = NULL;
        ok = leave_out_buffer(s, b);
    }
    if (s->back) return ok || orr_fail(e, ORR_BAD_INPUT, "a stream is damaged; record it again");
    if (s->next >= to) return true;
    if (s->ahead) pthread_mutex_lock(&s->reading);
    for (;;) {
        if (s->ahead) pthread_mutex_lock(&s->lock);
        block_traces *b = s->first && s->first->index < to ? unlink_first(s) : NULL;
        bool more = s->first != NULL;
        if (s->ahead) pthread_mutex_unlock(&s->lock);
        if (!b) {
            if (more) s->next = to;
            break;
        }
        s->next = b->index + 1;
        ok = ok && leave_out_buffer(s, b);
    }
    while (ok && s->next < to && !s->ended) {
        orr_tb tb;
        if (s->source->skip && s->next < warm) {
            uint64_t upto = warm < to ? warm : to;
            ok = s->source->skip(s->source, upto, &s->err);
            s->next = upto;
        } else if (s->source->next(s->source, &tb, &s->err) > 0) {
            s->next = tb.index + 1;
            ok = leave_out(s, &tb);
        } else {
            s->ended = true;
        }
    }
    if (s->ahead) pthread_mutex_unlock(&s->reading);
    if (s->err.status) return orr_fail(e, s->err.status, "%s", s->err.text);
    return ok || orr_fail(e, ORR_BAD_INPUT, "a stream is damaged; record it again");
}

void cyc_supply_grow(supply *s, orr_program *p) {
    if (s->ahead) pthread_mutex_lock(&s->reading);
    orr_program_grow(p);
    if (s->ahead) pthread_mutex_unlock(&s->reading);
}

bool cyc_supply_close(supply *s, orr_err *e) {
    if (s->ahead) {
        pthread_mutex_lock(&s->lock);
        s->stop = true;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
        pthread_join(s->thread, NULL);
    }
    close_readers(s);
    put_back(s);
    free_list(s->back);
    free_list(s->first);
    free_list(s->spare);
    free(s->returned.at);
    free(s->numbers.at);
    orr_arena_free(&s->arena);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->reading);
    pthread_mutex_destroy(&s->lock);
    bool ok = !s->err.status;
    if (!ok) orr_fail(e, s->err.status, "%s", s->err.text);
    free(s);
    return ok;
}
