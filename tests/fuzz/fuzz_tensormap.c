// Any bytes as a tensor map. What is accepted must be one that the driver would make, and be made again to
// the same.
#include "exec/tensormap.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    uint8_t in[ORR_MAP_BYTES] = {0}, out[ORR_MAP_BYTES];
    memcpy(in, data, n < sizeof in ? n : sizeof in);
    orr_tensor_map m, again;
    const char *why = NULL;
    if (!orr_map_decode(in, &m, &why)) {
        if (!why) abort();
        return 0;
    }
    if (orr_map_check(&m)) abort();
    orr_map_encode(&m, out);
    if (!orr_map_decode(out, &again, &why) || memcmp(&m, &again, sizeof m)) abort();
    return 0;
}
