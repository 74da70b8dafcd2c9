// Private to accel/, the writing side.
//
//   names.c   opcodes that Accel-Sim's tables have
//   text.c    instructions as text: what is the same each time, prepared once
//   writer.c  files, thread blocks and warps
#ifndef ORR_ACCEL_WRITER_H
#define ORR_ACCEL_WRITER_H

#include "accel/accel.h"
#include "program/program.h"

// Is the opcode in the table of that binary version?
bool accel_knows(int binary, const char *name, size_t n);
// The opcode for a mnemonic, without what follows its first point: itself, or what is written instead. Valid
// until the next call of this thread.
const char *accel_name(int binary, const char *mnemonic, uint8_t tclass);

// ---- text.c -----------------------------------------------------------------------------------------
enum entry_kind { ENTRY_PLAIN, ENTRY_ACCESS, ENTRY_GENERIC, ENTRY_EXIT, ENTRY_WAIT };
enum { IN_GLOBAL, IN_SHARED, IN_LOCAL, PLACES };
typedef struct entry { // an instruction
    const char *head;  // "0010 "
    uint8_t nhead, kind;
    uint16_t access; // of its block
    uint8_t offset;
    uint8_t low;            // bits of its addresses that are something else (orr_coalesce_copy)
    bool commits;           // closes a group of copies
    uint32_t wait;          // ENTRY_WAIT: groups that may stay open
    uint16_t nrest[PLACES]; // "1 R4 LDG.E 1 R2 4 "; by where it goes when that depends on the address
    const char *rest[PLACES];
} entry;

void accel_entry(entry *to, const orr_program *p, uint32_t inst, int binary, orr_arena *a);
// " mode addresses" of the lanes in `mask`, at most ACCESS_TEXT bytes; returns the end.
#define ACCESS_TEXT 800
char *accel_addresses(char *to, uint32_t mask, const uint64_t addr[32], uint64_t minus);

#endif
