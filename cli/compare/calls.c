#include "cli/compare/calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What decides to which call a row belongs. */
struct key {
	uint64_t sequence, step;
	uint32_t row, name;
	uint8_t kind, phase;
};

static uint64_t mixed(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

static uint64_t mixed_text(uint64_t hash, const char *text)
{
	for (; text && *text; text++) {
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	}
	return mixed(hash, 0);
}

static int by_sequence(const void *left, const void *right)
{
	const struct key *a = left, *b = right;

	if (a->sequence != b->sequence) {
		return a->sequence < b->sequence ? -1 : 1;
	}
	/* Rows of state may share a sequence number: each name is a call of its own. */
	if (a->kind != b->kind || a->phase != b->phase) {
		return a->kind != b->kind ? a->kind - b->kind : a->phase - b->phase;
	}
	if (a->kind == HK_DUMP_STATE && a->name != b->name) {
		return a->name < b->name ? -1 : 1;
	}
	return a->row < b->row ? -1 : 1;
}

static bool is_one_call(const struct key *a, const struct key *b)
{
	return a->sequence == b->sequence && a->step == b->step && a->kind == b->kind &&
	       a->phase == b->phase && a->name == b->name;
}

/* Names repeat, and texts of a dump are shared: the last one is kept. */
static int keys_fill(struct key *keys, const struct hk_values *values, struct hk_names *names,
		     enum hk_mapping_side side)
{
	const char *last = NULL;
	uint32_t last_name = 0;
	enum hk_dump_kind last_kind = HK_DUMP_API;

	for (size_t i = 0; i < values->count; i++) {
		struct hk_dump_row row;
		values->ops->row(values, i, &row);
		if (row.name != last || row.kind != last_kind) {
			last_name = hk_names_number(names, side, row.kind, row.name);
			last = row.name;
			last_kind = row.kind;
		}
		if (last_name == UINT32_MAX) {
			return -ENOMEM;
		}
		/* Autograd computes the gradients of one call at several places of its graph. */
		bool backward = row.phase == HK_DUMP_BACKWARD;
		keys[i] = (struct key){.sequence = backward ? row.forward_sequence : row.sequence,
				       .step = row.step,
				       .row = (uint32_t)i,
				       .name = last_name,
				       .kind = (uint8_t)row.kind,
				       .phase = (uint8_t)row.phase};
	}
	return 0;
}

/* ---- calls ---- */

static void call_begin(struct hk_call *call, const struct key *key, const struct hk_dump_row *row,
		       uint32_t first)
{
	*call = (struct hk_call){.sequence = row->sequence,
				 .forward_sequence = row->forward_sequence,
				 .step = row->step,
				 .kind = row->kind,
				 .phase = row->phase,
				 .recomputed = (row->flags & HK_DUMP_RECOMPUTED) != 0,
				 .name = key->name,
				 .number = row->number,
				 .first = first,
				 .twin = HK_CALL_NONE};
}

static void call_extend(struct hk_call *call, const struct hk_dump_row *row)
{
	call->count++;
	call->shapes = mixed(call->shapes, row->role == HK_DUMP_OUTPUT);
	call->shapes = mixed_text(call->shapes, row->slot);
	call->shapes = mixed(call->shapes, row->dtype == HK_DTYPE_NONE);
	for (uint32_t i = 0; i < row->dimensions; i++) {
		call->shapes = mixed(call->shapes, row->shape[i]);
	}
	call->digests = mixed_text(call->digests, row->scalar);
	call->digests = mixed(call->digests, row->statistics.digest);
}

static void calls_fill(struct hk_calls *calls, const struct hk_values *values,
		       const struct key *keys)
{
	for (size_t i = 0; i < values->count; i++) {
		struct hk_dump_row row;
		values->ops->row(values, keys[i].row, &row);
		calls->rows[i] = keys[i].row;
		if (i == 0 || !is_one_call(&keys[i - 1], &keys[i])) {
			call_begin(&calls->list[calls->count++], &keys[i], &row, (uint32_t)i);
		}
		call_extend(&calls->list[calls->count - 1], &row);
	}
}

/* ---- order ---- */

struct place {
	uint64_t step;
	uint32_t completed, call;
};

static int by_place(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	if (a->step != b->step) {
		return a->step < b->step ? -1 : 1;
	}
	return (a->completed > b->completed) - (a->completed < b->completed);
}

/* Puts the calls into the order of step and completion. */
static int calls_order(struct hk_calls *calls)
{
	struct place *places = calloc(calls->count + 1, sizeof(*places));
	struct hk_call *list = calloc(calls->count + 1, sizeof(*list));

	if (!places || !list) {
		free(places);
		free(list);
		return -ENOMEM;
	}
	for (size_t i = 0; i < calls->count; i++) {
		const struct hk_call *call = &calls->list[i];
		places[i] = (struct place){call->step, calls->rows[call->first + call->count - 1],
					   (uint32_t)i};
	}
	qsort(places, calls->count, sizeof(*places), by_place);
	for (size_t i = 0; i < calls->count; i++) {
		list[i] = calls->list[places[i].call];
	}
	free(places);
	free(calls->list);
	calls->list = list;
	return 0;
}

static int steps_find(struct hk_calls *calls)
{
	size_t many = 0;

	for (size_t i = 0; i < calls->count; i++) {
		many += i == 0 || calls->list[i].step != calls->list[i - 1].step;
	}
	calls->steps = calloc(many + 1, sizeof(*calls->steps));
	if (!calls->steps) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < calls->count; i++) {
		if (i == 0 || calls->list[i].step != calls->list[i - 1].step) {
			calls->steps[calls->step_count++] = (struct hk_call_step){
			    .step = calls->list[i].step, .first = i, .twin = HK_CALL_NONE};
		}
		calls->steps[calls->step_count - 1].count++;
	}
	return 0;
}

int hk_calls_init(struct hk_calls *calls, const struct hk_values *values, struct hk_names *names,
		  enum hk_mapping_side side)
{
	struct key *keys = calloc(values->count + 1, sizeof(*keys));
	int r;

	*calls = (struct hk_calls){0};
	calls->list = calloc(values->count + 1, sizeof(*calls->list));
	calls->rows = calloc(values->count + 1, sizeof(*calls->rows));
	r = keys && calls->list && calls->rows ? keys_fill(keys, values, names, side) : -ENOMEM;
	if (r == 0) {
		qsort(keys, values->count, sizeof(*keys), by_sequence);
		calls_fill(calls, values, keys);
	}
	free(keys);
	r = r ? r : calls_order(calls);
	r = r ? r : steps_find(calls);
	if (r < 0) {
		hk_calls_fini(calls);
	}
	return r;
}

void hk_calls_fini(struct hk_calls *calls)
{
	free(calls->list);
	free(calls->rows);
	free(calls->steps);
	*calls = (struct hk_calls){0};
}
