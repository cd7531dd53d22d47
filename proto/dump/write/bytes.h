/* bytes.h: appends to bytes that grow. Pure. */
#ifndef HK_DUMP_BYTES_H
#define HK_DUMP_BYTES_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "dump/write/queue.h"

/* Returns room for SIZE more bytes at the end, or NULL. */
static inline void *hk_bytes_room(struct hk_bytes *bytes, size_t size)
{
	if (size > bytes->room - bytes->size) {
		size_t room = 2 * (bytes->size + size) + 256;
		char *larger = realloc(bytes->bytes, room);
		if (!larger) {
			return NULL;
		}
		bytes->bytes = larger;
		bytes->room = room;
	}
	return bytes->bytes + bytes->size;
}

static inline bool hk_bytes_add(struct hk_bytes *bytes, const void *from, size_t size)
{
	void *to = hk_bytes_room(bytes, size);

	if (to && size) {
		memcpy(to, from, size);
		bytes->size += size;
	}
	return to != NULL;
}

static inline void hk_bytes_free(struct hk_bytes *bytes)
{
	free(bytes->bytes);
	*bytes = (struct hk_bytes){0};
}

#endif
