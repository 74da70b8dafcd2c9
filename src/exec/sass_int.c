#include "exec/machine.h"

bool orr_sass_int(machine *m) {
    (void)m;
    return false;
}
