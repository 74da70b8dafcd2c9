// An orr_code as nvdisasm writes it.
#include "sass/table.h"

#include <math.h>
#include <string.h>

const char *orr_smod_text(enum orr_smod kind, unsigned value) {
    static const uint8_t list_of[ORR_SM_COUNT] = {
#define LIST(list)
#define WORD(list, value, id, text)
#define KIND(kind, list) [ORR_SM_##kind] = ORR_SL_##list + 1,
#define FLAG(kind, text)
#include "sass/modifiers.def"
#undef LIST
#undef WORD
#undef KIND
#undef FLAG
    };
    if (kind >= ORR_SM_COUNT || value > 255) return NULL;
    if (!list_of[kind]) {
        if (value > 1) return NULL;
        if (!value) return "";
        switch (kind) {
#define LIST(list)
#define WORD(list, value, id, text)
#define KIND(kind, list)
#define FLAG(kind, text)                                                                                     \
    case ORR_SM_##kind:                                                                                      \
        return text;
#include "sass/modifiers.def"
#undef LIST
#undef WORD
#undef KIND
#undef FLAG
        default: return NULL;
        }
    }
    switch ((list_of[kind] - 1) << 8 | (int)value) {
#define LIST(list)
#define WORD(list, value, id, text)                                                                          \
    case ORR_SL_##list << 8 | (value):                                                                       \
        return text;
#define KIND(kind, list)
#define FLAG(kind, text)
#include "sass/modifiers.def"
#undef LIST
#undef WORD
#undef KIND
#undef FLAG
    }
    return NULL;
}

// ---- numbers ----------------------------------------------------------------------------------
static void hex(orr_text *t, int64_t v) {
    if (v < 0)
        orr_text_add(t, "-0x%llx", (unsigned long long)-(uint64_t)v);
    else
        orr_text_add(t, "0x%llx", (unsigned long long)v);
}

// 20 digits, as few as say it; a large one in full.
static void floating(orr_text *t, double v, bool quiet) {
    if (isnan(v) || isinf(v)) {
        orr_text_add(t, "%c%s", signbit(v) ? '-' : '+', !isnan(v) ? "INF " : quiet ? "QNAN " : "SNAN ");
        return;
    }
    if (v == 0) {
        orr_text_add(t, "%s", signbit(v) ? "-0.0" : "0");
        return;
    }
    char s[64];
    if (fabs(v) >= 1e9)
        snprintf(s, sizeof s, "%.20e", v);
    else
        snprintf(s, sizeof s, "%.20g", v);
    orr_text_add(t, "%s", s);
}

static void floating64(orr_text *t, uint64_t bits) {
    double v;
    memcpy(&v, &bits, 8);
    floating(t, v, bits >> 51 & 1);
}

static double from_bits32(uint32_t v) {
    float f;
    memcpy(&f, &v, 4);
    return f;
}

static double from_half(uint16_t h) {
    int e = h >> 10 & 31, m = h & 1023;
    double v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return h >> 15 ? -v : v;
}

// ---- operands ---------------------------------------------------------------------------------
static void reg(orr_text *t, const char *file, unsigned n) {
    if (n == ORR_RZ)
        orr_text_add(t, "%sZ", file);
    else
        orr_text_add(t, "%s%u", file, n);
}

static void pred(orr_text *t, const char *file, unsigned n) {
    if (n == ORR_PT)
        orr_text_add(t, "%sT", file);
    else
        orr_text_add(t, "%s%u", file, n);
}

static void word(orr_text *t, unsigned kind, unsigned value) {
    const char *s = orr_smod_text(kind, value);
    if (s)
        orr_text_add(t, "%s", s);
    else
        orr_text_add(t, "INVALID%u", value);
}

static void suffix(orr_text *t, const orr_arg *a) {
    if (!a->sub) return;
    const char *s = orr_smod_text(a->sub, a->subval);
    if (!s)
        orr_text_add(t, ".INVALID%u", a->subval);
    else if (*s)
        orr_text_add(t, ".%s", s);
}

static bool has_suffix(const orr_arg *a) {
    const char *s = a->sub ? orr_smod_text(a->sub, a->subval) : "";
    return !s || *s;
}

static void offset(orr_text *t, int64_t v, bool first) {
    if (v || first) {
        if (!first) orr_text_add(t, "+");
        hex(t, v);
    }
}

static void constant(orr_text *t, const orr_arg *a) {
    if (a->shape & ORR_ARG_BINDLESS) {
        orr_text_add(t, "cx[");
        reg(t, "UR", a->ureg);
        orr_text_add(t, has_suffix(a) ? "] [" : "][");
    } else {
        orr_text_add(t, "c[0x%x]%s[", a->bank, has_suffix(a) ? " " : "");
    }
    bool first = true;
    if (a->shape & ORR_ARG_HAS_R && (a->reg != ORR_RZ || !a->value)) {
        reg(t, "R", a->reg);
        first = false;
    }
    if (a->shape & ORR_ARG_HAS_UR) {
        reg(t, "UR", a->ureg);
        first = false;
    }
    offset(t, a->value, first);
    orr_text_add(t, "]");
}

static void memory(orr_text *t, const orr_arg *a, unsigned sm) {
    if (a->shape & ORR_ARG_SHOW_DESC) {
        orr_text_add(t, "desc[");
        reg(t, "UR", a->bank);
        orr_text_add(t, "]");
        if (!(a->shape & ORR_ARG_HAS_R)) return;
    }
    orr_text_add(t, "[");
    bool first = true;
    bool zero = a->reg == ORR_RZ && !has_suffix(a);
    if (sm >= 90 && a->shape & ORR_ARG_HAS_UR && a->shape & ORR_ARG_U32) zero = false;
    if (a->shape & ORR_ARG_HAS_R &&
        !(zero && (a->shape & ORR_ARG_HAS_UR || a->value) && !(a->shape & ORR_ARG_HAS_DESC))) {
        reg(t, "R", a->reg);
        if (!zero || (a->shape & ORR_ARG_HAS_DESC && a->shape & ORR_ARG_WIDE)) {
            suffix(t, a);
            if (a->shape & ORR_ARG_WIDE) orr_text_add(t, ".64");
            if (a->shape & ORR_ARG_U32) orr_text_add(t, ".U32");
        }
        first = false;
    }
    if (a->shape & ORR_ARG_HAS_UR) {
        if (!first) orr_text_add(t, "+");
        reg(t, "UR", a->ureg);
        first = false;
    }
    offset(t, a->value, first);
    orr_text_add(t, "]");
}

static void matrix(orr_text *t, const orr_arg *a) {
    static const char *const names[] = {".negA",    ".negB",   ".tnspA",   ".tnspB",   ".A_KEEP",
                                        ".A_REUSE", ".B_KEEP", ".B_REUSE", ".BUFFER1", ".BUFFER2"};
    orr_text_add(t, "gdesc[");
    reg(t, "UR", a->reg);
    orr_text_add(t, "]");
    for (int i = 0; i < 10; i++)
        if (a->value >> i & 1) orr_text_add(t, "%s", names[i]);
}

static void halves(orr_text *t, const orr_arg *a) {
    for (int i = a->shape ? 0 : 1; i >= 0; i--) {
        uint16_t h = (uint16_t)(a->value >> 16 * i);
        bool half = a->kind == ORR_ARG_F16X2;
        floating(t, half ? from_half(h) : from_bits32((uint32_t)h << 16), true);
        if (i) orr_text_add(t, ", ");
    }
}

static void special(orr_text *t, const orr_arg *a, unsigned sm) {
    const char *s =
        a->value == 138 && sm >= 100 ? "SR_CgaSize" : orr_smod_text(ORR_SM_SREG, (unsigned)a->value);
    if (s)
        orr_text_add(t, "%s", s);
    else
        orr_text_add(t, "SR%u", (unsigned)a->value);
}

static void mask(orr_text *t, const orr_arg *a) {
    const char *between = "{";
    for (int i = 31; i >= 0; i--)
        if (a->value >> i & 1) {
            orr_text_add(t, "%s%d", between, i);
            between = ",";
        }
    orr_text_add(t, "}");
}

static void arg(orr_text *t, const orr_arg *a, unsigned sm) {
    if (a->flags & ORR_ARG_NEG) orr_text_add(t, "-");
    if (a->flags & ORR_ARG_INV) orr_text_add(t, a->kind == ORR_ARG_P || a->kind == ORR_ARG_UP ? "!" : "~");
    if (a->flags & ORR_ARG_ABS) orr_text_add(t, "|");
    bool bars = a->flags & ORR_ARG_ABS;
    switch (a->kind) {
    case ORR_ARG_R:
    case ORR_ARG_UR:
        reg(t, a->kind == ORR_ARG_R ? "R" : "UR", a->reg);
        if (bars && a->kind == ORR_ARG_R) {
            orr_text_add(t, "|");
            bars = false;
        }
        if (a->flags & ORR_ARG_REUSE) orr_text_add(t, ".reuse");
        suffix(t, a);
        break;
    case ORR_ARG_P: pred(t, "P", a->reg); break;
    case ORR_ARG_UP: pred(t, "UP", a->reg); break;
    case ORR_ARG_B:
        if (a->reg < 16)
            orr_text_add(t, "B%u", a->reg);
        else
            word(t, ORR_SM_BREG, a->reg);
        break;
    case ORR_ARG_SB: orr_text_add(t, "SB%u", a->reg); break;
    case ORR_ARG_INT:
        if (a->flags & ORR_ARG_UNSIGNED)
            orr_text_add(t, "0x%llx", (unsigned long long)a->value);
        else
            hex(t, a->value);
        break;
    case ORR_ARG_F32:
        if (a->shape)
            floating64(t, (uint64_t)a->value << 32);
        else
            floating(t, from_bits32((uint32_t)a->value), true);
        break;
    case ORR_ARG_F64: floating64(t, (uint64_t)a->value); break;
    case ORR_ARG_F16X2:
    case ORR_ARG_BF16X2: halves(t, a); break;
    case ORR_ARG_CONST:
        constant(t, a);
        suffix(t, a);
        break;
    case ORR_ARG_MEM: memory(t, a, sm); break;
    case ORR_ARG_SREG: special(t, a, sm); break;
    case ORR_ARG_TARGET:
        if (a->shape & ORR_ARG_HAS_R) reg(t, "R", a->reg);
        if (a->shape & ORR_ARG_HAS_UR) reg(t, "UR", a->ureg);
        if (a->shape && (a->value || a->bank)) orr_text_add(t, " ");
        if (!a->shape || a->value || a->bank) hex(t, a->value);
        break;
    case ORR_ARG_WORD:
        if (a->sub)
            word(t, a->sub, a->subval);
        else // FSWZADD: for each lane of a quad, the signs of both sources
            for (int i = 3; i >= 0; i--)
                orr_text_add(t, "%s", ((const char *const[]){"PP", "PN", "NP", "ZP"})[a->value >> 2 * i & 3]);
        break;
    case ORR_ARG_MASK: mask(t, a); break;
    case ORR_ARG_GDESC: matrix(t, a); break;
    case ORR_ARG_TMEM:
        orr_text_add(t, "tmem[");
        reg(t, "UR", a->reg);
        offset(t, a->value, false);
        orr_text_add(t, "]");
        break;
    case ORR_ARG_IDESC:
        orr_text_add(t, "idesc[");
        reg(t, "UR", a->reg);
        orr_text_add(t, "]");
        break;
    case ORR_ARG_NAME: word(t, ORR_SM_FIXED, (unsigned)a->value); break;
    default: orr_text_add(t, "?"); break;
    }
    if (bars) orr_text_add(t, "|");
}

void orr_sass_print_name(orr_text *t, const orr_code *c) {
    if (c->op == ORR_SASS_NONE) {
        orr_text_add(t, ".inst");
        return;
    }
    orr_text_add(t, "%s", orr_sass[c->op].name);
    for (int i = 0; i < c->nmods; i++) {
        const orr_mod *m = &c->mods[i];
        if (m->hidden) continue;
        const char *s = orr_smod_text(m->kind, m->value);
        if (!s)
            orr_text_add(t, ".INVALID%u", m->value);
        else if (*s)
            orr_text_add(t, ".%s", s);
    }
}

void orr_sass_print(orr_text *t, const orr_code *c) {
    if (c->op == ORR_SASS_NONE) {
        orr_text_add(t, ".inst 0x%016llx%016llx", (unsigned long long)c->hi, (unsigned long long)c->lo);
        return;
    }
    if (c->guard != ORR_PT || c->guard_neg) {
        orr_text_add(t, "@%s", c->guard_neg ? "!" : "");
        pred(t, c->guard_uniform ? "UP" : "P", c->guard);
        orr_text_add(t, " ");
    }
    orr_sass_print_name(t, c);
    const char *before = " ";
    for (int i = 0; i < c->nargs; i++) {
        if (c->args[i].flags & ORR_ARG_HIDDEN) continue;
        orr_text_add(t, "%s", before);
        arg(t, &c->args[i], c->sm);
        before = ", ";
    }
}

void orr_sass_print_ctrl(orr_text *t, uint32_t ctrl) {
    unsigned wait = ORR_CTRL_WAIT(ctrl), w = ORR_CTRL_WBAR(ctrl), r = ORR_CTRL_RBAR(ctrl);
    orr_text_add(t, "B");
    for (unsigned i = 0; i < 6; i++) orr_text_add(t, "%c", wait >> i & 1 ? '0' + (int)i : '-');
    orr_text_add(t, ":R%c:W%c:%c:S%02u", r == 7 ? '-' : '0' + (int)r, w == 7 ? '-' : '0' + (int)w,
                 ORR_CTRL_YIELD(ctrl) ? '-' : 'Y', ORR_CTRL_STALL(ctrl));
}
