#include "collector/memory/checksummed_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#define BUFFER_BYTES 65536u

struct hk_image {
	int fd;
	int error;
	XXH3_state_t *hash;
	size_t at, filled; /* in the buffer: next byte to read, and number of bytes */
	uint8_t buffer[BUFFER_BYTES];
};

struct hk_image *hk_image_free(struct hk_image *image)
{
	if (image) {
		XXH3_freeState(image->hash);
		free(image);
	}
	return NULL;
}

struct hk_image *hk_image_begin(int fd)
{
	struct hk_image *image = calloc(1, sizeof(*image));
	if (!image) {
		return NULL;
	}
	image->fd = fd;
	image->hash = XXH3_createState();
	if (!image->hash || XXH3_64bits_reset(image->hash) != XXH_OK) {
		return hk_image_free(image);
	}
	return image;
}

static void flush(struct hk_image *image)
{
	size_t done = 0;
	while (image->error == 0 && done < image->filled) {
		ssize_t n = write(image->fd, image->buffer + done, image->filled - done);
		if (n > 0) {
			done += (size_t)n;
		} else if (n == 0 || errno != EINTR) {
			image->error = n == 0 ? -ENOSPC : -errno;
		}
	}
	image->filled = 0;
}

static void put(struct hk_image *image, const void *bytes, size_t size)
{
	const uint8_t *from = bytes;
	while (size > 0 && image->error == 0) {
		size_t room = BUFFER_BYTES - image->filled, part = size < room ? size : room;
		memcpy(image->buffer + image->filled, from, part);
		image->filled += part;
		from += part;
		size -= part;
		if (image->filled == BUFFER_BYTES) {
			flush(image);
		}
	}
}

void hk_image_put(struct hk_image *image, const void *bytes, size_t size)
{
	XXH3_64bits_update(image->hash, bytes, size);
	put(image, bytes, size);
}

/* Fills the empty buffer. Returns the bytes available, or 0 at the end. */
static size_t fill(struct hk_image *image)
{
	while (image->at == image->filled && image->error == 0) {
		ssize_t n = read(image->fd, image->buffer, BUFFER_BYTES);
		if (n == 0) {
			break;
		}
		if (n > 0) {
			image->at = 0;
			image->filled = (size_t)n;
		} else if (errno != EINTR) {
			image->error = -errno;
		}
	}
	return image->filled - image->at;
}

static int get(struct hk_image *image, void *ret_bytes, size_t size)
{
	uint8_t *to = ret_bytes;
	while (size > 0 && image->error == 0) {
		size_t there = fill(image), part = size < there ? size : there;
		if (there == 0) {
			image->error = image->error < 0 ? image->error : -EBADMSG;
			break;
		}
		memcpy(to, image->buffer + image->at, part);
		image->at += part;
		to += part;
		size -= part;
	}
	return image->error;
}

int hk_image_get(struct hk_image *image, void *ret_bytes, size_t size)
{
	int r = get(image, ret_bytes, size);
	if (r == 0) {
		XXH3_64bits_update(image->hash, ret_bytes, size);
	}
	return r;
}

int hk_image_end_put(struct hk_image *image)
{
	uint64_t sum = XXH3_64bits_digest(image->hash);
	put(image, &sum, sizeof(sum));
	flush(image);
	int error = image->error;
	hk_image_free(image);
	return error;
}

int hk_image_end_get(struct hk_image *image)
{
	uint64_t sum = XXH3_64bits_digest(image->hash), stored;
	int error = get(image, &stored, sizeof(stored));
	if (error == 0 && (stored != sum || fill(image) > 0)) {
		error = -EBADMSG;
	}
	hk_image_free(image);
	return error;
}
