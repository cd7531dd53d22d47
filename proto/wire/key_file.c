#include "wire/key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MAX (1u << 20)

int hk_key_file_complain(char problem[HK_ACCESS_PROBLEM_BYTES], int error, const char *file,
			 const char *what)
{
	snprintf(problem, HK_ACCESS_PROBLEM_BYTES, "%s: %s", file, what);
	return error;
}

int hk_key_file_read(const char *file, bool secret, char **ret_text,
		     char problem[HK_ACCESS_PROBLEM_BYTES])
{
	struct stat status;
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &status) < 0) {
		int r = -errno;
		if (fd >= 0) {
			close(fd);
		}
		return hk_key_file_complain(problem, r, file, strerror(-r));
	}
	const char *what = NULL;
	/* A file of root's may be readable by one of our groups: Kubernetes mounts secrets so. */
	bool shared = status.st_uid == 0 && geteuid() != 0;
	if (!S_ISREG(status.st_mode) || status.st_size > FILE_BYTES_MAX) {
		what = "not a file of keys";
	} else if (secret && (status.st_mode & (shared ? 037 : 077)) != 0) {
		what = "others may read or write it: chmod 600 it";
	} else if (secret && status.st_uid != geteuid() && status.st_uid != 0) {
		what = "somebody else owns it";
	}
	if (what) {
		close(fd);
		return hk_key_file_complain(problem, -EACCES, file, what);
	}
	char *text = calloc(1, (size_t)status.st_size + 1);
	ssize_t size = text ? read(fd, text, (size_t)status.st_size) : -1;
	int r = !text ? -ENOMEM : size < 0 ? -errno : 0;
	close(fd);
	if (r < 0) {
		free(text);
		return hk_key_file_complain(problem, r, file, strerror(-r));
	}
	*ret_text = text;
	return 0;
}
