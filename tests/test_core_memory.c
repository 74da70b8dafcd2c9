// Components of an SM on the way to memory, each with round numbers and no SM around it: events, the port,
// L1, shared memory, the load/store unit, fences (core/*.h). The GPU is the bench's (cycle.h): 30 cycles in
// L1, 200 in L2, so 85 from the port to a slice and as many back.
#include "cycle.h"

#include "core/fence.h"
#include "core/lsu.h"

#define WAY 85

// ---- events ---------------------------------------------------------------------------------------
// Events come in order of time, those of the same tick as they were added. One that is due a tick after a
// cycle began is handed out in the next.
static void test_events(void **state) {
    (void)state;
    event_queue q = {0};
    static const uint64_t times[] = {30, 10, 20, 10};
    for (uint32_t n = 0; n < 4; n++) events_add_at(&q, times[n], EVENT_LINES_THERE, n);
    static const uint32_t order[] = {1, 3, 2, 0};
    for (uint32_t n = 0; n < 4; n++) {
        assert_int_equal(events_next(&q), times[order[n]]);
        event e = events_take(&q);
        assert_int_equal(event_kind(e.token), EVENT_LINES_THERE);
        assert_int_equal(event_payload(e.token), order[n]);
    }
    assert_int_equal(events_next(&q), NEVER);
    events_add(&q, ORR_TICKS + 1, event_token(EVENT_REDUCTION_ACK, 0x7fffffff), 0);
    assert_int_equal(events_next(&q), 2);
    event e = events_take(&q);
    assert_int_equal(event_kind(e.token), EVENT_REDUCTION_ACK);
    assert_int_equal(event_payload(e.token), 0x7fffffff);
    events_free(&q);
}

// ---- a bench for what is behind the port ----------------------------------------------------------
typedef struct rig {
    orr_gpu *g;
    network net;
    event_queue clock;
    data_pipe pipe;
    core_launch launch;
    port_spec port_spec;
    sm_port port;
    l1_spec l1_spec;
    l1_cache l1;
    uint64_t done[8]; // by warp: when its last load was
    uint32_t ndone;
} rig;

static void load_done(void *self, const l1_load *load, uint64_t ready) {
    rig *r = self;
    r->done[load->warp] = ready;
    r->ndone++;
}

static void rig_open(rig *r, orr_gpu *g) {
    orr_err e = {0};
    *r = (rig){.g = g};
    r->net.mem = orr_memsys_new(g, &e);
    assert_non_null(r->net.mem);
    r->net.free = orr_calloc((size_t)orr_memsys_partitions(r->net.mem), sizeof *r->net.free);
    port_spec_read(&r->port_spec, g);
    port_init(&r->port, &r->port_spec, &r->net, &r->clock, 8);
    port_reset(&r->port);
    l1_spec_read(&r->l1_spec, g);
    l1_init(&r->l1, &r->l1_spec, &r->launch, &r->port, &r->pipe, 8);
    r->l1.client = (l1_client){r, load_done};
    r->launch.l1_bytes = 65536;
    l1_reset(&r->l1);
    for (uint32_t w = 0; w < 8; w++) l1_start_warp(&r->l1, w);
}

static void rig_close(rig *r) {
    l1_free(&r->l1);
    port_free(&r->port);
    events_free(&r->clock);
    free(r->net.free);
    orr_memsys_free(r->net.mem);
    orr_gpu_free(r->g);
}

static orr_request store_of(uint64_t line, uint8_t sectors) {
    orr_request r = {.line = line, .sectors = sectors, .kind = ORR_REQ_WRITE};
    for (int n = 0; n < 4; n++)
        if (sectors >> n & 1) r.bytes[n / 2] |= 0xffffffffull << (n % 2 * 32);
    return r;
}

// ---- port -----------------------------------------------------------------------------------------
// A port of 32 bytes a cycle: the second of two packets of 64 bytes leaves two cycles behind the first.
static void test_port_packets(void **state) {
    (void)state;
    static rig r;
    rig_open(&r, GPU("xbar.request=32"));
    orr_request store = store_of(1, 1);
    for (int n = 0; n < 2; n++) assert_int_equal(port_send(&r.port, &store, 10, 64), 0);
    assert_int_equal(r.port.out.at[0].time, (10 + WAY) * ORR_TICKS);
    assert_int_equal(r.port.out.at[1].time, (12 + WAY) * ORR_TICKS);
    assert_int_equal(r.port.n.sent_bytes, 128);
    port_reset(&r.port);
    assert_int_equal(r.port.out.n, 0);
    assert_int_equal(r.port.send_free, 0);
    rig_close(&r);
}

// Answers come through at 32 bytes a cycle, eight of them the head: four sectors take 4.25 cycles, of which
// the 1.25 of one sector are in the latency. The next, which is there at the same time, is a sector behind
// it.
static void test_port_receives(void **state) {
    (void)state;
    static rig r;
    rig_open(&r, GPU("xbar.reply=32"));
    assert_int_equal(port_receive(&r.port, 100 * ORR_TICKS, 15), 103);
    assert_int_equal(port_receive(&r.port, 100 * ORR_TICKS, 1), 105);
    rig_close(&r);
}

// A store waits ten cycles for others to its line, and from each of those on again. Two sectors that are
// stored in cycles 10 and 12 leave as one request in 22; one in 40 comes too late.
static void test_port_merges(void **state) {
    (void)state;
    static rig r;
    rig_open(&r, GPU("xbar.merge_stores=yes", "xbar.merge_lines=4", "xbar.merge_wait=10"));
    orr_request first = store_of(7, 1), second = store_of(7, 2), third = store_of(7, 4);
    port_store(&r.port, &first, 10, 1);
    port_store(&r.port, &second, 12, 1);
    assert_int_equal(r.port.out.n, 1);
    assert_int_equal(r.port.out.at[0].sectors, 3);
    assert_int_equal(r.port.out.at[0].time, (22 + WAY) * ORR_TICKS);
    port_store(&r.port, &third, 40, 1);
    assert_int_equal(r.port.out.n, 2);
    // What the memory is not told of yet stays, and is still found by its line.
    port_handed_over(&r.port, (30 + WAY) * ORR_TICKS);
    assert_int_equal(r.port.out.n, 1);
    orr_request fourth = store_of(7, 8);
    port_store(&r.port, &fourth, 45, 1);
    assert_int_equal(r.port.out.n, 1);
    assert_int_equal(r.port.out.at[0].sectors, 12);
    rig_close(&r);
}

// One store of part of a sector may be on its way. The second is parked and the third, to the same line,
// merged with it; when the first has been acknowledged they leave together.
static void test_port_parks(void **state) {
    (void)state;
    static rig r;
    rig_open(&r, GPU("xbar.merge_stores=yes", "xbar.merge_lines=4", "xbar.partial_stores=1"));
    orr_request a = {.line = 1, .sectors = 1, .kind = ORR_REQ_WRITE, .bytes = {0xf, 0}};
    orr_request b = {.line = 2, .sectors = 1, .kind = ORR_REQ_WRITE, .bytes = {0xf, 0}};
    orr_request c = {.line = 2, .sectors = 1, .kind = ORR_REQ_WRITE, .bytes = {0xf0, 0}};
    bool full;
    port_store(&r.port, &a, 10, 1);
    port_store(&r.port, &b, 10, 1);
    port_store(&r.port, &c, 10, 1);
    assert_int_equal(r.port.out.n, 1);
    assert_int_equal(r.port.nparked, 1);
    assert_int_equal(r.port.unacked[0], 2);
    r.clock.now = 300;
    port_store_acknowledged(&r.port, event_payload(r.port.out.at[0].token), &full);
    assert_true(full);
    assert_int_equal(r.port.out.n, 2);
    assert_int_equal(r.port.out.at[1].bytes[0], 0xff);
    assert_int_equal(r.port.nparked, 0);
    assert_int_equal(r.port.unacked[0], 1);
    rig_close(&r);
}

// ---- L1 -------------------------------------------------------------------------------------------
static const orr_tinst load_inst = {
    .flags = ORR_TF_LOAD, .bytes = 4, .space = ORR_SPACE_GLOBAL, .kind = ORR_TK_MEM};
static const orr_tinst store_inst = {
    .flags = ORR_TF_STORE, .bytes = 4, .space = ORR_SPACE_GLOBAL, .kind = ORR_TK_MEM};

// One lane of a warp at an address, in this cycle. False: L1 is full.
static bool touch(rig *r, l1_access *a, const orr_tinst *i, uint32_t warp, uint64_t addr) {
    *a = (l1_access){.i = i, .warp = warp, .load = NOBODY, .lanes = {.mask = 1, .addr = {addr}}};
    if (i->flags & ORR_TF_LOAD) a->load = l1_expect(&r->l1, warp, 0);
    orr_coalesce(&a->lanes, i->bytes, ORR_WHOLE_WARP, &a->lines);
    uint32_t lag;
    a->cost = l1_cost(&r->l1, a, &lag);
    pipe_begin(&r->pipe, r->clock.now, a->cost);
    a->passes_now = a->passes;
    return l1_lookup(&r->l1, a);
}

// Two warps load a word of one line: one request, for which both wait. When it is filled, in 200, both are
// done, and the next load of the sector hits; one of another sector of the line misses.
static void test_l1_misses(void **state) {
    (void)state;
    static rig r;
    static l1_access a;
    rig_open(&r, GPU());
    assert_true(touch(&r, &a, &load_inst, 0, 0));
    assert_true(touch(&r, &a, &load_inst, 1, 4));
    assert_int_equal(r.port.out.n, 1);
    assert_int_equal(r.l1.open_mshrs, 1);
    assert_int_equal(l1_waiting_inst(&r.l1, event_payload(r.port.out.at[0].token)), 0);
    r.clock.now = 200;
    l1_fill(&r.l1, event_payload(r.port.out.at[0].token), 200);
    assert_int_equal(r.ndone, 2);
    assert_int_equal(r.done[0], 200);
    assert_int_equal(r.done[1], 200);
    assert_int_equal(r.l1.open_mshrs, 0);
    touch(&r, &a, &load_inst, 2, 28);
    assert_int_equal(r.port.out.n, 1);
    touch(&r, &a, &load_inst, 3, 32);
    assert_int_equal(r.port.out.n, 2);
    assert_int_equal(r.l1.n.sectors[0][ORR_L1_LOAD], 4);
    assert_int_equal(r.l1.n.misses[0][ORR_L1_LOAD], 2);
    assert_int_equal(r.l1.n.pending[0][ORR_L1_LOAD], 1);
    assert_int_equal(r.l1.n.hits[0][ORR_L1_LOAD], 1);
    l1_reset(&r.l1);
    assert_int_equal(r.l1.n.tags + r.l1.n.sectors[0][ORR_L1_LOAD] + r.l1.open_mshrs, 0);
    rig_close(&r);
}

// With one MSHR a second miss is not taken on before the first has been filled; a load that merges with it
// is, if two may wait for a fill.
static void test_l1_full(void **state) {
    (void)state;
    static rig r;
    static l1_access a, b;
    rig_open(&r, GPU("l1.mshrs=1", "l1.mshr_merges=2"));
    assert_true(touch(&r, &a, &load_inst, 0, 0));
    assert_false(touch(&r, &b, &load_inst, 1, 128));
    assert_true(touch(&r, &a, &load_inst, 2, 0));
    assert_false(touch(&r, &a, &load_inst, 3, 0));
    l1_fill(&r.l1, event_payload(r.port.out.at[0].token), 200);
    assert_true(l1_lookup(&r.l1, &b));
    assert_int_equal(r.port.out.n, 2);
    rig_close(&r);
}

// What L1 has of global memory is invalidated behind a fence. A fill that comes after that goes to the
// registers alone.
static void test_l1_drops(void **state) {
    (void)state;
    static rig r;
    static l1_access a;
    rig_open(&r, GPU());
    touch(&r, &a, &load_inst, 0, 0);
    l1_fill(&r.l1, event_payload(r.port.out.at[0].token), 200);
    touch(&r, &a, &load_inst, 0, 128);
    l1_drop(&r.l1);
    l1_fill(&r.l1, event_payload(r.port.out.at[1].token), 300);
    assert_int_equal(r.done[0], 300);
    touch(&r, &a, &load_inst, 1, 0);
    touch(&r, &a, &load_inst, 1, 128);
    assert_int_equal(r.port.out.n, 4);
    rig_close(&r);
}

// A store of a word is sent with its mask of bytes; the warp hears of it when it has been to L2 and back.
static void test_l1_stores(void **state) {
    (void)state;
    static rig r;
    static l1_access a;
    rig_open(&r, GPU("l1.write=through"));
    touch(&r, &a, &store_inst, 0, 132);
    assert_int_equal(r.port.out.n, 1);
    assert_int_equal(r.port.out.at[0].line, 1);
    assert_int_equal(r.port.out.at[0].sectors, 1);
    assert_int_equal(r.port.out.at[0].bytes[0], 0xf0);
    assert_int_equal(r.port.warp[0].stored, 30 + 2 * WAY);
    rig_close(&r);
}

// Lanes on one word go to L2 one after the other (l2.atomic_words): four lanes are four requests, of which
// each is waited for. A reduction is not.
static void test_l1_atomics(void **state) {
    (void)state;
    static rig r;
    static l1_access a;
    static const orr_tinst atom = {.flags = ORR_TF_LOAD | ORR_TF_ATOMIC, .bytes = 4, .kind = ORR_TK_MEM};
    static const orr_tinst red = {.flags = ORR_TF_ATOMIC, .bytes = 4, .kind = ORR_TK_MEM};
    rig_open(&r, GPU("l2.atomic_words=yes"));
    for (int n = 0; n < 2; n++) {
        a = (l1_access){.i = n ? &red : &atom, .load = NOBODY, .lanes = {.mask = 15}};
        if (!n) a.load = l1_expect(&r.l1, 0, 0);
        orr_coalesce(&a.lanes, 4, ORR_WHOLE_WARP, &a.lines);
        a.cost = 1;
        assert_true(l1_lookup(&r.l1, &a));
    }
    assert_int_equal(r.port.out.n, 8);
    assert_int_equal(r.port.out.at[0].kind, ORR_REQ_ATOMIC);
    assert_int_equal(r.port.out.at[4].kind, ORR_REQ_REDUCE);
    assert_int_equal(r.l1.open_mshrs, 4);
    for (int n = 0; n < 4; n++) l1_fill(&r.l1, event_payload(r.port.out.at[n].token), 400 + (uint64_t)n);
    assert_int_equal(r.ndone, 1);
    assert_int_equal(r.done[0], 403);
    rig_close(&r);
}

// ---- shared memory --------------------------------------------------------------------------------
static const orr_tinst lds = {
    .flags = ORR_TF_LOAD, .bytes = 4, .space = ORR_SPACE_SHARED, .kind = ORR_TK_MEM};

// A latency of 20 cycles. Two passes from cycle 10 on: the last word is there a cycle later than with one.
// The next access begins when the banks are free. Where a conflict takes its warp two cycles a pass, four
// passes, three of them conflicts, have their result six cycles later, and the warp's next access waits for
// eight.
static void test_shared(void **state) {
    (void)state;
    shared_spec s = {.latency = 20, .cost = {.pass_cycles = 1}};
    data_pipe pipe = {0};
    shared_memory m = {.spec = &s, .pipe = &pipe};
    shared_access x = {.i = &lds, .answered = true};
    assert_int_equal(shared_begin(&m, &x, (orr_banked){1, 2, 1}, 10), 10 + 1 + 20);
    assert_int_equal(shared_begin(&m, &x, (orr_banked){1, 1, 0}, 10), 12 + 20);
    assert_int_equal(m.n.passes[ORR_L1_LOAD], 3);
    assert_int_equal(m.n.conflicts[ORR_L1_LOAD], 1);
    s.cost.conflict = 2;
    shared_reset(&m);
    pipe = (data_pipe){0};
    assert_int_equal(shared_begin(&m, &x, (orr_banked){1, 4, 3}, 100), 100 + 3 + 3 + 20);
    assert_int_equal(x.warp_free, 108);
    shared_access other = {.i = &lds, .answered = true};
    assert_int_equal(shared_begin(&m, &other, (orr_banked){1, 1, 0}, 100), 104 + 20); // the banks are free
    assert_int_equal(shared_begin(&m, &x, (orr_banked){1, 1, 0}, 100), 108 + 20);     // its warp is not
}

// ---- load/store unit ------------------------------------------------------------------------------
typedef struct lsu_rig {
    rig r;
    orr_program program;
    orr_tinst insts[1];
    lsu_spec spec;
    shared_spec shared_spec;
    constants_spec constants_spec;
    shared_memory shared;
    const_caches constants;
    lsu u;
    uint32_t began[8], nbegan, rooms;
    uint8_t *traces[8]; // by warp: what the queue looks into
} lsu_rig;

static void began(void *self, uint32_t warp, const orr_tinst *i, uint64_t read) {
    lsu_rig *x = self;
    (void)i, (void)read;
    x->began[x->nbegan++] = warp;
}
static void room(void *self) { ((lsu_rig *)self)->rooms++; }
static void damaged(void *self) { (void)self, fail(); }

static uint64_t issue_load(lsu_rig *x, uint32_t warp, uint64_t addr) {
    orr_trace_out t = {0};
    orr_trace_put_regular(&t, 1, addr, 4);
    orr_trace at = {t.bytes, t.bytes + t.n, 1};
    lsu_op op = {.i = &x->insts[0], .slot = warp, .access = &at, .load = l1_expect(&x->r.l1, warp, 0)};
    x->traces[warp] = t.bytes;
    return lsu_issue(&x->u, &op);
}

// One MSHR, and room for two instructions. The second load finds L1 full and waits at the head of the queue,
// half done; the third behind it takes the last place. When the first has been filled the second goes on, and
// leaves its place; the third when the second has been filled.
static void test_lsu_queue(void **state) {
    (void)state;
    static lsu_rig x;
    rig_open(&x.r, GPU("l1.mshrs=1", "lsu.queue=2"));
    x.insts[0] = load_inst;
    x.program.insts = x.insts;
    x.r.launch.program = &x.program;
    lsu_spec_read(&x.spec, x.r.g);
    shared_spec_read(&x.shared_spec, x.r.g);
    constants_spec_read(&x.constants_spec, x.r.g);
    constants_init(&x.constants, &x.constants_spec);
    x.shared = (shared_memory){.spec = &x.shared_spec, .launch = &x.r.launch, .pipe = &x.r.pipe};
    lsu_init(&x.u, &x.spec, &x.r.l1, &x.shared, &x.constants, NULL);
    x.u.client = (lsu_client){.self = &x, .began = began, .room = room, .damaged = damaged};
    lsu_reset(&x.u);
    assert_true(issue_load(&x, 0, 0) != NEVER);
    assert_int_equal(issue_load(&x, 1, 128), NEVER);
    assert_int_equal(x.u.room, 0); // the place of the first, which has begun
    assert_int_equal(issue_load(&x, 2, 256), NEVER);
    assert_int_equal(x.u.room, NEVER);
    assert_int_equal(x.u.warp[1].queued, 1);
    x.r.clock.now = 200;
    l1_fill(&x.r.l1, event_payload(x.r.port.out.at[0].token), 200);
    lsu_room_at_l1(&x.u);
    assert_int_equal(x.nbegan, 1);
    assert_int_equal(x.began[0], 1);
    assert_int_equal(x.rooms, 1);
    assert_int_equal(x.u.room, 200);
    assert_int_equal(x.r.l1.n.full, 200); // cycles that the head has waited
    x.r.clock.now = 400;
    l1_fill(&x.r.l1, event_payload(x.r.port.out.at[1].token), 400);
    lsu_room_at_l1(&x.u);
    assert_int_equal(x.nbegan, 2);
    assert_int_equal(x.r.ndone, 2);
    assert_int_equal(x.r.done[1], 400);
    lsu_free(&x.u);
    for (uint32_t w = 0; w < 8; w++) free(x.traces[w]);
    constants_free(&x.constants);
    rig_close(&x.r);
}

// ---- fences ---------------------------------------------------------------------------------------
// A fence takes 100 cycles; one for the thread block ten. With a store on its way,
// the round waits for it: two warps that come within 30 cycles are past it five cycles after it has been
// acknowledged. A third, later, waits for a round of its own, which has nothing to wait for.
static void test_fence_rounds(void **state) {
    (void)state;
    static rig r;
    rig_open(&r,
             GPU("core.fence_block=10", "core.fence_gpu=100", "core.fence_merge=30", "core.fence_store=5"));
    fence_spec s;
    fence_spec_read(&s, r.g);
    fence_unit f;
    fence_init(&f, &s, &r.port, 8);
    r.net.fences = true;
    assert_int_equal(fence_issue(&f, 0, 0), 10);
    assert_int_equal(fence_issue(&f, 0, 2), 100);
    orr_request store = store_of(1, 1);
    port_send(&r.port, &store, 0, 40);
    assert_int_equal(r.port.unacked[0], 1);
    assert_int_equal(fence_issue(&f, 0, 2), NEVER);
    r.clock.now = 20;
    assert_int_equal(fence_issue(&f, 1, 2), NEVER);
    r.clock.now = 50;
    assert_int_equal(fence_issue(&f, 2, 2), NEVER);
    assert_int_equal(f.released.n, 0);
    r.clock.now = 300;
    bool full;
    uint32_t payload = event_payload(r.port.out.at[0].token);
    port_store_acknowledged(&r.port, payload, &full);
    fence_store_acknowledged(&f, payload & 1);
    assert_int_equal(f.released.n, 2);
    for (uint32_t n = 0; n < 2; n++) {
        assert_int_equal(f.released.at[n].warp, n);
        assert_int_equal(f.released.at[n].when, 305);
    }
    f.released.n = 0;
    assert_int_equal(events_next(&r.clock), 305);
    event e = events_take(&r.clock);
    assert_int_equal(event_kind(e.token), EVENT_FENCE_ROUND);
    r.clock.now = 305;
    fence_round(&f);
    assert_int_equal(f.released.n, 1);
    assert_int_equal(f.released.at[0].warp, 2);
    assert_int_equal(f.released.at[0].when, 310);
    fence_free(&f);
    rig_close(&r);
}

// Where stores are not counted, a fence waits until its warp's last one will have been heard of, and for its
// reductions until L2 has acknowledged them; an answer for a warp that has left the slot since is nobody's.
static void test_fence_estimates(void **state) {
    (void)state;
    static rig r;
    rig_open(&r, GPU("core.fence_gpu=100", "core.fence_store=5"));
    fence_spec s;
    fence_spec_read(&s, r.g);
    fence_unit f;
    fence_init(&f, &s, &r.port, 8);
    r.net.fences = true;
    port_start_warp(&r.port, 3, 77);
    r.port.warp[3].stored = 400;
    assert_int_equal(fence_issue(&f, 3, 2), 405);
    uint32_t token = port_reduction_token(&r.port, 3);
    assert_int_equal(fence_issue(&f, 3, 2), NEVER);
    fence_reduction_acknowledged(&f, event_payload(token), 500);
    assert_int_equal(f.released.n, 1);
    assert_int_equal(f.released.at[0].when, 505);
    f.released.n = 0;
    port_reduction_token(&r.port, 3);
    port_start_warp(&r.port, 3, 78);
    fence_reduction_acknowledged(&f, event_payload(token), 600);
    assert_int_equal(f.released.n, 0);
    assert_int_equal(r.port.warp[3].stored, 0);
    fence_free(&f);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events),        cmocka_unit_test(test_port_packets),
        cmocka_unit_test(test_port_receives), cmocka_unit_test(test_port_merges),
        cmocka_unit_test(test_port_parks),    cmocka_unit_test(test_l1_misses),
        cmocka_unit_test(test_l1_full),       cmocka_unit_test(test_l1_drops),
        cmocka_unit_test(test_l1_stores),     cmocka_unit_test(test_l1_atomics),
        cmocka_unit_test(test_shared),        cmocka_unit_test(test_lsu_queue),
        cmocka_unit_test(test_fence_rounds),  cmocka_unit_test(test_fence_estimates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
