#include "exec/machine.h"

bool orr_sass_memory(machine *m) {
    (void)m;
    return false;
}
