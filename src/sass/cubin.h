// The files machine code comes in: cubins, and fatbins, programs and libraries that carry cubins.
//
//   orr_images *f = orr_images_open("libcufft.so", &e);      what is in it: images, not yet unpacked
//   orr_cubin *c = orr_images_cubin(f, 0, &e);               one of them, unpacked and read
//   orr_code code;
//   orr_sass_decode(&code, c->sm, c->funcs[0].code, 0);
//
// All that a file says is checked here: offsets and sizes lie inside the bytes, counts are bounded by them,
// names end. Whatever is pointed to belongs to the orr_images or the orr_cubin.
#ifndef ORR_CUBIN_H
#define ORR_CUBIN_H

#include "sass/sass.h"

// ---- one cubin --------------------------------------------------------------------------------
typedef struct orr_cubin_section {
    const char *name;
    uint32_t type, link, info; // as in the ELF section header
    uint64_t flags;
    const uint8_t *bytes; // NULL: none in the file, zero
    uint64_t size;
} orr_cubin_section;

typedef struct orr_cubin_symbol {
    const char *name;
    uint32_t section; // index in `sections`, 0: not in this file
    uint8_t type;     // STT_FUNC, STT_OBJECT, ...
    uint8_t bind, other;
    uint64_t value, size; // value: offset in its section
} orr_cubin_symbol;

typedef struct orr_cubin_reloc {
    uint32_t section, type, symbol; // the place is at `offset` of `section`; R_CUDA_*; index in `symbols`
    uint64_t offset;
    int64_t addend;
    bool in_place; // what stands there is added too
} orr_cubin_reloc;

typedef struct orr_cubin_param {
    uint32_t offset, bytes; // offset from the first one
} orr_cubin_param;

typedef struct orr_cubin_line {
    uint32_t address; // from here to the next one
    uint32_t file;    // index in `files`
    uint32_t line;
} orr_cubin_line;

typedef struct orr_cubin_attr { // one record of .nv.info
    uint8_t format, attribute;
    uint16_t bytes;
    const uint8_t *value;
} orr_cubin_attr;

typedef struct orr_cubin_func { // a section .text.NAME
    const char *name;
    bool entry; // a kernel; else a function that kernels call
    const uint8_t *code;
    uint32_t code_bytes; // a multiple of 16
    uint32_t section, symbol;
    uint32_t regs;         // per thread
    uint32_t shared_bytes; // static; where it is not 0 on sm_90 and later, the first 1024 are the system's
    uint32_t frame_bytes;  // local memory of its own frame
    uint32_t stack_bytes;  // and of all it calls, as far as the compiler knows
    uint32_t barriers;     // named barriers
    uint32_t param_base, param_bytes; // parameters in constant bank 0
    orr_cubin_param *params;          // in order
    uint32_t nparams;
    uint32_t maxntid[3], reqntid[3]; // 0: not stated
    const uint8_t *constant0;        // the initial contents of its bank 0
    uint32_t constant0_bytes;
    orr_cubin_attr *attrs;
    uint32_t nattrs;
    orr_cubin_reloc *relocs; // in its code, by offset
    uint32_t nrelocs;
    orr_cubin_line *lines; // by address; NULL: the file has none
    uint32_t nlines;
} orr_cubin_func;

typedef struct orr_cubin {
    const char *path; // for messages
    unsigned sm;
    uint32_t elf_flags;
    uint16_t elf_type;     // ET_EXEC; ET_REL: to be linked yet
    orr_cubin_func *funcs; // kernels first, each kind in the order of the file
    uint32_t nfuncs, nkernels;
    orr_cubin_section *sections;
    uint32_t nsections;
    orr_cubin_symbol *symbols;
    uint32_t nsymbols;
    orr_cubin_reloc *relocs; // by section, then offset
    uint32_t nrelocs;
    const char **files; // sources the line tables name
    uint32_t nfiles;
    bool no_lines;  // it has line tables that could not be read: built without libdw
    uint8_t *image; // owns the bytes
    size_t size;
    orr_arena arena;
} orr_cubin;

orr_cubin *orr_cubin_read(const void *bytes, size_t n, const char *path, orr_err *e);
void orr_cubin_free(orr_cubin *c);
const orr_cubin_func *orr_cubin_find(const orr_cubin *c, const char *name); // a kernel or function, or NULL
// The constant bank `bank` as the module has it (.nv.constantN, not a function's own), NULL: none.
const orr_cubin_section *orr_cubin_bank(const orr_cubin *c, unsigned bank);
const orr_cubin_line *orr_cubin_line_at(const orr_cubin_func *f, uint32_t address);

// ---- what a file holds ------------------------------------------------------------------------
enum orr_image_kind { ORR_IMAGE_CUBIN, ORR_IMAGE_PTX };
typedef struct orr_stored_image {
    uint8_t kind; // enum orr_image_kind
    unsigned sm;
    const char *name;       // of the source, where a fatbin says it, or NULL
    uint64_t offset, bytes; // in the file, as stored
    uint64_t unpacked;      // bytes when unpacked
    enum { ORR_PACK_NONE, ORR_PACK_LZ4, ORR_PACK_ZSTD } pack;
} orr_stored_image;
typedef struct orr_images {
    const char *path;
    orr_stored_image *at;
    uint32_t n;
    uint8_t *bytes;
    size_t size;
    orr_arena arena;
} orr_images;

// A cubin, a fatbin, or an ELF program, library or object with fatbins in it.
orr_images *orr_images_open(const char *path, orr_err *e);
orr_images *orr_images_read(const void *bytes, size_t n, const char *path, orr_err *e); // copies them
void orr_images_free(orr_images *f);
uint8_t *orr_images_unpack(const orr_images *f, uint32_t i, size_t *n, orr_err *e); // free() it
orr_cubin *orr_images_cubin(const orr_images *f, uint32_t i, orr_err *e);

#endif
