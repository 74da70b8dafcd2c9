// Reads a task list (docs/how/partial.md has the language). One statement a line; # begins a comment.
#include "tasks/list.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "accel/accel.h"

#define REGS 250 // results that are told apart at a time, a register each

typedef struct name {
    char text[32];
    int64_t value;
    bool fixed; // by --set
    bool met;   // in the file
} name;

typedef struct parser {
    const char *path, *at, *end;
    int line;
    orr_tasks *t;
    name names[MAX_NAMES];
    int nnames;
    orr_err *e;
    // the kernel that is being read
    task_kernel *k;
    uint32_t reg[MAX_TASKS]; // of task i: its result
    uint32_t ntasks, made;   // tasks; results so far, copies too
    uint32_t needed;         // the highest number that a task is `after`, and the line that says so
    int needed_line;
    bool open; // a block of code is being filled
    uint32_t first_mem;
    struct {
        uint32_t item;
        uint64_t times; // with the loops around it
    } loop[MAX_DEPTH];
    int depth;
    // the application
    struct {
        uint64_t times;
    } repeat[MAX_DEPTH];
    int repeats;
} parser;

static bool fail(parser *p, const char *what, const char *word, size_t n) {
    return orr_fail(p->e, ORR_BAD_INPUT, "%s:%d: %s%s%.*s%s", p->path, p->line, what, n ? " \"" : "",
                    (int)(n > 40 ? 40 : n), word ? word : "", n ? "\"" : "");
}
static bool bad(parser *p, const char *what) { return fail(p, what, NULL, 0); }

// ---- words and numbers ------------------------------------------------------------------------------
static void blanks(parser *p) {
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\r')) p->at++;
    if (p->at < p->end && *p->at == '#')
        while (p->at < p->end && *p->at != '\n') p->at++;
}
static bool at_end(parser *p) {
    blanks(p);
    return p->at == p->end || *p->at == '\n';
}
static bool is_letter(char c) { return isalpha((unsigned char)c) || c == '_'; }
static size_t word_at(parser *p) { // length of the word that begins here
    blanks(p);
    size_t n = 0;
    while (p->at + n < p->end &&
           (is_letter(p->at[n]) || (n && (isdigit((unsigned char)p->at[n]) || p->at[n] == '.'))))
        n++;
    return n;
}
static bool take_word(parser *p, const char *word) {
    size_t n = word_at(p);
    if (n != strlen(word) || memcmp(p->at, word, n) != 0) return false;
    p->at += n;
    return true;
}
static bool take(parser *p, char c) {
    blanks(p);
    if (p->at == p->end || *p->at != c) return false;
    p->at++;
    return true;
}

static bool expression(parser *p, int64_t *v, int depth);

static bool number(parser *p, int64_t *v) {
    int64_t n = 0;
    while (p->at < p->end && isdigit((unsigned char)*p->at)) {
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *p->at - '0', &n))
            return bad(p, "a number is too large");
        p->at++;
    }
    int shift = 0;
    if (p->at < p->end && (*p->at == 'K' || *p->at == 'M' || *p->at == 'G')) {
        shift = *p->at == 'K' ? 10 : *p->at == 'M' ? 20 : 30;
        p->at++;
    }
    if (__builtin_mul_overflow(n, (int64_t)1 << shift, &n)) return bad(p, "a number is too large");
    *v = n;
    return true;
}

static bool factor(parser *p, int64_t *v, int depth) {
    if (depth > 32) return bad(p, "parentheses nest too deep");
    blanks(p);
    if (p->at < p->end && isdigit((unsigned char)*p->at)) return number(p, v);
    if (take(p, '(')) return expression(p, v, depth + 1) && (take(p, ')') || bad(p, "a ) is missing"));
    size_t n = word_at(p);
    if (!n) return bad(p, "a number is expected here");
    for (int i = 0; i < p->nnames; i++)
        if (strlen(p->names[i].text) == n && memcmp(p->names[i].text, p->at, n) == 0) {
            p->at += n;
            p->names[i].met = true;
            *v = p->names[i].value;
            return true;
        }
    return fail(p, "nothing above defines", p->at, n);
}

static bool term(parser *p, int64_t *v, int depth) {
    if (!factor(p, v, depth)) return false;
    for (;;) {
        int64_t w;
        bool mul = take(p, '*'), div = !mul && take(p, '/'), mod = !mul && !div && take(p, '%');
        if (!mul && !div && !mod) return true;
        if (!factor(p, &w, depth)) return false;
        if (!mul && !w) return bad(p, "a division by 0");
        if (mul && __builtin_mul_overflow(*v, w, v)) return bad(p, "a number is too large");
        if (div) *v = w == -1 ? 0 - *v : *v / w;
        if (mod) *v = w == -1 ? 0 : *v % w;
    }
}

static bool expression(parser *p, int64_t *v, int depth) {
    if (!term(p, v, depth)) return false;
    for (;;) {
        int64_t w;
        bool add = take(p, '+'), sub = !add && take(p, '-');
        if (!add && !sub) return true;
        if (!term(p, &w, depth)) return false;
        if (add ? __builtin_add_overflow(*v, w, v) : __builtin_sub_overflow(*v, w, v))
            return bad(p, "a number is too large");
    }
}

static bool amount(parser *p, const char *what, uint64_t low, uint64_t high, uint64_t *v) {
    int64_t n;
    if (!expression(p, &n, 0)) return false;
    if (n < 0 || (uint64_t)n < low || (uint64_t)n > high)
        return orr_fail(p->e, ORR_BAD_INPUT, "%s:%d: %s is %lld; it must be %llu to %llu", p->path, p->line,
                        what, (long long)n, (unsigned long long)low, (unsigned long long)high);
    *v = (uint64_t)n;
    return true;
}

// ---- names ----------------------------------------------------------------------------------------------
static bool set_name(parser *p, const char *text, size_t n, int64_t v, bool fixed) {
    if (n >= sizeof p->names[0].text) return fail(p, "a name is too long:", text, n);
    for (int i = 0; i < p->nnames; i++)
        if (strlen(p->names[i].text) == n && memcmp(p->names[i].text, text, n) == 0) {
            if (fixed || !p->names[i].fixed) p->names[i].value = v;
            p->names[i].met |= !fixed;
            return true;
        }
    if (p->nnames == MAX_NAMES) return bad(p, "too many names");
    name *x = &p->names[p->nnames++];
    memset(x, 0, sizeof *x);
    memcpy(x->text, text, n);
    x->value = v;
    x->fixed = fixed;
    x->met = !fixed;
    return true;
}

static bool let(parser *p) {
    size_t n = word_at(p);
    const char *text = p->at;
    int64_t v;
    if (!n) return bad(p, "let takes a name, as in: let n = 1024");
    p->at += n;
    if (!take(p, '=')) return bad(p, "a = is missing");
    return expression(p, &v, 0) && set_name(p, text, n, v, false);
}

// ---- a kernel's code --------------------------------------------------------------------------------------
static void *grown(void *at, uint32_t n, uint32_t *cap, size_t size) {
    if (n < *cap) return at;
    *cap = *cap ? *cap * 2 : 64;
    return orr_realloc(at, *cap * size);
}

static void begin_block(parser *p) {
    task_kernel *k = p->k;
    if (p->open) return;
    k->kernel.blocks = grown(k->kernel.blocks, k->kernel.nblocks, &k->blocks_cap, sizeof *k->kernel.blocks);
    k->kernel.blocks[k->kernel.nblocks++] = (orr_block){.first = k->kernel.ninsts, .next = -1, .ipdom = -1};
    p->first_mem = (uint32_t)k->mems.n;
    p->open = true;
}

static void end_block(parser *p) {
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

static uint32_t add_inst(parser *p, const char *mnemonic, int dst, const uint16_t *src, int nsrc, int width) {
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
    i->srcline = (uint32_t)p->line;
    orr_block *b = &o->blocks[o->nblocks - 1];
    b->count++;
    b->nmem += orr_inst_traced(i);
    return o->ninsts++;
}

static uint64_t times_here(const parser *p) { return p->depth ? p->loop[p->depth - 1].times : 1; }

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

static bool dependences(parser *p, uint16_t *src, int *nsrc) {
    if (!take_word(p, "after")) return true;
    do {
        uint64_t i = 0;
        if (!amount(p, "the number of a task", 0, MAX_TASKS - 1, &i)) return false;
        if (*nsrc == MAX_DEPS) return bad(p, "a task depends on at most 6 others");
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
    } while (take(p, ','));
    return true;
}

// What a task leaves to others. Tasks have the registers of their number; copies those after the last.
static uint32_t result(parser *p, uint32_t copy) {
    return 1 + (copy ? MAX_TASKS + p->made : p->ntasks) % REGS;
}

static bool memory_task(parser *p, bool load, bool store, bool atomic) {
    static const struct {
        const char *name, *load, *store, *atomic;
    } spaces[] = {{"global", "LDG", "STG", "ATOMG"},
                  {"shared", "LDS", "STS", "ATOMS"},
                  {"const", "LDC", NULL, NULL},
                  {"local", "LDL", "STL", NULL}};
    (void)load;
    const char *mnemonic = NULL;
    bool found = false, global = false;
    for (size_t s = 0; s < sizeof spaces / sizeof spaces[0] && !found; s++)
        if (take_word(p, spaces[s].name)) {
            found = true;
            global = s == 0;
            mnemonic = atomic ? spaces[s].atomic : store ? spaces[s].store : spaces[s].load;
        }
    if (!found) return bad(p, "global, shared, const or local is expected here");
    if (!mnemonic) return bad(p, "that cannot be done in this memory");
    uint64_t bytes = 4, stride = 0, reuse = 0, copies = 1;
    bool common = false, strided = false;
    uint16_t src[MAX_DEPS];
    int nsrc = 0;
    if (!at_end(p) && isdigit((unsigned char)*p->at) && !amount(p, "bytes of a thread", 1, 16, &bytes))
        return false;
    if (bytes & (bytes - 1)) return bad(p, "a thread has 1, 2, 4, 8 or 16 bytes");
    while (!at_end(p)) {
        if (take_word(p, "stride")) {
            strided = true;
            if (!amount(p, "stride", 0, 1u << 20, &stride)) return false;
        } else if (take_word(p, "reuse")) {
            if (!global) return bad(p, "only global memory has a reuse distance");
            if (!amount(p, "reuse", 1, 1ull << 35, &reuse)) return false;
            common = take_word(p, "common");
        } else if (take_word(p, "x")) {
            if (!amount(p, "x", 1, MAX_TASKS, &copies)) return false;
        } else {
            int had = nsrc;
            if (!dependences(p, src, &nsrc)) return false;
            if (had == nsrc) return fail(p, "after, stride, reuse or x is expected, not", p->at, word_at(p));
        }
    }
    if (!strided) stride = bytes;
    char text[24];
    snprintf(text, sizeof text, "%s%s", mnemonic,
             bytes == 1    ? ".U8"
             : bytes == 2  ? ".U16"
             : bytes == 8  ? ".64"
             : bytes == 16 ? ".128"
                           : "");
    if (p->made + copies > MAX_TASKS) return bad(p, "a kernel has at most 4096 tasks");
    uint32_t reg = 0;
    for (uint64_t c = 0; c < copies; c++) {
        reg = result(p, c > 0);
        p->made++;
        uint32_t inst = add_inst(p, text, store ? -1 : (int)reg, src, nsrc, (int)bytes);
        task_kernel *k = p->k;
        uint64_t runs = times_here(p);
        if (orr_inst_traced(&k->kernel.insts[inst]))
            *ORR_PUSH(&k->mems) = (task_mem){(uint32_t)bytes, stride, reuse, common, inst, runs};
        k->accesses += runs;
        k->run += runs;
    }
    if (p->k->accesses > MAX_ACCESS) return bad(p, "a warp makes more than 4 million accesses; repeat less");
    p->reg[p->ntasks++] = reg;
    return true;
}

static bool compute_task(parser *p, const char *mnemonic) {
    uint64_t copies = 1;
    uint16_t src[MAX_DEPS];
    int nsrc = 0;
    while (!at_end(p)) {
        int had = nsrc;
        if (take_word(p, "x")) {
            if (!amount(p, "x", 1, MAX_TASKS, &copies)) return false;
            continue;
        }
        if (!dependences(p, src, &nsrc)) return false;
        if (had == nsrc) return fail(p, "after or x is expected, not", p->at, word_at(p));
    }
    if (p->made + copies > MAX_TASKS) return bad(p, "a kernel has at most 4096 tasks");
    uint32_t reg = 0;
    for (uint64_t c = 0; c < copies; c++) {
        reg = result(p, c > 0);
        p->made++;
        add_inst(p, mnemonic, (int)reg, src, nsrc, 0);
        p->k->run += times_here(p);
    }
    p->reg[p->ntasks++] = reg;
    return true;
}

static bool begin_loop(parser *p) {
    uint64_t n;
    if (p->depth == MAX_DEPTH) return bad(p, "loops nest at most 8 deep");
    if (!amount(p, "rounds of a loop", 1, MAX_RUN, &n)) return false;
    uint64_t times = times_here(p) * n;
    if (times > MAX_RUN) return bad(p, "a warp runs more than 64 million rounds");
    end_block(p);
    p->loop[p->depth].item = (uint32_t)p->k->items.n;
    p->loop[p->depth++].times = times;
    *ORR_PUSH(&p->k->items) = (task_item){.kind = ITEM_LOOP, .times = n};
    return true;
}

static bool end_loop(parser *p) {
    task_kernel *k = p->k;
    k->run += times_here(p);
    add_inst(p, "BRA", -1, NULL, 0, 0);
    end_block(p);
    uint32_t from = p->loop[--p->depth].item;
    k->items.at[from].match = (uint32_t)k->items.n;
    *ORR_PUSH(&k->items) = (task_item){.kind = ITEM_END, .match = from};
    return true;
}

static bool end_kernel(parser *p) {
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

static bool task(parser *p) {
    task_kernel *k = p->k;
    blanks(p);
    if (take_word(p, "loop")) return begin_loop(p);
    if (take_word(p, "end")) return p->depth ? end_loop(p) : end_kernel(p);
    if (isdigit((unsigned char)*p->at)) { // its number, for people
        uint64_t i = 0;
        if (!amount(p, "the number of a task", 0, MAX_TASKS - 1, &i)) return false;
        if (!take(p, ':')) return bad(p, "a : is missing after the task's number");
        if (i != p->ntasks)
            return orr_fail(p->e, ORR_BAD_INPUT, "%s:%d: this is task %u of its kernel, not %llu", p->path,
                            p->line, p->ntasks, (unsigned long long)i);
    }
    if (p->ntasks == MAX_TASKS) return bad(p, "a kernel has at most 4096 tasks");
    bool ok = false, found = true;
    if (take_word(p, "load"))
        ok = memory_task(p, true, false, false);
    else if (take_word(p, "store"))
        ok = memory_task(p, false, true, false);
    else if (take_word(p, "atomic"))
        ok = memory_task(p, true, false, true);
    else if (take_word(p, "sync")) {
        add_inst(p, "BAR.SYNC", -1, NULL, 0, 0);
        k->run += times_here(p);
        p->ntasks++;
        ok = true;
    } else {
        found = false;
        for (size_t o = 0; o < sizeof ops / sizeof ops[0] && !found; o++)
            if (take_word(p, ops[o].name)) {
                found = true;
                ok = compute_task(p, ops[o].mnemonic);
            }
    }
    if (!found) return fail(p, "there is no task", p->at, word_at(p));
    if (ok && k->run > MAX_RUN) return bad(p, "a warp runs more than 64 million tasks");
    return ok;
}

static task_kernel *find_kernel(const orr_tasks *t, const char *text, size_t n) {
    for (size_t i = 0; i < t->kernels.n; i++)
        if (strlen(t->kernels.at[i]->kernel.name) == n && memcmp(t->kernels.at[i]->kernel.name, text, n) == 0)
            return t->kernels.at[i];
    return NULL;
}

static bool begin_kernel(parser *p) {
    size_t n = word_at(p);
    if (!n || n > 60) return bad(p, "kernel takes a name");
    if (find_kernel(p->t, p->at, n)) return fail(p, "there is a kernel of this name already:", p->at, n);
    if (p->t->kernels.n == MAX_KERNELS) return bad(p, "at most 64 kernels");
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
    o->atomics = o->blocks_meet = o->reads_anywhere = o->untraced = true; // nobody executes it
    uint64_t threads = 0, regs = 32, shared = 0;
    while (!at_end(p)) {
        bool ok;
        if (take_word(p, "threads"))
            ok = amount(p, "threads", 1, 1024, &threads);
        else if (take_word(p, "registers"))
            ok = amount(p, "registers", 1, 255, &regs);
        else if (take_word(p, "shared"))
            ok = amount(p, "shared", 0, 1u << 20, &shared);
        else
            ok = fail(p, "threads, registers or shared is expected, not", p->at, word_at(p));
        if (!ok) return false;
    }
    if (!threads) return bad(p, "a kernel says how many threads its blocks have: threads 256");
    k->threads = (uint32_t)threads;
    o->regs = (uint32_t)regs;
    o->shared_bytes = (uint32_t)shared;
    p->k = k;
    p->ntasks = p->made = p->needed = 0;
    memset(p->reg, 0, sizeof p->reg);
    p->open = false;
    return true;
}

// ---- the application ---------------------------------------------------------------------------
static uint64_t repeated(const parser *p) { return p->repeats ? p->repeat[p->repeats - 1].times : 1; }

static bool add_step(parser *p, orr_task_step s) {
    if (p->t->steps.n == MAX_STEPS) return bad(p, "an application has at most 4096 steps");
    s.times = repeated(p);
    s.line = p->line;
    *ORR_PUSH(&p->t->steps) = s;
    return true;
}

static bool launch(parser *p) {
    size_t n = word_at(p);
    const task_kernel *k = n ? find_kernel(p->t, p->at, n) : NULL;
    if (!k) return fail(p, "no kernel above has the name", p->at, n ? n : 1);
    p->at += n;
    orr_task_step s = {.kind = ORR_TASKS_LAUNCH,
                       .launch = {.kernel = &k->kernel, .grid = {1, 1, 1}, .block = {k->threads, 1, 1}}};
    s.launch.index = (uint32_t)p->t->steps.n;
    if (!take_word(p, "grid")) return bad(p, "a launch says how many blocks there are: grid 128, 64");
    static const uint64_t most[3] = {2147483647, 65535, 65535};
    for (int d = 0; d < 3; d++) {
        uint64_t v = 1;
        if (!amount(p, "a grid's dimension", 1, most[d], &v)) return false;
        s.launch.grid[d] = (uint32_t)v;
        if (!take(p, ',')) break;
    }
    return add_step(p, s);
}

static bool copy_step(parser *p) {
    orr_task_step s = {.kind = ORR_TASKS_COPY_TO};
    if (take_word(p, "from"))
        s.kind = ORR_TASKS_COPY_FROM;
    else if (!take_word(p, "to"))
        return bad(p, "copy to the GPU, or copy from it: copy to 64M");
    return amount(p, "bytes", 1, 1ull << 44, &s.bytes) && add_step(p, s);
}

static bool begin_repeat(parser *p) {
    uint64_t n = 1;
    if (p->repeats == MAX_DEPTH) return bad(p, "repetitions nest at most 8 deep");
    if (!amount(p, "repeat", 1, 1u << 30, &n)) return false;
    if (repeated(p) > (1ull << 40) / n) return bad(p, "too many repetitions");
    uint64_t times = repeated(p) * n;
    p->repeat[p->repeats++].times = times;
    return true;
}

static bool statement(parser *p) {
    if (at_end(p)) return true;
    if (p->k) return task(p);
    if (take_word(p, "let")) return let(p);
    if (take_word(p, "kernel")) return p->repeats ? bad(p, "a kernel inside repeat") : begin_kernel(p);
    if (take_word(p, "launch")) return launch(p);
    if (take_word(p, "copy")) return copy_step(p);
    if (take_word(p, "repeat")) return begin_repeat(p);
    if (take_word(p, "end")) {
        if (!p->repeats) return bad(p, "an end without repeat or kernel");
        p->repeats--;
        return true;
    }
    size_t n = word_at(p);
    return fail(p, "let, kernel, launch, copy, repeat or end is expected, not", p->at, n ? n : 1);
}

static bool apply_sets(parser *p, const char *const *sets, int nsets) {
    for (int i = 0; i < nsets; i++) {
        size_t key = strcspn(sets[i], "=");
        if (!sets[i][key] || !key || key > 30)
            return orr_fail(p->e, ORR_BAD_INPUT, "%s: --set takes name=value, not \"%.60s\"", p->path,
                            sets[i]);
        parser q = {.path = "--set", .at = sets[i] + key + 1, .e = p->e, .line = i + 1};
        q.end = q.at + strlen(q.at);
        int64_t v;
        if (!expression(&q, &v, 0)) return false;
        if (!at_end(&q)) return bad(&q, "a number is expected");
        if (!set_name(p, sets[i], key, v, true)) return false;
    }
    return true;
}

orr_tasks *orr_tasks_parse(const char *path, const char *text, size_t n, const char *const *sets, int nsets,
                           orr_err *e) {
    parser *p = orr_calloc(1, sizeof *p);
    *p = (parser){.path = path, .at = text, .end = text + n, .line = 1, .e = e};
    orr_tasks *t = p->t = orr_calloc(1, sizeof *t);
    bool ok = n <= MAX_TEXT || bad(p, "a task list has at most 1 MiB");
    ok = ok && apply_sets(p, sets, nsets);
    while (ok && p->at < p->end) {
        ok = statement(p);
        if (ok && !at_end(p)) ok = fail(p, "the line should end before", p->at, word_at(p) ? word_at(p) : 1);
        if (ok && p->at < p->end) p->at++, p->line++;
    }
    for (int i = 0; ok && i < p->nnames; i++)
        if (!p->names[i].met) {
            ok = orr_fail(e, ORR_BAD_INPUT, "--set %s=%lld: %s has no such name; let %s = ... would make one",
                          p->names[i].text, (long long)p->names[i].value, path, p->names[i].text);
        }
    if (ok && p->k) ok = bad(p, "the last kernel has no end");
    if (ok && p->repeats) ok = bad(p, "the last repeat has no end");
    if (ok && !t->steps.n) ok = bad(p, "nothing is launched: launch KERNEL grid 128");
    free(p);
    if (ok) return t;
    orr_tasks_free(t);
    return NULL;
}

bool orr_tasks_probe(const char *path) {
    size_t n = strlen(path);
    return n > 6 && strcmp(path + n - 6, ".tasks") == 0;
}

orr_tasks *orr_tasks_load(const char *path, const char *const *sets, int nsets, orr_err *e) {
    size_t n;
    char *text = orr_read_file(path, MAX_TEXT, &n, e);
    if (!text) return NULL;
    orr_tasks *t = orr_tasks_parse(path, text, n, sets, nsets, e);
    free(text);
    return t;
}

void orr_tasks_free(orr_tasks *t) {
    if (!t) return;
    for (size_t i = 0; i < t->kernels.n; i++) {
        task_kernel *k = t->kernels.at[i];
        free(k->kernel.insts);
        free(k->kernel.blocks);
        free(k->kernel.operands);
        free((void *)k->kernel.names);
        orr_arena_free(&k->kernel.arena);
        orr_arena_free(&k->module.arena);
        free(k->mems.at);
        free(k->items.at);
        free(k);
    }
    free(t->kernels.at);
    free(t->steps.at);
    free(t);
}

size_t orr_tasks_steps(const orr_tasks *t, const orr_task_step **steps) {
    *steps = t->steps.at;
    return t->steps.n;
}
