/* Reading a lane section back. Every length is checked against what the bytes can hold before
 * anything is allocated. */
#include "chunk/codec/lanes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/varint.h"

struct column {
	const uint8_t *at, *end;
};

struct section {
	struct hk_lanes_directory head;
	struct column columns[HK_LANES_COLUMNS];
};

static int need(void *items, size_t item_bytes, size_t *capacity, size_t count)
{
	void *old, *fresh;

	if (count <= *capacity) {
		return 0;
	}
	/* The old content belongs to an earlier section and is not copied. */
	fresh = malloc(count * item_bytes);
	if (!fresh) {
		return -ENOMEM;
	}
	memcpy(&old, items, sizeof(old));
	free(old);
	memcpy(items, &fresh, sizeof(fresh));
	*capacity = count;
	return 0;
}

static int split_columns(const uint8_t *bytes, size_t size, struct section *section)
{
	struct hk_lanes_directory *head = &section->head;

	if (size < sizeof(*head)) {
		return -EBADMSG;
	}
	memcpy(head, bytes, sizeof(*head));
	bytes += sizeof(*head);
	size -= sizeof(*head);
	for (unsigned i = 0; i < HK_LANES_COLUMNS; i++) {
		if (head->column_bytes[i] > size) {
			return -EBADMSG;
		}
		section->columns[i] = (struct column){bytes, bytes + head->column_bytes[i]};
		bytes += head->column_bytes[i];
		size -= head->column_bytes[i];
	}
	/* Each record, word, run and shape takes at least this many bytes of its column. */
	if (size || head->records > HK_CHUNK_RECORDS_MAX || head->words > HK_CHUNK_WORDS_MAX ||
	    head->records > head->column_bytes[HK_COLUMN_SHAPE] ||
	    head->words > head->column_bytes[HK_COLUMN_PAYLOAD] || head->runs > head->records ||
	    head->shapes > head->records ||
	    head->column_bytes[HK_COLUMN_SHAPES] != head->shapes * sizeof(uint32_t)) {
		return -EBADMSG;
	}
	return 0;
}

static uint32_t shape_at(const struct section *section, uint64_t number)
{
	uint32_t shape;

	memcpy(&shape, section->columns[HK_COLUMN_SHAPES].at + number * sizeof(shape),
	       sizeof(shape));
	return shape;
}

/* Gives each shape its place among the last words. A writer uses every shape, so all places
 * together are at most the number of words. */
static int place_shapes(const struct section *section, struct hk_lanes_decoded *decoded)
{
	uint32_t places = 0;

	for (uint32_t i = 0; i < section->head.shapes; i++) {
		uint32_t words = shape_at(section, i) >> HK_SHAPE_WORDS_SHIFT;
		if (words > HK_CHUNK_RAW_PAYLOAD_MAX || words > section->head.words - places) {
			return -EBADMSG;
		}
		decoded->shape_words[i] = places;
		places += words;
	}
	memset(decoded->previous, 0, places * sizeof(*decoded->previous));
	return 0;
}

/* Reads the words of one record to `words`, of which `room` are left. */
static bool read_words(struct column *payload, uint64_t *previous, uint64_t *words, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t delta;
		if (!hk_varint_get(&payload->at, payload->end, &delta)) {
			return false;
		}
		previous[i] += hk_unzigzag(delta);
		words[i] = previous[i];
	}
	return true;
}

struct progress {
	uint32_t records, words;
};

static int read_run(struct section *section, struct hk_lanes_decoded *decoded, uint64_t *lane_start,
		    const struct hk_chunk_thread *thread, uint32_t count, struct progress *done)
{
	struct column *shapes = &section->columns[HK_COLUMN_SHAPE];
	struct column *starts = &section->columns[HK_COLUMN_START];
	struct column *durations = &section->columns[HK_COLUMN_DURATION];
	uint64_t start = *lane_start;

	for (uint32_t i = 0; i < count; i++) {
		struct hk_record *record = &decoded->records[done->records + i];
		uint64_t number, delta;
		if (!hk_varint_get(&shapes->at, shapes->end, &number) ||
		    !hk_varint_get(&starts->at, starts->end, &delta) ||
		    !hk_varint_get(&durations->at, durations->end, &record->duration_ns) ||
		    number >= section->head.shapes) {
			return -EBADMSG;
		}
		uint32_t shape = shape_at(section, number);
		uint32_t words = shape >> HK_SHAPE_WORDS_SHIFT;
		start += hk_unzigzag(delta);
		if (words > section->head.words - done->words ||
		    !read_words(&section->columns[HK_COLUMN_PAYLOAD],
				decoded->previous + decoded->shape_words[number],
				decoded->words + done->words, words)) {
			return -EBADMSG;
		}
		record->start_ticks = start;
		record->words = decoded->words + done->words;
		record->thread = thread;
		record->site = shape & (HK_CHUNK_SITES_MAX - 1);
		record->kind = shape >> HK_SHAPE_KIND_SHIFT & 15;
		record->word_count = (uint8_t)words;
		record->reserved = 0;
		hk_record_take_stack(record);
		done->words += words;
	}
	done->records += count;
	*lane_start = start;
	return 0;
}

static int read_runs(struct section *section, const struct hk_chunk_thread *threads,
		     size_t thread_count, struct hk_lanes_decoded *decoded)
{
	struct column *runs = &section->columns[HK_COLUMN_RUNS];
	struct progress done = {0};

	for (uint32_t i = 0; i < section->head.runs; i++) {
		uint64_t lane, count;
		if (!hk_varint_get(&runs->at, runs->end, &lane) ||
		    !hk_varint_get(&runs->at, runs->end, &count) || lane >= thread_count ||
		    count > section->head.records - done.records) {
			return -EBADMSG;
		}
		int rc = read_run(section, decoded, &decoded->lane_start[lane], &threads[lane],
				  (uint32_t)count, &done);
		if (rc < 0) {
			return rc;
		}
	}
	if (done.records != section->head.records || done.words != section->head.words) {
		return -EBADMSG;
	}
	for (unsigned i = 0; i < HK_LANES_COLUMNS; i++) {
		if (i != HK_COLUMN_SHAPES && section->columns[i].at != section->columns[i].end) {
			return -EBADMSG;
		}
	}
	return 0;
}

int hk_lanes_decode(const uint8_t *bytes, size_t size, const struct hk_chunk_thread *threads,
		    size_t thread_count, struct hk_lanes_decoded *decoded)
{
	struct section section;
	struct hk_lanes_decoded *d = decoded;
	int rc = split_columns(bytes, size, &section);

	decoded->count = 0;
	if (rc < 0) {
		return rc;
	}
	const struct hk_lanes_directory *head = &section.head;
	/* One more than needed: no array is empty and no pointer null. */
	if (need(&d->records, sizeof(*d->records), &d->record_capacity, head->records + 1) < 0 ||
	    need(&d->words, sizeof(*d->words), &d->word_capacity, head->words + 1) < 0 ||
	    need(&d->lane_start, sizeof(*d->lane_start), &d->lane_capacity, thread_count + 1) < 0 ||
	    need(&d->shape_words, sizeof(*d->shape_words), &d->shape_capacity, head->shapes + 1) <
		0 ||
	    need(&d->previous, sizeof(*d->previous), &d->previous_capacity, head->words + 1) < 0) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < thread_count; i++) {
		decoded->lane_start[i] = head->base_ticks;
	}
	rc = place_shapes(&section, decoded);
	if (rc == 0) {
		rc = read_runs(&section, threads, thread_count, decoded);
	}
	if (rc < 0) {
		return rc;
	}
	decoded->count = head->records;
	return 0;
}

void hk_lanes_decoded_fini(struct hk_lanes_decoded *decoded)
{
	free(decoded->records);
	free(decoded->words);
	free(decoded->lane_start);
	free(decoded->shape_words);
	free(decoded->previous);
	*decoded = (struct hk_lanes_decoded){0};
}
