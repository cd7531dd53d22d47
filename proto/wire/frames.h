/* frames.h: the frames of a statistics file: makes, finds and reads them. Private to statistics.c,
 * whose header describes the file. Locked by the caller. */
#ifndef HK_WIRE_FRAMES_H
#define HK_WIRE_FRAMES_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

#include "wire/message.h"

#define HK_FRAME_UID_BYTES 16u
#define HK_STATISTICS_FRAME_MAX (16u << 20) /* most bytes of one frame */
#define HK_STATISTICS_PROCESSES_MAX 65536u  /* most processes of one file */

enum hk_frame_kind {
	HK_FRAME_PROCESS = 1,
	HK_FRAME_JOB = 2,
	HK_FRAME_CHANGE = 3, /* of a process, since its last frame of either kind */
};

struct hk_frame {
	uint32_t magic;
	uint32_t length; /* of the body that follows */
	uint64_t hash;	 /* XXH3-64 of everything after this field */
	uint32_t kind;	 /* enum hk_frame_kind */
	uint32_t reserved;
	uint8_t uid[HK_FRAME_UID_BYTES]; /* zero for the job */
};
static_assert(sizeof(struct hk_frame) == 40, "frame header");

struct hk_frame_key {
	uint32_t kind;
	uint8_t uid[HK_FRAME_UID_BYTES];
};

struct hk_frame_location {
	uint64_t offset;
	uint32_t bytes; /* header included */
};

/* hk_parts_digest of the piece with this key. */
struct hk_piece_digest {
	uint64_t key, digest;
};

/* Position of the newest whole frame of a key, and of the changes behind it. */
struct hk_frame_entry {
	struct hk_frame_key key;
	struct hk_frame_location whole; /* bytes 0: not found */
	struct hk_frame_location *changes;
	size_t change_count, change_room;
	struct hk_piece_digest *digests; /* of the pieces in the file */
	size_t digest_count;
	UT_hash_handle hh;
};

/* Fills BYTES, which has room for it, with a frame of MESSAGE of packed size LENGTH. UID: NULL for
 * the job. Returns its header. */
struct hk_frame hk_frame_make(enum hk_frame_kind kind, const uint8_t *uid,
			      const ProtobufCMessage *message, size_t length, uint8_t *bytes);

/* Makes the frame at OFFSET the newest of its key, and updates *LIVE_BYTES, the bytes of
 * the newest whole frames of all keys. Ignores kinds of later versions. Returns 0, -EFBIG for too
 * many keys, or -ENOMEM. */
int hk_frames_index(struct hk_frame_entry **entries, const struct hk_frame *frame, uint64_t offset,
		    uint64_t *live_bytes);
/* Indexes every valid frame. Returns 0, -EBADMSG if there were other bytes between or after them,
 * or -ENOMEM. */
int hk_frames_scan(const uint8_t *bytes, size_t size, struct hk_frame_entry **entries,
		   uint64_t *ret_live, uint64_t *ret_valid_end);
void hk_frames_free(struct hk_frame_entry **entries);

/* Source of the bodies of frames: memory, or the file, read one at a time. */
struct hk_frame_source {
	const uint8_t *bytes; /* of the whole file; NULL: read from `fd` */
	int fd;
	uint8_t *buffer; /* the caller frees it */
	size_t room;
};

/* The process of ENTRY with its changes. Returns 0; -EBADMSG if a frame was damaged, with
 * *RET_PROCESS holding the rest or NULL; other errors come without it. */
int hk_frames_process(struct hk_frame_source *source, const struct hk_frame_entry *entry,
		      Hk__Process **ret_process);

#endif
