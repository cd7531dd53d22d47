#include "partial.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU};
#define ENDING (sizeof(ending) / sizeof(ending[0]))

/* What a signal that ends the program has to remove. */
static struct hk_partial *volatile unfinished;

static void leave(int number)
{
	if (unfinished) {
		unlink(unfinished->partial);
	}
	raise(number); /* which acts on return: the handler was for once */
}

/* FROM where one that would be taken is, another is put. */
static void handle(void (*from)(int), void (*to)(int))
{
	for (size_t i = 0; i < ENDING; i++) {
		struct sigaction action;
		if (sigaction(ending[i], NULL, &action) == 0 && action.sa_handler == from) {
			action = (struct sigaction){.sa_handler = to, .sa_flags = SA_RESETHAND};
			sigaction(ending[i], &action, NULL);
		}
	}
}

/* Names of what is open already: to replace them would write to nobody. */
static bool is_descriptor(const char *path)
{
	return strncmp(path, "/dev/fd/", 8) == 0 || strncmp(path, "/dev/std", 8) == 0 ||
	       strncmp(path, "/proc/", 6) == 0;
}

/* Sets the place and MODE, with which any new file of this user is made, or that of what is there.
 */
static int find_place(struct hk_partial *file, const char *path, mode_t *ret_mode)
{
	struct stat status;
	mode_t mask = umask(0);

	umask(mask);
	*ret_mode = 0666 & ~mask;
	if (is_descriptor(path)) {
		return -ENOTSUP;
	}
	if (stat(path, &status) == 0) {
		if (!S_ISREG(status.st_mode)) {
			return S_ISDIR(status.st_mode) ? -EISDIR : -ENOTSUP;
		}
		if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0) {
			return -errno;
		}
		if (status.st_uid != geteuid()) {
			return -ENOTSUP; /* a new one would not be his any more */
		}
		*ret_mode = status.st_mode & 0777;
		return realpath(path, file->path) ? 0 : -errno;
	}
	if (lstat(path, &status) == 0) {
		return -ENOTSUP; /* a link to what is to be made */
	}
	return snprintf(file->path, sizeof(file->path), "%s", path) < (int)sizeof(file->path)
		   ? 0
		   : -ENAMETOOLONG;
}

static void finish(struct hk_partial *file)
{
	unfinished = NULL;
	*file->partial = '\0';
	handle(leave, SIG_DFL);
}

int hk_partial_open(struct hk_partial *file, const char *path)
{
	mode_t mode;
	int rc = find_place(file, path, &mode);

	*file->partial = '\0';
	if (rc < 0) {
		return rc;
	}
	if (snprintf(file->partial, sizeof(file->partial), "%s.XXXXXX", file->path) >=
	    (int)sizeof(file->partial)) {
		*file->partial = '\0';
		return -ENAMETOOLONG;
	}
	unfinished = file;
	handle(SIG_DFL, leave);
	signal(SIGXFSZ, SIG_IGN); /* what is too large is an error */
	int fd = mkostemp(file->partial, O_CLOEXEC);
	if (fd < 0) {
		rc = errno == ENAMETOOLONG ? -ENOTSUP : -errno;
		finish(file);
		return rc;
	}
	fchmod(fd, mode);
	return fd;
}

int hk_partial_publish(struct hk_partial *file)
{
	if (rename(file->partial, file->path) < 0) {
		return -errno;
	}
	finish(file);
	return 0;
}

void hk_partial_discard(struct hk_partial *file)
{
	if (*file->partial) {
		unlink(file->partial);
		finish(file);
	}
}
