#include "agent/object/loader.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "agent/memory/mapping.h"
#include "agent/object/export.h"
#include "agent/record/process.h"
#include "ring/kernel.h"

/* Tries and pauses, together about half a second: the holder of the lock may have to wait for a
 * processor. */
#define PATIENT_TRIES 5000
#define PAUSE_NS 50000

/* glibc keeps its locks in this variable, which only the loader defines. */
#define HOME "_rtld_global"

static pthread_mutex_t *_Atomic lock;	   /* NULL: unknown */
static int (*try_lock)(pthread_mutex_t *); /* set before `lock` */
static int (*give_back)(pthread_mutex_t *);
static const struct r_debug *debug;
static bool ready;
static atomic_bool held; /* the agent holds the lock */
/* A failed wait is not repeated before the lock was taken once more. */
static atomic_bool in_vain;
static const bool *original; /* lies on a page that a fork wipes: false in a child */
_Atomic uint64_t hk_loader_unload_count;

/* Finds r_debug by the program's dynamic section: a variable _r_debug of the program may be a stale
 * copy. */
static int find_debug(struct dl_phdr_info *program, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	for (int i = 0; i < program->dlpi_phnum; i++) {
		if (program->dlpi_phdr[i].p_type != PT_DYNAMIC) {
			continue;
		}
		const ElfW(Dyn) *entry =
		    (const void *)(program->dlpi_addr + program->dlpi_phdr[i].p_vaddr);
		for (; entry->d_tag != DT_NULL; entry++) {
			if (entry->d_tag == DT_DEBUG) {
				debug = (const void *)entry->d_un.d_ptr;
			}
		}
	}
	return 1;
}

void hk_loader_setup(void)
{
	bool *page = hk_mapping_private(sizeof(*page));
	if (page) {
		*page = true;
	}
	original = page;
	dl_iterate_phdr(find_debug, NULL);
	ready = true;
}

/* ---- which lock it is ---- */

struct home {
	const char *start;
	size_t bytes;
};

static int find_home(struct dl_phdr_info *info, size_t size, void *data)
{
	struct home *home = data;
	struct hk_object object;
	(void)size;
	if (hk_object_read(info, &object) < 0) {
		return 0;
	}
	const ElfW(Sym) *symbol = hk_object_find(&object, HOME);
	if (!symbol || symbol->st_shndx == SHN_UNDEF ||
	    !hk_object_holds(&object, object.base + symbol->st_value, symbol->st_size)) {
		return 0;
	}
	home->start = (const char *)(object.base + symbol->st_value);
	home->bytes = symbol->st_size;
	return 1;
}

static int read_count(struct dl_phdr_info *info, size_t size, void *data)
{
	const pthread_mutex_t *mutex = *(const pthread_mutex_t **)data;
	(void)info;
	(void)size;
	return (int)mutex->__data.__count;
}

/* Returns whether this thread holds the recursive mutex, which dl_iterate_phdr takes once more. */
static bool is_taken(const pthread_mutex_t *mutex, int self)
{
	unsigned count = mutex->__data.__count;
	return mutex->__data.__owner == self && mutex->__data.__lock != 0 &&
	       mutex->__data.__kind == PTHREAD_MUTEX_RECURSIVE_NP && count > 0 &&
	       dl_iterate_phdr(read_count, &mutex) == (int)count + 1;
}

static void *find_function(const char *library, const char *name)
{
	struct hk_export wanted = {.library = library, .name = name, .find = hk_object_function};
	dl_iterate_phdr(hk_export_find, &wanted);
	return (void *)wanted.address;
}

/* Before glibc 2.34 the lock has functions only if libpthread is loaded. Without libpthread there
 * is one thread, and no other thread holds the lock. */
static void find_functions(void)
{
	static const char *const homes[] = {"libpthread.so.0", "libc.so.6"};
	for (size_t i = 0; i < sizeof(homes) / sizeof(homes[0]) && !try_lock; i++) {
		void *unlock = find_function(homes[i], "pthread_mutex_unlock");
		void *try = find_function(homes[i], "pthread_mutex_trylock");
		if (unlock && try) {
			*(void **)&give_back = unlock;
			*(void **)&try_lock = try;
		}
	}
}

void hk_loader_find_lock(void)
{
	struct home home = {NULL, 0};
	if (lock) {
		return;
	}
	find_functions();
	if (!try_lock || dl_iterate_phdr(find_home, &home) != 1) {
		return;
	}
	int self = (int)hk_kernel(SYS_gettid, 0, 0, 0, 0, 0, 0);
	for (size_t at = 0; at + sizeof(*lock) <= home.bytes && !lock; at += sizeof(long)) {
		pthread_mutex_t *mutex = (pthread_mutex_t *)(uintptr_t)(home.start + at);
		lock = is_taken(mutex, self) ? mutex : NULL;
	}
}

/* ---- taking it ---- */

/* Returns whether the list is consistent. The caller holds the lock, but a signal handler may have
 * interrupted this thread while it changed the list. */
static bool is_whole(void)
{
	return held || lock->__data.__count == 1 || !debug || debug->r_state == RT_CONSISTENT;
}

static bool take(void)
{
	if (try_lock(lock)) {
		return false;
	}
	if (is_whole()) {
		atomic_store_explicit(&in_vain, false, memory_order_relaxed);
		return true;
	}
	give_back(lock);
	return false;
}

/* Returns whether a thread of the agent holds the lock, which never waits for long. A forked child
 * may have inherited the lock from a thread that it lacks. */
static bool is_ours(void)
{
	return held && original && *original;
}

static bool take_patiently(void)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	bool taken = take(), waits = !atomic_load_explicit(&in_vain, memory_order_relaxed);
	for (int tries = 0; !taken && (is_ours() || (waits && tries < PATIENT_TRIES));) {
		hk_kernel(SYS_nanosleep, &pause, 0, 0, 0, 0, 0);
		tries += !is_ours();
		taken = take();
	}
	if (!taken) {
		atomic_store_explicit(&in_vain, true, memory_order_relaxed);
	}
	return taken;
}

static int iterate(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data,
		   bool (*take_lock)(void))
{
	if (hk_process.sealed) {
		return -EBUSY;
	}
	if (!lock) {
		/* The thread is alone at the start, or while the process has no other. For an
		 * unknown loader this is not known; then only its own functions take the lock. */
		bool alone = !ready || !try_lock;
		bool own = take_lock == take_patiently && original && *original;
		return alone || own ? dl_iterate_phdr(callback, data) : -EBUSY;
	}
	if (!take_lock()) {
		return -EBUSY;
	}
	bool outer = !held;
	held = true;
	int result = dl_iterate_phdr(callback, data);
	held = !outer;
	give_back(lock);
	return result;
}

int hk_loader_try(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data)
{
	return iterate(callback, data, take);
}

int hk_loader_iterate(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data)
{
	return iterate(callback, data, take_patiently);
}

void hk_loader_note_unload(void)
{
	atomic_fetch_add_explicit(&hk_loader_unload_count, 1, memory_order_release);
}
