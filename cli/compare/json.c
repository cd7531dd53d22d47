#include "cli/compare/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare/format.h"
#include "cli/compare/headline.h"
#include "cli/compare/label.h"
#include "cli/compare/modules.h"
#include "cli/compare/order.h"
#include "text/json_stream.h"

static void number(struct hk_json *json, const char *key, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	hk_json_double(json, key, bits);
}

static void side(struct hk_json *json, const char *key, const struct hk_dump_set *set)
{
	hk_json_open(json, key, '{');
	hk_json_string(json, "path", set->path);
	hk_json_string(json, "format", set->source->name);
	hk_json_uint(json, "ranks", set->parts.count);
	hk_json_close(json, '}');
}

static void levels(struct hk_json *json, const char *key, const size_t *counts)
{
	hk_json_open(json, key, '{');
	for (int i = HK_MATCH_EQUAL; i < HK_MATCH_LEVELS; i++) {
		hk_json_uint(json, hk_label_level((enum hk_match_level)i), counts[i]);
	}
	hk_json_close(json, '}');
}

/* ---- rows ---- */

static void statistics(struct hk_json *json, const char *key, const struct hk_dump_row *row)
{
	const struct hk_statistics *of = &row->statistics;

	hk_json_open(json, key, '{');
	hk_json_string(json, "dtype", hk_dtype_name(row->dtype));
	hk_json_open(json, "shape", '[');
	for (uint32_t i = 0; i < row->dimensions; i++) {
		hk_json_uint(json, NULL, row->shape[i]);
	}
	hk_json_close(json, ']');
	if (row->scalar) {
		hk_json_string(json, "scalar", row->scalar);
	} else if (!(row->flags & HK_DUMP_NO_STATISTICS)) {
		number(json, "max", of->max);
		number(json, "min", of->min);
		number(json, "mean", of->mean);
		number(json, "l2", of->l2);
		number(json, "deviation", of->deviation);
		hk_json_uint(json, "nan", of->nans);
		hk_json_uint(json, "inf", of->positive_infs + of->negative_infs);
	}
	hk_json_close(json, '}');
}

static void difference(struct hk_json *json, const struct hk_difference *of)
{
	hk_json_open(json, "difference", '{');
	number(json, "cosine", of->cosine);
	number(json, "cosine_half", of->cosine_half);
	number(json, "rmse", of->rmse);
	number(json, "mape", of->mape);
	number(json, "max_abs", of->max_abs);
	hk_json_uint(json, "max_abs_at", of->max_abs_at);
	number(json, "max_rel", of->max_rel);
	number(json, "euclidean", of->euclidean);
	number(json, "within_1000", of->within_1000);
	number(json, "within_5000", of->within_5000);
	hk_json_uint(json, "max_ulp", of->max_ulp);
	hk_json_uint(json, "median_ulp_bound", of->median_ulp_bound);
	number(json, "within_dtype", of->within_dtype);
	hk_json_uint(json, "elements", of->count);
	hk_json_uint(json, "equal", of->equal);
	hk_json_uint(json, "not_finite_a", of->only_a);
	hk_json_uint(json, "not_finite_b", of->only_b);
	hk_json_close(json, '}');
}

static void place(struct hk_json *json, const struct hk_dump_row *any)
{
	char text[HK_LABEL_BYTES];
	size_t length;
	const char *path = hk_module_path(any, &length);

	hk_json_string(json, "name", hk_label_name(text, any));
	snprintf(text, sizeof(text), "%.*s",
		 (int)(length < sizeof(text) ? length : sizeof(text) - 1), path);
	hk_json_string(json, "module", text);
	hk_json_string(json, "kind", hk_label_kind(any->kind));
	hk_json_string(json, "phase", hk_label_phase(any->phase));
	hk_json_string(json, "api", any->name);
	hk_json_uint(json, "number", any->number);
	hk_json_string(json, "role", hk_label_role(any->role));
	hk_json_string(json, "slot", any->slot);
	hk_json_uint(json, "step", any->step);
}

static void row(struct hk_json *json, const struct hk_rank_pair *pair, const struct hk_match *match)
{
	struct hk_dump_row any, one;
	char text[HK_LABEL_BYTES];

	hk_label_row(pair, match, &any);
	hk_json_newline(json);
	hk_json_open(json, NULL, '{');
	place(json, &any);
	hk_json_uint(json, "rank_a", pair->a->rank);
	hk_json_uint(json, "rank_b", pair->b->rank);
	hk_json_string(json, "verdict", hk_label_level(match->level));
	hk_json_string(json, "reason", hk_label_reason(text, pair, match));
	if (isnan(match->error)) {
		hk_json_null(json, "error");
	} else {
		number(json, "error", match->error);
	}
	if (match->a != HK_MATCH_NONE) {
		pair->a->ops->row(pair->a, match->a, &one);
		statistics(json, "a", &one);
	}
	if (match->b != HK_MATCH_NONE) {
		pair->b->ops->row(pair->b, match->b, &one);
		statistics(json, "b", &one);
	}
	if (match->difference) {
		difference(json, match->difference);
	}
	hk_json_close(json, '}');
}

static int rows_write(struct hk_json *json, const struct hk_comparison *comparison, size_t most)
{
	size_t count = 0;
	struct hk_order_row *rows = hk_order_rows(comparison, comparison->all, &count);

	if (!rows) {
		return -ENOMEM;
	}
	hk_json_uint(json, "row_count", count);
	hk_json_open(json, "rows", '[');
	for (size_t i = 0; i < count && (most == 0 || i < most); i++) {
		const struct hk_rank_pair *pair = &comparison->pairs[rows[i].pair];
		row(json, pair, &pair->matches[rows[i].match]);
	}
	hk_json_close(json, ']');
	free(rows);
	return 0;
}

/* ---- the first divergence ---- */

static void first(struct hk_json *json, const struct hk_comparison *comparison)
{
	static const char *const kinds[] = {"none", "operator", "memory", "outside"};
	const struct hk_first *of = &comparison->first;
	const struct hk_rank_pair *pair = &comparison->pairs[of->pair];
	char text[HK_HEADLINE_BYTES];
	const char *const *frames;
	struct hk_dump_row any;

	if (of->kind == HK_FIRST_NONE) {
		hk_json_null(json, "first");
		return;
	}
	pair->a->ops->row(pair->a, of->match, &any);
	hk_json_open(json, "first", '{');
	hk_json_string(json, "text", hk_headline(text, comparison));
	hk_json_string(json, "by", kinds[of->kind]);
	place(json, &any);
	hk_json_uint(json, "rank", pair->a->rank);
	hk_json_bool(json, "bitwise", of->bitwise);
	hk_json_uint(json, "begin_ns", any.begin_ns);
	hk_json_uint(json, "thread", any.thread);
	hk_json_open(json, "stack", '[');
	uint32_t count = hk_headline_stack(comparison, &frames);
	for (uint32_t i = 0; i < count; i++) {
		hk_json_string(json, NULL, frames[i]);
	}
	hk_json_close(json, ']');
	hk_json_close(json, '}');
}

static int modules(struct hk_json *json, const struct hk_comparison *comparison)
{
	size_t count;
	struct hk_module_levels *list = hk_modules_count(comparison, &count);

	if (!list) {
		return -ENOMEM;
	}
	hk_json_newline(json);
	hk_json_open(json, "modules", '[');
	for (size_t i = 0; i < count; i++) {
		hk_json_open(json, NULL, '{');
		hk_json_string(json, "path", list[i].path);
		levels(json, "levels", list[i].levels);
		number(json, "error", list[i].error);
		hk_json_close(json, '}');
	}
	hk_json_close(json, ']');
	hk_modules_free(list, count);
	return 0;
}

int hk_comparison_json(const struct hk_comparison *comparison, size_t rows, FILE *output)
{
	struct hk_json stream = {.output = output}, *json = &stream;

	hk_json_open(json, NULL, '{');
	side(json, "a", &comparison->a);
	side(json, "b", &comparison->b);
	hk_json_string(json, "version", HK_VERSION);
	levels(json, "levels", comparison->levels);
	hk_json_newline(json);
	first(json, comparison);
	int r = modules(json, comparison);
	hk_json_newline(json);
	r = r ? r : rows_write(json, comparison, rows);
	hk_json_close(json, '}');
	fputc('\n', output);
	return r ? r : ferror(output) ? -EIO : 0;
}

static int json_write(const struct hk_comparison *comparison, FILE *output)
{
	return hk_comparison_json(comparison, 0, output);
}

const struct hk_comparison_format hk_comparison_format_json = {"json", json_write};
