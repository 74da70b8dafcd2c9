// 16 bytes to an orr_code: finds the row of the table that fits, then reads what the row says is where.
#include "sass/table.h"

#include <pthread.h>
#include <string.h>

// ---- finding the row --------------------------------------------------------------------------
static uint16_t first_row[512], next_row[1024]; // + 1; rows of one code, in the table's order
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void index_rows(void) {
    for (unsigned i = sass_nrows; i-- > 0;) {
        next_row[i] = first_row[sass_rows[i].code & 511];
        first_row[sass_rows[i].code & 511] = (uint16_t)(i + 1);
    }
}

static uint64_t bits(const orr_code *c, unsigned at, unsigned width) {
    uint64_t v = at >= 64 ? c->hi >> (at - 64) : c->lo >> at;
    if (at < 64 && at + width > 64 && at) v |= c->hi << (64 - at);
    return width >= 64 ? v : v & (((uint64_t)1 << width) - 1);
}

static int64_t extend(uint64_t v, unsigned width) {
    uint64_t sign = (uint64_t)1 << (width - 1);
    return (int64_t)((v ^ sign) - sign);
}

static bool bit(const orr_code *c, unsigned at) { return bits(c, at, 1) != 0; }

static bool fits(const orr_code *c, const sass_row *r, unsigned sm) {
    if (!(r->forms >> c->form & 1) || sm < r->from || sm > r->to) return false;
    for (int i = 0; i < SASS_WHENS && r->when[i].test != WHEN_NONE; i++) {
        const sass_when *w = &r->when[i];
        uint64_t v = bits(c, w->bit, w->width);
        switch (w->test) {
        case WHEN_EQ:
            if (v != w->value) return false;
            break;
        case WHEN_NE:
            if (v == w->value) return false;
            break;
        case WHEN_POW2:
            if (v == 0 || (v & (v - 1)) != 0) return false;
            break;
        case WHEN_PLAIN_C: // not a bindless constant
            if ((c->form == 3 || c->form == 5) && bit(c, 91)) return false;
            break;
        }
    }
    return true;
}

// ---- operands ---------------------------------------------------------------------------------
typedef struct reader {
    orr_code *c;
    const sass_row *row;
    unsigned sm;
} reader;

static uint8_t uniform(const reader *d, unsigned at) { // 63 is URZ before sm_100, 255 since
    if (d->sm >= 100) return (uint8_t)bits(d->c, at, 8);
    uint8_t r = (uint8_t)bits(d->c, at, 6);
    return r == 63 ? ORR_RZ : r;
}

// A conversion from a narrow format says which part of the register; from others those bits say nothing.
static void part(const orr_code *c, orr_arg *a) {
    bool half = false, byte = false;
    switch (c->op) {
    case ORR_SASS_F2F:
    case ORR_SASS_F2I:
    case ORR_SASS_FRND:
    case ORR_SASS_UF2F:
    case ORR_SASS_UF2I:
    case ORR_SASS_UFRND: {
        unsigned f = orr_code_mod(c, ORR_SM_SFMT);
        half = f == ORR_SV_FFMT_F16 || f == ORR_SV_FFMT_BF16;
        break;
    }
    case ORR_SASS_MUFU: half = orr_code_mod(c, ORR_SM_HALFOF) != ORR_SV_HALFOF_F32; break;
    case ORR_SASS_I2F:
    case ORR_SASS_UI2F: {
        unsigned f = orr_code_mod(c, ORR_SM_SINT);
        byte = f == ORR_SV_IFMT_U8 || f == ORR_SV_IFMT_S8;
        half = f == ORR_SV_IFMT_U16 || f == ORR_SV_IFMT_S16;
        break;
    }
    default: return;
    }
    a->sub = half ? ORR_SM_H1 : byte ? ORR_SM_BYTE : 0;
    if (!a->sub) a->subval = 0;
}

// What an immediate is written as: of a conversion or a MUFU, what the source's format says.
enum { IMM_BF16 = IMM_DEC + 1, IMM_F64H };
static unsigned style(const orr_code *c, unsigned of_slot) {
    unsigned f, half;
    switch (c->op) {
    case ORR_SASS_F2F:
    case ORR_SASS_F2I:
    case ORR_SASS_FRND:
    case ORR_SASS_UF2F:
    case ORR_SASS_UF2I:
    case ORR_SASS_UFRND:
        f = orr_code_mod(c, ORR_SM_SFMT);
        return f == ORR_SV_FFMT_F16    ? IMM_F16
               : f == ORR_SV_FFMT_BF16 ? IMM_BF16
               : f == ORR_SV_FFMT_F64  ? IMM_F64
                                       : IMM_F32;
    case ORR_SASS_MUFU:
        half = orr_code_mod(c, ORR_SM_HALFOF);
        if (half) return half == ORR_SV_HALFOF_BF16 ? IMM_BF16 : IMM_F16;
        f = orr_code_mod(c, ORR_SM_MUFU);
        return f == ORR_SV_MUFU_RCP64H || f == ORR_SV_MUFU_RSQ64H ? IMM_F64H : IMM_F32;
    default: return of_slot;
    }
}

// The operand at bit 24, 32 or 64, as the form has it.
static void general(const reader *d, orr_arg *a, const sass_slot *s, unsigned at) {
    const orr_code *c = d->c;
    bool half = s->kind >= SLOT_HA && s->kind <= SLOT_HC;
    unsigned neg = at == 24 ? 72 : at == 32 ? 63 : half ? 84 : 75;
    unsigned abs = at == 24 ? 73 : at == 32 ? 62 : half ? 83 : 74;
    unsigned swz = at == 24 ? 74 : at == 32 ? 60 : 81;
    enum { REG, IMM, CONST, UREG } what = REG;
    static const uint8_t by_form[8] = {REG, REG, IMM, CONST, IMM, CONST, UREG, UREG};
    if (at == 32) what = by_form[c->form];
    if (d->row->flags & ROW_U && what == REG) what = UREG;

    if (what == IMM) {
        uint32_t v = (uint32_t)bits(c, 32, s->width ? s->width : 32);
        switch (style(c, s->style)) {
        case IMM_F16: *a = (orr_arg){.kind = ORR_ARG_F16X2, .value = v, .shape = 1}; break;
        case IMM_BF16: *a = (orr_arg){.kind = ORR_ARG_BF16X2, .value = v, .shape = 1}; break;
        case IMM_F64H: *a = (orr_arg){.kind = ORR_ARG_F32, .value = v, .shape = 1}; break;
        case IMM_S: *a = (orr_arg){.kind = ORR_ARG_INT, .value = (int32_t)v}; break;
        case IMM_F32: *a = (orr_arg){.kind = ORR_ARG_F32, .value = v}; break;
        case IMM_F64: *a = (orr_arg){.kind = ORR_ARG_F64, .value = (int64_t)((uint64_t)v << 32)}; break;
        default: *a = (orr_arg){.kind = ORR_ARG_INT, .value = v}; break;
        }
        if (half) {
            bool bf = orr_code_mod(c, ORR_SM_HFMT) == ORR_SV_HFMT_BF16;
            *a = (orr_arg){.kind = bf ? ORR_ARG_BF16X2 : ORR_ARG_F16X2, .value = v, .shape = s->style};
        }
        return;
    }
    switch (what) {
    case REG: *a = (orr_arg){.kind = ORR_ARG_R, .reg = (uint8_t)bits(c, at, 8)}; break;
    case UREG: *a = (orr_arg){.kind = ORR_ARG_UR, .reg = uniform(d, at)}; break;
    default:
        *a = (orr_arg){.kind = ORR_ARG_CONST, .reg = ORR_RZ, .ureg = ORR_RZ};
        if (bit(c, 91)) {
            a->shape = ORR_ARG_BINDLESS;
            a->ureg = uniform(d, 32);
            a->value = (int64_t)bits(c, 40, 14) << 2;
        } else {
            a->bank = (uint8_t)bits(c, 54, 5);
            a->value = extend(bits(c, 40, 14) << 2, 16);
        }
    }
    if ((s->neg || half) && bit(c, neg)) a->flags |= s->flags & SLOT_INV ? ORR_ARG_INV : ORR_ARG_NEG;
    if ((s->abs || (half && !(s->style && at == 24))) && bit(c, abs)) a->flags |= ORR_ARG_ABS;
    if (half && s->sub) {
        a->sub = s->sub;
        a->subval = (uint8_t)bits(c, swz, 2);
        if (s->kind == SLOT_HB && bit(c, 86) && a->subval == 0) a->subval = ORR_SV_SWZ_H0_NH1;
    } else if (s->sub) {
        a->sub = s->sub;
        a->subval = s->subwidth ? (uint8_t)bits(c, s->subbit, s->subwidth) : 1;
        part(c, a);
    }
}

static unsigned place(const reader *d, const sass_slot *s) {
    bool swapped = d->c->form == 2 || d->c->form == 3 || d->c->form == 7;
    switch (s->kind) {
    case SLOT_HA: return 24;
    case SLOT_B:
    case SLOT_HB: return swapped ? 64 : 32;
    case SLOT_C:
    case SLOT_HC: return swapped ? 32 : 64;
    default: return 32;
    }
}

// An address: a register, perhaps a uniform one at `uat`, perhaps a descriptor there.
static void address(const reader *d, orr_arg *a, unsigned uat, bool desc, bool wide, bool narrow) {
    const orr_code *c = d->c;
    *a = (orr_arg){.kind = ORR_ARG_MEM,
                   .reg = (uint8_t)bits(c, 24, 8),
                   .ureg = ORR_RZ,
                   .shape = ORR_ARG_HAS_R,
                   .value = extend(bits(c, 40, 24), 24)};
    if (!uat) return;
    if (desc) {
        a->shape |= ORR_ARG_HAS_DESC;
        if (d->sm >= 90 || bit(c, 101))
            a->shape |= ORR_ARG_SHOW_DESC; // before, only one that the program made
        a->bank = uniform(d, uat);
    } else {
        a->shape |= ORR_ARG_HAS_UR;
        a->ureg = uniform(d, uat);
    }
    if (wide) a->shape |= ORR_ARG_WIDE;
    if (narrow) a->shape |= ORR_ARG_U32;
}

static int64_t relative(const reader *d) {
    const orr_code *c = d->c;
    if (d->sm >= 90) return extend((bits(c, 34, 48) << 8 | bits(c, 16, 8)) << 2, 58);
    return extend(bits(c, 34, 48) << 2, 50);
}

// The operand cache knows sources by what they are, not by where they lie: A, B, C.
static void reuse(const reader *d, orr_arg *a, const sass_slot *s) {
    if (a->kind != ORR_ARG_R || s->flags & SLOT_DST || orr_sass[d->row->op].cls == ORR_TC_TEX) return;
    unsigned n = 9;
    switch (s->kind) {
    case SLOT_R: n = s->bit == 24 ? 0 : s->bit == 32 ? 1 : s->bit == 64 ? 2 : 9; break;
    case SLOT_HA: n = 0; break;
    case SLOT_B:
    case SLOT_HB: n = 1; break;
    case SLOT_C:
    case SLOT_HC: n = 2; break;
    default: n = d->row->forms & 4 ? 2 : 1; break; // what has form 2 but no B adds or compares with C
    }
    if (n < 3) a->bank = (uint8_t)(n + 1);
    if (n < 3 && ORR_CTRL_REUSE(d->c->ctrl) >> n & 1) a->flags |= ORR_ARG_REUSE;
}

// Registers, predicates, barriers, and operands that may be registers. False: the slot is something else.
static bool read_register(const reader *d, orr_arg *a, const sass_slot *s) {
    const orr_code *c = d->c;
    bool u = d->row->flags & ROW_U;
    switch (s->kind) {
    case SLOT_R:
    case SLOT_UR:
        if (s->kind == SLOT_UR || u) {
            *a = (orr_arg){.kind = ORR_ARG_UR, .reg = uniform(d, s->bit)};
            if (s->shift && a->reg != ORR_RZ) a->reg = (uint8_t)(a->reg + s->shift);
        } else {
            *a = (orr_arg){.kind = ORR_ARG_R, .reg = (uint8_t)bits(c, s->bit, 8)};
        }
        if (s->neg && bit(c, s->neg)) a->flags |= s->flags & SLOT_INV ? ORR_ARG_INV : ORR_ARG_NEG;
        if (s->abs && bit(c, s->abs)) a->flags |= ORR_ARG_ABS;
        if (s->sub) {
            a->sub = s->sub;
            a->subval = s->subwidth ? (uint8_t)bits(c, s->subbit, s->subwidth) : 1;
        }
        if (s->flags & SLOT_OPT && a->reg == ORR_RZ) a->flags |= ORR_ARG_HIDDEN;
        reuse(d, a, s);
        break;
    case SLOT_P:
    case SLOT_UP:
    case SLOT_PU: {
        bool up = s->kind == SLOT_UP || u || (s->kind == SLOT_PU && bit(c, 67));
        *a = (orr_arg){.kind = up ? ORR_ARG_UP : ORR_ARG_P, .reg = (uint8_t)bits(c, s->bit, 3)};
        if (s->flags & SLOT_REV) a->reg = 7 - a->reg;
        if (s->neg && bit(c, s->neg)) a->flags |= ORR_ARG_INV;
        if (s->flags & SLOT_OPT && a->reg == ORR_PT && !(a->flags & ORR_ARG_INV)) a->flags |= ORR_ARG_HIDDEN;
        break;
    }
    case SLOT_BAR: *a = (orr_arg){.kind = ORR_ARG_B, .reg = (uint8_t)bits(c, s->bit, s->width)}; break;
    case SLOT_SB: *a = (orr_arg){.kind = ORR_ARG_SB, .reg = (uint8_t)bits(c, s->bit, 3)}; break;
    case SLOT_V:
    case SLOT_B:
    case SLOT_C:
    case SLOT_HA:
    case SLOT_HV:
    case SLOT_HB:
    case SLOT_HC: {
        general(d, a, s, place(d, s));
        reuse(d, a, s);
        break;
    }
    case SLOT_UOPT:
        *a = (orr_arg){.kind = ORR_ARG_UR, .reg = uniform(d, s->bit)};
        if (a->reg == ORR_RZ) a->flags |= ORR_ARG_HIDDEN;
        break;
    default: return false;
    }
    return true;
}

// Places in constant banks.
static bool read_constant(const reader *d, orr_arg *a, const sass_slot *s) {
    const orr_code *c = d->c;
    switch (s->kind) {
    case SLOT_LDC:
        *a = (orr_arg){.kind = ORR_ARG_CONST,
                       .reg = (uint8_t)bits(c, 24, 8),
                       .ureg = ORR_RZ,
                       .bank = (uint8_t)bits(c, 54, 5),
                       .shape = ORR_ARG_HAS_R,
                       .value = extend(bits(c, 38, 16), 16)};
        break;
    case SLOT_LDCX:
        *a = (orr_arg){.kind = ORR_ARG_CONST,
                       .reg = (uint8_t)bits(c, 64, 8),
                       .ureg = uniform(d, 24),
                       .shape = ORR_ARG_HAS_R | ORR_ARG_BINDLESS,
                       .value = (int64_t)bits(c, 38, 16)};
        break;
    case SLOT_ULDC:
        if (bit(c, 91))
            *a = (orr_arg){.kind = ORR_ARG_CONST,
                           .reg = ORR_RZ,
                           .ureg = uniform(d, 24),
                           .shape = ORR_ARG_BINDLESS,
                           .value = (int64_t)bits(c, 38, 16)};
        else
            *a = (orr_arg){.kind = ORR_ARG_CONST,
                           .reg = ORR_RZ,
                           .ureg = ORR_RZ,
                           .bank = (uint8_t)bits(c, 54, 5),
                           .value = extend(bits(c, 38, 16), 16)};
        break;
    case SLOT_LDCU:
        *a = (orr_arg){.kind = ORR_ARG_CONST,
                       .reg = ORR_RZ,
                       .ureg = uniform(d, 24),
                       .bank = (uint8_t)bits(c, 54, 5),
                       .value = extend(bits(c, 37, 17), 17)};
        if (a->ureg != ORR_RZ) a->shape = ORR_ARG_HAS_UR;
        break;
    case SLOT_ULDCI:
        *a = (orr_arg){.kind = ORR_ARG_CONST,
                       .reg = ORR_RZ,
                       .ureg = uniform(d, 24),
                       .bank = (uint8_t)bits(c, 54, 5),
                       .shape = ORR_ARG_HAS_UR,
                       .value = extend(bits(c, 38, 16), 16)};
        break;
    default: return false;
    }
    return true;
}

// Addresses.
static bool read_memory(const reader *d, orr_arg *a, const sass_slot *s) {
    const orr_code *c = d->c;
    switch (s->kind) {
    case SLOT_MEM:
        address(d, a, 0, false, false, false);
        if (s->width == 32) a->value = extend(bits(c, 32, 32), 32);
        if (s->sub) {
            a->sub = s->sub;
            a->subval = (uint8_t)bits(c, s->subbit, s->subwidth);
        }
        break;
    case SLOT_MEMU32:
    case SLOT_MEMU64:
        address(d, a, bit(c, 91) ? s->kind == SLOT_MEMU32 ? 32 : 64 : 0, false, false, false);
        if (s->sub) {
            a->sub = s->sub;
            a->subval = (uint8_t)bits(c, s->subbit, s->subwidth);
        }
        break;
    case SLOT_GLOBAL: { // the slot says which bits: uniform register, descriptor, width of R, presence
        bool has = !s->subbit || bit(c, s->subbit);
        bool wide = bit(c, s->abs);
        address(d, a, has ? s->bit : 0, s->neg && bit(c, s->neg), wide, !wide);
        if (!has && s->bit == 32) a->value = extend(bits(c, 32, 32), 32);
        if (s->width) a->value = extend(bits(c, 40, s->width), s->width);
        if (s->shift && wide && a->ureg == ORR_RZ) a->shape &= (uint8_t)~ORR_ARG_HAS_UR;
        break;
    }
    case SLOT_UMEM:
        *a = (orr_arg){.kind = ORR_ARG_MEM,
                       .reg = ORR_RZ,
                       .ureg = uniform(d, 24),
                       .shape = ORR_ARG_HAS_UR,
                       .value = extend(bits(c, 40, 24), 24)};
        break;
    case SLOT_BRACKET:
        *a = (orr_arg){
            .kind = ORR_ARG_MEM, .reg = (uint8_t)bits(c, s->bit, 8), .ureg = ORR_RZ, .shape = ORR_ARG_HAS_R};
        break;
    case SLOT_UBRACKET:
        *a = (orr_arg){
            .kind = ORR_ARG_MEM, .reg = ORR_RZ, .ureg = uniform(d, s->bit), .shape = ORR_ARG_HAS_UR};
        a->ureg = (uint8_t)(a->ureg + s->shift);
        break;
    case SLOT_UDESC:
        *a = (orr_arg){.kind = ORR_ARG_MEM,
                       .reg = ORR_RZ,
                       .ureg = ORR_RZ,
                       .bank = uniform(d, s->bit),
                       .shape = ORR_ARG_HAS_DESC | ORR_ARG_SHOW_DESC};
        break;
    case SLOT_ASYNC_DST:
        *a = (orr_arg){.kind = ORR_ARG_MEM,
                       .reg = (uint8_t)bits(c, 16, 8),
                       .ureg = ORR_RZ,
                       .shape = ORR_ARG_HAS_R,
                       .value = extend(bits(c, 44, 20), 20)};
        if (c->form == 6) {
            a->shape |= ORR_ARG_HAS_UR;
            a->ureg = uniform(d, 64);
        }
        break;
    case SLOT_ASYNC_SRC:
        address(d, a, c->form == 7 ? 64 : 0, bit(c, 76), true, false);
        a->value = extend(bits(c, 32, 12), 12);
        if (c->form == 6) a->shape |= ORR_ARG_WIDE;
        if (a->ureg == ORR_RZ) a->shape &= (uint8_t)~ORR_ARG_HAS_UR;
        break;
    default: return false;
    }
    return true;
}

// Where a branch goes.
static bool read_target(const reader *d, orr_arg *a, const sass_slot *s) {
    const orr_code *c = d->c;
    int64_t next = (int64_t)c->address + 16;
    switch (s->kind) {
    case SLOT_REL: *a = (orr_arg){.kind = ORR_ARG_TARGET, .value = next + relative(d)}; break;
    case SLOT_REL24:
        *a = (orr_arg){.kind = ORR_ARG_TARGET, .value = next + extend(bits(c, 24, 58), 58)};
        break;
    case SLOT_REL32:
        *a = (orr_arg){.kind = ORR_ARG_TARGET, .value = next + extend(bits(c, 34, 30) << 2, 32)};
        break;
    case SLOT_ABS: {
        uint64_t v = (bits(c, 34, 47) << 8 | bits(c, 16, 8)) << 2;
        *a = (orr_arg){.kind = ORR_ARG_TARGET, .value = (int64_t)(d->sm >= 90 ? v : bits(c, 34, 48) << 2)};
        break;
    }
    case SLOT_RREL:
    case SLOT_RABS: {
        bool ur = s->width == 6 || s->shift == 6;
        *a = (orr_arg){
            .kind = ORR_ARG_TARGET, .shape = ur ? ORR_ARG_HAS_UR : ORR_ARG_HAS_R, .value = relative(d)};
        if (ur)
            a->ureg = uniform(d, s->bit);
        else
            a->reg = (uint8_t)bits(c, s->bit, 8);
        if (s->kind == SLOT_RREL) a->value += next;
        a->bank = s->kind == SLOT_RREL || s->width == 1; // an offset of 0 is shown
        break;
    }
    case SLOT_ROFF:
        *a = (orr_arg){.kind = ORR_ARG_TARGET, .shape = ORR_ARG_HAS_R, .value = relative(d)};
        if (s->width == 6) {
            a->ureg = uniform(d, s->bit);
            a->shape = ORR_ARG_HAS_UR;
        } else {
            a->reg = (uint8_t)bits(c, s->bit, 8);
        }
        break;
    default: return false;
    }
    return true;
}

// Numbers, words, masks, descriptors.
static void read_other(const reader *d, orr_arg *a, const sass_slot *s) {
    const orr_code *c = d->c;
    switch (s->kind) {
    case SLOT_INT: {
        uint64_t v = bits(c, s->bit, s->width);
        *a = (orr_arg){.kind = ORR_ARG_INT, .value = s->style == IMM_S ? extend(v, s->width) : (int64_t)v};
        if (s->flags & SLOT_OPT && v == (s->flags & SLOT_TRUE ? (1u << s->width) - 1 : 0))
            a->flags |= ORR_ARG_HIDDEN;
        break;
    }
    case SLOT_INT2:
        *a = (orr_arg){.kind = ORR_ARG_INT,
                       .value = (int64_t)(bits(c, s->bit, 3) | bits(c, s->subbit, s->subwidth) << 3)};
        break;
    case SLOT_TMEM: // tensor memory
        *a = (orr_arg){.kind = ORR_ARG_TMEM, .reg = uniform(d, s->bit)};
        if (s->width) a->value = (int32_t)(bits(c, 40, 24) | bits(c, 72, 8) << 24);
        break;
    case SLOT_IDESC: *a = (orr_arg){.kind = ORR_ARG_IDESC, .reg = (uint8_t)(uniform(d, s->bit) + 1)}; break;
    case SLOT_LONG:
        *a = (orr_arg){.kind = ORR_ARG_INT, .flags = ORR_ARG_UNSIGNED, .value = (int64_t)bits(c, 24, 64)};
        break;
    case SLOT_SREG: *a = (orr_arg){.kind = ORR_ARG_SREG, .value = (int64_t)bits(c, s->bit, 8)}; break;
    case SLOT_WORD:
        *a = (orr_arg){.kind = ORR_ARG_WORD, .sub = s->sub, .subval = (uint8_t)bits(c, s->bit, s->width)};
        if (s->flags & SLOT_OPT) {
            const char *t = orr_smod_text(a->sub, a->subval);
            if (t && !*t) a->flags |= ORR_ARG_HIDDEN;
        }
        break;
    case SLOT_MASK:
        *a = (orr_arg){.kind = ORR_ARG_MASK, .value = (int64_t)bits(c, s->bit, s->width)};
        if (!a->value) a->flags |= ORR_ARG_HIDDEN;
        break;
    case SLOT_FIXED: *a = (orr_arg){.kind = ORR_ARG_NAME, .value = s->bit}; break;
    case SLOT_GDESC: {
        bool both = s->bit == 24; // descriptors of A and B, else of B alone
        *a = (orr_arg){.kind = ORR_ARG_GDESC, .reg = uniform(d, s->bit)};
        if (d->sm >= 100) { // how the operand buffers are used
            if (bit(c, both ? 84 : 81)) a->value |= both ? 16 : 64;
            if (bit(c, both ? 86 : 82)) a->value |= both ? 32 : 128;
            if (!both) a->value |= (int64_t)bits(c, 79, 2) << 8;
            break;
        }
        if (d->row->op != ORR_SASS_HGMMA && d->row->op != ORR_SASS_QGMMA) break;
        if (both && bit(c, 72)) a->value |= 1; // negA
        if (bit(c, 63)) a->value |= 2;         // negB
        if (both && bit(c, 61)) a->value |= 4; // tnspA
        if (bit(c, 62)) a->value |= 8;         // tnspB
        break;
    }
    case SLOT_SWZADD: *a = (orr_arg){.kind = ORR_ARG_WORD, .value = (int64_t)bits(c, s->bit, 8)}; break;
    default: break;
    }
}

static void read_slot(const reader *d, orr_arg *a, const sass_slot *s) {
    *a = (orr_arg){0};
    if (!read_register(d, a, s) && !read_constant(d, a, s) && !read_memory(d, a, s) && !read_target(d, a, s))
        read_other(d, a, s);
    if (s->flags & SLOT_DST) a->flags |= ORR_ARG_DST;
    if (s->flags & SLOT_HIDE) a->flags |= ORR_ARG_HIDDEN;
}

// ---- the whole --------------------------------------------------------------------------------
bool orr_sass_supported(unsigned sm) {
    static const uint8_t known[] = {70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121};
    for (unsigned i = 0; i < sizeof known; i++)
        if (known[i] == sm) return true;
    return false;
}

unsigned orr_code_mod(const orr_code *c, enum orr_smod kind) {
    for (int i = 0; i < c->nmods; i++)
        if (c->mods[i].kind == kind) return c->mods[i].value;
    return 0;
}

bool orr_sass_decode(orr_code *c, unsigned sm, const void *bytes, uint32_t address) {
    pthread_once(&once, index_rows);
    *c = (orr_code){.sm = (uint8_t)sm, .guard = ORR_PT, .address = address};
    memcpy(&c->lo, bytes, 8);
    memcpy(&c->hi, (const char *)bytes + 8, 8);
    c->ctrl = (uint32_t)bits(c, 105, 21);
    c->form = (uint8_t)bits(c, 9, 3);

    const sass_row *r = NULL;
    for (unsigned i = first_row[c->lo & 511]; i && !r; i = next_row[i - 1])
        if (fits(c, &sass_rows[i - 1], sm)) r = &sass_rows[i - 1];
    if (!r) return false;

    c->op = r->op;
    c->guard = (uint8_t)bits(c, 12, 3);
    c->guard_neg = bit(c, 15);
    c->guard_uniform = r->flags & ROW_UP;
    for (int i = 0; i < ORR_CODE_MODS && r->mods[i].kind; i++) {
        const sass_mod *m = &r->mods[i];
        uint64_t v = m->width ? bits(c, m->bit, m->width) : m->value;
        if (m->width2) v |= bits(c, m->bit2, m->width2) << m->width;
        if (m->width && m->value) v = !v; // MODF
        c->mods[c->nmods++] =
            (orr_mod){.kind = m->kind, .value = (uint16_t)v, .hidden = m->hide && m->hide - 1u == v};
    }
    reader d = {c, r, sm};
    for (int i = 0; i < ORR_CODE_ARGS && r->slots[i].kind; i++)
        read_slot(&d, &c->args[c->nargs++], &r->slots[i]);
    return true;
}
