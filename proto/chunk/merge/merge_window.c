#include "chunk/merge/merge_window.h"

#include <stdlib.h>
#include <string.h>

#define PREFETCH_RECORDS 16
#define KEYS_MIN 4096u
#define KEYS_PER_STREAM 8u
#define WIDTH_FIRST_NS 1024
#define WIDTH_GROWTH 8
/* A window that spans more than one burst is narrowed by this factor, to hold only one. */
#define BURST_SHARE 64

bool hk_merge_window_init(struct hk_merge_window *window, size_t streams)
{
	size_t capacity = streams * KEYS_PER_STREAM;

	capacity = capacity < KEYS_MIN ? KEYS_MIN : capacity;
	capacity = capacity > HK_RADIX_KEYS_MAX ? HK_RADIX_KEYS_MAX : capacity;
	window->capacity = (uint32_t)capacity;
	window->width_ns = WIDTH_FIRST_NS;
	window->runs = calloc(streams + 1, sizeof(const struct hk_record *));
	window->keys = calloc(capacity, sizeof(*window->keys));
	window->sorted = calloc(capacity, sizeof(*window->sorted));
	window->buckets = calloc((size_t)1 << hk_radix_bits(capacity), sizeof(*window->buckets));
	return window->runs && window->keys && window->sorted && window->buckets;
}

void hk_merge_window_fini(struct hk_merge_window *window)
{
	free(window->runs);
	free(window->keys);
	free(window->sorted);
	free(window->buckets);
}

/* `time_q32`: ns since the window's begin, with 32 bits of fraction. */
static inline void put(struct hk_merge_window *window, uint64_t *key, uint64_t time_q32,
		       uint64_t tag)
{
	*key = (time_q32 >> HK_MERGE_TIME_SHIFT << HK_MERGE_TIME_SHIFT) | tag;
	window->buckets[time_q32 >> HK_MERGE_TIME_SHIFT >> window->shift]++;
}

/* Adds a stream's records up to the first that starts at or after `limit` ns of the window, or
 * before its predecessor, or is `stop`; returns that one. */
static inline const struct hk_record *add_converted(struct hk_merge_window *window,
						    const struct hk_merge_stream *stream,
						    uint64_t tag, uint64_t limit,
						    const struct hk_record *stop)
{
	const struct hk_record *at = stream->at;
	const struct hk_merge_clock clock = stream->input.clock;
	const uint64_t begin_ns = (uint64_t)window->begin_ns;
	uint64_t *key = window->keys + window->count;
	uint64_t time = (uint64_t)stream->start_ns - begin_ns, last;

	do {
		put(window, key++, time << HK_MERGE_TIME_SHIFT, tag++);
		__builtin_prefetch(at + PREFETCH_RECORDS);
		if (++at == stop) {
			break;
		}
		last = time;
		time = (uint64_t)hk_merge_clock_ns(&clock, at->start_ticks) - begin_ns;
	} while (time - last < limit - last);
	return at;
}

/* The same for a clock without `convert`: the ticks of a window are converted with one word, and
 * the first record outside is known beforehand. */
static inline const struct hk_record *add_linear(struct hk_merge_window *window,
						 const struct hk_merge_stream *stream, uint64_t tag,
						 uint64_t limit, const struct hk_record *stop)
{
	const struct hk_record *at = stream->at;
	const uint64_t ns_per_tick_q32 = stream->input.clock.ns_per_tick_q32;
	const uint64_t first = at->start_ticks, since_base = first - stream->input.clock.base_ticks;
	const uint64_t begin_ns = (uint64_t)window->begin_ns;
	const uint64_t time_q32 = ((uint64_t)stream->start_ns - begin_ns) << HK_MERGE_TIME_SHIFT |
				  (uint32_t)(since_base * ns_per_tick_q32);
	const uint64_t limit_q32 = limit << HK_MERGE_TIME_SHIFT;
	/* Ticks since the first record. Beyond a limit they count as before the base. */
	const uint64_t far = (uint64_t)INT64_MAX - since_base + 1;
	uint64_t outside = (limit_q32 - 1 - time_q32) / ns_per_tick_q32 + 1;
	uint64_t *key = window->keys + window->count;
	uint64_t ticks = 0, last;

	outside = outside < far ? outside : far;
	do {
		put(window, key++, time_q32 + ticks * ns_per_tick_q32, tag++);
		__builtin_prefetch(at + PREFETCH_RECORDS);
		if (++at == stop) {
			break;
		}
		last = ticks;
		ticks = at->start_ticks - first;
	} while (ticks - last < outside - last);
	return at;
}

/* Adds a stream's records before `limit_ns`; false if there are too many, or they are not in
 * order. */
static inline bool add_run(struct hk_merge_window *window, struct hk_merge_streams *streams,
			   uint32_t input, int64_t limit_ns)
{
	struct hk_merge_stream *stream = &streams->all[input];
	const struct hk_record *first = stream->at, *stop = stream->end;
	const uint64_t tag = (uint64_t)input << HK_MERGE_INPUT_SHIFT;
	const uint64_t limit = (uint64_t)limit_ns - (uint64_t)window->begin_ns;
	const uint32_t room = window->capacity - window->count;
	const bool linear = !stream->input.clock.convert && stream->input.clock.ns_per_tick_q32;

	window->runs[input] = first;
	if (stream->start_ns >= limit_ns) {
		return true;
	}
	if ((size_t)(stop - first) > room) {
		stop = first + room;
	}
	if (first == stop) {
		return false;
	}
	stream->at = linear ? add_linear(window, stream, tag, limit, stop)
			    : add_converted(window, stream, tag, limit, stop);
	window->count += (uint32_t)(stream->at - first);
	if (stream->at == stream->end) {
		streams->drained = input;
		return true;
	}
	stream->start_ns = hk_merge_stream_ns(stream, stream->at);
	return stream->start_ns >= limit_ns;
}

/* Adds records that start before `last_ns`, and of streams up to `last_input` those that start in
 * it. */
static bool add_runs(struct hk_merge_window *window, struct hk_merge_streams *streams,
		     int64_t last_ns, uint32_t last_input)
{
	uint32_t i = 0;

	window->count = 0;
	while (i < streams->count && add_run(window, streams, i, last_ns + (i <= last_input))) {
		i++;
	}
	if (i == streams->count) {
		return true;
	}
	for (uint32_t k = 0; k <= i; k++) {
		struct hk_merge_stream *stream = &streams->all[k];
		if (stream->at != window->runs[k]) {
			stream->at = window->runs[k];
			stream->start_ns = hk_merge_stream_ns(stream, stream->at);
		}
	}
	streams->drained = HK_NO_STREAM;
	window->count = 0;
	return false;
}

/* First start of all streams, and the first end of a batch. */
static void find_bounds(struct hk_merge_streams *streams, int64_t *ret_begin_ns,
			int64_t *ret_last_ns, uint32_t *ret_last_input)
{
	int64_t begin = INT64_MAX, last = INT64_MAX;
	uint32_t last_input = 0;

	for (uint32_t i = 0; i < streams->count; i++) {
		struct hk_merge_stream *stream = &streams->all[i];
		if (stream->last_ns == HK_UNKNOWN_NS) {
			stream->last_ns = hk_merge_stream_ns(stream, stream->end - 1);
		}
		begin = stream->start_ns < begin ? stream->start_ns : begin;
		last_input = stream->last_ns < last ? i : last_input;
		last = stream->last_ns < last ? stream->last_ns : last;
	}
	*ret_begin_ns = begin;
	*ret_last_ns = last;
	*ret_last_input = last_input;
}

/* Chooses buckets for the ns up to `last`; returns their number. */
static size_t clear_buckets(struct hk_merge_window *window, uint64_t last)
{
	unsigned bits = hk_radix_bits(window->usual);
	unsigned width_bits = 64 - (unsigned)__builtin_clzll((uint64_t)window->width_ns);

	window->shift = width_bits > bits ? width_bits - bits : 0;
	size_t count = (last >> window->shift) + 1;
	memset(window->buckets, 0, hk_radix_entries(count) * sizeof(*window->buckets));
	return count;
}

/* Aims at half of the keys that there is room for in the next window, but only one of several
 * bursts: keys in clumps take another round of sorting. `few`: too few keys to recognise a
 * burst. */
static void adapt_width(struct hk_merge_window *window, bool clumps, uint32_t few)
{
	const int64_t width = window->width_ns;
	int64_t filled = (int64_t)(window->sorted[window->count - 1] >> HK_MERGE_TIME_SHIFT);
	int64_t wanted = width * (window->capacity / 2) / window->count + 1;

	wanted = wanted < width * WIDTH_GROWTH ? wanted : width * WIDTH_GROWTH;
	if (clumps) {
		wanted = width / BURST_SHARE + 1;
	} else if (wanted > width && filled < width / 2 && window->count >= few) {
		wanted = 2 * filled + 1;
	}
	window->width_ns = wanted < HK_MERGE_WINDOW_NS_MAX ? wanted : HK_MERGE_WINDOW_NS_MAX;
	window->usual = window->count;
}

bool hk_merge_window_open(struct hk_merge_window *window, struct hk_merge_streams *streams,
			  int64_t base_ns, uint64_t range_ns)
{
	int64_t begin, last;
	uint32_t last_input;

	find_bounds(streams, &begin, &last, &last_input);
	if (begin < base_ns || last < begin || begin > INT64_MAX - HK_MERGE_WINDOW_NS_MAX ||
	    (uint64_t)begin - (uint64_t)base_ns + HK_MERGE_WINDOW_NS_MAX > range_ns) {
		return false;
	}
	bool cut = last < begin + window->width_ns;
	if (!cut) {
		last = begin + window->width_ns - 1;
		last_input = UINT32_MAX;
	}
	window->begin_ns = begin;
	size_t bucket_count = clear_buckets(window, (uint64_t)(last - begin));
	if (!add_runs(window, streams, last, last_input)) {
		window->width_ns = window->width_ns / WIDTH_GROWTH + 1;
		return false;
	}
	if (window->count == 0) {
		return false; /* the batch that limits it begins after its end */
	}
	size_t again = hk_radix_sort(window->keys, window->count, window->shift, window->buckets,
				     bucket_count, window->sorted);
	bool clumps = again > window->count / 4;
	window->sparse = (cut || window->width_ns == HK_MERGE_WINDOW_NS_MAX) &&
			 window->count < 2 * streams->count;
	if (!cut || clumps) {
		adapt_width(window, clumps, streams->count / 2 + 1);
	}
	window->next = window->sorted;
	window->end = window->sorted + window->count;
	return true;
}
