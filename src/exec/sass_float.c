#include "exec/machine.h"

bool orr_sass_float(machine *m) {
    (void)m;
    return false;
}
