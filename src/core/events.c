// An SM's clock (events.h).
#include "core/events.h"

#include <stdlib.h>

static bool earlier(const event *a, const event *b) {
    return a->time < b->time || (a->time == b->time && a->order < b->order);
}

void events_reset(event_queue *q) {
    q->heap.n = 0;
    q->now = 0;
    q->order = 0;
}

void events_free(event_queue *q) { free(q->heap.at); }

void events_add(event_queue *q, uint64_t ticks, uint32_t token, uint8_t sectors) {
    event e = {ticks, q->order++, token, sectors};
    (void)ORR_PUSH(&q->heap);
    event *at = q->heap.at;
    size_t i = q->heap.n - 1;
    for (; i && earlier(&e, &at[(i - 1) / 2]); i = (i - 1) / 2) at[i] = at[(i - 1) / 2];
    at[i] = e;
}

event events_take(event_queue *q) {
    event *at = q->heap.at, top = at[0], last = at[--q->heap.n];
    size_t i = 0, n = q->heap.n;
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && earlier(&at[child + 1], &at[child])) child++;
        if (!earlier(&at[child], &last)) break;
        at[i] = at[child];
    }
    if (n) at[i] = last;
    return top;
}
