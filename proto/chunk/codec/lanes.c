#include "chunk/codec/lanes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/varint.h"
#include "chunk/codec/batch.h"
#include "chunk/codec/varints.h"

#define FIRST_RECORDS 1024u
#define FIRST_ITEMS 64u
#define PAYLOAD_ALIKE_MAX 2u /* payload words per record */
#define SLACK_BYTES HK_VARINTS_SLACK

static int reserve(struct hk_column *column, size_t bytes)
{
	size_t needed = column->used + bytes + SLACK_BYTES;
	size_t capacity = column->capacity ? column->capacity : 4096;

	if (needed <= column->capacity) {
		return 0;
	}
	while (capacity < needed) {
		capacity *= 2;
	}
	uint8_t *grown = realloc(column->bytes, capacity);
	if (!grown) {
		return -ENOMEM;
	}
	column->bytes = grown;
	column->capacity = capacity;
	return 0;
}

/* Makes *items, an array of 4- or 8-byte items, hold more than `count`. */
static int grow_items(void *items, size_t item_bytes, uint32_t *capacity, uint32_t count)
{
	uint32_t wanted = *capacity ? *capacity : FIRST_ITEMS;
	void *old, *grown;

	if (count < *capacity) {
		return 0;
	}
	while (wanted <= count) {
		wanted *= 2;
	}
	memcpy(&old, items, sizeof(old));
	grown = realloc(old, wanted * item_bytes);
	if (!grown) {
		return -ENOMEM;
	}
	memcpy(items, &grown, sizeof(grown));
	*capacity = wanted;
	return 0;
}

/* Reserves room for `count` records at their largest, from the column's start: it is kept after a
 * clear. */
static int reserve_records(struct hk_column *column, uint32_t records)
{
	return reserve(column, (size_t)records * HK_VARINT_BYTES_MAX - column->used);
}

static int grow_records(struct hk_lanes *lanes, uint32_t records)
{
	uint32_t room = lanes->record_room ? lanes->record_room : FIRST_RECORDS;

	if (records <= lanes->record_room) {
		return 0;
	}
	while (room < records) {
		room *= 2;
	}
	if (reserve_records(&lanes->columns[HK_COLUMN_SHAPE], room) < 0 ||
	    reserve_records(&lanes->columns[HK_COLUMN_START], room) < 0 ||
	    reserve_records(&lanes->columns[HK_COLUMN_DURATION], room) < 0) {
		return -ENOMEM;
	}
	lanes->record_room = room;
	return 0;
}

static int end_run(struct hk_lanes *lanes)
{
	struct hk_column *runs = &lanes->columns[HK_COLUMN_RUNS];

	if (!lanes->run_records) {
		return 0;
	}
	if (reserve(runs, 2 * HK_VARINT_BYTES_MAX) < 0) {
		return -ENOMEM;
	}
	runs->used += hk_varint_put(runs->bytes + runs->used, lanes->run_lane);
	runs->used += hk_varint_put(runs->bytes + runs->used, lanes->run_records);
	lanes->head.runs++;
	lanes->run_records = 0;
	return 0;
}

static int begin_run(struct hk_lanes *lanes, uint32_t lane, uint64_t start_ticks)
{
	uint32_t known = lanes->lane_capacity;
	int rc = end_run(lanes);

	if (rc < 0) {
		return rc;
	}
	if (!lanes->head.records) {
		lanes->head.base_ticks = start_ticks;
		for (uint32_t i = 0; i < known; i++) {
			lanes->lane_start[i] = start_ticks;
		}
	}
	rc =
	    grow_items(&lanes->lane_start, sizeof(*lanes->lane_start), &lanes->lane_capacity, lane);
	if (rc < 0) {
		return rc;
	}
	for (uint32_t i = known; i < lanes->lane_capacity; i++) {
		lanes->lane_start[i] = lanes->head.base_ticks;
	}
	lanes->run_lane = lane;
	return 0;
}

static int new_shape(struct hk_lanes *lanes, uint32_t shape, uint32_t *ret_number)
{
	struct hk_column *shapes = &lanes->columns[HK_COLUMN_SHAPES];
	uint32_t words = shape >> HK_SHAPE_WORDS_SHIFT;

	if (reserve(shapes, sizeof(shape)) < 0 ||
	    grow_items(&lanes->shape_words, sizeof(*lanes->shape_words), &lanes->shape_capacity,
		       lanes->head.shapes) < 0 ||
	    grow_items(&lanes->previous, sizeof(*lanes->previous), &lanes->previous_capacity,
		       lanes->previous_used + words) < 0 ||
	    hk_intern_add(&lanes->shape_index, shape, ret_number) < 0) {
		return -ENOMEM;
	}
	memcpy(shapes->bytes + shapes->used, &shape, sizeof(shape));
	shapes->used += sizeof(shape);
	lanes->shape_words[lanes->head.shapes++] = lanes->previous_used;
	memset(lanes->previous + lanes->previous_used, 0, words * sizeof(*lanes->previous));
	lanes->previous_used += words;
	return 0;
}

int hk_lanes_init(struct hk_lanes *lanes)
{
	*lanes = (struct hk_lanes){
	    .run_lane = UINT32_MAX, .min_start_ticks = UINT64_MAX, .put = hk_varints_put_here()};
	return hk_intern_init(&lanes->shape_index);
}

/* ---- adding a batch ---- */

static inline struct hk_lanes_recent *recent_of(struct hk_lanes *lanes, uint32_t shape)
{
	return &lanes->recent[shape * 0x9e3779b1u >> (32 - HK_LANES_RECENT_BITS)];
}

static int find_shape(struct hk_lanes *lanes, uint32_t shape, uint32_t *ret_number)
{
	struct hk_lanes_recent *recent = recent_of(lanes, shape);

	if (recent->shape != shape) {
		uint32_t number = hk_intern_find(&lanes->shape_index, shape);
		if (number == HK_INTERN_NONE && new_shape(lanes, shape, &number) < 0) {
			return -ENOMEM;
		}
		*recent = (struct hk_lanes_recent){shape, number};
	}
	*ret_number = recent->number;
	return 0;
}

/* Numbers the shapes, in which the bits `unlike` differ; returns the number of records that it
 * covered. */
static uint32_t find_shapes(struct hk_lanes *lanes, const struct hk_lanes_batch *batch,
			    uint32_t unlike, uint64_t *numbers)
{
	uint32_t number = 0, unknown = 0;

	if (!unlike) {
		if (find_shape(lanes, batch->shapes[0], &number) < 0) {
			return 0;
		}
		for (uint32_t i = 0; i < batch->count; i++) {
			numbers[i] = number;
		}
		return batch->count;
	}
	/* After the first ones, all shapes are found at their last place; a branch for each miss
	 * would cost more than a second lookup. */
	for (uint32_t i = 0; i < batch->count; i++) {
		const struct hk_lanes_recent *recent = recent_of(lanes, batch->shapes[i]);
		unknown |= recent->shape ^ batch->shapes[i];
		numbers[i] = recent->number;
	}
	for (uint32_t i = 0; unknown && i < batch->count; i++) {
		if (find_shape(lanes, batch->shapes[i], &number) < 0) {
			return i;
		}
		numbers[i] = number;
	}
	return batch->count;
}

static void put_column(struct hk_lanes *lanes, unsigned number, const uint64_t *values,
		       size_t count)
{
	struct hk_column *column = &lanes->columns[number];

	column->used =
	    (size_t)(lanes->put(column->bytes + column->used, values, count) - column->bytes);
}

static void put_starts(struct hk_lanes *lanes, uint32_t lane, const uint64_t *starts,
		       uint32_t count)
{
	uint64_t differences[HK_LANES_BATCH];
	uint64_t least = hk_batch_differences(starts, count, lanes->lane_start[lane], differences);

	put_column(lanes, HK_COLUMN_START, differences, count);
	lanes->lane_start[lane] = starts[count - 1];
	lanes->min_start_ticks = least < lanes->min_start_ticks ? least : lanes->min_start_ticks;
}

/* Deltas of the words of records with `words` each. The number is a compile-time constant, so that
 * a record's place does not depend on earlier records. */
static inline __attribute__((always_inline)) void put_alike(struct hk_lanes *lanes,
							    const uint64_t *payload, uint32_t words,
							    const uint64_t *numbers, uint32_t count)
{
	const uint32_t *shape_words = lanes->shape_words;
	uint64_t *all_previous = lanes->previous;
	uint64_t deltas[HK_LANES_BATCH * PAYLOAD_ALIKE_MAX];

	for (uint32_t i = 0; i < count; i++) {
		uint64_t *previous = all_previous + shape_words[numbers[i]];
		for (uint32_t w = 0; w < words; w++) {
			uint64_t word = payload[i * (words + HK_CHUNK_RAW_HEADER_WORDS) + w];
			deltas[i * words + w] = hk_zigzag(word - previous[w]);
			previous[w] = word;
		}
	}
	put_column(lanes, HK_COLUMN_PAYLOAD, deltas, (size_t)count * words);
	lanes->head.words += count * words;
}

static void put_mixed(struct hk_lanes *lanes, const struct hk_lanes_batch *batch,
		      const uint64_t *numbers, uint32_t count)
{
	const uint32_t *shape_words = lanes->shape_words;
	uint64_t *all_previous = lanes->previous;
	uint64_t deltas[HK_LANES_BATCH];
	uint32_t held = 0, all = 0;
	size_t at = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t *previous = all_previous + shape_words[numbers[i]];
		const uint64_t *words = batch->payload + at;
		uint32_t word_count = batch->shapes[i] >> HK_SHAPE_WORDS_SHIFT;
		if (held + word_count > HK_LANES_BATCH) {
			put_column(lanes, HK_COLUMN_PAYLOAD, deltas, held);
			held = 0;
		}
		for (uint32_t w = 0; w < word_count; w++) {
			deltas[held + w] = hk_zigzag(words[w] - previous[w]);
			previous[w] = words[w];
		}
		held += word_count;
		all += word_count;
		at += word_count + HK_CHUNK_RAW_HEADER_WORDS;
	}
	put_column(lanes, HK_COLUMN_PAYLOAD, deltas, held);
	lanes->head.words += all;
}

/* `unlike`: as for find_shapes. */
static void put_payloads(struct hk_lanes *lanes, const struct hk_lanes_batch *batch,
			 uint32_t unlike, const uint64_t *numbers, uint32_t count)
{
	uint32_t words = batch->shapes[0] >> HK_SHAPE_WORDS_SHIFT;

	switch (unlike >> HK_SHAPE_WORDS_SHIFT ? 0 : words) {
	case 1:
		put_alike(lanes, batch->payload, 1, numbers, count);
		break;
	case 2:
		put_alike(lanes, batch->payload, 2, numbers, count);
		break;
	default:
		put_mixed(lanes, batch, numbers, count);
	}
}

uint32_t hk_lanes_add(struct hk_lanes *lanes, uint32_t lane, const struct hk_lanes_batch *batch)
{
	uint64_t numbers[HK_LANES_BATCH];

	/* All steps that can fail come first: a record is in all columns or in none. */
	if (!batch->count ||
	    (lane != lanes->run_lane && begin_run(lanes, lane, batch->start_ticks[0]) < 0) ||
	    grow_records(lanes, lanes->head.records + batch->count) < 0 ||
	    reserve(&lanes->columns[HK_COLUMN_PAYLOAD],
		    (size_t)batch->words * HK_VARINT_BYTES_MAX) < 0) {
		return 0;
	}
	const uint32_t unlike = hk_batch_unlike(batch->shapes, batch->count);
	uint32_t count = find_shapes(lanes, batch, unlike, numbers);
	if (!count) {
		return 0;
	}
	put_column(lanes, HK_COLUMN_SHAPE, numbers, count);
	put_starts(lanes, lane, batch->start_ticks, count);
	put_column(lanes, HK_COLUMN_DURATION, batch->duration_ns, count);
	if (batch->words) {
		put_payloads(lanes, batch, unlike, numbers, count);
	}
	lanes->run_records += count;
	lanes->head.records += count;
	return count;
}

/* ---- the section ---- */

int64_t hk_lanes_close(struct hk_lanes *lanes)
{
	int64_t size = sizeof(lanes->head);
	int rc = end_run(lanes);

	if (rc < 0) {
		return rc;
	}
	for (unsigned i = 0; i < HK_LANES_COLUMNS; i++) {
		lanes->head.column_bytes[i] = (uint32_t)lanes->columns[i].used;
		size += (int64_t)lanes->columns[i].used;
	}
	return size;
}

void hk_lanes_clear(struct hk_lanes *lanes)
{
	for (unsigned i = 0; i < HK_LANES_COLUMNS; i++) {
		lanes->columns[i].used = 0;
	}
	hk_intern_clear(&lanes->shape_index);
	memset(lanes->recent, 0, sizeof(lanes->recent));
	lanes->head = (struct hk_lanes_directory){0};
	lanes->previous_used = 0;
	lanes->run_lane = UINT32_MAX;
	lanes->run_records = 0;
	lanes->min_start_ticks = UINT64_MAX;
}

void hk_lanes_fini(struct hk_lanes *lanes)
{
	for (unsigned i = 0; i < HK_LANES_COLUMNS; i++) {
		free(lanes->columns[i].bytes);
	}
	hk_intern_fini(&lanes->shape_index);
	free(lanes->shape_words);
	free(lanes->previous);
	free(lanes->lane_start);
	*lanes = (struct hk_lanes){0};
}
