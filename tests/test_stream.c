// Traces and stream files: what goes in comes out, and no damaged byte goes unnoticed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "stream/file.h"
#include "stream_rig.h"

#include <stdio.h>
#include <unistd.h>

// ---- traces ---------------------------------------------------------------------------------------------
// The addresses that a row stands for are those of the access.
static void same_lanes(const orr_trace_row *row, const orr_access *a) {
    assert_int_equal(row->mask, a->mask);
    uint64_t n = 0; // addresses wrap round
    for (uint32_t m = a->mask; m; m &= m - 1, n++) {
        uint64_t wide = row->shift ? 1u << row->shift : 32;
        assert_true(a->addr[orr_ffs(m)] ==
                    row->at + n % wide * (uint64_t)row->stride + n / wide * (uint64_t)row->down);
    }
}

static void trace_round_trip(void **state) {
    (void)state;
    uint64_t s = 3;
    for (int round = 0; round < 200; round++) {
        enum { EVENTS = 40 };
        uint32_t block[EVENTS], mask[EVENTS], amask[EVENTS];
        uint64_t addr[EVENTS][32];
        orr_access sent[EVENTS] = {0};
        orr_trace_out out = {0};
        for (int i = 0; i < EVENTS; i++) {
            block[i] = (uint32_t)(rig_random(&s) >> (32 + rig_random(&s) % 32)) & 0x7fffffff;
            mask[i] = rig_random(&s) % 2 ? 0xffffffffu : (uint32_t)rig_random(&s) | 1;
            amask[i] = rig_random(&s) % 3 ? mask[i] : mask[i] & (uint32_t)rig_random(&s);
            rig_addresses(&s, addr[i]);
            size_t before = out.n;
            orr_trace_put_block(&out, block[i], mask[i]);
            sent[i].versioned = rig_random(&s) % 2;
            memcpy(sent[i].addr, addr[i], sizeof addr[i]);
            bool same = true; // what is looked at by all lanes has one version
            for (uint32_t m = amask[i]; m; m &= m - 1)
                same &= addr[i][orr_ffs(m)] == addr[i][orr_ffs(amask[i])];
            for (int l = 0; l < 32; l++)
                sent[i].version[l] =
                    same ? (uint32_t)round : (uint32_t)(rig_random(&s) >> (rig_random(&s) % 64));
            orr_trace_put_as_read(&out, amask[i], &sent[i]);
            assert_true(out.n - before <= 2 * ORR_TRACE_MAX_EVENT);
        }
        orr_trace t = orr_trace_open((orr_warp_trace){out.bytes, out.n}), skips = t;
        for (int i = 0; i < EVENTS; i++) {
            uint32_t b, m;
            orr_access a;
            assert_int_equal(orr_trace_block(&t, 0x80000000u, &b, &m), 1);
            assert_int_equal(b, block[i]);
            assert_int_equal(m, mask[i]);
            orr_trace rows = t;
            orr_trace_row row;
            bool regular = orr_trace_regular(&rows, &row);
            const uint8_t *front = t.at;
            assert_true(orr_trace_access(&t, &a));
            assert_ptr_equal(rows.at, regular ? t.at : front);
            if (regular) same_lanes(&row, &a);
            assert_int_equal(orr_trace_block(&skips, 0x80000000u, &b, &m), 1);
            assert_true(orr_trace_skip(&skips) && skips.at == t.at);
            assert_int_equal(a.mask, amask[i]);
            assert_int_equal(a.versioned, sent[i].versioned && a.mask);
            for (int l = 0; l < 32; l++) {
                if (!(a.mask >> l & 1)) continue;
                assert_true(a.addr[l] == addr[i][l]);
                if (a.versioned) assert_int_equal(a.version[l], sent[i].version[l]);
            }
        }
        uint32_t b, m;
        assert_int_equal(orr_trace_block(&t, 0x80000000u, &b, &m), 0);
        free(out.bytes);
    }
}

// The bytes themselves, from the description in trace.h.
static void trace_bytes(void **state) {
    (void)state;
    orr_trace_out out = {0};
    uint64_t addr[32];
    for (uint64_t i = 0; i < 32; i++) addr[i] = 0x1000 + 4 * i;
    orr_trace_put_block(&out, 5, 0xffffffffu);
    orr_trace_put_access(&out, 0xffffffffu, addr);
    orr_trace_put_block(&out, 300, 0xffffffffu); // the same mask: not repeated
    orr_trace_put_access(&out, 0, addr);
    static const uint8_t bytes[] = {5 << 1 | 1, 255, 255, 255, 255,  2,    0x00, 0x10, 0, 0, 0,
                                    0,          0,   0,   8,   0xd8, 0x04, 8,    0,    0, 0, 0};
    assert_int_equal(out.n, sizeof bytes);
    assert_memory_equal(out.bytes, bytes, sizeof bytes);
    out.n = 0;
    for (uint64_t i = 0; i < 32; i++) addr[i] = 0x1000 + i % 16 * 4 + i / 16 * 1024; // a 16 x 2 warp
    orr_trace_put_access(&out, 0xffffffffu, addr);
    static const uint8_t rows[] = {4, 0x00, 0x10, 0, 0, 0, 0, 0, 0, 4, 8, 0x80, 0x10}; // 4 -> 8, 1024 -> 2048
    assert_int_equal(out.n, sizeof rows);
    assert_memory_equal(out.bytes, rows, sizeof rows);
    out.n = 0;
    out.mask = 7;
    addr[1] = 0x0fff, addr[2] = 0x1100; // -1 and 256
    orr_trace_put_access(&out, 7, addr);
    static const uint8_t any[] = {1 << 4 | 3, 0x00, 0x10, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0x00, 0x01};
    assert_int_equal(out.n, sizeof any);
    assert_memory_equal(out.bytes, any, sizeof any);
    out.n = 0;
    orr_access looks = {.versioned = true, .addr = {0x1000, 0x1000, 0x1000}, .version = {300, 300, 300}};
    orr_trace_put_as_read(&out, 7, &looks); // one for all
    static const uint8_t versions[] = {64 | 1, 0x00, 0x10, 0, 0, 0, 0, 0, 0, 0xac, 0x02};
    assert_int_equal(out.n, sizeof versions);
    assert_memory_equal(out.bytes, versions, sizeof versions);
    free(out.bytes);
}

static int walk(const uint8_t *bytes, size_t n, uint32_t nblocks) {
    orr_trace t = orr_trace_open((orr_warp_trace){bytes, n});
    uint32_t b, m;
    orr_access a;
    int r;
    while ((r = orr_trace_block(&t, nblocks, &b, &m)) > 0)
        if (!orr_trace_access(&t, &a)) return -1;
    return r;
}

static void trace_damaged(void **state) {
    (void)state;
    uint8_t ok[] = {1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}; // block 0, lane 0; all at address 0
    assert_int_equal(walk(ok, sizeof ok, 1), 0);
    for (size_t n = 1; n < sizeof ok; n++) {
        uint8_t *cut = malloc(n); // its own block: reading too far is seen
        memcpy(cut, ok, n);
        assert_int_equal(walk(cut, n, 1), -1);
        free(cut);
    }
    static const struct {
        size_t at;
        uint8_t value;
    } wrong[] = {
        {0, 0},    // no mask yet: no lane, but one takes part
        {0, 3},    // block 1 of 1
        {1, 0},    // no lane, but one takes part
        {5, 0},    // form 0, but a lane takes part
        {5, 4},    // rows, but not all lanes
        {5, 5},    // no such form
        {5, 0x11}, // a size where none belongs
        {5, 0x03}, // no size where one does
        {5, 0x41}, // a version that is not there
        {5, 0x81}, // a bit that means nothing
        {5, 0x1b}, // a mask of no lane follows
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        uint8_t bad[sizeof ok];
        memcpy(bad, ok, sizeof ok);
        bad[wrong[i].at] = wrong[i].value;
        assert_int_equal(walk(bad, sizeof bad, 1), -1);
    }
    uint8_t endless[] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1};
    assert_int_equal(walk(endless, sizeof endless, 0x7fffffff), -1);
}

// ---- a file to work with --------------------------------------------------------------------------------
enum { MAX_WARPS = 4 };
typedef struct launch_data { // what was written, to compare with
    uint32_t grid[3], block[3], shared, index, nwarps;
    uint32_t nblocks;
    orr_trace_out *traces; // nblocks * nwarps
    uint64_t warp_insts, thread_insts;
} launch_data;

static void make_traces(launch_data *l, const orr_kernel *k, uint64_t *s, int events) {
    l->nblocks = l->grid[0] * l->grid[1] * l->grid[2];
    l->nwarps = (l->block[0] * l->block[1] * l->block[2] + 31) / 32;
    l->traces = calloc((size_t)l->nblocks * l->nwarps, sizeof *l->traces);
    for (uint32_t i = 0; i < l->nblocks * l->nwarps; i++)
        for (int n = 0; n < events; n++) {
            uint32_t b = (uint32_t)(rig_random(s) % k->nblocks),
                     m = rig_random(s) % 2 ? 0xffffffffu : (uint32_t)rig_random(s) | 1;
            orr_trace_put_block(&l->traces[i], b, m);
            for (uint32_t a = 0; a < k->blocks[b].nmem; a++) {
                uint64_t addr[32];
                rig_addresses(s, addr);
                orr_trace_put_access(&l->traces[i], rig_random(s) % 4 ? m : 0, addr);
            }
            l->warp_insts += k->blocks[b].count;
            l->thread_insts += (uint64_t)k->blocks[b].count * (uint64_t)orr_popc(m);
        }
}

static void free_traces(launch_data *l) {
    for (uint32_t i = 0; i < l->nblocks * l->nwarps; i++) free(l->traces[i].bytes);
    free(l->traces);
}

static char path[64];

static void begin_launch(orr_stream_writer *w, const orr_kernel *k, const launch_data *l, uint32_t blocks) {
    orr_err e = {0};
    orr_launch_info info = {.kernel = k, .dynamic_shared = l->shared, .index = l->index};
    memcpy(info.grid, l->grid, sizeof l->grid);
    memcpy(info.block, l->block, sizeof l->block);
    assert_true(orr_stream_begin(w, &info, &e));
    for (uint32_t b = 0; b < blocks; b++) {
        orr_warp_trace views[MAX_WARPS];
        for (uint32_t i = 0; i < l->nwarps; i++)
            views[i] = (orr_warp_trace){l->traces[b * l->nwarps + i].bytes, l->traces[b * l->nwarps + i].n};
        orr_tb tb = {b, l->nwarps, views};
        assert_true(orr_stream_block(w, &tb, &e));
    }
}

static void write_launch(orr_stream_writer *w, const orr_kernel *k, const launch_data *l) {
    orr_err e = {0};
    begin_launch(w, k, l, l->nblocks);
    assert_true(orr_stream_end(w, &e));
}

static void write_file(const orr_kernel *k, const launch_data *l, int n) {
    orr_err e = {0};
    orr_stream_writer *w = orr_stream_create(path, &e);
    assert_non_null(w);
    for (int i = 0; i < n; i++) write_launch(w, k, &l[i]);
    assert_true(orr_stream_commit(w, &e));
}

static void same_kernel(const orr_kernel *a, const orr_kernel *b) {
    orr_text x = {0}, y = {0}; // the writer is one way to see every field
    kernel_write(&x, a);
    kernel_write(&y, b);
    assert_int_equal(x.n, y.n);
    assert_memory_equal(x.s, y.s, x.n);
    free(x.s);
    free(y.s);
    x = y = (orr_text){0}; // the listing is another
    orr_kernel_print(a, &x);
    orr_kernel_print(b, &y);
    assert_string_equal(x.s, y.s);
    free(x.s);
    free(y.s);
    assert_memory_equal(a->insts, b->insts, a->ninsts * sizeof *a->insts);
    assert_memory_equal(a->blocks, b->blocks, a->nblocks * sizeof *a->blocks);
    assert_int_equal(a->regs, b->regs);
    assert_int_equal(a->shared_bytes, b->shared_bytes);
    assert_string_equal(a->params[0].name, b->params[0].name);
}

// Reads the file and compares. False on any error; then e has it.
static bool read_file(FILE *file, const orr_kernel *k, const launch_data *l, int n, orr_err *e) {
    orr_stream_file *f = orr_stream_from(file, "file", e);
    if (!f) return false;
    orr_source *s;
    int launches = 0;
    while ((s = orr_stream_next_launch(f, e))) {
        assert_true(launches < n);
        const launch_data *want = &l[launches++];
        same_kernel(k, s->info.kernel);
        assert_memory_equal(s->info.grid, want->grid, sizeof want->grid);
        assert_memory_equal(s->info.block, want->block, sizeof want->block);
        assert_int_equal(s->info.dynamic_shared, want->shared);
        assert_int_equal(s->info.index, want->index);
        orr_tb tb;
        uint32_t b = 0;
        int more;
        while ((more = s->next(s, &tb, e)) > 0) {
            assert_int_equal(tb.index, b);
            assert_int_equal(tb.nwarps, want->nwarps);
            for (uint32_t i = 0; i < tb.nwarps; i++) {
                const orr_trace_out *t = &want->traces[b * want->nwarps + i];
                assert_int_equal(tb.warps[i].n, t->n);
                if (t->n) assert_memory_equal(tb.warps[i].bytes, t->bytes, t->n);
            }
            b++;
        }
        if (more < 0) break;
        assert_int_equal(b, want->nblocks);
        orr_stream_totals totals;
        orr_stream_launch_totals(f, &totals);
        assert_true(totals.warp_insts == want->warp_insts && totals.thread_insts == want->thread_insts);
        s->close(s);
    }
    orr_stream_close(f);
    if (e->status) return false;
    assert_int_equal(launches, n);
    return true;
}

static char *slurp(size_t *n) {
    orr_err e = {0};
    char *s = orr_read_file(path, 1u << 30, n, &e);
    assert_non_null(s);
    return s;
}

static FILE *open_bytes(const void *bytes, size_t n) {
    FILE *f = n ? fmemopen((void *)(uintptr_t)bytes, n, "rb") : fopen("/dev/null", "rb");
    assert_non_null(f);
    return f;
}

static void file_round_trip(void **state) {
    (void)state;
    rig r;
    assert_true(rig_make(&r));
    uint64_t s = 4;
    launch_data l[3] = {{.grid = {5, 2, 1}, .block = {32, 2, 1}, .shared = 64, .index = 0},
                        {.grid = {40, 1, 2}, .block = {97, 1, 1}, .index = 1}, // more than one frame
                        {.grid = {1, 1, 1}, .block = {1, 1, 1}, .index = 7}};
    make_traces(&l[0], &r.kernel, &s, 12);
    make_traces(&l[1], &r.kernel, &s, 150);
    make_traces(&l[2], &r.kernel, &s, 0); // a warp that did nothing
    write_file(&r.kernel, l, 3);
    size_t n;
    char *bytes = slurp(&n);
    orr_err e = {0};
    assert_true(orr_stream_probe(path));
    assert_true(read_file(open_bytes(bytes, n), &r.kernel, l, 3, &e));

    orr_stream_file *f = orr_stream_open(path, &e); // launches nobody pulls are passed over
    orr_source *src;
    uint32_t launches = 0;
    while ((src = orr_stream_next_launch(f, &e))) {
        orr_tb tb;
        if (launches++ == 1) assert_int_equal(src->next(src, &tb, &e), 1);
    }
    assert_int_equal(e.status, 0);
    assert_int_equal(launches, 3);
    orr_stream_stats stats;
    orr_stream_read_stats(f, &stats);
    assert_int_equal(stats.launches, 3);
    assert_int_equal(stats.kernels, 1);
    assert_int_equal(stats.blocks, 91);
    assert_true(stats.frames > 3);
    assert_int_equal(stats.file_bytes, n);
    orr_stream_close(f);
    write_file(&r.kernel, l, 3); // and the same again gives the same bytes
    size_t n2;
    char *again = slurp(&n2);
    assert_int_equal(n, n2);
    assert_memory_equal(bytes, again, n);
    free(again);
    free(bytes);
    for (int i = 0; i < 3; i++) free_traces(&l[i]);
    rig_free(&r);
}

static void small_file(rig *r, launch_data *l) {
    assert_true(rig_make(r));
    uint64_t s = 5;
    *l = (launch_data){.grid = {2, 1, 1}, .block = {64, 1, 1}, .shared = 16, .index = 3};
    make_traces(l, &r->kernel, &s, 3);
    write_file(&r->kernel, l, 1);
}

// Every byte, several wrong values: an error that names the file, and never other contents.
static void every_byte_flipped(void **state) {
    (void)state;
    rig r;
    launch_data l;
    small_file(&r, &l);
    size_t n;
    char *bytes = slurp(&n);
    static const uint8_t flips[] = {0x01, 0x80, 0xff};
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof flips; k++) {
            bytes[i] ^= (char)flips[k];
            orr_err e = {0};
            assert_false(read_file(open_bytes(bytes, n), &r.kernel, &l, 1, &e));
            assert_int_equal(e.status, ORR_BAD_INPUT);
            assert_int_equal(strncmp(e.text, "file: ", 6), 0);
            bytes[i] ^= (char)flips[k];
        }
    orr_err e = {0};
    assert_true(read_file(open_bytes(bytes, n), &r.kernel, &l, 1, &e));
    free(bytes);
    free_traces(&l);
    rig_free(&r);
}

static void every_length(void **state) {
    (void)state;
    rig r;
    launch_data l;
    small_file(&r, &l);
    size_t n;
    char *bytes = slurp(&n);
    for (size_t i = 0; i < n; i++) {
        orr_err e = {0};
        assert_false(read_file(open_bytes(bytes, i), &r.kernel, &l, 1, &e));
        assert_int_equal(e.status, ORR_BAD_INPUT);
        if (i >= 8) assert_non_null(strstr(e.text, "ends too early"));
    }
    char *longer = malloc(n + 1);
    memcpy(longer, bytes, n);
    longer[n] = 0;
    orr_err e = {0};
    assert_false(read_file(open_bytes(longer, n + 1), &r.kernel, &l, 1, &e));
    assert_non_null(strstr(e.text, "goes on after its end"));
    free(longer);
    free(bytes);
    free_traces(&l);
    rig_free(&r);
}

static void header_errors(void **state) {
    (void)state;
    rig r;
    launch_data l;
    small_file(&r, &l);
    size_t n;
    char *bytes = slurp(&n);
    orr_err e = {0};
    bytes[0] = 'X';
    assert_false(read_file(open_bytes(bytes, n), &r.kernel, &l, 1, &e));
    assert_string_equal(e.text, "file: is not a recorded stream");
    bytes[0] = STREAM_MAGIC[0];
    put_u32((uint8_t *)bytes + 8, 9); // a version to come
    put_u32((uint8_t *)bytes + 12, (uint32_t)orr_hash64(bytes, 12, STREAM_SEED));
    e = (orr_err){0};
    assert_false(read_file(open_bytes(bytes, n), &r.kernel, &l, 1, &e));
    assert_non_null(strstr(e.text, "version 9"));
    free(bytes);
    free_traces(&l);
    rig_free(&r);
}

// ---- right checksums over wrong contents -----------------------------------------------------------------
typedef struct builder {
    orr_text file;
    uint32_t number;
    packer *packer;
} builder;

static void add_section_sized(builder *b, uint32_t type, const orr_text *raw, uint64_t claim) {
    size_t cap = pack_bound(raw->n);
    uint8_t *packed = malloc(cap), head[STREAM_HEAD];
    size_t n = pack(b->packer, raw->s, raw->n, packed, cap);
    put_u32(head, type);
    put_u32(head + 4, b->number++);
    put_u64(head + 8, claim);
    put_u64(head + 16, n);
    put_u64(head + 24, orr_hash64(packed, n, STREAM_SEED));
    put_u64(head + 32, orr_hash64(head, 32, STREAM_SEED));
    orr_text_addn(&b->file, (char *)head, sizeof head);
    orr_text_addn(&b->file, (char *)packed, n);
    free(packed);
}
static void add_section(builder *b, uint32_t type, const orr_text *raw) {
    add_section_sized(b, type, raw, raw->n);
}

static void start(builder *b) {
    *b = (builder){.packer = packer_new()};
    uint8_t h[STREAM_HEADER];
    memcpy(h, STREAM_MAGIC, 8);
    put_u32(h + 8, STREAM_VERSION);
    put_u32(h + 12, (uint32_t)orr_hash64(h, 12, STREAM_SEED));
    orr_text_addn(&b->file, (char *)h, sizeof h);
    orr_text names = {0};
    names_write(&names);
    add_section(b, SECTION_NAMES, &names);
    free(names.s);
}

static orr_text numbers(int n, ...) {
    orr_text t = {0};
    va_list ap;
    va_start(ap, n);
    for (int i = 0; i < n; i++) add_n(&t, va_arg(ap, unsigned));
    va_end(ap);
    return t;
}

static void add_numbers(builder *b, uint32_t type, orr_text t) {
    add_section(b, type, &t);
    free(t.s);
}

// Reads all of it; the error's text, or "" when there was none.
static const char *finish(builder *b, orr_err *e) {
    *e = (orr_err){0};
    orr_stream_file *f = orr_stream_from(open_bytes(b->file.s, b->file.n), "file", e);
    orr_source *s;
    orr_tb tb;
    while (f && (s = orr_stream_next_launch(f, e)))
        while (s->next(s, &tb, e) > 0) {}
    if (f) orr_stream_close(f);
    free(b->file.s);
    packer_free(b->packer);
    return e->text;
}

static void start_kernel(builder *b, const orr_kernel *k) {
    orr_text t = {0};
    start(b);
    kernel_write(&t, k);
    add_numbers(b, SECTION_KERNEL, t);
}

static void forged_sections(void **state) {
    (void)state;
    rig r;
    assert_true(rig_make(&r));
    builder b;
    orr_err e;
    orr_text zeros = {0};
    for (int i = 0; i < 100; i++) orr_text_addn(&zeros, "", 1);

    start(&b);
    add_section_sized(&b, SECTION_KERNEL, &zeros, 1ull << 60);
    assert_non_null(strstr(finish(&b, &e), "size is absurd"));
    start(&b);
    add_section_sized(&b, SECTION_KERNEL, &zeros, 99);
    assert_non_null(strstr(finish(&b, &e), "cannot be decompressed"));
    start(&b);
    b.number++;
    add_section(&b, SECTION_END, &zeros);
    assert_non_null(strstr(finish(&b, &e), "out of order"));
    start(&b);
    add_section(&b, SECTION_FRAME, &zeros);
    assert_non_null(strstr(finish(&b, &e), "does not belong between launches"));
    start(&b);
    add_section(&b, SECTION_KERNEL, &zeros);
    assert_non_null(strstr(finish(&b, &e), "section 1 (kernel) at byte"));

    start_kernel(&b, &r.kernel); // no launch at all is a file too
    add_numbers(&b, SECTION_END, numbers(3, 1, 0, 0));
    assert_string_equal(finish(&b, &e), "");
    start_kernel(&b, &r.kernel);
    add_numbers(&b, SECTION_END, numbers(3, 1, 1, 0));
    assert_non_null(strstr(finish(&b, &e), "totals"));
    start_kernel(&b, &r.kernel);
    add_numbers(&b, SECTION_LAUNCH, numbers(9, 1, 1, 1, 1, 32, 1, 1, 0, 0));
    assert_non_null(strstr(finish(&b, &e), "kernel is not in the file"));
    start_kernel(&b, &r.kernel);
    add_numbers(&b, SECTION_LAUNCH, numbers(9, 0, 1, 1, 1, 1024, 2, 1, 0, 0));
    assert_non_null(strstr(finish(&b, &e), "cannot be"));
    start_kernel(&b, &r.kernel);
    add_numbers(&b, SECTION_LAUNCH, numbers(9, 0, 1, 0, 1, 32, 1, 1, 0, 0));
    assert_non_null(strstr(finish(&b, &e), "cannot be"));
    start_kernel(&b, &r.kernel);
    add_numbers(&b, SECTION_LAUNCH, numbers(8, 0, 1, 1, 1, 32, 1, 1, 0));
    assert_non_null(strstr(finish(&b, &e), "unreadable"));

    // frames of a launch of two blocks of one warp
    static const struct {
        unsigned n, v[5];
        const char *why;
    } frames[] = {{4, {0, 2, 0, 0, 0}, NULL},
                  {4, {1, 1, 0, 0, 0}, "other thread blocks"},
                  {4, {0, 3, 0, 0, 0}, "other thread blocks"},
                  {2, {0, 0, 0, 0, 0}, "other thread blocks"},
                  {3, {0, 2, 0, 0, 0}, "too short"},
                  {4, {0, 2, 0, 1, 0}, "do not add up"},
                  {5, {0, 2, 0, 0, 0}, "do not add up"},
                  {3, {0, 1, 0, 0, 0}, "thread blocks are missing"}};
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        const unsigned *v = frames[i].v;
        start_kernel(&b, &r.kernel);
        add_numbers(&b, SECTION_LAUNCH, numbers(9, 0, 2, 1, 1, 32, 1, 1, 0, 0));
        add_numbers(&b, SECTION_FRAME, numbers((int)frames[i].n, v[0], v[1], v[2], v[3], v[4]));
        add_numbers(&b, SECTION_DONE, numbers(4, 2, 0, 0, 0));
        add_numbers(&b, SECTION_END, numbers(3, 1, 1, 2));
        const char *text = finish(&b, &e);
        if (frames[i].why)
            assert_non_null(strstr(text, frames[i].why));
        else
            assert_string_equal(text, "");
    }
    free(zeros.s);
    rig_free(&r);
}

// A kernel with one thing wrong, stored with right checksums.
static void forged_kernel(rig *r, const char *why) {
    builder b;
    orr_err e;
    start_kernel(&b, &r->kernel);
    add_numbers(&b, SECTION_END, numbers(3, 1, 0, 0));
    const char *text = finish(&b, &e);
    if (!strstr(text, why)) print_error("expected \"%s\", got \"%s\"\n", why, text);
    assert_non_null(strstr(text, why));
    rig_free(r);
}

static void forged_kernels(void **state) {
    (void)state;
    rig r;
#define WRONG(change, why)                                                                                   \
    do {                                                                                                     \
        assert_true(rig_make(&r));                                                                           \
        change;                                                                                              \
        forged_kernel(&r, why);                                                                              \
    } while (0)
    WRONG(r.insts[0].type = ORR_T_COUNT, "no known type");
    WRONG(r.insts[0].stype = 255, "no known type");
    WRONG(r.insts[1].space = ORR_SPACE_COUNT, "memory space");
    WRONG(r.insts[0].unit = ORR_UNIT_COUNT, "unit");
    WRONG(r.insts[0].round = 99, "modifier");
    WRONG(r.insts[0].boolop = 99, "modifier");
    WRONG(r.insts[0].cache = 99, "modifier");
    WRONG(r.insts[0].cmp = 99, "sub-operation");
    WRONG(r.insts[5].sub = 99, "sub-operation");
    WRONG(r.insts[1].vec = 255, "too wide");
    WRONG(r.insts[3].guard = 100, "guard");
    WRONG(r.insts[3].guard = -2, "guard");
    WRONG(r.insts[0].source.file = 2, "source file");
    WRONG(r.insts[0].first = 13, "operands are not there");
    WRONG(r.insts[0].first = UINT32_MAX, "operands are not there");
    WRONG(r.operands[2].reg = 1000, "register that is not there");
    WRONG(r.operands[1].reg = 1, "variable that is not there");
    WRONG(r.operands[1].kind = 7, "no known kind");
    WRONG(r.operands[1].cls = 6, "no known kind");
    WRONG(r.insts[2].target = 3, "leads to no block");
    WRONG(r.insts[2].target = -1, "leads to no block");
    WRONG((r.insts[2].op = ORR_OP_BRX, r.insts[2].target = 0, r.insts[2].imm = 1), "branch table");
    WRONG((r.insts[2].op = ORR_OP_CALL, r.insts[2].target = 1), "leads to no function");
    WRONG(r.kernel.blocks[0].count = 2, "do not join up");
    WRONG(r.kernel.blocks[2].count = 1, "do not join up");
    WRONG(r.kernel.blocks[2].count = UINT32_MAX, "do not join up");
    WRONG(r.kernel.blocks[0].first = 1, "do not join up");
    WRONG(r.kernel.blocks[1].next = 3, "leads nowhere");
    WRONG(r.kernel.blocks[1].ipdom = -2, "leads nowhere");
    WRONG(r.kernel.blocks[1].func = 1, "leads nowhere");
    WRONG(r.kernel.blocks[1].nmem = 0, "memory instructions wrong");
    WRONG(r.insts[1].op = ORR_OP_EXIT, "goes on after its end");
    WRONG(r.func.entry = 3, "outside the code");
    WRONG(r.func.nblocks = 4, "outside the code");
    WRONG(r.func.nblocks = 2, "outside its function");
    WRONG(r.func.ninsts = 8, "outside the code");
    WRONG(r.func.nregs[ORR_W] = UINT32_MAX, "too many registers");
    WRONG(r.kernel.regs = UINT32_MAX, "out of range");
    WRONG(r.kernel.nfuncs = 0, "no code");
    WRONG(r.kernel.ninsts = 6, "outside the code");
    WRONG(r.param.type = ORR_T_COUNT, "too early or too late");
#undef WRONG
}

// ---- files on disk ----------------------------------------------------------------------------------------
static void nothing_half_written(void **state) {
    (void)state;
    rig r;
    assert_true(rig_make(&r));
    unlink(path);
    orr_err e = {0};
    orr_stream_writer *w = orr_stream_create(path, &e);
    orr_launch_info info = {.kernel = &r.kernel, .grid = {2, 1, 1}, .block = {32, 1, 1}};
    assert_true(orr_stream_begin(w, &info, &e));
    orr_warp_trace t = {NULL, 0};
    orr_tb tb = {1, 1, &t}; // the second first
    assert_false(orr_stream_block(w, &tb, &e));
    assert_non_null(strstr(e.text, "out of order"));
    e = (orr_err){0};
    assert_false(orr_stream_end(w, &e));
    orr_stream_discard(w);
    assert_int_equal(access(path, F_OK), -1);
    e = (orr_err){0};
    assert_null(orr_stream_create("/there/is/no/such/folder/x", &e));
    assert_int_equal(e.status, ORR_BAD_INPUT);
    e = (orr_err){0};
    assert_null(orr_stream_open(path, &e));
    assert_int_equal(e.status, ORR_BAD_INPUT);
    assert_false(orr_stream_probe(path));
    rig_free(&r);
}

// Who stops in the middle of the second launch has a file of the first, byte for byte.
static void whole_launches(void **state) {
    (void)state;
    rig r;
    assert_true(rig_make(&r));
    uint64_t s = 9;
    launch_data l[2] = {{.grid = {5, 2, 1}, .block = {32, 2, 1}, .index = 0},
                        {.grid = {40, 1, 2}, .block = {97, 1, 1}, .index = 1}}; // more than one frame
    make_traces(&l[0], &r.kernel, &s, 12);
    make_traces(&l[1], &r.kernel, &s, 150);
    write_file(&r.kernel, l, 1);
    size_t n, n2;
    char *first = slurp(&n);
    orr_err e = {0};
    orr_stream_writer *w = orr_stream_create(path, &e);
    begin_launch(w, &r.kernel, &l[1], 3);
    assert_int_equal(orr_stream_whole(w), 0);
    orr_stream_discard(w);
    w = orr_stream_create(path, &e);
    write_launch(w, &r.kernel, &l[0]);
    begin_launch(w, &r.kernel, &l[1], l[1].nblocks - 1);
    assert_int_equal(orr_stream_whole(w), 1);
    assert_true(orr_stream_commit(w, &e));
    char *both = slurp(&n2);
    assert_int_equal(n, n2);
    assert_memory_equal(first, both, n);
    free(first);
    free(both);
    for (int i = 0; i < 2; i++) free_traces(&l[i]);
    rig_free(&r);
}

int main(void) {
    orr_err e = {0};
    if (!pack_available(&e)) {
        printf("skipped: %s\n", e.text);
        return 0;
    }
    snprintf(path, sizeof path, "/tmp/orrery-test-stream-%ld.orr", (long)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trace_round_trip),   cmocka_unit_test(trace_bytes),
        cmocka_unit_test(trace_damaged),      cmocka_unit_test(file_round_trip),
        cmocka_unit_test(every_byte_flipped), cmocka_unit_test(every_length),
        cmocka_unit_test(header_errors),      cmocka_unit_test(forged_sections),
        cmocka_unit_test(forged_kernels),     cmocka_unit_test(nothing_half_written),
        cmocka_unit_test(whole_launches),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
