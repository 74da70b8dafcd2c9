// What a sampled run simulated and what it predicted, as text and as JSON.
#include "sample/sample.h"

#include "report/json.h"
#include "report/page.h"
#include "report/sample.h"

static double share(uint64_t a, uint64_t b) { return b ? (double)a / (double)b : (double)NAN; }

static void region(orr_text *t, const orr_region_result *r) {
    orr_text_add(t, "{");
    json_count(t, "first", r->first);
    orr_text_add(t, ", ");
    json_count(t, "end", r->end);
    orr_text_add(t, ", ");
    json_count(t, "skipped_blocks", r->skipped);
    orr_text_add(t, ", ");
    json_count(t, "warp_insts", r->insts);
    orr_text_add(t, ", ");
    json_count(t, "skipped_warp_insts", r->skipped_insts);
    orr_text_add(t, ", \"units\": %u, \"used_units\": %u, ", r->units, r->used);
    json_field(t, "ipc", r->ipc);
    orr_text_add(t, ", ");
    json_field(t, "deviation", r->deviation);
    orr_text_add(t, ", ");
    json_field(t, "width_95", r->width);
    orr_text_add(t, ", ");
    json_field(t, "predicted_cycles", r->cycles);
    orr_text_add(t, "}");
}

static void launch(orr_text *t, const orr_launch_sample *l) {
    orr_text_add(t, "{\"cluster\": %u, \"by\": %u, \"weights\": [", l->cluster, l->by);
    for (uint32_t k = 0; k < l->nparts; k++)
        orr_text_add(t, "%s[%u, %.6f]", k ? ", " : "", l->parts[k].launch, l->parts[k].weight);
    orr_text_add(t, "], \"simulated\": %s, ", l->simulated ? "true" : "false");
    json_count(t, "warp_insts", l->insts);
    orr_text_add(t, ", ");
    json_count(t, "simulated_warp_insts", l->simulated ? l->simulated_insts : 0);
    orr_text_add(t, ", ");
    json_count(t, "blocks", l->blocks);
    orr_text_add(t, ", ");
    json_count(t, "simulated_blocks", l->simulated ? l->simulated_blocks : 0);
    orr_text_add(t, ", ");
    json_field(t, "cycles", l->cycles);
    orr_text_add(t, ", ");
    json_field(t, "simulated_cycles", l->simulated ? l->simulated_cycles : 0);
    orr_text_add(t, ", \"regions\": [");
    for (uint32_t k = 0; k < l->nregions; k++) {
        orr_text_add(t, k ? ", " : "");
        region(t, &l->regions[k]);
    }
    orr_text_add(t, "]}");
}

void json_sample(orr_text *t, const orr_result *r) {
    const orr_sample_result *s = r->sample;
    orr_text_add(t, "  \"sample\": {");
    json_count(t, "clusters", s->clusters);
    orr_text_add(t, ", ");
    json_count(t, "simulated_launches", s->simulated);
    orr_text_add(t, ", ");
    json_count(t, "warp_insts", s->insts);
    orr_text_add(t, ", ");
    json_count(t, "simulated_warp_insts", s->simulated_insts);
    orr_text_add(t, ", ");
    json_field(t, "sample_size", share(s->simulated_insts, s->insts));
    orr_text_add(t, ", ");
    json_field(t, "skipped_by_launches", share(s->skipped_inter, s->insts));
    orr_text_add(t, ", ");
    json_field(t, "skipped_by_blocks", share(s->skipped_intra, s->insts));
    orr_text_add(t, ",\n    ");
    json_field(t, "cycles", s->cycles);
    orr_text_add(t, ", ");
    json_field(t, "bound", s->bound);
    orr_text_add(t, ", ");
    json_field(t, "confidence", s->confidence);
    orr_text_add(t, ", \"warm\": \"%s\",\n    \"launches\": [", s->warm ? "functional" : "none");
    for (size_t l = 0; l < s->n; l++) {
        orr_text_add(t, l ? ",\n      " : "\n      ");
        launch(t, &s->launches[l]);
    }
    orr_text_add(t, "]},\n");
}

void page_sample(const page *p, const orr_result *r) {
    const orr_sample_result *s = r->sample;
    char a[32];
    orr_text_add(p->t, "\n%ssampled%s: %u of %zu launches simulated, %.2f %% of the instructions\n", bold(p),
                 plain(p), s->simulated, s->n, 100 * share(s->simulated_insts, s->insts));
    orr_text_add(p->t,
                 "  left out        %6.2f %% in launches that another stands for, %.2f %% in thread blocks\n",
                 100 * share(s->skipped_inter, s->insts), 100 * share(s->skipped_intra, s->insts));
    orr_text_add(p->t, "  cycles          %s, within %.2f %% with %.0f %% confidence\n",
                 orr_commas(a, (uint64_t)(s->cycles + 0.5)), 100 * s->bound, 100 * s->confidence);
    orr_text_add(p->t,
                 "  what follows is of the part that was simulated; --json has each region and launch\n");
}
