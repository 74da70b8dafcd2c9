// Launches as Accel-Sim's trace files: kernelslist.g and kernel-N.traceg[.xz] in a folder.
//
// The instructions are those of the program that is timed, lanes and addresses those of the streams. The
// folder has a temporary name until all of it is there. A warp is gone through twice: first to count its
// lines, which a trace says before them, and to find where each lane ends; then to write. So nothing of it is
// kept.
//
// Accel-Sim retires lanes at EXIT and wants every lane of a warp exactly once. A stream does not say which
// lanes a predicated EXIT took: they are those that are not seen afterwards. A lane that is last seen in a
// block without an EXIT ends in one more line at the end of its warp.
#include "accel/writer.h"
#include "exec/exec.h"
#include "sass/sass.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#ifdef ORRERY_HAVE_LZMA
#include <lzma.h>
#endif

#define BUFFER (1 << 20)
#define ROOM   2048 // no line is longer

struct orr_accel_writer {
    uint32_t body, then, then_mask; // of the warp being written: see next_block
    bool has_then;
    char *folder, *temp;
    bool xz;
    orr_text list; // kernelslist.g
    uint32_t kernels;
    // the file under way
    FILE *file; // NULL: none
    char *path;
    char *buf;
    size_t n;
#ifdef ORRERY_HAVE_LZMA
    lzma_stream z;
    uint8_t *packed;
#endif
    // the launch under way
    const orr_program *p;
    orr_launch_info info;
    int binary;
    uint32_t threads;
    entry *entries; // by instruction of the program
    uint32_t nentries;
    uint32_t end_pc; // behind the last of them
    orr_arena arena; // their text
    orr_access *access;
    uint32_t naccess;
};

static bool ours(const char *name) {
    size_t n = strlen(name);
    bool traceg = n > 7 && strcmp(name + n - 7, ".traceg") == 0;
    bool xz = n > 10 && strcmp(name + n - 10, ".traceg.xz") == 0;
    return strcmp(name, "kernelslist.g") == 0 || (strncmp(name, "kernel-", 7) == 0 && (traceg || xz));
}

bool orr_accel_xz(void) {
#ifdef ORRERY_HAVE_LZMA
    return true;
#else
    return false;
#endif
}

int orr_accel_format(const char *name) {
    return !name ? -1 : !strcmp(name, "accel-sim") ? 1 : !strcmp(name, "accel-sim-plain") ? 0 : -1;
}

orr_accel_writer *orr_accel_create(const char *folder, bool xz, orr_err *e) {
    if (xz && !orr_accel_xz()) {
        orr_fail(e, ORR_BAD_INPUT,
                 "this build has no liblzma and cannot write .xz (Debian: liblzma-dev); use "
                 "--format accel-sim-plain");
        return NULL;
    }
    char *temp = orr_out_folder(folder, ours, e);
    if (!temp) return NULL;
    orr_accel_writer *w = orr_calloc(1, sizeof *w);
    w->folder = strdup(folder);
    w->temp = temp;
    w->xz = xz;
    w->buf = orr_malloc(BUFFER + ROOM);
    orr_text_addn(&w->list, "", 0);
    return w;
}

// ---- bytes ------------------------------------------------------------------------------------------

static bool failed(orr_accel_writer *w, orr_err *e) {
    return orr_fail(e, ORR_BAD_INPUT, "%s: cannot write: %s", w->folder, strerror(errno));
}

#ifdef ORRERY_HAVE_LZMA
static bool pack(orr_accel_writer *w, const char *data, size_t n, bool end, orr_err *e) {
    w->z.next_in = (const uint8_t *)data;
    w->z.avail_in = n;
    for (lzma_ret r = LZMA_OK; w->z.avail_in || (end && r != LZMA_STREAM_END);) {
        w->z.next_out = w->packed;
        w->z.avail_out = BUFFER;
        r = lzma_code(&w->z, end ? LZMA_FINISH : LZMA_RUN);
        if (r != LZMA_OK && r != LZMA_STREAM_END)
            return orr_fail(e, ORR_BAD_INPUT, "%s: cannot compress (liblzma says %d)", w->folder, (int)r);
        size_t out = BUFFER - w->z.avail_out;
        if (out && fwrite(w->packed, 1, out, w->file) != out) return failed(w, e);
    }
    return true;
}
#endif

static bool flush(orr_accel_writer *w, bool end, orr_err *e) {
    size_t n = w->n;
    w->n = 0;
#ifdef ORRERY_HAVE_LZMA
    if (w->xz) return pack(w, w->buf, n, end, e);
#endif
    (void)end;
    return fwrite(w->buf, 1, n, w->file) == n || failed(w, e);
}

static bool room(orr_accel_writer *w, orr_err *e) { return w->n < BUFFER || flush(w, false, e); }

static void put(orr_accel_writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(orr_accel_writer *w, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(w->buf + w->n, ROOM, fmt, ap);
    va_end(ap);
    if (n > 0) w->n += n < ROOM ? (size_t)n : ROOM - 1;
}

// The file ends here: what was written is on the disk, or it is an error.
static bool close_file(orr_accel_writer *w, bool good, orr_err *e) {
    if (!w->file) return good;
    bool ok = good && flush(w, true, e);
#ifdef ORRERY_HAVE_LZMA
    if (w->xz) lzma_end(&w->z);
#endif
    if (fclose(w->file) != 0 && ok) ok = failed(w, e);
    w->file = NULL;
    free(w->path);
    w->path = NULL;
    return ok;
}

static bool open_file(orr_accel_writer *w, const char *name, orr_err *e) {
    orr_text path = {0};
    orr_text_add(&path, "%s/%s", w->temp, name);
    w->path = path.s;
    w->n = 0;
    w->file = fopen(path.s, "wbe");
    if (!w->file) {
        failed(w, e);
        free(w->path);
        w->path = NULL;
        return false;
    }
#ifdef ORRERY_HAVE_LZMA
    if (w->xz) {
        if (!w->packed) w->packed = orr_malloc(BUFFER);
        w->z = (lzma_stream)LZMA_STREAM_INIT;
        if (lzma_easy_encoder(&w->z, 1, LZMA_CHECK_CRC64) != LZMA_OK) // level 1, as Accel-Sim's tracer
            return orr_fail(e, ORR_BAD_INPUT, "%s: cannot compress: liblzma does not start", w->folder);
    }
#endif
    return true;
}

void orr_accel_copy(orr_accel_writer *w, uint64_t to, uint64_t bytes) {
    orr_text_add(&w->list, "MemcpyHtoD,0x%016" PRIx64 ",%" PRIu64 "\n", to, bytes);
}

// ---- a launch ---------------------------------------------------------------------------------------

static void prepare(orr_accel_writer *w) { // also instructions that the program has grown by
    const orr_program *p = w->p;
    if (w->nentries < p->ninsts) {
        w->entries = orr_realloc(w->entries, p->ninsts * sizeof *w->entries);
        for (; w->nentries < p->ninsts; w->nentries++) {
            accel_entry(&w->entries[w->nentries], p, w->nentries, w->binary, &w->arena);
            if (p->insts[w->nentries].pc >= w->end_pc) w->end_pc = p->insts[w->nentries].pc + 16;
        }
    }
    if (w->naccess < p->max_access) {
        w->naccess = p->max_access;
        w->access = orr_realloc(w->access, w->naccess * sizeof *w->access);
    }
}

// Machine code goes into the header, for Orrery (words.c), where a PC says which instruction it is: functions
// of their own have the same PCs.
static bool write_code(orr_accel_writer *w, orr_err *e) {
    const orr_kernel *k = w->p->kernel;
    if (!k->machine || !k->code.insts || k->nfuncs != 1) return true;
    for (uint32_t n = 0; n < k->ninsts; n++) {
        const orr_code *c = &k->code.insts[n];
        if (!room(w, e)) return false;
        if (n % 4 == 0) put(w, "%s-orrery code = %u %04" PRIx32, n ? "\n" : "", c->sm, c->address);
        put(w, " %016" PRIx64 " %016" PRIx64, c->lo, c->hi);
    }
    put(w, "\n");
    return true;
}

bool orr_accel_begin(orr_accel_writer *w, const orr_launch_info *l, const orr_program *p, orr_err *e) {
    char name[60];
    w->kernels++;
    snprintf(name, sizeof name, "kernel-%" PRIu32 ".traceg%s", w->kernels, w->xz ? ".xz" : "");
    orr_text_add(&w->list, "%s\n", name);
    if (!open_file(w, name, e)) return false;
    w->p = p;
    w->info = *l;
    w->binary = orr_accel_binary(p->gpu);
    w->threads = l->block[0] * l->block[1] * l->block[2];
    w->nentries = w->end_pc = 0;
    orr_arena_free(&w->arena);
    w->arena = (orr_arena){0};
    prepare(w);

    const orr_kernel *k = p->kernel;
    put(w, "-kernel name = ");
    for (const char *s = k->name; *s && s < k->name + 1000; s++)
        w->buf[w->n++] = *s > ' ' && *s < 127 ? *s : '_';
    put(w, "\n-kernel id = %" PRIu32 "\n", w->kernels);
    put(w, "-grid dim = (%" PRIu32 ",%" PRIu32 ",%" PRIu32 ")\n", l->grid[0], l->grid[1], l->grid[2]);
    put(w, "-block dim = (%" PRIu32 ",%" PRIu32 ",%" PRIu32 ")\n", l->block[0], l->block[1], l->block[2]);
    uint64_t fixed = ((uint64_t)k->shared_bytes + 15) / 16 * 16;
    put(w, "-shmem = %" PRIu64 "\n", l->dynamic_shared ? fixed + l->dynamic_shared : k->shared_bytes);
    put(w, "-nregs = %" PRIu32 "\n", p->registers ? p->registers : 1);
    put(w, "-binary version = %d\n-cuda stream id = 0\n", w->binary);
    put(w, "-shmem base_addr = 0x%016llx\n", ORR_SHARED_WINDOW);
    put(w, "-local mem base_addr = 0x%016llx\n", ORR_LOCAL_WINDOW);
    put(w, "-nvbit version = none, written by orrery\n-accelsim tracer version = 5\n-enable lineinfo = 0\n");
    if (!write_code(w, e)) return false;
    put(w, "\n#traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width "
           "[adrrescompress?] [mem_addresses] immediate\n\n");
    return true;
}

// ---- a warp -----------------------------------------------------------------------------------------

static bool damaged(orr_accel_writer *w, const orr_tb *tb, orr_err *e) {
    return orr_fail(e, ORR_BAD_INPUT, "%s: the stream of thread block %" PRIu64 " is damaged",
                    w->p->kernel->name, tb->index);
}

static int place_of(uint64_t addr) {
    uint8_t space = orr_generic_space(addr);
    return space == ORR_SPACE_SHARED ? IN_SHARED : space == ORR_SPACE_LOCAL ? IN_LOCAL : IN_GLOBAL;
}

// Lanes by where their generic addresses go.
static void split(const orr_access *a, uint32_t by[PLACES]) {
    memset(by, 0, PLACES * sizeof *by);
    for (uint32_t m = a->mask; m; m &= m - 1) by[place_of(a->addr[orr_ffs(m)])] |= m & -m;
}

// The next block of code of a warp, with its accesses in w->access: 1, 0 at the end, -1 damaged. A body that
// runs under a predicate comes for no lane where the stream goes on elsewhere (orr_tblock.body).
static int next_block(orr_accel_writer *w, orr_trace *t, uint32_t *block, uint32_t *mask) {
    if (!w->has_then) {
        int r = orr_trace_block(t, w->p->nblocks, &w->then, &w->then_mask);
        if (r != 1) return r;
        w->has_then = true;
    }
    bool off = w->body && w->then != w->body - 1;
    *block = off ? w->body - 1 : w->then;
    *mask = off ? 0 : w->then_mask;
    const orr_tblock *b = &w->p->blocks[*block];
    w->body = b->body;
    if (off) {
        for (uint32_t i = 0; i < b->naccess; i++) w->access[i].mask = 0;
        return 1;
    }
    w->has_then = false;
    for (uint32_t i = 0; i < b->naccess; i++)
        if (!orr_trace_access(t, &w->access[i])) return -1;
    return 1;
}

static orr_trace open_warp(orr_accel_writer *w, orr_warp_trace trace) {
    w->body = 0;
    w->has_then = false;
    return orr_trace_open(trace);
}

typedef struct ends { // how a warp ends
    uint64_t lines;
    uint64_t last[32]; // block events, from 1: the last in which a lane was seen
    uint32_t left;     // lanes that no EXIT of their last block takes
} ends;

static bool has_exit(const orr_accel_writer *w, uint32_t block) {
    const orr_tblock *b = &w->p->blocks[block];
    for (uint32_t i = b->first; i < b->first + b->count; i++)
        if (w->entries[i].kind == ENTRY_EXIT) return true;
    return false;
}

static bool look_ahead(orr_accel_writer *w, orr_warp_trace trace, uint32_t lanes, ends *out) {
    *out = (ends){.left = lanes};
    orr_trace t = open_warp(w, trace);
    uint32_t block, mask;
    int r;
    for (uint64_t event = 1; (r = next_block(w, &t, &block, &mask)) == 1; event++) {
        const orr_tblock *b = &w->p->blocks[block];
        out->lines += b->count;
        for (uint32_t i = b->first; i < b->first + b->count; i++) {
            const entry *n = &w->entries[i];
            if (n->kind != ENTRY_GENERIC || n->access >= b->naccess) continue;
            uint32_t by[PLACES];
            split(&w->access[n->access], by);
            int places = !!by[0] + !!by[1] + !!by[2];
            if (places > 1) out->lines += (uint64_t)places - 1;
        }
        mask &= lanes;
        for (uint32_t m = mask; m; m &= m - 1) out->last[orr_ffs(m)] = event;
        if (has_exit(w, block))
            out->left &= ~mask;
        else
            out->left |= mask;
    }
    if (out->left) out->lines++;
    return r == 0;
}

static char *line_start(char *to, const entry *n, uint32_t mask, int place) {
    memcpy(to, n->head, n->nhead);
    to += n->nhead;
    for (int shift = 28; shift >= 0; shift -= 4) *to++ = "0123456789abcdef"[mask >> shift & 15];
    *to++ = ' ';
    memcpy(to, n->rest[place], n->nrest[place]);
    return to + n->nrest[place];
}

static void write_access(orr_accel_writer *w, const entry *n, const orr_access *a, uint32_t mask, int place) {
    static const uint64_t window[PLACES] = {0, ORR_SHARED_WINDOW, ORR_LOCAL_WINDOW};
    char *to = line_start(w->buf + w->n, n, mask, n->kind == ENTRY_GENERIC ? place : 0);
    uint64_t minus = (n->kind == ENTRY_GENERIC ? window[place] : 0) - n->offset;
    uint64_t addr[32];
    for (int i = 0; n->low && i < 32; i++) addr[i] = a->addr[i] & ~(uint64_t)n->low;
    to = accel_addresses(to, mask, n->low ? addr : a->addr, minus);
    memcpy(to, "0 \n", 3);
    w->n = (size_t)(to + 3 - w->buf);
}

static bool write_block(orr_accel_writer *w, uint32_t block, uint32_t mask, uint32_t leaving,
                        uint32_t *groups, orr_err *e) {
    const orr_tblock *b = &w->p->blocks[block];
    for (uint32_t i = b->first; i < b->first + b->count; i++) {
        const entry *n = &w->entries[i];
        if (!room(w, e)) return false;
        if (n->kind == ENTRY_ACCESS && n->access < b->naccess) {
            write_access(w, n, &w->access[n->access], w->access[n->access].mask & mask, 0);
            continue;
        }
        if (n->kind == ENTRY_GENERIC && n->access < b->naccess) {
            const orr_access *a = &w->access[n->access];
            uint32_t by[PLACES];
            split(a, by);
            if (!(by[0] | by[1] | by[2])) write_access(w, n, a, 0, IN_GLOBAL);
            for (int place = 0; place < PLACES; place++)
                if (by[place]) write_access(w, n, a, by[place] & mask, place);
            continue;
        }
        char *to = line_start(w->buf + w->n, n, n->kind == ENTRY_EXIT ? leaving : mask, 0);
        // More open groups than there were would send Accel-Sim's loop over them out of bounds.
        if (n->kind == ENTRY_WAIT)
            to += sprintf(to, "%" PRIu32, n->wait < *groups ? n->wait : *groups);
        else
            *to++ = '0';
        *groups += n->commits;
        memcpy(to, " \n", 2);
        w->n = (size_t)(to + 2 - w->buf);
    }
    return true;
}

static bool write_warp(orr_accel_writer *w, const orr_tb *tb, uint32_t index, orr_err *e) {
    uint32_t first = index * 32, count = w->threads - first < 32 ? w->threads - first : 32;
    uint32_t lanes = count == 32 ? 0xffffffffu : (1u << count) - 1;
    ends end;
    if (!look_ahead(w, tb->warps[index], lanes, &end)) return damaged(w, tb, e);
    if (!room(w, e)) return false;
    put(w, "warp = %" PRIu32 "\ninsts = %" PRIu64 "\n", index, end.lines);

    orr_trace t = open_warp(w, tb->warps[index]);
    uint32_t block, mask, groups = 0;
    for (uint64_t event = 1; next_block(w, &t, &block, &mask) == 1; event++) {
        mask &= lanes;
        uint32_t leaving = 0;
        for (uint32_t m = mask; m; m &= m - 1)
            if (end.last[orr_ffs(m)] == event) leaving |= m & -m;
        if (!write_block(w, block, mask, leaving, &groups, e)) return false;
    }
    if (!room(w, e)) return false;
    if (end.left) put(w, "%04" PRIx32 " %08" PRIx32 " 0 EXIT 0 0 0 \n", w->end_pc, end.left);
    put(w, "\n");
    return true;
}

bool orr_accel_block(orr_accel_writer *w, const orr_tb *tb, orr_err *e) {
    const uint32_t *grid = w->info.grid;
    if (tb->nwarps != (w->threads + 31) / 32) return damaged(w, tb, e);
    prepare(w);
    if (!room(w, e)) return false;
    uint64_t x = tb->index % grid[0], y = tb->index / grid[0] % grid[1], z = tb->index / grid[0] / grid[1];
    put(w, "#BEGIN_TB\n\nthread block = %" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n\n", x, y, z);
    for (uint32_t i = 0; i < tb->nwarps; i++)
        if (!write_warp(w, tb, i, e)) return false;
    put(w, "#END_TB\n\n");
    return true;
}

bool orr_accel_end(orr_accel_writer *w, orr_err *e) { return close_file(w, true, e); }

// ---- the end ----------------------------------------------------------------------------------------

static bool finish(orr_accel_writer *w, bool commit, orr_err *e) {
    if (w->file) commit = close_file(w, commit, e) && commit;
    if (commit) {
        bool xz = w->xz;
        w->xz = false;
        commit = open_file(w, "kernelslist.g", e);
        if (commit && (fwrite(w->list.s, 1, w->list.n, w->file) != w->list.n)) commit = failed(w, e);
        commit = close_file(w, commit, e) && commit;
        w->xz = xz;
    }
    commit = orr_out_folder_end(w->temp, w->folder, commit, e) && commit;
#ifdef ORRERY_HAVE_LZMA
    free(w->packed);
#endif
    free(w->folder);
    free(w->buf);
    free(w->list.s);
    free(w->entries);
    free(w->access);
    orr_arena_free(&w->arena);
    free(w);
    return commit;
}

bool orr_accel_commit(orr_accel_writer *w, orr_err *e) { return finish(w, true, e); }

void orr_accel_discard(orr_accel_writer *w) {
    orr_err e = {0};
    if (w) finish(w, false, &e);
}
