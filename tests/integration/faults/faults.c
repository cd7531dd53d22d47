/* Preloaded into a collector: its file operations fail, or it is killed, at a chosen one.
 *
 * Operations that change a file system are counted from 1: pwrite, rename, unlink, symlink, mkdir,
 * ftruncate, fallocate, and opening a file to write or make it. FAULT_AT=N: the one it happens at;
 * FAULT_COUNT=N: and so many behind it (default 1). FAULT_ERRNO=E: they fail with that error;
 * without it the process dies before the first of them. FAULT_ONLY=FUNCTION: only its calls are
 * counted. FAULT_MARK=FILE: made when it happens. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long done;
static long at, count = 1;
static int error;
static const char *mark, *only;

static long number_of(const char *name, long otherwise)
{
	const char *text = getenv(name);
	return text ? atol(text) : otherwise;
}

__attribute__((constructor)) static void read_environment(void)
{
	at = number_of("FAULT_AT", 0);
	count = number_of("FAULT_COUNT", 1);
	error = (int)number_of("FAULT_ERRNO", 0);
	mark = getenv("FAULT_MARK");
	only = getenv("FAULT_ONLY");
}

/* Whether the operation that begins now, a call of FUNCTION, fails; errno is set then. */
static bool fails(const char *function)
{
	if (only && strcmp(only, function) != 0) {
		return false;
	}
	long number = atomic_fetch_add(&done, 1) + 1;
	if (at == 0 || number < at || number >= at + count) {
		return false;
	}
	if (mark) {
		close(creat(mark, 0600));
	}
	if (error == 0) {
		kill(getpid(), SIGKILL);
	}
	errno = error;
	return true;
}

/* The function of that name behind this one. */
#define REAL(name)                                                \
	static __typeof__(name) *real;                            \
	if (!real) {                                              \
		real = (__typeof__(real))dlsym(RTLD_NEXT, #name); \
	}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
	REAL(pwrite)
	return fails(__func__) ? -1 : real(fd, bytes, size, offset);
}

int rename(const char *from, const char *to)
{
	REAL(rename)
	return fails(__func__) ? -1 : real(from, to);
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	REAL(renameat)
	return fails(__func__) ? -1 : real(from_fd, from, to_fd, to);
}

int unlink(const char *path)
{
	REAL(unlink)
	return fails(__func__) ? -1 : real(path);
}

int unlinkat(int fd, const char *path, int flags)
{
	REAL(unlinkat)
	return fails(__func__) ? -1 : real(fd, path, flags);
}

int symlinkat(const char *target, int fd, const char *path)
{
	REAL(symlinkat)
	return fails(__func__) ? -1 : real(target, fd, path);
}

int mkdir(const char *path, mode_t mode)
{
	REAL(mkdir)
	return fails(__func__) ? -1 : real(path, mode);
}

int ftruncate(int fd, off_t size)
{
	REAL(ftruncate)
	return fails(__func__) ? -1 : real(fd, size);
}

int fallocate(int fd, int mode, off_t offset, off_t size)
{
	REAL(fallocate)
	return fails(__func__) ? -1 : real(fd, mode, offset, size);
}

int posix_fallocate(int fd, off_t offset, off_t size)
{
	REAL(posix_fallocate)
	return fails(__func__) ? errno : real(fd, offset, size);
}

static mode_t mode_of(int flags, va_list list)
{
	return flags & O_CREAT ? va_arg(list, mode_t) : 0;
}

static bool open_fails(const char *function, int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY && fails(function);
}

int open(const char *path, int flags, ...)
{
	REAL(open)
	va_list list;
	va_start(list, flags);
	mode_t mode = mode_of(flags, list);
	va_end(list);
	return open_fails(__func__, flags) ? -1 : real(path, flags, mode);
}

int openat(int fd, const char *path, int flags, ...)
{
	REAL(openat)
	va_list list;
	va_start(list, flags);
	mode_t mode = mode_of(flags, list);
	va_end(list);
	return open_fails(__func__, flags) ? -1 : real(fd, path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
	REAL(fopen)
	return *mode == 'w' && fails(__func__) ? NULL : real(path, mode);
}
