#include "cli/attach/safe.h"

#include <errno.h>
#include <libunwind-ptrace.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#define FRAMES_MAX 256u
#define FRAMES_LEAST 2u /* of a stack whose end is not found */

/* ---- kinds of code ---- */

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Libraries with an allocator, whose locks are taken as libc's are. */
static bool is_allocator(const char *base)
{
	static const char *const names[] = {
	    "libjemalloc", "libtcmalloc", "libmimalloc",  "libhoard",	"libsnmalloc",
	    "librpmalloc", "libasan",	  "libtsan",	  "liblsan",	"libmsan",
	    "libhwasan",   "libmemray",	  "libheaptrack", "libclang_rt"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (begins(base, names[i])) {
			return true;
		}
	}
	return false;
}

enum code { PLAIN, LIBC, LOADER, AGENT };

static enum code code_at(const struct hk_safety *safety, uint64_t address)
{
	const struct hk_map *map = hk_maps_find(&safety->target->maps, address);
	const char *base = map ? hk_map_base(map) : "";

	if (hk_map_is_loader(base)) {
		return LOADER;
	}
	if (hk_map_is_agent(base)) {
		return AGENT;
	}
	return hk_map_is_libc(base) || hk_map_is_libdl(base) || begins(base, "libpthread") ||
		       is_allocator(base)
		   ? LIBC
		   : PLAIN;
}

/* System calls in which a thread may wait, and which libc makes without a lock of malloc's or the
 * loader's. The loader itself reads files: the stack shows that. A call that waits for a time is
 * restarted under another number. */
static bool is_quiet_call(long number)
{
	static const long calls[] = {
		SYS_read,
		SYS_write,
		SYS_readv,
		SYS_writev,
		SYS_pread64,
		SYS_pwrite64,
		SYS_recvfrom,
		SYS_recvmsg,
		SYS_recvmmsg,
		SYS_sendto,
		SYS_sendmsg,
		SYS_sendmmsg,
		SYS_accept,
		SYS_accept4,
		SYS_connect,
		SYS_ppoll,
		SYS_pselect6,
		SYS_nanosleep,
		SYS_epoll_pwait,
		SYS_clock_nanosleep,
		SYS_wait4,
		SYS_waitid,
		SYS_msgrcv,
		SYS_semtimedop,
		SYS_rt_sigtimedwait,
		SYS_sendfile,
		SYS_fsync,
		SYS_flock,
		SYS_rt_sigsuspend,
		SYS_io_getevents,
		SYS_restart_syscall,
#if defined(__x86_64__)
		SYS_poll,
		SYS_select,
		SYS_epoll_wait,
		SYS_pause,
#endif
	};
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (calls[i] == number) {
			return true;
		}
	}
	return false;
}

/* Functions of libc that wait by futex, without a lock of malloc's or the loader's. */
static bool waits(const char *name)
{
	static const char *const names[] = {"pthread_cond_wait",
					    "pthread_cond_timedwait",
					    "pthread_cond_clockwait",
					    "pthread_join",
					    "pthread_timedjoin_np",
					    "pthread_clockjoin_np",
					    "sem_wait",
					    "sem_timedwait",
					    "sem_clockwait",
					    "pthread_barrier_wait",
					    "syscall"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && name; i++) {
		if (strcmp(name, names[i]) == 0) {
			return true;
		}
	}
	return false;
}

/* Functions of libc that call functions of the program, without such a lock. */
static bool calls_back(const char *name)
{
	static const char *const names[] = {"qsort", "qsort_r", "bsearch", "__libc_start_main",
					    "pthread_once"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && name; i++) {
		if (strcmp(name, names[i]) == 0) {
			return true;
		}
	}
	return false;
}

/* ---- a stack ---- */

struct frame {
	uint64_t address;
	bool signal; /* of the kernel's, between a handler and what it interrupted */
};

/* Walks the stack of TID. Returns the number of frames, innermost first. *RET_WHOLE: up to its end.
 */
static size_t walk(const struct hk_safety *safety, pid_t tid, struct frame frames[FRAMES_MAX],
		   bool *ret_whole)
{
	void *accessor = _UPT_create(tid);
	unw_cursor_t cursor;
	size_t count = 0;
	int r = accessor ? unw_init_remote(&cursor, safety->space, accessor) : -UNW_ENOINFO;
	bool exact = true;

	for (r = r < 0 ? r : 1; r > 0 && count < FRAMES_MAX; r = unw_step(&cursor)) {
		unw_word_t pc = 0;
		if (unw_get_reg(&cursor, UNW_REG_IP, &pc) < 0 || pc == 0) {
			r = 0;
			break;
		}
		bool signal = unw_is_signal_frame(&cursor) > 0;
		frames[count++] = (struct frame){exact || signal ? pc : pc - 1, signal};
		exact = signal;
	}
	if (accessor) {
		_UPT_destroy(accessor);
	}
	*ret_whole = r == 0;
	return count;
}

/* Returns whether a stretch of libc's frames, FIRST to LAST, is one in which no lock is held. CALL:
 * the system call that the thread is in, if the stretch is the innermost one, else -1. */
static bool is_quiet(const struct hk_safety *safety, const struct frame *frames, size_t first,
		     size_t last, long call)
{
	/* The function that was called from outside says what it is. */
	const char *entry = hk_symbols_name(&safety->libc, frames[last].address);

	if (first == 0) {
		return is_quiet_call(call) || (call == SYS_futex && waits(entry));
	}
	return (first == last && frames[first].signal) || calls_back(entry);
}

bool hk_safety_holds(const struct hk_safety *safety, pid_t tid, long system_call)
{
	static struct frame frames[FRAMES_MAX];
	bool whole;
	size_t count = walk(safety, tid, frames, &whole);

	if (count == 0 || count == FRAMES_MAX || (!whole && count < FRAMES_LEAST) ||
	    code_at(safety, frames[0].address) == AGENT ||
	    (safety->own_malloc && !is_quiet_call(system_call))) {
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		enum code code = code_at(safety, frames[i].address);
		size_t first = i;
		if (code == LOADER) {
			return false;
		}
		if (code != LIBC) {
			continue;
		}
		while (i + 1 < count && code_at(safety, frames[i + 1].address) == LIBC) {
			i++;
		}
		/* Every thread begins in libc. */
		bool outermost = i + 1 == count && whole && first > 0;
		if (!outermost && !is_quiet(safety, frames, first, i, system_call)) {
			return false;
		}
	}
	return true;
}

/* ---- ---- */

/* Returns whether the program's own file has a malloc: whether its functions hold a lock is
 * unknown. */
static bool has_own_malloc(const struct hk_target *target)
{
	struct hk_symbols symbols;
	bool has = false;

	for (size_t i = 0; i < target->maps.count; i++) {
		if (strcmp(target->maps.list[i].path, target->program) == 0) {
			if (hk_symbols_read(target->pid, &target->maps.list[i], &symbols) == 0) {
				has = hk_symbols_address(&symbols, "malloc") != 0;
				hk_symbols_free(&symbols);
			}
			break;
		}
	}
	return has;
}

int hk_safety_init(struct hk_safety *safety, const struct hk_target *target,
		   char why[HK_ATTACH_WHY_BYTES])
{
	*safety = (struct hk_safety){.target = target};
	int r = hk_symbols_read(target->pid, hk_maps_file(&target->maps, hk_map_is_libc),
				&safety->libc);
	if (r < 0) {
		snprintf(why, HK_ATTACH_WHY_BYTES, "process %d: its libc cannot be read: %s",
			 (int)target->pid,
			 r == -ESTALE ? "the file was replaced since the process began"
				      : strerror(-r));
		return r;
	}
	safety->own_malloc = has_own_malloc(target);
	safety->space = unw_create_addr_space(&_UPT_accessors, 0);
	if (!safety->space) {
		hk_symbols_free(&safety->libc);
		snprintf(why, HK_ATTACH_WHY_BYTES, "no memory");
		return -ENOMEM;
	}
	return 0;
}

void hk_safety_fini(struct hk_safety *safety)
{
	unw_destroy_addr_space(safety->space);
	hk_symbols_free(&safety->libc);
}
