// ELF files through libelf: sections with their names and bytes. Without libelf opening one is an error that
// says so.
#ifndef ORR_SASS_ELF_H
#define ORR_SASS_ELF_H

#include "base/base.h"

#define SASS_EM_CUDA 190

typedef struct sass_elf {
    void *handle;
    uint8_t *bytes;
    size_t size;
    uint16_t machine;
    uint8_t abi, abi_version;
    uint32_t flags;
    uint32_t nsections;
    const char *names; // of the sections, one after another
    size_t names_bytes;
} sass_elf;

typedef struct sass_elf_section {
    const char *name; // in the bytes; "" when it has none
    uint32_t type, link, info;
    uint64_t flags, size, entry;
    uint8_t *bytes; // NULL: none in the file
} sass_elf_section;

// `bytes` must stay, and must be writable: libelf looks at them where they are.
bool sass_elf_open(sass_elf *f, uint8_t *bytes, size_t n, const char *path, orr_err *e);
void sass_elf_close(sass_elf *f);
bool sass_elf_section_at(const sass_elf *f, uint32_t i, sass_elf_section *s); // false: damaged
unsigned sass_elf_sm(const sass_elf *f);

#endif
