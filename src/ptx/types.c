// PTX's type names, and what holds a value of each.
#include <string.h>

#include "ptx/ast.h"

static const struct {
    const char *name;
    uint8_t type, bytes, is_float;
} types[] = {
    {"pred", ORR_T_PRED, 0, 0},     {"b8", ORR_T_B8, 1, 0},           {"u8", ORR_T_U8, 1, 0},
    {"s8", ORR_T_S8, 1, 0},         {"b16", ORR_T_B16, 2, 0},         {"u16", ORR_T_U16, 2, 0},
    {"s16", ORR_T_S16, 2, 0},       {"f16", ORR_T_F16, 2, 1},         {"bf16", ORR_T_BF16, 2, 1},
    {"b32", ORR_T_B32, 4, 0},       {"u32", ORR_T_U32, 4, 0},         {"s32", ORR_T_S32, 4, 0},
    {"f32", ORR_T_F32, 4, 1},       {"tf32", ORR_T_TF32, 4, 1},       {"f16x2", ORR_T_F16X2, 4, 1},
    {"bf16x2", ORR_T_BF16X2, 4, 1}, {"u16x2", ORR_T_U16X2, 4, 0},     {"s16x2", ORR_T_S16X2, 4, 0},
    {"b64", ORR_T_B64, 8, 0},       {"u64", ORR_T_U64, 8, 0},         {"s64", ORR_T_S64, 8, 0},
    {"f64", ORR_T_F64, 8, 1},       {"f32x2", ORR_T_F32X2, 8, 1},     {"b128", ORR_T_B128, 16, 0},
    {"u4", ORR_T_U4, 1, 0},         {"s4", ORR_T_S4, 1, 0},           {"b1", ORR_T_B1, 1, 0},
    {"e4m3", ORR_T_E4M3, 1, 1},     {"e5m2", ORR_T_E5M2, 1, 1},       {"e4m3x2", ORR_T_E4M3X2, 2, 1},
    {"e5m2x2", ORR_T_E5M2X2, 2, 1}, {"e2m1x2", ORR_T_E2M1X2, 1, 1},   {"e2m3x2", ORR_T_E2M3X2, 2, 1},
    {"e3m2x2", ORR_T_E3M2X2, 2, 1}, {"ue8m0x2", ORR_T_UE8M0X2, 2, 1},
};
enum { TYPES = sizeof types / sizeof *types };

bool ptx_type_of(const char *s, size_t n, uint8_t *type) {
    if (n > 8 || n < 2) return false;
    for (int i = 0; i < TYPES; i++) {
        if (strlen(types[i].name) == n && memcmp(types[i].name, s, n) == 0) {
            *type = types[i].type;
            return true;
        }
    }
    return false;
}

uint32_t ptx_type_bytes(uint8_t type) {
    for (int i = 0; i < TYPES; i++)
        if (types[i].type == type) return types[i].bytes;
    return 0;
}

bool ptx_type_float(uint8_t type) {
    for (int i = 0; i < TYPES; i++)
        if (types[i].type == type) return types[i].is_float;
    return false;
}

uint8_t ptx_type_class(uint8_t type) {
    switch (ptx_type_bytes(type)) {
    case 0: return ORR_P;
    case 1:
    case 2: return ORR_H;
    case 4: return ORR_W;
    case 8: return ORR_D;
    default: return ORR_Q;
    }
}
