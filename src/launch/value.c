// Numbers and elements: how a script's 64-bit integers and doubles become the elements of a buffer
// and back. Everything here is integer arithmetic or a single IEEE operation, so the same bytes come
// out on every host; nothing calls the C mathematics library.
#include "launch/script.h"

#include <inttypes.h>
#include <string.h>

static const struct {
    const char *name;
    uint8_t type;
} type_names[] = {
    {"u8", ORR_T_U8},   {"s8", ORR_T_S8},   {"i8", ORR_T_S8},   {"b8", ORR_T_U8},   {"u16", ORR_T_U16},
    {"s16", ORR_T_S16}, {"i16", ORR_T_S16}, {"b16", ORR_T_U16}, {"f16", ORR_T_F16}, {"bf16", ORR_T_BF16},
    {"u32", ORR_T_U32}, {"s32", ORR_T_S32}, {"i32", ORR_T_S32}, {"b32", ORR_T_U32}, {"f32", ORR_T_F32},
    {"u64", ORR_T_U64}, {"s64", ORR_T_S64}, {"i64", ORR_T_S64}, {"b64", ORR_T_U64}, {"f64", ORR_T_F64},
};

int orr_elem_type(const char *s, size_t n) {
    for (size_t k = 0; k < sizeof type_names / sizeof *type_names; k++) {
        if (strlen(type_names[k].name) == n && !memcmp(type_names[k].name, s, n)) return type_names[k].type;
    }
    return ORR_T_NONE;
}

const char *orr_elem_name(int type) {
    for (size_t k = 0; k < sizeof type_names / sizeof *type_names; k++) {
        if (type_names[k].type == type) return type_names[k].name;
    }
    return "?";
}

uint32_t orr_elem_bytes(int type) {
    switch (type) {
    case ORR_T_U8:
    case ORR_T_S8: return 1;
    case ORR_T_U16:
    case ORR_T_S16:
    case ORR_T_F16:
    case ORR_T_BF16: return 2;
    case ORR_T_U32:
    case ORR_T_S32:
    case ORR_T_F32: return 4;
    default: return 8;
    }
}

bool orr_elem_float(int type) {
    return type == ORR_T_F16 || type == ORR_T_BF16 || type == ORR_T_F32 || type == ORR_T_F64;
}

static bool elem_signed(int type) {
    return type == ORR_T_S8 || type == ORR_T_S16 || type == ORR_T_S32 || type == ORR_T_S64;
}

// A double rounded to nearest even into a format of `ebits` exponent and `mbits` mantissa bits.
static uint32_t narrow(double v, int ebits, int mbits) {
    uint64_t d;
    memcpy(&d, &v, 8);
    uint32_t sign = (uint32_t)(d >> 63) << (ebits + mbits);
    uint32_t inf = ((1u << ebits) - 1) << mbits;
    int e = (int)(d >> 52 & 0x7ff);
    uint64_t m = d & ((1ull << 52) - 1);
    if (e == 0x7ff) return sign | inf | (m ? 1u << (mbits - 1) : 0);
    if (e == 0) return sign; // below every subnormal of the narrow formats
    e -= 1023;
    m |= 1ull << 52;
    int emin = 2 - (1 << (ebits - 1));
    int shift = 52 - mbits + (e < emin ? emin - e : 0);
    if (shift > 54) return sign;
    uint64_t q = m >> shift, rest = m & ((1ull << shift) - 1), half = 1ull << (shift - 1);
    if (rest > half || (rest == half && (q & 1))) q++;
    // q has the implicit one at bit mbits (if normal), which adds 1 to the exponent field
    uint64_t bits = q + ((uint64_t)(e < emin ? 0 : e - emin) << mbits);
    return sign | (bits >= inf ? inf : (uint32_t)bits);
}

static double widen(uint32_t bits, int ebits, int mbits) {
    uint64_t sign = (uint64_t)(bits >> (ebits + mbits) & 1) << 63;
    uint32_t e = bits >> mbits & ((1u << ebits) - 1);
    uint64_t m = bits & ((1u << mbits) - 1);
    int bias = (1 << (ebits - 1)) - 1;
    uint64_t d;
    double v;
    if (e == 0) { // zero or subnormal: m units of 2^(1 - bias - mbits)
        d = (uint64_t)(1023 + 1 - bias - mbits) << 52;
        memcpy(&v, &d, 8);
        v *= (double)m;
        return sign ? -v : v;
    }
    d = e == (1u << ebits) - 1 ? 0x7ffull << 52 : (uint64_t)((int)e - bias + 1023) << 52;
    d |= sign | m << (52 - mbits);
    memcpy(&v, &d, 8);
    return v;
}

uint64_t orr_elem_round(int type, double v) {
    if (type == ORR_T_F16) return narrow(v, 5, 10);
    if (type == ORR_T_BF16) return narrow(v, 8, 7);
    if (type == ORR_T_F32) {
        float f = (float)v;
        uint32_t u;
        memcpy(&u, &f, 4);
        return u;
    }
    uint64_t u;
    memcpy(&u, &v, 8);
    return u;
}

static uint64_t raw(int type, const void *p) {
    uint64_t u = 0;
    memcpy(&u, p, orr_elem_bytes(type));
    return u;
}

value orr_elem_load(int type, const void *p) {
    if (orr_elem_float(type)) return (value){.kind = V_FLOAT, .f = orr_elem_double(type, p)};
    uint64_t u = raw(type, p);
    int unused = 64 - 8 * (int)orr_elem_bytes(type);
    int64_t i = elem_signed(type) ? (int64_t)(u << unused) >> unused : (int64_t)u;
    return (value){.kind = V_INT, .i = i};
}

double orr_elem_double(int type, const void *p) {
    double d;
    float f;
    switch (type) {
    case ORR_T_F16: return widen((uint32_t)raw(type, p), 5, 10);
    case ORR_T_BF16: return widen((uint32_t)raw(type, p), 8, 7);
    case ORR_T_F32: memcpy(&f, p, 4); return f;
    case ORR_T_F64: memcpy(&d, p, 8); return d;
    case ORR_T_U64: return (double)raw(type, p);
    default: return (double)orr_elem_load(type, p).i;
    }
}

// An integer fits when its low bits, read as signed or as unsigned, are the integer: -1 is a fine
// u32. A double goes to an integer type by truncation. `wrap`: integers are cut to their low bits.
bool orr_elem_store(int type, value v, bool wrap, void *p) {
    uint32_t bytes = orr_elem_bytes(type);
    uint64_t u;
    if (orr_elem_float(type)) {
        if (v.kind == V_INT && type == ORR_T_F32) { // one rounding, not two
            float f = (float)v.i;
            memcpy(p, &f, 4);
            return true;
        }
        u = orr_elem_round(type, v.kind == V_INT ? (double)v.i : v.f);
        memcpy(p, &u, bytes);
        return true;
    }
    int64_t i = v.i;
    if (v.kind == V_FLOAT) {
        if (v.f >= -0x1p63 && v.f < 0x1p63)
            i = (int64_t)v.f;
        else if (type == ORR_T_U64 && v.f > 0 && v.f < 0x1p64)
            i = (int64_t)(uint64_t)v.f;
        else
            return false; // NaN too
    }
    if (!wrap && bytes < 8) {
        int64_t top = (int64_t)1 << (8 * bytes);
        if (i < -top / 2 || i >= top) return false;
        if (elem_signed(type) && i >= top / 2 && v.kind == V_FLOAT) return false;
    }
    u = (uint64_t)i;
    memcpy(p, &u, bytes);
    return true;
}

const char *orr_elem_text(int type, const void *p, bool bits, char buf[80]) {
    uint64_t u = raw(type, p);
    int n;
    if (type == ORR_T_F64)
        n = snprintf(buf, 80, "%.17g", orr_elem_double(type, p));
    else if (orr_elem_float(type))
        n = snprintf(buf, 80, "%.9g", orr_elem_double(type, p));
    else if (elem_signed(type))
        n = snprintf(buf, 80, "%" PRId64, orr_elem_load(type, p).i);
    else
        n = snprintf(buf, 80, "%" PRIu64, u);
    if (bits && orr_elem_float(type)) {
        snprintf(buf + n, 80 - (size_t)n, " (0x%0*" PRIx64 ")", 2 * (int)orr_elem_bytes(type), u);
    }
    return buf;
}
