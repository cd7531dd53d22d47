#include "cli/compare/foreign/csv/msprobe_judge.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare/foreign/csv/msprobe_side.h"

#define WARNINGS (HK_OBJECTION_RELATIVE_WARNING | HK_OBJECTION_COSINE_WARNING)

/* In the order in which msprobe lists them. */
static const struct {
	enum hk_msprobe_objection objection;
	const char *message;
} messages[] = {
    {HK_OBJECTION_INF_NAN, "error: There is nan/inf/-inf in the maximum or minimum value of NPU."},
    {HK_OBJECTION_RELATIVE, "error: The NormRelativeErr of output is greater than 0.5."},
    {HK_OBJECTION_THOUSANDTH,
     "error: The input/parameters of One Thousandth Err Ratio > 0.9 while the output < 0.6."},
    {HK_OBJECTION_REQUIRES_GRAD, "error: The Required_Grad of NPU and Bench are inconsistent"},
    {HK_OBJECTION_SCALAR, "error: The scalar parameters of NPU and Bench are inconsistent."},
    {HK_OBJECTION_DTYPE, "error: The dtype of NPU and Bench are inconsistent."},
    {HK_OBJECTION_SHAPE, "error: The shape of NPU and Bench are inconsistent."},
    {HK_OBJECTION_RELATIVE_WARNING,
     "warning: The norm relative error of output is 10 times that of input."},
    {HK_OBJECTION_COSINE_WARNING,
     "warning: The input/parameters of Cosine > 0.9, and input/parameters - output > 0.1"},
};

/* Calls of which nothing is judged, and of which the inputs are not: their memory is not set yet.
 */
static const char *const unjudged[] = {"empty",
				       "empty_like",
				       "numpy",
				       "to",
				       "__setitem__",
				       "empty_with_format",
				       "new_empty_strided",
				       "new_empty",
				       "empty_strided"};
static const char *const outputs_only[] = {"_reduce_scatter_base", "_all_gather_base",
					   "all_to_all_single", "batch_isend_irecv"};

/* The lines of one call. */
struct call {
	struct hk_msprobe_line **lines;
	size_t count;
	struct hk_msprobe_line *output; /* the first, or NULL */
	double in, out; /* the extreme of inputs and outputs: of the norm's error, or of a ratio */
};

static bool is_one_of(const char *const *words, size_t count, const char *name, size_t origin)
{
	const char *start = memchr(name, '.', origin);
	size_t length = start ? strcspn(start + 1, ".") : 0;

	for (size_t i = 0; start && i < count; i++) {
		if (strlen(words[i]) == length && !strncmp(start + 1, words[i], length)) {
			return true;
		}
	}
	return false;
}

/* ---- one line ---- */

static bool is_not_finite(const struct hk_msprobe_line *line, bool of_b)
{
	for (int which = HK_FIGURE_MAX; which <= HK_FIGURE_MIN; which++) {
		struct hk_figure_cell cell;
		hk_msprobe_side_figure(&cell, line, of_b, (enum hk_figure)which);
		if (cell.kind == HK_FIGURE_INF || cell.kind == HK_FIGURE_MINUS_INF ||
		    !strcmp(cell.text, "Nan")) {
			return true;
		}
	}
	return false;
}

static bool is_scalar_apart(const struct hk_msprobe_line *line)
{
	struct hk_figure_cell a, b;

	if (!line->a_scalar || !line->b_scalar || line->is_output) {
		return false;
	}
	hk_figure_of_scalar(&a, line->a_scalar);
	hk_figure_of_scalar(&b, line->b_scalar);
	return strcmp(a.text, b.text) != 0;
}

static void line_judge(struct hk_msprobe_line *line, bool outputs)
{
	char a[HK_CSV_SHAPE_BYTES], b[HK_CSV_SHAPE_BYTES];

	if (is_not_finite(line, false) && !is_not_finite(line, true)) {
		line->objections |= HK_OBJECTION_INF_NAN;
	}
	if (!line->b_name) {
		return;
	}
	if (strcmp(hk_msprobe_side_requires_grad(line, false),
		   hk_msprobe_side_requires_grad(line, true)) != 0) {
		line->objections |= HK_OBJECTION_REQUIRES_GRAD;
	}
	if (!outputs && is_scalar_apart(line)) {
		line->objections |= HK_OBJECTION_SCALAR;
	}
	if (strcmp(hk_msprobe_side_dtype(a, line, false), hk_msprobe_side_dtype(b, line, true)) !=
	    0) {
		line->objections |= HK_OBJECTION_DTYPE;
	}
	if (strcmp(hk_msprobe_side_shape(a, line, false), hk_msprobe_side_shape(b, line, true)) !=
	    0) {
		line->objections |= HK_OBJECTION_SHAPE;
	}
}

/* ---- inputs and outputs of a call ---- */

static void relative_judge(struct call *call)
{
	call->in = call->out = 0;
	for (size_t i = 0; i < call->count; i++) {
		double *side = call->lines[i]->is_output ? &call->out : &call->in;
		*side = fmax(*side, call->lines[i]->norm_relative);
	}
	for (size_t i = 0; call->in < 0.1 && i < call->count; i++) {
		if (call->lines[i]->is_output && call->lines[i]->norm_relative > 0.5) {
			call->lines[i]->objections |= HK_OBJECTION_RELATIVE;
		}
	}
	if (call->output && (call->in == 0 ? call->out > 0.1 : call->out / call->in > 10)) {
		call->output->objections |= HK_OBJECTION_RELATIVE_WARNING;
	}
}

/* Sets the least METRIC of inputs and outputs, 1 at most. */
static void least_take(struct call *call, bool cosine)
{
	call->in = call->out = 1;
	for (size_t i = 0; i < call->count; i++) {
		const struct hk_msprobe_line *line = call->lines[i];
		double *side = line->is_output ? &call->out : &call->in;
		if (line->state == HK_METRICS_ALL) {
			*side =
			    fmin(*side, cosine ? line->metrics.cosine : line->metrics.within_1000);
		}
	}
}

static void elements_judge(struct call *call)
{
	if (!call->output) {
		return;
	}
	least_take(call, false);
	if (call->in > 0.9 && call->out < 0.1) {
		call->output->objections |= HK_OBJECTION_THOUSANDTH;
	}
	least_take(call, true);
	if (call->in > 0.9 && call->in - call->out > 0.1) {
		call->output->objections |= HK_OBJECTION_COSINE_WARNING;
	}
}

static void call_judge(struct call *call, bool elements)
{
	const struct hk_msprobe_line *first = call->lines[0];
	bool outputs = is_one_of(outputs_only, sizeof(outputs_only) / sizeof(*outputs_only),
				 first->name, first->origin);

	call->lines[0]->is_first = true;
	if (is_one_of(unjudged, sizeof(unjudged) / sizeof(*unjudged), first->name, first->origin)) {
		return;
	}
	for (size_t i = 0; i < call->count; i++) {
		struct hk_msprobe_line *line = call->lines[i];
		if (!outputs || line->is_output) {
			line_judge(line, outputs);
		}
		call->output = !call->output && line->is_output ? line : call->output;
	}
	if (outputs) {
		return;
	}
	if (elements) {
		elements_judge(call);
	} else {
		relative_judge(call);
	}
}

/* ---- all lines ---- */

static void norms_take(struct hk_msprobe_lines *lines)
{
	char difference[HK_FIGURE_BYTES], relative[HK_FIGURE_BYTES];
	struct hk_figure_cell a, b;

	for (size_t i = 0; i < lines->count; i++) {
		struct hk_msprobe_line *line = &lines->list[i];
		hk_msprobe_side_figure(&a, line, false, HK_FIGURE_NORM);
		hk_msprobe_side_figure(&b, line, true, HK_FIGURE_NORM);
		line->norm_relative = hk_figure_difference(&a, &b, difference, relative);
	}
}

static int origin_compare(const struct hk_msprobe_line *a, const struct hk_msprobe_line *b)
{
	int order = strncmp(a->name, b->name, a->origin < b->origin ? a->origin : b->origin);

	return order ? order : (a->origin > b->origin) - (a->origin < b->origin);
}

/* By step and name of the call, then as they are. */
static int by_call(const void *left, const void *right)
{
	const struct hk_msprobe_line *const *a = left, *const *b = right;
	int order = origin_compare(*a, *b);

	if ((*a)->a.step != (*b)->a.step) {
		return (*a)->a.step < (*b)->a.step ? -1 : 1;
	}
	return order ? order : (*a > *b) - (*a < *b);
}

int hk_msprobe_judge(struct hk_msprobe_lines *lines, bool elements)
{
	struct hk_msprobe_line **sorted = calloc(lines->count + 1, sizeof(*sorted));
	size_t next;

	if (!sorted) {
		return -ENOMEM;
	}
	norms_take(lines);
	for (size_t i = 0; i < lines->count; i++) {
		sorted[i] = &lines->list[i];
	}
	qsort(sorted, lines->count, sizeof(*sorted), by_call);
	for (size_t first = 0; first < lines->count; first = next) {
		next = first + 1;
		while (next < lines->count && sorted[next]->a.step == sorted[first]->a.step &&
		       origin_compare(sorted[next], sorted[first]) == 0) {
			next++;
		}
		struct call call = {.lines = &sorted[first], .count = next - first};
		call_judge(&call, elements);
	}
	free(sorted);
	return 0;
}

const char *hk_msprobe_objections(char text[HK_OBJECTIONS_BYTES], unsigned objections)
{
	size_t length = (size_t)snprintf(text, HK_OBJECTIONS_BYTES, "[");

	for (size_t i = 0; i < sizeof(messages) / sizeof(*messages); i++) {
		if (objections & messages[i].objection) {
			length += (size_t)snprintf(text + length, HK_OBJECTIONS_BYTES - length,
						   "%s\"%s\"", length > 1 ? ", " : "",
						   messages[i].message);
		}
	}
	snprintf(text + length, HK_OBJECTIONS_BYTES - length, "]");
	return text;
}

const char *hk_msprobe_result(unsigned objections)
{
	return objections & ~(unsigned)WARNINGS ? "error" : objections ? "warning" : "pass";
}
