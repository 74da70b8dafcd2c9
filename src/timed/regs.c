// Virtual registers to the machine's.
#include "timed/lower.h"

uint32_t lower_registers(lower *l) {
    uint32_t n[4] = {0};
    static const uint16_t base[] = {0, ORR_TREG_P, ORR_TREG_U, ORR_TREG_UP}, many[] = {255, 7, 63, 7};
    for (size_t v = 0; v < l->vregs.n; v++) {
        uint8_t f = l->vregs.at[v].file;
        l->vregs.at[v].reg = (uint16_t)(base[f] + n[f]++ % many[f]);
    }
    return 0;
}
