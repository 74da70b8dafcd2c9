// Functions of the device runtime by their names (syscalls.def).
#include "isa/isa.h"

#include <string.h>

static const orr_syscall table[] = {
#define SYSCALL(id, name, result, nargs, ...) {name, ORR_SYS_##id, result, nargs, {__VA_ARGS__}},
#include "isa/syscalls.def"
#undef SYSCALL
};

const orr_syscall *orr_syscall_named(const char *name) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(name, table[i].name) == 0) return &table[i];
    return NULL;
}

bool orr_syscall_linked(const orr_syscall *s) { return strstr(s->name, "cuda") != NULL; }

uint32_t orr_syscall_word(const orr_syscall *s, uint32_t n) {
    uint32_t at = 0;
    for (uint32_t i = 0; i <= n; i++) {
        if (s->bytes[i] == 8) at = (at + 1) & ~1u;
        if (i < n) at += s->bytes[i] / 4u;
    }
    return at;
}

static const orr_syscall *first(unsigned sys) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].sys == sys) return &table[i];
    return NULL;
}

uint32_t orr_syscall_result(unsigned sys) { return first(sys) ? first(sys)->result : 0; }

const char *orr_syscall_name(unsigned sys) { return first(sys) ? first(sys)->name : NULL; }
