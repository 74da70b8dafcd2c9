// orr_sample_model, _profile and _study: the mathematics behind sampling, profiles, and how well it does.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/api.h"
#include "report/html.h"

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

static orr_report *report_of(const char *kind, orr_text text, orr_text json) {
    orr_text page = {0};
    orr_html_job(kind, json.s, &page);
    orr_report *r = orr_report_of(text, json);
    orr_report_add(r, ORR_HTML, page);
    return r;
}

orr_report *orr_sample_model(const orr_options *o, orr_err *e) {
    if (e->status) return NULL;
    (void)o;
    orr_markov_study s[STUDIES];
    for (int n = 0; n < STUDIES; n++) {
        s[n] = (orr_markov_study){.p = stall[n / 8], .mean = cycles[n / 4 % 2], .n = warps[n % 4]};
        orr_markov_draw(&s[n], DRAWS, (uint64_t)n + 1);
    }
    orr_text csv = {0}, plot = {0}, text = {0}, json = {0};
    model_csv(s, &csv);
    model_plot(s, &plot);
    model_json(s, &json);
    model_text(s, &text);
    orr_report *r = report_of("sample model", text, json);
    orr_report_add(r, ORR_CSV, csv);
    orr_report_add(r, ORR_SVG, plot);
    return r;
}

// ---- sample profile -----------------------------------------------------------------------------
static bool make_profile(const orr_options *o, const orr_gpu *gpu, const char *input, orr_sampled *s,
                         orr_err *e) {
    orr_input_pass p = {.o = o, .gpu = gpu, .model = &orr_profiling, .sampling = s};
    s->expected = orr_input_digest(&o->in, input);
    double start = orr_seconds();
    bool ok = orr_input_pass_run(&p, input, e);
    s->profile_seconds = orr_seconds() - start;
    return ok;
}

static void print_profile(const orr_sampled *s, orr_text *t) {
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

static void profile_json(const orr_sampled *s, orr_text *t) {
    orr_text_add(t, "{\"clusters\": %u, \"launches\": [", s->plan.nclusters);
    for (size_t l = 0; l < s->profile.launches.n; l++) {
        const orr_sp_launch *x = &s->profile.launches.at[l];
        orr_text_add(t, "%s\n  {\"kernel\": ", l ? "," : "");
        orr_text_json(t, s->profile.kernels.at[x->kernel].name);
        orr_text_add(t,
                     ", \"blocks\": %llu, \"thread_insts\": %llu, \"warp_insts\": %llu, \"requests\": %llu, "
                     "\"cov\": %.6f, \"cluster\": %u, \"by\": %u}",
                     (unsigned long long)x->blocks, (unsigned long long)x->thread_insts,
                     (unsigned long long)x->warp_insts, (unsigned long long)x->requests, x->cov,
                     s->plan.launches[l].cluster, s->plan.launches[l].by);
    }
    orr_text_add(t, "]}\n");
}

orr_report *orr_sample_profile(const char *input, const orr_options *o, orr_err *e) {
    if (e->status) return NULL;
    o = orr_asked(o);
    orr_gpu *gpu = NULL;
    orr_sampled s = {.o = orr_sample_defaults()};
    orr_report *r = NULL;
    bool ok = orr_input_check(&o->in, e) && orr_asked_gpu(o, &gpu, e) && make_profile(o, gpu, input, &s, e);
    if (ok || (e->status == ORR_STOPPED && s.profile.launches.n)) { // stopped: the launches until then
        orr_text text = {0}, json = {0};
        orr_sampled_plan(&s);
        print_profile(&s, &text);
        if (!ok) orr_text_add(&text, "stopped: there may be more launches than these\n");
        profile_json(&s, &json);
        r = report_of("sample profile", text, json);
        if (ok && o->sampling.profile && !orr_sp_write(&s.profile, o->sampling.profile, e)) {
            orr_report_free(r);
            r = NULL;
        }
    }
    orr_sampled_free(&s);
    orr_gpu_free(gpu);
    return r;
}

// ---- sample study -------------------------------------------------------------------------------
enum { TBPOINT, WARM, RANDOM, SIMPOINT, WAYS };
static const struct {
    const char *name, *label; // in JSON, in the table
    bool warm, precise;
} ways[WAYS] = {{"tbpoint", "two units", false, false},
                {"functional", "steady, warm", true, true},
                {"random", "random 10 %", false, false},
                {"simpoint", "SimPoint", false, false}};

typedef struct study { // of one INPUT
    const char *input;
    size_t launches;
    uint64_t blocks;
    double cycles, insts, seconds, cpu; // simulated in full; cpu: of the processor, as time(1)'s user
    double profile_seconds, profile_cpu;
    struct outcome {
        bool done;
        double cycles, error, size, inter, intra, bound, seconds, cpu;
        uint32_t clusters, points;
    } of[WAYS];
    int way;
    orr_pieces pieces;
    size_t npieces;
    orr_text by_launch; // "cycles, cycles, ..."
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
        orr_text_add(&s->by_launch, "%s%.0f", l ? ", " : "", x->cycles);
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
    s->npieces = s->pieces.unit.n;
    // Ten draws: one would say more of luck than of the method. Their errors are averaged without their
    // signs.
    struct outcome *o = &s->of[RANDOM];
    for (uint64_t draw = 1; draw <= 10; draw++) {
        orr_estimate x = orr_random_estimate(&s->pieces, 0.1, draw);
        o->error += fabs(x.cycles / s->cycles - 1) / 10;
        o->size += x.sample / 10;
        o->points = x.points;
    }
    o->done = true;
    o->cycles = s->cycles * (1 + o->error);
    orr_estimate x = orr_simpoint_estimate(&s->pieces, kernel_of, first, dims, 30, 1);
    s->of[SIMPOINT] = (struct outcome){.done = true,
                                       .cycles = x.cycles,
                                       .error = x.cycles / s->cycles - 1,
                                       .size = x.sample,
                                       .points = x.points};
    free(kernels);
    free(first);
    free(kernel_of);
}

static void sampled_done(void *arg, orr_result *r) {
    study *s = arg;
    const orr_sample_result *x = r->sample;
    double n = (double)x->insts;
    s->of[s->way] = (struct outcome){.done = true,
                                     .cycles = x->cycles,
                                     .error = x->cycles / s->cycles - 1,
                                     .size = (double)x->simulated_insts / n,
                                     .inter = (double)x->skipped_inter / n,
                                     .intra = (double)x->skipped_intra / n,
                                     .bound = x->bound,
                                     .seconds = r->host.seconds,
                                     .clusters = x->clusters};
}

// What a full simulation said, kept in a file for when only sampling changes: simulating is what takes time.
// Nobody can tell whether the cycle model is still the same: who changes it removes the file.
static uint64_t full_digest(const orr_options *o, const orr_gpu *gpu, const study *s) {
    orr_text t = {0};
    orr_gpu_json(gpu, &t);
    orr_text_add(&t, " %016llx %llu", (unsigned long long)orr_input_digest(&o->in, s->input),
                 (unsigned long long)s->pieces.size);
    uint64_t digest = orr_hash64(t.s, t.n, 1);
    free(t.s);
    return digest;
}

static bool full_write(const study *s, uint64_t digest, const char *path, orr_err *e) {
    orr_text t = {0};
    const struct outcome *a = &s->of[RANDOM], *b = &s->of[SIMPOINT];
    orr_text_add(&t, "orrery full simulation 1 %016llx\n%.17g %.17g %.17g %.17g %zu\n",
                 (unsigned long long)digest, s->cycles, s->insts, s->seconds, s->cpu, s->npieces);
    orr_text_add(&t, "%.17g %.17g %.17g %u\n", a->cycles, a->error, a->size, a->points);
    orr_text_add(&t, "%.17g %.17g %.17g %u\n%s\n", b->cycles, b->error, b->size, b->points,
                 s->by_launch.s ? s->by_launch.s : "");
    bool ok = orr_write_file(path, t.s, t.n, e);
    free(t.s);
    return ok;
}

// The launches' cycles are only copied: digits, commas and blanks.
static bool full_read(study *s, uint64_t digest, const char *path, orr_err *e) {
    size_t size;
    char *text = orr_read_file(path, 1u << 28, &size, e);
    if (!text) return false;
    unsigned long long was = 0;
    struct outcome *a = &s->of[RANDOM], *b = &s->of[SIMPOINT];
    int at = 0;
    bool ok =
        memchr(text, 0, size) == NULL &&
        sscanf(text, "orrery full simulation 1 %16llx %lf %lf %lf %lf %zu %lf %lf %lf %u %lf %lf %lf %u%n",
               &was, &s->cycles, &s->insts, &s->seconds, &s->cpu, &s->npieces, &a->cycles, &a->error,
               &a->size, &a->points, &b->cycles, &b->error, &b->size, &b->points, &at) == 14 &&
        s->cycles > 0 && s->insts > 0;
    const double all[] = {s->cycles, s->insts, s->seconds, s->cpu,   a->cycles,
                          a->error,  a->size,  b->cycles,  b->error, b->size};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) ok = ok && isfinite(all[i]);
    ok = ok && text[at] == '\n' && strspn(text + at + 1, "0123456789, ") + (size_t)at + 2 == size;
    if (ok) orr_text_addn(&s->by_launch, text + at + 1, size - (size_t)at - 2);
    free(text);
    a->done = b->done = ok;
    if (!ok) return orr_fail(e, ORR_BAD_INPUT, "%s: damaged; remove it to have it made again", path);
    return was == digest ||
           orr_fail(e, ORR_BAD_INPUT,
                    "%s: of another script, size, GPU or --piece; remove it to have it made again", path);
}

static double cpu_seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

// One INPUT: simulated in full; sampled until two units agree, and until a region is steady with L2 kept
// warm; estimated from pieces of the full simulation.
static void study_input(const orr_options *o, const orr_gpu *gpu, study *s, orr_err *e) {
    const char *kept = o->sampling.full;
    orr_sampled profile = {0};
    double start = cpu_seconds();
    bool ok = orr_sampled_options(o->sampling.warm, o->sampling.precision, gpu, &profile.o, e) &&
              make_profile(o, gpu, s->input, &profile, e);
    s->profile_cpu = cpu_seconds() - start;
    s->pieces.size = o->sampling.piece ? o->sampling.piece : 50000;
    orr_input_pass full = {
        .o = o, .gpu = gpu, .model = &orr_model_cycle, .pieces = &s->pieces, .done = full_done, .arg = s};
    uint64_t digest = full_digest(o, gpu, s);
    if (ok && kept && access(kept, F_OK) == 0) {
        ok = full_read(s, digest, kept, e);
    } else {
        start = cpu_seconds();
        ok = ok && orr_input_pass_run(&full, s->input, e);
        s->cpu = cpu_seconds() - start;
        ok = ok && (!kept || full_write(s, digest, kept, e));
    }
    for (s->way = 0; s->way < RANDOM && ok; s->way++) {
        orr_sampled one = profile; // the profile is shared
        one.o.warm = ways[s->way].warm;
        if (!ways[s->way].precise) one.o.precision = one.o.total = 0;
        orr_sampled_plan(&one);
        orr_input_pass p = {
            .o = o, .gpu = gpu, .model = &orr_model_cycle, .sampling = &one, .done = sampled_done, .arg = s};
        start = cpu_seconds();
        ok = orr_input_pass_run(&p, s->input, e);
        s->of[s->way].cpu = cpu_seconds() - start;
        orr_plan_free(&one.plan);
        free(one.warm);
    }
    s->launches = profile.profile.launches.n;
    for (size_t l = 0; l < s->launches; l++) s->blocks += profile.profile.launches.at[l].blocks;
    s->profile_seconds = profile.profile_seconds;
    orr_sampled_free(&profile);
}

static void study_json(const study *s, const orr_gpu *gpu, orr_text *t) {
    orr_text_add(t, "  {\"input\": ");
    orr_text_json(t, s->input);
    orr_text_add(t,
                 ", \"gpu\": \"%s\", \"sms\": %d, \"sm_warps\": %d, \"launches\": %zu, \"blocks\": %llu,\n",
                 gpu->name, gpu->sm_count, gpu->limit_sm_warps, s->launches, (unsigned long long)s->blocks);
    orr_text_add(t,
                 "   \"profile_seconds\": %.3f, \"profile_cpu_seconds\": %.3f, \"full\": {\"cycles\": %.0f, "
                 "\"warp_insts\": %.0f, \"seconds\": %.3f, \"cpu_seconds\": %.3f}",
                 s->profile_seconds, s->profile_cpu, s->cycles, s->insts, s->seconds, s->cpu);
    for (int w = 0; w < WAYS; w++) {
        const struct outcome *x = &s->of[w];
        if (!x->done) continue; // it was stopped before
        orr_text_add(t, ",\n   \"%s\": {\"cycles\": %.1f, \"error\": %.6f, \"sample_size\": %.6f",
                     ways[w].name, x->cycles, x->error, x->size);
        if (w < RANDOM)
            orr_text_add(t,
                         ", \"skipped_by_launches\": %.6f, \"skipped_by_blocks\": %.6f, \"clusters\": %u, "
                         "\"bound\": %.6f, "
                         "\"seconds\": %.3f, \"cpu_seconds\": %.3f}",
                         x->inter, x->intra, x->clusters, x->bound, x->seconds, x->cpu);
        else
            orr_text_add(t, ", \"points\": %u, \"pieces\": %zu}", x->points, s->npieces);
    }
    orr_text_add(t, ",\n   \"launch_cycles\": [%s]}", s->by_launch.s ? s->by_launch.s : "");
}

static double at_least(double x) { return fmax(fabs(x), 1e-5); } // a geometric mean bears no 0

static void study_text(const study *s, int n, orr_text *t) {
    orr_text_add(t, "%-26s %8s %8s %14s", "", "launches", "blocks", "cycles");
    for (int w = 0; w < WAYS; w++) orr_text_add(t, "  %17s", ways[w].label);
    orr_text_add(t, "\n");
    double error[WAYS] = {0}, size[WAYS] = {0};
    bool whole = true; // nothing was stopped
    for (int i = 0; i < n; i++) {
        char a[32];
        orr_text_add(t, "%-26.26s %8zu %8llu %14s", s[i].input, s[i].launches,
                     (unsigned long long)s[i].blocks, orr_commas(a, (uint64_t)s[i].cycles));
        for (int w = 0; w < WAYS; w++) {
            if (s[i].of[w].done)
                orr_text_add(t, "  %7.2f%% %7.2f%%", 100 * s[i].of[w].error, 100 * s[i].of[w].size);
            else
                orr_text_add(t, "  %8s %8s", "-", "-");
            whole = whole && s[i].of[w].done;
            error[w] += log(at_least(s[i].of[w].error)) / n;
            size[w] += log(at_least(s[i].of[w].size)) / n;
        }
        orr_text_add(t, "\n");
    }
    if (!whole) return;
    orr_text_add(t, "%-59s", "geometric means: error, share simulated");
    for (int w = 0; w < WAYS; w++)
        orr_text_add(t, "  %7.2f%% %7.2f%%", 100 * exp(error[w]), 100 * exp(size[w]));
    orr_text_add(t, "\n");
}

static orr_report *study_report(const study *s, int n, const orr_gpu *gpu) {
    orr_text text = {0}, json = {0};
    for (int i = 0; i < n; i++) {
        orr_text_add(&json, i ? ",\n" : "[\n");
        study_json(&s[i], gpu, &json);
    }
    orr_text_add(&json, "\n]\n");
    study_text(s, n, &text);
    return report_of("sample study", text, json);
}

orr_report *orr_sample_study(const char *const *inputs, int n, const orr_options *o, orr_err *e) {
    if (e->status) return NULL;
    o = orr_asked(o);
    orr_gpu *gpu = NULL;
    if (!orr_input_check(&o->in, e) || !orr_asked_gpu(o, &gpu, e)) return NULL;
    if (o->sampling.full && n > 1)
        orr_fail(e, ORR_BAD_INPUT, "sample: --full FILE is of one INPUT, and there are %d", n);
    if (!gpu) orr_fail(e, ORR_BAD_INPUT, "sample: a study needs a GPU's description; name one with --gpu");
    study *s = orr_calloc((size_t)n + 1, sizeof *s);
    int done = 0;
    for (int i = 0; i < n && !e->status; i++) {
        s[i].input = inputs[i];
        study_input(o, gpu, &s[i], e);
        done += s[i].cycles > 0; // simulated in full, which all else is compared with
    }
    // A study that was stopped says what it has found by then.
    bool some = !e->status || (e->status == ORR_STOPPED && done);
    orr_report *r = some ? study_report(s, done, gpu) : NULL;
    for (int i = 0; i < n; i++) {
        free(s[i].by_launch.s);
        free(s[i].pieces.unit.at);
        free(s[i].pieces.insts.at);
    }
    free(s);
    orr_gpu_free(gpu);
    return r;
}
