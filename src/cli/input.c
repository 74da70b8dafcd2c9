// From the command line to a script and its launches (input.h).
#include "clc/clc.h"
#include "cli/input.h"
#include "cli/machine.h"
#include "sass/module.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void cli_split_sets(const cli_options *o, cli_sets *s) {
    size_t n = (size_t)o->nsets + 1;
    *s = (cli_sets){orr_calloc(n, sizeof *s->gpu), orr_calloc(n, sizeof *s->script), 0, 0};
    for (int i = 0; i < o->nsets; i++) {
        size_t key = strcspn(o->sets[i], "=");
        bool memory = key == 6 && memcmp(o->sets[i], "memory", 6) == 0; // the GPU's, without a point
        if (memory || memchr(o->sets[i], '.', key))
            s->gpu[s->ngpu++] = o->sets[i];
        else
            s->script[s->nscript++] = o->sets[i];
    }
}

void cli_free_sets(cli_sets *s) {
    free(s->gpu);
    free(s->script);
}

#define USUAL_GPU "h200"

bool cli_load_gpu(const cli_options *o, const cli_sets *s, orr_gpu **gpu, orr_err *e) {
    orr_err why = {0};
    *gpu = orr_gpu_load(o->gpu ? o->gpu : USUAL_GPU, s->gpu, s->ngpu, &why);
    if (*gpu) return true;
    if (o->gpu || s->ngpu) return orr_fail(e, why.status, "%s", why.text);
    if (!o->quiet) fprintf(stderr, "orrery: %s; going on without occupancy\n", why.text);
    return true;
}

bool cli_check_output(const cli_options *o, const char *input, orr_err *e) {
    struct stat in, out;
    if (!o->output || stat(input, &in) != 0 || stat(o->output, &out) != 0) return true;
    if (in.st_dev != out.st_dev || in.st_ino != out.st_ino) return true;
    return orr_fail(e, ORR_BAD_INPUT, "%s: is the INPUT; name another file with -o", o->output);
}

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

unsigned cli_sm(const orr_gpu *g) { return g ? (unsigned)(g->cc_major * 10 + g->cc_minor) : 0; }

// --global and --local are OpenCL's way of saying --grid and --block: in work-items, not in thread blocks.
static bool work_size(const cli_options *o, char grid[100], char block[100], orr_err *e) {
    unsigned long long global[3] = {1, 1, 1}, local[3] = {1, 1, 1};
    int ng = 0, nl = 0, at = 0;
    if (!o->global || !o->local || o->grid || o->block)
        return orr_fail(e, ORR_BAD_INPUT, "--global and --local go together, and stand for --grid and --block");
    ng = sscanf(o->global, "%llu,%llu,%llu%n", &global[0], &global[1], &global[2], &at);
    if (ng == 3 && o->global[at]) ng = 0;
    nl = sscanf(o->local, "%llu,%llu,%llu%n", &local[0], &local[1], &local[2], &at);
    if (nl == 3 && o->local[at]) nl = 0;
    if (ng < 1 || nl != ng || strspn(o->global, "0123456789,") != strlen(o->global) ||
        strspn(o->local, "0123456789,") != strlen(o->local))
        return orr_fail(e, ORR_BAD_INPUT, "--global %.60s --local %.60s: each is one to three numbers, as many of one as of the other",
                        o->global, o->local);
    for (int i = 0; i < 3; i++)
        if (!local[i] || !global[i] || global[i] % local[i])
            return orr_fail(e, ORR_BAD_INPUT, "--local %.60s does not divide --global %.60s", o->local, o->global);
    snprintf(grid, 100, "%llu,%llu,%llu", global[0] / local[0], global[1] / local[1], global[2] / local[2]);
    snprintf(block, 100, "%llu,%llu,%llu", local[0], local[1], local[2]);
    return true;
}

static orr_script *open_script(const cli_options *o, const cli_sets *s, const char *input, orr_err *e) {
    if ((ends_with(input, ".ptx") && access(input, F_OK) == 0) || orr_clc_probe(input) || orr_sass_probe(input)) {
        if (o->size || s->nscript) {
            orr_fail(e, ORR_BAD_INPUT, "%s: --size and --set need a launch script; a module takes --arg",
                     input);
            return NULL;
        }
        char grid[100], block[100];
        orr_direct d = {input, o->kernel, o->grid, o->block, o->shared, o->args, o->nargs, o->build};
        if (o->global || o->local) {
            if (!work_size(o, grid, block, e)) return NULL;
            d.grid = grid;
            d.block = block;
        }
        return orr_script_from_args(&d, e);
    }
    if (o->kernel || o->grid || o->block || o->shared || o->nargs || o->global || o->local || o->build) {
        orr_fail(e, ORR_BAD_INPUT,
                 "%s: --kernel, --grid, --block, --shared and --arg are for a module (.ptx, .cubin, .cl)%s", input,
                 ends_with(input, ".ptx") || ends_with(input, ".cubin") ? ", and there is no such file" : "");
        return NULL;
    }
    orr_arena names = {0};
    const char *path = orr_find_workload(&names, input, e);
    orr_script *script = path ? orr_script_load(path, o->size, s->script, s->nscript, e) : NULL;
    orr_arena_free(&names);
    return script;
}

orr_script *cli_open_script(const cli_options *o, const cli_sets *s, const char *input, unsigned sm,
                            orr_err *e) {
    orr_script *script = open_script(o, s, input, e);
    if (script && cli_on_gpu(o)) orr_script_plain(script);
    if (!script || orr_script_source(script, o->source, sm, e)) return script;
    orr_script_free(script);
    return NULL;
}

bool cli_prepare(const cli_options *o, const orr_gpu *g, orr_launch *l, orr_err *e) {
    l->max_insts = o->max_insts;
    if (o->json) l->print = stderr; // stdout is for the result
    if (!g) return true;
    l->sm_count = (uint32_t)g->sm_count;
    int64_t shared =
        g->shared_per_block_optin > g->shared_per_block ? g->shared_per_block_optin : g->shared_per_block;
    if (!orr_launch_check(l, (uint32_t)shared, e)) return false;
    orr_occupancy_result occ;
    if (orr_occupancy(g, (int)(l->block[0] * l->block[1] * l->block[2]), (int)l->kernel->regs,
                      (int64_t)l->kernel->shared_bytes + l->dynamic_shared, (int)l->kernel->barriers, &occ) &&
        occ.blocks > 0)
        l->resident = (uint32_t)(occ.blocks * g->sm_count);
    return true;
}

bool cli_chosen(const cli_options *o, const orr_kernel *k, uint32_t index) {
    if (o->launches && orr_in_list(o->launches, index) != 1) return false;
    return !o->kernels || fnmatch(o->kernels, k->name, 0) == 0;
}

bool cli_check_launches(const cli_options *o, orr_err *e) {
    if (!o->launches || orr_in_list(o->launches, 0) >= 0) return true;
    return orr_fail(e, ORR_BAD_INPUT, "--launches takes numbers and ranges, as 3-7,9, not \"%s\"",
                    o->launches);
}

bool cli_write_file(const char *path, const orr_text *t, orr_err *e) {
    orr_out out;
    if (!orr_out_open(&out, path, e)) return false;
    fwrite(t->s, 1, t->n, out.f);
    return orr_out_commit(&out, e);
}

bool cli_write(const cli_options *o, const orr_text *t, orr_err *e) {
    if (o->output) return cli_write_file(o->output, t, e);
    fwrite(t->s, 1, t->n, stdout); // main() checks that it got out
    return true;
}
