// Where an INPUT's kernels are executed: here on the CPU, or on the GPU of this machine (--on).
#include "cli/machine.h"

#include <inttypes.h>
#include <string.h>

bool cli_on_gpu(const cli_options *o) { return o->on && !strcmp(o->on, "gpu"); }

bool cli_check_on(cli_options *o, orr_err *e) {
    if (o->on && strcmp(o->on, "gpu") != 0 && strcmp(o->on, "cpu") != 0)
        return orr_fail(e, ORR_BAD_INPUT, "--on is cpu or gpu, not '%.40s'", o->on);
    if (!cli_on_gpu(o)) return true;
    if (o->source && strcmp(o->source, "ptx") != 0)
        return orr_fail(e, ORR_BAD_INPUT, "--on gpu records kernels from their PTX; leave out --source %.20s",
                        o->source);
    o->source = "ptx";
    return true;
}

bool cli_machine_open(cli_machine *m, const cli_options *o, orr_on_launch *on_launch, void *arg, orr_err *e) {
    *m = (cli_machine){0};
    if (cli_on_gpu(o)) {
        m->native = orr_native_new(on_launch, arg, e);
        if (m->native) m->backend = orr_native_backend(m->native);
        return m->native != NULL;
    }
    m->cpu = orr_cpu_new(on_launch, arg, e);
    if (m->cpu) m->backend = orr_cpu_backend(m->cpu);
    return m->cpu != NULL;
}

void cli_machine_note(const cli_machine *m, FILE *out) {
    if (!m->native) return;
    const orr_native_stats *s = orr_native_get_stats(m->native);
    char bytes[32];
    fprintf(out,
            "orrery: on the GPU: %" PRIu64 " slices (%" PRIu64
            " again, smaller), %sB came back; %.2f s compiling, "
            "%.2f s running, %.2f s copying, %.2f s making streams\n",
            s->slices, s->again, orr_si(bytes, (double)s->bytes), s->compile_seconds, s->gpu_seconds,
            s->copy_seconds, s->replay_seconds);
}

void cli_machine_close(cli_machine *m) {
    if (m->cpu) orr_cpu_delete(m->cpu);
    if (m->native) orr_native_delete(m->native);
    *m = (cli_machine){0};
}
