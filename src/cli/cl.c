// orrery cl: an unmodified OpenCL program on a simulated GPU (src/opencl).
//
// The ICD loader, which the program is linked with, finds our driver by its environment: ocl-icd looks at
// OCL_ICD_VENDORS, Khronos' loader at OCL_ICD_FILENAMES.
#include "cli/app.h"
#include "cli/machine.h"

#include <stdlib.h>
#include <string.h>

static bool prepare(cli_options *o, orr_arena *a, orr_err *e) {
    (void)o;
    const char *dir = cli_library_folder(a, "opencl", "liborrery-opencl.so", "ORRERY_OPENCL", e);
    if (!dir) return false;
    setenv("OCL_ICD_VENDORS", orr_arena_printf(a, "%s/orrery.icd", dir), 1);
    setenv("OCL_ICD_FILENAMES", orr_arena_printf(a, "%s/liborrery-opencl.so", dir), 1);
    cli_in_front(a, "LD_LIBRARY_PATH", dir);
    return true;
}

int cli_cl(cli_options *o, orr_err *e) {
    if (cli_on_gpu(o)) {
        orr_fail(e, ORR_BAD_INPUT, "cl: --on gpu is for CUDA programs (orrery app)");
        return e->status;
    }
    return cli_program(o, "cl", "./vector_add", prepare, e);
}
