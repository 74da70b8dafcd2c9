// Writing a stream file (file.h has the layout). Thread blocks are gathered into a frame of about a
// megabyte, compressed and written, so that memory does not grow with the launch. The file has a
// temporary name until it is complete.
#include "stream/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct orr_stream_writer {
    orr_out out;
    packer *packer;
    uint32_t sections;
    ORR_VEC(const orr_kernel *) kernels;
    uint32_t launches;
    uint64_t all_blocks;
    struct { // the file behind the last whole launch
        off_t at;
        uint32_t sections;
        size_t kernels;
    } whole;

    // the launch being written
    bool open;
    orr_launch_info info;
    uint32_t nwarps; // of its thread blocks
    uint64_t nblocks, next;
    orr_stream_totals totals;

    // the frame being gathered: lengths, then bytes
    orr_text lengths, bytes;
    uint64_t first;
    uint32_t count;

    orr_text raw; // scratch
    uint8_t *packed;
    size_t packed_cap;
};

static bool put(orr_stream_writer *w, const void *data, size_t n, orr_err *e) {
    if (fwrite(data, 1, n, w->out.f) == n) return true;
    return orr_fail(e, ORR_BAD_INPUT, "%s: cannot write: %s", w->out.path, strerror(errno));
}

static bool section(orr_stream_writer *w, uint32_t type, const orr_text *raw, orr_err *e) {
    if (raw->n > STREAM_SECTION_MAX)
        return orr_fail(e, ORR_BAD_INPUT,
                        "%s: the streams of one thread block take more than 4 GiB; make the launch do "
                        "less work in a block",
                        w->out.path);
    size_t bound = pack_bound(raw->n);
    if (bound > w->packed_cap) {
        free(w->packed);
        w->packed = orr_malloc(w->packed_cap = bound);
    }
    size_t n = pack(w->packer, raw->s, raw->n, w->packed, w->packed_cap);
    if (!n) return orr_fail(e, ORR_BAD_INPUT, "%s: cannot compress a section", w->out.path);
    uint8_t head[STREAM_HEAD];
    put_u32(head, type);
    put_u32(head + 4, w->sections++);
    put_u64(head + 8, raw->n);
    put_u64(head + 16, n);
    put_u64(head + 24, orr_hash64(w->packed, n, STREAM_SEED));
    put_u64(head + 32, orr_hash64(head, 32, STREAM_SEED));
    return put(w, head, sizeof head, e) && put(w, w->packed, n, e);
}

orr_stream_writer *orr_stream_create(const char *path, orr_err *e) {
    if (!pack_available(e)) return NULL;
    orr_stream_writer *w = orr_calloc(1, sizeof *w);
    if (!orr_out_open(&w->out, path, e)) {
        free(w);
        return NULL;
    }
    w->packer = packer_new();
    uint8_t header[STREAM_HEADER];
    memcpy(header, STREAM_MAGIC, 8); // NOLINT(bugprone-not-null-terminated-result): bytes, not a string
    put_u32(header + 8, STREAM_VERSION);
    put_u32(header + 12, (uint32_t)orr_hash64(header, 12, STREAM_SEED));
    names_write(&w->raw);
    if (put(w, header, sizeof header, e) && section(w, SECTION_NAMES, &w->raw, e)) return w;
    orr_stream_discard(w);
    return NULL;
}

static bool write_kernel(orr_stream_writer *w, const orr_kernel *k, uint32_t *index, orr_err *e) {
    for (size_t i = 0; i < w->kernels.n; i++)
        if (w->kernels.at[i] == k) {
            *index = (uint32_t)i;
            return true;
        }
    *index = (uint32_t)w->kernels.n;
    *ORR_PUSH(&w->kernels) = k;
    w->raw.n = 0;
    kernel_write(&w->raw, k);
    if (w->raw.n > STREAM_KERNEL_MAX)
        return orr_fail(e, ORR_BAD_INPUT, "%s: kernel %s is too large to record", w->out.path, k->name);
    return section(w, SECTION_KERNEL, &w->raw, e);
}

bool orr_stream_begin(orr_stream_writer *w, const orr_launch_info *launch, orr_err *e) {
    uint32_t kernel;
    if (!write_kernel(w, launch->kernel, &kernel, e)) return false;
    w->info = *launch;
    w->nwarps = (launch->block[0] * launch->block[1] * launch->block[2] + ORR_WARP - 1) / ORR_WARP;
    w->nblocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    w->next = 0;
    w->totals = (orr_stream_totals){0};
    w->open = true;
    w->raw.n = 0;
    add_n(&w->raw, kernel);
    for (int d = 0; d < 3; d++) add_n(&w->raw, launch->grid[d]);
    for (int d = 0; d < 3; d++) add_n(&w->raw, launch->block[d]);
    add_n(&w->raw, launch->dynamic_shared);
    add_n(&w->raw, launch->index);
    add_n(&w->raw, launch->memory);
    return section(w, SECTION_LAUNCH, &w->raw, e);
}

static bool flush_frame(orr_stream_writer *w, orr_err *e) {
    if (!w->count) return true;
    w->raw.n = 0;
    add_n(&w->raw, w->first);
    add_n(&w->raw, w->count);
    orr_text_addn(&w->raw, w->lengths.s, w->lengths.n);
    if (w->bytes.n) orr_text_addn(&w->raw, w->bytes.s, w->bytes.n);
    w->lengths.n = w->bytes.n = 0;
    w->count = 0;
    return section(w, SECTION_FRAME, &w->raw, e);
}

// The totals of a launch are counted here, from the traces themselves: a second opinion on what the
// executor says, and a reader can check them.
static bool count_warp(orr_stream_writer *w, orr_warp_trace trace) {
    const orr_kernel *k = w->info.kernel;
    orr_trace t = orr_trace_open(trace);
    uint32_t block, mask;
    orr_access a;
    int more;
    while ((more = orr_trace_block(&t, k->nblocks, &block, &mask)) > 0) {
        w->totals.warp_insts += k->blocks[block].count;
        w->totals.thread_insts += (uint64_t)k->blocks[block].count * (uint64_t)orr_popc(mask);
        for (uint32_t n = k->blocks[block].nmem; n; n--)
            if (!orr_trace_access(&t, &a)) return false;
    }
    return more == 0;
}

bool orr_stream_block(orr_stream_writer *w, const orr_tb *tb, orr_err *e) {
    if (!w->open || tb->index != w->next || tb->nwarps != w->nwarps)
        return orr_fail(e, ORR_BAD_INPUT, "%s: thread block %llu came out of order", w->out.path,
                        (unsigned long long)tb->index);
    if (!w->count) w->first = tb->index;
    w->count++;
    w->next++;
    for (uint32_t i = 0; i < tb->nwarps; i++) {
        if (!count_warp(w, tb->warps[i]))
            return orr_fail(e, ORR_BAD_INPUT, "%s: the stream of thread block %llu, warp %u makes no sense",
                            w->out.path, (unsigned long long)tb->index, i);
        add_n(&w->lengths, tb->warps[i].n);
        if (tb->warps[i].n) orr_text_addn(&w->bytes, (const char *)tb->warps[i].bytes, tb->warps[i].n);
        w->totals.trace_bytes += tb->warps[i].n;
    }
    w->totals.blocks++;
    return w->bytes.n + w->lengths.n < STREAM_FRAME || flush_frame(w, e);
}

bool orr_stream_end(orr_stream_writer *w, orr_err *e) {
    if (!flush_frame(w, e)) return false;
    if (w->next != w->nblocks)
        return orr_fail(e, ORR_BAD_INPUT, "%s: a launch ended after %llu of %llu thread blocks", w->out.path,
                        (unsigned long long)w->next, (unsigned long long)w->nblocks);
    w->open = false;
    w->launches++;
    w->all_blocks += w->totals.blocks;
    w->raw.n = 0;
    add_n(&w->raw, w->totals.blocks);
    add_n(&w->raw, w->totals.warp_insts);
    add_n(&w->raw, w->totals.thread_insts);
    add_n(&w->raw, w->totals.trace_bytes);
    if (!section(w, SECTION_DONE, &w->raw, e)) return false;
    w->whole.at = ftello(w->out.f);
    w->whole.sections = w->sections;
    w->whole.kernels = w->kernels.n;
    return true;
}

uint32_t orr_stream_whole(orr_stream_writer *w) {
    if (!w->launches || w->whole.at < 0) return 0;
    if (fflush(w->out.f) != 0 || ftruncate(fileno(w->out.f), w->whole.at) != 0) return 0;
    if (fseeko(w->out.f, w->whole.at, SEEK_SET) != 0) return 0;
    w->sections = w->whole.sections;
    w->kernels.n = w->whole.kernels;
    w->open = false;
    return w->launches;
}

static void free_writer(orr_stream_writer *w) {
    packer_free(w->packer);
    free(w->kernels.at);
    free(w->lengths.s);
    free(w->bytes.s);
    free(w->raw.s);
    free(w->packed);
    free(w);
}

bool orr_stream_commit(orr_stream_writer *w, orr_err *e) {
    w->raw.n = 0;
    add_n(&w->raw, w->kernels.n);
    add_n(&w->raw, w->launches);
    add_n(&w->raw, w->all_blocks);
    bool ok = section(w, SECTION_END, &w->raw, e);
    if (ok)
        ok = orr_out_commit(&w->out, e);
    else
        orr_out_abort(&w->out);
    free_writer(w);
    return ok;
}

void orr_stream_discard(orr_stream_writer *w) {
    orr_out_abort(&w->out);
    free_writer(w);
}
