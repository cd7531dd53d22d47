/* A second opinion, preloaded behind the agent: how often this process's objects call the functions
 * below, and the live and peak bytes of what they allocate.
 *
 * It sees every call, whether the agent does or not. Left out is what the agent does not promise,
 * by the library that a call returns to: libc, its parts and libgcc_s, and calls of GnuTLS through
 * its variables gnutls_malloc and the like, which the loader fills in (a data relocation, hooked
 * only for a hooks line that says `tables`). The file COUNTER_DIR/<pid>-<n> holds rows of a name
 * and a number; it is mapped, so that it is right however the process ends. A forked child, until
 * it executes something else, is not counted.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)
#define BLOCKS (1U << 22) /* at most half of them are used */
#define IMAGES_MAX 100

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *pointer, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void *__libc_valloc(size_t size);
extern void *__libc_pvalloc(size_t size);
extern void __libc_free(void *pointer);

enum {
	MALLOC,
	CALLOC,
	REALLOC,
	REALLOCARRAY,
	MEMALIGN,
	ALIGNED_ALLOC,
	POSIX_MEMALIGN,
	VALLOC,
	PVALLOC,
	FREE,
	WRITEV,
	RECV,
	EPOLL_WAIT,
	SGEMM,
	LIVE,
	PEAK,
	BROKEN, /* not 0: more blocks than there is room for */
	ROWS
};

struct row {
	char name[24];
	_Atomic uint64_t value;
};

static const char *const names[ROWS] = {
    "malloc",	      "calloc", "realloc", "reallocarray", "memalign", "aligned_alloc",
    "posix_memalign", "valloc", "pvalloc", "free",	   "writev",   "recv",
    "epoll_wait",     "sgemm_", "live",	   "peak",	   "broken"};

static struct row before[ROWS]; /* until the file is there, and in children */
static struct row *rows = before;

/* ---- the books ---- */

struct block {
	uintptr_t pointer; /* 0: free */
	size_t size;
};

static struct block *blocks;
static size_t used;
static atomic_flag books = ATOMIC_FLAG_INIT;

static void lock(void)
{
	while (atomic_flag_test_and_set_explicit(&books, memory_order_acquire)) {
		sched_yield();
	}
}

static void unlock(void)
{
	atomic_flag_clear_explicit(&books, memory_order_release);
}

static size_t place_of(uintptr_t pointer)
{
	return (pointer >> 4) * 0x9e3779b97f4a7c15U >> 42;
}

/* Where POINTER is, or the free place where it would be. */
static size_t find(uintptr_t pointer)
{
	size_t i = place_of(pointer);

	while (blocks[i].pointer && blocks[i].pointer != pointer) {
		i = (i + 1) % BLOCKS;
	}
	return i;
}

/* Takes the block at I away and moves those up that would no longer be found. */
static void take(size_t i)
{
	rows[LIVE].value -= blocks[i].size;
	used--;
	for (size_t k = (i + 1) % BLOCKS; blocks[k].pointer; k = (k + 1) % BLOCKS) {
		size_t home = place_of(blocks[k].pointer);
		if ((k - home) % BLOCKS >= (k - i) % BLOCKS) {
			blocks[i] = blocks[k];
			i = k;
		}
	}
	blocks[i].pointer = 0;
}

static bool make_room(void)
{
	if (!blocks) {
		void *room = mmap(NULL, BLOCKS * sizeof(*blocks), PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		blocks = room == MAP_FAILED ? NULL : room;
	}
	if (!blocks || used >= BLOCKS / 2) {
		rows[BROKEN].value = 1;
		return false;
	}
	return true;
}

static void freed(void *pointer)
{
	lock();
	if (pointer && blocks) {
		size_t i = find((uintptr_t)pointer);
		if (blocks[i].pointer) {
			take(i);
		}
	}
	unlock();
}

static void *allocated(void *pointer, size_t size)
{
	if (!pointer) {
		return pointer;
	}
	lock();
	if (make_room()) {
		size_t i = find((uintptr_t)pointer);
		/* libc freed it for itself, and it is given out again. */
		if (blocks[i].pointer) {
			take(i);
			i = find((uintptr_t)pointer);
		}
		blocks[i] = (struct block){(uintptr_t)pointer, size};
		used++;
		rows[LIVE].value += size;
		if (rows[LIVE].value > rows[PEAK].value) {
			rows[PEAK].value = rows[LIVE].value;
		}
	}
	unlock();
	return pointer;
}

/* ---- whose calls count ---- */

static const char *const left_out[] = {"libc.so.",	 "ld-linux",  "libm.so.",  "libgcc_s.so.",
				       "libpthread.so.", "libdl.so.", "librt.so.", "libgnutls.so."};

/* Counts a call of FUNCTION that returns to CALLER; false: one that is left out. */
static bool count(unsigned int function, void *caller)
{
	struct dl_find_object object;

	if (_dl_find_object(caller, &object) == 0) {
		const char *path = object.dlfo_link_map->l_name;
		const char *slash = path ? strrchr(path, '/') : NULL;
		for (size_t i = 0; slash && i < sizeof(left_out) / sizeof(left_out[0]); i++) {
			if (strncmp(slash + 1, left_out[i], strlen(left_out[i])) == 0) {
				return false;
			}
		}
	}
	atomic_fetch_add_explicit(&rows[function].value, 1, memory_order_relaxed);
	return true;
}

/* ---- the functions ---- */

EXPORT void *malloc(size_t size)
{
	bool ours = count(MALLOC, CALLER);
	void *pointer = __libc_malloc(size);
	return ours ? allocated(pointer, size) : pointer;
}

EXPORT void *calloc(size_t number, size_t size)
{
	bool ours = count(CALLOC, CALLER);
	void *pointer = __libc_calloc(number, size);
	return ours ? allocated(pointer, number * size) : pointer;
}

static void *reallocate(void *old, size_t size, bool ours)
{
	/* Booked out before: the block may be another thread's as soon as it is free. */
	size_t old_size = 0;
	bool known = false;

	if (ours && old) {
		lock();
		if (blocks) {
			size_t i = find((uintptr_t)old);
			known = blocks[i].pointer != 0;
			old_size = blocks[i].size;
			if (known) {
				take(i);
			}
		}
		unlock();
	}
	void *pointer = __libc_realloc(old, size);
	if (known && !pointer && size) {
		allocated(old, old_size);
	}
	return ours ? allocated(pointer, size) : pointer;
}

EXPORT void *realloc(void *old, size_t size)
{
	return reallocate(old, size, count(REALLOC, CALLER));
}

EXPORT void *reallocarray(void *old, size_t number, size_t size)
{
	bool ours = count(REALLOCARRAY, CALLER);
	size_t bytes;

	if (__builtin_mul_overflow(number, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return reallocate(old, bytes, ours);
}

EXPORT void *memalign(size_t alignment, size_t size)
{
	bool ours = count(MEMALIGN, CALLER);
	void *pointer = __libc_memalign(alignment, size);
	return ours ? allocated(pointer, size) : pointer;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	bool ours = count(ALIGNED_ALLOC, CALLER);
	void *pointer = __libc_memalign(alignment, size);
	return ours ? allocated(pointer, size) : pointer;
}

EXPORT int posix_memalign(void **ret_pointer, size_t alignment, size_t size)
{
	bool ours = count(POSIX_MEMALIGN, CALLER);
	int error = errno;

	if (alignment == 0 || alignment % sizeof(void *) || (alignment & (alignment - 1))) {
		return EINVAL;
	}
	void *pointer = __libc_memalign(alignment, size);
	errno = error;
	if (!pointer) {
		return ENOMEM;
	}
	*ret_pointer = ours ? allocated(pointer, size) : pointer;
	return 0;
}

EXPORT void *valloc(size_t size)
{
	bool ours = count(VALLOC, CALLER);
	void *pointer = __libc_valloc(size);
	return ours ? allocated(pointer, size) : pointer;
}

EXPORT void *pvalloc(size_t size)
{
	bool ours = count(PVALLOC, CALLER);
	void *pointer = __libc_pvalloc(size);
	return ours ? allocated(pointer, size) : pointer;
}

EXPORT void free(void *pointer)
{
	if (count(FREE, CALLER)) {
		freed(pointer);
	}
	__libc_free(pointer);
}

static void *next(_Atomic(void *) *known, const char *name)
{
	if (!*known) {
		*known = dlsym(RTLD_NEXT, name);
	}
	return *known;
}

EXPORT ssize_t writev(int fd, const struct iovec *parts, int number)
{
	static _Atomic(void *) known;
	count(WRITEV, CALLER);
	return ((ssize_t(*)(int, const struct iovec *, int))next(&known, "writev"))(fd, parts,
										    number);
}

EXPORT ssize_t recv(int fd, void *buffer, size_t size, int flags)
{
	static _Atomic(void *) known;
	count(RECV, CALLER);
	return ((ssize_t(*)(int, void *, size_t, int))next(&known, "recv"))(fd, buffer, size,
									    flags);
}

EXPORT int epoll_wait(int fd, struct epoll_event *events, int number, int timeout_ms)
{
	static _Atomic(void *) known;
	count(EPOLL_WAIT, CALLER);
	return ((int (*)(int, struct epoll_event *, int, int))next(&known, "epoll_wait"))(
	    fd, events, number, timeout_ms);
}

typedef void (*sgemm)(const char *, const char *, const int *, const int *, const int *,
		      const float *, const float *, const int *, const float *, const int *,
		      const float *, float *, const int *);

EXPORT void sgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k,
		   const float *alpha, const float *a, const int *lda, const float *b,
		   const int *ldb, const float *beta, float *c, const int *ldc)
{
	static _Atomic(void *) known;

	count(SGEMM, CALLER);
	/* Python loads it with RTLD_LOCAL, so that RTLD_NEXT does not find it. */
	if (!known) {
		known = dlsym(dlopen("libblas.so.3", RTLD_LAZY | RTLD_NOLOAD), "sgemm_");
	}
	((sgemm)known)(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

/* ---- the file ---- */

static void forget(void)
{
	rows = before;
	blocks = NULL;
	used = 0;
	unlock();
}

static int open_file(const char *directory)
{
	char path[4096];

	for (int image = 0; image < IMAGES_MAX; image++) {
		snprintf(path, sizeof(path), "%s/%d-%d", directory, getpid(), image);
		int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST) {
			return fd;
		}
	}
	return -1;
}

__attribute__((constructor)) static void begin(void)
{
	const char *directory = getenv("COUNTER_DIR");
	int fd = directory ? open_file(directory) : -1;

	if (fd < 0 || ftruncate(fd, sizeof(before)) < 0) {
		return;
	}
	struct row *mapped = mmap(NULL, sizeof(before), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (mapped == MAP_FAILED) {
		return;
	}
	/* There is one thread yet. */
	for (size_t i = 0; i < ROWS; i++) {
		mapped[i] = before[i];
		snprintf(mapped[i].name, sizeof(mapped[i].name), "%s", names[i]);
	}
	rows = mapped;
	pthread_atfork(NULL, NULL, forget);
}
