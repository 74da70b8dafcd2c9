// The words of a SPIR-V module, as far as its specialisation constants ask for them.
//
// A constant is found by the number that a program knows (OpDecorate with SpecId), and a new value replaces
// the one that it has in the module (SPIR-V 1.6, sections 2.3 and 3.42.7), so that who reads the module next
// need not know. Nothing in it is believed: an instruction that ends behind the module ends the search.
#include "clc/clc.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER = 5 }; // words
enum {
    OP_TYPE_BOOL = 20,
    OP_TYPE_INT = 21,
    OP_TYPE_FLOAT = 22,
    OP_SPEC_TRUE = 48,
    OP_SPEC_FALSE = 49,
    OP_SPEC = 50,
    OP_DECORATE = 71,
    SPEC_ID = 1
};

bool orr_clc_is_spirv(const void *il, size_t n) {
    static const uint8_t little[4] = {3, 2, 0x23, 7}, big[4] = {7, 0x23, 2, 3};
    return n >= 4 * HEADER && n % 4 == 0 && (!memcmp(il, little, 4) || !memcmp(il, big, 4));
}

uint32_t *orr_clc_spirv_words(const void *il, size_t n) {
    uint32_t *words = orr_malloc(n);
    memcpy(words, il, n);
    bool other = words[0] != 0x07230203;
    for (size_t i = 0; other && i < n / 4; i++) words[i] = __builtin_bswap32(words[i]);
    return words;
}

// The instruction at *at, whose words are counted in *n; moves on. NULL: there is no other.
static const uint32_t *next(const uint32_t *words, size_t total, size_t *at, uint32_t *n) {
    if (*at >= total) return NULL;
    const uint32_t *i = words + *at;
    *n = i[0] >> 16;
    if (!*n || *n > total - *at) return NULL;
    *at += *n;
    return i;
}

// The constant that is decorated with this number: where it is in the module, 0: nowhere.
static size_t find(const uint32_t *words, size_t total, uint32_t id) {
    uint32_t n, result = 0;
    bool decorated = false;
    size_t at = HEADER;
    for (const uint32_t *i; !decorated && (i = next(words, total, &at, &n));) {
        decorated = (i[0] & 0xffff) == OP_DECORATE && n == 4 && i[2] == SPEC_ID && i[3] == id;
        if (decorated) result = i[1];
    }
    for (const uint32_t *i; decorated && (i = next(words, total, &at, &n));) {
        uint32_t op = i[0] & 0xffff;
        if (op >= OP_SPEC_TRUE && op <= OP_SPEC && n >= (op == OP_SPEC ? 4 : 3) && i[2] == result)
            return (size_t)(i - words);
    }
    return 0;
}

// Bits of the type of the constant at `at`; 0: it is none that has a value of its own.
static uint32_t bits_of(const uint32_t *words, size_t total, size_t at, bool *is_signed) {
    uint32_t n, type = words[at + 1], bits = 0;
    size_t where = HEADER;
    *is_signed = false;
    for (const uint32_t *i; !bits && (i = next(words, total, &where, &n)) && (size_t)(i - words) < at;) {
        uint32_t op = i[0] & 0xffff;
        if (n < 2 || i[1] != type) continue;
        if (op == OP_TYPE_BOOL) bits = 1;
        if ((op == OP_TYPE_INT && n == 4) || (op == OP_TYPE_FLOAT && n >= 3)) bits = i[2];
        if (op == OP_TYPE_INT && n == 4) *is_signed = i[3] != 0;
    }
    uint32_t held = (words[at] & 0xffff) == OP_SPEC ? (words[at] >> 16) - 3 : 0; // words of the value
    if (bits == 1) return held == 0 ? 1 : 0;
    return (bits == 8 || bits == 16 || bits == 32 || bits == 64) && held == (bits == 64 ? 2 : 1) ? bits : 0;
}

size_t orr_clc_special_bytes(const uint32_t *words, size_t n, uint32_t id) {
    bool is_signed;
    size_t at = find(words, n / 4, id);
    uint32_t bits = at ? bits_of(words, n / 4, at, &is_signed) : 0;
    return bits == 1 ? 1 : bits / 8;
}

void orr_clc_specialize(uint32_t *words, size_t n, uint32_t id, const void *value) {
    bool is_signed;
    size_t at = find(words, n / 4, id);
    uint32_t bits = at ? bits_of(words, n / 4, at, &is_signed) : 0;
    uint64_t v = 0;
    if (!bits) return;
    memcpy(&v, value, bits == 1 ? 1 : bits / 8);
    if (bits == 1) {
        words[at] = (words[at] & 0xffff0000u) | (v ? OP_SPEC_TRUE : OP_SPEC_FALSE);
        return;
    }
    if (is_signed && bits < 32 && v >> (bits - 1)) v |= ~(uint64_t)0 << bits;
    words[at + 3] = (uint32_t)v;
    if (bits == 64) words[at + 4] = (uint32_t)(v >> 32);
}
