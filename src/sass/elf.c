// libelf, as far as cubins and the files that carry them need it.
#include "sass/elf.h"

#include <string.h>

#ifdef ORRERY_HAVE_ELF
#include <gelf.h>

#define MAX_NAME 65536

// Memory that has no contents in the file: NVIDIA has types of its own for it, which are not SHT_NOBITS, in
// objects that are not linked (.nv_debug.shared of libnccl).
static bool no_bits(uint32_t type) {
    enum { GLOBAL = 0x70000007, LOCAL = 0x70000009, SHARED = 0x7000000a };
    return type == SHT_NOBITS || type == SHT_NULL || type == GLOBAL || type == LOCAL || type == SHARED;
}

bool sass_elf_open(sass_elf *f, uint8_t *bytes, size_t n, const char *path, orr_err *e) {
    *f = (sass_elf){.bytes = bytes, .size = n};
    if (n < 64 || memcmp(bytes, "\177ELF", 4) != 0)
        return orr_fail(e, ORR_BAD_INPUT, "%s: not a cubin, a fatbin or an ELF file", path);
    if (bytes[4] != 2 || bytes[5] != 1)
        return orr_fail(e, ORR_BAD_INPUT, "%s: not a 64-bit little-endian ELF file", path);
    if (elf_version(EV_CURRENT) == EV_NONE) return orr_fail(e, ORR_BAD_INPUT, "%s: libelf is too old", path);
    Elf *elf = elf_memory((char *)bytes, n);
    GElf_Ehdr h;
    size_t count, names;
    if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &h) || elf_getshdrnum(elf, &count) != 0 ||
        elf_getshdrstrndx(elf, &names) != 0) {
        orr_fail(e, ORR_BAD_INPUT, "%s: a damaged ELF file: %s", path, elf_errmsg(-1));
        if (elf) elf_end(elf);
        return false;
    }
    if (count > n / 64) { // a section's header has 64 bytes
        elf_end(elf);
        return orr_fail(e, ORR_BAD_INPUT, "%s: a damaged ELF file: more sections than fit into it", path);
    }
    f->handle = elf;
    f->machine = h.e_machine;
    f->flags = h.e_flags;
    f->abi = bytes[7];
    f->abi_version = bytes[8];
    f->nsections = (uint32_t)count;
    Elf_Scn *scn = elf_getscn(elf, names);
    GElf_Shdr s;
    if (scn && gelf_getshdr(scn, &s) && s.sh_offset <= n && s.sh_size <= n - s.sh_offset) {
        f->names = (const char *)bytes + s.sh_offset;
        f->names_bytes = s.sh_size;
    }
    return true;
}

void sass_elf_close(sass_elf *f) {
    if (f->handle) elf_end(f->handle);
    f->handle = NULL;
}

bool sass_elf_section_at(const sass_elf *f, uint32_t i, sass_elf_section *s) {
    Elf_Scn *scn = elf_getscn(f->handle, i);
    GElf_Shdr h;
    if (!scn || !gelf_getshdr(scn, &h)) return false;
    const char *name = "";
    if (h.sh_name < f->names_bytes) {
        size_t most = f->names_bytes - h.sh_name < MAX_NAME ? f->names_bytes - h.sh_name : MAX_NAME;
        if (memchr(f->names + h.sh_name, 0, most)) name = f->names + h.sh_name;
    }
    *s = (sass_elf_section){.name = name,
                            .type = h.sh_type,
                            .link = h.sh_link,
                            .info = h.sh_info,
                            .flags = h.sh_flags,
                            .size = h.sh_size,
                            .entry = h.sh_entsize};
    if (no_bits(h.sh_type)) return true;
    if (h.sh_offset > f->size || h.sh_size > f->size - h.sh_offset) return false;
    if (h.sh_size) s->bytes = f->bytes + h.sh_offset;
    return true;
}

#else

bool sass_elf_open(sass_elf *f, uint8_t *bytes, size_t n, const char *path, orr_err *e) {
    *f = (sass_elf){.bytes = bytes, .size = n};
    return orr_fail(e, ORR_BAD_INPUT,
                    "%s: this build cannot read machine code: it has no libelf (Debian: libelf-dev)", path);
}
void sass_elf_close(sass_elf *f) { (void)f; }
bool sass_elf_section_at(const sass_elf *f, uint32_t i, sass_elf_section *s) {
    (void)f;
    (void)i;
    memset(s, 0, sizeof *s);
    return false;
}

#endif

// The architecture is in the lowest byte of the flags up to ABI 7 (CUDA 12), in the second since ABI 8 (CUDA
// 13).
unsigned sass_elf_sm(const sass_elf *f) {
    return f->abi_version >= 8 ? f->flags >> 8 & 0xff : f->flags & 0xff;
}
