#include "collector/memory/events.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool before(const struct hk_event *a, const struct hk_event *b)
{
	return a->ticks != b->ticks ? a->ticks < b->ticks : a->sequence < b->sequence;
}

static int add(struct hk_events *events, const struct hk_event *event)
{
	if (events->count >= HK_EVENTS_MAX) {
		return -ENOSPC;
	}
	if (events->count == events->capacity) {
		size_t capacity = events->capacity ? events->capacity * 2 : 256;
		struct hk_event *heap = realloc(events->heap, capacity * sizeof(*heap));
		if (!heap) {
			return -ENOMEM;
		}
		events->heap = heap;
		events->capacity = capacity;
	}
	size_t i = events->count++;
	for (; i > 0 && before(event, &events->heap[(i - 1) / 2]); i = (i - 1) / 2) {
		events->heap[i] = events->heap[(i - 1) / 2];
	}
	events->heap[i] = *event;
	return 0;
}

int hk_events_push(struct hk_events *events, const struct hk_event *event)
{
	struct hk_event added = *event;
	added.sequence = events->sequence;
	int r = add(events, &added);
	events->sequence += r == 0;
	return r;
}

int hk_events_restore(struct hk_events *events, const struct hk_event *event)
{
	return event->sequence < events->sequence ? add(events, event) : -EBADMSG;
}

const struct hk_event *hk_events_first(const struct hk_events *events)
{
	return events->count > 0 ? events->heap : NULL;
}

void hk_events_pop(struct hk_events *events, struct hk_event *ret_event)
{
	*ret_event = events->heap[0];
	struct hk_event last = events->heap[--events->count];
	size_t i = 0;
	for (size_t child = 1; child < events->count; child = 2 * i + 1) {
		if (child + 1 < events->count &&
		    before(&events->heap[child + 1], &events->heap[child])) {
			child++;
		}
		if (!before(&events->heap[child], &last)) {
			break;
		}
		events->heap[i] = events->heap[child];
		i = child;
	}
	if (events->count > 0) {
		events->heap[i] = last;
	}
}

void hk_events_fini(struct hk_events *events)
{
	free(events->heap);
	memset(events, 0, sizeof(*events));
}
