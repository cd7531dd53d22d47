/* Functions that newer versions of glibc have under newer names. With the older ones the module
 * loads wherever the agent does: glibc 2.17. The linker directs all calls here (--wrap). */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
#define FIRST "GLIBC_2.2.5" /* of this architecture */
#define FSTATAT "GLIBC_2.4"
#define STAT_VERSION 1
#else
#define FIRST "GLIBC_2.17"
#define FSTATAT "GLIBC_2.17"
#define STAT_VERSION 0
#endif

#define OLD(name, symbol, version) __asm__(".symver " #name ", " #symbol "@" version)

int old_fstat(int version, int fd, struct stat *ret_status);
int old_fstatat(int version, int fd, const char *path, struct stat *ret_status, int flags);
int old_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
		       void *argument);
int old_pthread_join(pthread_t thread, void **ret_value);
int old_pthread_attr_setstacksize(pthread_attr_t *attributes, size_t bytes);
OLD(old_fstat, __fxstat, FIRST);
OLD(old_fstatat, __fxstatat, FSTATAT);
OLD(old_pthread_create, pthread_create, FIRST);
OLD(old_pthread_join, pthread_join, FIRST);
OLD(old_pthread_attr_setstacksize, pthread_attr_setstacksize, FIRST);

int __wrap_fstat(int fd, struct stat *ret_status);
int __wrap_fstatat(int fd, const char *path, struct stat *ret_status, int flags);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
			  void *argument);
int __wrap_pthread_join(pthread_t thread, void **ret_value);
int __wrap_pthread_attr_setstacksize(pthread_attr_t *attributes, size_t bytes);
ssize_t __wrap_getrandom(void *bytes, size_t size, unsigned flags);
void *__wrap_reallocarray(void *memory, size_t count, size_t size);

int __wrap_fstat(int fd, struct stat *ret_status)
{
	return old_fstat(STAT_VERSION, fd, ret_status);
}

int __wrap_fstatat(int fd, const char *path, struct stat *ret_status, int flags)
{
	return old_fstatat(STAT_VERSION, fd, path, ret_status, flags);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
			  void *argument)
{
	return old_pthread_create(thread, attributes, run, argument);
}

int __wrap_pthread_join(pthread_t thread, void **ret_value)
{
	return old_pthread_join(thread, ret_value);
}

int __wrap_pthread_attr_setstacksize(pthread_attr_t *attributes, size_t bytes)
{
	return old_pthread_attr_setstacksize(attributes, bytes);
}

ssize_t __wrap_getrandom(void *bytes, size_t size, unsigned flags)
{
	return syscall(SYS_getrandom, bytes, size, flags);
}

void *__wrap_reallocarray(void *memory, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(memory, bytes);
}
