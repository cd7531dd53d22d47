#include "chunk/read/front.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chunk/codec/positions.h"
#include "chunk/read/reader.h"

#define PROBE_BYTES 4096

int hk_chunk_front_find(struct hk_chunk_front *front)
{
	struct hk_chunk_location place;

	while (!front->found) {
		struct hk_chunk_walk before = front->walk;
		int rc = hk_chunk_walk_next(&front->walk, &place.header, &place.offset);
		if (rc <= 0) {
			/* The file may end in half a chunk that its writer still appends. */
			front->walk = before;
			return rc;
		}
		if (hk_chunk_is_evicted(&place.header)) {
			front->before[0] = front->before[1];
			front->before[1] = place;
		} else {
			front->oldest = place;
			front->found = true;
		}
	}
	return 1;
}

/* ---- pieces of the file ---- */

static int punch(const struct hk_chunk_front *front, uint64_t from, uint64_t to)
{
	if (from >= to) {
		return 0;
	}
	return fallocate(front->walk.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from,
			 (off_t)(to - from)) < 0
		   ? -errno
		   : 0;
}

/* Behind the end of the file there is no data to lose. */
static int probe(struct hk_chunk_front *front)
{
	off_t size = lseek(front->walk.fd, 0, SEEK_END);
	int rc = size < 0 ? -errno : 0;

	if (rc == 0 && !front->can_punch) {
		rc = punch(front, (uint64_t)size, (uint64_t)size + PROBE_BYTES);
	}
	front->can_punch = rc == 0;
	return rc;
}

/* A short write is torn; at most a page of existing data is replaced. */
static int write_at(const struct hk_chunk_front *front, uint64_t offset, const uint8_t *bytes,
		    size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n =
		    pwrite(front->walk.fd, bytes + done, size - done, (off_t)(offset + done));
		if (n > 0) {
			done += (size_t)n;
		} else if (n == 0 || errno != EINTR) {
			return n == 0 ? -ENOSPC : -errno;
		}
	}
	return 0;
}

/* Seals HEADER over the bytes behind it in BUFFER, and writes only the header. */
static int write_header(const struct hk_chunk_front *front, uint64_t offset,
			const struct hk_chunk_header *header, struct hk_chunk_buffer *buffer)
{
	memcpy(buffer->bytes, header, sizeof(*header));
	hk_chunk_header_seal(buffer->bytes, header->total_bytes);
	return write_at(front, offset, buffer->bytes, sizeof(*header));
}

/* ---- one tombstone ---- */

/* The first section is kept if it is the positions, as in every chunk of our writer. */
static struct hk_chunk_header tombstone_of(const struct hk_chunk_header *header, uint32_t flags)
{
	uint8_t bytes[HK_CHUNK_HEADER_BYTES];
	struct hk_chunk_header tombstone;

	hk_chunk_header_tombstone(header, flags, bytes);
	memcpy(&tombstone, bytes, sizeof(tombstone));
	tombstone.span = header->span;
	if (header->sections[0].type == HK_SECTION_POSITIONS) {
		tombstone.sections[0] = header->sections[0];
		tombstone.total_bytes += header->sections[0].stored_bytes;
	}
	return tombstone;
}

/* The free room behind a chunk becomes part of its tombstone's place. */
static uint64_t span_to_next(const struct hk_chunk_front *front)
{
	struct hk_chunk_walk walk = front->walk;
	const struct hk_chunk_location *oldest = &front->oldest;
	struct hk_chunk_header header;
	uint64_t offset, end = oldest->offset + oldest->header.span;

	return hk_chunk_walk_next(&walk, &header, &offset) > 0 &&
		       offset == hk_chunk_file_location(end)
		   ? offset - oldest->offset
		   : oldest->header.span;
}

static int bury(struct hk_chunk_front *front, uint32_t flags, struct hk_chunk_buffer *buffer,
		struct hk_chunk_location *ret_place)
{
	struct hk_chunk_location place = {front->oldest.offset,
					  tombstone_of(&front->oldest.header, flags)};

	place.header.span = span_to_next(front);
	int rc = hk_chunk_file_read(front->walk.fd, place.offset, place.header.total_bytes, buffer);

	rc = rc < 0 ? rc : write_header(front, place.offset, &place.header, buffer);
	*ret_place = place;
	return rc;
}

/* ---- two tombstones into one ---- */

static uint64_t place_end(const struct hk_chunk_location *place)
{
	return place->offset + place->header.span;
}

/* Offset where SIZE bytes fit in the hole behind a tombstone; 0 if they do not fit. */
static uint64_t find_room(const struct hk_chunk_location *place, size_t size)
{
	uint64_t at = place->offset + place->header.total_bytes;
	uint64_t left = HK_CHUNK_PAGE_BYTES - at % HK_CHUNK_PAGE_BYTES;

	at += left < HK_CHUNK_HEADER_BYTES ? left : 0;
	return at + size <= place_end(place) ? at : 0;
}

static int read_positions(const struct hk_chunk_front *front, struct hk_chunk_reader *reader,
			  const struct hk_chunk_location *place, struct hk_chunk_buffer *buffer,
			  struct hk_positions *positions)
{
	const struct hk_chunk_position *fresh;
	size_t count;
	int rc =
	    hk_chunk_file_read(front->walk.fd, place->offset, place->header.total_bytes, buffer);

	rc = rc < 0 ? rc : hk_chunk_reader_open(reader, buffer->bytes, place->header.total_bytes);
	rc = rc < 0 ? rc : hk_chunk_reader_positions(reader, &fresh, &count);
	return rc < 0 ? rc : hk_positions_take(positions, fresh, count);
}

static struct hk_chunk_header joined_header(const struct hk_chunk_header *a,
					    const struct hk_chunk_header *b, uint32_t positions)
{
	struct hk_chunk_header joined = *b;
	uint32_t bytes = positions * (uint32_t)sizeof(struct hk_chunk_position);

	joined.first_number = a->first_number;
	joined.shed_records += a->shed_records;
	joined.min_start_ticks =
	    a->min_start_ticks < b->min_start_ticks ? a->min_start_ticks : b->min_start_ticks;
	joined.max_end_ticks =
	    a->max_end_ticks > b->max_end_ticks ? a->max_end_ticks : b->max_end_ticks;
	joined.total_bytes = HK_CHUNK_HEADER_BYTES + bytes;
	memset(joined.sections, 0, sizeof(joined.sections));
	if (positions) {
		joined.sections[0] =
		    (struct hk_chunk_section){HK_SECTION_POSITIONS, HK_CODEC_NONE, bytes, bytes};
	}
	return joined;
}

/* Writes the joined tombstone of A and B into the first hole where it fits, behind the tombstone
 * before them or behind theirs; no span leads there yet. Returns 1, or 0 if there is no room. */
static int write_joined(const struct hk_chunk_front *front, const struct hk_chunk_location *b,
			const struct hk_positions *positions, struct hk_chunk_location *ret_place)
{
	const struct hk_chunk_location *a = &front->before[1];
	struct hk_chunk_location place;

	if (positions->count > HK_CHUNK_POSITIONS_MAX) {
		return 0;
	}
	place.header = joined_header(&a->header, &b->header, (uint32_t)positions->count);
	size_t size = place.header.total_bytes;
	place.offset = find_room(&front->before[0], size);
	place.offset = place.offset ? place.offset : find_room(a, size);
	place.offset = place.offset ? place.offset : find_room(b, size);
	if (!place.offset) {
		return 0;
	}
	place.header.span = place_end(b) - place.offset;
	uint8_t *bytes = malloc(size);
	if (!bytes) {
		return -ENOMEM;
	}
	memcpy(bytes, &place.header, sizeof(place.header));
	if (positions->count) {
		memcpy(bytes + sizeof(place.header), positions->list, size - sizeof(place.header));
	}
	hk_chunk_header_seal(bytes, size);
	int rc = write_at(front, place.offset, bytes, size);
	free(bytes);
	*ret_place = place;
	return rc < 0 ? rc : 1;
}

/* Makes the span of the tombstone before A lead to the joined one. */
static int relink(struct hk_chunk_front *front, struct hk_chunk_location *before,
		  const struct hk_chunk_location *joined, struct hk_chunk_buffer *buffer)
{
	struct hk_chunk_header header = before->header;
	int rc = hk_chunk_file_read(front->walk.fd, before->offset, header.total_bytes, buffer);

	header.span = joined->offset - before->offset;
	rc = rc < 0 ? rc : write_header(front, before->offset, &header, buffer);
	before->header = rc < 0 ? before->header : header;
	return rc;
}

/* Joins the last two of three tombstones. Returns 1, or 0 if that is not possible. */
static int join(struct hk_chunk_front *front, struct hk_chunk_location *last,
		struct hk_chunk_buffer *buffer)
{
	struct hk_chunk_location *middle = &front->before[1], joined;
	struct hk_chunk_reader *reader = hk_chunk_reader_new();
	struct hk_positions positions = {0};
	int rc = reader ? 0 : -ENOMEM;

	rc = rc < 0 ? rc : read_positions(front, reader, middle, buffer, &positions);
	rc = rc < 0 ? rc : read_positions(front, reader, last, buffer, &positions);
	rc = rc < 0 ? rc : write_joined(front, last, &positions, &joined);
	if (rc > 0) {
		rc = relink(front, &front->before[0], &joined, buffer);
		if (rc == 0) {
			*last = joined;
			rc = 1;
		}
	}
	hk_positions_fini(&positions);
	hk_chunk_reader_free(reader);
	return rc;
}

/* Whether the gap in the numbers stays visible: joining must not cover chunks that are missing
 * between the two. */
static bool may_join(const struct hk_chunk_front *front, const struct hk_chunk_location *last)
{
	const struct hk_chunk_location *first = &front->before[0], *middle = &front->before[1];

	return first->header.number != 0 && middle->header.number != 0 &&
	       middle->header.flags == last->header.flags &&
	       middle->header.number + 1 == last->header.first_number;
}

/* ---- the whole ---- */

int hk_chunk_front_evict(struct hk_chunk_front *front, uint32_t flags, bool merge,
			 uint64_t *ret_bytes)
{
	struct hk_chunk_buffer buffer = {0};
	struct hk_chunk_location place;
	uint64_t held = front->oldest.header.total_bytes, from;
	int rc = probe(front);

	*ret_bytes = 0;
	rc = rc < 0 ? rc : bury(front, flags, &buffer, &place);
	if (rc < 0) {
		free(buffer.bytes);
		return rc;
	}
	front->found = false;
	from = place.offset + place.header.total_bytes;
	if (merge && may_join(front, &place)) {
		held += front->before[1].header.total_bytes;
		/* If joining fails, there is one tombstone more. */
		if (join(front, &place, &buffer) > 0) {
			from = front->before[0].offset + front->before[0].header.total_bytes;
			front->before[1] = front->before[0];
		} else {
			held -= front->before[1].header.total_bytes;
		}
	}
	free(buffer.bytes);
	*ret_bytes = held - place.header.total_bytes;
	rc = punch(front, from, place.offset > from ? place.offset : from);
	int behind = punch(front, place.offset + place.header.total_bytes, place_end(&place));
	front->before[0] = front->before[1];
	front->before[1] = place;
	return rc < 0 ? rc : behind;
}

void hk_chunk_front_sweep(struct hk_chunk_front *front)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct hk_chunk_location *place = &front->before[i];
		if (place->header.number != 0) {
			(void)punch(front, place->offset + place->header.total_bytes,
				    place_end(place));
		}
	}
}
