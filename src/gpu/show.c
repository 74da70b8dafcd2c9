// GPU descriptions as people and programs read them: the table of `orrery gpu show`, the list, the
// keys, JSON. Everything comes from params.def; a new parameter shows up here by itself.
#include "gpu/derive.h"
#include "gpu/gpu.h"
#include "gpu/value.h"

#include <stdlib.h>
#include <string.h>

// A table whose columns are as wide as their widest cell. Cells are added row by row.
#define COLUMNS_MAX 8
typedef struct table {
    int columns;
    unsigned right; // columns aligned to the right, as bits
    ORR_VEC(char *) cells;
} table;

static void cell(table *t, orr_text *text) {
    *ORR_PUSH(&t->cells) = text->s ? text->s : orr_calloc(1, 1);
    *text = (orr_text){0};
}

static void cellf(table *t, const char *fmt, ...) {
    char buf[300];
    orr_text text = {0};
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(buf, sizeof buf, fmt, ap);
    va_end(ap);
    orr_text_add(&text, "%s", buf);
    cell(t, &text);
}

// Columns a UTF-8 string takes: its bytes but for continuation bytes.
static int width(const char *s) {
    int n = 0;
    for (; *s; s++) n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

static void table_print(table *t, orr_text *out) {
    int wide[COLUMNS_MAX] = {0};
    for (size_t i = 0; i < t->cells.n; i++) {
        int c = (int)(i % (size_t)t->columns), w = width(t->cells.at[i]);
        if (w > wide[c]) wide[c] = w;
    }
    for (size_t i = 0; i < t->cells.n; i++) {
        int c = (int)(i % (size_t)t->columns), pad = wide[c] - width(t->cells.at[i]);
        bool last = c == t->columns - 1, right = t->right >> c & 1;
        orr_text_add(out, "%*s%s", right ? pad : 0, "", t->cells.at[i]);
        if (!last)
            orr_text_add(out, "%*s", (right ? 0 : pad) + 2, "");
        else {
            while (out->n && out->s[out->n - 1] == ' ') out->s[--out->n] = 0;
            orr_text_add(out, "\n");
        }
    }
    for (size_t i = 0; i < t->cells.n; i++) free(t->cells.at[i]);
    free(t->cells.at);
}

// ---- show -----------------------------------------------------------------------------------

static void where(orr_text *out, const gpu_param *p, const orr_gpu_origin *o) {
    if (o->like)
        orr_text_add(out, "op.%s", o->like);
    else if (!o->file)
        orr_text_add(out, "%s", gpu_is_rule(p->def) ? p->def : "default");
    else if (o->line == 0)
        orr_text_add(out, "%s", o->file);
    else
        orr_text_add(out, "%s:%d", gpu_label(o->file), o->line);
}

static void rows(table *t, const gpu_group *x) {
    const gpu_param *p = x->param;
    const orr_gpu_origin *origin = x->origin;
    orr_text text = {0};
    for (int i = 0; i < x->n; i++) {
        gpu_group_key(x, i, &text);
        cell(t, &text);
        gpu_value_text(&p[i], x->base, &text);
        cell(t, &text);
        where(&text, &p[i], &origin[i]);
        cell(t, &text);
        // Without a comment of its own a value is told by the evidence of its block, else by what it means.
        if (!*origin[i].note && origin[i].evidence != ORR_NO_EVIDENCE)
            orr_text_add(&text, "%s: %s", orr_evidence_name[origin[i].evidence], origin[i].source);
        else
            orr_text_add(&text, "%s", *origin[i].note ? origin[i].note : p[i].meaning);
        cell(t, &text);
    }
}

void orr_gpu_print(const orr_gpu *g, orr_text *out) {
    table t = {.columns = 4};
    cellf(&t, "parameter"), cellf(&t, "value"), cellf(&t, "set in"), cellf(&t, "comment");
    for (int k = 0; k < gpu_groups(g); k++) {
        gpu_group x = gpu_group_at(g, k);
        rows(&t, &x);
    }
    table_print(&t, out);
}

static void members(orr_text *out, const char *indent, const gpu_param *p, int n, const void *base,
                    const orr_gpu_origin *origin) {
    for (int i = 0; i < n; i++) {
        orr_text from = {0};
        where(&from, &p[i], &origin[i]);
        orr_text_add(out, "%s\"%s\": {\"value\": ", indent, p[i].key);
        gpu_value_json(&p[i], base, out);
        if (*p[i].unit && p[i].kind != GPU_ENUM) {
            orr_text_add(out, ", \"unit\": ");
            orr_text_json(out, p[i].unit);
        }
        orr_text_add(out, ", \"set_in\": ");
        orr_text_json(out, from.s);
        orr_text_add(out, ", \"comment\": ");
        orr_text_json(out, origin[i].note);
        orr_text_add(out, ", \"evidence\": \"%s\"}%s\n", orr_evidence_name[origin[i].evidence],
                     i + 1 < n ? "," : "");
        free(from.s);
    }
}

// A group of units or classes: { "fma": { "count": {...}, ... }, ... }
#define GROUP(out, title, n, at, params, nparams)                                                            \
    do {                                                                                                     \
        orr_text_add(out, "  \"" title "\": {%s\n", (n) ? "" : "},");                                        \
        for (int i = 0; i < (n); i++) {                                                                      \
            orr_text_add(out, "    \"%s\": {\n", (at)[i].name);                                              \
            members(out, "      ", params, nparams, &(at)[i], (at)[i].origin);                               \
            orr_text_add(out, "    }%s\n", i + 1 < (n) ? "," : "\n  },");                                    \
        }                                                                                                    \
    } while (0)

void orr_gpu_json(const orr_gpu *g, orr_text *out) {
    orr_text_add(out, "{\n  \"name\": ");
    orr_text_json(out, g->name);
    orr_text_add(out, ",\n  \"file\": ");
    orr_text_json(out, gpu_label(g->path));
    orr_text_add(out, ",\n");
    GROUP(out, "units", g->nunits, g->units, gpu_unit_params, ORR_GPU_UNIT_PARAMS);
    GROUP(out, "ops", g->nops, g->ops, gpu_op_params, ORR_GPU_OP_PARAMS);
    orr_text_add(out, "  \"parameters\": {\n");
    members(out, "    ", gpu_params, ORR_GPU_PARAMS, g, g->origin);
    orr_text_add(out, "  }\n}\n");
}

// ---- evidence ---------------------------------------------------------------------------------

static void count_evidence(const orr_gpu_values *all, int count[ORR_EVIDENCE_KINDS]) {
    for (size_t i = 0; i < all->n; i++) count[all->at[i].evidence]++;
}

// `measured: micro/l2`; of a value from another GPU, `from h200, measured: micro/l2`.
static void evidence_source(orr_text *out, const orr_gpu_value *v) {
    const orr_gpu_origin *o = v->origin;
    if (v->evidence == ORR_INHERITED) {
        const char *label = gpu_label(o->file);
        if (o->chip)
            orr_text_add(out, "from %s", o->chip);
        else
            orr_text_add(out, "from %s", label);
        if (o->evidence != ORR_INHERITED)
            orr_text_add(out, ", %s: ", orr_evidence_name[o->evidence]);
        else if (*o->source)
            orr_text_add(out, ": ");
    }
    orr_text_add(out, "%s", o->source);
}

// A mechanism that was found on `seen`, by measurement, and of which `g` says nothing. Units and classes of
// instructions are not counted: what a description does not name it does not have.
static bool not_known(const orr_gpu *g, const orr_gpu_value *v) {
    bool found = v->evidence == ORR_MEASURED || v->evidence == ORR_CHOSEN;
    return found && v->base != NULL && strncmp(v->key, "unit.", 5) != 0 && strncmp(v->key, "op.", 3) != 0 &&
           !orr_gpu_origin_of(g, v->key);
}

// Those keys, in `quote`s; a line is broken at `wide` characters, 0: never.
static size_t unknown_keys(const orr_gpu *g, const orr_gpu *seen, const char *quote, size_t wide,
                           orr_text *out) {
    orr_gpu_values found = {0};
    size_t n = 0, line = 0;
    if (!seen) return 0;
    orr_gpu_all_values(seen, &found);
    for (size_t i = 0; i < found.n; i++) {
        if (!not_known(g, &found.at[i])) continue;
        size_t length = strlen(found.at[i].key) + 2;
        bool new_line = wide && line + length > wide;
        if (n) orr_text_add(out, new_line ? ",\n" : ", ");
        orr_text_add(out, "%s%s%s", quote, found.at[i].key, quote);
        line = new_line || !n ? length : line + length;
        n++;
    }
    free(found.at);
    return n;
}

static void print_unknown(const orr_gpu *g, const orr_gpu *seen, orr_text *out) {
    orr_text keys = {0};
    size_t n = unknown_keys(g, seen, "", 110, &keys);
    if (n)
        orr_text_add(
            out, "\noff, since nobody is known to have looked for it on this GPU; found on %s (%zu):\n%s\n",
            seen->name, n, keys.s);
    free(keys.s);
}

void orr_gpu_print_evidence(const orr_gpu *g, const orr_gpu *seen, orr_text *out) {
    orr_gpu_values all = {0};
    int count[ORR_EVIDENCE_KINDS] = {0};
    orr_gpu_all_values(g, &all);
    count_evidence(&all, count);
    table t = {.columns = 5};
    cellf(&t, "parameter"), cellf(&t, "value"), cellf(&t, "evidence"), cellf(&t, "set in"),
        cellf(&t, "source");
    for (size_t i = 0; i < all.n; i++) {
        const orr_gpu_value *v = &all.at[i];
        orr_text text = {0};
        cellf(&t, "%s", v->key);
        gpu_value_text(v->param, v->base, &text);
        cell(&t, &text);
        cellf(&t, "%s", orr_evidence_name[v->evidence]);
        where(&text, v->param, v->origin);
        cell(&t, &text);
        evidence_source(&text, v);
        cell(&t, &text);
    }
    table_print(&t, out);
    orr_text_add(out, "\n%zu values:", all.n);
    for (int k = ORR_PUBLISHED; k < ORR_EVIDENCE_KINDS; k++)
        orr_text_add(out, "%s %d %s", k > ORR_PUBLISHED ? "," : "", count[k], orr_evidence_name[k]);
    if (count[ORR_NO_EVIDENCE]) orr_text_add(out, ", %d without evidence", count[ORR_NO_EVIDENCE]);
    orr_text_add(out, "\n");
    print_unknown(g, seen, out);
    free(all.at);
}

void orr_gpu_json_evidence(const orr_gpu *g, const orr_gpu *seen, orr_text *out) {
    orr_gpu_values all = {0};
    int count[ORR_EVIDENCE_KINDS] = {0};
    orr_gpu_all_values(g, &all);
    count_evidence(&all, count);
    orr_text_add(out, "{");
    for (int k = ORR_PUBLISHED; k < ORR_EVIDENCE_KINDS; k++)
        orr_text_add(out, "\"%s\": %d, ", orr_evidence_name[k], count[k]);
    orr_text_add(out, "\"none\": %d, \"values\": [", count[ORR_NO_EVIDENCE]);
    for (size_t i = 0; i < all.n; i++) {
        const orr_gpu_value *v = &all.at[i];
        orr_text from = {0}, source = {0};
        where(&from, v->param, v->origin);
        evidence_source(&source, v);
        orr_text_add(out, "%s\n  {\"key\": \"%s\", \"value\": ", i ? "," : "", v->key);
        gpu_value_json(v->param, v->base, out);
        orr_text_add(out, ", \"evidence\": \"%s\", \"source\": ", orr_evidence_name[v->evidence]);
        orr_text_json(out, source.s ? source.s : "");
        orr_text_add(out, ", \"set_in\": ");
        orr_text_json(out, from.s);
        orr_text_add(out, "}");
        free(from.s);
        free(source.s);
    }
    orr_text_add(out, "\n], \"off\": [");
    unknown_keys(g, seen, "\"", 0, out);
    orr_text_add(out, "]}\n");
    free(all.at);
}

// ---- list -----------------------------------------------------------------------------------

static const char *const memory_name[] = {
    [ORR_DRAM_GDDR5] = "GDDR5",   [ORR_DRAM_GDDR5X] = "GDDR5X", [ORR_DRAM_GDDR6] = "GDDR6",
    [ORR_DRAM_GDDR6X] = "GDDR6X", [ORR_DRAM_GDDR7] = "GDDR7",   [ORR_DRAM_HBM2] = "HBM2",
    [ORR_DRAM_HBM2E] = "HBM2e",   [ORR_DRAM_HBM3] = "HBM3",     [ORR_DRAM_HBM3E] = "HBM3e",
};

void orr_gpu_print_list(orr_gpu *const *g, int n, orr_text *out) {
    table t = {.columns = 8, .right = 0xfc};
    static const char *const title[] = {"name",  "product", "cc",        "SMs",
                                        "clock", "memory",  "bandwidth", "FP32 peak"};
    for (int i = 0; i < 8; i++) cellf(&t, "%s", title[i]);
    for (int i = 0; i < n; i++) {
        cellf(&t, "%s", g[i]->name);
        cellf(&t, "%s", g[i]->product);
        cellf(&t, "%d.%d", g[i]->cc_major, g[i]->cc_minor);
        cellf(&t, "%d", g[i]->sm_count);
        cellf(&t, "%.0f MHz", g[i]->clock_sm);
        cellf(&t, "%.3g GB %s", (double)g[i]->dram_size / 1073741824.0, memory_name[g[i]->dram_kind]);
        cellf(&t, "%.0f GB/s", g[i]->dram_bandwidth);
        cellf(&t, "%.1f TFLOPS", orr_gpu_peak_gflops(g[i], "fp32") / 1000);
    }
    table_print(&t, out);
}

void orr_gpu_json_list(orr_gpu *const *g, int n, orr_text *out) {
    orr_text_add(out, "[");
    for (int i = 0; i < n; i++) {
        orr_text_add(out, "%s\n  {\"name\": ", i ? "," : "");
        orr_text_json(out, g[i]->name);
        orr_text_add(out, ", \"product\": ");
        orr_text_json(out, g[i]->product);
        orr_text_add(out, ", \"family\": ");
        orr_text_json(out, g[i]->family);
        orr_text_add(out, ", \"cc\": \"%d.%d\", \"sms\": %d, \"clock_mhz\": %.10g, ", g[i]->cc_major,
                     g[i]->cc_minor, g[i]->sm_count, g[i]->clock_sm);
        orr_text_add(out, "\"memory\": \"%s\", \"memory_bytes\": %lld, \"bandwidth_gb_s\": %.10g, ",
                     memory_name[g[i]->dram_kind], (long long)g[i]->dram_size, g[i]->dram_bandwidth);
        orr_text_add(out, "\"fp32_gflops\": %.10g}", orr_gpu_peak_gflops(g[i], "fp32"));
    }
    orr_text_add(out, "\n]\n");
}

// ---- keys -----------------------------------------------------------------------------------

// A key with its value where a description says nothing of it: a choice with what else there is, a number
// with its unit.
static void key_cell(table *t, const char *lead, const gpu_param *p) {
    static const char *const kind[] = {"whole", "size", "number", "yes/no", "choice", "text", "list", "row"};
    orr_text text = {0};
    orr_text_add(&text, "| `%s%s` (", lead, p->key);
    if (p->kind == GPU_ENUM) {
        orr_text_add(&text, "%s: ", p->def ? p->def : "required");
        for (const char *c = p->unit; *c; c++)
            *c == '|' ? orr_text_addn(&text, ", ", 2) : orr_text_addn(&text, c, 1);
    } else if (!p->def) {
        orr_text_add(&text, "%s", *p->unit ? p->unit : kind[p->kind]);
    } else if (p->kind == GPU_TEXT || p->kind == GPU_LIST || p->kind == GPU_ROW) {
        orr_text_add(&text, "%s", *p->def ? p->def : "none");
    } else {
        bool unit = *p->unit && !strchr(p->def, ' ') && !gpu_is_rule(p->def);
        orr_text_add(&text, "%s%s%s", p->def, unit ? " " : "", unit ? p->unit : "");
    }
    orr_text_add(&text, ")");
    cell(t, &text);
}

static void key_rows(table *t, const char *lead, const gpu_param *p, int n) {
    for (int i = 0; i < n; i++) {
        key_cell(t, lead, &p[i]);
        cellf(t, "| %s |", p[i].meaning);
    }
}

void orr_gpu_print_keys(orr_text *out) {
    table t = {.columns = 2};
    cellf(&t, "| key (default, or the unit of what must be said)"), cellf(&t, "| meaning |");
    cellf(&t, "|---"), cellf(&t, "|---|");
    key_rows(&t, "", gpu_params, ORR_GPU_PARAMS);
    key_rows(&t, "unit.NAME.", gpu_unit_params, ORR_GPU_UNIT_PARAMS);
    key_rows(&t, "op.CLASS.", gpu_op_params, ORR_GPU_OP_PARAMS);
    table_print(&t, out);
}

static void key_objects(orr_text *out, const char *lead, const gpu_param *p, int n) {
    for (int i = 0; i < n; i++) {
        orr_text_add(out, "%s\n  {\"key\": \"%s%s\", \"unit\": ", *lead || i ? "," : "", lead, p[i].key);
        orr_text_json(out, p[i].unit);
        orr_text_add(out, ", \"default\": ");
        if (p[i].def)
            orr_text_json(out, p[i].def);
        else
            orr_text_add(out, "null");
        if (p[i].kind == GPU_INT || p[i].kind == GPU_SIZE || p[i].kind == GPU_REAL)
            orr_text_add(out, ", \"range\": [%.15g, %.15g]", p[i].lo, p[i].hi);
        orr_text_add(out, ", \"meaning\": ");
        orr_text_json(out, p[i].meaning);
        orr_text_add(out, "}");
    }
}

void orr_gpu_json_keys(orr_text *out) {
    orr_text_add(out, "[");
    key_objects(out, "", gpu_params, ORR_GPU_PARAMS);
    key_objects(out, "unit.NAME.", gpu_unit_params, ORR_GPU_UNIT_PARAMS);
    key_objects(out, "op.CLASS.", gpu_op_params, ORR_GPU_OP_PARAMS);
    orr_text_add(out, "\n]\n");
}
