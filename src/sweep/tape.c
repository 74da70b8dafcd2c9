// A tape: what every warp of every launch did, executed once and replayed as often as one likes.
//
// A thread block on the tape is the length of each of its warps' traces (4 bytes each), then the traces, as
// the executor wrote them. Blocks lie in segments, which are memory until there is too much of it and then
// pieces of a file that has no name any more: the system writes it back when it needs the memory, and it goes
// with the process. Players read segments through pointers either way, without a lock and without unpacking:
// a sweep reads a tape as often as it has points.
#include "sweep/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SEED          0x7461706500000001ull
#define FIRST_SEGMENT ((size_t)1 << 20)
#define MOST_SEGMENT  ((size_t)64 << 20)

typedef struct segment {
    uint8_t *bytes;
    size_t n, cap;
    bool mapped;
} segment;

struct orr_tape {
    ORR_VEC(orr_tape_item) items;
    ORR_VEC(segment) segments;
    ORR_VEC(const orr_kernel *) hashed; // kernels that are in the digest
    uint64_t most_memory, memory, bytes, blocks, digest;
    int file; // -1: none
    uint64_t file_bytes;
    uint32_t nwarps; // of a block of the launch that is being written
};

orr_tape *orr_tape_new(uint64_t most_memory) {
    orr_tape *t = orr_calloc(1, sizeof *t);
    t->most_memory = most_memory;
    t->digest = SEED;
    t->file = -1;
    return t;
}

void orr_tape_free(orr_tape *t) {
    if (!t) return;
    for (size_t k = 0; k < t->segments.n; k++) {
        segment *s = &t->segments.at[k];
        if (s->mapped)
            munmap(s->bytes, s->cap);
        else
            free(s->bytes);
    }
    if (t->file >= 0) close(t->file);
    free(t->segments.at);
    free(t->items.at);
    free(t->hashed.at);
    free(t);
}

size_t orr_tape_items(const orr_tape *t) { return t->items.n; }
const orr_tape_item *orr_tape_item_at(const orr_tape *t, size_t n) { return &t->items.at[n]; }
uint64_t orr_tape_bytes(const orr_tape *t) { return t->bytes; }
uint64_t orr_tape_blocks(const orr_tape *t) { return t->blocks; }

// ---- where bytes go -------------------------------------------------------------------------------
static bool open_file(orr_tape *t, orr_err *e) {
    const char *folder = getenv("TMPDIR");
    orr_text name = {0};
    orr_text_add(&name, "%s/orrery-XXXXXX", folder && *folder ? folder : "/tmp");
    t->file = mkostemp(name.s, O_CLOEXEC);
    if (t->file >= 0)
        unlink(name.s);
    else
        orr_fail(e, ORR_BAD_INPUT, "%s: cannot keep the streams there: %s; name another folder with TMPDIR",
                 name.s, strerror(errno));
    free(name.s);
    return t->file >= 0;
}

// Disk that is not there must be found out now: writing to a mapped page that has none ends the process.
static bool map_segment(orr_tape *t, segment *s, orr_err *e) {
    if (t->file < 0 && !open_file(t, e)) return false;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    s->cap = (s->cap + page - 1) / page * page;
    int why = posix_fallocate(t->file, (off_t)t->file_bytes, (off_t)s->cap);
    void *at = why ? MAP_FAILED
                   : mmap(NULL, s->cap, PROT_READ | PROT_WRITE, MAP_SHARED, t->file, (off_t)t->file_bytes);
    if (at == MAP_FAILED) {
        orr_fail(
            e, ORR_BAD_INPUT,
            "the streams take more than %llu MB, and there is no room for them in $TMPDIR (or /tmp): %s; "
            "choose a smaller --size, or launches with --kernels and --launches",
            (unsigned long long)(t->bytes >> 20), strerror(why ? why : errno));
        return false;
    }
    s->bytes = at;
    s->mapped = true;
    t->file_bytes += s->cap;
    return true;
}

// The segment that has room for n bytes in a row.
static segment *room(orr_tape *t, size_t n, orr_err *e) {
    segment *last = t->segments.n ? &t->segments.at[t->segments.n - 1] : NULL;
    if (last && last->cap - last->n >= n) return last;
    segment s = {.cap = last && last->cap < MOST_SEGMENT ? last->cap * 2
                        : last                           ? MOST_SEGMENT
                                                         : FIRST_SEGMENT};
    if (s.cap < n) s.cap = n;
    if (t->memory + s.cap <= t->most_memory) {
        s.bytes = orr_malloc(s.cap);
        t->memory += s.cap;
    } else if (!map_segment(t, &s, e)) {
        return NULL;
    }
    *ORR_PUSH(&t->segments) = s;
    return &t->segments.at[t->segments.n - 1];
}

// ---- the digest -----------------------------------------------------------------------------------
static void mix(orr_tape *t, const void *bytes, size_t n) { t->digest = orr_hash64(bytes, n, t->digest); }
static void mix_text(orr_tape *t, const char *s) { mix(t, s ? s : "", s ? strlen(s) + 1 : 1); }

// All that models read of a kernel. One that grows is read completely by the end of its first launch, and
// what a later launch adds changes that launch's stream too.
static void mix_kernel(orr_tape *t, const orr_kernel *k) {
    for (size_t n = 0; n < t->hashed.n; n++)
        if (t->hashed.at[n] == k) return;
    *ORR_PUSH(&t->hashed) = k;
    mix_text(t, k->name);
    mix_text(t, k->module ? k->module->source : "");
    _Static_assert(sizeof(orr_inst) == 76 && sizeof(orr_block) == 24,
                   "no padding in what is hashed as it is");
    mix(t, k->insts, k->ninsts * sizeof *k->insts);
    mix(t, k->blocks, k->nblocks * sizeof *k->blocks);
    for (uint32_t n = 0; n < k->noperands; n++) {
        const orr_operand *o = &k->operands[n];
        const uint64_t words[3] = {(uint64_t)o->kind | (uint64_t)o->cls << 8 | (uint64_t)o->neg << 16, o->reg,
                                   o->value};
        mix(t, words, sizeof words);
    }
    for (uint32_t n = 0; n < k->nnames; n++) mix_text(t, k->names[n]);
    const uint32_t rest[] = {k->shared_bytes,   k->shared_base, k->regs,   k->barriers,
                             k->bounds.maxnreg, k->machine,     k->control};
    mix(t, rest, sizeof rest);
}

uint64_t orr_tape_digest(const orr_tape *t) { return t->digest; }
void orr_tape_digest_is(orr_tape *t, uint64_t digest) { t->digest = digest; }

// ---- writing --------------------------------------------------------------------------------------
bool orr_tape_begin(orr_tape *t, const orr_launch_info *info, orr_err *e) {
    uint64_t threads = (uint64_t)info->block[0] * info->block[1] * info->block[2];
    if (!threads || threads > 1024)
        return orr_fail(e, ORR_BAD_INPUT, "launch %u of %s: a block of %llu threads cannot be", info->index,
                        info->kernel->name, (unsigned long long)threads);
    if (!room(t, 1, e)) return false;
    *ORR_PUSH(&t->items) = (orr_tape_item){
        .info = *info, .segment = t->segments.n - 1, .at = t->segments.at[t->segments.n - 1].n};
    t->nwarps = (uint32_t)((threads + ORR_WARP - 1) / ORR_WARP);
    const uint32_t shape[] = {info->grid[0],  info->grid[1],        info->grid[2], info->block[0],
                              info->block[1], info->dynamic_shared, info->index,   info->block[2]};
    mix(t, shape, sizeof shape);
    return true;
}

bool orr_tape_block(orr_tape *t, const orr_tb *tb, orr_err *e) {
    size_t n = (size_t)t->nwarps * 4;
    if (tb->nwarps != t->nwarps)
        return orr_fail(e, ORR_BAD_INPUT, "thread block %llu has %u warps, not %u",
                        (unsigned long long)tb->index, tb->nwarps, t->nwarps);
    for (uint32_t w = 0; w < tb->nwarps; w++) {
        if (tb->warps[w].n > UINT32_MAX)
            return orr_fail(e, ORR_BAD_INPUT, "thread block %llu: a warp's stream is larger than 4 GB",
                            (unsigned long long)tb->index);
        n += tb->warps[w].n;
    }
    segment *s = room(t, n, e);
    if (!s) return false;
    uint8_t *start = s->bytes + s->n, *to = start;
    for (uint32_t w = 0; w < tb->nwarps; w++, to += 4) {
        uint32_t length = (uint32_t)tb->warps[w].n;
        memcpy(to, &length, 4);
    }
    for (uint32_t w = 0; w < tb->nwarps; w++) {
        if (tb->warps[w].n) memcpy(to, tb->warps[w].bytes, tb->warps[w].n);
        to += tb->warps[w].n;
    }
    mix(t, start, n);
    s->n += n;
    t->bytes += n;
    t->blocks++;
    t->items.at[t->items.n - 1].blocks++;
    return true;
}

bool orr_tape_end(orr_tape *t, orr_err *e) {
    const orr_tape_item *i = &t->items.at[t->items.n - 1];
    uint64_t blocks = (uint64_t)i->info.grid[0] * i->info.grid[1] * i->info.grid[2];
    if (i->blocks != blocks)
        return orr_fail(e, ORR_BAD_INPUT, "launch %u of %s has %llu thread blocks, not %llu", i->info.index,
                        i->info.kernel->name, (unsigned long long)i->blocks, (unsigned long long)blocks);
    mix_kernel(t, i->info.kernel);
    return true;
}

void orr_tape_copy(orr_tape *t, uint64_t addr, uint64_t bytes) {
    *ORR_PUSH(&t->items) = (orr_tape_item){.copy = true, .addr = addr, .bytes = bytes};
    const uint64_t words[] = {addr, bytes};
    mix(t, words, sizeof words);
}

// ---- from the executor, from a file -----------------------------------------------------------------
typedef struct recording {
    orr_tape *tape;
    orr_progress *progress;
} recording;

static bool on_block(void *arg, int worker, const orr_tb *tb, orr_err *e) {
    recording *r = arg;
    (void)worker;
    if (r->progress) orr_progress_part(r->progress, 1);
    return orr_progress_go(r->progress, e) && orr_tape_block(r->tape, tb, e);
}

bool orr_tape_launch(orr_tape *t, const orr_launch *l, int threads, orr_progress *p, orr_err *e) {
    orr_launch_info info = orr_info_of(l);
    recording r = {t, p};
    if (p) orr_progress_parts(p, (uint64_t)l->grid[0] * l->grid[1] * l->grid[2]);
    return orr_tape_begin(t, &info, e) &&
           orr_exec_run(l, threads, &(orr_visitor){on_block, &r, true}, NULL, e) && orr_tape_end(t, e);
}

bool orr_tape_source(orr_tape *t, orr_source *s, orr_progress *p, orr_err *e) {
    orr_tb tb;
    int more = 1;
    recording r = {t, p};
    if (p) orr_progress_parts(p, (uint64_t)s->info.grid[0] * s->info.grid[1] * s->info.grid[2]);
    if (!orr_tape_begin(t, &s->info, e)) return false;
    while ((more = s->next(s, &tb, e)) > 0)
        if (!on_block(&r, 0, &tb, e)) return false;
    return more == 0 && orr_tape_end(t, e);
}

// What is made up depends on the list alone: all of its text is in the kernel and in one block's stream.
bool orr_tape_tasks(orr_tape *t, const orr_tasks *list, const orr_task_step *step, orr_err *e) {
    orr_source *s = orr_tasks_source(list, step);
    orr_tb tb;
    int more = s->next(s, &tb, e);
    for (uint32_t w = 0; more > 0 && w < tb.nwarps; w++) mix(t, tb.warps[w].bytes, tb.warps[w].n);
    s->close(s);
    if (more < 0) return false;
    const orr_launch_info *i = &step->launch;
    const uint64_t shape[] = {i->grid[0],  i->grid[1],  i->grid[2], i->block[0],      i->block[1],
                              i->block[2], step->times, i->index,   i->dynamic_shared};
    mix(t, shape, sizeof shape);
    mix_kernel(t, i->kernel);
    *ORR_PUSH(&t->items) = (orr_tape_item){.info = *i, .list = list, .step = step};
    return true;
}

// ---- playing ----------------------------------------------------------------------------------------
static int play(orr_source *s, orr_tb *tb, orr_err *e) {
    orr_player *p = (orr_player *)s;
    (void)e;
    if (p->next == p->blocks) return 0;
    const segment *from = &p->tape->segments.at[p->segment];
    if (p->at == from->n) { // a block lies in one segment; the one it did not fit into ends before it
        from = &p->tape->segments.at[++p->segment];
        p->at = 0;
    }
    const uint8_t *lengths = from->bytes + p->at, *bytes = lengths + (size_t)p->nwarps * 4;
    for (uint32_t w = 0; w < p->nwarps; w++) {
        uint32_t length;
        memcpy(&length, lengths + (size_t)w * 4, 4);
        p->warps[w] = (orr_warp_trace){bytes, length};
        bytes += length;
    }
    p->at = (size_t)(bytes - from->bytes);
    *tb = (orr_tb){p->next++, p->nwarps, p->warps};
    return 1;
}

static bool skip(orr_source *s, uint64_t to, orr_err *e) {
    orr_player *p = (orr_player *)s;
    orr_tb tb;
    while (p->next < to && play(s, &tb, e) > 0) {} // lengths are looked at, streams are not
    return true;
}

static void keep(orr_source *s) { (void)s; } // it is part of the player

orr_source *orr_player_open(orr_player *p, const orr_tape *t, size_t item) {
    const orr_tape_item *i = &t->items.at[item];
    uint32_t threads = i->info.block[0] * i->info.block[1] * i->info.block[2];
    p->base = (orr_source){.info = i->info, .next = play, .close = keep, .skip = skip};
    p->tape = t;
    p->segment = i->segment;
    p->at = i->at;
    p->next = 0;
    p->blocks = i->blocks;
    p->nwarps = (threads + ORR_WARP - 1) / ORR_WARP;
    if (p->nwarps > p->room) {
        p->warps = orr_realloc(p->warps, p->nwarps * sizeof *p->warps);
        p->room = p->nwarps;
    }
    return &p->base;
}

void orr_player_free(orr_player *p) {
    free(p->warps);
    *p = (orr_player){0};
}

// ---- to another process -------------------------------------------------------------------------------
static bool write_launch(const orr_tape *t, size_t item, orr_player *p, orr_stream_writer *w, orr_err *e) {
    orr_source *s = orr_player_open(p, t, item);
    orr_tb tb;
    bool ok = orr_stream_begin(w, &s->info, e);
    while (ok && s->next(s, &tb, e) > 0) ok = orr_stream_block(w, &tb, e);
    return ok && orr_stream_end(w, e);
}

bool orr_tape_write(const orr_tape *t, const char *path, orr_err *e) {
    for (size_t k = 0; k < t->items.n; k++)
        if (t->items.at[k].copy || t->items.at[k].list) return false;
    orr_stream_writer *w = orr_stream_create(path, e);
    orr_player p = {0};
    bool ok = w != NULL;
    for (size_t k = 0; ok && k < t->items.n; k++) ok = write_launch(t, k, &p, w, e);
    orr_player_free(&p);
    if (ok) return orr_stream_commit(w, e);
    if (w) orr_stream_discard(w);
    return false;
}
