#include "base/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/identity.h"

#define RUN_DIR_VARIABLE "HOOK_RUN_DIR"
#define PID_BYTES 16u

/* fstat by its raw number: the library's function has a symbol version newer than old hosts know.
 */
static int file_status(int fd, struct stat *ret_status)
{
	return syscall(SYS_fstat, fd, ret_status) < 0 ? -errno : 0;
}

/* Appends TEXT at *LENGTH of PATH. */
static int append(char path[PATH_MAX], size_t *length, const char *text)
{
	size_t size = strlen(text);
	if (size >= PATH_MAX - *length) {
		return -ENAMETOOLONG;
	}
	memcpy(path + *length, text, size + 1);
	*length += size;
	return 0;
}

/* Decimal digits of VALUE, NUL-terminated; their start within TEXT. */
static const char *decimal(uint32_t value, char text[PID_BYTES])
{
	char *at = text + PID_BYTES - 1;
	*at = '\0';
	do {
		*--at = (char)('0' + value % 10u);
		value /= 10u;
	} while (value > 0);
	return at;
}

/* CHOSEN: the value of HOOK_RUN_DIR, or NULL. */
static int path_of(const char *chosen, int index, char path[PATH_MAX])
{
	char uid[PID_BYTES];
	size_t length = 0;

	if (index < 0 || index >= HK_RUNDIR_CANDIDATES) {
		return -ENOENT;
	}
	if (chosen && *chosen) {
		if (index > 0) {
			return -ENOENT;
		}
		/* A relative path would name another directory in each process. */
		int error = *chosen == '/' ? append(path, &length, chosen) : -EINVAL;
		/* "dir/" would resolve a link in spite of O_NOFOLLOW. */
		while (error == 0 && length > 1 && path[length - 1] == '/') {
			path[--length] = '\0';
		}
		return error;
	}
	const char *digits = decimal((uint32_t)geteuid(), uid);
	switch (index) {
	case 0:
		append(path, &length, "/dev/shm/hooktrace-");
		return append(path, &length, digits);
	case 1:
		append(path, &length, "/run/user/");
		append(path, &length, digits);
		return append(path, &length, "/hooktrace");
	default:
		return -ENOENT;
	}
}

int hk_rundir_open(const char *path, int create)
{
	struct stat status;

	if (create && mkdir(path, 0700) < 0 && errno != EEXIST) {
		return -errno;
	}
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		return -errno;
	}
	int error = file_status(fd, &status);
	if (error == 0 && (status.st_uid != geteuid() || (status.st_mode & 077) != 0)) {
		error = -EPERM;
	}
	if (error < 0) {
		close(fd);
		return error;
	}
	return fd;
}

int hk_rundir_path(int index, char path[PATH_MAX])
{
	return path_of(hk_identity_variable(environ, RUN_DIR_VARIABLE), index, path);
}

int hk_rundir_open_chosen(const char *chosen, int create, char path[PATH_MAX])
{
	char candidate[PATH_MAX];
	int first_error = -ENOENT;

	for (int i = 0; i < HK_RUNDIR_CANDIDATES; i++) {
		int fd = path_of(chosen, i, candidate);
		if (fd == 0) {
			fd = hk_rundir_open(candidate, create);
		}
		if (fd >= 0) {
			memcpy(path, candidate, strlen(candidate) + 1);
			return fd;
		}
		/* The error of the first candidate is the one to report. */
		if (i == 0) {
			first_error = fd;
		}
	}
	return first_error;
}

int hk_rundir_open_default(int create, char path[PATH_MAX])
{
	return hk_rundir_open_chosen(hk_identity_variable(environ, RUN_DIR_VARIABLE), create, path);
}

/* The lock is an open-file-description lock: it can be asked about without being taken, and
 * survives another close of the same file in the process that holds it. */
static int lock_command(int fd, int command, short type, struct flock *lock)
{
	*lock = (struct flock){.l_type = type, .l_whence = SEEK_SET};
	return fcntl(fd, command, lock) < 0 ? -errno : 0;
}

static int is_held(int dirfd, const char *name)
{
	struct flock lock;

	int fd = openat(dirfd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		return 0;
	}
	int error = lock_command(fd, F_OFD_GETLK, F_WRLCK, &lock);
	close(fd);
	return error == 0 && lock.l_type != F_UNLCK;
}

int hk_rundir_has_collector(int dirfd)
{
	return is_held(dirfd, HK_RUNDIR_LOCK);
}

int hk_rundir_collector_pid(int dirfd)
{
	char text[PID_BYTES];
	int pid = 0;

	int fd = openat(dirfd, HK_RUNDIR_LOCK,
			O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		return 0;
	}
	ssize_t got = read(fd, text, sizeof(text));
	close(fd);
	for (ssize_t i = 0; i < got && text[i] >= '0' && text[i] <= '9'; i++) {
		if (pid > (INT_MAX - 9) / 10) {
			return 0;
		}
		pid = pid * 10 + (text[i] - '0');
	}
	return pid;
}

int hk_rundir_lock(int dirfd)
{
	struct flock lock;
	char text[PID_BYTES];

	int fd = openat(dirfd, HK_RUNDIR_LOCK,
			O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
	if (fd < 0) {
		return -errno;
	}
	int error = lock_command(fd, F_OFD_SETLK, F_WRLCK, &lock);
	if (error < 0) {
		close(fd);
		return error == -EACCES ? -EWOULDBLOCK : error;
	}
	/* The process id is for messages; the lock holds without it. */
	const char *digits = decimal((uint32_t)getpid(), text);
	size_t size = strlen(digits);
	if (ftruncate(fd, 0) == 0 && pwrite(fd, digits, size, 0) != (ssize_t)size) {
		(void)!ftruncate(fd, 0);
	}
	return fd;
}

int hk_rundir_keep_job(int fd)
{
	struct flock lock;

	return lock_command(fd, F_OFD_SETLK, F_RDLCK, &lock);
}

int hk_rundir_job_is_kept(int dirfd, const char *job)
{
	char name[NAME_MAX + 1] = HK_RUNDIR_MEMBERS;
	size_t size = strlen(job) + 1, prefix = sizeof(HK_RUNDIR_MEMBERS) - 1;

	if (size > sizeof(name) - prefix || strchr(job, '/')) {
		return 0;
	}
	memcpy(name + prefix, job, size);
	return is_held(dirfd, name);
}
