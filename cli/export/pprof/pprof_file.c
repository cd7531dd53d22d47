#include "cli/export/pprof/pprof_file.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#define ROOM_FLOOR 65536u
#define GZIP_WINDOW (15 + 16) /* zlib: 32 KiB, with the head and the end of gzip */
#define GZIP_MEMORY 8
#define PIECE_BYTES 65536u

int hk_pprof_append(struct hk_pprof_file *file, const Hk__Pprof__Profile *part)
{
	size_t size = hk__pprof__profile__get_packed_size(part);

	if (size > file->room - file->size) {
		size_t room = (file->size + size) * 2 + ROOM_FLOOR;
		uint8_t *larger = realloc(file->bytes, room);

		if (!larger) {
			return -ENOMEM;
		}
		file->bytes = larger;
		file->room = room;
	}
	file->size += hk__pprof__profile__pack(part, file->bytes + file->size);
	return 0;
}

/* Returns 0, or -errno of a write that failed. */
static int write_bytes(const uint8_t *bytes, size_t size, FILE *output)
{
	if (fwrite(bytes, 1, size, output) < size) {
		return errno > 0 ? -errno : -EIO;
	}
	return 0;
}

static int compress_all(z_stream *stream, const struct hk_pprof_file *file, FILE *output)
{
	uint8_t piece[PIECE_BYTES];
	size_t taken = 0;
	int state = Z_OK, rc = 0;

	while (rc == 0 && state != Z_STREAM_END) {
		size_t left = file->size - taken;

		if (stream->avail_in == 0 && left > 0) {
			stream->next_in = file->bytes + taken;
			stream->avail_in = left < (1u << 30) ? (unsigned)left : 1u << 30;
			taken += stream->avail_in;
		}
		stream->next_out = piece;
		stream->avail_out = sizeof(piece);
		state = deflate(stream, taken == file->size ? Z_FINISH : Z_NO_FLUSH);
		rc = state == Z_STREAM_ERROR
			 ? -EINVAL
			 : write_bytes(piece, sizeof(piece) - stream->avail_out, output);
	}
	return rc;
}

int hk_pprof_write(const struct hk_pprof_file *file, FILE *output)
{
	z_stream stream = {0};

	if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		return -ENOMEM;
	}
	int rc = compress_all(&stream, file, output);

	deflateEnd(&stream);
	if (rc == 0 && fflush(output)) {
		rc = errno > 0 ? -errno : -EIO;
	}
	return rc;
}

void hk_pprof_file_fini(struct hk_pprof_file *file)
{
	free(file->bytes);
}
