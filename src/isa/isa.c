// Tables of operations, units, types and spaces, and what can be read off one instruction.
#include "isa/isa.h"

const orr_op_info orr_ops[ORR_OP_COUNT] = {
#define OP(id, name, unit, flags) {name, ORR_UNIT_##unit, flags},
#include "isa/ops.def"
#undef OP
};

const char *const orr_unit_name[ORR_UNIT_COUNT] = {
    [ORR_UNIT_INT] = "int",       [ORR_UNIT_FP32] = "fp32",       [ORR_UNIT_FP64] = "fp64",
    [ORR_UNIT_FP16] = "fp16",     [ORR_UNIT_SFU] = "sfu",         [ORR_UNIT_CONV] = "conv",
    [ORR_UNIT_MOVE] = "move",     [ORR_UNIT_TENSOR] = "tensor",   [ORR_UNIT_MEM] = "mem",
    [ORR_UNIT_BRANCH] = "branch", [ORR_UNIT_UNIFORM] = "uniform", [ORR_UNIT_MISC] = "misc",
};

const char *const orr_space_name[ORR_SPACE_COUNT] = {
    [ORR_SPACE_NONE] = "none",     [ORR_SPACE_GENERIC] = "generic", [ORR_SPACE_GLOBAL] = "global",
    [ORR_SPACE_SHARED] = "shared", [ORR_SPACE_LOCAL] = "local",     [ORR_SPACE_CONST] = "const",
    [ORR_SPACE_PARAM] = "param",
};

const orr_type_info orr_types[ORR_T_COUNT] = {
    [ORR_T_NONE] = {"", 0, false, false},       [ORR_T_PRED] = {"pred", 0, false, false},
    [ORR_T_B8] = {"b8", 1, false, false},       [ORR_T_U8] = {"u8", 1, false, false},
    [ORR_T_S8] = {"s8", 1, false, true},        [ORR_T_B16] = {"b16", 2, false, false},
    [ORR_T_U16] = {"u16", 2, false, false},     [ORR_T_S16] = {"s16", 2, false, true},
    [ORR_T_F16] = {"f16", 2, true, true},       [ORR_T_BF16] = {"bf16", 2, true, true},
    [ORR_T_B32] = {"b32", 4, false, false},     [ORR_T_U32] = {"u32", 4, false, false},
    [ORR_T_S32] = {"s32", 4, false, true},      [ORR_T_F32] = {"f32", 4, true, true},
    [ORR_T_TF32] = {"tf32", 4, true, true},     [ORR_T_F16X2] = {"f16x2", 4, true, true},
    [ORR_T_BF16X2] = {"bf16x2", 4, true, true}, [ORR_T_U16X2] = {"u16x2", 4, false, false},
    [ORR_T_S16X2] = {"s16x2", 4, false, true},  [ORR_T_B64] = {"b64", 8, false, false},
    [ORR_T_U64] = {"u64", 8, false, false},     [ORR_T_S64] = {"s64", 8, false, true},
    [ORR_T_F64] = {"f64", 8, true, true},       [ORR_T_F32X2] = {"f32x2", 8, true, true},
    [ORR_T_B128] = {"b128", 16, false, false},  [ORR_T_U4] = {"u4", 1, false, false},
    [ORR_T_S4] = {"s4", 1, false, true},        [ORR_T_B1] = {"b1", 1, false, false},
    [ORR_T_E4M3] = {"e4m3", 1, true, true},     [ORR_T_E5M2] = {"e5m2", 1, true, true},
    [ORR_T_E4M3X2] = {"e4m3x2", 2, true, true}, [ORR_T_E5M2X2] = {"e5m2x2", 2, true, true},
    [ORR_T_E2M1X2] = {"e2m1x2", 1, true, true}, [ORR_T_E2M3X2] = {"e2m3x2", 2, true, true},
    [ORR_T_E3M2X2] = {"e3m2x2", 2, true, true}, [ORR_T_UE8M0X2] = {"ue8m0x2", 2, true, false},
};

// The table's unit holds for 32-bit integers (or floats, where the operation only has those). Other
// types run elsewhere: doubles on FP64, packed halves on FP16, floats on FP32.
uint8_t orr_inst_unit(const orr_inst *i) {
    uint8_t unit = orr_ops[i->op].unit;
    uint8_t type = i->type;
    switch (i->op) {
    case ORR_OP_SETP: break;
    case ORR_OP_SET: type = i->stype; break;
    case ORR_OP_DIV: // expands into multiplications around a reciprocal
        if (orr_types[type].is_float && type != ORR_T_F64) return ORR_UNIT_SFU;
        break;
    case ORR_OP_CVT:
        if (!orr_types[i->type].is_float && !orr_types[i->stype].is_float) return ORR_UNIT_INT;
        if (i->type == ORR_T_F64 || i->stype == ORR_T_F64) return ORR_UNIT_FP64;
        return ORR_UNIT_CONV;
    case ORR_OP_POPC:
    case ORR_OP_BREV:
    case ORR_OP_BFIND:
    case ORR_OP_CLZ: return ORR_UNIT_SFU;
    case ORR_OP_LD: return i->space == ORR_SPACE_PARAM ? ORR_UNIT_MOVE : ORR_UNIT_MEM;
    default: break;
    }
    if (unit != ORR_UNIT_INT && unit != ORR_UNIT_FP32) {
        return unit == ORR_UNIT_SFU && type == ORR_T_F64 ? ORR_UNIT_FP64 : unit;
    }
    switch (type) {
    case ORR_T_F32:
    case ORR_T_F32X2:
    case ORR_T_TF32: return ORR_UNIT_FP32;
    case ORR_T_F64: return ORR_UNIT_FP64;
    case ORR_T_F16:
    case ORR_T_F16X2:
    case ORR_T_BF16:
    case ORR_T_BF16X2: return ORR_UNIT_FP16;
    default: return unit;
    }
}

uint8_t orr_inst_order(const orr_inst *i) {
    uint16_t flags = orr_ops[i->op].flags;
    if (!(flags & ORR_F_MEMORY) || (i->space != ORR_SPACE_GLOBAL && i->space != ORR_SPACE_GENERIC)) return 0;
    if (flags & ORR_F_ATOMIC) {
        if (i->op == ORR_OP_ATOM && i->sub == ORR_ATOM_CAS) return ORR_ORDER_WAITS;
        bool exchanges = i->op == ORR_OP_ATOM && i->sub == ORR_ATOM_EXCH;
        return exchanges ? ORR_ORDER_WAITS | ORR_ORDER_WRITES : ORR_ORDER_WRITES;
    }
    if (!(i->mods & ORR_M_VOLATILE)) return 0;
    return flags & ORR_F_STORE ? ORR_ORDER_WRITES : ORR_ORDER_WAITS;
}

bool orr_inst_traced(const orr_inst *i) {
    if (i->op == ORR_OP_MBARRIER && i->sub == ORR_MBAR_PENDING_COUNT) return false; // a look at a register
    if (i->op == ORR_OP_SYNCS || i->op == ORR_OP_BULK) return true;
    if (i->op == ORR_OP_CPMBAR) return i->sub == ORR_MBAR_COPIES_ARRIVE; // of older streams it is not
    return (orr_ops[i->op].flags & ORR_F_MEMORY) && i->space != ORR_SPACE_PARAM;
}

int orr_matrix_bits(uint8_t type) {
    switch (type) {
    case ORR_T_B1: return 1;
    case ORR_T_U4:
    case ORR_T_S4: return 4;
    case ORR_T_U8:
    case ORR_T_S8:
    case ORR_T_E4M3:
    case ORR_T_E5M2: return 8;
    case ORR_T_F16:
    case ORR_T_BF16: return 16;
    case ORR_T_TF32:
    case ORR_T_F32:
    case ORR_T_S32: return 32;
    case ORR_T_F64: return 64;
    default: return 0;
    }
}
