#include "cli/compare/foreign/csv/msprobe_lines.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare/foreign/csv/msprobe_call_names.h"

#define ITEM_BYTES 256

struct builder {
	struct hk_msprobe_lines *lines;
	const struct hk_rank_pair *pair;
	struct hk_msprobe_call_names *a_names, *b_names;
	bool elements;
};

static struct hk_msprobe_line *line_add(struct hk_msprobe_lines *lines)
{
	if (lines->count == lines->room) {
		size_t room = lines->room ? lines->room * 2 : 64;
		struct hk_msprobe_line *list =
		    reallocarray(lines->list, room, sizeof(*lines->list));
		if (!list) {
			return NULL;
		}
		lines->list = list;
		lines->room = room;
	}
	struct hk_msprobe_line *line = &lines->list[lines->count++];
	*line = (struct hk_msprobe_line){.norm_relative = NAN};
	return line;
}

/* ---- matches ---- */

static bool is_wide(enum hk_dtype dtype)
{
	return dtype >= HK_DTYPE_F16 && dtype <= HK_DTYPE_F64;
}

/* msprobe does not compare tensors of other types than these with one another. */
static bool is_comparable(const struct hk_dump_row *a, const struct hk_dump_row *b)
{
	return a->dtype == b->dtype || (is_wide(a->dtype) && is_wide(b->dtype));
}

static bool is_same_shape(const struct hk_dump_row *a, const struct hk_dump_row *b)
{
	return a->dimensions == b->dimensions &&
	       (a->dimensions == 0 ||
		!memcmp(a->shape, b->shape, a->dimensions * sizeof(*a->shape)));
}

/* ---- elements ---- */

/* The metrics that msprobe takes of LINE, of the rows of MATCH. */
static void metrics_take(const struct builder *builder, const struct hk_match *match,
			 struct hk_msprobe_line *line)
{
	const struct hk_rank_pair *pair = builder->pair;
	const char *reason;
	bool there = line->b_name && line->a.has_payload && line->b.has_payload &&
		     line->a.statistics.count > 0;

	if (!there || !is_same_shape(&line->a, &line->b)) {
		line->state = there ? HK_METRICS_SHAPES : HK_METRICS_UNSUPPORTED;
		return;
	}
	const void *a = pair->a->ops->elements(pair->a, match->a, &reason);
	const void *b = a ? pair->b->ops->elements(pair->b, match->b, &reason) : NULL;
	struct hk_sampling sampling;
	if (!b ||
	    (pair->a->ops->sampling && pair->a->ops->sampling(pair->a, match->a, &sampling)) ||
	    (pair->b->ops->sampling && pair->b->ops->sampling(pair->b, match->b, &sampling))) {
		return;
	}
	hk_msprobe_metrics_take(&line->metrics, a, line->a.dtype, b, line->b.dtype,
				line->a.statistics.count);
	line->state = line->a.dimensions == 0 ? HK_METRICS_NUMBER
		      : line->metrics.apart   ? HK_METRICS_APART
					      : HK_METRICS_ALL;
}

/* ---- lines ---- */

/* Writes item INDEX of a value: of "(1, 'a')", or the value itself. Returns whether there is one.
 */
static bool item_of(const char *scalar, size_t index, char item[ITEM_BYTES])
{
	size_t length = strlen(scalar), number = 0, start = 1;
	bool quoted = false;

	if (length < 2 || scalar[0] != '(' || scalar[length - 1] != ')') {
		snprintf(item, ITEM_BYTES, "%s", scalar);
		return index == 0;
	}
	for (size_t at = 1; at < length; at++) {
		quoted ^= scalar[at] == '\'';
		if (quoted || (scalar[at] != ',' && at + 1 < length)) {
			continue;
		}
		if (number++ == index && at > start) {
			snprintf(item, ITEM_BYTES, "%.*s", (int)(at - start), scalar + start);
			return true;
		}
		start = at + 1 + (scalar[at + 1] == ' ');
	}
	return false;
}

static bool is_list(const char *scalar)
{
	return scalar && scalar[0] == '(';
}

/* The name of ROW, with the item's number if it is one of a list. Returns NULL without memory. */
static char *name_of(const struct hk_msprobe_call_names *names, const struct hk_dump_row *row,
		     size_t item, size_t *ret_origin)
{
	char text[HK_MSPROBE_CALL_BYTES];
	char *name;

	*ret_origin = hk_msprobe_call_name(names, row, text);
	int r = is_list(row->scalar) ? asprintf(&name, "%s.%zu", text, item)
				     : asprintf(&name, "%s", text);
	return r < 0 ? NULL : name;
}

static bool scalars_take(struct hk_msprobe_line *line, bool matched, size_t item)
{
	char text[ITEM_BYTES];

	if (line->a.scalar && item_of(line->a.scalar, item, text)) {
		line->a_scalar = strdup(text);
		if (!line->a_scalar) {
			return false;
		}
	}
	if (matched && line->b.scalar && item_of(line->b.scalar, item, text)) {
		line->b_scalar = strdup(text);
		return line->b_scalar;
	}
	return true;
}

static int item_add(const struct builder *builder, const struct hk_match *match,
		    const struct hk_dump_row *a, const struct hk_dump_row *b, size_t item)
{
	struct hk_msprobe_line *line = line_add(builder->lines);
	size_t ignored;

	if (!line) {
		return -ENOMEM;
	}
	line->a = *a;
	line->name = name_of(builder->a_names, a, item, &line->origin);
	line->is_output = line->name && strstr(line->name, ".output.");
	if (!line->name) {
		return -ENOMEM;
	}
	if (b) {
		line->b = *b;
		line->b_name = name_of(builder->b_names, b, item, &ignored);
	}
	if ((b && !line->b_name) || !scalars_take(line, b != NULL, item)) {
		return -ENOMEM;
	}
	if (builder->elements && !a->scalar) {
		metrics_take(builder, match, line);
	}
	return 0;
}

static int match_add(const struct builder *builder, const struct hk_match *match)
{
	const struct hk_rank_pair *pair = builder->pair;
	struct hk_dump_row a, b;
	char text[HK_MSPROBE_CALL_BYTES], item[ITEM_BYTES];
	bool matched = match->b != HK_MATCH_NONE;
	int r = 0;

	pair->a->ops->row(pair->a, match->a, &a);
	if (matched) {
		pair->b->ops->row(pair->b, match->b, &b);
		matched = is_comparable(&a, &b) && !a.scalar == !b.scalar;
	}
	if (hk_msprobe_call_name(builder->a_names, &a, text) == 0) {
		return 0;
	}
	for (size_t i = 0; r == 0 && (a.scalar ? item_of(a.scalar, i, item) : i == 0); i++) {
		r = item_add(builder, match, &a, matched ? &b : NULL, i);
	}
	return r;
}

static int matches_add(const struct builder *builder)
{
	const struct hk_rank_pair *pair = builder->pair;
	int r = 0;

	for (size_t i = 0; r == 0 && i < pair->count; i++) {
		if (pair->matches[i].a != HK_MATCH_NONE) {
			r = match_add(builder, &pair->matches[i]);
		}
	}
	return r;
}

int hk_msprobe_lines_init(struct hk_msprobe_lines *lines, const struct hk_rank_pair *pair,
			  bool elements)
{
	struct builder builder = {.lines = lines,
				  .pair = pair,
				  .a_names = hk_msprobe_call_names_new(pair->a),
				  .b_names = hk_msprobe_call_names_new(pair->b),
				  .elements = elements};

	*lines = (struct hk_msprobe_lines){0};
	int r = builder.a_names && builder.b_names ? matches_add(&builder) : -ENOMEM;
	hk_msprobe_call_names_free(builder.a_names);
	hk_msprobe_call_names_free(builder.b_names);
	return r;
}

void hk_msprobe_lines_fini(struct hk_msprobe_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++) {
		free(lines->list[i].name);
		free(lines->list[i].b_name);
		free(lines->list[i].a_scalar);
		free(lines->list[i].b_scalar);
	}
	free(lines->list);
	*lines = (struct hk_msprobe_lines){0};
}
