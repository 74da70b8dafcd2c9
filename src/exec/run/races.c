// Does a launch race through plain loads and stores?
//
// The launch is executed once, thread block after thread block, and each access of global memory is looked
// at: does a warp load bytes that another one has stored, or store bytes that another one has loaded, with no
// barrier of their thread block in between? If not, no thread has found what another one left, each did what
// it would do alone, and it does the same in whatever order they come: there is no race. If so, what the
// thread finds depends on who comes first, and that is the end of the look. Bytes that two warps store and
// nobody loads are no race: they change nothing that anybody does. So is a reduction beside another one.
//
// Of each line of 128 bytes it is kept who came to which bytes: this warp since the last barrier, other warps
// of its block since then, the block before that, and other blocks. Lines are kept as they were before they
// are stored to, and memory is as before in the end.
#include <stdlib.h>
#include <string.h>

#include "exec/block.h"
#include "exec/step.h"

enum { LINE = 128, PAGE_LINES = 64, PAGE_BYTES = LINE * PAGE_LINES };
#define MOST_PAGES (1ull << 29) // 4 TiB of addresses
#define TOO_LONG   (1u << 24)   // instructions of a warp: it waits for another one, more likely than not

typedef struct byte_set {
    uint64_t at[2];
} byte_set;
typedef struct bytes_touched {
    byte_set loaded, stored;
} bytes_touched;

typedef struct line_history {
    bytes_touched warp, others, before; // of the block that came last: see above
    bytes_touched blocks;               // by other blocks
    uint64_t block;                     // the one that came last, + 1; 0: nobody has
    uint32_t phase, index;              // its barriers until then, and which warp
} line_history;

typedef struct page {
    line_history line[PAGE_LINES];
    uint64_t saved; // lines whose bytes are kept, a bit each
    uint8_t *bytes; // as they were
} page;

typedef struct watch {
    live live; // must be first: what warps have as their step
    page **pages;
    uint64_t from, npages;
    uint64_t stored_from, stored_bytes; // what is stored to lies in here
    ORR_VEC(uint64_t) touched;          // pages that there are
    bool found;
} watch;

// ---- sets of bytes ------------------------------------------------------------------------------
static void add(byte_set *to, byte_set more) {
    to->at[0] |= more.at[0];
    to->at[1] |= more.at[1];
}
static bool meet(byte_set a, byte_set b) { return (a.at[0] & b.at[0]) | (a.at[1] & b.at[1]); }

static void move(bytes_touched *to, bytes_touched *from) {
    add(&to->loaded, from->loaded);
    add(&to->stored, from->stored);
    *from = (bytes_touched){0};
}

// ---- lines --------------------------------------------------------------------------------------
static page *page_of(watch *x, uint64_t addr) {
    uint64_t n = (addr - x->from) / PAGE_BYTES;
    if (addr < x->from || n >= x->npages) return NULL;
    if (!x->pages[n]) {
        x->pages[n] = orr_calloc(1, sizeof **x->pages);
        *ORR_PUSH(&x->touched) = n;
    }
    return x->pages[n];
}

static void save(page *p, uint32_t n, const uint8_t *line) {
    if (p->saved >> n & 1) return;
    if (!p->bytes) p->bytes = orr_malloc(PAGE_BYTES);
    memcpy(p->bytes + (size_t)n * LINE, line, LINE);
    p->saved |= 1ull << n;
}

// An access of the warp follows: what earlier accesses were moves to where other warps and blocks have
// theirs.
static void accessed_by(line_history *l, const warp *w) {
    uint64_t block = w->tb->index + 1;
    if (l->block != block) {
        move(&l->blocks, &l->before);
        move(&l->blocks, &l->others);
        move(&l->blocks, &l->warp);
    } else if (l->phase != w->tb->releases) {
        move(&l->before, &l->others);
        move(&l->before, &l->warp);
    } else if (l->index != w->index) {
        move(&l->others, &l->warp);
    }
    l->block = block;
    l->phase = w->tb->releases;
    l->index = w->index;
}

static void touch(watch *x, const warp *w, uint64_t line, byte_set bytes, bool stores) {
    page *p = page_of(x, line);
    if (!p) return; // the executor says what is wrong with it
    uint32_t n = (uint32_t)((line - x->from) / LINE % PAGE_LINES);
    line_history *l = &p->line[n];
    accessed_by(l, w);
    if (stores) {
        save(p, n, orr_mem_at(w->worker->mem, line));
        x->found |= meet(l->blocks.loaded, bytes) || meet(l->others.loaded, bytes);
        add(&l->warp.stored, bytes);
    } else {
        x->found |= meet(l->blocks.stored, bytes) || meet(l->others.stored, bytes);
        add(&l->warp.loaded, bytes);
    }
}

bool orr_watch_access(warp *w, const uop *u, const uint64_t addr[ORR_WARP], uint32_t lanes, uint32_t bytes) {
    watch *x = (watch *)w->step;
    bool stores = u->inst->op != ORR_OP_CPASYNC && orr_ops[u->inst->op].flags & (ORR_F_STORE | ORR_F_ATOMIC);
    byte_set all = {{0, 0}};
    uint64_t line = 1, ones = bytes < 64 ? (1ull << bytes) - 1 : UINT64_MAX; // line: not one yet
    for (uint32_t m = lanes; m; m &= m - 1) {
        uint64_t at = addr[orr_ffs(m)];
        if (at - x->stored_from >= x->stored_bytes) continue;
        if ((at ^ line) >= LINE || line == 1) {
            if (line != 1) touch(x, w, line, all, stores);
            line = at - at % LINE;
            all = (byte_set){{0, 0}};
        }
        all.at[at / 64 % 2] |= ones << at % 64; // they are aligned
    }
    if (line != 1) touch(x, w, line, all, stores);
    if (x->found || w->insts > TOO_LONG) w->tb->faulted = x->found = true;
    return !w->tb->faulted;
}

// ---- a launch -----------------------------------------------------------------------------------
static void put_back(watch *x, const orr_mem *m) {
    for (size_t k = 0; k < x->touched.n; k++) {
        uint64_t n = x->touched.at[k];
        page *p = x->pages[n];
        uint8_t *to = orr_mem_at(m, x->from + n * PAGE_BYTES);
        for (uint64_t left = p->saved; left; left &= left - 1) {
            size_t at = (size_t)__builtin_ctzll(left) * LINE;
            memcpy(to + at, p->bytes + at, LINE);
        }
        free(p->bytes);
        free(p);
    }
    free(x->touched.at);
    free(x->pages);
}

// What is stored to a surface is not looked at, and could not be put back.
static bool stores_to_surfaces(const orr_kernel *k) {
    for (uint32_t i = 0; i < k->ninsts; i++)
        if (k->insts[i].op == ORR_OP_SUST || k->insts[i].op == ORR_OP_SURED) return true;
    return false;
}

// A table of all pages that are stored to; false: they are too far apart (memory of a GPU, in several
// places).
static bool make_table(watch *x, const orr_launch *l) {
    uint64_t from, bytes;
    orr_mem_extent(l->mem, &from, &bytes);
    orr_stored_extent(l, &x->stored_from, &x->stored_bytes);
    uint64_t end = from + bytes;
    if (x->stored_bytes < end - x->stored_from && x->stored_from < end)
        end = x->stored_from + x->stored_bytes;
    if (x->stored_from > from) from = x->stored_from & ~(uint64_t)(PAGE_BYTES - 1);
    x->from = from;
    x->npages = end > from ? (end - from + PAGE_BYTES - 1) / PAGE_BYTES : 0;
    if (x->npages > MOST_PAGES) return false;
    x->pages = orr_calloc(x->npages ? x->npages : 1, sizeof *x->pages);
    return true;
}

bool orr_launch_races(const orr_launch *l) {
    decoded p;
    orr_err e = {0};
    const char *why;
    if (orr_calls_system(l->kernel) || stores_to_surfaces(l->kernel))
        return false; // nor what it prints and takes
    if (!orr_may_race(l) || !orr_step_can(l, ORR_STEP_AT_ISSUE, &why) || !orr_decode(&p, l, &e)) return false;
    watch x = {.live = {.ns = 1, .at_issue = true, .watched = true}};
    worker k;
    if (!make_table(&x, l)) {
        orr_decoded_free(&p);
        return false;
    }
    orr_strays strays = orr_mem_strays(l->mem);
    orr_worker_init(&k, &p, false);
    k.watch = &x.live;
    uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    for (uint64_t n = 0; n < blocks && !x.found && !k.err.status; n++) {
        tblock *tb = orr_block_start(&k, n);
        while (orr_block_run(tb) == RUN_YIELDS) {}
        orr_block_finish(tb);
    }
    put_back(&x, l->mem);
    orr_mem_count_strays(l->mem, strays);
    orr_worker_free(&k);
    orr_decoded_free(&p);
    return x.found;
}
