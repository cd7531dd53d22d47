#include "cli/compare/array/file_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int fill(struct hk_file_bytes *file, int fd, size_t size)
{
	file->bytes = malloc(size + 1);
	if (!file->bytes) {
		return -ENOMEM;
	}
	while (file->size < size) {
		ssize_t got = read(fd, file->bytes + file->size, size - file->size);
		if (got < 0 && errno == EINTR) {
			continue;
		}
		if (got < 0) {
			int r = -errno;
			free(file->bytes);
			return r;
		}
		if (got == 0) {
			break;
		}
		file->size += (size_t)got;
	}
	file->bytes[file->size] = 0;
	return 0;
}

int hk_file_bytes_read(struct hk_file_bytes *file, const char *path)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* does not wait for a pipe */
	int r = fd < 0 || fstat(fd, &status) < 0 ? -errno : 0;

	*file = (struct hk_file_bytes){0};
	if (r == 0 && (!S_ISREG(status.st_mode) || status.st_size < 0)) {
		r = -EINVAL;
	}
	if (r == 0) {
		r = fill(file, fd, (size_t)status.st_size);
	}
	if (fd >= 0) {
		close(fd);
	}
	return r;
}
