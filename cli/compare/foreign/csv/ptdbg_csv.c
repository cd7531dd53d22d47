/* A comparison as the file of ptdbg_ascend's compare(): its columns, names, numbers and messages.
 * "ptdbg-csv" leaves out calls whose tensors have other dtypes or shapes, as with shape_flag=True;
 * "ptdbg-csv-any-shape" has them. Calls without a partner are in neither. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare/foreign/csv/csv_cell.h"
#include "cli/compare/foreign/csv/msprobe_figure.h"
#include "cli/compare/foreign/csv/ptdbg_metrics.h"
#include "cli/compare/foreign/msprobe_name.h"
#include "cli/compare/format.h"
#include "cli/compare/sample.h"

#define NAME_BYTES (HK_MSPROBE_NAME_BYTES + 600)
#define METRICS 5

static const char head[] =
    "NPU Name,Bench Name,NPU Tensor Dtype,Bench Tensor Dtype,NPU Tensor Shape,Bench Tensor Shape,"
    "Cosine,RMSE,MAPE,MaxAbsErr,MaxRelativeErr,NPU max,NPU min,NPU mean,Bench max,Bench min,"
    "Bench mean,Err_message\n";

/* The elements of one side of a match: all, or those that its tool kept. */
struct side {
	struct hk_dump_row row;
	const void *elements;
	uint64_t count;
	void *memory; /* malloc'd, or NULL */
	struct hk_sampling sampling;
};

/* Only these are in ptdbg_ascend's dumps. */
static bool is_dumped(const struct hk_dump_row *row)
{
	return !row->scalar && row->dtype >= HK_DTYPE_F16 && row->dimensions > 0 &&
	       row->statistics.count > 0 && row->kind == HK_DUMP_API &&
	       row->role != HK_DUMP_KEYWORD;
}

static bool is_same_form(const struct hk_dump_row *a, const struct hk_dump_row *b)
{
	return a->dtype == b->dtype && a->dimensions == b->dimensions &&
	       !memcmp(a->shape, b->shape, a->dimensions * sizeof(*a->shape));
}

/* ---- elements ---- */

static void side_read(struct side *side, struct hk_values *values, uint32_t index)
{
	const char *reason;

	*side = (struct side){.sampling = {.step = 0}};
	values->ops->row(values, index, &side->row);
	if (side->row.has_payload) {
		side->elements = values->ops->elements(values, index, &reason);
	}
	side->count = side->row.statistics.count;
	if (values->ops->sampling && values->ops->sampling(values, index, &side->sampling)) {
		side->count = hk_sample_count(&side->sampling, side->count);
	}
}

/* Gives SIDE, which has all elements, the sample that the other one has. */
static int side_sample(struct side *side, const struct hk_sampling *sampling)
{
	uint64_t count = hk_sample_count(sampling, side->count);
	size_t size = hk_dtype_bytes(side->row.dtype);

	side->memory = malloc((size_t)count * size + 1);
	if (!side->memory) {
		return -ENOMEM;
	}
	hk_sample_take(sampling, side->elements, side->count, size, side->memory);
	side->elements = side->memory;
	side->count = count;
	return 0;
}

static int sides_sample(struct side *a, struct side *b)
{
	if (!a->elements || !b->elements || !a->sampling.step == !b->sampling.step) {
		return 0;
	}
	return a->sampling.step ? side_sample(b, &a->sampling) : side_sample(a, &b->sampling);
}

/* ---- a line ---- */

static const char *number_text(char text[HK_FIGURE_BYTES], double number, const char *format)
{
	if (isnan(number)) {
		return "NaN";
	}
	snprintf(text, HK_FIGURE_BYTES, format, number);
	return text;
}

/* One word for all numbers. */
static void words_write(FILE *output, const char *word)
{
	for (int i = 0; i < METRICS; i++) {
		fprintf(output, ",%s", word);
	}
}

static void message_add(char message[256], const char *text)
{
	size_t length = strlen(message);

	snprintf(message + length, 256 - length, "%s", text);
}

static void metrics_write(FILE *output, const struct side *a, const struct side *b,
			  char message[256])
{
	struct hk_ptdbg_metrics metrics;
	char text[HK_FIGURE_BYTES];

	hk_ptdbg_metrics_take(&metrics, a->elements, a->row.dtype, b->elements, b->row.dtype,
			      a->count);
	if (a->count == 1) {
		metrics.cosine = 1;
		message_add(message, "This tensor is scalar.");
	} else if (isnan(metrics.cosine)) {
		message_add(message, "Cannot compare by Cosine Similarity, ");
		message_add(message, metrics.a_zero   ? "All the data is Zero in npu dump data."
				     : metrics.b_zero ? "All the data is Zero in Bench dump data."
						      : "the dump data has NaN.");
	}
	fprintf(output, ",%s", number_text(text, metrics.cosine, "%.6f"));
	fprintf(output, ",%s", number_text(text, metrics.rmse, "%.6f"));
	fprintf(output, ",%s", number_text(text, metrics.mape, "%.4f%%"));
	fprintf(output, ",%s", number_text(text, metrics.max_abs, "%.6f"));
	fprintf(output, ",%s", number_text(text, metrics.max_rel, "%.6f"));
	if (isnan(metrics.max_rel)) {
		message_add(message, "cannot compare by MaxRelativeError, The data contains 0 or "
				     "nan in dump data.");
	}
}

static void numbers_write(FILE *output, const struct side *a, const struct side *b,
			  char message[256])
{
	if (!is_same_form(&a->row, &b->row) && a->count != b->count) {
		words_write(output, "cannot be calculated");
		message_add(message, "Shape of NPU and bench Tensor do not match. Skipped.");
	} else if (!a->elements || !b->elements || a->count != b->count) {
		words_write(output, "NaN");
		message_add(message, a->elements ? "Bench dump file not found."
						 : "NPU dump file not found.");
	} else {
		metrics_write(output, a, b, message);
	}
}

static void name_write(FILE *output, const struct hk_dump_row *row, bool alone)
{
	char api[HK_MSPROBE_NAME_BYTES], name[NAME_BYTES];
	bool backward = row->phase == HK_DUMP_BACKWARD, result = row->role == HK_DUMP_OUTPUT;

	hk_msprobe_api_text(api, row->name);
	char *dot = strchr(api, '.');
	if (dot) {
		*dot = '_';
	}
	alone = alone && result && !backward && !strcmp(row->slot, "0");
	snprintf(name, sizeof(name), "%" PRIu64 "_%s_%s_%s%s%s", row->sequence, api,
		 backward ? "backward" : "forward", result ? "output" : "input", alone ? "" : ".",
		 alone ? "" : row->slot);
	hk_csv_cell_foreign(output, name);
}

static void figures_write(FILE *output, const struct hk_dump_row *row)
{
	for (int which = HK_FIGURE_MAX; which <= HK_FIGURE_MEAN; which++) {
		struct hk_figure_cell cell;
		hk_figure_of_tensor(&cell, row, (enum hk_figure)which);
		fprintf(output, ",%s", cell.text);
	}
}

/* ALONE: A and B are the only results of their calls. */
static int line_write(FILE *output, const struct hk_rank_pair *pair, const struct hk_match *match,
		      bool alone)
{
	char shape[HK_CSV_SHAPE_BYTES], message[256] = "";
	struct side a, b;

	side_read(&a, pair->a, match->a);
	side_read(&b, pair->b, match->b);
	int r = sides_sample(&a, &b);
	if (r == 0) {
		name_write(output, &a.row, alone);
		fputc(',', output);
		name_write(output, &b.row, alone);
		fprintf(output, ",torch.%s,torch.%s,", hk_dtype_name(a.row.dtype),
			hk_dtype_name(b.row.dtype));
		hk_csv_cell(output, hk_csv_shape(shape, &a.row));
		fputc(',', output);
		hk_csv_cell(output, hk_csv_shape(shape, &b.row));
		numbers_write(output, &a, &b, message);
		figures_write(output, &a.row);
		figures_write(output, &b.row);
		fputc(',', output);
		hk_csv_cell(output, message);
		fputc('\n', output);
	}
	free(a.memory);
	free(b.memory);
	return r;
}

/* ---- calls ---- */

/* Reads both rows of MATCH. Returns whether ptdbg_ascend would have both. */
static bool rows_read(const struct hk_rank_pair *pair, const struct hk_match *match,
		      struct hk_dump_row *a, struct hk_dump_row *b)
{
	if (match->a == HK_MATCH_NONE || match->b == HK_MATCH_NONE) {
		return false;
	}
	pair->a->ops->row(pair->a, match->a, a);
	pair->b->ops->row(pair->b, match->b, b);
	return is_dumped(a) && is_dumped(b);
}

static int call_write(FILE *output, const struct hk_rank_pair *pair, const struct hk_call *call,
		      bool any_shape)
{
	uint32_t results = 0;
	bool same = true;
	int r = 0;

	for (uint32_t i = 0; i < call->count; i++) {
		struct hk_dump_row a, b;
		uint32_t index = pair->a_calls.rows[call->first + i];
		if (rows_read(pair, &pair->matches[index], &a, &b)) {
			same &= is_same_form(&a, &b);
		}
		pair->a->ops->row(pair->a, index, &a);
		results += a.role == HK_DUMP_OUTPUT;
	}
	for (uint32_t i = 0; r == 0 && (same || any_shape) && i < call->count; i++) {
		struct hk_dump_row a, b;
		const struct hk_match *match = &pair->matches[pair->a_calls.rows[call->first + i]];
		if (rows_read(pair, match, &a, &b)) {
			r = line_write(output, pair, match, results == 1);
		}
	}
	return r;
}

static int ptdbg_write(const struct hk_comparison *comparison, FILE *output, bool any_shape)
{
	int r = 0;

	fputs(head, output);
	for (size_t i = 0; i < comparison->pair_count; i++) {
		const struct hk_rank_pair *pair = &comparison->pairs[i];
		for (size_t call = 0; r == 0 && call < pair->a_calls.count; call++) {
			r = call_write(output, pair, &pair->a_calls.list[call], any_shape);
		}
	}
	return r < 0 ? r : ferror(output) ? -EIO : 0;
}

static int same_shapes_write(const struct hk_comparison *comparison, FILE *output)
{
	return ptdbg_write(comparison, output, false);
}

static int any_shapes_write(const struct hk_comparison *comparison, FILE *output)
{
	return ptdbg_write(comparison, output, true);
}

const struct hk_comparison_format hk_comparison_format_ptdbg_csv = {"ptdbg-csv", same_shapes_write};
const struct hk_comparison_format hk_comparison_format_ptdbg_csv_any_shape = {"ptdbg-csv-any-shape",
									      any_shapes_write};
