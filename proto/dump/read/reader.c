#include "dump/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dump/columns.h"
#include "dump/read/blocks.h"
#include "dump/read/definitions.h"
#include "dump/read/payloads.h"

#define LOST_TEXT "?" /* its definition is damaged */

/* All rows of the file. */
struct rows {
	struct hk_dump_cells *cells;
	uint64_t *shape_at, *scalar_at; /* of each row, in shapes and scalars */
	uint64_t *shapes;
	char *scalars; /* each ends with NUL */
	size_t count, room, shape_count, shape_room, scalar_bytes, scalar_room;
};

struct hk_dump_file {
	struct hk_blocks blocks;
	struct hk_ranges texts, stacks;
	struct hk_payloads payloads;
	struct rows rows;
	char *about;
	uint32_t rank;
	bool complete;
	struct hk_dump_counts counts;
	const char **frames; /* of the last stack */
	char damage[256];
};

/* Makes room for NEEDED items of SIZE bytes. Returns false without memory. */
static bool reserve(void *memory, size_t *room, size_t needed, size_t size)
{
	void **pointer = memory;

	if (needed > *room || !*pointer) {
		size_t larger = 2 * needed + 64;
		void *more = realloc(*pointer, larger * size);
		if (!more) {
			return false;
		}
		*pointer = more;
		*room = larger;
	}
	return true;
}

static bool reserve_rows(struct rows *rows, const struct hk_dump_batch *batch)
{
	const size_t count = rows->count + batch->rows;
	size_t rooms[3] = {rows->room, rows->room, rows->room};
	bool fits = reserve(&rows->cells, &rooms[0], count, sizeof(rows->cells[0])) &&
		    reserve(&rows->shape_at, &rooms[1], count, sizeof(rows->shape_at[0])) &&
		    reserve(&rows->scalar_at, &rooms[2], count, sizeof(rows->scalar_at[0]));

	rows->room = fits ? rooms[0] : rows->room;
	return fits &&
	       reserve(&rows->shapes, &rows->shape_room, rows->shape_count + batch->shape_count,
		       sizeof(rows->shapes[0])) &&
	       reserve(&rows->scalars, &rows->scalar_room,
		       rows->scalar_bytes + batch->scalar_bytes + batch->rows, 1);
}

static int take_rows(struct hk_dump_file *file, const struct hk_dump_batch *batch)
{
	struct rows *rows = &file->rows;
	const char *scalar = batch->scalars;

	if (!reserve_rows(rows, batch)) {
		return -ENOMEM;
	}
	if (batch->shape_count > 0) {
		memcpy(rows->shapes + rows->shape_count, batch->shapes,
		       batch->shape_count * sizeof(rows->shapes[0]));
	}
	for (size_t i = 0; i < batch->rows; i++) {
		const struct hk_dump_cells *cells = &batch->cells[i];
		const size_t bytes = cells->scalar_bytes == HK_DUMP_NONE ? 0 : cells->scalar_bytes;
		rows->cells[rows->count] = *cells;
		rows->shape_at[rows->count] = rows->shape_count;
		rows->scalar_at[rows->count] = rows->scalar_bytes;
		rows->shape_count += cells->dimensions;
		if (bytes > 0) {
			memcpy(rows->scalars + rows->scalar_bytes, scalar, bytes);
			scalar += bytes;
		}
		rows->scalar_bytes += bytes;
		rows->scalars[rows->scalar_bytes++] = '\0';
		rows->count++;
	}
	return 0;
}

static int take_batch(struct hk_dump_file *file, const struct hk_dump_block *block,
		      const void *body)
{
	struct hk_dump_batch batch;
	int rc = hk_dump_columns_read(body, block->raw_bytes, block->argument[0], &batch);

	if (rc == 0) {
		rc = take_rows(file, &batch);
		free(batch.cells);
		free(batch.shapes);
		free(batch.scalars);
	}
	return rc;
}

static int take_about(struct hk_dump_file *file, const struct hk_dump_block *block,
		      const void *body)
{
	if (file->about || memchr(body, '\0', block->raw_bytes)) {
		return -EBADMSG;
	}
	file->about = strndup(body, block->raw_bytes);
	file->rank = (uint32_t)block->argument[0];
	return file->about ? 0 : -ENOMEM;
}

/* A newer version's body may be longer, and with more reasons. */
static int take_counts(struct hk_dump_file *file, const struct hk_dump_block *block,
		       const void *body)
{
	uint64_t numbers[9 + 2 * HK_DUMP_REASONS] = {0};
	struct hk_dump_counts *counts = &file->counts;

	if (block->raw_bytes < sizeof(numbers)) {
		return -EBADMSG;
	}
	memcpy(numbers, body, sizeof(numbers));
	*counts = (struct hk_dump_counts){.rows = numbers[0],
					  .payloads = numbers[1],
					  .duplicates = numbers[2],
					  .bytes = numbers[3],
					  .rows_left_out = numbers[4],
					  .payloads_left_out = numbers[5],
					  .payload_bytes_left_out = numbers[6],
					  .wait_ns = numbers[7],
					  .error = (int)(numbers[8] & INT32_MAX)};
	memcpy(counts->rows_left, numbers + 9, sizeof(counts->rows_left));
	memcpy(counts->payloads_left, numbers + 9 + HK_DUMP_REASONS, sizeof(counts->payloads_left));
	file->complete |= block->type == HK_DUMP_BLOCK_END;
	return 0;
}

/* Takes over one block. A block of an unknown type is left out. */
static int take_block(struct hk_dump_file *file, const struct hk_dump_block *block, uint64_t at)
{
	const void *body;
	int rc;

	if (block->type == HK_DUMP_BLOCK_PAYLOAD) {
		return hk_payloads_add(&file->payloads, block, at);
	}
	if (block->type < HK_DUMP_BLOCK_ABOUT || block->type > HK_DUMP_BLOCK_END) {
		return 0;
	}
	rc = hk_blocks_body(&file->blocks, block, at, &body);
	if (rc != 0) {
		return rc;
	}
	switch (block->type) {
	case HK_DUMP_BLOCK_ABOUT:
		return take_about(file, block, body);
	case HK_DUMP_BLOCK_TEXTS:
		return hk_ranges_add_texts(&file->texts, block, body, block->raw_bytes);
	case HK_DUMP_BLOCK_STACKS:
		return hk_ranges_add_stacks(&file->stacks, block, body, block->raw_bytes);
	case HK_DUMP_BLOCK_ROWS:
		return take_batch(file, block, body);
	default:
		return take_counts(file, block, body);
	}
}

static const char *block_name(unsigned type)
{
	static const char *const names[] = {
	    [HK_DUMP_BLOCK_ABOUT] = "about",	 [HK_DUMP_BLOCK_TEXTS] = "texts",
	    [HK_DUMP_BLOCK_STACKS] = "stacks",	 [HK_DUMP_BLOCK_ROWS] = "rows",
	    [HK_DUMP_BLOCK_PAYLOAD] = "payload", [HK_DUMP_BLOCK_STEP] = "step",
	    [HK_DUMP_BLOCK_END] = "end"};

	return names[type];
}

/* Reads all blocks. Returns 0; -ENOTSUP: a newer version wrote the file; -ENOMEM; -ENODATA: there
 * is no block in it. */
static int read_blocks(struct hk_dump_file *file)
{
	struct hk_dump_block block;
	uint64_t at, blocks = 0;

	while (hk_blocks_next(&file->blocks, &block, &at)) {
		int rc;
		blocks++;
		if (block.major != HK_DUMP_MAJOR) {
			return -ENOTSUP;
		}
		rc = take_block(file, &block, at);
		if (rc == -ENOMEM) {
			return rc;
		}
		if (rc != 0) {
			hk_blocks_note(&file->blocks, "the %s at byte %llu %s",
				       block_name(block.type), (unsigned long long)at,
				       rc == -ENOTSUP ? "need a newer version" : "are damaged");
		}
	}
	return blocks == 0 ? -ENODATA : hk_payloads_sort(&file->payloads);
}

static uint32_t longest_stack(const struct hk_ranges *stacks)
{
	uint32_t longest = 0;

	for (size_t i = 0; i < stacks->count; i++) {
		for (uint32_t j = 0; j < stacks->ranges[i].count; j++) {
			const uint32_t *stack = stacks->ranges[i].items[j];
			longest = *stack > longest ? *stack : longest;
		}
	}
	return longest;
}

/* What is missing of a file that was read, in one sentence. */
static void describe_damage(struct hk_dump_file *file)
{
	const struct hk_blocks *blocks = &file->blocks;

	if (blocks->places > 1) {
		snprintf(file->damage, sizeof(file->damage), "%s; so are %u more places",
			 blocks->damage, blocks->places - 1);
	} else if (blocks->places == 1) {
		snprintf(file->damage, sizeof(file->damage), "%s", blocks->damage);
	}
}

static const char *explain(int rc)
{
	switch (rc) {
	case -ENOTSUP:
		return "a newer version of hooktrace wrote it";
	case -ENODATA:
		return "there is no block of a dump in it";
	case -EINVAL:
		return "it is no file";
	default:
		return strerror(-rc);
	}
}

struct hk_dump_file *hk_dump_file_open(const char *path, char *reason, size_t bytes)
{
	struct hk_dump_file *file = calloc(1, sizeof(*file));
	int rc = -ENOMEM;

	if (file) {
		file->rank = HK_DUMP_NONE;
		rc = hk_blocks_open(&file->blocks, path);
		rc = rc == 0 ? read_blocks(file) : rc;
		file->frames = calloc(longest_stack(&file->stacks) + 1u, sizeof(file->frames[0]));
		rc = rc == 0 && !file->frames ? -ENOMEM : rc;
	}
	if (rc != 0) {
		snprintf(reason, bytes, "cannot read %s: %s", path, explain(rc));
		hk_dump_file_close(file);
		return NULL;
	}
	describe_damage(file);
	return file;
}

void hk_dump_file_close(struct hk_dump_file *file)
{
	if (!file) {
		return;
	}
	hk_blocks_close(&file->blocks);
	hk_ranges_fini(&file->texts);
	hk_ranges_fini(&file->stacks);
	hk_payloads_fini(&file->payloads);
	free(file->rows.cells);
	free(file->rows.shape_at);
	free(file->rows.scalar_at);
	free(file->rows.shapes);
	free(file->rows.scalars);
	free(file->about);
	free(file->frames);
	free(file);
}

const char *hk_dump_file_about(const struct hk_dump_file *file)
{
	return file->about ? file->about : "{}";
}

uint32_t hk_dump_file_rank(const struct hk_dump_file *file)
{
	return file->rank;
}

size_t hk_dump_file_rows(const struct hk_dump_file *file)
{
	return file->rows.count;
}

static const char *find_text(const struct hk_dump_file *file, uint32_t number)
{
	const char *text = hk_ranges_find(&file->texts, number);

	return text ? text : LOST_TEXT;
}

void hk_dump_file_row(const struct hk_dump_file *file, size_t index, struct hk_dump_row *row)
{
	const struct rows *rows = &file->rows;
	const struct hk_dump_cells *cells = &rows->cells[index];

	*row = (struct hk_dump_row){
	    .sequence = cells->sequence,
	    .forward_sequence = cells->forward_sequence,
	    .step = cells->step,
	    .kind = (enum hk_dump_kind)cells->kind,
	    .phase = (enum hk_dump_phase)cells->phase,
	    .role = (enum hk_dump_role)cells->role,
	    .name = find_text(file, cells->name),
	    .of = find_text(file, cells->of),
	    .number = cells->number,
	    .slot = find_text(file, cells->slot),
	    .device = find_text(file, cells->device),
	    .scalar =
		cells->scalar_bytes == HK_DUMP_NONE ? NULL : rows->scalars + rows->scalar_at[index],
	    .flags = cells->flags,
	    .dtype = (enum hk_dtype)cells->dtype,
	    .dimensions = cells->dimensions,
	    .shape = rows->shapes + rows->shape_at[index],
	    .statistics = {.count = cells->count,
			   .nans = cells->nans,
			   .positive_infs = cells->positive_infs,
			   .negative_infs = cells->negative_infs,
			   .zeros = cells->zeros,
			   .min = cells->min,
			   .max = cells->max,
			   .mean = cells->mean,
			   .l2 = cells->l2,
			   .deviation = cells->deviation,
			   .digest = cells->digest},
	    .storage = cells->storage,
	    .version = cells->version,
	    .offset = cells->offset,
	    .stack = cells->stack,
	    .thread = cells->thread,
	    .begin_ns = cells->begin_ns,
	    .has_payload = hk_payloads_has(&file->payloads, cells),
	};
}

uint32_t hk_dump_file_stack(struct hk_dump_file *file, uint32_t stack,
			    const char *const **ret_frames)
{
	const uint32_t *numbers = hk_ranges_find(&file->stacks, stack);
	const uint32_t count = numbers ? numbers[0] : 0;

	for (uint32_t i = 0; i < count; i++) {
		file->frames[i] = find_text(file, numbers[i + 1]);
	}
	*ret_frames = file->frames;
	return count;
}

const void *hk_dump_file_elements(struct hk_dump_file *file, size_t index, const char **reason)
{
	return hk_payloads_read(&file->payloads, &file->blocks, &file->rows.cells[index], reason);
}

struct hk_dump_counts hk_dump_file_counts(const struct hk_dump_file *file, bool *ret_complete,
					  const char **ret_damage)
{
	*ret_complete = file->complete;
	*ret_damage = file->damage[0] ? file->damage : NULL;
	return file->counts;
}
