#include "cli/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU};
#define ENDING (sizeof(ending) / sizeof(ending[0]))

/* The path of a nameless file for linkat, see open(2): AT_EMPTY_PATH is for root only. */
#define LINK "/proc/self/fd/%d"
#define LINK_BYTES 32u
#define NAMES_MOST 100

/* The file that a signal handler removes before the program ends. */
static struct hk_atomic_file *volatile unfinished;

static void leave(int number)
{
	if (unfinished) {
		unlink(unfinished->partial);
	}
	raise(number); /* SA_RESETHAND: the default action follows */
}

/* Replaces handler FROM of these signals by TO. Signals with another handler, or ignored ones, keep
 * it. */
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

/* Returns true if PATH names an open descriptor: a file in its place would have no reader. */
static bool is_descriptor(const char *path)
{
	return strncmp(path, "/dev/fd/", 8) == 0 || strncmp(path, "/dev/std", 8) == 0 ||
	       strncmp(path, "/proc/", 6) == 0;
}

/* Sets the final path, and *RET_MODE to the mode of the file there, or to that of new files of this
 * user. Returns 0 or -errno as hk_atomic_file_open. */
static int find_place(struct hk_atomic_file *file, const char *path, mode_t *ret_mode)
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
			return -ENOTSUP; /* a new file would belong to this user */
		}
		*ret_mode = status.st_mode & 0777;
		return realpath(path, file->path) ? 0 : -errno;
	}
	if (lstat(path, &status) == 0) {
		return -ENOTSUP; /* a dangling link */
	}
	if (!*path) {
		return -ENOENT;
	}
	return snprintf(file->path, sizeof(file->path), "%s", path) < (int)sizeof(file->path)
		   ? 0
		   : -ENAMETOOLONG;
}

static void finish(struct hk_atomic_file *file)
{
	if (file->nameless) {
		close(file->fd);
	}
	unfinished = NULL;
	file->begun = file->nameless = false;
	*file->partial = '\0';
	handle(leave, SIG_DFL);
}

/* Sets NAME to a template of names beside the final path. Returns 0, -ENAMETOOLONG, or -ENOTSUP. */
static int name_beside(const struct hk_atomic_file *file, char name[PATH_MAX])
{
	if (snprintf(name, PATH_MAX, "%s.XXXXXX", file->path) >= PATH_MAX) {
		return -ENAMETOOLONG;
	}
	/* The final name is valid, but too long for the suffix. */
	return access(name, F_OK) < 0 && errno == ENAMETOOLONG ? -ENOTSUP : 0;
}

static int open_nameless(struct hk_atomic_file *file)
{
	char directory[PATH_MAX], link[LINK_BYTES];
	const char *slash = strrchr(file->path, '/');

	/* The directory of "new/" is "new", which does not exist: dirname(3) would return its
	 * parent. */
	snprintf(directory, sizeof(directory), "%.*s", slash ? (int)(slash - file->path) + 1 : 1,
		 slash ? file->path : ".");
	file->fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (file->fd < 0) {
		return -errno;
	}
	snprintf(link, sizeof(link), LINK, file->fd);
	int fd = access(link, F_OK) == 0 ? fcntl(file->fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (fd < 0) {
		close(file->fd);
		return -errno;
	}
	file->nameless = true;
	return fd;
}

static int open_named(struct hk_atomic_file *file, const char *name)
{
	memcpy(file->partial, name, sizeof(file->partial));
	int fd = mkostemp(file->partial, O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int begin(struct hk_atomic_file *file, const char *path, bool named)
{
	char name[PATH_MAX];
	mode_t mode;
	int rc = find_place(file, path, &mode);

	file->begun = file->nameless = false;
	*file->partial = '\0';
	rc = rc < 0 ? rc : name_beside(file, name);
	if (rc < 0) {
		return rc;
	}
	unfinished = file;
	handle(SIG_DFL, leave);
	signal(SIGXFSZ, SIG_IGN); /* a write beyond ulimit -f is an error, no signal */
	int fd = named ? -ENOTSUP : open_nameless(file);
	fd = fd < 0 ? open_named(file, name) : fd;
	if (fd < 0) {
		finish(file);
		return fd;
	}
	fchmod(fd, mode);
	file->begun = true;
	return fd;
}

int hk_atomic_file_open(struct hk_atomic_file *file, const char *path)
{
	return begin(file, path, false);
}

int hk_atomic_file_open_named(struct hk_atomic_file *file, const char *path)
{
	return begin(file, path, true);
}

/* Links the nameless file to its path and returns 1. If a file is there, links it to a name beside
 * and returns 0: only a named file can replace another. Returns -errno on failure. */
static int name_it(struct hk_atomic_file *file)
{
	char link[LINK_BYTES], name[PATH_MAX];
	unsigned int number;
	size_t end = strlen(file->path) + 1;

	snprintf(link, sizeof(link), LINK, file->fd);
	if (linkat(AT_FDCWD, link, AT_FDCWD, file->path, AT_SYMLINK_FOLLOW) == 0) {
		return 1;
	}
	for (int i = 0; errno == EEXIST && i < NAMES_MOST; i++) {
		if (getrandom(&number, sizeof(number), 0) != sizeof(number)) {
			return -EIO;
		}
		if (name_beside(file, name) < 0) {
			return -ENAMETOOLONG;
		}
		snprintf(name + end, sizeof(name) - end, "%06x", number & 0xffffff);
		if (linkat(AT_FDCWD, link, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0) {
			memcpy(file->partial, name, sizeof(file->partial));
			return 0;
		}
	}
	return -errno;
}

int hk_atomic_file_publish(struct hk_atomic_file *file)
{
	int rc = file->nameless ? name_it(file) : 0;

	if (rc < 0 || (rc == 0 && rename(file->partial, file->path) < 0)) {
		return rc < 0 ? rc : -errno;
	}
	finish(file);
	return 0;
}

void hk_atomic_file_discard(struct hk_atomic_file *file)
{
	if (file->begun) {
		unlink(file->partial); /* no effect while `partial` is "" */
		finish(file);
	}
}
