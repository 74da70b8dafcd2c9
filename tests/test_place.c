// Loads and stores find their lanes in several ways (exec/ops/place.h): whichever is taken, memory, registers
// and the stream are what one lane after the other would leave.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "exec/block.h"
#include "stream_rig.h"

#include <stdlib.h>

enum { SHARED = 4096, BUFFER = 1 << 13, ROWS = 12 };

typedef struct stand {
    orr_mem *mem;
    uint64_t buffer; // a device address
    orr_kernel kernel;
    orr_launch launch;
    decoded prog;
    worker work;
    tblock block;
    warp w;
    uint32_t tid[3 * ORR_WARP];
    uint8_t shared[SHARED] __attribute__((aligned(64)));
    uint32_t rows[ROWS][ORR_WARP] __attribute__((aligned(64)));
    orr_trace_out trace;
} stand;

static stand *open_stand(void) {
    orr_err e = {0};
    stand *r = orr_aligned_alloc(64, (sizeof *r + 63) & ~(size_t)63);
    memset(r, 0, sizeof *r);
    r->mem = orr_mem_new(&e);
    r->buffer = orr_mem_alloc(r->mem, BUFFER, "buffer", &e);
    r->launch.mem = r->mem;
    r->kernel.name = "k";
    r->prog = (decoded){
        .launch = &r->launch, .kernel = &r->kernel, .shared_bytes = SHARED, .tid = r->tid, .nmem = 1};
    orr_worker_init(&r->work, &r->prog, true);
    r->block = (tblock){.prog = &r->prog, .worker = &r->work, .shared = r->shared};
    r->w.tb = &r->block;
    r->w.worker = &r->work;
    for (int c = 0; c < BANKS; c++) r->w.bank[c] = (uint8_t *)r->rows;
    return r;
}

static void close_stand(stand *r) {
    orr_worker_free(&r->work);
    orr_mem_delete(r->mem);
    free(r->trace.bytes);
    free(r);
}

// One access of machine code: row 0 (and 1, the high words) are addresses, rows 4 and up the values.
typedef struct one {
    bool load, shared;
    uint8_t width, vec;
    int32_t disp;
    uint32_t mask;
    uint64_t addr[ORR_WARP]; // without disp
} one;

static oper row(int n) { return (oper){.off = (uint32_t)n * 128, .bank = BANK_W, .cls = ORR_W}; }

static void run(stand *r, const one *x) {
    static const uint8_t types[] = {[1] = ORR_T_S8, [2] = ORR_T_U16, [4] = ORR_T_B32};
    orr_operand operands[8] = {{0}};
    oper all[8];
    orr_inst i = {
        .op = x->load ? ORR_OP_LD : ORR_OP_ST, .type = types[x->width], .width = x->width, .vec = x->vec};
    i.space = x->shared ? ORR_SPACE_SHARED : ORR_SPACE_GLOBAL;
    i.disp = x->disp;
    i.ndst = x->load ? x->vec : 0;
    i.nsrc = x->load ? 1 : 1 + x->vec;
    i.guard = -1;
    for (int n = 0; n < i.ndst + i.nsrc; n++) operands[n] = (orr_operand){.kind = ORR_K_REG, .cls = ORR_W};
    if (!x->shared) operands[i.ndst].cls = ORR_D;
    r->kernel.operands = operands;
    const char *why = NULL;
    handlers h = orr_pick(&r->kernel, &i, &why);
    assert_non_null(h.full);
    int n = 0;
    for (int v = 0; x->load && v < x->vec; v++) all[n++] = row(4 + v);
    all[n++] = row(0);
    for (int v = 0; !x->load && v < x->vec; v++) all[n++] = row(4 + v);
    if (!x->shared) all[n++] = row(1);
    uop u = {.full = h.full,
             .masked = h.masked,
             .all = all,
             .inst = &i,
             .guard = -1,
             .traced = 1,
             .shape = SHAPES};
    u.ndst = i.ndst;
    u.nsrc = (uint8_t)(n - i.ndst);
    u.d = all[0];
    u.a = all[i.ndst];
    u.pair = !x->shared;
    u.disp = x->disp;
    u.way = x->shared ? WAY_SHARED : WAY_PAIR;
    r->trace.n = 0;
    r->trace.mask = x->mask;
    r->w.trace = &r->trace;
    r->w.shapes.found = 0;
    set_exec(&r->w, x->mask);
    (x->mask == FULL ? u.full : u.masked)(&r->w, &u);
}

// The same by hand, lane by lane, on copies.
static uint8_t *at(stand *r, const one *x, int lane, uint8_t *shared, uint8_t *buffer) {
    uint64_t a = x->addr[lane] + (uint64_t)(int64_t)x->disp;
    (void)r;
    return x->shared ? shared + a : buffer + (a - r->buffer);
}

static void by_hand(stand *r, const one *x, uint8_t *shared, uint8_t *buffer, uint32_t rows[ROWS][ORR_WARP]) {
    for (int lane = 0; lane < ORR_WARP; lane++) {
        if (!(x->mask >> lane & 1)) continue;
        for (int v = 0; v < x->vec; v++) {
            uint8_t *p = at(r, x, lane, shared, buffer) + v * x->width;
            uint32_t value = rows[4 + v][lane];
            if (!x->load) memcpy(p, &value, x->width);
            if (!x->load) continue;
            value = 0;
            memcpy(&value, p, x->width);
            rows[4 + v][lane] = x->width == 1 ? (uint32_t)(int32_t)(int8_t)value : value;
        }
    }
}

static uint64_t below(uint64_t *s, uint64_t n) { return rig_random(s) % n; }

// Addresses of some kind, in bounds and aligned for `bytes`.
static void place(uint64_t *s, one *x, uint64_t base, uint64_t size) {
    uint64_t bytes = (uint64_t)x->width * x->vec, most = (size - 256) / bytes, step = bytes, down = 0;
    int kind = (int)below(s, 6);
    if (kind == 0) step = 0;
    if (kind == 2) step = bytes * (1 + below(s, 3)), down = bytes * below(s, 20);
    if (kind == 3) step = 0, down = bytes * below(s, 20);
    uint64_t first = base + 128 + bytes * below(s, most - 96 * 3 < most ? most - 96 * 3 : 1);
    for (uint64_t i = 0; i < ORR_WARP; i++) {
        x->addr[i] = first + (kind == 2 || kind == 3 ? i % 16 * step + i / 16 * down : i * step);
        if (kind == 4) x->addr[i] = first + (31 - i) * bytes;
        if (kind == 5) x->addr[i] = base + 128 + bytes * below(s, most);
        x->addr[i] -= (uint64_t)(int64_t)x->disp;
    }
}

static void choose(stand *r, uint64_t *s, one *x) {
    static const uint8_t widths[] = {1, 2, 4, 4, 4, 4};
    *x = (one){.load = below(s, 2), .shared = below(s, 2), .width = widths[below(s, 6)], .vec = 1};
    if (x->width == 4) x->vec = (uint8_t)(1u << below(s, 3));
    x->disp = (int32_t)((below(s, 9) - 4) * x->width * x->vec * (below(s, 2) ? 1 : 0));
    int lanes = (int)below(s, 4);
    x->mask = lanes == 0 ? FULL : (uint32_t)rig_random(s);
    if (lanes == 1) x->mask &= (uint32_t)rig_random(s) & (uint32_t)rig_random(s);
    if (lanes == 2) x->mask = FULL >> below(s, 32) << below(s, 3);
    if (!x->mask) x->mask = 1;
    place(s, x, x->shared ? 0 : r->buffer, x->shared ? SHARED : BUFFER);
    for (int i = 0; i < ORR_WARP; i++) {
        bool junk = !(x->mask >> i & 1) && below(s, 8) == 0; // a lane that is off may hold anything
        uint64_t a = junk ? rig_random(s) : x->addr[i];
        r->rows[0][i] = (uint32_t)a;
        r->rows[1][i] = (uint32_t)(a >> 32);
    }
    for (int n = 4; n < 8; n++)
        for (int i = 0; i < ORR_WARP; i++) r->rows[n][i] = (uint32_t)rig_random(s);
}

static void every_way(void **state) {
    (void)state;
    stand *r = open_stand();
    uint8_t *buffer = orr_mem_host(r->mem, r->buffer, BUFFER);
    uint8_t *was = malloc(BUFFER), shared[SHARED];
    uint64_t s = 5;
    for (int n = 0; n < BUFFER; n++) buffer[n] = (uint8_t)rig_random(&s);
    for (int n = 0; n < SHARED; n++) r->shared[n] = (uint8_t)rig_random(&s);
    for (int round = 0; round < 8000; round++) {
        one x;
        uint32_t rows[ROWS][ORR_WARP];
        choose(r, &s, &x);
        memcpy(was, buffer, BUFFER);
        memcpy(shared, r->shared, SHARED);
        memcpy(rows, r->rows, sizeof rows);
        by_hand(r, &x, shared, was, rows);
        run(r, &x);
        assert_false(r->block.faulted);
        assert_memory_equal(buffer, was, BUFFER);
        assert_memory_equal(r->shared, shared, SHARED);
        assert_memory_equal(r->rows, rows, sizeof rows);
        orr_trace_out want = {.mask = x.mask};
        for (int i = 0; i < ORR_WARP; i++) x.addr[i] += (uint64_t)(int64_t)x.disp;
        orr_trace_put_access(&want, x.mask, x.addr);
        assert_int_equal(r->trace.n, want.n);
        assert_memory_equal(r->trace.bytes, want.bytes, want.n);
        free(want.bytes);
    }
    free(was);
    close_stand(r);
}

// One lane past the end, or not aligned, is found in every way.
static void faults(void **state) {
    (void)state;
    uint64_t s = 9;
    for (int round = 0; round < 200; round++) {
        stand *r = open_stand();
        one x;
        do choose(r, &s, &x);
        while (x.width * x.vec == 1);
        run(r, &x); // the allocation is known now
        assert_false(r->block.faulted);
        int lane = (int)below(&s, ORR_WARP);
        x.mask |= 1u << lane;
        bool odd = below(&s, 2);
        uint64_t end = x.shared ? SHARED : r->buffer + BUFFER;
        for (int i = 0; i < ORR_WARP; i++) {
            uint64_t a = i == lane ? (odd ? x.addr[i] + 1 : end - (uint64_t)(int64_t)x.disp) : x.addr[i];
            r->rows[0][i] = (uint32_t)a;
            r->rows[1][i] = (uint32_t)(a >> 32);
        }
        run(r, &x);
        assert_true(r->block.faulted);
        assert_int_equal(r->work.fault, odd ? ORR_FAULT_ALIGN : ORR_FAULT_ADDRESS);
        close_stand(r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_way), cmocka_unit_test(faults)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
