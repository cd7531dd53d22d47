#include "timeline/nest.h"

#include <errno.h>
#include <stdlib.h>

static int close_top(struct hk_nest *nest, const struct hk_nest_sink *sink)
{
	struct hk_slice *top = &nest->slices[--nest->depth];

	nest->last_ns = top->end_ns;
	return sink->close(sink->context, top);
}

static int reserve(struct hk_nest *nest)
{
	uint32_t capacity = nest->capacity ? nest->capacity * 2 : 16;
	struct hk_slice *slices;

	if (nest->depth < nest->capacity) {
		return 0;
	}
	if (nest->depth >= HK_NEST_DEPTH_MAX) {
		return -E2BIG;
	}
	slices = reallocarray(nest->slices, capacity, sizeof(*slices));
	if (!slices) {
		return -ENOMEM;
	}
	nest->slices = slices;
	nest->capacity = capacity;
	return 0;
}

int hk_nest_add(struct hk_nest *nest, const struct hk_slice *slice, const struct hk_nest_sink *sink)
{
	struct hk_slice added = *slice;
	int rc;

	if (added.start_ns < nest->last_ns) {
		added.start_ns = nest->last_ns;
	}
	if (added.end_ns < added.start_ns) {
		added.end_ns = added.start_ns;
	}
	while (nest->depth) {
		struct hk_slice *top = &nest->slices[nest->depth - 1];

		if (top->end_ns > added.start_ns) {
			if (added.end_ns <= top->end_ns) {
				break;
			}
			/* They overlap: either one follows the other, and loses the overlap, or
			 * lies inside it, and loses the rest. The case with the smaller loss is
			 * taken. */
			if (top->end_ns - added.start_ns > added.end_ns - top->end_ns) {
				added.end_ns = top->end_ns;
				break;
			}
			top->end_ns = added.start_ns;
		}
		rc = close_top(nest, sink);
		if (rc < 0) {
			return rc;
		}
	}
	rc = reserve(nest);
	if (rc < 0) {
		return rc;
	}
	nest->slices[nest->depth++] = added;
	nest->last_ns = added.start_ns;
	return sink->open(sink->context, &added);
}

int hk_nest_finish(struct hk_nest *nest, const struct hk_nest_sink *sink)
{
	while (nest->depth) {
		int rc = close_top(nest, sink);

		if (rc < 0) {
			return rc;
		}
	}
	return 0;
}

void hk_nest_fini(struct hk_nest *nest)
{
	free(nest->slices);
	*nest = (struct hk_nest){0};
}
