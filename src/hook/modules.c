// Machine code that the driver has loaded, and the variables in it.
//
// A launch names a function; its module is the loaded code that has a section .text.NAME. Where several have
// one, modules are told apart by the driver's handle: the first that nobody has is this one's.
#include "hook/hook.h"
#include "sass/module.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

void hook_add_module(const void *code, size_t n) {
    if (!code || n < sizeof(Elf64_Ehdr) || memcmp(code, ELFMAG, SELFMAG) != 0) return;
    char *own = malloc(n);
    if (!own) return;
    memcpy(own, code, n);
    *ORR_PUSH(&the_hook.modules) = (hook_module){.hash = orr_piece_hash(own, n), .code = own, .n = n};
}

bool hook_parse(hook_module *m) {
    orr_err e = {0};
    if (!m->parsed && !m->unknown) m->parsed = orr_sass_read(m->code, m->n, "a module", 0, &e);
    m->unknown = !m->parsed;
    return m->parsed != NULL;
}

static bool has_kernel(const hook_module *m, const char *kernel) {
    char section[4100];
    int n = snprintf(section, sizeof section, ".text.%s", kernel);
    if (n < 0 || n >= (int)sizeof section) return false;
    return memmem(m->code, m->n, section, (size_t)n + 1) != NULL; // with the 0 that ends it
}

hook_module *hook_module_of(const char *kernel, void *handle) {
    hook *h = &the_hook;
    hook_module *free_one = NULL, *any = NULL;
    for (size_t i = 0; i < h->modules.n; i++) {
        hook_module *m = &h->modules.at[i];
        if (!has_kernel(m, kernel)) continue;
        if (handle && m->handle == handle) return m;
        if (!m->handle) free_one = m;
        any = m;
    }
    if (free_one) free_one->handle = handle;
    return free_one ? free_one : any;
}

// ---- variables ----------------------------------------------------------------------------------
typedef struct elf {
    const char *bytes;
    size_t n;
    const Elf64_Shdr *sections;
    uint32_t nsections;
    const char *names;
    size_t nnames;
} elf;

// Code that the driver has taken is sound; it is checked all the same.
static bool inside(const elf *x, uint64_t at, uint64_t n) { return at <= x->n && n <= x->n - at; }

static bool open_elf(elf *x, const hook_module *m) {
    const Elf64_Ehdr *head = (const void *)m->code;
    *x = (elf){.bytes = m->code, .n = m->n, .nsections = head->e_shnum};
    if (head->e_shoff % 8 || !inside(x, head->e_shoff, (uint64_t)head->e_shnum * sizeof(Elf64_Shdr)))
        return false;
    x->sections = (const void *)(m->code + head->e_shoff);
    if (head->e_shstrndx >= x->nsections) return false;
    const Elf64_Shdr *names = &x->sections[head->e_shstrndx];
    if (!inside(x, names->sh_offset, names->sh_size) || !names->sh_size) return false;
    x->names = m->code + names->sh_offset;
    x->nnames = names->sh_size;
    return x->names[x->nnames - 1] == 0;
}

static bool of_variables(const elf *x, uint32_t section) {
    if (section >= x->nsections || x->sections[section].sh_name >= x->nnames) return false;
    const char *name = x->names + x->sections[section].sh_name;
    return !strncmp(name, ".nv.global", 10) || !strncmp(name, ".nv.constant3", 13);
}

static void add_symbol(uint32_t module, const char *name) {
    hook *h = &the_hook;
    hook_module *m = &h->modules.at[module];
    uint64_t addr = 0;
    size_t bytes = 0;
    if (h->cu.cuModuleGetGlobal_v2(&addr, &bytes, m->handle, name) != 0 || !addr || !bytes) return;
    *ORR_PUSH(&h->regions) = (hook_region){.addr = addr, .bytes = bytes, .symbol = name, .module = module};
}

void hook_add_symbols(uint32_t module) {
    hook_module *m = &the_hook.modules.at[module];
    elf x;
    if (m->has_symbols || !m->handle || !the_hook.cu.cuModuleGetGlobal_v2 || !open_elf(&x, m)) return;
    m->has_symbols = true;
    for (uint32_t s = 0; s < x.nsections; s++) {
        const Elf64_Shdr *t = &x.sections[s];
        if (t->sh_type != SHT_SYMTAB || t->sh_link >= x.nsections || !inside(&x, t->sh_offset, t->sh_size))
            continue;
        const Elf64_Shdr *names = &x.sections[t->sh_link];
        if (!inside(&x, names->sh_offset, names->sh_size) || !names->sh_size) continue;
        for (uint64_t i = 0; i < t->sh_size / sizeof(Elf64_Sym); i++) {
            Elf64_Sym y;
            memcpy(&y, x.bytes + t->sh_offset + i * sizeof y, sizeof y);
            if (ELF64_ST_TYPE(y.st_info) != STT_OBJECT || y.st_name >= names->sh_size ||
                !of_variables(&x, y.st_shndx))
                continue;
            add_symbol(module, x.bytes + names->sh_offset + y.st_name);
        }
    }
}
