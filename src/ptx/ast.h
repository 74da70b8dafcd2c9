// Private to ptx/: what parsing a module yields and lowering reads.
//
// A module is parsed once, whole: names of registers, variables and labels are resolved while their
// scopes are open, so that what is kept is small and flat. A function is a run of statements in one
// array of the module; a statement's operands are a run in another. What an opcode's modifiers mean
// is worked out once for each distinct spelling ("ld.global.nc.v4.f32"), when a kernel that uses it
// is loaded. The text itself stays too: functions know their place in it, and what nobody here needs to
// understand but a printer must not lose is kept as a piece of it. What stands between statements
// (scopes that declare variables, those variables, tables ...) is a run of notes.
#ifndef ORR_PTX_AST_H
#define ORR_PTX_AST_H

#include "ptx/ptx.h"

enum {                           // bounds, so that hostile input costs little
    MAX_TEXT = 1 << 30,          // bytes of a module
    MAX_TOKEN = 1 << 16,         // bytes of a name, number or string
    MAX_NESTING = 64,            // braces, parentheses, operators
    MAX_OPCODE = 1000,           // bytes of an opcode with all its modifiers
    MAX_FUNCTIONS = 1 << 14,     // that one kernel reaches
    MAX_EDGES = 1 << 24,         // of one kernel's branches through tables
    MAX_RANGE = 1 << 20,         // registers of one .reg %r<N>
    MAX_PARAM_BYTES = 32764,     // of a kernel (PTX 8.1 and later)
    MAX_LOCAL_BYTES = 512 << 10, // of a thread (CUDA's limit)
    MAX_SHARED_BYTES = 8 << 20,  // of a block; what a GPU really has is checked at launch
    MAX_INIT_BYTES = 64 << 20,   // of all initialisers together, beyond 8 for a byte of text
};
#define MAX_VAR_BYTES (1ull << 32)
enum { PTX_LONG_WAYS = 7 };

// ---- tokens (lex.c) -------------------------------------------------------------------------
enum { T_EOF, T_NAME, T_DOT, T_INT, T_F32, T_F64, T_STRING, T_CHAR, T_PUNCT };

typedef struct token {
    uint8_t kind;
    uint8_t first; // T_PUNCT: its first character (the whole of it, mostly)
    uint32_t line;
    const char *s; // spelling; of a T_DOT without the dot, of a T_STRING without the quotes
    uint32_t n;
    uint64_t value; // T_INT, T_CHAR; T_F32: its bits; T_F64: a double's bits
} token;

// ---- symbols --------------------------------------------------------------------------------
typedef struct ptx_slice { // of the module's text
    const char *s;
    uint32_t n;
} ptx_slice;

enum { LINK_VISIBLE = 1, LINK_WEAK = 2, LINK_EXTERN = 4, LINK_COMMON = 8 };
enum { OPAQUE_TEXREF = 1, OPAQUE_SAMPLERREF, OPAQUE_SURFREF, OPAQUE_TEX }; // .tex: of PTX 1.x

enum { // where a variable lives
    V_GLOBAL,
    V_CONST,
    V_SHARED,
    V_DYNAMIC, // dynamic: .extern .shared
    V_FRAME,   // .local variables, call sites' .param, a .func's parameters
    V_PARAM,   // a kernel's parameters
    V_REG,     // a .reg parameter of a .func: register `reg`, passed through the frame
    V_OPAQUE,  // texture, sampler and surface references
};

typedef struct ptx_var {
    const char *name;
    uint8_t where, type;
    bool pointer; // declared .ptr
    bool external;
    bool unsized;
    uint32_t align;
    uint32_t elem; // bytes of an element (of a vector: the whole vector)
    uint32_t line;
    uint32_t index; // V_GLOBAL, V_CONST: in module->vars. V_REG: register.
    uint64_t bytes;
    uint64_t offset; // V_FRAME, V_REG: in the frame. V_PARAM: in the parameter buffer.
    uint32_t stamp;  // V_SHARED: the load that gave it an offset
    // for whoever prints it
    uint8_t linkage; // LINK_*
    uint8_t opaque;  // OPAQUE_*, 0: none
    uint8_t bank;    // .const[N]: N + 1
    bool array;
    bool call;                      // V_FRAME: a call site's .param
    uint32_t ptr_align;             // .ptr .space .align N: 0 not stated
    ptx_slice ptr_space, attribute; // with their dots
    ptx_slice opaque_init;
} ptx_var;

enum { REG_RANGE, REG_SINGLE, REG_PARAM }; // declared as one of a range, by itself, in a .func's header

typedef struct ptx_reg {
    uint32_t number;   // among those of its type (REG_RANGE) or among all declared singly, from 1
    uint8_t how;       // REG_*
    uint8_t vec, elem; // elements of the vector it belongs to (else 1), which of them it is
} ptx_reg;

typedef struct ptx_text {
    const char *at, *end;
} ptx_text;

typedef struct ptx_run {
    uint32_t first, n;
} ptx_run;

typedef struct ptx_reached { // the load that reached a function, its number there
    uint32_t stamp, index;
} ptx_reached;

typedef struct ptx_func {
    const char *name;
    ptx_text text; // header and body, for whoever wants to print it
    uint32_t line;
    bool entry, defined, external;
    bool aside;        // one of longways.c
    bool taken;        // its address is taken somewhere in the module
    bool variadic;     // has a parameter of unknown size
    uint32_t handle;   // number in function handles when taken
    const char *alias; // .alias: the real name
    ptx_var **params, **results;
    uint32_t nparams, nresults;
    uint64_t frame, param_bytes;
    uint32_t frame_align;
    uint32_t first, n; // statements
    ptx_run operands;  // all of theirs
    uint8_t *reg_type; // of each register
    ptx_reg *regs;
    uint32_t nregs;
    orr_kernel_bounds bounds;
    ptx_reached reached;
    uint32_t *starts; // [n + 1] once lowered: first instruction of each statement, from its own first
    uint8_t linkage;
    ptx_slice attribute;
    ptx_run notes;
} ptx_func;

typedef struct ptx_table { // .branchtargets, .calltargets: a run of operands
    uint32_t first, n;
    bool calls;
    uint32_t stamp, at; // the load that put it into the kernel's tables, and where
} ptx_table;

// ---- statements -----------------------------------------------------------------------------
enum { // operand kinds
    O_SINK,
    O_REG,   // value = register, n = registers (1, or the elements of a vector register)
    O_INT,   // value
    O_F32,   // value = bits
    O_F64,   // value = bits
    O_SREG,  // value = index into ptx_sregs; sel = which of a numbered family
    O_VAR,   // var, addend
    O_FUNC,  // func; sel = 1 where it is only called, so that its address is not taken
    O_LABEL, // value = statement, counted from the function's first; n = number of the label in it, from 1
    O_TABLE, // value = index in front->tables
    O_PROTO, // value = number of the .callprototype, from 1
    O_NAME,  // name, n: nothing of this name was declared (yet)
    O_VEC,   // {a, b}: value = first of n operands
    O_ADDR,  // [a], [a, b]: the same; the first is the base with its addend
    O_PAIR,  // p|q: the same
    O_LIST,  // (a, b): the same
};
enum { NEG_NOT = 1, NEG_MINUS = 2 };

typedef struct ptx_opd {
    uint8_t kind, neg;
    uint16_t sel; // video selector: bit 15 set for h, bits 12..14 number of digits, then 3 bits each
                  // from the rightmost digit
    uint32_t n;
    union {
        uint64_t value;
        ptx_var *var;
        ptx_func *func;
        const char *name;
    };
    int64_t addend;
} ptx_opd;

typedef struct ptx_opcode ptx_opcode;

typedef struct ptx_stmt {
    ptx_opcode *op;
    uint32_t first, n; // operands
    int32_t guard;     // register or -1
    uint32_t guard_neg;
    uint32_t line;
    uint32_t file, srcline; // .loc: number of the .file, line
} ptx_stmt;

enum { // what stands between statements, and between functions
    N_NONE,
    N_DIRECTIVE, // text, in a function's header: what has no field there
    N_OPEN,      // a scope that declares variables, and its end
    N_CLOSE,
    N_VAR,    // var
    N_REG,    // first, n: registers declared singly; one, or a vector's elements
    N_LABEL,  // first = number
    N_TABLE,  // first = index in front->tables
    N_PROTO,  // first = number, text
    N_PRAGMA, // text
    N_FUNC,   // func: its definition
};

typedef struct ptx_note {
    uint8_t kind;
    uint32_t stmt; // of the function; the note stands before it
    uint32_t first, n;
    union {
        ptx_slice text;
        ptx_var *var;
        ptx_func *func;
    };
} ptx_note;

typedef struct ptx_init_ref { // a symbol in an initialiser, resolved when the module is complete
    uint32_t var, line;
    uint64_t offset;
    uint8_t bytes;
    bool masked, generic;
    uint64_t mask;
    const char *name;
    uint32_t name_n;
    int64_t addend;
} ptx_init_ref;

typedef struct ptx_front { // module->front
    char *text;
    size_t size;
    orr_map globals; // name -> ptx_global
    orr_map opcodes; // spelling -> ptx_opcode
    orr_map files;   // number as text -> index + 1
    orr_map kernels; // name -> orr_kernel, those loaded
    ORR_VEC(ptx_func *) funcs;
    ORR_VEC(ptx_stmt) stmts;
    ORR_VEC(ptx_opd) opds;
    ORR_VEC(ptx_table) tables;
    ORR_VEC(ptx_func *) taken; // taken[i]->handle == i + 1
    ORR_VEC(ptx_note) notes;   // of the functions
    ORR_VEC(ptx_note) items;   // of the module: variables, functions, pragmas
    ORR_VEC(ptx_init_ref) init_refs;
    ORR_VEC(uint64_t) file_numbers; // of module->files
    ptx_slice version;
    ORR_VEC(ptx_slice) targets;
    uint32_t protos;
    uint32_t stamp;
    ptx_func *long_ways[PTX_LONG_WAYS]; // longways.h; NULL: not taken, or the PTX is wanted as it is
} ptx_front;

typedef struct ptx_global { // what a name of the module stands for: one of the two
    ptx_var *var;
    ptx_func *func;
} ptx_global;

// ---- the parser -----------------------------------------------------------------------------
typedef struct ptx_entry { // a name in a function's scopes
    uint8_t kind;          // O_REG, O_VAR, O_LABEL, O_TABLE, O_PROTO
    uint8_t type;
    uint32_t depth;
    uint32_t count; // O_REG: elements. A range: how many it declares.
    uint64_t value;
    ptx_var *var;
    const char *key;
    uint32_t key_n;
    struct ptx_entry *shadowed, *next; // next: of the same scope
} ptx_entry;

typedef struct ptx_scope {
    ptx_entry *entries;
    uint64_t frame; // the frame's size when it opened: what it declares is released at its end
    uint64_t high;  // and up to where the scopes inside it have used the frame
    size_t refs;
    uint32_t note; // its N_OPEN
    bool declares; // variables
} ptx_scope;

typedef struct ptx_loc { // what the last .loc said
    uint32_t file, line;
} ptx_loc;

typedef struct ptx_reg_counts {   // registers that have been declared
    uint32_t ranged[ORR_T_COUNT]; // in ranges, by type
    uint32_t singles;             // by themselves
} ptx_reg_counts;

typedef struct ptx_initial { // contents of the variable being read
    uint8_t *bytes;
    size_t cap, n, total;
} ptx_initial;

typedef struct ptx_ahead { // the token behind the current one
    token t;
    bool read;
} ptx_ahead;

typedef struct ptx_parser {
    orr_module *m;
    ptx_front *f;
    orr_err *e;
    jmp_buf fail;
    const char *at, *end;
    uint32_t line;
    uint32_t depth; // of nesting, against MAX_NESTING
    token t;        // the current one
    ptx_ahead ahead;
    const char *last; // end of the token before the current one
    // the function being read
    ptx_func *fn;
    orr_map names, ranges;
    orr_arena scratch;
    ptx_scope scopes[MAX_NESTING + 1];
    uint32_t scope; // 0: outside
    uint64_t frame;
    ORR_VEC(uint32_t) refs; // operands that may be labels
    ORR_VEC(uint8_t) reg_type;
    ORR_VEC(ptx_reg) regs;
    ptx_reg_counts declared;
    ORR_VEC(uint32_t) labels; // used ones have their number, the others 0
    ORR_VEC(ptx_opd) stack;
    orr_text spelling;
    ptx_loc loc;
    // the module
    ORR_VEC(orr_var) vars;
    ORR_VEC(const char *) kernel_names;
    ORR_VEC(const char *) files;
    ptx_initial initial;
} ptx_parser;

_Noreturn void ptx_error(ptx_parser *p, uint32_t line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

// lex.c
void ptx_next(ptx_parser *p);
const token *ptx_peek(ptx_parser *p);
const char *ptx_start(const token *t);                      // with its dot or quote
ptx_slice ptx_since(const ptx_parser *p, const char *from); // up to the current token
bool ptx_is(const ptx_parser *p, char c);                   // the current token is this punctuation
bool ptx_is_dot(const ptx_parser *p, const char *word);
bool ptx_is_name(const ptx_parser *p, const char *word);
bool ptx_accept(ptx_parser *p, char c);
bool ptx_accept_dot(ptx_parser *p, const char *word);
void ptx_expect(ptx_parser *p, char c);
token ptx_expect_name(ptx_parser *p, const char *what);
_Noreturn void ptx_unexpected(ptx_parser *p, const char *wanted);
void ptx_enter(ptx_parser *p); // one level deeper; pairs with p->depth--

// expr.c
typedef struct ptx_value { // of a constant expression
    uint8_t kind;          // O_INT, O_F32 (a lone 0f constant, its bits), O_F64
    bool is_unsigned;
    uint64_t bits;
} ptx_value;
ptx_value ptx_expression(ptx_parser *p);
uint64_t ptx_integer(ptx_parser *p, uint64_t limit, const char *what); // 0 .. limit
uint32_t ptx_count(ptx_parser *p, uint64_t limit, const char *what);   // the same in angle brackets
int64_t ptx_offset(ptx_parser *p);                                     // what is added to a name
double ptx_value_double(ptx_value v);

// types.c
bool ptx_type_of(const char *s, size_t n, uint8_t *type);
uint32_t ptx_type_bytes(uint8_t type); // of the register or memory that holds one; 0 for a predicate
uint8_t ptx_type_class(uint8_t type);
bool ptx_type_float(uint8_t type);

// decl.c
bool ptx_is_space(const ptx_parser *p); // .global .const .shared .local .param .tex
void ptx_variables(ptx_parser *p, uint8_t linkage);
void ptx_registers(ptx_parser *p);
ptx_var *ptx_parameter(ptx_parser *p, bool kernel);
uint64_t ptx_place(ptx_parser *p, uint64_t bytes, uint32_t align); // in the function's frame
void ptx_resolve_inits(ptx_parser *p);
void ptx_skip_parens(ptx_parser *p);
ptx_global *ptx_global_named(ptx_front *f, const char *name, size_t n, bool make);
ptx_note *ptx_note_here(ptx_parser *p, uint8_t kind); // in the function being read

// scope.c
void ptx_scope_open(ptx_parser *p);
void ptx_scope_close(ptx_parser *p);
void ptx_scope_reset(ptx_parser *p);
ptx_entry *ptx_declare(ptx_parser *p, token name, uint8_t kind);
void ptx_declare_range(ptx_parser *p, token name, uint8_t type, uint32_t count);
ptx_entry *ptx_lookup(ptx_parser *p, const char *s, size_t n);
uint32_t ptx_new_registers(ptx_parser *p, uint8_t type, uint32_t n, uint8_t how);

// body.c
void ptx_body(ptx_parser *p);

// sreg.c
typedef struct ptx_sreg {
    const char *name; // with its element: "%tid.x"
    uint8_t sreg;     // ORR_SREG_*
    uint8_t bytes;    // 4, 8; 0: a predicate
} ptx_sreg;
extern const ptx_sreg ptx_sregs[];
int ptx_sreg_find(const char *s, size_t n);        // -1: none
uint16_t ptx_sreg_number(const char *s, size_t n); // of one of a numbered family: "%envreg7"

// lower.c
orr_kernel *ptx_load(orr_module *m, const char *name, orr_err *e);
ptx_func *ptx_func_real(ptx_front *f, ptx_func *fn); // through .alias
ptx_func **ptx_reach(orr_module *m, const char *name, orr_arena *a);
// The function that the executor has in the place of this one; NULL: it is called as it is.
const orr_syscall *ptx_provided(const ptx_func *fn);

#endif
