// Why a description has the value it has: read from the comment, judged for the description that asks.
//
// A comment begins with one of five words:
//
//   l2.ways     = 16 ways       # published: Jia et al. 2018
//   l2.latency  = 281 cycles    # measured: micro/l2, l2.size up to 24 MB
//   l2.same_line_store   = 10 cycles   # chosen: by micro/steps among 8, 10, 12
//   l1.mshr_merges   = 48 requests   # assumed: as Accel-Sim SM86_RTX3070
//   l2.spread   = 50 cycles     # inherited from h200: the same chip
//
// or stands alone on a line before a run of values, up to the next blank line, and then holds for those of
// them that do not say otherwise. What was measured on one GPU is, for every other description that has it,
// inherited.
#include "gpu/evidence.h"

#include <stdlib.h>
#include <string.h>

const char *const orr_evidence_name[ORR_EVIDENCE_KINDS] = {"none",   "published", "measured",
                                                           "chosen", "assumed",   "inherited"};

static size_t skip_space(const char *s, size_t n, size_t at) {
    while (at < n && (s[at] == ' ' || s[at] == '\t')) at++;
    return at;
}

gpu_evidence gpu_evidence_read(const char *s, size_t n, orr_arena *a) {
    gpu_evidence none = {ORR_NO_EVIDENCE, "", NULL};
    for (int kind = ORR_PUBLISHED; kind < ORR_EVIDENCE_KINDS; kind++) {
        size_t length = strlen(orr_evidence_name[kind]), at = length;
        if (n < length || memcmp(s, orr_evidence_name[kind], length) != 0) continue;
        gpu_evidence e = {kind, "", NULL};
        if (kind == ORR_INHERITED) { // ` from NAME`
            static const char from[] = " from ";
            if (n < at + sizeof from - 1 || memcmp(s + at, from, sizeof from - 1) != 0) return none;
            size_t start = at += sizeof from - 1;
            while (at < n && s[at] != ':' && s[at] != ' ') at++;
            if (at == start) return none;
            e.chip = orr_arena_strndup(a, s + start, at - start);
            if (at == n) return e;
        }
        if (at >= n || s[at] != ':') return none;
        at = skip_space(s, n, at + 1);
        e.source = orr_arena_strndup(a, s + at, n - at);
        return at < n || kind == ORR_INHERITED ? e : none;
    }
    return none;
}

// The name of a description's file, without folder and .conf.
static bool is_file_of(const char *path, const char *name) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t n = strlen(name);
    return strncmp(base, name, n) == 0 && (base[n] == 0 || strcmp(base + n, ".conf") == 0);
}

enum orr_evidence orr_evidence_of(const orr_gpu *g, const orr_gpu_origin *o) {
    if (o->evidence != ORR_MEASURED && o->evidence != ORR_CHOSEN) return (enum orr_evidence)o->evidence;
    bool own = o->chip ? strcmp(o->chip, g->name) == 0 : is_file_of(o->file, g->name);
    return own ? (enum orr_evidence)o->evidence : ORR_INHERITED;
}

void orr_gpu_all_values(const orr_gpu *g, orr_gpu_values *all) {
    orr_text key = {0};
    for (int k = 0; k < gpu_groups(g); k++) {
        gpu_group x = gpu_group_at(g, k);
        for (int i = 0; i < x.n; i++) {
            if (!x.origin[i].file) continue;
            orr_gpu_value *v = ORR_PUSH(all);
            *v = (orr_gpu_value){.origin = &x.origin[i],
                                 .evidence = orr_evidence_of(g, &x.origin[i]),
                                 .param = &x.param[i],
                                 .base = x.base};
            key.n = 0;
            gpu_group_key(&x, i, &key);
            snprintf(v->key, sizeof v->key, "%s", key.s);
        }
    }
    free(key.s);
}

static const orr_gpu_origin *find(const gpu_param *p, int n, const char *key, const orr_gpu_origin *origin) {
    for (int i = 0; i < n; i++)
        if (strcmp(p[i].key, key) == 0) return origin[i].file ? &origin[i] : NULL;
    return NULL;
}

// `key` behind `lead` and `name`, each with a point; NULL: it does not begin so.
static const char *behind(const char *key, const char *lead, const char *name) {
    size_t l = strlen(lead), n = strlen(name);
    if (strncmp(key, lead, l) != 0 || strncmp(key + l, name, n) != 0 || key[l + n] != '.') return NULL;
    return key + l + n + 1;
}

const orr_gpu_origin *orr_gpu_origin_of(const orr_gpu *g, const char *key) {
    const orr_gpu_origin *o = find(gpu_params, ORR_GPU_PARAMS, key, g->origin);
    const char *rest;
    for (int i = 0; !o && i < g->nunits; i++)
        if ((rest = behind(key, "unit.", g->units[i].name)) != NULL)
            o = find(gpu_unit_params, ORR_GPU_UNIT_PARAMS, rest, g->units[i].origin);
    for (int i = 0; !o && i < g->nops; i++)
        if ((rest = behind(key, "op.", g->ops[i].name)) != NULL)
            o = find(gpu_op_params, ORR_GPU_OP_PARAMS, rest, g->ops[i].origin);
    return o;
}
