// A kernel of a task list: its tasks become machine instructions, loops and accesses.
#include "tasks/parse.h"

#include <ctype.h>
#include <string.h>

#include "accel/accel.h"

#define REGS 250 // results that are told apart at a time, a register each

// ---- a kernel's code --------------------------------------------------------------------------------------
static void *grown(void *at, uint32_t n, uint32_t *cap, size_t size) {
    if (n < *cap) return at;
    *cap = *cap ? *cap * 2 : 64;
    return orr_realloc(at, *cap * size);
}

static void begin_block(tasks_parser *p) {
    task_kernel *k = p->k;
    if (p->open) return;
    k->kernel.blocks = grown(k->kernel.blocks, k->kernel.nblocks, &k->blocks_cap, sizeof *k->kernel.blocks);
    k->kernel.blocks[k->kernel.nblocks++] = (orr_block){.first = k->kernel.ninsts, .next = -1, .ipdom = -1};
    p->first_mem = (uint32_t)k->mems.n;
    p->open = true;
}

static void end_block(tasks_parser *p) {
    task_kernel *k = p->k;
    if (!p->open) return;
    *ORR_PUSH(&k->items) = (task_item){.kind = ITEM_BLOCK,
                                       .block = k->kernel.nblocks - 1,
                                       .first = p->first_mem,
                                       .n = (uint32_t)k->mems.n - p->first_mem};
    p->open = false;
}

static void add_operand(task_kernel *k, uint16_t reg) {
    orr_kernel *o = &k->kernel;
    o->operands = grown(o->operands, o->noperands, &k->operands_cap, sizeof *o->operands);
    o->operands[o->noperands++] = (orr_operand){.kind = ORR_K_REG, .cls = ORR_W, .reg = reg};
}

static uint32_t add_inst(tasks_parser *p, const char *mnemonic, int dst, const uint16_t *src, int nsrc,
                         int width) {
    task_kernel *k = p->k;
    orr_kernel *o = &k->kernel;
    begin_block(p);
    o->insts = grown(o->insts, o->ninsts, &k->insts_cap, sizeof *o->insts);
    orr_inst *i = &o->insts[o->ninsts];
    orr_accel_inst(o, i, mnemonic, width);
    i->first = o->noperands;
    if (dst >= 0) add_operand(k, (uint16_t)dst);
    for (int s = 0; s < nsrc; s++) add_operand(k, src[s]);
    i->ndst = dst >= 0;
    i->nsrc = (uint8_t)nsrc;
    o->names = (const char **)grown((void *)o->names, o->nnames, &k->names_cap, sizeof *o->names);
    o->names[o->nnames] = orr_arena_strdup(&o->arena, mnemonic);
    i->name = o->nnames++;
    i->line = o->ninsts * 16; // its address
    i->source.line = (uint32_t)p->line;
    orr_block *b = &o->blocks[o->nblocks - 1];
    b->count++;
    b->nmem += orr_inst_traced(i);
    return o->ninsts++;
}

static uint64_t times_here(const tasks_parser *p) { return p->depth ? p->loop[p->depth - 1].times : 1; }

// ---- tasks ------------------------------------------------------------------------------------------------
static const struct {
    const char *name, *mnemonic;
} ops[] = {
    {"sp", "FFMA"},      {"fp32", "FFMA"},
    {"dp", "DFMA"},      {"fp64", "DFMA"},
    {"half", "HFMA2"},   {"fp16", "HFMA2"},
    {"int", "IADD3"},    {"mul", "IMAD"},
    {"sfu", "MUFU"},     {"convert", "F2I"},
    {"move", "MOV"},     {"vote", "VOTE"},
    {"shuffle", "SHFL"}, {"tensor", "HMMA.16816.F32"},
};

static bool dependences(tasks_parser *p, uint16_t *src, int *nsrc) {
    if (!tasks_take_word(p, "after")) return true;
    do {
        uint64_t i = 0;
        if (!tasks_amount(p, "the number of a task", 0, MAX_TASKS - 1, &i)) return false;
        if (*nsrc == MAX_DEPS) return tasks_bad(p, "a task depends on at most 6 others");
        if (i >= p->ntasks && !p->depth)
            return orr_fail(
                p->e, ORR_BAD_INPUT,
                "%s:%d: task %u is after task %llu, which is not before it: only in a loop, where it "
                "is that of the round before",
                p->path, p->line, p->ntasks, (unsigned long long)i);
        if (i > p->needed) {
            p->needed = (uint32_t)i;
            p->needed_line = p->line;
        }
        // One that comes later is of the round before: its register is the same
        src[(*nsrc)++] = (uint16_t)(p->reg[i] ? p->reg[i] : 1 + (uint32_t)i % REGS);
    } while (tasks_take(p, ','));
    return true;
}

// "stall 5": the next task of the warp begins that many cycles later, or after that.
static bool stalls(tasks_parser *p, uint64_t *stall) {
    return !tasks_take_word(p, "stall") || tasks_amount(p, "stall, in cycles,", 1, 15, stall);
}

// What a task leaves to others. Tasks have the registers of their number; copies those after the last.
static uint32_t result(tasks_parser *p, uint32_t copy) {
    return 1 + (copy ? MAX_TASKS + p->made : p->ntasks) % REGS;
}

enum { ACCESS_LOAD, ACCESS_STORE, ACCESS_ATOMIC = 2 }; // ATOMIC | STORE: a reduction

typedef struct memory_options { // what a task of memory says after its space
    const char *mnemonic;
    bool global, local; // its space
    bool strided, common, together, everywhere;
    uint64_t bytes, stride, reuse, copies, l1, l2, stall, lanes;
    uint16_t src[MAX_DEPS];
    int nsrc;
} memory_options;

// The space, and the machine instruction that makes the access there.
static bool memory_space(tasks_parser *p, int access, memory_options *o) {
    static const struct {
        const char *name, *load, *store, *atomic, *red;
    } spaces[] = {{"global", "LDG", "STG", "ATOMG", "RED"},
                  {"shared", "LDS", "STS", "ATOMS", "ATOMS"},
                  {"const", "LDC", NULL, NULL, NULL},
                  {"local", "LDL", "STL", NULL, NULL}};
    size_t s = 0;
    while (s < sizeof spaces / sizeof spaces[0] && !tasks_take_word(p, spaces[s].name)) s++;
    if (s == sizeof spaces / sizeof spaces[0])
        return tasks_bad(p, "global, shared, const or local is expected here");
    o->global = s == 0;
    o->local = s == 3;
    bool store = access & ACCESS_STORE;
    if (access & ACCESS_ATOMIC)
        o->mnemonic = store ? spaces[s].red : spaces[s].atomic;
    else
        o->mnemonic = store ? spaces[s].store : spaces[s].load;
    return o->mnemonic || tasks_bad(p, "that cannot be done in this memory");
}

// One option of an access. What only global memory has is refused elsewhere.
static bool memory_option(tasks_parser *p, memory_options *o) {
    if (tasks_take_word(p, "stride")) {
        o->strided = true;
        return tasks_amount(p, "stride", 0, 1u << 20, &o->stride);
    }
    if (tasks_take_word(p, "reuse")) {
        if (!o->global) return tasks_bad(p, "only global memory has a reuse distance");
        if (!tasks_amount(p, "reuse", 1, 1ull << 35, &o->reuse)) return false;
        o->common = tasks_take_word(p, "common");
        return true;
    }
    if (tasks_take_word(p, "together")) {
        o->together = true;
        return o->global || tasks_bad(p, "together is for global memory");
    }
    if (tasks_take_word(p, "everywhere")) {
        o->everywhere = true;
        return o->global || tasks_bad(p, "everywhere is for global memory");
    }
    bool l1 = tasks_take_word(p, "l1");
    if (l1 || tasks_take_word(p, "l2")) {
        if (!o->global) return tasks_bad(p, "l1 and l2 are for global memory");
        return tasks_amount(p, l1 ? "l1, in percent," : "l2, in percent,", 0, 100, l1 ? &o->l1 : &o->l2);
    }
    if (tasks_take_word(p, "lanes")) return tasks_amount(p, "lanes", 1, 32, &o->lanes);
    if (tasks_take_word(p, "x")) return tasks_amount(p, "x", 1, MAX_TASKS, &o->copies);
    uint64_t had = (uint64_t)o->nsrc + o->stall;
    if (!dependences(p, o->src, &o->nsrc) || !stalls(p, &o->stall)) return false;
    return had != (uint64_t)o->nsrc + o->stall ||
           tasks_fail(p, "after, stride, reuse, l1, l2, lanes, x or stall is expected, not", p->at,
                      tasks_word(p));
}

static bool memory_options_read(tasks_parser *p, memory_options *o) {
    if (!tasks_at_end(p) && isdigit((unsigned char)*p->at) &&
        !tasks_amount(p, "bytes of a thread", 1, 16, &o->bytes))
        return false;
    if (o->bytes & (o->bytes - 1)) return tasks_bad(p, "a thread has 1, 2, 4, 8 or 16 bytes");
    while (!tasks_at_end(p))
        if (!memory_option(p, o)) return false;
    // Threads that are at the same place of their local memory are side by side in what is behind it.
    if (!o->strided) o->stride = o->local ? 0 : o->bytes;
    if (o->l1 + o->l2 > 100) return tasks_bad(p, "l1 and l2 are more than 100 percent together");
    if ((o->l1 || o->l2) && o->reuse) return tasks_bad(p, "reuse, or l1 and l2, but not both");
    return true;
}

static bool memory_task(tasks_parser *p, int access) {
    memory_options o = {.bytes = 4, .copies = 1, .lanes = 32};
    if (!memory_space(p, access, &o) || !memory_options_read(p, &o)) return false;
    char text[24];
    snprintf(text, sizeof text, "%s%s", o.mnemonic,
             o.bytes == 1    ? ".U8"
             : o.bytes == 2  ? ".U16"
             : o.bytes == 8  ? ".64"
             : o.bytes == 16 ? ".128"
                             : "");
    if (p->made + o.copies > MAX_TASKS) return tasks_bad(p, "a kernel has at most 4096 tasks");
    task_kernel *k = p->k;
    uint64_t runs = times_here(p);
    uint32_t reg = 0;
    for (uint64_t c = 0; c < o.copies; c++) {
        reg = result(p, c > 0);
        p->made++;
        uint32_t inst = add_inst(p, text, access & ACCESS_STORE ? -1 : (int)reg, o.src, o.nsrc, (int)o.bytes);
        k->kernel.insts[inst].encoding.ctrl = (uint32_t)o.stall;
        if (orr_inst_traced(&k->kernel.insts[inst]))
            *ORR_PUSH(&k->mems) = (task_mem){.bytes = (uint32_t)o.bytes,
                                             .stride = o.stride,
                                             .reuse = o.reuse,
                                             .load = access == ACCESS_LOAD,
                                             .store = access == ACCESS_STORE,
                                             .common = o.common,
                                             .together = o.together,
                                             .everywhere = o.everywhere,
                                             .l1 = (uint8_t)o.l1,
                                             .l2 = (uint8_t)o.l2,
                                             .lanes = (uint8_t)o.lanes,
                                             .inst = inst,
                                             .runs = runs};
        k->accesses += runs;
        k->run += runs;
    }
    if (k->accesses > MAX_ACCESS)
        return tasks_bad(p, "a warp makes more than 4 million accesses; repeat less");
    p->reg[p->ntasks++] = reg;
    return true;
}

static bool compute_task(tasks_parser *p, const char *mnemonic) {
    uint64_t copies = 1, stall = 0;
    uint16_t src[MAX_DEPS];
    int nsrc = 0;
    while (!tasks_at_end(p)) {
        uint64_t had = (uint64_t)nsrc + stall;
        if (tasks_take_word(p, "x")) {
            if (!tasks_amount(p, "x", 1, MAX_TASKS, &copies)) return false;
            continue;
        }
        if (!dependences(p, src, &nsrc) || !stalls(p, &stall)) return false;
        if (had == (uint64_t)nsrc + stall)
            return tasks_fail(p, "after, x or stall is expected, not", p->at, tasks_word(p));
    }
    if (p->made + copies > MAX_TASKS) return tasks_bad(p, "a kernel has at most 4096 tasks");
    uint32_t reg = 0;
    for (uint64_t c = 0; c < copies; c++) {
        reg = result(p, c > 0);
        p->made++;
        uint32_t inst = add_inst(p, mnemonic, (int)reg, src, nsrc, 0);
        p->k->kernel.insts[inst].encoding.ctrl = (uint32_t)stall;
        p->k->run += times_here(p);
    }
    p->reg[p->ntasks++] = reg;
    return true;
}

// A machine instruction by its mnemonic, of those that compute: its class decides what it takes.
static bool machine_task(tasks_parser *p) {
    size_t n = tasks_word(p);
    char text[48];
    if (!n || n >= sizeof text) return tasks_bad(p, "inst takes a mnemonic, as IMAD.WIDE");
    memcpy(text, p->at, n);
    text[n] = 0;
    const orr_sass_info *info = &orr_sass[orr_sass_find(text, strcspn(text, "."))];
    bool computes = info->kind == ORR_TK_ALU || info->kind == ORR_TK_BRANCH;
    if (orr_sass_find(text, strcspn(text, ".")) == ORR_SASS_NONE || !computes || info->cls == ORR_TC_MEM ||
        info->cls == ORR_TC_CONST || info->cls == ORR_TC_TEX)
        return tasks_fail(p, "inst takes an instruction that computes, not", text, n);
    p->at += n;
    return compute_task(p, text);
}

static bool begin_loop(tasks_parser *p) {
    uint64_t n;
    if (p->depth == MAX_DEPTH) return tasks_bad(p, "loops nest at most 8 deep");
    if (!tasks_amount(p, "rounds of a loop", 1, MAX_RUN, &n)) return false;
    uint64_t most = n;
    bool differ = tasks_take_word(p, "to");
    if (differ && !tasks_amount(p, "the most rounds of a loop", n, MAX_RUN, &most)) return false;
    bool blocks = differ && tasks_take_word(p, "blocks");
    uint64_t times = times_here(p) * most;
    if (times > MAX_RUN) return tasks_bad(p, "a warp runs more than 64 million rounds");
    end_block(p);
    p->loop[p->depth].item = (uint32_t)p->k->items.n;
    p->loop[p->depth++].times = times;
    *ORR_PUSH(&p->k->items) = (task_item){.kind = ITEM_LOOP, .times = n, .most = most, .blocks = blocks};
    return true;
}

// "some 30": thirty of a hundred warps do what follows, the others leave it out.
static bool begin_some(tasks_parser *p) {
    uint64_t percent, times = times_here(p);
    if (p->depth == MAX_DEPTH) return tasks_bad(p, "loops nest at most 8 deep");
    if (!tasks_amount(p, "percent of the warps", 1, 100, &percent)) return false;
    end_block(p);
    p->loop[p->depth].item = (uint32_t)p->k->items.n;
    p->loop[p->depth++].times = times;
    *ORR_PUSH(&p->k->items) = (task_item){.kind = ITEM_SOME, .times = percent};
    return true;
}

static bool end_loop(tasks_parser *p) {
    task_kernel *k = p->k;
    if (k->items.at[p->loop[p->depth - 1].item].kind == ITEM_LOOP) {
        k->run += times_here(p);
        add_inst(p, "BRA", -1, NULL, 0, 0);
    }
    end_block(p);
    uint32_t from = p->loop[--p->depth].item;
    k->items.at[from].match = (uint32_t)k->items.n;
    *ORR_PUSH(&k->items) = (task_item){.kind = ITEM_END, .match = from};
    return true;
}

static bool end_kernel(tasks_parser *p) {
    task_kernel *k = p->k;
    if (p->needed && p->needed >= p->ntasks)
        return orr_fail(p->e, ORR_BAD_INPUT, "%s:%d: there is no task %u: kernel %s has 0 to %d", p->path,
                        p->needed_line, p->needed, k->kernel.name, (int)p->ntasks - 1);
    add_inst(p, "EXIT", -1, NULL, 0, 0);
    end_block(p);
    k->run++;
    k->func.ninsts = k->kernel.ninsts;
    k->func.nblocks = k->kernel.nblocks;
    p->k = NULL;
    return true;
}

bool tasks_task(tasks_parser *p) {
    task_kernel *k = p->k;
    tasks_blanks(p);
    if (tasks_take_word(p, "loop")) return begin_loop(p);
    if (tasks_take_word(p, "some")) return begin_some(p);
    if (tasks_take_word(p, "end")) return p->depth ? end_loop(p) : end_kernel(p);
    if (isdigit((unsigned char)*p->at)) { // its number, for people
        uint64_t i = 0;
        if (!tasks_amount(p, "the number of a task", 0, MAX_TASKS - 1, &i)) return false;
        if (!tasks_take(p, ':')) return tasks_bad(p, "a : is missing after the task's number");
        if (i != p->ntasks)
            return orr_fail(p->e, ORR_BAD_INPUT, "%s:%d: this is task %u of its kernel, not %llu", p->path,
                            p->line, p->ntasks, (unsigned long long)i);
    }
    if (p->ntasks == MAX_TASKS) return tasks_bad(p, "a kernel has at most 4096 tasks");
    bool ok = false, found = true;
    if (tasks_take_word(p, "load"))
        ok = memory_task(p, ACCESS_LOAD);
    else if (tasks_take_word(p, "store"))
        ok = memory_task(p, ACCESS_STORE);
    else if (tasks_take_word(p, "atomic"))
        ok = memory_task(p, ACCESS_ATOMIC);
    else if (tasks_take_word(p, "red")) // whose result nobody has
        ok = memory_task(p, ACCESS_ATOMIC | ACCESS_STORE);
    else if (tasks_take_word(p, "sync")) {
        uint64_t stall = 0;
        ok = stalls(p, &stall);
        uint32_t at = add_inst(p, "BAR.SYNC", -1, NULL, 0, 0); // which may move the instructions
        k->kernel.insts[at].encoding.ctrl = (uint32_t)stall;
        k->run += times_here(p);
        p->ntasks++;
    } else {
        found = false;
        for (size_t o = 0; o < sizeof ops / sizeof ops[0] && !found; o++)
            if (tasks_take_word(p, ops[o].name)) {
                found = true;
                ok = compute_task(p, ops[o].mnemonic);
            }
    }
    if (!found && tasks_take_word(p, "inst")) {
        found = true;
        ok = machine_task(p);
    }
    if (!found) return tasks_fail(p, "there is no task", p->at, tasks_word(p));
    if (ok && k->run > MAX_RUN) return tasks_bad(p, "a warp runs more than 64 million tasks");
    return ok;
}

const task_kernel *tasks_find(const orr_tasks *t, const char *text, size_t n) {
    for (size_t i = 0; i < t->kernels.n; i++)
        if (strlen(t->kernels.at[i]->kernel.name) == n && memcmp(t->kernels.at[i]->kernel.name, text, n) == 0)
            return t->kernels.at[i];
    return NULL;
}

bool tasks_begin_kernel(tasks_parser *p) {
    size_t n = tasks_word(p);
    if (!n || n > 60) return tasks_bad(p, "kernel takes a name");
    if (tasks_find(p->t, p->at, n)) return tasks_fail(p, "there is a kernel of this name already:", p->at, n);
    if (p->t->kernels.n == MAX_KERNELS) return tasks_bad(p, "at most 64 kernels");
    task_kernel *k = orr_calloc(1, sizeof *k);
    *ORR_PUSH(&p->t->kernels) = k;
    orr_kernel *o = &k->kernel;
    k->module = (orr_module){.source = "tasks"};
    k->module.path = orr_arena_strdup(&k->module.arena, p->path);
    o->name = orr_arena_strndup(&o->arena, p->at, n);
    p->at += n;
    o->module = &k->module;
    o->funcs = &k->func;
    o->nfuncs = 1;
    k->func.name = o->name;
    o->barriers = 1;
    o->machine = true;
    o->effects.atomics = o->effects.blocks_meet = o->effects.reads_anywhere = o->effects.untraced =
        true; // nobody executes it
    uint64_t threads = 0, regs = 32, shared = 0;
    while (!tasks_at_end(p)) {
        bool ok;
        if (tasks_take_word(p, "threads"))
            ok = tasks_amount(p, "threads", 1, 1024, &threads);
        else if (tasks_take_word(p, "registers"))
            ok = tasks_amount(p, "registers", 1, 255, &regs);
        else if (tasks_take_word(p, "shared"))
            ok = tasks_amount(p, "shared", 0, 1u << 20, &shared);
        else
            ok = tasks_fail(p, "threads, registers or shared is expected, not", p->at, tasks_word(p));
        if (!ok) return false;
    }
    if (!threads) return tasks_bad(p, "a kernel says how many threads its blocks have: threads 256");
    k->threads = (uint32_t)threads;
    o->regs = (uint32_t)regs;
    o->shared_bytes = (uint32_t)shared;
    p->k = k;
    p->ntasks = p->made = p->needed = 0;
    memset(p->reg, 0, sizeof p->reg);
    p->open = false;
    return true;
}
