// The traces that `./run bench` runs beside Accel-Sim: writes DIR/NAME/kernelslist.g and kernel-1.traceg.
//
//   mktraces DIR NAME...     saxpy, compute, matmul, gather, powreal, saxpy_lo
//
// They are grouped traces of tracer version 5, the same to the byte as those that Accel-Sim's figures in
// bench/traces were measured with (tests/test_mktraces.sh has their sums). Five are made up: what a compiler
// would make of such a kernel for sm_70, with addresses worked out. powreal is the pattern of the one trace
// of a real program in the history of Accel-Sim's repository, PyTorch's pow.
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FULL   0xffffffffu
#define NONE   (-1)                               // no register
#define R(...) ((const int[]){__VA_ARGS__, NONE}) // source registers

// ---- numbers from Python's random.Random(seed) ------------------------------------------------------------
// MT19937 (Matsumoto, Nishimura, 1998), seeded with init_by_array as Python does; the gathers' addresses come
// from it.
static uint32_t mt[624];
static int mt_at;

static void mt_seed(uint32_t key) {
    mt[0] = 19650218;
    for (uint32_t i = 1; i < 624; i++) mt[i] = 1812433253u * (mt[i - 1] ^ mt[i - 1] >> 30) + i;
    uint32_t i = 1;
    for (int k = 0; k < 624; k++) { // a key of one word
        mt[i] = (mt[i] ^ (mt[i - 1] ^ mt[i - 1] >> 30) * 1664525u) + key;
        if (++i == 624) {
            mt[0] = mt[623];
            i = 1;
        }
    }
    for (int k = 0; k < 623; k++) {
        mt[i] = (mt[i] ^ (mt[i - 1] ^ mt[i - 1] >> 30) * 1566083941u) - i;
        if (++i == 624) {
            mt[0] = mt[623];
            i = 1;
        }
    }
    mt[0] = 0x80000000u;
    mt_at = 624;
}

static uint32_t mt_next(void) {
    if (mt_at == 624) {
        for (int i = 0; i < 624; i++) {
            uint32_t y = (mt[i] & 0x80000000u) | (mt[(i + 1) % 624] & 0x7fffffffu);
            mt[i] = mt[(i + 397) % 624] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
        }
        mt_at = 0;
    }
    uint32_t y = mt[mt_at++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

// Below n, as randrange does it: as many bits as n has, again until it fits.
static uint32_t below(uint32_t n) {
    int bits = 32 - __builtin_clz(n);
    uint32_t r;
    do r = mt_next() >> (32 - bits);
    while (r >= n);
    return r;
}

// ---- one warp's lines, behind its header once they are counted ----------------------------------
static FILE *out;
static char *text; // of the warp
static size_t used, room;
static uint32_t insts, pc;

static void __attribute__((format(printf, 1, 2))) add(const char *fmt, ...) {
    if (room - used < 1024) text = realloc(text, room = room * 2 + 4096);
    if (!text) abort();
    va_list ap;
    va_start(ap, fmt);
    used += (size_t)vsnprintf(text + used, room - used, fmt, ap);
    va_end(ap);
}

static void begin_line(uint32_t mask, const char *op, int dst, const int *src) {
    int n = 0;
    while (src[n] != NONE) n++;
    if (dst == NONE)
        add("%04x %08x 0 %s %d", pc, mask, op, n);
    else
        add("%04x %08x 1 R%d %s %d", pc, mask, dst, op, n);
    while (*src != NONE) add(" R%d", *src++);
    insts++;
    pc += 16;
}

// Instructions without addresses: an immediate, a mask, both, neither.
static void alu_full(uint32_t mask, const char *op, int dst, const int *src, int imm) {
    begin_line(mask, op, dst, src);
    add(" 0 %d \n", imm);
}
static void alu(const char *op, int dst, const int *src) { alu_full(FULL, op, dst, src, 0); }
static void alu_imm(const char *op, int dst, const int *src, int imm) { alu_full(FULL, op, dst, src, imm); }

// All lanes from `base` on, `width` bytes apart.
static void packed(const char *op, int dst, const int *src, int width, uint64_t base) {
    begin_line(FULL, op, dst, src);
    add(" %d 1 0x%llx %d 0 \n", width, (unsigned long long)base, width);
}

// Any addresses, in the shorter form that says them: one stride over lanes without a gap, or the difference
// from each active lane to the next.
static void access_of(uint32_t mask, const char *op, int dst, const int *src, int width,
                      const uint64_t at[32]) {
    uint64_t a[32];
    int n = 0;
    for (int lane = 0; lane < 32; lane++)
        if (mask >> lane & 1) a[n++] = at[lane];
    uint32_t run = mask >> __builtin_ctz(mask);
    bool regular = n >= 2 && (run & (run + 1)) == 0;
    for (int i = 2; i < n; i++) regular = regular && a[i] - a[i - 1] == a[1] - a[0];
    begin_line(mask, op, dst, src);
    add(" %d %d 0x%llx", width, regular ? 1 : 2, (unsigned long long)a[0]);
    for (int i = 1; i < (regular ? 2 : n); i++) add(" %lld", (long long)(a[i] - a[i - 1]));
    add(" 0 \n");
}

static void end_warp(int warp) {
    fprintf(out, "\nwarp = %d\ninsts = %u\n", warp, insts);
    fwrite(text, 1, used, out);
    used = 0;
    insts = pc = 0;
}

static void begin_block(int x, int y) { fprintf(out, "\n#BEGIN_TB\n\nthread block = %d,%d,0\n", x, y); }
static void end_block(void) { fputs("\n#END_TB\n", out); }

static void header(const char *name, int id, int gx, int gy, int bx, int by, int shared, int regs) {
    fprintf(out, "-kernel name = %s\n-kernel id = %d\n", name, id);
    fprintf(out, "-grid dim = (%d,%d,1)\n-block dim = (%d,%d,1)\n", gx, gy, bx, by);
    fprintf(out, "-shmem = %d\n-nregs = %d\n-binary version = 70\n-cuda stream id = 0\n", shared, regs);
    fputs("-shmem base_addr = 0x00007f59dd000000\n-local mem base_addr = 0x00007f59db000000\n"
          "-nvbit version = 1.7.6\n-accelsim tracer version = 5\n-enable lineinfo = 0\n\n"
          "#traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num [reg_srcs] "
          "mem_width [adrrescompress?] [mem_addresses] immediate\n\n\n",
          out);
}

// ---- the kernels --------------------------------------------------------------------------------
#define A 0x7f5800000000ull // where most buffers begin

static void saxpy_at(uint64_t x, uint64_t y) {
    enum { BLOCKS = 4096, WARPS = 8 };
    header("_Z5saxpyifPfS_", 1, BLOCKS, 1, WARPS * 32, 1, 0, 16);
    for (int b = 0; b < BLOCKS; b++) {
        begin_block(b, 0);
        for (int w = 0; w < WARPS; w++) {
            uint64_t at = (uint64_t)(b * WARPS + w) * 128;
            alu("MOV", 1, R(NONE));
            alu("S2R", 4, R(NONE));
            alu("S2R", 3, R(NONE));
            alu("IMAD", 4, R(4, 3));
            alu_imm("ISETP.GE.AND", NONE, R(4), BLOCKS * WARPS * 32);
            alu_full(0, "EXIT", NONE, R(NONE), 0);
            alu_imm("MOV", 5, R(NONE), 4);
            alu("IMAD.WIDE", 2, R(4, 5));
            alu("IMAD.WIDE", 4, R(4, 5));
            packed("LDG.E.SYS", 2, R(2), 4, x + at);
            packed("LDG.E.SYS", 7, R(4), 4, y + at);
            alu("FFMA", 7, R(2, 7));
            packed("STG.E.SYS", NONE, R(4, 7), 4, y + at);
            alu("EXIT", NONE, R(NONE));
            end_warp(w);
        }
        end_block();
    }
}

static void saxpy(void) { saxpy_at(A, A + (16 << 20)); }
static void saxpy_lo(void) { saxpy_at(0x40000000, 0x41000000); } // the list copies both buffers first

// Four chains of FFMA, 14 times 32 of them; a load before, a store behind.
static void compute(void) {
    enum { BLOCKS = 512, WARPS = 8, TRIPS = 14 };
    header("_Z9fma_chainPfS_i", 1, BLOCKS, 1, WARPS * 32, 1, 0, 32);
    for (int b = 0; b < BLOCKS; b++) {
        begin_block(b, 0);
        for (int w = 0; w < WARPS; w++) {
            uint64_t at = (uint64_t)(b * WARPS + w) * 128;
            alu("MOV", 1, R(NONE));
            alu("S2R", 0, R(NONE));
            alu("S2R", 3, R(NONE));
            alu("IMAD", 0, R(0, 3));
            alu_imm("MOV", 5, R(NONE), 4);
            alu("IMAD.WIDE", 2, R(0, 5));
            packed("LDG.E.SYS", 8, R(2), 4, A + at);
            for (int r = 9; r < 12; r++) alu("FADD", r, R(8));
            alu("MOV", 6, R(NONE));
            uint32_t top = pc;
            for (int trip = 1; trip <= TRIPS; trip++) {
                pc = top;
                for (int i = 0; i < 32; i++) alu("FFMA", 8 + i % 4, R(8 + i % 4, 20 + i % 4, 8 + i % 4));
                alu_imm("IADD3", 6, R(6, 255), 1);
                alu_imm("ISETP.NE.AND", NONE, R(6), TRIPS);
                alu_full(trip < TRIPS ? FULL : 0, "BRA", NONE, R(NONE), (int)top);
            }
            alu("FADD", 8, R(8, 9));
            alu("FADD", 10, R(10, 11));
            alu("FADD", 8, R(8, 10));
            alu("MUFU.RCP", 12, R(8));
            alu("IMAD.WIDE", 2, R(0, 5));
            packed("STG.E.SYS", NONE, R(2, 12), 4, A + (64 << 20) + at);
            alu("EXIT", NONE, R(NONE));
            end_warp(w);
        }
        end_block();
    }
}

// C = A B, 256 x 256, in tiles of 16 x 16 in shared memory; a warp has two rows of a tile.
enum { N = 256, TILE = 16, TILES = N / TILE };

typedef uint64_t place(int tx, int ty, int k); // what thread (tx, ty) touches
static int block_x, block_y;
static uint64_t a_global(int tx, int ty, int k) {
    return A + (uint64_t)((block_y * TILE + ty) * N + k * TILE + tx) * 4;
}
static uint64_t b_global(int tx, int ty, int k) {
    return A + (1 << 20) + (uint64_t)((k * TILE + ty) * N + block_x * TILE + tx) * 4;
}
static uint64_t c_global(int tx, int ty, int k) {
    (void)k;
    return A + (2 << 20) + (uint64_t)((block_y * TILE + ty) * N + block_x * TILE + tx) * 4;
}
static uint64_t tile(int tx, int ty, int k) { return (uint64_t)(k * TILE * TILE + ty * TILE + tx) * 4; }
static uint64_t a_row(int tx, int ty, int k) {
    (void)tx;
    return (uint64_t)(ty * TILE + k) * 4;
}
static uint64_t b_column(int tx, int ty, int k) {
    (void)ty;
    return (uint64_t)(TILE * TILE + k * TILE + tx) * 4;
}

static void touch(const char *op, int dst, const int *src, int width, int warp, place *where, int k) {
    uint64_t at[32];
    for (int l = 0; l < 32; l++) at[l] = where(l % 16, 2 * warp + l / 16, k);
    access_of(FULL, op, dst, src, width, at);
}

static void matmul_warp(int w) {
    alu("MOV", 1, R(NONE));
    for (int r = 20; r < 24; r++) alu("S2R", r, R(NONE));
    alu_imm("MOV", 5, R(NONE), 4);
    alu("IMAD", 6, R(20, 22));
    alu("IMAD", 7, R(21, 23));
    alu("MOV", 8, R(NONE));
    alu("IMAD.WIDE", 2, R(6, 5));
    alu("IMAD.WIDE", 16, R(7, 5));
    alu("LEA", 24, R(20, 21));
    alu("SHF.L.U32", 25, R(21, 255));
    uint32_t top = pc;
    for (int k = 0; k < TILES; k++) {
        pc = top;
        touch("LDG.E.SYS", 10, R(2), 4, w, a_global, k);
        touch("LDG.E.SYS", 11, R(16), 4, w, b_global, k);
        touch("STS", NONE, R(24, 10), 4, w, tile, 0);
        touch("STS", NONE, R(24, 11), 4, w, tile, 1);
        alu("BAR.SYNC", NONE, R(NONE));
        for (int q = 0; q < TILE; q += 4) {
            touch("LDS.U.128", 12, R(25), 16, w, a_row, q);
            for (int j = 0; j < 4; j++) touch("LDS.U", 28 + j, R(26), 4, w, b_column, q + j);
            for (int j = 0; j < 4; j++) alu("FFMA", 8, R(12 + j, 28 + j, 8));
        }
        alu_imm("IADD3", 9, R(9, 255), 1);
        alu_imm("IADD3", 2, R(2, 255), TILE * 4);
        alu_imm("IADD3", 16, R(16, 255), TILE * N * 4);
        alu_imm("ISETP.NE.AND", NONE, R(9), TILES);
        alu("BAR.SYNC", NONE, R(NONE));
        alu_full(k < TILES - 1 ? FULL : 0, "BRA", NONE, R(NONE), (int)top);
    }
    alu("IMAD", 6, R(6, 7));
    alu("IMAD.WIDE", 2, R(6, 5));
    touch("STG.E.SYS", NONE, R(2, 8), 4, w, c_global, 0);
    alu("EXIT", NONE, R(NONE));
}

static void matmul(void) {
    header("_Z6matmulPKfS0_Pfi", 1, TILES, TILES, TILE, TILE, 2 * TILE * TILE * 4, 40);
    for (block_y = 0; block_y < TILES; block_y++)
        for (block_x = 0; block_x < TILES; block_x++) {
            begin_block(block_x, block_y);
            for (int w = 0; w < TILE * TILE / 32; w++) {
                matmul_warp(w);
                end_warp(w);
            }
            end_block();
        }
}

// Four gathers at random from 64 MiB, a fifth by half of the lanes, a reduction by one or two of them, a
// store.
static void scattered(uint64_t base, uint32_t words, uint64_t at[32]) {
    for (int l = 0; l < 32; l++) at[l] = base + 4ull * below(words);
}

static void gather(void) {
    enum { BLOCKS = 160, WARPS = 8, WORDS = 64 << 18 };
    uint64_t at[32];
    mt_seed(1234);
    header("_Z6gatherPKiPKfPfPii", 1, BLOCKS, 1, WARPS * 32, 1, 0, 24);
    for (int b = 0; b < BLOCKS; b++) {
        begin_block(b, 0);
        for (int w = 0; w < WARPS; w++) {
            uint64_t own = (uint64_t)(b * WARPS + w) * 128;
            alu("MOV", 1, R(NONE));
            alu("S2R", 0, R(NONE));
            alu("S2R", 3, R(NONE));
            alu("IMAD", 0, R(0, 3));
            alu_imm("MOV", 5, R(NONE), 4);
            alu("IMAD.WIDE", 2, R(0, 5));
            alu("MOV", 12, R(NONE));
            for (int i = 0; i < 4; i++) {
                packed("LDG.E.SYS", 6, R(2), 4, A - (1ull << 32) + own + (uint64_t)i * BLOCKS * WARPS * 128);
                alu("IMAD.WIDE", 8, R(6, 5));
                scattered(A, WORDS, at);
                access_of(FULL, "LDG.E.SYS", 10, R(8), 4, at);
                alu("FADD", 12, R(12, 10));
            }
            alu("FSETP.GT.AND", NONE, R(12));
            uint32_t half = mt_next() | 1;
            alu("BSSY", NONE, R(NONE));
            alu_full(~half, "BRA", NONE, R(NONE), 0);
            alu_full(half, "IMAD.WIDE", 8, R(6, 5), 0);
            scattered(A, WORDS, at);
            access_of(half, "LDG.E.SYS", 10, R(8), 4, at);
            alu_full(half, "FADD", 12, R(12, 10), 0);
            alu("BSYNC", NONE, R(NONE));
            uint32_t few = 1u << below(32);
            few |= 1u << below(32);
            scattered(A + (2ull << 32), 1024, at);
            access_of(few, "RED.E.ADD.STRONG.GPU", NONE, R(14, 15), 4, at);
            alu("IMAD.WIDE", 16, R(0, 5));
            packed("STG.E.SYS", NONE, R(16, 12), 4, A + (1ull << 32) + own);
            alu("EXIT", NONE, R(NONE));
            end_warp(w);
        }
        end_block();
    }
}

static void powreal(void) {
    static const int mul[16][3] = {{11, 12, 12}, {0, 13, 13},  {12, 12, 11}, {13, 13, 0},
                                   {17, 14, 14}, {10, 15, 15}, {3, 4, 4},    {0, 5, 5},
                                   {11, 6, 6},   {2, 7, 7},    {14, 14, 17}, {15, 15, 10},
                                   {4, 4, 3},    {5, 5, 0},    {6, 6, 11},   {7, 7, 2}};
    enum { BLOCKS = 55, WARPS = 4 };
    header("_ZN2at6native29vectorized_elementwise_kernelILi4EZNS0_51_GLOBAL__N__b1108092_12_PowKernel_cu_"
           "10c8ac97_"
           "2369629pow_tensor_scalar_kernel_implIffEEvRNS_18TensorIteratorBaseET0_EUlfE0_"
           "St5arrayIPcLm2EEEEviS6_T1_",
           593, BLOCKS, 1, WARPS * 32, 1, 0, 20);
    for (int b = 0; b < BLOCKS; b++) {
        begin_block(b, 0);
        for (int w = 0; w < WARPS; w++) {
            uint64_t in = A + 0xface400 + (uint64_t)b * 4096 + (uint64_t)w * 512, to = in + 0x6e000;
            alu("MOV", 1, R(NONE));
            alu("S2R", 0, R(NONE));
            alu_imm("SHF.L.U32", 0, R(0, 255), 10);
            alu("IADD3", 2, R(0, 255));
            alu_imm("ISETP.GE.U32.AND", NONE, R(2), 1024);
            alu_full(0, "BRA", NONE, R(NONE), 528);
            alu("S2R", 11, R(NONE));
            alu_imm("MOV", 9, R(NONE), 4);
            alu("IMAD.WIDE", 2, R(0, 9));
            alu_imm("IMAD.WIDE.U32", 2, R(11, 2), 16);
            packed("LDG.E.128.SYS", 12, R(2), 16, in);
            packed("LDG.E.128.SYS", 4, R(2), 16, in + 2048);
            alu("IMAD.WIDE.U32", 8, R(0, 9));
            alu_imm("IMAD.WIDE", 8, R(11, 8), 16);
            for (int i = 0; i < 16; i++) alu("FMUL", mul[i][0], R(mul[i][1], mul[i][2]));
            packed("STG.E.128.SYS", NONE, R(8, 12), 16, to);
            packed("STG.E.128.SYS", NONE, R(8, 4), 16, to + 2048);
            alu("EXIT", NONE, R(NONE));
            end_warp(w);
        }
        end_block();
    }
}

// ---- the command --------------------------------------------------------------------------------
static const struct {
    const char *name;
    void (*write)(void);
    const char *copies; // before the kernel
} traces[] = {
    {"saxpy", saxpy, ""},
    {"compute", compute, ""},
    {"matmul", matmul, ""},
    {"gather", gather, ""},
    {"powreal", powreal, ""},
    {"saxpy_lo", saxpy_lo, "MemcpyHtoD,0x0000000040000000,4194304\nMemcpyHtoD,0x0000000041000000,4194304\n"},
};

static void fail(const char *what, const char *why) {
    fprintf(stderr, "mktraces: %s: %s\n", what, why);
    exit(2);
}

static void create(const char *dir, const char *name, const char *file) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (mkdir(path, 0777) && errno != EEXIST) fail(path, strerror(errno));
    snprintf(path, sizeof path, "%s/%s/%s", dir, name, file);
    out = fopen(path, "w");
    if (!out) fail(path, strerror(errno));
}

static void done(const char *name) {
    if (ferror(out) || fclose(out)) fail(name, "could not be written");
}

int main(int argc, char **argv) {
    if (argc < 3) fail("usage", "mktraces DIR NAME...");
    for (int i = 2; i < argc; i++) {
        size_t t = 0;
        while (t < sizeof traces / sizeof *traces && strcmp(traces[t].name, argv[i]) != 0) t++;
        if (t == sizeof traces / sizeof *traces) fail(argv[i], "no such trace");
        create(argv[1], argv[i], "kernelslist.g");
        fprintf(out, "%skernel-1.traceg\n", traces[t].copies);
        done(argv[i]);
        create(argv[1], argv[i], "kernel-1.traceg");
        traces[t].write();
        done(argv[i]);
    }
    free(text);
    return 0;
}
