// OpenCL C in: source text to bitcode, bitcodes to PTX, by the clang command and libclc.
//
//   tools.c    finds clang and libclc, runs clang, has the device library (device.cl) compiled once
//   options.c  the options of clBuildProgram, to those of clang
//   build.c    source to bitcode, bitcodes to PTX, PTX to machine code where ptxas is there
//   spirv.c    SPIR-V to bitcode, where llvm-spirv is there; spirv_printf.c its calls of printf;
//              specialize.c its specialisation constants
//   kernels.c  what the bitcode says of a kernel's arguments
//   annotate.h OpenCL C with counters: ast.c, annotate.c, match.c
//   binary.c   programs as files of our own (clGetProgramInfo, clCreateProgramWithBinary)
//
// Nothing of the compiler is linked in: what is missing is named in the error, with the Debian package.
#ifndef ORR_CLC_H
#define ORR_CLC_H

#include "isa/isa.h"

// ---- build options ----------------------------------------------------------------------------------
// "-D N=4 -I inc -cl-fast-relaxed-math" to words of clang's command line. Only options that OpenCL has are
// taken (clBuildProgram, "Compiler Options"): what a program passes cannot make clang write files or load
// code.
typedef struct orr_clc_options {
    ORR_VEC(const char *) words; // in the arena
    bool lists_info;             // -cl-kernel-arg-info
    bool library;                // -create-library: for clLinkProgram
    const char *standard;        // "CL1.2", NULL: not said
} orr_clc_options;
bool orr_clc_parse_options(const char *text, orr_arena *a, orr_clc_options *o, orr_err *e);

// ---- kernels ----------------------------------------------------------------------------------------
enum { ORR_CLC_PRIVATE, ORR_CLC_GLOBAL, ORR_CLC_CONSTANT, ORR_CLC_LOCAL }; // address spaces of arguments
enum { ORR_CLC_READ_ONLY = 1, ORR_CLC_WRITE_ONLY, ORR_CLC_READ_WRITE };    // access to images, 0: none

typedef struct orr_clc_arg {
    const char *name, *type, *base; // base: without typedefs
    uint8_t space, access;
    bool is_const, is_restrict, is_volatile, is_pipe;
    bool image, sampler;
} orr_clc_arg;

typedef struct orr_clc_kernel {
    const char *name, *attributes; // attributes as clGetKernelInfo writes them, "" none
    orr_clc_arg *args;
    uint32_t nargs;
    uint32_t required[3]; // reqd_work_group_size, 0: not stated
} orr_clc_kernel;

typedef struct orr_clc_kernels {
    orr_clc_kernel *at;
    uint32_t n;
} orr_clc_kernels;
// From LLVM's textual form. What it cannot read it leaves out.
orr_clc_kernels orr_clc_read_kernels(const char *text, size_t n, orr_arena *a);

// ---- SPIR-V (specialize.c) --------------------------------------------------------------------------
bool orr_clc_is_spirv(const void *il, size_t n); // by its first word and its length
// A copy in the order of this host. malloc'd; n bytes.
uint32_t *orr_clc_spirv_words(const void *il, size_t n);
// The bytes that the value of a specialisation constant has (of a boolean: 1); 0: there is none of that
// number.
size_t orr_clc_special_bytes(const uint32_t *words, size_t n, uint32_t id);
// Gives it a value, of so many bytes.
void orr_clc_specialize(uint32_t *words, size_t n, uint32_t id, const void *value);

// ---- compiling --------------------------------------------------------------------------------------
typedef struct orr_clc_header { // of clCompileProgram: a name that #include finds, and its text
    const char *name, *text;
    size_t n;
} orr_clc_header;

typedef struct orr_clc_source {
    const char *path; // a file; NULL: `text`
    const char *text;
    size_t n;
    const char *options; // NULL: none
    const orr_clc_header *headers;
    uint32_t nheaders;
    unsigned sm;        // 90; 0: any
    const uint32_t *il; // SPIR-V instead of a text, as orr_clc_spirv_words has it
    size_t nil;         // bytes
} orr_clc_source;
bool orr_clc_has_spirv(void); // is there a command that reads SPIR-V?

// Compiled, not linked. `log` is what the compiler said, "" nothing; malloc'd, as is `bitcode`.
typedef struct orr_clc_object {
    uint8_t *bitcode;
    size_t n;
    char *ir; // LLVM's text of it
    size_t nir;
    orr_clc_kernels kernels;
    char *log;
    orr_arena arena;
} orr_clc_object;
bool orr_clc_compile(const orr_clc_source *s, orr_clc_object *o, orr_err *e); // log is set on failure too
void orr_clc_object_free(orr_clc_object *o);

// clang's syntax tree (annotate.c), malloc'd; *file, malloc'd: what the program's own text is called in it.
char *orr_clc_tree(const orr_clc_source *s, char **file, size_t *bytes, orr_err *e);

typedef struct orr_clc_bitcode {
    const void *at;
    size_t n;
} orr_clc_bitcode;
// To PTX for a GPU of architecture `sm`, with the device library and libclc. malloc'd.
char *orr_clc_link(const orr_clc_bitcode *in, uint32_t n, unsigned sm, size_t *bytes, orr_err *e);
// Several to one, still not linked with the libraries.
bool orr_clc_join(const orr_clc_bitcode *in, uint32_t n, orr_clc_object *o, orr_err *e);
// The module's lines are of a text that is in no file: reports have it from here. `text` need not stay.
void orr_clc_keep_text(orr_module *m, const char *text, size_t n);
// PTX to a cubin by ptxas. malloc'd. Kernels that take pointers to constant memory must stay PTX: in machine
// code constant memory is a bank, which is not where their buffers are.
bool orr_clc_constant_pointers(const char *ptx);
uint8_t *orr_clc_assemble(const char *ptx, size_t n, unsigned sm, size_t *bytes, orr_err *e);

// Where an argument of `bytes` of local memory begins, behind `at`: at a multiple of its elements' size,
// whatever they are. The largest, of 16 doubles, have 128 bytes; their number is a multiple of the size.
static inline uint64_t orr_clc_local_begin(uint64_t at, uint64_t bytes) {
    uint64_t align = bytes & (~bytes + 1);
    if (align > 128) align = 128;
    if (align < 16) align = 16;
    return (at + align - 1) / align * align;
}

// ---- binaries (binary.c) ----------------------------------------------------------------------------
enum { ORR_CLC_OBJECT = 1, ORR_CLC_LIBRARY = 2, ORR_CLC_EXECUTABLE = 4 }; // CL_PROGRAM_BINARY_TYPE_*
typedef struct orr_clc_binary {
    uint32_t type;
    const uint8_t *bitcode;
    size_t nbitcode;
    const char *ir;
    size_t nir;
    const char *options;
    size_t noptions;
} orr_clc_binary;
uint8_t *orr_clc_write_binary(const orr_clc_binary *b, size_t *n); // malloc'd
bool orr_clc_read_binary(const void *bytes, size_t n,
                         orr_clc_binary *b); // points into bytes; false: it is none

// A file of OpenCL C, to a module: what `orrery run k.cl` takes. `source` "sass": through ptxas.
orr_module *orr_clc_open(const char *path, const char *options, unsigned sm, const char *source, orr_err *e);
bool orr_clc_probe(const char *path); // by its name: does it hold OpenCL C?

#endif
