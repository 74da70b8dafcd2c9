// Writing Accel-Sim's traces. Expected lines follow from the format (docs/guides/accel-sim.md) by hand;
// bundled workloads are written, held against the rules of Accel-Sim's own reader, and read back: the same
// instructions, lanes and addresses as program and stream say.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "accel/writer.h"
#include "exec/exec.h"
#include "launch/launch.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- a rig --------------------------------------------------------------------------------------

static char folder[100];

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/orrery-write-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_all(const char *path) {
    char cmd[300];
    snprintf(cmd, sizeof cmd, "rm -rf '%s'", path);
    return system(cmd); // NOLINT(cert-env33-c)
}

static int remove_folder(void **state) {
    (void)state;
    return remove_all(folder);
}

static orr_gpu *gpu(const char *name) {
    orr_err e = {0};
    orr_gpu *g = orr_gpu_load(name, NULL, 0, &e);
    if (!g) fail_msg("%s", e.text);
    return g;
}

static char *file(const char *name) {
    char path[300];
    orr_err e = {0};
    snprintf(path, sizeof path, "%s/out/%s", folder, name);
    size_t n;
    char *s = orr_read_file(path, 1 << 28, &n, &e);
    if (!s) fail_msg("%s", e.text);
    return s;
}

static const char *out(void) {
    static char path[200];
    snprintf(path, sizeof path, "%s/out", folder);
    return path;
}

// A trace's text through reader and writer, for a GPU: the text that was written.
static char *rewritten(const char *text, const char *name) {
    orr_err e = {0};
    orr_gpu *g = gpu(name);
    orr_source *s = orr_accel_from_text(text, strlen(text), "t", &e);
    if (!s) fail_msg("%s", e.text);
    orr_program *p = orr_program_new(s->info.kernel, g, &e);
    orr_accel_writer *w = orr_accel_create(out(), false, &e);
    if (!w) fail_msg("%s", e.text);
    assert_true(orr_accel_begin(w, &s->info, p, &e));
    orr_tb tb;
    while (s->next(s, &tb, &e) == 1) {
        orr_program_grow(p);
        if (!orr_accel_block(w, &tb, &e)) fail_msg("%s", e.text);
    }
    if (e.status) fail_msg("%s", e.text);
    assert_true(orr_accel_end(w, &e));
    assert_true(orr_accel_commit(w, &e));
    orr_program_free(p);
    s->close(s);
    orr_gpu_free(g);
    return file("kernel-1.traceg");
}

#define HEAD(block, version)                                                                                 \
    "-kernel name = k\n-kernel id = 1\n-grid dim = (1,1,1)\n-block dim = " block                             \
    "\n-shmem = 64\n-nregs = 16\n"                                                                           \
    "-binary version = " version "\n-cuda stream id = 0\n-shmem base_addr = 0x00007f0000000000\n"            \
    "-local mem base_addr = 0x00007f0002000000\n-accelsim tracer version = 5\n-enable lineinfo = 0\n\n"      \
    "#traces format = x\n\n#BEGIN_TB\n\nthread block = 0,0,0\n\n"
#define WARP(w, n, lines) "warp = " #w "\ninsts = " #n "\n" lines "\n"
#define END               "#END_TB\n"

static void has(const char *text, const char *line) {
    char whole[300];
    snprintf(whole, sizeof whole, "\n%s\n", line);
    if (!strstr(text, whole)) fail_msg("no line '%s' in:\n%s", line, text);
}

// ---- addresses ----------------------------------------------------------------------------------

static void addresses(void **state) {
    (void)state;
    char buf[ACCESS_TEXT + 1];
    uint64_t a[32];
    for (int i = 0; i < 32; i++) a[i] = 0x700000000000 + 4 * (uint64_t)i;
    const struct {
        uint32_t mask;
        const char *want;
    } rows[] = {
        {0xffffffff, "1 0x700000000000 4 "},
        {0x0000fff0, "1 0x700000000010 4 "},   // from lane 4 on, without a gap
        {0x00000100, "1 0x700000000020 0 "},   // one lane
        {0x00000000, "1 0x0 0 "},              // none
        {0x00000015, "2 0x700000000000 8 8 "}, // lanes 0, 2, 4: mode 1 would end at the first gap
        {0x80000001, "2 0x700000000000 124 "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        *accel_addresses(buf, rows[i].mask, a, 0) = 0;
        assert_string_equal(buf, rows[i].want);
    }
    a[1] = a[0] - 8, a[2] = a[1] - 8;
    *accel_addresses(buf, 7, a, 0) = 0;
    assert_string_equal(buf, "1 0x700000000000 -8 ");
    a[2] = a[0] + 100; // each from the lane before it
    *accel_addresses(buf, 7, a, 0) = 0;
    assert_string_equal(buf, "2 0x700000000000 -8 108 ");
    a[1] = a[0] + (1ull << 33), a[2] = a[0] + (2ull << 33); // a stride is 32 bits
    *accel_addresses(buf, 7, a, 0x700000000000) = 0;
    assert_string_equal(buf, "2 0x0 8589934592 8589934592 ");
    for (int i = 0; i < 32; i++) a[i] = i & 1 ? 0 : UINT64_MAX / 2;
    assert_true(accel_addresses(buf, 0xffffffff, a, 1) - buf <= ACCESS_TEXT);
}

// ---- opcodes ------------------------------------------------------------------------------------

static void opcodes(void **state) {
    (void)state;
    static const int versions[] = {35, 60, 61, 70, 75, 80, 86, 90};
    for (int i = 0; i < ORR_SASS_COUNT; i++)
        for (int v = 0; v < 8 && i != ORR_SASS_NONE; v++) {
            const char *name = accel_name(versions[v], orr_sass[i].name, orr_sass[i].cls);
            if (!accel_knows(versions[v], name, strlen(name)))
                fail_msg("%s is written as %s, which version %d does not have", orr_sass[i].name, name,
                         versions[v]);
        }
    for (int c = 0; c < ORR_TC_COUNT; c++) // names nobody has heard of
        for (int v = 0; v < 8; v++) {
            const char *name = accel_name(versions[v], "UQQQ.X", (uint8_t)c);
            assert_true(accel_knows(versions[v], name, strlen(name)));
        }
    const struct {
        int version;
        const char *from, *to;
    } rows[] = {{70, "FFMA.FTZ", "FFMA"},     {80, "VIMNMX.U32", "IMNMX"}, {70, "UIADD3", "IADD3"},
                {75, "UIADD3", "UIADD3"},     {35, "STG.E", "ST"},         {35, "IADD3", "IADD"},
                {35, "UIADD3", "IADD"},       {35, "BSSY", "SSY"},         {61, "HMMA", "FFMA"},
                {90, "VIMNMX.U32", "VIMNMX"}, {90, "HGMMA", "HGMMA"},      {70, "ULDC.64", "LDC"},
                {86, "REDG.E", "RED"},        {70, "LDGSTS", "LDG"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        enum orr_sass s = orr_sass_find(rows[i].from, strlen(rows[i].from));
        assert_string_equal(accel_name(rows[i].version, rows[i].from, orr_sass[s].cls), rows[i].to);
    }
    const struct {
        const char *gpu;
        int version;
    } gpus[] = {{"gtx480", 35}, {"k40", 35},     {"titanx", 61},  {"v100", 70}, {"rtx2060", 75},
                {"a100", 80},   {"rtx3070", 86}, {"rtx4090", 86}, {"h200", 90}, {"b200", 90}};
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
        orr_gpu *g = gpu(gpus[i].gpu);
        assert_int_equal(orr_accel_binary(g), gpus[i].version);
        orr_gpu_free(g);
    }
}

// ---- lines --------------------------------------------------------------------------------------

static void lines(void **state) {
    (void)state;
    char *t = rewritten(HEAD("(32,1,1)", "70")
                            WARP(0, 14,
                                 "0000 ffffffff 1 R2 MOV 0 0 4 \n"
                                 "0010 ffffffff 1 R4 LDG.E.128.SYS 1 R2 16 1 0x700000001000 16 0 \n"
                                 "0020 0000000f 1 R8 LDG.E.S8 1 R2 1 1 0x700000002001 3 0 \n"
                                 "0030 ffffffff 0 STS.64 2 R2 R4 8 1 0x10 8 0 \n"
                                 "0040 00000000 1 R9 LDS 1 R2 4 1 0x0 0 0 \n"
                                 "0050 ffffffff 0 STG.E.128 2 R2 R4 16 1 0x700000003000 16 0 \n"
                                 "0060 ffffffff 1 R2 DFMA 3 R4 R6 R8 0 0 \n"
                                 "0070 00000011 0 RED.E.ADD.STRONG.GPU 2 R2 R4 4 2 0x700000000000 4 0 \n"
                                 "0080 ffffffff 0 BAR.SYNC 0 0 0 \n"
                                 "0090 00000000 0 EXIT 0 0 0 \n"
                                 "00a0 ffffffff 1 R2 IMAD.WIDE.U32 3 R4 R5 R6 0 0 \n"
                                 "00b0 ffffffff 1 R255 ATOMS.POPC.INC.32 1 R2 4 1 0x10 4 0 \n"
                                 "00c0 ffffffff 0 RED.E.ADD 2 R2 R4 4 1 0x7f0000000010 4 0 \n"
                                 "00d0 ffffffff 0 EXIT 0 0 0 \n") END,
                        "v100");
    has(t, "-binary version = 70");
    has(t, "-shmem = 64");
    has(t, "-nregs = 16");
    has(t, "insts = 14");
    has(t, "0000 ffffffff 1 R2 MOV 0 0 0 ");
    has(t, "0010 ffffffff 1 R4 LDG.E.128.SYS 1 R2 16 1 0x700000001000 16 0 ");
    has(t, "0020 0000000f 1 R8 LDG.E.U8 1 R2 1 1 0x700000002001 3 0 "); // S8 would be read as four bytes
    has(t, "0030 ffffffff 0 STS.64 2 R2 R4 8 1 0x10 8 0 ");
    has(t, "0040 00000000 1 R9 LDS 1 R2 4 1 0x0 0 0 ");
    has(t, "0050 ffffffff 0 STG.E.128 2 R2 R4 16 1 0x700000003000 16 0 ");
    has(t, "0060 ffffffff 1 R2 DFMA 3 R4 R6 R8 0 0 ");
    has(t, "0070 00000011 0 RED.E.ADD.STRONG.GPU 2 R2 R4 4 2 0x700000000000 4 0 ");
    has(t, "0080 ffffffff 0 BAR.SYNC 0 0 0 ");
    has(t, "0090 00000000 0 EXIT 0 0 0 ");
    has(t, "00a0 ffffffff 1 R2 IMAD.WIDE.U32 3 R4 R5 R6 0 0 ");          // the addend's first half
    has(t, "00b0 ffffffff 1 R255 ATOMS.POPC.INC.32 1 R2 4 1 0x10 4 0 "); // it is counted when written back
    has(t, "00c0 ffffffff 1 R255 ATOMS.E.ADD 2 R2 R4 4 1 0x10 4 0 ");    // generic, to shared memory
    has(t, "00d0 ffffffff 0 EXIT 0 0 0 ");
    free(t);
}

// Every lane ends exactly once: where it is seen last, or in a line of its own.
static void exits(void **state) {
    (void)state;
    char *t = rewritten(HEAD("(40,1,1)", "70") // a second warp of 8
                        WARP(0, 3,
                             "0000 ffffffff 0 NOP 0 0 0 \n"
                             "0010 0000ffff 0 EXIT 0 0 0 \n"
                             "0020 ffff0000 0 NOP 0 0 0 \n") // no EXIT for the upper half
                        WARP(1, 1, "0000 ffffffff 0 EXIT 0 0 0 \n") END,
                        "v100");
    has(t, "insts = 4");
    has(t, "0010 0000ffff 0 EXIT 0 0 0 ");
    has(t, "0030 ffff0000 0 EXIT 0 0 0 "); // behind the last instruction
    has(t, "0000 000000ff 0 EXIT 0 0 0 "); // lanes that there are
    free(t);
}

// What Accel-Sim cannot do, or would do for ever.
static void replaced(void **state) {
    (void)state;
    static const char text[] =
        HEAD("(32,1,1)", "80") WARP(0, 6,
                                    "0000 ffffffff 0 LDGSTS.E.BYPASS.128 2 R2 R4 16 1 0x700000000000 16 0 \n"
                                    "0010 ffffffff 0 LDGDEPBAR 0 0 0 \n"
                                    "0020 ffffffff 0 DEPBAR.LE 0 0 3 \n"
                                    "0030 ffffffff 1 R2 VIMNMX.U32 2 R2 R4 0 0 \n"
                                    "0040 ffffffff 1 R2 UIADD3 0 0 0 \n"
                                    "0050 ffffffff 0 EXIT 0 0 0 \n") END;
    char *t = rewritten(text, "a100");
    has(t, "0000 ffffffff 0 LDGSTS.E.BYPASS.128 2 R2 R4 16 1 0x700000000000 16 0 ");
    has(t, "0010 ffffffff 0 LDGDEPBAR 0 0 0 ");
    has(t, "0020 ffffffff 0 DEPBAR.LE 0 0 1 "); // there was one group
    has(t, "0030 ffffffff 1 R2 IMNMX 2 R2 R4 0 0 ");
    free(t);
    t = rewritten(text, "v100"); // the older trace is replaced
    has(t, "0000 ffffffff 0 LDG.E.BYPASS.128.STRONG.GPU 2 R2 R4 16 1 0x700000000000 16 0 ");
    has(t, "0010 ffffffff 0 NOP 0 0 0 ");
    has(t, "0020 ffffffff 0 NOP 0 0 0 ");
    free(t);
}

// ---- the folder -----------------------------------------------------------------------------------

static int entries(const char *path) {
    int n = 0;
    DIR *d = opendir(path);
    if (!d) return -1;
    for (const struct dirent *f; (f = readdir(d));) n += f->d_name[0] != '.';
    closedir(d);
    return n;
}

static void folders(void **state) {
    (void)state;
    orr_err e = {0};
    char path[200];
    snprintf(path, sizeof path, "%s/other", folder);
    assert_int_equal(mkdir(path, 0777), 0);
    orr_accel_writer *w = orr_accel_create(path, false, &e); // an empty one will do
    assert_non_null(w);
    assert_int_equal(entries(path), 0); // nothing is there before the end
    assert_true(orr_accel_commit(w, &e));
    assert_int_equal(entries(path), 1);
    snprintf(path, sizeof path, "%s/other/kernelslist.g", folder);
    snprintf(path, sizeof path, "%s/other/mine", folder); // somebody's own file
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
    snprintf(path, sizeof path, "%s/other", folder);
    assert_null(orr_accel_create(path, false, &e));
    assert_non_null(strstr(e.text, "mine"));
    assert_int_equal(entries(path), 2);

    int before = entries(folder);
    e = (orr_err){0};
    w = orr_accel_create(out(), false, &e);
    assert_non_null(w);
    orr_accel_discard(w);
    w = orr_accel_create(out(), false, &e);
    assert_int_equal(entries(folder), before + 1);
    orr_out_abort_all(); // what a signal does
    assert_int_equal(entries(folder), before);
    orr_accel_discard(w);
    snprintf(path, sizeof path, "%s/no/where", folder);
    assert_null(orr_accel_create(path, false, &e));
    assert_int_equal(e.status, ORR_BAD_INPUT);
}

// ---- workloads --------------------------------------------------------------------------------------

// What Accel-Sim's reader asserts, and what would make it wait for ever.
static void check_rules(const char *text, int binary) {
    assert_int_equal(text[strlen(text) - 1], '\n');
    uint32_t threads = 0, left = 0;
    long lines = 0;
    bool in_warp = false;
    for (const char *p = text, *end; (end = strchr(p, '\n')); p = end + 1) {
        uint32_t x, y, z, mask, warp;
        int ndst, nsrc, at = 0;
        unsigned pc;
        if (sscanf(p, "-block dim = (%u,%u,%u)", &x, &y, &z) == 3) threads = x * y * z;
        if (end == p) continue;
        if (sscanf(p, "warp = %u", &warp) == 1 || strncmp(p, "#END_TB", 7) == 0) {
            if (in_warp && (lines != 0 || left != 0))
                fail_msg("a warp ends with %ld lines and lanes %x left", lines, left);
            in_warp = *p == 'w';
            uint32_t count = threads - warp * 32;
            left = count >= 32 ? 0xffffffffu : (1u << count) - 1;
            continue;
        }
        if (sscanf(p, "insts = %ld", &lines) == 1) {
            assert_true(lines > 0);
            continue;
        }
        if (sscanf(p, "%x %8x %d %n", &pc, &mask, &ndst, &at) != 3 || p[0] == '#' || p[0] == '-') continue;
        lines--;
        assert_in_range(ndst, 0, 1);
        const char *q = p + at;
        for (int i = 0; i < ndst; i++) q += strcspn(q, " ") + 1;
        size_t n = strcspn(q, ". ");
        if (!accel_knows(binary, q, n)) fail_msg("version %d has no %.*s", binary, (int)n, q);
        bool exit = n == 4 && memcmp(q, "EXIT", 4) == 0;
        const char *opcode = q;
        q += strcspn(q, " ") + 1;
        assert_int_equal(sscanf(q, "%d %n", &nsrc, &at), 1);
        assert_in_range(nsrc, 0, 4);
        q += at;
        for (int i = 0; i < nsrc; i++) q += strcspn(q, " ") + 1;
        int width, mode;
        assert_int_equal(sscanf(q, "%d %n", &width, &at), 1);
        q += at;
        static const char *const need[] = {"LDG", "STG",   "LDS",   "STS",  "LDL",   "STL",
                                           "RED", "ATOMG", "ATOMS", "LDSM", "LDGSTS"};
        for (size_t i = 0; i < sizeof need / sizeof *need; i++)
            if (strlen(need[i]) == n && memcmp(need[i], opcode, n) == 0) assert_true(width > 0);
        if (width) {
            assert_int_equal(sscanf(q, "%d %n", &mode, &at), 1);
            assert_in_range(mode, 1, 2);
            uint32_t run = mask ? mask >> orr_ffs(mask) : 0;
            if (mode == 1 && (run & (run + 1))) fail_msg("mode 1 with a gap in %08x", mask);
            q += at;
            int fields = 0;
            for (; q < end && *q; fields++) q += strcspn(q, " ") + 1;
            assert_int_equal(fields, mode == 1 ? 3 : orr_popc(mask) + 1);
        }
        if (exit) {
            if (mask & ~left) fail_msg("lanes %x end twice", mask & ~left);
            left &= ~mask;
        }
    }
}

typedef struct said { // one line as program and stream say it
    uint32_t mask;
    uint8_t place; // of an access, else 255
    uint64_t addr[32];
} said;

typedef struct record {
    const orr_gpu *gpu;
    orr_accel_writer *w;
    orr_program *p;
    ORR_VEC(said) all; // of the launch
    ORR_VEC(size_t) launches;
} record;

static void say(record *r, const orr_tblock *b, uint32_t mask, const orr_access *a) {
    for (uint32_t i = b->first; i < b->first + b->count; i++) {
        const orr_tinst *in = &r->p->insts[i];
        said *s = ORR_PUSH(&r->all);
        *s = (said){.mask = mask, .place = 255};
        if (in->kind != ORR_TK_MEM || in->access == ORR_NO_ACCESS || in->space == ORR_SPACE_CONST ||
            in->space == ORR_SPACE_PARAM) {
            if (in->kind == ORR_TK_EXIT) s->mask = 0; // not what is looked at here
            continue;
        }
        const orr_access *x = &a[in->access];
        s->mask = x->mask;
        s->place = in->space == ORR_SPACE_SHARED  ? IN_SHARED
                   : in->space == ORR_SPACE_LOCAL ? IN_LOCAL
                                                  : IN_GLOBAL;
        for (int l = 0; l < 32; l++) {
            if (!(x->mask >> l & 1)) continue;
            uint64_t at = x->addr[l];
            if (in->space == ORR_SPACE_GENERIC && at - ORR_SHARED_WINDOW < ORR_WINDOW_BYTES)
                at -= ORR_SHARED_WINDOW, s->place = IN_SHARED;
            else if (in->space == ORR_SPACE_GENERIC && at - ORR_LOCAL_WINDOW < ORR_WINDOW_BYTES)
                at -= ORR_LOCAL_WINDOW, s->place = IN_LOCAL;
            s->addr[l] = at + in->offset;
        }
    }
}

// A body under a predicate comes for no lane where the stream goes on elsewhere.
static bool on_block(void *arg, int worker, const orr_tb *tb, orr_err *e) {
    record *r = arg;
    (void)worker;
    static const orr_access nobody[256];
    for (uint32_t wi = 0; wi < tb->nwarps; wi++) {
        orr_trace t = orr_trace_open(tb->warps[wi]);
        uint32_t block, mask, body = 0;
        orr_access a[256];
        while (orr_trace_block(&t, r->p->nblocks, &block, &mask) == 1) {
            for (; body && body - 1 != block; body = r->p->blocks[body - 1].body)
                say(r, &r->p->blocks[body - 1], 0, nobody);
            const orr_tblock *b = &r->p->blocks[block];
            body = b->body;
            assert_true(b->naccess <= 256);
            for (uint32_t i = 0; i < b->naccess; i++) assert_true(orr_trace_access(&t, &a[i]));
            say(r, b, mask, a);
        }
    }
    return orr_accel_block(r->w, tb, e);
}

static bool on_launch(void *arg, orr_launch *l, const orr_call *c, orr_err *e) {
    record *r = arg;
    (void)c;
    orr_launch_info info = {.kernel = l->kernel, .dynamic_shared = l->dynamic_shared, .index = l->index};
    memcpy(info.grid, l->grid, sizeof l->grid);
    memcpy(info.block, l->block, sizeof l->block);
    orr_program_free(r->p);
    r->p = orr_program_new(l->kernel, r->gpu, e);
    bool ok = r->p && orr_accel_begin(r->w, &info, r->p, e) &&
              orr_exec_run(l, 2, &(orr_visitor){on_block, r, true}, NULL, e) && orr_accel_end(r->w, e);
    *ORR_PUSH(&r->launches) = r->all.n;
    return ok;
}

// What the reader makes of the file against what was to be written. Lines that only end lanes are left out.
static void compare(const record *r, orr_source *s, size_t from, size_t to) {
    orr_err e = {0};
    orr_tb tb;
    size_t n = from;
    while (s->next(s, &tb, &e) == 1)
        for (uint32_t w = 0; w < tb.nwarps; w++) {
            orr_trace t = orr_trace_open(tb.warps[w]);
            uint32_t block, mask;
            const orr_kernel *k = s->info.kernel;
            while (orr_trace_block(&t, k->nblocks, &block, &mask) == 1)
                for (uint32_t i = 0; i < k->blocks[block].count; i++) {
                    const orr_inst *in = &k->insts[k->blocks[block].first + i];
                    orr_access a = {0};
                    bool traced = orr_inst_traced(in);
                    if (traced) assert_true(orr_trace_access(&t, &a));
                    bool exit = in->sass == ORR_SASS_EXIT;
                    if (n == to && exit) continue;
                    const said *want = &r->all.at[n];
                    if (exit && (want->mask || want->place != 255)) continue; // a line more
                    n++;
                    if (exit) continue;
                    if (want->place == 255) {
                        if (!traced) assert_int_equal(mask, want->mask);
                        continue;
                    }
                    assert_true(traced);
                    assert_int_equal(a.mask, want->mask);
                    if (!a.mask) continue;
                    int place = in->space == ORR_SPACE_SHARED  ? IN_SHARED
                                : in->space == ORR_SPACE_LOCAL ? IN_LOCAL
                                                               : IN_GLOBAL;
                    assert_int_equal(place, want->place);
                    // of copies past L1 the trace does not keep where they land (orr_coalesce_copy)
                    uint64_t keep = orr_inst_lands(in) ? ~15ull : ~0ull;
                    for (int l = 0; l < 32; l++)
                        if (a.mask >> l & 1) assert_int_equal(a.addr[l], want->addr[l] & keep);
                }
        }
    if (e.status) fail_msg("%s", e.text);
    assert_int_equal(n, to);
}

static void workload(const char *name, const char *on, bool xz) {
    orr_err e = {0};
    orr_arena names = {0};
    orr_gpu *g = gpu(on);
    remove_all(out());
    const char *path = orr_find_workload(&names, name, &e);
    orr_script *s = path ? orr_script_load(path, "small", NULL, 0, &e) : NULL;
    if (s) orr_script_source(s, NULL, (unsigned)(g->cc_major * 10 + g->cc_minor), &e);
    record r = {.gpu = g, .w = orr_accel_create(out(), xz, &e)};
    orr_cpu *cpu = s && r.w ? orr_cpu_new(on_launch, &r, &e) : NULL;
    if (!cpu) fail_msg("%s", e.text);
    orr_backend b = orr_cpu_backend(cpu);
    orr_script_stats stats;
    if (!orr_script_run(s, &b, true, &stats, &e) || !orr_accel_commit(r.w, &e))
        fail_msg("%s: %s", name, e.text);
    for (size_t i = 0; !xz && i < r.launches.n; i++) {
        char file_name[40];
        snprintf(file_name, sizeof file_name, "kernel-%zu.traceg", i + 1);
        char *text = file(file_name);
        check_rules(text, orr_accel_binary(g));
        free(text);
    }
    char list[300];
    snprintf(list, sizeof list, "%s/kernelslist.g", out());
    orr_accel_file *f = orr_accel_open(list, &e);
    if (!f) fail_msg("%s", e.text);
    orr_accel_item item;
    size_t launch = 0;
    while (orr_accel_next(f, &item, &e) && item.kind != ORR_ACCEL_END)
        if (item.kind == ORR_ACCEL_KERNEL) {
            compare(&r, item.source, launch ? r.launches.at[launch - 1] : 0, r.launches.at[launch]);
            launch++;
        }
    if (e.status) fail_msg("%s", e.text);
    assert_int_equal(launch, r.launches.n);
    orr_accel_close(f);
    orr_cpu_delete(cpu);
    orr_script_free(s);
    orr_program_free(r.p);
    free(r.all.at);
    free(r.launches.at);
    orr_gpu_free(g);
    orr_arena_free(&names);
}

static void workloads(void **state) {
    (void)state;
    workload("saxpy", "v100", false);
    workload("saxpy", "k40", false);
    workload("bfs", "v100", false);
    workload("reduce", "gtx480", false);
    workload("histogram", "titanx", false);
    workload("sgemm_tiled", "rtx2060", false);
    workload("hgemm_tensor", "a100", false);
    workload("bitonic", "h200", false);
    workload("nqueens", "v100", false);
    workload("nn", "rtx3070", false);
    if (orr_accel_xz()) workload("transpose_tiled", "v100", true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses), cmocka_unit_test(opcodes),  cmocka_unit_test(lines),
        cmocka_unit_test(exits),     cmocka_unit_test(replaced), cmocka_unit_test(folders),
        cmocka_unit_test(workloads),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
