#include "chunk/codec/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/codec/assembly.h"
#include "chunk/codec/batch.h"
#include "chunk/codec/definitions.h"
#include "chunk/codec/lanes.h"
#include "chunk/codec/signatures.h"

#define RAW_KIND_SHIFT 52
#define RAW_WORDS_SHIFT 56
#define STREAM_BITS 8
#define NO_LANE UINT32_MAX
/* A chunk that reaches this rate in records per second, and is larger than a burst, is stored with
 * less effort. */
#define FAST_RECORDS_PER_S 5e5
#define FAST_SPAN_S 0.05
/* With a slower clock the ticks of a short call need no wide product. */
#define QUICK_TICKS_Q32 (UINT64_MAX / HK_CHUNK_LONG_NS)

struct hk_chunk_writer {
	struct hk_chunk_options options;
	struct hk_chunk_header
	    header; /* process, number and bounds of the chunk under construction */
	uint64_t ticks_per_ns_q32;
	struct hk_lanes lanes, long_lanes;
	struct hk_lanes_batch batch; /* records to be added next */
	struct hk_intern lane_index; /* thread uid and stream to index in `threads` */
	struct hk_chunk_thread *threads;
	struct hk_intern position_index; /* slot and stream to index in `positions` */
	struct hk_chunk_position *positions;
	uint32_t thread_capacity, position_capacity;
	struct hk_definitions definitions;
	struct hk_signatures signatures;
	struct hk_assembly assembly;
};

/* One raw record taken apart. */
struct raw {
	uint64_t start_ticks, duration_ns;
	const uint64_t *payload;
	uint32_t shape; /* site | kind << 20 | payload words << 24, without the escape */
	uint32_t size;	/* words, header and escape included */
};

static inline int take_apart(const uint64_t *words, size_t count, struct raw *ret_raw)
{
	if (count < HK_CHUNK_RAW_HEADER_WORDS) {
		return -EBADMSG;
	}
	uint64_t word = words[1];
	uint32_t payload_words = (uint32_t)(word >> RAW_WORDS_SHIFT);
	uint32_t escape = (uint32_t)word == HK_CHUNK_RAW_ESCAPE;
	if (payload_words > HK_CHUNK_RAW_PAYLOAD_MAX || payload_words < escape ||
	    payload_words > count - HK_CHUNK_RAW_HEADER_WORDS || !(word >> RAW_KIND_SHIFT & 15)) {
		return -EBADMSG;
	}
	const uint64_t *payload = words + HK_CHUNK_RAW_HEADER_WORDS;
	ret_raw->start_ticks = words[0];
	ret_raw->duration_ns = escape ? payload[0] : (uint32_t)word;
	ret_raw->payload = payload + escape;
	ret_raw->shape = (uint32_t)(word >> 32) - (escape << HK_SHAPE_WORDS_SHIFT);
	ret_raw->size = HK_CHUNK_RAW_HEADER_WORDS + payload_words;
	return 0;
}

static inline uint32_t shape_kind(uint32_t shape)
{
	return shape >> HK_SHAPE_KIND_SHIFT & 15;
}

static inline uint64_t end_ticks(const struct hk_chunk_writer *writer, uint64_t start_ticks,
				 uint64_t duration_ns)
{
	unsigned __int128 ticks = (unsigned __int128)duration_ns * writer->ticks_per_ns_q32 >> 32;
	uint64_t end;

	if (ticks > UINT64_MAX || __builtin_add_overflow(start_ticks, (uint64_t)ticks, &end)) {
		return UINT64_MAX;
	}
	return end;
}

/* Adds a batch to the lane; a long call goes to the section of long calls. Returns the number of
 * records added. */
static uint32_t add_batch(struct hk_chunk_writer *writer, uint32_t lane)
{
	const struct hk_lanes_batch *batch = &writer->batch;
	struct hk_chunk_header *header = &writer->header;
	bool is_long = batch->count && batch->duration_ns[0] > HK_CHUNK_LONG_NS;
	uint32_t count = hk_lanes_add(is_long ? &writer->long_lanes : &writer->lanes, lane, batch);
	uint64_t latest = header->max_end_ticks;

	if (count && !is_long && writer->ticks_per_ns_q32 < QUICK_TICKS_Q32) {
		uint64_t end = hk_batch_latest_end(batch->start_ticks, batch->duration_ns, count,
						   writer->ticks_per_ns_q32);
		latest = end > latest ? end : latest;
	} else {
		for (uint32_t i = 0; i < count; i++) {
			uint64_t end =
			    end_ticks(writer, batch->start_ticks[i], batch->duration_ns[i]);
			latest = end > latest ? end : latest;
		}
	}
	header->max_end_ticks = latest;
	header->records += is_long ? 0 : count;
	header->long_records += is_long ? count : 0;
	return count;
}

static int grow(void *items, size_t item_bytes, uint32_t *capacity, uint32_t count)
{
	uint32_t wanted = *capacity ? *capacity * 2 : 16;
	void *old, *grown;

	if (count < *capacity) {
		return 0;
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

static int find_lane(struct hk_chunk_writer *writer, const struct hk_chunk_position *chain,
		     uint32_t *ret_lane)
{
	uint32_t known = writer->lane_index.count, lane;

	/* A full chunk must not collect lanes without records. */
	if (writer->header.records + writer->header.long_records == HK_CHUNK_RECORDS_MAX) {
		return -ENOSPC;
	}
	if (grow(&writer->threads, sizeof(*writer->threads), &writer->thread_capacity, known) < 0 ||
	    hk_intern_add(&writer->lane_index, chain->thread << STREAM_BITS | chain->stream,
			  &lane) < 0) {
		return -ENOMEM;
	}
	if (lane == known) {
		writer->threads[lane] = (struct hk_chunk_thread){
		    .uid = chain->thread, .tid = chain->tid, .stream = chain->stream};
	}
	*ret_lane = lane;
	return 0;
}

static int find_position(struct hk_chunk_writer *writer, const struct hk_chunk_position *chain,
			 uint32_t *ret_index)
{
	uint64_t key = (uint64_t)chain->slot << 32 | chain->stream;
	uint32_t known = writer->position_index.count;
	uint32_t index = hk_intern_find(&writer->position_index, key);

	if (index == HK_INTERN_NONE) {
		if (known == HK_CHUNK_POSITIONS_MAX) {
			return -ENOSPC;
		}
		if (grow(&writer->positions, sizeof(*writer->positions), &writer->position_capacity,
			 known) < 0 ||
		    hk_intern_add(&writer->position_index, key, &index) < 0) {
			return -ENOMEM;
		}
		writer->positions[index] = *chain;
	}
	*ret_index = index;
	return 0;
}

static int switch_thread(struct hk_chunk_position *chain, const struct raw *raw)
{
	if (raw->shape >> HK_SHAPE_WORDS_SHIFT < 2 || raw->payload[0] >= HK_CHUNK_THREADS_MAX ||
	    raw->payload[1] > UINT32_MAX) {
		return -EBADMSG;
	}
	chain->thread = raw->payload[0];
	chain->tid = (uint32_t)raw->payload[1];
	return 0;
}

static uint32_t records_left(const struct hk_chunk_writer *writer)
{
	return HK_CHUNK_RECORDS_MAX - writer->header.records - writer->header.long_records;
}

static uint32_t words_left(const struct hk_chunk_writer *writer)
{
	return HK_CHUNK_WORDS_MAX - writer->lanes.head.words - writer->long_lanes.head.words;
}

static inline bool is_plain(uint64_t word)
{
	uint32_t kind = (uint32_t)(word >> RAW_KIND_SHIFT) & 15;

	return (uint32_t)word <= HK_CHUNK_LONG_NS && kind != HK_CHUNK_KIND_INVALID &&
	       kind != HK_CHUNK_KIND_THREAD;
}

/* Takes the record at WORDS apart, into place N of the batch. */
static inline void gather_one(struct hk_lanes_batch *batch, uint32_t n, const uint64_t *words)
{
	batch->start_ticks[n] = words[0];
	batch->duration_ns[n] = (uint32_t)words[1];
	batch->shapes[n] = (uint32_t)(words[1] >> 32);
}

/* The same for HK_BATCH_STEP records, if all are short calls of the kind and size in LIKE. */
static inline bool gather_step(struct hk_lanes_batch *batch, uint32_t n, const uint64_t *words,
			       ptrdiff_t size, uint64_t like)
{
	return hk_batch_gather(words, (size_t)size, like, &batch->start_ticks[n],
			       &batch->duration_ns[n], &batch->shapes[n]);
}

/* Takes records apart up to the first that is not a short call or does not fit. */
static void gather(struct hk_chunk_writer *writer, const uint64_t *words, size_t count)
{
	struct hk_lanes_batch *batch = &writer->batch;
	const uint64_t *at = words, *end = words + count;
	uint32_t most = records_left(writer), room = words_left(writer), held = 0, n = 0;

	most = most < HK_LANES_BATCH ? most : HK_LANES_BATCH;
	while (n < most && end - at >= HK_CHUNK_RAW_HEADER_WORDS && is_plain(at[1])) {
		const uint64_t like = at[1] >> RAW_KIND_SHIFT;
		const uint32_t payload_words = (uint32_t)(at[1] >> RAW_WORDS_SHIFT);
		const ptrdiff_t size = HK_CHUNK_RAW_HEADER_WORDS + payload_words;
		if (payload_words > HK_CHUNK_RAW_PAYLOAD_MAX || held + payload_words > room ||
		    end - at < size) {
			break;
		}
		/* Most records have the kind and size of the one before: the start of the next
		 * record is then known without reading this one. */
		const uint32_t step_end = n + HK_BATCH_STEP;
		do {
			gather_one(batch, n++, at);
			at += size;
			held += payload_words;
		} while (n < most && n < step_end && held + payload_words <= room &&
			 end - at >= size && at[1] >> RAW_KIND_SHIFT == like &&
			 (uint32_t)at[1] <= HK_CHUNK_LONG_NS);
		while (n >= step_end && n + HK_BATCH_STEP <= most &&
		       held + HK_BATCH_STEP * payload_words <= room &&
		       end - at >= HK_BATCH_STEP * size && gather_step(batch, n, at, size, like)) {
			at += HK_BATCH_STEP * size;
			held += HK_BATCH_STEP * payload_words;
			n += HK_BATCH_STEP;
		}
	}
	batch->payload = words + HK_CHUNK_RAW_HEADER_WORDS;
	batch->count = n;
	batch->words = held;
}

/* Words of the first COUNT records of a gathered batch. */
static size_t batch_words(const struct hk_lanes_batch *batch, uint32_t count)
{
	size_t words = (size_t)count * HK_CHUNK_RAW_HEADER_WORDS;

	if (count == batch->count) {
		return words + batch->words;
	}
	for (uint32_t i = 0; i < count; i++) {
		words += batch->shapes[i] >> HK_SHAPE_WORDS_SHIFT;
	}
	return words;
}

/* Adds the next record, executes it if it is a thread switch, or returns an error. */
static int add_one(struct hk_chunk_writer *writer, struct hk_chunk_position *chain, uint32_t *lane,
		   const struct raw *raw)
{
	if (shape_kind(raw->shape) == HK_CHUNK_KIND_THREAD) {
		*lane = NO_LANE;
		return switch_thread(chain, raw);
	}
	int rc = *lane == NO_LANE ? find_lane(writer, chain, lane) : 0;
	if (rc < 0) {
		return rc;
	}
	if (!records_left(writer) || raw->shape >> HK_SHAPE_WORDS_SHIFT > words_left(writer)) {
		return -ENOSPC;
	}
	struct hk_lanes_batch *batch = &writer->batch;
	batch->count = 1;
	batch->words = raw->shape >> HK_SHAPE_WORDS_SHIFT;
	batch->start_ticks[0] = raw->start_ticks;
	batch->duration_ns[0] = raw->duration_ns;
	batch->shapes[0] = raw->shape;
	batch->payload = raw->payload;
	return add_batch(writer, *lane) ? 0 : -ENOMEM;
}

/* Adds records until one fails; *at counts the words of those added. */
static int add_records(struct hk_chunk_writer *writer, struct hk_chunk_position *chain,
		       const uint64_t *words, size_t count, size_t *at)
{
	const struct hk_lanes_batch *batch = &writer->batch;
	uint32_t lane = NO_LANE;
	int rc = 0;

	while (rc == 0 && *at < count) {
		gather(writer, words + *at, count - *at);
		if (batch->count) {
			rc = lane == NO_LANE ? find_lane(writer, chain, &lane) : 0;
			uint32_t added = rc == 0 ? add_batch(writer, lane) : 0;
			*at += batch_words(batch, added);
			rc = rc == 0 && added < batch->count ? -ENOMEM : rc;
		} else {
			struct raw raw;
			rc = take_apart(words + *at, count - *at, &raw);
			rc = rc == 0 ? add_one(writer, chain, &lane, &raw) : rc;
			*at += rc == 0 ? raw.size : 0;
		}
	}
	return rc;
}

struct hk_chunk_writer *hk_chunk_writer_new(const struct hk_chunk_options *options)
{
	struct hk_chunk_writer *writer = calloc(1, sizeof(*writer));

	if (!writer) {
		return NULL;
	}
	writer->options = *options;
	writer->ticks_per_ns_q32 = (uint64_t)(options->ticks_per_ns * 4294967296.0);
	if (hk_lanes_init(&writer->lanes) < 0 || hk_lanes_init(&writer->long_lanes) < 0 ||
	    hk_intern_init(&writer->lane_index) < 0 ||
	    hk_intern_init(&writer->position_index) < 0 ||
	    hk_definitions_init(&writer->definitions) < 0 ||
	    hk_signatures_init(&writer->signatures) < 0 ||
	    hk_assembly_init(&writer->assembly, !options->uncompressed) < 0) {
		return hk_chunk_writer_free(writer);
	}
	return writer;
}

struct hk_chunk_writer *hk_chunk_writer_free(struct hk_chunk_writer *writer)
{
	if (writer) {
		hk_lanes_fini(&writer->lanes);
		hk_lanes_fini(&writer->long_lanes);
		hk_intern_fini(&writer->lane_index);
		hk_intern_fini(&writer->position_index);
		hk_definitions_fini(&writer->definitions);
		hk_signatures_fini(&writer->signatures);
		hk_assembly_fini(&writer->assembly);
		free(writer->threads);
		free(writer->positions);
		free(writer);
	}
	return NULL;
}

void hk_chunk_writer_begin(struct hk_chunk_writer *writer, const uint8_t process[16],
			   uint64_t number)
{
	writer->header = (struct hk_chunk_header){.number = number};
	memcpy(writer->header.process, process, sizeof(writer->header.process));
	hk_lanes_clear(&writer->lanes);
	hk_lanes_clear(&writer->long_lanes);
	hk_intern_clear(&writer->lane_index);
	hk_intern_clear(&writer->position_index);
}

void hk_chunk_writer_drop(struct hk_chunk_writer *writer)
{
	writer->header.records = writer->header.long_records = 0;
	writer->header.max_end_ticks = 0;
	hk_lanes_clear(&writer->lanes);
	hk_lanes_clear(&writer->long_lanes);
	hk_intern_clear(&writer->lane_index);
}

int hk_chunk_writer_add(struct hk_chunk_writer *writer, struct hk_chunk_position *chain,
			const uint64_t *words, size_t count, size_t *ret_consumed)
{
	size_t consumed = 0;
	uint32_t position;

	*ret_consumed = 0;
	if (chain->thread >= HK_CHUNK_THREADS_MAX || chain->stream >= 1u << STREAM_BITS) {
		return -EINVAL;
	}
	/* The position comes first, because records without it would be stored twice after a
	 * restart. */
	int rc = find_position(writer, chain, &position);
	if (rc < 0) {
		return rc;
	}
	rc = add_records(writer, chain, words, count, &consumed);
	chain->position += consumed * sizeof(*words);
	chain->reserved = 0;
	writer->positions[position] = *chain;
	*ret_consumed = consumed;
	return rc;
}

int hk_chunk_writer_mark(struct hk_chunk_writer *writer, const struct hk_chunk_position *chain)
{
	uint32_t position;
	int rc = find_position(writer, chain, &position);

	if (rc == 0) {
		writer->positions[position] = *chain;
	}
	return rc;
}

uint32_t hk_chunk_writer_records(const struct hk_chunk_writer *writer)
{
	return writer->header.records + writer->header.long_records;
}

/* Whether coding starts and durations would take a noticeable share of a core, judged by the short
 * calls of this chunk and their time span. Long calls do not count: most of their time lies in
 * earlier chunks. */
static bool comes_fast(const struct hk_chunk_writer *writer)
{
	const struct hk_lanes *lanes = &writer->lanes;
	double span_s = (double)(writer->header.max_end_ticks - lanes->min_start_ticks) /
			(writer->options.ticks_per_ns * 1e9);

	span_s = span_s > FAST_SPAN_S ? span_s : FAST_SPAN_S;
	return lanes->head.records >= FAST_RECORDS_PER_S * span_s;
}

static int add_lanes(struct hk_chunk_writer *writer, uint32_t type, struct hk_lanes *lanes)
{
	const enum hk_assembly_kind numbers =
	    comes_fast(writer) ? HK_ASSEMBLY_HASTE : HK_ASSEMBLY_NOISE;
	const enum hk_assembly_kind kinds[HK_LANES_COLUMNS] = {
	    [HK_COLUMN_START] = numbers,
	    [HK_COLUMN_DURATION] = numbers,
	};
	struct hk_assembly_part parts[1 + HK_LANES_COLUMNS];
	int64_t size = lanes->head.records ? hk_lanes_close(lanes) : 0;

	if (size <= 0) {
		return (int)size;
	}
	parts[0] = (struct hk_assembly_part){.bytes = &lanes->head, .size = sizeof(lanes->head)};
	for (unsigned i = 0; i < HK_LANES_COLUMNS; i++) {
		parts[1 + i] = (struct hk_assembly_part){lanes->columns[i].bytes,
							 lanes->columns[i].used, kinds[i]};
	}
	return hk_assembly_section(&writer->assembly, &writer->header, type, parts,
				   1 + HK_LANES_COLUMNS);
}

static int add_definitions(struct hk_chunk_writer *writer)
{
	struct hk_definitions *definitions = &writer->definitions;
	const struct hk_chunk_names *names = &writer->options.names;
	uint32_t threads = writer->lane_index.count;

	for (uint32_t i = 0; i < threads && names->thread; i++) {
		char name[HK_CHUNK_NAME_BYTES] = "";
		if (names->thread(names->context, writer->threads[i].uid, name) >= 0) {
			memcpy(writer->threads[i].name, name, sizeof(name) - 1);
		}
	}
	struct hk_assembly_part part = {.bytes = writer->threads,
					.size = threads * sizeof(*writer->threads)};
	int rc =
	    hk_assembly_section(&writer->assembly, &writer->header, HK_SECTION_THREADS, &part, 1);
	if (rc < 0) {
		return rc;
	}
	hk_definitions_clear(definitions);
	if ((rc = hk_definitions_add(definitions, &writer->lanes, names)) < 0 ||
	    (rc = hk_definitions_add(definitions, &writer->long_lanes, names)) < 0) {
		return rc;
	}
	part = (struct hk_assembly_part){.bytes = definitions->bytes, .size = definitions->used};
	return hk_assembly_section(&writer->assembly, &writer->header, HK_SECTION_SITES, &part, 1);
}

static int add_signatures(struct hk_chunk_writer *writer)
{
	struct hk_signatures *signatures = &writer->signatures;
	const struct hk_chunk_names *names = &writer->options.names;
	int rc;

	hk_signatures_clear(signatures);
	if ((rc = hk_signatures_add(signatures, &writer->lanes, names)) < 0 ||
	    (rc = hk_signatures_add(signatures, &writer->long_lanes, names)) < 0) {
		return rc;
	}
	const struct hk_assembly_part part = {.bytes = signatures->column.bytes,
					      .size = signatures->column.used};
	return hk_assembly_section(&writer->assembly, &writer->header, HK_SECTION_SIGNATURES, &part,
				   1);
}

int hk_chunk_writer_finish(struct hk_chunk_writer *writer, uint64_t lost_records,
			   const void **ret_bytes, size_t *ret_size)
{
	struct hk_chunk_header *header = &writer->header;
	const struct hk_assembly_part positions = {.bytes = writer->positions,
						   .size = writer->position_index.count *
							   sizeof(*writer->positions)};
	int rc;

	memset(header->sections, 0, sizeof(header->sections));
	header->lost_records = lost_records;
	header->lanes_min_start_ticks = writer->lanes.min_start_ticks;
	header->long_min_start_ticks = writer->long_lanes.min_start_ticks;
	header->min_start_ticks = header->lanes_min_start_ticks < header->long_min_start_ticks
				      ? header->lanes_min_start_ticks
				      : header->long_min_start_ticks;
	if ((rc = hk_assembly_begin(&writer->assembly)) < 0 ||
	    (rc = hk_assembly_section(&writer->assembly, header, HK_SECTION_POSITIONS, &positions,
				      1)) < 0 ||
	    (rc = add_definitions(writer)) < 0 || (rc = add_signatures(writer)) < 0 ||
	    (rc = add_lanes(writer, HK_SECTION_LANES, &writer->lanes)) < 0 ||
	    (rc = add_lanes(writer, HK_SECTION_LONG_LANES, &writer->long_lanes)) < 0) {
		return rc;
	}
	hk_assembly_finish(&writer->assembly, header, ret_bytes, ret_size);
	return 0;
}
