// Elements of NCCL's data types, combined one by one.
//
// Integers wrap. Floating-point types of 16 and 8 bits are computed in 32 and rounded to nearest even after
// each step, which is what an addition of that type gives.
#include "app/nccl.h"
#include "exec/ops/softfp.h"

#include <string.h>

size_t nccl_size(int type) {
    static const uint8_t sizes[NCCL_TYPES] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return type >= 0 && type < NCCL_TYPES ? sizes[type] : 0;
}

#define PICK(T, a, b)                                                                                        \
    (redop == NCCL_PROD  ? (T)((a) * (b))                                                                    \
     : redop == NCCL_MAX ? ((a) > (b) ? (a) : (b))                                                           \
     : redop == NCCL_MIN ? ((a) < (b) ? (a) : (b))                                                           \
                         : (T)((a) + (b)))

#define EACH(T)                                                                                              \
    do {                                                                                                     \
        T *a = acc;                                                                                          \
        const T *b = x;                                                                                      \
        for (size_t i = 0; i < n; i++) a[i] = PICK(T, a[i], b[i]);                                           \
    } while (0)

static const fpformat *narrow(int type) {
    return type == NCCL_F16    ? &orr_fmt_f16
           : type == NCCL_BF16 ? &orr_fmt_bf16
           : type == NCCL_E4M3 ? &orr_fmt_e4m3
                               : &orr_fmt_e5m2;
}

static float widen(int type, const void *at) {
    if (type == NCCL_F32) {
        float v;
        memcpy(&v, at, sizeof v);
        return v;
    }
    uint16_t bits = *(const uint8_t *)at;
    if (nccl_size(type) == 2) memcpy(&bits, at, 2);
    uint32_t wide =
        type == NCCL_F16 ? f32_from_f16(bits)
        : type == NCCL_BF16
            ? f32_from_bf16(bits)
            : (uint32_t)orr_fp_encode(&orr_fmt_f32, orr_fp_decode(narrow(type), bits), ORR_RND_RN, false);
    return f32_of(wide);
}

static void put(int type, void *at, float v) {
    uint32_t bits = bits32(v);
    if (type == NCCL_F32) {
        memcpy(at, &v, sizeof v);
        return;
    }
    uint16_t h =
        (uint16_t)(type == NCCL_F16 ? f16_from_f32(bits)
                   : type == NCCL_BF16
                       ? bf16_from_f32(bits)
                       : orr_fp_encode(narrow(type), orr_fp_decode(&orr_fmt_f32, bits), ORR_RND_RN, false));
    memcpy(at, &h, nccl_size(type));
}

void nccl_combine(int type, int redop, void *acc, const void *x, size_t n) {
    if (redop == NCCL_AVG || redop >= NCCL_OPS) redop = NCCL_SUM; // scaled before or divided after
    size_t size = nccl_size(type);
    switch (type) {
    case NCCL_INT8: EACH(int8_t); break;
    case NCCL_UINT8: EACH(uint8_t); break;
    // Sums and products of signed integers are those of unsigned ones; only the order differs.
    case NCCL_INT32:
        if (redop == NCCL_SUM || redop == NCCL_PROD)
            EACH(uint32_t);
        else
            EACH(int32_t);
        break;
    case NCCL_UINT32: EACH(uint32_t); break;
    case NCCL_INT64:
        if (redop == NCCL_SUM || redop == NCCL_PROD)
            EACH(uint64_t);
        else
            EACH(int64_t);
        break;
    case NCCL_UINT64: EACH(uint64_t); break;
    case NCCL_F32: EACH(float); break;
    case NCCL_F64: EACH(double); break;
    default:
        for (size_t i = 0; i < n; i++) {
            char *a = (char *)acc + i * size;
            float v = widen(type, a), w = widen(type, (const char *)x + i * size);
            put(type, a, PICK(float, v, w));
        }
    }
}

double nccl_number(int type, const void *x) {
    double v = 0;
    switch (type) {
    case NCCL_INT8: return *(const int8_t *)x;
    case NCCL_UINT8: return *(const uint8_t *)x;
    case NCCL_INT32: return *(const int32_t *)x;
    case NCCL_UINT32: return *(const uint32_t *)x;
    case NCCL_INT64: return (double)*(const int64_t *)x;
    case NCCL_UINT64: return (double)*(const uint64_t *)x;
    case NCCL_F64: memcpy(&v, x, sizeof v); return v;
    default: return widen(type, x);
    }
}

void nccl_scale(int type, void *x, double factor, size_t n) {
    size_t size = nccl_size(type);
    for (size_t i = 0; i < n; i++) {
        char *at = (char *)x + i * size;
        switch (type) {
        case NCCL_INT8: *(int8_t *)at = (int8_t)(*(int8_t *)at * (int)factor); break;
        case NCCL_UINT8: *(uint8_t *)at = (uint8_t)(*(uint8_t *)at * (unsigned)factor); break;
        case NCCL_INT32:
        case NCCL_UINT32: *(uint32_t *)at *= (uint32_t)(int64_t)factor; break;
        case NCCL_INT64:
        case NCCL_UINT64: *(uint64_t *)at *= (uint64_t)(int64_t)factor; break;
        case NCCL_F64: *(double *)at *= factor; break;
        default: put(type, at, widen(type, at) * (float)factor);
        }
    }
}

void nccl_divide(int type, void *x, int by, size_t n) {
    size_t size = nccl_size(type);
    for (size_t i = 0; i < n; i++) {
        char *at = (char *)x + i * size;
        switch (type) {
        case NCCL_INT8: *(int8_t *)at = (int8_t)(*(int8_t *)at / by); break;
        case NCCL_UINT8: *(uint8_t *)at = (uint8_t)(*(uint8_t *)at / by); break;
        case NCCL_INT32: *(int32_t *)at /= by; break;
        case NCCL_UINT32: *(uint32_t *)at /= (uint32_t)by; break;
        case NCCL_INT64: *(int64_t *)at /= by; break;
        case NCCL_UINT64: *(uint64_t *)at /= (uint64_t)by; break;
        default: break;
        }
    }
}

void nccl_sum_once(int type, int redop, const void *const *xs, int ranks, size_t n, void *to) {
    size_t size = nccl_size(type);
    bool narrow_type = type == NCCL_F16 || type == NCCL_BF16 || type == NCCL_E4M3 || type == NCCL_E5M2;
    if (redop == NCCL_AVG || redop >= NCCL_OPS) redop = NCCL_SUM;
    if (!narrow_type) {
        memcpy(to, xs[0], n * size);
        for (int r = 1; r < ranks; r++) nccl_combine(type, redop, to, xs[r], n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        float acc = widen(type, (const char *)xs[0] + i * size);
        for (int r = 1; r < ranks; r++) {
            float v = widen(type, (const char *)xs[r] + i * size);
            acc = PICK(float, acc, v);
        }
        put(type, (char *)to + i * size, acc);
    }
}
