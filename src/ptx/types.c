// PTX's type names, and what holds a value of each.
#include <string.h>

#include "ptx/ast.h"

static const struct {
    const char *name;
    uint8_t bytes, is_float;
} types[ORR_T_COUNT] = {
    [ORR_T_PRED] = {"pred", 0, 0},     [ORR_T_B8] = {"b8", 1, 0},           [ORR_T_U8] = {"u8", 1, 0},
    [ORR_T_S8] = {"s8", 1, 0},         [ORR_T_B16] = {"b16", 2, 0},         [ORR_T_U16] = {"u16", 2, 0},
    [ORR_T_S16] = {"s16", 2, 0},       [ORR_T_F16] = {"f16", 2, 1},         [ORR_T_BF16] = {"bf16", 2, 1},
    [ORR_T_B32] = {"b32", 4, 0},       [ORR_T_U32] = {"u32", 4, 0},         [ORR_T_S32] = {"s32", 4, 0},
    [ORR_T_F32] = {"f32", 4, 1},       [ORR_T_TF32] = {"tf32", 4, 1},       [ORR_T_F16X2] = {"f16x2", 4, 1},
    [ORR_T_BF16X2] = {"bf16x2", 4, 1}, [ORR_T_U16X2] = {"u16x2", 4, 0},     [ORR_T_S16X2] = {"s16x2", 4, 0},
    [ORR_T_B64] = {"b64", 8, 0},       [ORR_T_U64] = {"u64", 8, 0},         [ORR_T_S64] = {"s64", 8, 0},
    [ORR_T_F64] = {"f64", 8, 1},       [ORR_T_F32X2] = {"f32x2", 8, 1},     [ORR_T_B128] = {"b128", 16, 0},
    [ORR_T_U4] = {"u4", 1, 0},         [ORR_T_S4] = {"s4", 1, 0},           [ORR_T_B1] = {"b1", 1, 0},
    [ORR_T_E4M3] = {"e4m3", 1, 1},     [ORR_T_E5M2] = {"e5m2", 1, 1},       [ORR_T_E4M3X2] = {"e4m3x2", 2, 1},
    [ORR_T_E5M2X2] = {"e5m2x2", 2, 1}, [ORR_T_E2M1X2] = {"e2m1x2", 1, 1},   [ORR_T_E2M3X2] = {"e2m3x2", 2, 1},
    [ORR_T_E3M2X2] = {"e3m2x2", 2, 1}, [ORR_T_UE8M0X2] = {"ue8m0x2", 2, 1},
};

bool ptx_type_of(const char *s, size_t n, uint8_t *type) {
    if (n > 8 || n < 2) return false;
    for (int i = 0; i < ORR_T_COUNT; i++) {
        if (types[i].name && strlen(types[i].name) == n && memcmp(types[i].name, s, n) == 0) {
            *type = (uint8_t)i;
            return true;
        }
    }
    return false;
}

uint32_t ptx_type_bytes(uint8_t type) { return types[type].bytes; }
bool ptx_type_float(uint8_t type) { return types[type].is_float; }

uint8_t ptx_type_class(uint8_t type) {
    static const uint8_t cls[17] = {
        [0] = ORR_P, [1] = ORR_H, [2] = ORR_H, [4] = ORR_W, [8] = ORR_D, [16] = ORR_Q};
    return cls[types[type].bytes];
}
