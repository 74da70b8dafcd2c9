// The models side by side (models.h), as text, CSV and JSON.
//
// A kernel is one row for each model, all its launches in a script together, so that a script that launches
// one kernel four hundred times does not outvote the others in the averages. Errors against the hardware are
// over the launches that were measured.
#include "lab/models.h"

#include "lab/lab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOTHING ((double)NAN)

double orr_side_error(double predicted, double reference) {
    if (isnan(predicted) || isnan(reference) || reference == 0) return NOTHING;
    return 100 * (predicted - reference) / reference;
}

static double cycle_error(const orr_sides *s, const orr_side_kernel *k, int model) {
    return s->cycle < 0 ? NOTHING : orr_side_error(k->models[model].cycles, k->models[s->cycle].cycles);
}

static double hardware_error(const orr_side_kernel *k, int model) {
    return orr_side_error(k->models[model].measured, k->hardware);
}

static double speedup(const orr_sides *s, const orr_side_kernel *k, int model) {
    if (s->cycle < 0 || k->models[model].failure || k->models[s->cycle].failure) return NOTHING;
    return k->models[model].seconds > 0 ? k->models[s->cycle].seconds / k->models[model].seconds : NOTHING;
}

void orr_sides_average(const orr_sides *s, int model, orr_side_average *a) {
    double cycle_seconds = 0, mine = 0, near = 0;
    *a = (orr_side_average){.speedup = NOTHING};
    for (size_t i = 0; i < s->inputs.n; i++)
        for (size_t j = 0; j < s->inputs.at[i].kernels.n; j++) {
            const orr_side_kernel *k = &s->inputs.at[i].kernels.at[j];
            double c = fabs(cycle_error(s, k, model)), h = fabs(hardware_error(k, model));
            a->kernels++;
            a->failed += k->models[model].failure != NULL;
            a->seconds += k->models[model].seconds;
            if (!isnan(speedup(s, k, model))) {
                cycle_seconds += k->models[s->cycle].seconds;
                mine += k->models[model].seconds;
            }
            if (!isnan(c)) {
                a->cycle_errors++;
                a->cycle_error += c;
                if (c > a->cycle_worst) a->cycle_worst = c;
            }
            if (!isnan(h)) {
                a->hardware_errors++;
                a->hardware_error += h;
                near += h < 10;
                if (h > a->hardware_worst) a->hardware_worst = h;
            }
        }
    a->cycle_error = a->cycle_errors ? a->cycle_error / (double)a->cycle_errors : NOTHING;
    a->hardware_error = a->hardware_errors ? a->hardware_error / (double)a->hardware_errors : NOTHING;
    a->hardware_within_10 = a->hardware_errors ? 100 * near / (double)a->hardware_errors : NOTHING;
    if (!a->cycle_errors) a->cycle_worst = NOTHING;
    if (!a->hardware_errors) a->hardware_worst = NOTHING;
    if (mine > 0) a->speedup = cycle_seconds / mine;
}

void orr_sides_free(orr_sides *s) {
    for (size_t i = 0; i < s->inputs.n; i++) free(s->inputs.at[i].kernels.at);
    free(s->inputs.at);
    orr_arena_free(&s->arena);
    *s = (orr_sides){0};
}

// ---- text -----------------------------------------------------------------------------------------
static const char *percent(char buf[24], double v, bool sign) {
    if (isnan(v))
        snprintf(buf, 24, "-");
    else
        snprintf(buf, 24, sign ? "%+.1f %%" : "%.1f %%", v);
    return buf;
}

static const char *fixed(char buf[24], double v, int digits) {
    if (isnan(v))
        snprintf(buf, 24, "-");
    else
        snprintf(buf, 24, "%.*f", digits, v);
    return buf;
}

static const char *whole(char buf[32], double v) {
    return isnan(v) || v < 0 || v > 9e18 ? "-" : orr_commas(buf, (uint64_t)(v + 0.5));
}

static void text_kernel(const orr_sides *s, const orr_side_kernel *k, int width, orr_text *t) {
    char a[32], b[24], c[24], d[24], f[24];
    orr_text_add(t, "%-*.48s %8u", width, k->name, k->launches);
    const char *rest = "";
    if (!isnan(k->hardware)) {
        double cycle = s->cycle < 0 ? NOTHING : k->models[s->cycle].measured;
        orr_text_add(t, "  %-10s %16s %10s", "hardware", whole(a, k->hardware),
                     percent(b, orr_side_error(k->hardware, cycle), true));
        if (k->measured_launches != k->launches) orr_text_add(t, "  (of %u launches)", k->measured_launches);
        orr_text_add(t, "\n");
        rest = "x";
    }
    for (int m = 0; m < s->nmodels; m++) {
        const orr_side *x = &k->models[m];
        if (*rest) orr_text_add(t, "%*s", width + 9, "");
        rest = "x";
        orr_text_add(t, "  %-10s %16s %10s %12s %10s %9s", s->models[m]->name, whole(a, x->cycles),
                     m == s->cycle ? "" : percent(b, cycle_error(s, k, m), true),
                     percent(c, hardware_error(k, m), true), fixed(d, x->failure ? NOTHING : x->seconds, 3),
                     fixed(f, speedup(s, k, m), 1));
        if (x->failure) orr_text_add(t, "  no prediction: %s", x->failure);
        orr_text_add(t, "\n");
    }
    if (!isnan(k->execute))
        orr_text_add(t, "%*s  %-10s %16s %10s %12s %10.3f\n", width + 9, "", "execution", "", "", "",
                     k->execute);
}

static void text_averages(const orr_sides *s, orr_text *t) {
    orr_text_add(t, "%-10s %8s %14s %10s %14s %10s %12s %10s %9s\n", "average", "kernels", "to cycle, mean",
                 "largest", "to hardware", "largest", "within 10 %", "seconds", "speed-up");
    for (int m = 0; m < s->nmodels; m++) {
        orr_side_average a;
        char b[6][24];
        orr_sides_average(s, m, &a);
        orr_text_add(t, "%-10s %8zu %14s %10s %14s %10s %12s %10s %9s", s->models[m]->name, a.kernels,
                     m == s->cycle ? "" : percent(b[0], a.cycle_error, false),
                     m == s->cycle ? "" : percent(b[1], a.cycle_worst, false),
                     percent(b[2], a.hardware_error, false), percent(b[3], a.hardware_worst, false),
                     percent(b[4], a.hardware_within_10, false), fixed(b[5], a.seconds, 3),
                     fixed((char[24]){0}, a.speedup, 1));
        if (a.failed) orr_text_add(t, "  (%zu without a prediction)", a.failed);
        orr_text_add(t, "\n");
    }
}

void orr_sides_text(const orr_sides *s, orr_text *t) {
    size_t kernels = 0;
    for (size_t i = 0; i < s->inputs.n; i++) {
        const orr_side_input *in = &s->inputs.at[i];
        int width = 6;
        kernels += in->kernels.n;
        orr_text_add(t, "%s%s%s%s on %s, %s", i ? "\n" : "", in->input, *in->size ? ", " : "", in->size,
                     s->gpu,
                     !strcmp(in->source, "sass")    ? "machine code"
                     : !strcmp(in->source, "trace") ? "recorded"
                     : !strcmp(in->source, "tasks") ? "a task list"
                                                    : "PTX");
        if (*in->cache) orr_text_add(t, "; hardware: %s, caches %s", s->hw_gpu, in->cache);
        orr_text_add(t, "\n");
        if (in->failure) orr_text_add(t, "failed: %s\n", in->failure);
        if (!in->kernels.n) continue;
        for (size_t k = 0; k < in->kernels.n; k++) {
            int n = (int)strlen(in->kernels.at[k].name);
            if (n > width) width = n < 48 ? n : 48;
        }
        orr_text_add(t, "%-*s %8s  %-10s %16s %10s %12s %10s %9s\n", width, "kernel", "launches", "model",
                     "cycles", "to cycle", "to hardware", "seconds", "speed-up");
        for (size_t k = 0; k < in->kernels.n; k++) text_kernel(s, &in->kernels.at[k], width, t);
    }
    if (kernels > 1) {
        orr_text_add(t, "\n");
        text_averages(s, t);
    }
    orr_text_add(t, "\n%d host thread%s; seconds are of whole launches, execution included\n", s->threads,
                 s->threads == 1 ? "" : "s");
}

// ---- CSV ------------------------------------------------------------------------------------------
static void csv_row(const orr_sides *s, const orr_side_input *in, const orr_side_kernel *k, int m,
                    orr_text *t) {
    const orr_side *x = &k->models[m];
    const double v[] = {x->cycles,       x->time_ns,           cycle_error(s, k, m),
                        k->hardware,     hardware_error(k, m), x->failure ? NOTHING : x->seconds,
                        speedup(s, k, m)};
    orr_csv_add(t, in->input);
    orr_text_add(t, ",");
    orr_csv_add(t, in->size);
    orr_text_add(t, ",");
    orr_csv_add(t, k->name);
    orr_text_add(t, ",%u,%s", k->launches, s->models[m]->name);
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        orr_text_add(t, ",");
        orr_csv_add_number(t, v[i]);
    }
    orr_text_add(t, ",");
    orr_csv_add(t, x->failure ? x->failure : "");
    orr_text_add(t, "\n");
}

void orr_sides_csv(const orr_sides *s, orr_text *t) {
    orr_text_add(t, "input,size,kernel,launches,model,cycles,time_ns,cycle_error_pct,hardware_cycles,"
                    "hardware_error_pct,seconds,speedup,failure\n");
    for (size_t i = 0; i < s->inputs.n; i++) {
        const orr_side_input *in = &s->inputs.at[i];
        for (size_t j = 0; j < in->kernels.n; j++) {
            const orr_side_kernel *k = &in->kernels.at[j];
            for (int m = 0; m < s->nmodels; m++) csv_row(s, in, k, m, t);
        }
    }
}

// ---- JSON -----------------------------------------------------------------------------------------
static void add(orr_text *t, const char *key, double v) {
    if (isnan(v) || isinf(v))
        orr_text_add(t, ", \"%s\": null", key);
    else
        orr_text_add(t, ", \"%s\": %.15g", key, v);
}

static void json_kernel(const orr_sides *s, const orr_side_kernel *k, orr_text *t) {
    orr_text_add(t, "      {\"kernel\": ");
    orr_text_json(t, k->name);
    orr_text_add(t, ", \"launches\": %u", k->launches);
    add(t, "hardware_cycles", k->hardware);
    add(t, "execute_seconds", k->execute);
    orr_text_add(t, ", \"models\": [");
    for (int m = 0; m < s->nmodels; m++) {
        const orr_side *x = &k->models[m];
        orr_text_add(t, "%s\n        {\"model\": \"%s\"", m ? "," : "", s->models[m]->name);
        add(t, "cycles", x->cycles);
        add(t, "time_ns", x->time_ns);
        add(t, "cycle_error_pct", cycle_error(s, k, m));
        add(t, "hardware_error_pct", hardware_error(k, m));
        add(t, "seconds", x->failure ? NOTHING : x->seconds);
        add(t, "speedup", speedup(s, k, m));
        if (x->failure) {
            orr_text_add(t, ", \"failure\": ");
            orr_text_json(t, x->failure);
        }
        orr_text_add(t, "}");
    }
    orr_text_add(t, "]}");
}

void orr_sides_json(const orr_sides *s, orr_text *t) {
    orr_text_add(t, "{\n  \"gpu\": ");
    orr_text_json(t, s->gpu);
    orr_text_add(t, ",\n  \"hardware\": ");
    orr_text_json(t, s->hw_gpu);
    orr_text_add(t, ",\n  \"threads\": %d,\n  \"inputs\": [", s->threads);
    for (size_t i = 0; i < s->inputs.n; i++) {
        const orr_side_input *in = &s->inputs.at[i];
        orr_text_add(t, "%s\n    {\"input\": ", i ? "," : "");
        orr_text_json(t, in->input);
        orr_text_add(t, ", \"size\": ");
        orr_text_json(t, in->size);
        orr_text_add(t, ", \"source\": \"%s\", \"caches\": \"%s\"", in->source, in->cache);
        if (in->failure) {
            orr_text_add(t, ", \"failure\": ");
            orr_text_json(t, in->failure);
        }
        orr_text_add(t, ", \"kernels\": [");
        for (size_t k = 0; k < in->kernels.n; k++) {
            orr_text_add(t, k ? ",\n" : "\n");
            json_kernel(s, &in->kernels.at[k], t);
        }
        orr_text_add(t, "]}");
    }
    orr_text_add(t, "],\n  \"averages\": [");
    for (int m = 0; m < s->nmodels; m++) {
        orr_side_average a;
        orr_sides_average(s, m, &a);
        orr_text_add(t, "%s\n    {\"model\": \"%s\", \"kernels\": %zu, \"failed\": %zu", m ? "," : "",
                     s->models[m]->name, a.kernels, a.failed);
        add(t, "cycle_error_pct", a.cycle_error);
        add(t, "cycle_worst_pct", a.cycle_worst);
        add(t, "hardware_error_pct", a.hardware_error);
        add(t, "hardware_worst_pct", a.hardware_worst);
        add(t, "hardware_within_10_pct", a.hardware_within_10);
        add(t, "seconds", a.seconds);
        add(t, "speedup", a.speedup);
        orr_text_add(t, "}");
    }
    orr_text_add(t, "]\n}\n");
}
