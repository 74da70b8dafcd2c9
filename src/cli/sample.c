// orrery sample: the mathematics behind sampling (model), profiles (profile), and how well it does (study).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/input.h"
#include "cli/sampling.h"

// ---- sample model -------------------------------------------------------------------------------
#define DRAWS 10000 // section IV-A
static const double stall[] = {0.05, 0.1, 0.2}, cycles[] = {100, 400};
static const int warps[] = {4, 8, 16, 32};
enum { STUDIES = 3 * 2 * 4 };

static void model_csv(const orr_markov_study *s, orr_text *t) {
    orr_text_add(t, "p,M,N,ipc,within_10,spread_95");
    for (int k = 0; k < 41; k++) orr_text_add(t, ",within_%.1f%%", k / 2.0);
    orr_text_add(t, "\n");
    for (int n = 0; n < STUDIES; n++) {
        orr_text_add(t, "%g,%g,%d,%.6f,%.4f,%.6f", s[n].p, s[n].mean, s[n].n, s[n].ipc, s[n].within,
                     s[n].spread);
        for (int k = 0; k < 41; k++) orr_text_add(t, ",%.4f", s[n].cdf[k]);
        orr_text_add(t, "\n");
    }
}

static void model_json(const orr_markov_study *s, orr_text *t) {
    orr_text_add(t, "{\"draws\": %d, \"studies\": [", DRAWS);
    for (int n = 0; n < STUDIES; n++)
        orr_text_add(t,
                     "%s\n  {\"p\": %g, \"M\": %g, \"N\": %d, \"ipc\": %.6f, \"within_10\": %.4f, "
                     "\"spread_95\": %.6f}",
                     n ? "," : "", s[n].p, s[n].mean, s[n].n, s[n].ipc, s[n].within, s[n].spread);
    orr_text_add(t, "\n]}\n");
}

static void model_text(const orr_markov_study *s, orr_text *t) {
    orr_text_add(t, "%6s %6s %4s %8s %14s %16s\n", "p", "M", "N", "IPC", "within 10 %", "95 % are within");
    for (int n = 0; n < STUDIES; n++)
        orr_text_add(t, "%6g %6g %4d %8.4f %12.2f %% %14.2f %%\n", s[n].p, s[n].mean, s[n].n, s[n].ipc,
                     100 * s[n].within, 100 * s[n].spread);
}

// Figure 5: which share of the draws is how near to the average, a curve for each p, M and N.
static void model_plot(const orr_markov_study *s, orr_text *t) {
    enum { W = 760, H = 460, L = 60, B = 50, T = 20, R = 190 };
    orr_text_add(t,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
                 "font-size=\"12\">\n<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n",
                 W, H, W, H);
    double w = W - L - R, h = H - T - B;
    for (int k = 0; k <= 4; k++) {
        orr_text_add(t,
                     "<path d=\"M%.1f %d v%.1f\" stroke=\"#ddd\"/><text x=\"%.1f\" y=\"%d\" "
                     "text-anchor=\"middle\">%d %%</text>\n",
                     L + w * k / 4, T, h, L + w * k / 4, H - B + 18, 5 * k);
        orr_text_add(t,
                     "<path d=\"M%d %.1f h%.1f\" stroke=\"#ddd\"/><text x=\"%d\" y=\"%.1f\" "
                     "text-anchor=\"end\">%d %%</text>\n",
                     L, T + h * (1 - k / 4.0), w, L - 6, T + h * (1 - k / 4.0) + 4, 25 * k);
    }
    orr_text_add(
        t,
        "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">difference from the average IPC, at most</text>\n",
        L + w / 2, H - 10);
    orr_text_add(t,
                 "<text transform=\"translate(16 %.1f) rotate(-90)\" text-anchor=\"middle\">share of the "
                 "draws</text>\n",
                 T + h / 2);
    orr_text_add(t, "<path d=\"M%.1f %d v%.1f\" stroke=\"#c00\" stroke-dasharray=\"4\"/>\n", L + w / 2, T, h);
    for (int n = 0; n < STUDIES; n++) {
        orr_text_add(t, "<polyline fill=\"none\" stroke=\"hsl(%d 70%% 40%%)\" points=\"", n * 360 / STUDIES);
        for (int k = 0; k < 41; k++) orr_text_add(t, "%.1f,%.1f ", L + w * k / 40, T + h * (1 - s[n].cdf[k]));
        orr_text_add(t, "\"/>\n<text x=\"%d\" y=\"%d\" fill=\"hsl(%d 70%% 40%%)\">p%gM%gN%d</text>\n",
                     W - R + 14, T + 12 + n * 16, n * 360 / STUDIES, s[n].p, s[n].mean, s[n].n);
    }
    orr_text_add(t, "</svg>\n");
}

static bool sample_model(cli_options *o, orr_err *e) {
    orr_markov_study s[STUDIES];
    for (int n = 0; n < STUDIES; n++) {
        s[n] = (orr_markov_study){.p = stall[n / 8], .mean = cycles[n / 4 % 2], .n = warps[n % 4]};
        orr_markov_draw(&s[n], DRAWS, (uint64_t)n + 1);
    }
    orr_text csv = {0}, plot = {0}, out = {0};
    model_csv(s, &csv);
    model_plot(s, &plot);
    if (o->json)
        model_json(s, &out);
    else
        model_text(s, &out);
    bool ok = (!o->csv || cli_write_file(o->csv, &csv, e)) &&
              (!o->plot || cli_write_file(o->plot, &plot, e)) && cli_write(o, &out, e);
    free(csv.s);
    free(plot.s);
    free(out.s);
    return ok;
}

// ---- sample profile -----------------------------------------------------------------------------
static void nothing(void *arg, orr_result *r) {
    (void)arg;
    (void)r;
}

static bool make_profile(const cli_options *o, const orr_gpu *gpu, const cli_sets *sets, const char *input,
                         cli_sampling *s, orr_err *e) {
    cli_pass p = {.o = o, .gpu = gpu, .model = &cli_profiling, .sampling = s, .done = nothing};
    s->expected = cli_input_digest(o, input, o->source);
    double start = orr_seconds();
    bool ok = cli_pass_run(&p, sets, input, e);
    s->profile_seconds = orr_seconds() - start;
    return ok;
}

static void print_profile(const cli_sampling *s, orr_text *t) {
    char a[32], b[32], c[32];
    orr_text_add(t, "%6s  %-24s %10s %16s %16s %14s %8s %8s\n", "launch", "kernel", "blocks", "thread insts",
                 "warp insts", "requests", "cov", "cluster");
    for (size_t l = 0; l < s->profile.launches.n; l++) {
        const orr_sp_launch *x = &s->profile.launches.at[l];
        orr_text_add(t, "%6zu  %-24.24s %10llu %16s %16s %14s %8.4f %7u%s\n", l,
                     s->profile.kernels.at[x->kernel].name, (unsigned long long)x->blocks,
                     orr_commas(a, x->thread_insts), orr_commas(b, x->warp_insts), orr_commas(c, x->requests),
                     x->cov, s->plan.launches[l].cluster, s->plan.launches[l].by == l ? "*" : "");
    }
    orr_text_add(t, "%u clusters; * stands for its cluster\n", s->plan.nclusters);
}

static bool sample_profile(cli_options *o, const orr_gpu *gpu, const cli_sets *sets, const char *input,
                           orr_err *e) {
    cli_sampling s = {.o = orr_sample_defaults()};
    orr_text t = {0};
    bool ok = make_profile(o, gpu, sets, input, &s, e);
    if (ok) {
        cli_sampling_plan(&s);
        print_profile(&s, &t);
        ok = (!o->profile || orr_sp_write(&s.profile, o->profile, e)) && cli_write(o, &t, e);
    }
    free(t.s);
    cli_sampling_free(&s);
    return ok;
}

// ---- sample study -------------------------------------------------------------------------------
typedef struct study {
    double cycles, seconds, insts;
    orr_estimate random, simpoint;
    orr_pieces pieces;
    orr_text launches; // "[cycles, ...]"
    orr_text sampled;  // what became of the sampled runs
    const char *how;
} study;

static void full_done(void *arg, orr_result *r) {
    study *s = arg;
    uint32_t n = 0, dims = 0, *kernel_of = orr_calloc(r->launches.n + 1, sizeof *kernel_of);
    uint32_t *first = orr_calloc(r->launches.n + 1, sizeof *first);
    const orr_kernel **kernels = orr_calloc(r->launches.n + 1, sizeof *kernels);
    for (size_t l = 0; l < r->launches.n; l++) {
        const orr_launch_result *x = &r->launches.at[l];
        s->cycles += x->cycles;
        s->insts += (double)x->warp_insts;
        orr_text_add(&s->launches, "%s%.0f", l ? ", " : "", x->cycles);
        uint32_t k = 0;
        while (k < n && kernels[k] != x->kernel) k++;
        if (k == n) {
            kernels[n] = x->kernel;
            first[n++] = dims;
            dims += x->kernel->nblocks;
        }
        kernel_of[l] = k;
    }
    s->seconds = r->host.seconds;
    // Ten draws: one would say more of luck than of the method. Their error is averaged, their size is the
    // same.
    double error = 0;
    for (uint64_t draw = 1; draw <= 10; draw++) {
        s->random = orr_random_estimate(&s->pieces, 0.1, draw);
        error += fabs(s->random.cycles / s->cycles - 1) / 10;
    }
    s->random.cycles = s->cycles * (1 + error);
    s->simpoint = orr_simpoint_estimate(&s->pieces, kernel_of, first, dims, 30, 1);
    free(kernels);
    free(first);
    free(kernel_of);
}

static void sampled_done(void *arg, orr_result *r) {
    study *s = arg;
    const orr_sample_result *x = r->sample;
    orr_text_add(
        &s->sampled,
        "%s\"%s\": {\"cycles\": %.1f, \"error\": %.6f, \"sample_size\": %.6f, \"skipped_by_launches\": %.6f, "
        "\"skipped_by_blocks\": %.6f, \"clusters\": %u, \"bound\": %.6f, \"seconds\": %.3f}",
        s->sampled.n ? ",\n   " : "", s->how, x->cycles, x->cycles / s->cycles - 1,
        (double)x->simulated_insts / (double)x->insts, (double)x->skipped_inter / (double)x->insts,
        (double)x->skipped_intra / (double)x->insts, x->clusters, x->bound, r->host.seconds);
}

static void estimate(orr_text *t, const char *name, const orr_estimate *x, double cycles) {
    orr_text_add(t,
                 ",\n   \"%s\": {\"cycles\": %.1f, \"error\": %.6f, \"sample_size\": %.6f, \"points\": %u, "
                 "\"pieces\": %u}",
                 name, x->cycles, x->cycles / cycles - 1, x->sample, x->points, x->of);
}

// One INPUT: simulated in full, sampled without and with warm caches, and estimated from pieces of the full
// one.
static bool study_input(cli_options *o, const orr_gpu *gpu, const cli_sets *sets, const char *input,
                        orr_text *t, orr_err *e) {
    cli_sampling profile = {.o = orr_sample_defaults()};
    study s = {.pieces = {.size = o->piece ? o->piece : 50000}};
    bool ok = make_profile(o, gpu, sets, input, &profile, e);
    cli_pass full = {
        .o = o, .gpu = gpu, .model = &orr_model_cycle, .pieces = &s.pieces, .done = full_done, .arg = &s};
    ok = ok && cli_pass_run(&full, sets, input, e);
    static const struct {
        const char *name;
        bool warm, precise;
    } ways[] = {{"tbpoint", false, false}, {"none", false, true}, {"functional", true, true}};
    for (int k = 0; k < 3 && ok; k++) {
        cli_sampling one = profile; // the profile is shared
        one.o.warm = ways[k].warm;
        if (!ways[k].precise) one.o.precision = 0;
        one.o.l2_bytes = (uint64_t)gpu->l2_size;
        s.how = ways[k].name;
        cli_sampling_plan(&one);
        cli_pass p = {
            .o = o, .gpu = gpu, .model = &orr_model_cycle, .sampling = &one, .done = sampled_done, .arg = &s};
        ok = cli_pass_run(&p, sets, input, e);
        orr_plan_free(&one.plan);
        free(one.warm);
    }
    if (ok) {
        orr_text_add(t, "  {\"input\": ");
        orr_text_json(t, input);
        orr_text_add(t, ", \"gpu\": \"%s\", \"launches\": %zu, \"blocks\": ", gpu->name,
                     profile.profile.launches.n);
        uint64_t blocks = 0;
        for (size_t l = 0; l < profile.profile.launches.n; l++)
            blocks += profile.profile.launches.at[l].blocks;
        orr_text_add(t,
                     "%llu, \"profile_seconds\": %.3f,\n   \"full\": {\"cycles\": %.0f, \"warp_insts\": "
                     "%.0f, \"seconds\": %.3f},\n   ",
                     (unsigned long long)blocks, profile.profile_seconds, s.cycles, s.insts, s.seconds);
        orr_text_addn(t, s.sampled.s, s.sampled.n);
        estimate(t, "random", &s.random, s.cycles);
        estimate(t, "simpoint", &s.simpoint, s.cycles);
        orr_text_add(t, ",\n   \"launch_cycles\": [%s]}", s.launches.s ? s.launches.s : "");
    }
    free(s.launches.s);
    free(s.sampled.s);
    free(s.pieces.unit.at);
    free(s.pieces.insts.at);
    cli_sampling_free(&profile);
    return ok;
}

int cli_sample(cli_options *o, orr_err *e) {
    const char *what = o->ninputs ? o->inputs[0] : "";
    if (strcmp(what, "model") == 0 && o->ninputs == 1) {
        sample_model(o, e);
        return e->status;
    }
    bool profile = strcmp(what, "profile") == 0, study = strcmp(what, "study") == 0;
    if ((!profile && !study) || o->ninputs < 2 || (profile && o->ninputs > 2)) {
        orr_fail(e, ORR_BAD_INPUT,
                 "sample: say `sample model`, `sample profile INPUT` or `sample study INPUT...`");
        return e->status;
    }
    cli_sets sets;
    cli_split_sets(o, &sets);
    orr_gpu *gpu = NULL;
    cli_load_gpu(o, &sets, &gpu, e);
    if (study && !gpu && !e->status)
        orr_fail(e, ORR_BAD_INPUT, "sample: a study needs a GPU's description; name one with --gpu");
    if (profile && !e->status) sample_profile(o, gpu, &sets, o->inputs[1], e);
    orr_text out = {0};
    if (study && !e->status) {
        orr_text_add(&out, "[\n");
        for (int i = 1; i < o->ninputs && !e->status; i++) {
            if (i > 1) orr_text_add(&out, ",\n");
            study_input(o, gpu, &sets, o->inputs[i], &out, e);
        }
        orr_text_add(&out, "\n]\n");
        if (!e->status) cli_write(o, &out, e);
    }
    free(out.s);
    if (gpu) orr_gpu_free(gpu);
    cli_free_sets(&sets);
    return e->status;
}
