// The memory that kernels may use: the program's allocations, and its modules' variables; and which of it one
// launch can reach.
//
// A pointer is any 8 bytes, at a multiple of 8, whose value is an address in some region, its end included.
// What looks like one by chance makes a capture larger and is no harm. A pointer that is stored in another
// way (in halves, as a difference) is not found: then replay meets an address that is in no region, and says
// so
// (--all-memory keeps everything).
#include "hook/hook.h"

#include <stdlib.h>
#include <string.h>

void hook_add(uint64_t addr, uint64_t bytes, bool host) {
    if (!addr || !bytes) return;
    hook_remove(addr);
    *ORR_PUSH(&the_hook.regions) = (hook_region){.addr = addr, .bytes = bytes, .host = host};
}

void hook_remove(uint64_t addr) {
    hook *h = &the_hook;
    for (size_t i = 0; i < h->regions.n; i++) {
        if (h->regions.at[i].addr != addr || h->regions.at[i].symbol) continue;
        if (h->writer) orr_capture_forget(h->writer, addr, h->regions.at[i].bytes);
        free(h->regions.at[i].saved);
        h->regions.at[i] = h->regions.at[--h->regions.n];
        return;
    }
}

// ---- reach ------------------------------------------------------------------------------------------------
typedef struct reach {
    ORR_VEC(uint32_t) sorted; // regions by address
    ORR_VEC(uint32_t) todo;   // marked and not looked at
    uint64_t low, span;       // of all regions
    uint64_t bytes;           // marked
    bool write;
} reach;

static int by_address(const void *a, const void *b) {
    const hook_region *r = the_hook.regions.at;
    uint64_t x = r[*(const uint32_t *)a].addr, y = r[*(const uint32_t *)b].addr;
    return x < y ? -1 : x > y;
}

static void start(reach *x) {
    hook *h = &the_hook;
    uint64_t high = 0;
    x->low = UINT64_MAX;
    for (size_t i = 0; i < h->regions.n; i++) {
        hook_region *r = &h->regions.at[i];
        r->reached = false;
        *ORR_PUSH(&x->sorted) = (uint32_t)i;
        if (r->addr < x->low) x->low = r->addr;
        if (r->addr + r->bytes > high) high = r->addr + r->bytes;
    }
    x->span = high > x->low ? high - x->low : 0;
    if (x->sorted.n) qsort(x->sorted.at, x->sorted.n, sizeof *x->sorted.at, by_address);
}

static void mark(reach *x, uint32_t region) {
    hook_region *r = &the_hook.regions.at[region];
    if (r->reached) return;
    r->reached = true;
    x->bytes += r->bytes;
    *ORR_PUSH(&x->todo) = region;
}

// Regions with this address in them or at their end. Variables may lie in one another's: all of them are
// found, because the ones that begin earlier are looked at too.
static void mark_address(reach *x, uint64_t addr) {
    size_t from = 0, to = x->sorted.n;
    while (from < to) {
        size_t mid = (from + to) / 2;
        if (the_hook.regions.at[x->sorted.at[mid]].addr <= addr)
            from = mid + 1;
        else
            to = mid;
    }
    for (size_t i = from, tries = 0; i > 0 && tries < 8; i--, tries++) {
        const hook_region *r = &the_hook.regions.at[x->sorted.at[i - 1]];
        if (addr - r->addr <= r->bytes) mark(x, x->sorted.at[i - 1]);
    }
}

static void scan(reach *x, const void *data, uint64_t n) {
    const char *p = data;
    for (uint64_t at = 0; at + 8 <= n; at += 8) {
        uint64_t word;
        memcpy(&word, p + at, 8);
        if (word - x->low <= x->span) mark_address(x, word);
    }
}

// ---- contents ---------------------------------------------------------------------------------------------
static void write_pieces(uint32_t tag, uint64_t addr, const char *data, uint64_t bytes) {
    for (uint64_t at = 0, end; at < bytes; at = end) {
        end = (((addr + at) | (ORR_PIECE - 1)) + 1) - addr;
        if (end > bytes) end = bytes;
        orr_capture_piece(the_hook.writer, tag, addr + at, data + at, end - at);
    }
}

typedef void on_contents(reach *x, const hook_region *r, uint64_t at, const char *data, uint64_t n);

// Cut where pieces end, so that they are the same whatever the buffer's size.
static bool read_region(reach *x, hook_region *r, on_contents *f) {
    hook *h = &the_hook;
    if (!h->buffer && h->cu.cuMemAllocHost_v2((void **)&h->buffer, HOOK_BUFFER) != 0) return false;
    if (r->array && !hook_array_read(r->array)) return false;
    for (uint64_t at = r->addr, end; at < r->addr + r->bytes; at = end) {
        end = (at | (HOOK_BUFFER - 1)) + 1;
        if (end > r->addr + r->bytes) end = r->addr + r->bytes;
        const char *data = r->host ? (const char *)(uintptr_t)at : h->buffer;
        if (!r->host && h->cu.cuMemcpyDtoH_v2(h->buffer, at, end - at) != 0) return false;
        f(x, r, at, data, end - at);
    }
    return true;
}

static void save(reach *x, const hook_region *r, uint64_t at, const char *data, uint64_t n) {
    (void)x;
    memcpy(r->saved + (at - r->addr), data, n);
}

static bool save_region(hook_region *r) {
    if (!the_hook.saving || r->saved) return true;
    r->saved = malloc(r->bytes);
    return r->saved && read_region(NULL, r, save);
}

static void look(reach *x, const hook_region *r, uint64_t at, const char *data, uint64_t n) {
    if (x->write) write_pieces(CHUNK_BEFORE, at, data, n);
    if (!the_hook.everything && !r->array) scan(x, data + (-at & 7), n > 8 ? n - (-at & 7) : 0);
}

bool hook_reach(const void *params, size_t n, const hook_module *m, bool write, uint64_t *bytes) {
    hook *h = &the_hook;
    reach x = {.write = write};
    bool ok = true;
    start(&x);
    for (size_t i = 0; i < h->regions.n; i++) {
        const hook_region *r = &h->regions.at[i];
        if (h->everything || (r->symbol && m && &h->modules.at[r->module] == m)) mark(&x, (uint32_t)i);
    }
    scan(&x, params, n);
    for (size_t i = 0; i < h->textures.n && h->reads_textures; i++) mark_address(&x, h->textures.at[i].t.at);
    while (ok && x.todo.n) {
        hook_region *r = &h->regions.at[x.todo.at[--x.todo.n]];
        ok = x.bytes <= h->limit && save_region(r) && read_region(&x, r, look);
    }
    *bytes = x.bytes;
    free(x.sorted.at);
    free(x.todo.at);
    return ok;
}

bool hook_reach_place(uint64_t addr) {
    hook *h = &the_hook;
    for (size_t i = 0; i < h->regions.n; i++) {
        hook_region *r = &h->regions.at[i];
        if (addr >= r->addr && addr - r->addr < r->bytes && !save_region(r)) return false;
    }
    return true;
}

static void write_changed(reach *x, const hook_region *r, uint64_t at, const char *data, uint64_t n) {
    (void)x, (void)r;
    write_pieces(CHUNK_AFTER, at, data, n);
}

bool hook_write_after(void) {
    hook *h = &the_hook;
    for (size_t i = 0; i < h->regions.n; i++)
        if (h->regions.at[i].reached && !read_region(NULL, &h->regions.at[i], write_changed)) return false;
    return true;
}

bool hook_restore(void) {
    hook *h = &the_hook;
    bool ok = true;
    for (size_t i = 0; i < h->regions.n; i++) {
        hook_region *r = &h->regions.at[i];
        if (!r->saved) continue;
        if (r->host) memcpy((char *)(uintptr_t)r->addr, r->saved, r->bytes);
        if (r->array)
            ok = hook_array_write(r->array) && ok;
        else if (!r->host)
            ok = h->cu.cuMemcpyHtoD_v2(r->addr, r->saved, r->bytes) == 0 && ok;
        free(r->saved);
        r->saved = NULL;
    }
    return ok;
}
