#include "cli/export/gzip.h"

#include <errno.h>
#include <unistd.h>
#include <zlib.h>

#define FAST "wb3" /* nearly the best compression, at a third of the time of zlib's default */

static ssize_t write_bytes(void *file, const char *bytes, size_t size)
{
	size_t some = size < (1u << 30) ? size : 1u << 30;
	int written = gzwrite(file, bytes, (unsigned)some);

	if (written <= 0) {
		errno = errno > 0 ? errno : EIO;
		return 0; /* reports an error of a cookie stream's write */
	}
	return written;
}

static int close_file(void *file)
{
	int rc = gzclose(file);

	if (rc != Z_OK && rc != Z_ERRNO) {
		errno = EIO;
	}
	return rc == Z_OK ? 0 : -1;
}

FILE *hk_gzip_write(int fd)
{
	const cookie_io_functions_t functions = {.write = write_bytes, .close = close_file};
	gzFile file = gzdopen(fd, FAST);
	FILE *stream;

	if (!file) {
		close(fd);
		errno = ENOMEM;
		return NULL;
	}
	stream = fopencookie(file, "w", functions);
	if (!stream) {
		int error = errno;

		gzclose(file);
		errno = error;
	}
	return stream;
}

long hk_gzip_begin(int fd, char *room, size_t size)
{
	gzFile file = gzdopen(fd, "rb");
	int got;

	if (!file) {
		close(fd);
		return -ENOMEM;
	}
	got = gzread(file, room, (unsigned)size);
	gzclose(file);
	return got < 0 ? -EBADMSG : got;
}
