#include "cli/compare/foreign/rows.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare/array/array_file.h"
#include "cli/compare/array/recast.h"
#include "cli/compare/sample.h"

#define ROWS_MAX (UINT32_MAX - 1u)

struct stored {
	struct hk_dump_row row;
	struct hk_foreign_elements elements;
};

struct stack {
	const char **frames;
	uint32_t count;
};

/* A piece of memory that lives as long as the rows. */
struct piece {
	struct piece *next;
	uint64_t bytes[]; /* aligned for texts, shapes and pointers */
};

struct hk_foreign_rows {
	struct hk_values values;
	struct stored *list;
	size_t room;
	struct stack *stacks;
	uint32_t stack_count;
	struct piece *pieces;
	struct hk_array array; /* the elements that were asked for last */
	char reason[HK_ARRAY_REASON_BYTES];
	char damage[HK_ARRAY_REASON_BYTES];
};

static void *keep(struct hk_foreign_rows *rows, const void *from, size_t bytes)
{
	struct piece *piece = malloc(sizeof(*piece) + bytes);

	if (!piece) {
		return NULL;
	}
	memcpy(piece->bytes, from, bytes);
	piece->next = rows->pieces;
	rows->pieces = piece;
	return piece->bytes;
}

static bool keep_text(struct hk_foreign_rows *rows, const char **text)
{
	*text = *text && **text ? keep(rows, *text, strlen(*text) + 1) : "";
	return *text != NULL;
}

static void row(const struct hk_values *values, size_t index, struct hk_dump_row *row)
{
	*row = ((const struct hk_foreign_rows *)values)->list[index].row;
}

static bool sampling(const struct hk_values *values, size_t index, struct hk_sampling *ret_sampling)
{
	*ret_sampling = ((const struct hk_foreign_rows *)values)->list[index].elements.sampling;
	return ret_sampling->step > 0;
}

/* What other tools do not count is known once the elements are read. */
static void statistics_complete(struct hk_foreign_rows *rows, struct stored *stored)
{
	const struct hk_tensor tensor = {rows->array.elements, rows->array.dtype,
					 stored->row.dimensions, stored->row.shape, NULL};
	struct hk_statistics *known = &stored->row.statistics, exact;

	if (stored->elements.sampling.step > 0 || known->digest != 0 ||
	    hk_statistics_take(&tensor, &exact) < 0) {
		return;
	}
	/* Their own numbers stay; NaN and Inf have no part in ours. */
	exact.max = isfinite(known->max) ? known->max : exact.max;
	exact.min = isfinite(known->min) ? known->min : exact.min;
	exact.mean = isfinite(known->mean) ? known->mean : exact.mean;
	exact.l2 = isfinite(known->l2) ? known->l2 : exact.l2;
	*known = exact;
	stored->row.flags &= ~HK_DUMP_NO_STATISTICS;
}

/* Checks that the file has what the row says, and gives it the row's dtype. */
static int fit(struct hk_foreign_rows *rows, const struct stored *stored)
{
	const struct hk_sampling *sampling = &stored->elements.sampling;
	uint64_t count = stored->row.statistics.count;

	if (sampling->step > 0) {
		count = hk_sample_count(sampling, count);
	}
	if (rows->array.count != count) {
		return hk_array_refuse(rows->reason, "its file has another number of elements");
	}
	if (rows->array.dtype == stored->row.dtype) {
		return 0;
	}
	return hk_array_recast(&rows->array, stored->row.dtype) < 0
		   ? hk_array_refuse(rows->reason, "its file has elements of another type")
		   : 0;
}

static const void *elements(struct hk_values *values, size_t index, const char **reason)
{
	struct hk_foreign_rows *rows = (struct hk_foreign_rows *)values;
	struct stored *stored = &rows->list[index];

	hk_array_free(&rows->array);
	if (!stored->elements.file) {
		*reason = "the dump has no elements of it";
		return NULL;
	}
	if (hk_array_file_read(&rows->array, stored->elements.file, rows->reason) < 0 ||
	    fit(rows, stored) < 0) {
		*reason = rows->reason;
		return NULL;
	}
	statistics_complete(rows, stored);
	return rows->array.elements;
}

static uint32_t stack(struct hk_values *values, uint32_t stack, const char *const **ret_frames)
{
	const struct hk_foreign_rows *rows = (const struct hk_foreign_rows *)values;

	if (stack >= rows->stack_count) {
		return 0;
	}
	*ret_frames = rows->stacks[stack].frames;
	return rows->stacks[stack].count;
}

static void rows_close(struct hk_values *values)
{
	struct hk_foreign_rows *rows = (struct hk_foreign_rows *)values;

	for (struct piece *piece = rows->pieces, *next; piece; piece = next) {
		next = piece->next;
		free(piece);
	}
	hk_array_free(&rows->array);
	free(rows->list);
	free(rows->stacks);
	free(rows);
}

static const struct hk_values_ops ops = {
    .row = row, .elements = elements, .stack = stack, .sampling = sampling, .close = rows_close};

struct hk_foreign_rows *hk_foreign_rows_new(uint32_t rank, const char *about)
{
	struct hk_foreign_rows *rows = calloc(1, sizeof(*rows));

	if (!rows) {
		return NULL;
	}
	rows->values =
	    (struct hk_values){.ops = &ops, .rank = rank, .about = about, .uncounted = true};
	if (!keep_text(rows, &rows->values.about)) {
		free(rows);
		return NULL;
	}
	return rows;
}

struct hk_values *hk_foreign_rows_values(struct hk_foreign_rows *rows)
{
	return &rows->values;
}

static int room_make(struct hk_foreign_rows *rows)
{
	if (rows->values.count == ROWS_MAX) {
		return -E2BIG;
	}
	if (rows->values.count == rows->room) {
		size_t room = rows->room ? rows->room * 2 : 64;
		struct stored *list = reallocarray(rows->list, room, sizeof(*list));
		if (!list) {
			return -ENOMEM;
		}
		rows->list = list;
		rows->room = room;
	}
	return 0;
}

/* Replaces the pointers of ROW by copies that live as long as the rows. */
static bool row_keep(struct hk_foreign_rows *rows, struct hk_dump_row *row)
{
	if (!keep_text(rows, &row->name) || !keep_text(rows, &row->of) ||
	    !keep_text(rows, &row->slot) || !keep_text(rows, &row->device) ||
	    (row->scalar && !keep_text(rows, &row->scalar))) {
		return false;
	}
	if (row->dimensions > 0) {
		row->shape = keep(rows, row->shape, row->dimensions * sizeof(*row->shape));
	}
	return row->dimensions == 0 || row->shape;
}

int hk_foreign_rows_add(struct hk_foreign_rows *rows, const struct hk_dump_row *row,
			const struct hk_foreign_elements *elements)
{
	struct stored stored = {.row = *row, .elements = *elements};
	int r = room_make(rows);

	if (r < 0) {
		return r;
	}
	if (!row_keep(rows, &stored.row) ||
	    (stored.elements.file && !keep_text(rows, &stored.elements.file))) {
		return -ENOMEM;
	}
	stored.row.has_payload = stored.elements.file != NULL;
	rows->list[rows->values.count++] = stored;
	return 0;
}

int hk_foreign_rows_stack(struct hk_foreign_rows *rows, const char *const *frames, uint32_t count,
			  uint32_t *ret_stack)
{
	struct stack *stacks =
	    reallocarray(rows->stacks, rows->stack_count + 1, sizeof(*rows->stacks));

	if (!stacks) {
		return -ENOMEM;
	}
	rows->stacks = stacks;
	const char **kept = keep(rows, frames, count * sizeof(*frames));
	for (uint32_t i = 0; kept && i < count; i++) {
		if (!keep_text(rows, &kept[i])) {
			return -ENOMEM;
		}
	}
	if (!kept) {
		return -ENOMEM;
	}
	stacks[rows->stack_count] = (struct stack){kept, count};
	*ret_stack = rows->stack_count++;
	return 0;
}

struct hk_dump_row *hk_foreign_rows_at(struct hk_foreign_rows *rows, size_t index)
{
	return &rows->list[index].row;
}

size_t hk_foreign_rows_count(const struct hk_foreign_rows *rows)
{
	return rows->values.count;
}

void hk_foreign_rows_damaged(struct hk_foreign_rows *rows, const char *reason)
{
	if (!rows->values.damage) {
		snprintf(rows->damage, sizeof(rows->damage), "%s", reason);
		rows->values.damage = rows->damage;
	}
}

struct hk_statistics hk_foreign_statistics(const uint64_t *shape, uint32_t dimensions)
{
	struct hk_statistics statistics = {
	    .count = 1, .min = NAN, .max = NAN, .mean = NAN, .l2 = NAN, .deviation = NAN};

	for (uint32_t i = 0; i < dimensions; i++) {
		statistics.count = shape[i] == 0 || statistics.count <= UINT64_MAX / shape[i]
				       ? statistics.count * shape[i]
				       : UINT64_MAX;
	}
	return statistics;
}
