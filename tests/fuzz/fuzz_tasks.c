// Any bytes as a task list. What is accepted must give thread blocks that read back as streams of its kernel,
// also far into the grid.
#include "tasks/tasks.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void read_block(const orr_kernel *k, const orr_tb *tb) {
    for (uint32_t w = 0; w < tb->nwarps; w++) {
        orr_trace t = orr_trace_open(tb->warps[w]);
        uint32_t block, mask;
        int r;
        while ((r = orr_trace_block(&t, k->nblocks, &block, &mask)) > 0)
            for (uint32_t a = 0; a < k->blocks[block].nmem; a++)
                if (!orr_trace_skip(&t)) abort();
        if (r < 0) abort();
    }
}

static void look_at_steps(const orr_tasks *t) {
    const orr_task_step *s;
    size_t n = orr_tasks_steps(t, &s);
    for (size_t i = 0; i < n; i++) {
        if (s[i].kind == ORR_TASKS_REPEAT &&
            (s[i].match <= i || s[i].match >= n || s[s[i].match].kind != ORR_TASKS_END ||
             s[s[i].match].match != i))
            abort();
        if (s[i].kind == ORR_TASKS_LAUNCH && !s[i].launch.kernel) abort();
        if (s[i].gpu < -1 || s[i].gpu > 63 || s[i].peer < -1) abort();
    }
}

static void as_a_rank(const char *text, size_t n) {
    orr_err e = {0};
    const orr_task_rank third = {.rank = 3, .ranks = 5, .node = 1, .nodes = 3, .gpus = 2, .local = 1};
    orr_tasks *t =
        orr_tasks_parse_rank(&(orr_tasks_text){.path = "fuzz.tasks", .text = text, .n = n}, &third, &e);
    if (!t == !e.status) abort();
    if (!t) return;
    look_at_steps(t);
    orr_tasks_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    orr_err e = {0};
    char *text = orr_malloc(n + 1); // of its own size, so that reading beyond is noticed
    if (n) memcpy(text, data, n);
    orr_tasks *t = orr_tasks_parse("fuzz.tasks", text, n, NULL, 0, &e);
    as_a_rank(text, n);
    free(text);
    if (!t == !e.status) abort();
    if (!t) return 0;
    look_at_steps(t);
    const orr_task_step *s;
    size_t steps = orr_tasks_steps(t, &s);
    for (size_t i = 0; i < steps && i < 4; i++) {
        if (s[i].kind != ORR_TASKS_LAUNCH) continue;
        const orr_kernel *k = s[i].launch.kernel;
        float *far = orr_calloc(k->ninsts + 1, sizeof *far);
        orr_tasks_far(t, &s[i], 1 << 20, 16, far);
        for (uint32_t f = 0; f < k->ninsts; f++)
            if (!(far[f] == -1 || (far[f] >= 0 && far[f] <= 1))) abort();
        free(far);
        uint64_t rounds = 0; // a loop of millions of rounds is right, and takes too long here
        if (orr_tasks_length(t, &s[i], &rounds) && rounds > 20000) continue;
        orr_source *source = orr_tasks_source(t, &s[i]);
        orr_tb tb;
        uint64_t total = (uint64_t)s[i].launch.grid[0] * s[i].launch.grid[1] * s[i].launch.grid[2];
        if (source->next(source, &tb, &e) != 1 || tb.index != 0) abort();
        read_block(k, &tb);
        source->seek(source, total - 1);
        int r = source->next(source, &tb, &e);
        if (r != (total > 1)) abort();
        if (r && tb.index != total - 1) abort();
        if (r) read_block(k, &tb);
        if (source->next(source, &tb, &e) != 0) abort();
        source->close(source);
    }
    orr_tasks_free(t);
    return 0;
}
