// What a kernel asks of its surroundings: special registers, addresses in its own frame, the stack, and
// the functions the CUDA device runtime provides (printf, malloc, free, assert).
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "exec/block.h"
#include "exec/lanewise.h"

// ---- writing a result -----------------------------------------------------------------------
// Special registers may be read into a register of any width.
static void put(warp *w, const uop *u, const uint64_t v[ORR_WARP]) {
    for (uint32_t m = w->exec; m; m &= m - 1) {
        int i = orr_ffs(m);
        switch (u->d.cls) {
        case ORR_H: DST(w, u, uint16_t)[i] = (uint16_t)v[i]; break;
        case ORR_W: DST(w, u, uint32_t)[i] = (uint32_t)v[i]; break;
        case ORR_D: DST(w, u, uint64_t)[i] = v[i]; break;
        default: break;
        }
    }
}

static void put_all(warp *w, const uop *u, uint64_t v) {
    if (u->d.cls == ORR_W && w->exec == FULL) {
        uint32_t *d = DST(w, u, uint32_t);
        LANES d[i] = (uint32_t)v;
        return;
    }
    uint64_t x[ORR_WARP];
    LANES x[i] = v;
    put(w, u, x);
}

// ---- special registers ----------------------------------------------------------------------
static void read_tid(warp *w, const uop *u) {
    const uint32_t *t = w->tb->prog->tid + ((size_t)w->index * 3 + u->imm - ORR_SREG_TID_X) * ORR_WARP;
    if (u->d.cls == ORR_W) { // lanes that are off may be overwritten only when there are none
        uint32_t *d = DST(w, u, uint32_t);
        const uint32_t *lane = w->lane;
        if (w->exec == FULL) {
            LANES d[i] = t[i];
        } else {
            LANES d[i] = (t[i] & lane[i]) | (d[i] & ~lane[i]);
        }
        return;
    }
    uint64_t v[ORR_WARP];
    LANES v[i] = t[i];
    put(w, u, v);
}

static void read_lane(warp *w, const uop *u) {
    uint64_t v[ORR_WARP];
    for (uint32_t i = 0; i < ORR_WARP; i++) {
        uint32_t below = (1u << i) - 1;
        switch (u->imm) {
        case ORR_SREG_LANEMASK_EQ: v[i] = 1u << i; break;
        case ORR_SREG_LANEMASK_LE: v[i] = below | 1u << i; break;
        case ORR_SREG_LANEMASK_LT: v[i] = below; break;
        case ORR_SREG_LANEMASK_GE: v[i] = ~below; break;
        case ORR_SREG_LANEMASK_GT: v[i] = ~below & ~(1u << i); break;
        default: v[i] = i; break;
        }
    }
    put(w, u, v);
}

// Where a kernel is executed as it is timed (step.c) clocks are simulated time. Else there is no time here:
// clocks count the instructions the warp has executed, at one a cycle and one a nanosecond, and what looking
// at flags takes (run/warp.c), so that they never stand still and a wait with a limit comes to it.
static uint64_t clock_of(warp *w) { return w->step ? w->step->now : w->insts + ++w->ticks; }
static uint64_t nanoseconds_of(warp *w) {
    return w->step ? (uint64_t)((double)w->step->now * w->step->ns) : clock_of(w);
}

static uint32_t cluster_dim(const orr_launch *l, uint32_t d) { return l->cluster[d] ? l->cluster[d] : 1; }

static void read_scalar(warp *w, const uop *u) {
    const tblock *tb = w->tb;
    const decoded *p = tb->prog;
    const orr_launch *l = p->launch;
    uint64_t v = 0;
    switch (u->imm) {
    case ORR_SREG_NTID_X: v = l->block[0]; break;
    case ORR_SREG_NTID_Y: v = l->block[1]; break;
    case ORR_SREG_NTID_Z: v = l->block[2]; break;
    case ORR_SREG_CTAID_X:
    case ORR_SREG_CTAID_Y:
    case ORR_SREG_CTAID_Z: v = tb->ctaid[u->imm - ORR_SREG_CTAID_X]; break;
    case ORR_SREG_NCTAID_X:
    case ORR_SREG_NCTAID_Y:
    case ORR_SREG_NCTAID_Z: v = l->grid[u->imm - ORR_SREG_NCTAID_X]; break;
    case ORR_SREG_CLUSTERID_X:
    case ORR_SREG_CLUSTERID_Y:
    case ORR_SREG_CLUSTERID_Z:
        v = tb->ctaid[u->imm - ORR_SREG_CLUSTERID_X] / cluster_dim(l, u->imm - ORR_SREG_CLUSTERID_X);
        break;
    case ORR_SREG_NCLUSTERID_X:
    case ORR_SREG_NCLUSTERID_Y:
    case ORR_SREG_NCLUSTERID_Z:
        v = l->grid[u->imm - ORR_SREG_NCLUSTERID_X] / cluster_dim(l, u->imm - ORR_SREG_NCLUSTERID_X);
        break;
    case ORR_SREG_CLUSTER_CTAID_X:
    case ORR_SREG_CLUSTER_CTAID_Y:
    case ORR_SREG_CLUSTER_CTAID_Z:
        v = tb->ctaid[u->imm - ORR_SREG_CLUSTER_CTAID_X] % cluster_dim(l, u->imm - ORR_SREG_CLUSTER_CTAID_X);
        break;
    case ORR_SREG_CLUSTER_NCTAID_X:
    case ORR_SREG_CLUSTER_NCTAID_Y:
    case ORR_SREG_CLUSTER_NCTAID_Z: v = cluster_dim(l, u->imm - ORR_SREG_CLUSTER_NCTAID_X); break;
    case ORR_SREG_CLUSTER_CTARANK: v = tb->rank; break;
    case ORR_SREG_CLUSTER_NCTARANK: v = orr_cluster_size(l); break;
    case ORR_SREG_CLUSTER_EXPLICIT: v = l->cluster[0] != 0; break;
    case ORR_SREG_WARPID: v = w->index; break;
    case ORR_SREG_NWARPID: v = 64; break;
    case ORR_SREG_SMID: v = tb->index % p->sm_count; break;
    case ORR_SREG_NSMID: v = p->sm_count; break;
    case ORR_SREG_GRIDID: v = l->index + 1; break;
    case ORR_SREG_TOTAL_SMEM: v = ((p->kernel->shared_bytes + 15) & ~15u) + l->dynamic_shared; break;
    case ORR_SREG_AGGR_SMEM:
        v = ((p->kernel->shared_bytes + 15) & ~15u) + l->dynamic_shared + RESERVED;
        break;
    case ORR_SREG_RESERVED_SMEM: v = p->reserved_at; break;
    case ORR_SREG_RESERVED_SMEM_1: v = p->reserved_at + RESERVED / 2; break;
    case ORR_SREG_RESERVED_SMEM_END: v = p->reserved_at + RESERVED; break;
    case ORR_SREG_RESERVED_SMEM_SIZE: v = RESERVED; break;
    case ORR_SREG_DYNAMIC_SMEM: v = l->dynamic_shared; break;
    case ORR_SREG_CLOCK: v = (uint32_t)clock_of(w); break;
    case ORR_SREG_CLOCK_HI: v = clock_of(w) >> 32; break;
    case ORR_SREG_CLOCK64: v = clock_of(w); break;
    case ORR_SREG_GLOBALTIMER: v = nanoseconds_of(w); break;
    case ORR_SREG_GLOBALTIMER_LO: v = (uint32_t)nanoseconds_of(w); break;
    case ORR_SREG_GLOBALTIMER_HI: v = nanoseconds_of(w) >> 32; break;
    case ORR_SREG_ENVREG_1: v = l->workspace >> 32; break;
    case ORR_SREG_ENVREG_2: v = (uint32_t)l->workspace; break;
    default: break; // %envreg, %pm: zero
    }
    put_all(w, u, v);
}

// ---- frame and stack ------------------------------------------------------------------------
static void local_address(warp *w, const uop *u) {
    put_all(w, u, (uint64_t)w->frames.at[w->frag->frame].local + u->imm);
}

static void take_stack(warp *w, const uop *u) {
    frame *fr = &w->frames.at[w->frag->frame];
    const orr_func *fn = &w->tb->prog->kernel->funcs[fr->func];
    uint64_t size = 0; // lanes of one activation share the stack pointer: the largest wish counts
    for (uint32_t m = w->exec; m; m &= m - 1) {
        uint64_t s =
            u->a.cls == ORR_D ? SRC_A(w, u, uint64_t)[orr_ffs(m)] : SRC_A(w, u, uint32_t)[orr_ffs(m)];
        if (s > size) size = s;
    }
    uint64_t align = u->imm >= 8 ? u->imm : 8;
    uint64_t at = (fr->local + fn->local_bytes + fr->alloca + align - 1) / align * align;
    if (size > w->tb->prog->local_bytes || at + size > w->tb->prog->local_bytes) {
        orr_fault(w, u, orr_ffs(w->exec), "stack overflow: alloca of %llu bytes", (unsigned long long)size);
        return;
    }
    fr->alloca = (uint32_t)(at + size - fr->local - fn->local_bytes);
    put_all(w, u, at);
}

static void save_stack(warp *w, const uop *u) { put_all(w, u, w->frames.at[w->frag->frame].alloca); }

static void restore_stack(warp *w, const uop *u) {
    frame *fr = &w->frames.at[w->frag->frame];
    int lane = orr_ffs(w->exec);
    uint64_t v = u->a.cls == ORR_D ? SRC_A(w, u, uint64_t)[lane] : SRC_A(w, u, uint32_t)[lane];
    if (v <= fr->alloca) fr->alloca = (uint32_t)v;
}

static void sleep_a_while(warp *w, const uop *u) {
    warp_sleeps(w, SRC_A(w, u, uint32_t), w->exec);
    w->polls.budget = 0; // give the others a turn
}

// ---- device runtime -------------------------------------------------------------------------
// Arguments lie in the caller's frame, one after the other as the copies of the call say. They are taken to
// where a function of the device runtime has them, in words (orr_syscall_word).
static void arguments(const warp *w, const uop *u, int lane, uint32_t arg[ORR_SYSCALL_WORDS]) {
    const decoded *p = w->tb->prog;
    uint32_t word = 0;
    memset(arg, 0, ORR_SYSCALL_WORDS * sizeof *arg);
    for (uint32_t n = 0; n < u->imm; n++) {
        uint64_t spec = *SRC_N(w, u, (int)n, uint64_t);
        uint32_t bytes = (uint32_t)spec;
        uint64_t at = (uint64_t)w->frames.at[w->frag->frame].local + (spec >> 32);
        if (bytes == 8) word = (word + 1) & ~1u;
        if (word + bytes / 4 <= ORR_SYSCALL_WORDS && at + bytes <= p->local_bytes)
            memcpy(arg + word,
                   w->tb->local + (size_t)(w->index * ORR_WARP + (uint32_t)lane) * p->local_bytes + at,
                   bytes);
        word += bytes / 4;
    }
}

static void result(const warp *w, const uop *u, int lane, uint64_t v, uint32_t bytes) {
    if (!u->inst->vec) return;
    uint64_t spec = *SRC_N(w, u, (int)u->imm, uint64_t);
    const decoded *p = w->tb->prog;
    uint64_t at = (uint64_t)w->frames.at[w->frag->frame].local + (spec >> 32);
    if (at + bytes <= p->local_bytes)
        memcpy(w->tb->local + (size_t)(w->index * ORR_WARP + (uint32_t)lane) * p->local_bytes + at, &v,
               bytes);
}

uint8_t *orr_bytes_at(const warp *w, int lane, uint64_t addr, uint64_t n) {
    const decoded *p = w->tb->prog;
    uint8_t space = orr_generic_space(addr);
    uint64_t at = addr - orr_generic_window(space);
    if (space == ORR_SPACE_LOCAL) {
        if (at > p->local_bytes || n > p->local_bytes - at) return NULL;
        return w->tb->local + (size_t)(w->index * ORR_WARP + (uint32_t)lane) * p->local_bytes + at;
    }
    if (space == ORR_SPACE_SHARED)
        return at > p->shared_bytes || n > p->shared_bytes - at ? NULL : w->tb->shared + at;
    return orr_mem_host(w->worker->mem, addr, n);
}

static bool string_at(const warp *w, int lane, uint64_t addr, char *out, size_t cap) {
    for (size_t n = 0; n + 1 < cap; n++) {
        const uint8_t *c = orr_bytes_at(w, lane, addr + n, 1);
        if (!c) return false;
        out[n] = (char)*c;
        if (!*c) return true;
    }
    out[cap - 1] = 0; // longer than we show
    return true;
}

typedef struct printf_args { // what is printed next
    uint64_t buffer, at;
} printf_args;

typedef struct conversion {
    char *spec;     // flags, width and precision:
    size_t n;       // so many characters, with room for more
    char how;       // the letter
    bool wide;      // of 8 bytes, not 4
    uint8_t narrow; // bits of an element of a vector that was promoted to four bytes; 0: all are the value's
} conversion;

// One value by one conversion. False: a fault.
static bool print_one(warp *w, const uop *u, int lane, FILE *out, printf_args *args, const conversion *c) {
    char text[1024], *spec = c->spec, how = c->how;
    bool wide = c->wide;
    uint32_t size = wide ? 8 : 4;
    args->at = (args->at + size - 1) / size * size;
    const uint8_t *p = orr_bytes_at(w, lane, args->buffer + args->at, size);
    if (!p) {
        orr_fault(w, u, lane, "printf's arguments are not in memory");
        return false;
    }
    args->at += size;
    uint64_t v = 0;
    memcpy(&v, p, size);
    if (c->narrow == 8) v = how == 'd' || how == 'i' ? (uint32_t)(int8_t)v : (uint8_t)v;
    if (c->narrow == 16) v = how == 'd' || how == 'i' ? (uint32_t)(int16_t)v : (uint16_t)v;
    char *end = spec + c->n;
    if (strchr("eEfFgGaA", how)) {
        double x;
        memcpy(&x, &v, 8);
        snprintf(end, 4, "%c", how);
        fprintf(out, spec, x);
    } else if (how == 's') {
        snprintf(end, 4, "s");
        if (!string_at(w, lane, v, text, sizeof text)) snprintf(text, sizeof text, "(null)");
        fprintf(out, spec, text);
    } else if (how == 'p') {
        fprintf(out, "0x%llx", (unsigned long long)v);
    } else if (how == 'c') {
        snprintf(end, 4, "c");
        fprintf(out, spec, (int)v);
    } else {
        snprintf(end, 8, "ll%c", how);
        if (how == 'd' || how == 'i')
            fprintf(out, spec, wide ? (long long)v : (long long)(int32_t)v);
        else
            fprintf(out, spec, (unsigned long long)v);
    }
    return true;
}

// One thread's printf. Arguments are packed in the buffer, each at its natural alignment.
static int print_thread(warp *w, const uop *u, int lane, FILE *out, uint64_t form, uint64_t buffer) {
    char format[4096], spec[64];
    if (!string_at(w, lane, form, format, sizeof format)) {
        orr_fault(w, u, lane, "printf's format is not in memory");
        return 0;
    }
    printf_args values = {.buffer = buffer};
    int args = 0;
    for (const char *f = format; *f; f++) {
        if (*f != '%') {
            fputc(*f, out);
            continue;
        }
        if (f[1] == '%') {
            fputc('%', out);
            f++;
            continue;
        }
        const char *start = f++;
        size_t n = strspn(f, "-+ #0123456789.*");
        f += n;
        unsigned elements = 1; // of a vector, as OpenCL C's %v4hlf
        if (*f == 'v' && f[1] >= '1' && f[1] <= '9') {
            char *behind;
            elements = (unsigned)strtoul(f + 1, &behind, 10);
            f = behind;
        }
        int longs = 0, halves = 0;
        bool four = elements > 1 && f[0] == 'h' && f[1] == 'l';                   // elements of four bytes
        for (; *f == 'l' || *f == 'h'; f++) *(*f == 'l' ? &longs : &halves) += 1; // CUDA has no other sizes
        longs = four ? 0 : longs;
        if (n > 40 || elements > 16 || memchr(start, '*', n + 1) || !*f ||
            !strchr("diouxXeEfFgGaAcsp", *f)) { // not one of CUDA's
            fwrite(start, 1, (size_t)(f - start) + (*f != 0), out);
            if (!*f) break;
            continue;
        }
        bool wide = longs || strchr("eEfFgGaAsp", *f);
        memcpy(spec, start, n + 1);
        conversion c = {.spec = spec, .n = n + 1, .how = *f, .wide = wide};
        if (elements > 1 && !wide && !four && halves) c.narrow = halves > 1 ? 8 : 16;
        for (unsigned i = 0; i < elements; i++) {
            if (i) fputc(',', out);
            if (!print_one(w, u, lane, out, &values, &c)) return args;
        }
        args++;
    }
    return args;
}

static uint64_t pair(const uint32_t *arg) { return (uint64_t)arg[1] << 32 | arg[0]; }

static void assertion(warp *w, const uop *u, int lane, const uint32_t *arg) {
    char message[200] = "", file[200] = "", function[120] = "";
    string_at(w, lane, pair(arg), message, sizeof message);
    string_at(w, lane, pair(arg + 2), file, sizeof file);
    string_at(w, lane, pair(arg + 6), function, sizeof function);
    orr_fault_as(ORR_FAULT_ASSERT, w, u, lane, "assertion '%s' failed at %s:%u in '%s'", message, file,
                 arg[4], function);
}

uint64_t orr_system_call(warp *w, const uop *u, int lane, unsigned which,
                         const uint32_t arg[ORR_SYSCALL_WORDS]) {
    FILE *out = w->tb->prog->launch->print ? w->tb->prog->launch->print : stdout;
    switch (which) {
    case ORR_SYS_VPRINTF: return (uint64_t)print_thread(w, u, lane, out, pair(arg), pair(arg + 2));
    case ORR_SYS_MALLOC: {
        orr_err none = {0}; // a heap that is full gives NULL, as on the GPU
        return pair(arg) ? orr_mem_alloc(w->worker->mem, pair(arg), "device malloc", &none) : 0;
    }
    case ORR_SYS_FREE:
        if (pair(arg) && !orr_mem_free(w->worker->mem, pair(arg)))
            orr_fault(w, u, lane, "free of 0x%llx, which malloc did not give", (unsigned long long)pair(arg));
        memset(w->worker->range, 0, (w->tb->prog->nmem + 1) * sizeof *w->worker->range);
        return 0;
    case ORR_SYS_ASSERTFAIL: assertion(w, u, lane, arg); return 0;
    default: return orr_device_call(w, u, lane, which, arg);
    }
}

static void system_call(warp *w, const uop *u) {
    unsigned which = u->inst->sub;
    for (uint32_t m = w->exec; m && !w->tb->faulted; m &= m - 1) {
        int lane = orr_ffs(m);
        uint32_t arg[ORR_SYSCALL_WORDS], bytes = orr_syscall_result(which);
        arguments(w, u, lane, arg);
        uint64_t v = orr_system_call(w, u, lane, which, arg);
        if (bytes) result(w, u, lane, v, bytes);
    }
}

handlers orr_pick_system(const orr_kernel *k, const orr_inst *i, const char **why) {
    (void)k;
    (void)why;
    uop_fn *f = NULL;
    switch (i->op) {
    case ORR_OP_SREG:
        f = i->imm <= ORR_SREG_TID_Z ? read_tid : read_scalar;
        if (i->imm == ORR_SREG_LANEID || (i->imm >= ORR_SREG_LANEMASK_EQ && i->imm <= ORR_SREG_LANEMASK_GT))
            f = read_lane;
        break;
    case ORR_OP_LOCALADDR: f = local_address; break;
    case ORR_OP_ALLOCA: f = take_stack; break;
    case ORR_OP_STACKSAVE: f = save_stack; break;
    case ORR_OP_STACKRESTORE: f = restore_stack; break;
    case ORR_OP_NANOSLEEP: f = sleep_a_while; break;
    case ORR_OP_SYSCALL: f = system_call; break;
    default: break;
    }
    return (handlers){f, f};
}

// What compiled blocks do instead (lanewise.h).
LANEWISE(orr_lanes_system, {read_tid, LANE_TID, 0})
