#include "cli/compare/judge.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare/flow.h"

/* A forward call by its sequence number. */
struct hk_judge_forward {
	uint64_t sequence;
	uint32_t call;
};

/* A row of a parameter; a module finds those below its path. */
struct hk_judge_parameter {
	const char *name;
	uint32_t row;
};

double hk_judge_unit(enum hk_dtype dtype)
{
	switch (dtype) {
	case HK_DTYPE_F64:
		return 0x1p-53;
	case HK_DTYPE_F32:
		return 0x1p-24;
	case HK_DTYPE_F16:
		return 0x1p-11;
	case HK_DTYPE_BF16:
		return 0x1p-8;
	case HK_DTYPE_F8_E4M3:
		return 0x1p-4;
	case HK_DTYPE_F8_E5M2:
		return 0x1p-3;
	default:
		return 0;
	}
}

bool hk_judge_is_output(const struct hk_call *call, enum hk_dump_role role)
{
	return (role == HK_DUMP_OUTPUT) != (call->phase == HK_DUMP_BACKWARD);
}

/* ---- what a call reads besides its inputs ---- */

static int by_sequence(const void *left, const void *right)
{
	const struct hk_judge_forward *a = left, *b = right;

	return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

static int by_name(const void *left, const void *right)
{
	const struct hk_judge_parameter *a = left, *b = right;
	int order = strcmp(a->name, b->name);

	return order ? order : (a->row > b->row) - (a->row < b->row);
}

static void tables_fill(struct hk_judge *judge)
{
	const struct hk_rank_pair *pair = judge->pair;

	for (size_t i = 0; i < pair->a_calls.count; i++) {
		const struct hk_call *call = &pair->a_calls.list[i];
		if (call->kind == HK_DUMP_STATE && call->phase == HK_DUMP_PARAMETER) {
			struct hk_dump_row row;
			uint32_t index = pair->a_calls.rows[call->first];
			pair->a->ops->row(pair->a, index, &row);
			judge->parameters[judge->parameter_count++] =
			    (struct hk_judge_parameter){row.name, index};
		} else if (call->kind != HK_DUMP_STATE && call->phase == HK_DUMP_FORWARD) {
			judge->forward[judge->forward_count++] =
			    (struct hk_judge_forward){call->sequence, (uint32_t)i};
		}
	}
	qsort(judge->parameters, judge->parameter_count, sizeof(*judge->parameters), by_name);
	qsort(judge->forward, judge->forward_count, sizeof(*judge->forward), by_sequence);
}

int hk_judge_init(struct hk_judge *judge, const struct hk_rank_pair *pair)
{
	size_t calls = pair->a_calls.count + 1;

	*judge = (struct hk_judge){.pair = pair};
	judge->sources = hk_flow_sources(pair->a);
	judge->forward = calloc(calls, sizeof(*judge->forward));
	judge->parameters = calloc(calls, sizeof(*judge->parameters));
	if (!judge->sources || !judge->forward || !judge->parameters) {
		hk_judge_fini(judge);
		return -ENOMEM;
	}
	tables_fill(judge);
	return 0;
}

void hk_judge_fini(struct hk_judge *judge)
{
	free(judge->sources);
	free(judge->forward);
	free(judge->parameters);
	*judge = (struct hk_judge){0};
}

static const struct hk_call *forward_of(const struct hk_judge *judge, const struct hk_call *call)
{
	const struct hk_judge_forward key = {.sequence = call->forward_sequence};
	const struct hk_judge_forward *found = NULL;

	if (judge->forward_count > 0) {
		found = bsearch(&key, judge->forward, judge->forward_count, sizeof(*judge->forward),
				by_sequence);
	}
	return found ? &judge->pair->a_calls.list[found->call] : NULL;
}

/* ---- one row ---- */

/* The rows of a pair of equal digests are not decoded: they add nothing. */
static void unit_take(const struct hk_judge *judge, const struct hk_match *match,
		      struct hk_judged *judged, bool output)
{
	struct hk_dump_row a, b;

	judge->pair->a->ops->row(judge->pair->a, match->a, &a);
	judge->pair->b->ops->row(judge->pair->b, match->b, &b);
	judged->unit = fmax(judged->unit, fmax(hk_judge_unit(a.dtype), hk_judge_unit(b.dtype)));
	if (output) {
		judged->alike &= a.dtype == b.dtype && strcmp(a.device, b.device) == 0;
	}
}

static bool is_number(const struct hk_judge *judge, const struct hk_match *match)
{
	struct hk_dump_row row;

	judge->pair->a->ops->row(judge->pair->a, match->a, &row);
	return row.dtype == HK_DTYPE_NONE;
}

static double error_of(const struct hk_match *match)
{
	return !isnan(match->error)		  ? match->error
	       : match->level >= HK_MATCH_FOLLOWS ? INFINITY
						  : 0;
}

static void input_take(const struct hk_judge *judge, uint32_t row, struct hk_judged *judged)
{
	const struct hk_match *match = &judge->pair->matches[row];

	if (match->level == HK_MATCH_EQUAL) {
		return;
	}
	judged->inputs_equal = false;
	if (match->b == HK_MATCH_NONE || match->level == HK_MATCH_UNKNOWN) {
		/* A value that is no tensor may be passed on one side only: a default. */
		judged->known &= is_number(judge, match);
		return;
	}
	unit_take(judge, match, judged, false);
	judged->guessed |= !match->difference;
	double error = error_of(match);
	if (judged->worst_input == HK_MATCH_NONE || error > judged->input_error) {
		judged->worst_input = row;
		judged->input_error = error;
	}
}

static void output_take(const struct hk_judge *judge, uint32_t row, struct hk_judged *judged)
{
	const struct hk_match *match = &judge->pair->matches[row];

	if (match->level == HK_MATCH_EQUAL || match->b == HK_MATCH_NONE ||
	    match->level == HK_MATCH_UNKNOWN) {
		return;
	}
	judged->outputs_equal = false;
	judged->outputs_broken |= match->other_bits || match->level == HK_MATCH_DIFFERS;
	unit_take(judge, match, judged, true);
	judged->guessed |= !match->difference;
	double error = error_of(match);
	enum hk_match_level worst = judged->worst_output == HK_MATCH_NONE
					? HK_MATCH_EQUAL
					: judge->pair->matches[judged->worst_output].level;
	if (match->level > worst || (match->level == worst && error > judged->output_error)) {
		judged->worst_output = row;
		judged->output_error = error;
	}
}

/* ---- a call ---- */

static void rows_take(const struct hk_judge *judge, const struct hk_call *call, bool all_inputs,
		      struct hk_judged *judged)
{
	for (uint32_t i = 0; i < call->count; i++) {
		uint32_t index = judge->pair->a_calls.rows[call->first + i];
		struct hk_dump_row row;
		judge->pair->a->ops->row(judge->pair->a, index, &row);
		if (all_inputs || !hk_judge_is_output(call, row.role)) {
			input_take(judge, index, judged);
		} else {
			output_take(judge, index, judged);
		}
	}
}

/* The first parameter that is not before (NAME, ROW). */
static size_t parameter_at(const struct hk_judge *judge, const char *name, uint32_t row)
{
	const struct hk_judge_parameter key = {name, row};
	size_t low = 0, high = judge->parameter_count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		if (by_name(&judge->parameters[middle], &key) < 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

/* Takes the latest rows before BEFORE of the parameters below the module PATH. */
static void parameters_take(const struct hk_judge *judge, const char *path, uint32_t before,
			    struct hk_judged *judged)
{
	char prefix[HK_NAMES_BYTES];
	size_t length;

	snprintf(prefix, sizeof(prefix), "%s%s", path, *path ? "." : "");
	length = strlen(prefix);
	for (size_t i = parameter_at(judge, prefix, 0); i < judge->parameter_count;) {
		const char *name = judge->parameters[i].name;
		if (strncmp(name, prefix, length) != 0) {
			break;
		}
		size_t later = parameter_at(judge, name, before);
		if (later > i) {
			input_take(judge, judge->parameters[later - 1].row, judged);
		}
		i = parameter_at(judge, name, UINT32_MAX);
	}
}

static double root_mean_square(const struct hk_dump_row *row)
{
	return row->statistics.count > 0 && hk_judge_unit(row->dtype) > 0
		   ? row->statistics.l2 / sqrt((double)row->statistics.count)
		   : 0;
}

static double scale_of(const struct hk_judge *judge, const struct hk_call *call)
{
	double scale = 0;

	for (uint32_t i = 0; i < call->count; i++) {
		uint32_t index = judge->pair->a_calls.rows[call->first + i];
		const struct hk_match *match = &judge->pair->matches[index];
		struct hk_dump_row row;
		if (match->b == HK_MATCH_NONE) {
			continue;
		}
		judge->pair->b->ops->row(judge->pair->b, match->b, &row);
		if (!hk_judge_is_output(call, row.role)) {
			scale = fmax(scale, root_mean_square(&row));
		}
	}
	return scale;
}

double hk_judge_error(const struct hk_judge *judge, const struct hk_judged *judged,
		      const struct hk_match *match)
{
	struct hk_dump_row row;

	judge->pair->b->ops->row(judge->pair->b, match->b, &row);
	double own = root_mean_square(&row);
	if (isinf(match->error) || !(judged->scale > own)) {
		return error_of(match);
	}
	/* An error without a norm to refer to is a share of what A has. */
	if (own == 0) {
		judge->pair->a->ops->row(judge->pair->a, match->a, &row);
		own = root_mean_square(&row);
	}
	return error_of(match) * own / judged->scale;
}

void hk_judge_call(const struct hk_judge *judge, const struct hk_call *call,
		   struct hk_judged *judged)
{
	const struct hk_call *forward =
	    call->phase == HK_DUMP_BACKWARD ? forward_of(judge, call) : NULL;

	*judged = (struct hk_judged){.known = true,
				     .inputs_equal = true,
				     .outputs_equal = true,
				     .alike = true,
				     .worst_input = HK_MATCH_NONE,
				     .worst_output = HK_MATCH_NONE};
	rows_take(judge, call, false, judged);
	if (forward && forward->twin != HK_CALL_NONE) {
		rows_take(judge, forward, true, judged);
	}
	if (call->kind == HK_DUMP_MODULE && judge->parameter_count > 0 && call->count > 0) {
		struct hk_dump_row row;
		uint32_t first = judge->pair->a_calls.rows[call->first];
		judge->pair->a->ops->row(judge->pair->a, first, &row);
		parameters_take(judge, row.name, first, judged);
	}
	if (judged->worst_output != HK_MATCH_NONE) {
		struct hk_dump_row row;
		judge->pair->a->ops->row(judge->pair->a, judged->worst_output, &row);
		judged->exact = hk_judge_unit(row.dtype) == 0;
		judged->scale = judged->exact ? 0 : scale_of(judge, call);
	}
}
