// Tensor maps (CUDA Driver API, "Tensor Map Object Management"): the machine's own layout, as the driver
// makes it.
#include <string.h>

#include "app/dr.h"
#include "exec/tensormap.h"

static int encode(void *out, orr_tensor_map *m, const uint64_t *dims, const uint64_t *strides,
                  const uint32_t *steps) {
    DR_ENTER();
    if (!out || !dims || !steps || m->rank < 1 || m->rank > ORR_MAP_RANK) return app_leave_driver(E_VALUE);
    m->strides[0] = orr_map_element(m->type);
    for (int d = 0; d < m->rank; d++) {
        m->dims[d] = dims[d];
        m->steps[d] = steps[d];
        if (!d) continue;
        if (!strides) return app_leave_driver(E_VALUE);
        m->strides[d] = strides[d - 1];
    }
    if (orr_map_check(m)) return app_leave_driver(E_VALUE);
    orr_map_encode(m, out);
    return app_leave_driver(E_OK);
}

API int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address, const uint64_t *dims,
                               const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
                               int interleave, int swizzle, int promotion, int fill) {
    if (!box || rank > ORR_MAP_RANK || type < 0 || type > 255 || (unsigned)interleave > 3 ||
        (unsigned)swizzle > 15 || (unsigned)promotion > 15 || (unsigned)fill > 1)
        return E_VALUE;
    orr_tensor_map m = {.address = (uint64_t)(uintptr_t)address,
                        .rank = (uint8_t)rank,
                        .type = (uint8_t)type,
                        .interleave = (uint8_t)interleave,
                        .swizzle = (uint8_t)swizzle,
                        .promotion = (uint8_t)promotion,
                        .nan_fill = fill != 0};
    memcpy(m.box, box, rank * sizeof *box);
    return encode(map, &m, dims, strides, steps);
}

API int cuTensorMapEncodeIm2col(void *map, int type, unsigned rank, void *address, const uint64_t *dims,
                                const uint64_t *strides, const int *lower, const int *upper,
                                unsigned channels, unsigned pixels, const uint32_t *steps, int interleave,
                                int swizzle, int promotion, int fill) {
    if (!lower || !upper || rank < 3 || rank > ORR_MAP_RANK || type < 0 || type > 255 ||
        (unsigned)interleave > 3 || (unsigned)swizzle > 15 || (unsigned)promotion > 15 || (unsigned)fill > 1)
        return E_VALUE;
    orr_tensor_map m = {.address = (uint64_t)(uintptr_t)address,
                        .rank = (uint8_t)rank,
                        .type = (uint8_t)type,
                        .interleave = (uint8_t)interleave,
                        .swizzle = (uint8_t)swizzle,
                        .promotion = (uint8_t)promotion,
                        .nan_fill = fill != 0,
                        .im2col = true,
                        .channels = channels,
                        .pixels = pixels};
    memcpy(m.lower, lower, (rank - 2) * sizeof *lower);
    memcpy(m.upper, upper, (rank - 2) * sizeof *upper);
    return encode(map, &m, dims, strides, steps);
}

API int cuTensorMapReplaceAddress(void *map, void *address) {
    if (!map || ((uintptr_t)address & 15)) return E_VALUE;
    memcpy(map, &address, sizeof address);
    return E_OK;
}
