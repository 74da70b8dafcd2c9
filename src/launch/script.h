// Private to launch/: a script as parsed, and a script while it runs.
//
// parse.c turns text into statements and expressions; run.c walks them against a backend; fill.c
// makes the contents of buffers; expect.c compares them with what they should be. Parsing and running
// leave on an error by longjmp to the one place that started them: everything they hold hangs from
// the orr_script or the run, so nothing is lost on the way.
#ifndef ORR_SCRIPT_H
#define ORR_SCRIPT_H

#include "launch/launch.h"

enum { // bounds on what a script may be
    MAX_SCRIPT_BYTES = 1 << 20,
    MAX_NESTING = 64,     // of statements, and of parentheses
    MAX_EXPR_DEPTH = 256, // of an expression's tree
    MAX_NAMES = 4096,
    MAX_LIST = 65536, // values of a list
    MAX_ARGS = 1024,  // of a launch
    MAX_POINT = 16,   // variables of a measure
    MAX_SIZES = 64,
    MAX_MODULES = 64,
    MAX_STEPS = 10000000,  // statements executed
    BLOCK_BYTES = 1 << 18, // buffers are made, moved and compared in blocks of this
};
#define MAX_BUFFER_BYTES (64ull << 30) // of all buffers together

// ---- expressions ----------------------------------------------------------------------------
enum { V_NONE, V_INT, V_FLOAT, V_BUF };

typedef struct value {
    int32_t kind; // V_*
    int32_t slot; // V_BUF: the buffer's name
    union {
        int64_t i; // V_INT; V_BUF: elements from the start
        double f;
    };
} value;

enum {
    X_CONST,
    X_VAR,
    X_BUF,
    X_INDEX,
    X_I,
    X_NEG,
    X_NOT,
    X_BITNOT,
    X_ADD,
    X_SUB,
    X_MUL,
    X_DIV,
    X_MOD,
    X_SHL,
    X_SHR,
    X_AND,
    X_OR,
    X_XOR,
    X_LT,
    X_LE,
    X_GT,
    X_GE,
    X_EQ,
    X_NE,
    X_ANDAND,
    X_OROR,
    X_COND,
    X_MIN,
    X_MAX,
    X_ABS,
    X_CEILDIV,
    X_LOG2,
    X_SQRT,
    X_INT,
    X_FLOAT,
    X_HASH,
};

typedef struct expr {
    uint8_t op;     // X_*
    uint16_t depth; // of the tree below
    int line;
    int slot; // X_VAR, X_BUF, X_INDEX
    value v;  // X_CONST
    struct expr *a, *b, *c;
} expr;

// ---- statements -----------------------------------------------------------------------------
enum { FILL_ZERO, FILL_VALUE, FILL_RANDOM, FILL_IOTA, FILL_FILE, FILL_LIST, FILL_EXPR, FILL_KEEP };

typedef struct fill {
    int kind, line;
    expr *a, *b, *seed; // value; lo, hi; start, step
    expr **list;
    uint32_t nlist;
    const char *file;
} fill;

enum { CHECK_FILL, CHECK_ELEMENT, CHECK_EQUAL, CHECK_SORTED, CHECK_FROM };

typedef struct check {
    int kind;
    fill fill;        // CHECK_FILL: the contents
    expr *index, *v;  // CHECK_ELEMENT
    int other;        // CHECK_EQUAL
    bool descending;  // CHECK_SORTED
    const char *file; // CHECK_FROM
    expr *rtol, *atol;
} check;

enum { TENSOR_DIMS, TENSOR_STRIDES, TENSOR_BOX, TENSOR_STEPS, TENSOR_LOWER, TENSOR_UPPER, TENSOR_LISTS };

typedef struct tensor { // a tensor map (exec/tensormap.h)
    int line;
    expr *buffer;
    expr *list[TENSOR_LISTS][5];
    uint32_t n[TENSOR_LISTS];
    expr *swizzle, *interleave;
    expr *channels, *pixels; // channels: it is im2col
    bool nan;
} tensor;

typedef struct texture { // of a buffer, in one or two dimensions (exec/texture.h)
    int line;
    expr *buffer, *dims[2], *channels;
    uint8_t address; // enum orr_tex_address
    bool linear, normalized, unit;
} texture;

typedef struct arg { // of a launch
    int type;        // enum orr_type, ORR_T_NONE: the parameter's
    bool local;      // shared memory of so many bytes: the parameter is where it begins (OpenCL)
    expr *e;         // NULL: a struct, or
    tensor *tensor;  // a tensor map, or
    texture *texture;
    struct arg *fields;
    uint32_t nfields;
} arg;

typedef struct call {
    const char *kernel; // "": the only one there is
    expr *grid[3], *block[3], *cluster[3], *shared;
    arg *args;
    uint32_t nargs;
    const orr_kernel *loaded; // once it was
    int module;
} call;

enum {
    S_SIZE,
    S_LET,
    S_BUFFER,
    S_SYMBOL,
    S_LAUNCH,
    S_FOR,
    S_REPEAT,
    S_IF,
    S_SET,
    S_COPY,
    S_SWAP,
    S_EXPECT,
    S_PRINT,
    S_MEASURE
};

typedef struct measuring { // of a `measure`
    const char *name, *unit;
    int *vars; // their slots
    uint32_t nvars;
} measuring;

typedef struct stmt {
    int kind, line;
    struct stmt *next;
    int slot, slot2; // the names it is about
    int size;        // S_SIZE: which
    expr *a, *b, *c; // as the kind needs
    struct stmt *body, *other;
    fill *fill;
    check *check;
    call *call;
    measuring *measuring;
} stmt;

// ---- the script -----------------------------------------------------------------------------
typedef struct name {
    const char *text;
    bool buffer;   // or symbol; else a variable
    bool constant; // of a size: --set may replace it
    int type;      // of a buffer's elements
    bool replaced; // by --set
    value given;   // its replacement
} name;

typedef struct module_ref {
    const char *path;  // resolved
    const char *build; // options for OpenCL C, NULL: none
    int line;
    orr_module *module; // once opened
} module_ref;

struct orr_script {
    orr_arena arena;
    const char *path, *dir; // dir: "" or ends in '/'
    bool plain;             // from the command line: messages give no line numbers
    orr_map names_by_text;  // -> slot + 1
    ORR_VEC(name) names;
    ORR_VEC(const char *) sizes;
    ORR_VEC(module_ref) modules;
    int size;      // the chosen one, -1 none
    bool replaced; // some constant was: expectation files do not apply
    stmt *stmts;
    uint64_t max_steps, max_bytes;
    orr_module_opener *open;
    orr_text *digests;  // orr_script_digests
    FILE *print;        // where `print` goes; NULL: stderr
    const char *source; // what modules to take, and for which architecture (orr_script_source)
    bool decides;       // has a loop that what kernels write ends
    bool unchecked;     // orr_script_unchecked
    unsigned sm;
    bool as_is; // orr_script_plain
};

// ---- a run ----------------------------------------------------------------------------------
typedef struct buffer {
    bool made, symbol;
    int type;
    uint64_t addr, count;
} buffer;

typedef struct run {
    orr_script *s;
    const orr_backend *b;
    orr_err *e;
    jmp_buf out;
    value *vars;  // by slot
    buffer *bufs; // by slot
    int64_t i;    // the element's index in `expr`
    uint64_t steps;
    uint32_t launches;
    bool check;
    orr_script_stats stats;
    uint8_t *block, *block2; // BLOCK_BYTES each
    uint8_t *params;
    char *file; // contents of a file while a buffer is made from it
    // the last bytes read for NAME[e]
    uint64_t cache_addr, cache_bytes;
    uint8_t cache[4096];
    // for workloads/reference
    void (*reference)(orr_ref *);
    bool referenced, write;
    struct orr_ref *ref;
} run;

// Leave the run, or the parser, with "path:line: ...".
_Noreturn void orr_script_stop(run *r, int status, int line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void orr_script_error(const orr_script *s, orr_err *e, int status, int line, const char *fmt, va_list ap);
#define stop orr_script_stop

// parse.c, expr.c
const char *orr_script_resolve(orr_script *s, const char *file);

// value.c: elements and numbers
int orr_elem_type(const char *s, size_t n); // ORR_T_NONE when it is none
uint32_t orr_elem_bytes(int type);
const char *orr_elem_name(int type);
bool orr_elem_float(int type);
value orr_elem_load(int type, const void *p);
double orr_elem_double(int type, const void *p); // the same as a double; exact but for big 64-bit integers
uint64_t orr_elem_round(int type, double v);     // a float type's bits, nearest even
bool orr_elem_store(int type, value v, bool wrap, void *p); // false: it does not fit
const char *orr_elem_text(int type, const void *p, bool bits, char buf[80]);
// Steele, Lea and Flood's splitmix64: output i of the generator that starts at `seed`. Buffers are filled
// with it, which of short launches is half of all work.
static inline uint64_t orr_mix64(uint64_t seed, uint64_t i) {
    uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

// eval.c
value orr_eval(run *r, const expr *x);
int64_t orr_eval_int(run *r, const expr *x, const char *what, int64_t lo, int64_t hi);
double orr_eval_double(run *r, const expr *x);
bool orr_eval_true(run *r, const expr *x);
// An expression for many elements: what is the same for all of them, and cannot fail, is worked out once. The
// nodes that differ from x's are in `f`; when there are no more, the rest is left as it is.
typedef struct folding {
    expr at[64];
    uint32_t n;
} folding;
expr *orr_fold(run *r, expr *x, folding *f);
const char *orr_value_text(value v, char buf[80]);

// fill.c
typedef struct maker {
    const fill *f;
    int type;
    uint64_t count, seed;
    double lo, width, last; // floats of `random`: lo + u * width, at most last
    uint64_t ilo, span;     // integers: ilo + mulhi(z, span); span 0: 2^64
    value start, step;
    uint8_t one[8];
    size_t file_bytes;
} maker;
void orr_maker_start(run *r, maker *m, const fill *f, int type, uint64_t count, const char *name);
void orr_maker_make(run *r, maker *m, uint64_t first, uint64_t n, void *out);

// run.c
buffer *orr_buffer(run *r, int slot, int line);
void orr_buffer_read(run *r, const buffer *b, uint64_t first, uint64_t n, void *out, int line);
void orr_buffer_write(run *r, const buffer *b, uint64_t first, uint64_t n, const void *data, int line);
bool orr_script_run_with(orr_script *s, run *r, orr_script_stats *stats);

// texture.c
void orr_pack_texture(run *r, const texture *t, uint32_t bytes, uint8_t *out, const char *what);

// tensor.c
void orr_pack_tensor(run *r, const tensor *t, uint32_t bytes, uint8_t *out, const char *what);

// expect.c, expectfile.c
void orr_check(run *r, const stmt *st);
void orr_expect_compare(run *r, const stmt *st, const char *path, double rtol, double atol, bool exact);
void orr_expect_write(run *r, const stmt *st, const char *path, bool exact);
bool orr_near(double got, double want, double rtol, double atol);

#endif
