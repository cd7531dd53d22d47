/* slow_disk.c: preloaded, makes each pread, pwrite and fsync of a program take SLOW_DISK_US
 * microseconds longer. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The kernel is asked directly: a call of nanosleep would be traced. */
static void delay(void)
{
	const char *us = getenv("SLOW_DISK_US");
	struct timespec pause = {.tv_nsec = us ? atol(us) * 1000 : 0};
	syscall(SYS_nanosleep, &pause, NULL);
}

#define SHOWN __attribute__((visibility("default")))

SHOWN ssize_t pread(int file, void *buffer, size_t size, off_t offset)
{
	delay();
	return (ssize_t)syscall(SYS_pread64, file, buffer, size, offset);
}

SHOWN ssize_t pwrite(int file, const void *buffer, size_t size, off_t offset)
{
	delay();
	return (ssize_t)syscall(SYS_pwrite64, file, buffer, size, offset);
}

/* Programs that know large files call these. */
SHOWN ssize_t pread64(int file, void *buffer, size_t size, off64_t offset)
{
	return pread(file, buffer, size, offset);
}

SHOWN ssize_t pwrite64(int file, const void *buffer, size_t size, off64_t offset)
{
	return pwrite(file, buffer, size, offset);
}

SHOWN int fsync(int file)
{
	delay();
	return (int)syscall(SYS_fsync, file);
}
