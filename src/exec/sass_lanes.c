#include "exec/machine.h"

bool orr_sass_lanes(machine *m) {
    (void)m;
    return false;
}
