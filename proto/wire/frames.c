#include "wire/frames.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "wire/change.h"
#include "wire/columns.h"

#define FRAME_MAGIC 0x53464b48u /* "HKFS" */
#define HASHED_FROM 16u
/* A foreign or hostile file may hold the magic everywhere: stop after this many false starts. */
#define FALSE_STARTS_MAX 256u

struct hk_frame hk_frame_make(enum hk_frame_kind kind, const uint8_t *uid,
			      const ProtobufCMessage *message, size_t length, uint8_t *bytes)
{
	struct hk_frame frame = {.magic = FRAME_MAGIC, .length = (uint32_t)length, .kind = kind};
	if (uid) {
		memcpy(frame.uid, uid, HK_FRAME_UID_BYTES);
	}
	memcpy(bytes, &frame, sizeof(frame));
	protobuf_c_message_pack(message, bytes + sizeof(frame));
	frame.hash = XXH3_64bits(bytes + HASHED_FROM, sizeof(frame) - HASHED_FROM + length);
	memcpy(bytes, &frame, sizeof(frame));
	return frame;
}

/* ---- finding ---- */

struct scan {
	const uint8_t *bytes;
	size_t size;
	size_t position;
	size_t valid_end; /* end of the last valid frame */
	unsigned false_starts;
	bool damaged;
};

static bool frame_valid(const uint8_t *bytes, size_t left, struct hk_frame *ret_frame)
{
	struct hk_frame frame;
	if (left < sizeof(frame)) {
		return false;
	}
	memcpy(&frame, bytes, sizeof(frame));
	if (frame.magic != FRAME_MAGIC || frame.length > HK_STATISTICS_FRAME_MAX ||
	    frame.length > left - sizeof(frame) ||
	    XXH3_64bits(bytes + HASHED_FROM, sizeof(frame) - HASHED_FROM + frame.length) !=
		frame.hash) {
		return false;
	}
	*ret_frame = frame;
	return true;
}

/* Returns 1 and the next valid frame with its offset, or 0 at the end. Skips other bytes and
 * remembers that. */
static int scan_next(struct scan *scan, struct hk_frame *ret_frame, size_t *ret_offset)
{
	const uint32_t magic = FRAME_MAGIC;
	while (scan->position < scan->size) {
		const uint8_t *at = scan->bytes + scan->position;
		if (frame_valid(at, scan->size - scan->position, ret_frame)) {
			*ret_offset = scan->position;
			scan->position += sizeof(*ret_frame) + ret_frame->length;
			scan->valid_end = scan->position;
			return 1;
		}
		scan->damaged = true;
		const uint8_t *next = NULL;
		if (scan->false_starts++ < FALSE_STARTS_MAX) {
			next =
			    memmem(at + 1, scan->size - scan->position - 1, &magic, sizeof(magic));
		}
		scan->position = next ? (size_t)(next - scan->bytes) : scan->size;
	}
	return 0;
}

static int find_entry(struct hk_frame_entry **entries, const struct hk_frame *frame,
		      struct hk_frame_entry **ret_entry)
{
	bool job = frame->kind == HK_FRAME_JOB;
	struct hk_frame_key key = {.kind = job ? HK_FRAME_JOB : HK_FRAME_PROCESS};
	memcpy(key.uid, frame->uid, HK_FRAME_UID_BYTES);
	struct hk_frame_entry *entry;
	HASH_FIND(hh, *entries, &key, sizeof(key), entry);
	if (!entry) {
		if (HASH_COUNT(*entries) > HK_STATISTICS_PROCESSES_MAX) {
			return -EFBIG;
		}
		entry = calloc(1, sizeof(*entry));
		if (!entry) {
			return -ENOMEM;
		}
		entry->key = key;
		HASH_ADD(hh, *entries, key, sizeof(entry->key), entry);
	}
	*ret_entry = entry;
	return 0;
}

static int add_change(struct hk_frame_entry *entry, struct hk_frame_location place)
{
	if (entry->change_count == entry->change_room) {
		size_t room = entry->change_room ? 2 * entry->change_room : 8;
		struct hk_frame_location *changes =
		    realloc(entry->changes, room * sizeof(*changes));
		if (!changes) {
			return -ENOMEM;
		}
		entry->changes = changes;
		entry->change_room = room;
	}
	entry->changes[entry->change_count++] = place;
	return 0;
}

int hk_frames_index(struct hk_frame_entry **entries, const struct hk_frame *frame, uint64_t offset,
		    uint64_t *live_bytes)
{
	const struct hk_frame_location place = {offset, (uint32_t)sizeof(*frame) + frame->length};
	struct hk_frame_entry *entry;
	if (frame->kind < HK_FRAME_PROCESS || frame->kind > HK_FRAME_CHANGE) {
		return 0;
	}
	int r = find_entry(entries, frame, &entry);
	if (r < 0 || frame->kind == HK_FRAME_CHANGE) {
		return r < 0 ? r : add_change(entry, place);
	}
	*live_bytes += place.bytes;
	*live_bytes -= entry->whole.bytes;
	entry->whole = place;
	entry->change_count = entry->digest_count = 0;
	return 0;
}

void hk_frames_free(struct hk_frame_entry **entries)
{
	struct hk_frame_entry *entry, *next;
	HASH_ITER (hh, *entries, entry, next) {
		HASH_DEL(*entries, entry);
		free(entry->changes);
		free(entry->digests);
		free(entry);
	}
}

int hk_frames_scan(const uint8_t *bytes, size_t size, struct hk_frame_entry **entries,
		   uint64_t *ret_live, uint64_t *ret_valid_end)
{
	struct scan scan = {.bytes = bytes, .size = size};
	struct hk_frame frame;
	size_t offset;
	int result = 0;
	*ret_live = 0;
	while (scan_next(&scan, &frame, &offset) > 0) {
		int r = hk_frames_index(entries, &frame, offset, ret_live);
		if (r == -ENOMEM) {
			return r;
		}
		if (r < 0) {
			result = -EBADMSG;
		}
	}
	*ret_valid_end = scan.valid_end;
	return scan.damaged ? -EBADMSG : result;
}

/* ---- contents of frames ---- */

/* Files written before columns existed have cells one by one. */
static int take_old_cells(Hk__Process *process)
{
	int r = 0;
	if (!process->cells) {
		r = hk_columns_from_cells(process->old_cells, process->n_old_cells,
					  &process->cells);
	}
	for (size_t i = 0; i < process->n_old_cells; i++) {
		hk__cell__free_unpacked(process->old_cells[i], NULL);
	}
	free(process->old_cells);
	process->old_cells = NULL;
	process->n_old_cells = 0;
	return r;
}

/* Drops invalid columns: -EBADMSG. */
static int settle_cells(Hk__Process *process)
{
	int r = process->n_old_cells > 0 ? take_old_cells(process) : 0;
	if (r < 0 || hk_columns_valid(process->cells)) {
		return r;
	}
	hk__cells__free_unpacked(process->cells, NULL);
	process->cells = NULL;
	return -EBADMSG;
}

/* Unpacks the process in a frame's BODY; its uid must be the frame's. */
static int unpack_process(const struct hk_frame_key *key, const uint8_t *body, size_t size,
			  Hk__Process **ret_process)
{
	ProtobufCMessage *message;
	int r = hk_message_unpack(&hk__process__descriptor, body, size, &message);
	if (r < 0) {
		return r;
	}
	Hk__Process *process = (Hk__Process *)message;
	if (process->uid.len != HK_FRAME_UID_BYTES ||
	    memcmp(process->uid.data, key->uid, HK_FRAME_UID_BYTES) != 0) {
		hk__process__free_unpacked(process, NULL);
		return -EBADMSG;
	}
	*ret_process = process;
	return 0;
}

static int body_at(struct hk_frame_source *source, struct hk_frame_location place,
		   const uint8_t **ret_body)
{
	size_t size = place.bytes - sizeof(struct hk_frame);
	if (source->bytes) {
		*ret_body = source->bytes + place.offset + sizeof(struct hk_frame);
		return 0;
	}
	if (size > source->room) {
		uint8_t *buffer = realloc(source->buffer, size);
		if (!buffer) {
			return -ENOMEM;
		}
		source->buffer = buffer;
		source->room = size;
	}
	off_t offset = (off_t)(place.offset + sizeof(struct hk_frame));
	*ret_body = source->buffer;
	return pread(source->fd, source->buffer, size, offset) == (ssize_t)size ? 0 : -EIO;
}

static int read_process(struct hk_frame_source *source, const struct hk_frame_key *key,
			struct hk_frame_location place, Hk__Process **ret_process)
{
	const uint8_t *body;
	int r = body_at(source, place, &body);
	return r < 0
		   ? r
		   : unpack_process(key, body, place.bytes - sizeof(struct hk_frame), ret_process);
}

/* Merges the change at PLACE into *PROCESS, which is created if there was no whole frame. */
static int read_change(struct hk_frame_source *source, const struct hk_frame_key *key,
		       struct hk_frame_location place, Hk__Process **process)
{
	Hk__Process *change;
	int r = read_process(source, key, place, &change);
	if (r < 0) {
		return r;
	}
	r = *process ? 0 : hk_change_begin(change, process);
	r = r < 0 ? r : hk_change_apply(*process, change);
	hk__process__free_unpacked(change, NULL);
	return r;
}

int hk_frames_process(struct hk_frame_source *source, const struct hk_frame_entry *entry,
		      Hk__Process **ret_process)
{
	Hk__Process *process = NULL;
	int result = 0;
	if (entry->whole.bytes > 0) { /* else the first change has all values */
		result = read_process(source, &entry->key, entry->whole, &process);
	}
	int r = process ? settle_cells(process) : 0;
	result = r < 0 ? r : result;
	for (size_t i = 0; i < entry->change_count && (result == 0 || result == -EBADMSG); i++) {
		r = read_change(source, &entry->key, entry->changes[i], &process);
		if (r < 0) {
			result = r == -ENOMEM || r == -EIO ? r : -EBADMSG;
		}
	}
	if (result < 0 && result != -EBADMSG && process) {
		hk__process__free_unpacked(process, NULL);
		process = NULL;
	}
	*ret_process = process;
	return result;
}
