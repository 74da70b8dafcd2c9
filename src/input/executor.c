// Where an INPUT's kernels are executed: here on the CPU, or on the GPU of this machine (--on).
#include "input/input.h"

#include <inttypes.h>

bool orr_executor_open(orr_executor *x, bool on_gpu, orr_on_launch *on_launch, void *arg, orr_err *e) {
    *x = (orr_executor){0};
    if (on_gpu) {
        x->native = orr_native_new(on_launch, arg, e);
        if (x->native) x->backend = orr_native_backend(x->native);
        return x->native != NULL;
    }
    x->cpu = orr_cpu_new(on_launch, arg, e);
    if (x->cpu) x->backend = orr_cpu_backend(x->cpu);
    return x->cpu != NULL;
}

void orr_executor_note(const orr_executor *x, const orr_notes *notes) {
    if (!x->native) return;
    const orr_native_stats *s = orr_native_get_stats(x->native);
    char bytes[32];
    orr_note(notes,
             "on the GPU: %" PRIu64 " slices (%" PRIu64 " again, smaller), %sB came back; %.2f s compiling, "
             "%.2f s running, %.2f s copying, %.2f s making streams",
             s->slices, s->again, orr_si(bytes, (double)s->bytes), s->compile_seconds, s->gpu_seconds,
             s->copy_seconds, s->replay_seconds);
}

void orr_executor_close(orr_executor *x) {
    if (x->cpu) orr_cpu_delete(x->cpu);
    if (x->native) orr_native_delete(x->native);
    *x = (orr_executor){0};
}
