#include "cli/attach/inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/attach/call.h"
#include "cli/attach/safe.h"
#include "cli/attach/symbols.h"
#include "cli/attach/thread.h"

#define LOOK_NS UINT64_C(10000000000) /* for a safe moment */
#define PAUSE_LEAST_NS 50000u
#define PAUSE_MOST_NS 2000000u
#define REASON_BYTES 256u
#define BEGIN_TRIES 3
#define SETTINGS_MAX 32u
#define OPEN_FOR_LIBC 0x80000000u /* __RTLD_DLOPEN, for __libc_dlopen_mode */

/* ---- reading ---- */

static int read_memory(pid_t pid, uint64_t address, void *data, size_t bytes)
{
	struct iovec here = {data, bytes}, there = {(void *)address, bytes};

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)bytes ? 0 : -EFAULT;
}

/* Returns the address of the code behind signal handlers in libc, or 0: mov $15, %rax; syscall. */
static uint64_t find_restorer(const struct hk_target *target)
{
	static const uint8_t wanted[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	const struct hk_maps *maps = &target->maps;
	uint64_t address = 0;

	for (size_t i = 0; i < maps->count && !address; i++) {
		const struct hk_map *map = &maps->list[i];
		size_t bytes = map->end - map->start;
		bool here = map->executable && hk_map_is_libc(hk_map_base(map));
		uint8_t *text = here ? malloc(bytes) : NULL;
		const uint8_t *found =
		    text && read_memory(target->pid, map->start, text, bytes) == 0
			? memmem(text, bytes, wanted, sizeof(wanted))
			: NULL;
		address = found ? map->start + (uint64_t)(found - text) : 0;
		free(text);
	}
	return address;
}

/* Finds what calls in TARGET need. Returns 0 or -ENOENT. */
static int find_functions(const struct hk_target *target, struct hk_remote_functions *ret_functions)
{
	struct hk_symbols symbols;

	if (hk_symbols_read(target->pid, hk_maps_file(&target->maps, hk_map_is_libc), &symbols) <
	    0) {
		return -ENOENT;
	}
	*ret_functions = (struct hk_remote_functions){
	    .map = hk_symbols_address(&symbols, "mmap"),
	    .protect = hk_symbols_address(&symbols, "mprotect"),
	    .unmap = hk_symbols_address(&symbols, "munmap"),
	    .error = hk_symbols_address(&symbols, "__errno_location"),
	    .restorer = find_restorer(target),
	};
	hk_symbols_free(&symbols);
	const struct hk_remote_functions *found = ret_functions;
	return found->map && found->protect && found->unmap && found->error && found->restorer
		   ? 0
		   : -ENOENT;
}

bool hk_inject_is_traced(const struct hk_target *target)
{
	struct hk_symbols symbols;
	int on = 0;

	if (!target->agent || hk_symbols_read(target->pid, target->agent, &symbols) < 0) {
		return false;
	}
	uint64_t address = hk_symbols_address(&symbols, "hk_agent_on");
	if (address && read_memory(target->pid, address, &on, sizeof(on)) < 0) {
		on = 0;
	}
	hk_symbols_free(&symbols);
	return on != 0;
}

/* ---- a safe moment ---- */

static void pause_a_little(void)
{
	const struct timespec pause = {
	    0, (long)(PAUSE_LEAST_NS + (unsigned)random() % (PAUSE_MOST_NS - PAUSE_LEAST_NS))};
	nanosleep(&pause, NULL);
}

/* Tries all threads once. Returns 0 with one that is held at a safe point, -EAGAIN if there is none
 * now, or -errno. */
static int hold_any(const struct hk_safety *safety, struct hk_held *ret_held)
{
	pid_t *tids, pid = safety->target->pid;
	ssize_t count = hk_thread_list(pid, &tids);
	int r = count < 0 ? (int)count : -EAGAIN;

	for (ssize_t i = 0; i < count && r == -EAGAIN; i++) {
		r = hk_thread_hold(tids[i], ret_held);
		if (r == 0 && !hk_safety_holds(safety, tids[i], hk_remote_system_call(ret_held))) {
			hk_thread_let_go(ret_held);
			r = -EAGAIN;
		}
	}
	if (count >= 0) {
		free(tids);
	}
	return count == 0 ? -ESRCH : r;
}

static int hold_safely(const struct hk_target *target, struct hk_held *ret_held,
		       char why[HK_ATTACH_WHY_BYTES])
{
	struct hk_safety safety;
	uint64_t end = hk_clock_monotonic_ns() + LOOK_NS;
	int r = hk_safety_init(&safety, target, why);

	if (r < 0) {
		return r;
	}
	while ((r = hold_any(&safety, ret_held)) == -EAGAIN && hk_clock_monotonic_ns() < end) {
		pause_a_little();
	}
	hk_safety_fini(&safety);
	if (r == -EAGAIN) {
		snprintf(why, HK_ATTACH_WHY_BYTES,
			 "process %d: no thread was outside of malloc, libc and the loader for %u "
			 "s: try again",
			 (int)target->pid, (unsigned)(LOOK_NS / 1000000000u));
	} else if (r == -EBUSY) {
		snprintf(why, HK_ATTACH_WHY_BYTES,
			 "process %d is stopped: continue it first (kill -CONT %d)",
			 (int)target->pid, (int)target->pid);
	} else if (r == -ETIMEDOUT) {
		snprintf(
		    why, HK_ATTACH_WHY_BYTES,
		    "process %d: a thread of it does not stop: it gets no processor, or waits in "
		    "the kernel",
		    (int)target->pid);
	} else if (r < 0) {
		hk_target_explain(target, -r, why);
	}
	return r;
}

/* ---- calls ---- */

static void tell_waiting(void)
{
	hk_warning("the process is still loading the agent: another thread of it may hold the "
		   "loader's lock");
}

struct injection {
	struct hk_target *target;
	struct hk_held held;
	struct hk_remote *remote;
	sigset_t blocked; /* of this process, before */
};

/* Holds a thread of TARGET and prepares it for calls. Signals that would end this process then
 * wait. Returns -EAGAIN if the thread's stack has no room. */
static int begin_once(struct injection *injection, const struct hk_remote_functions *functions,
		      char why[HK_ATTACH_WHY_BYTES])
{
	pid_t pid = injection->target->pid;
	sigset_t all;
	int r = hold_safely(injection->target, &injection->held, why);

	if (r == 0) {
		sigfillset(&all);
		sigprocmask(SIG_SETMASK, &all, &injection->blocked);
		r = hk_remote_begin(&injection->held, pid, functions, &injection->remote);
		if (r < 0) {
			hk_thread_let_go(&injection->held);
			snprintf(why, HK_ATTACH_WHY_BYTES,
				 "process %d: no call can be made in it: %s", (int)pid,
				 r == -ENOTSUP	? "not on this architecture"
				 : r == -EAGAIN ? "its stack has no room"
						: strerror(-r));
		}
	}
	return r;
}

/* The same until it succeeds, a limited number of times. Signals that would end this process wait.
 */
static int begin(struct injection *injection, struct hk_target *target,
		 char why[HK_ATTACH_WHY_BYTES])
{
	struct hk_remote_functions functions;
	int r = -EAGAIN;
	*injection = (struct injection){.target = target};

	if (find_functions(target, &functions) < 0) {
		snprintf(why, HK_ATTACH_WHY_BYTES, "process %d: its libc cannot be read",
			 (int)target->pid);
		return -ENOENT;
	}
	for (int i = 0; i < BEGIN_TRIES && r == -EAGAIN; i++) {
		r = begin_once(injection, &functions, why);
	}
	return r;
}

static void end(struct injection *injection)
{
	hk_remote_end(injection->remote);
	hk_thread_let_go(&injection->held);
	sigprocmask(SIG_SETMASK, &injection->blocked, NULL);
}

static int call(struct injection *injection, uint64_t address, uint64_t a, uint64_t b, uint64_t c,
		uint64_t *ret_result, char why[HK_ATTACH_WHY_BYTES])
{
	int r = hk_remote_call(injection->remote, address, (const uint64_t[3]){a, b, c},
			       tell_waiting, ret_result);
	if (r < 0) {
		snprintf(why, HK_ATTACH_WHY_BYTES, "process %d: a call in it failed: %s",
			 (int)injection->target->pid, r == -EFAULT ? "it crashed" : strerror(-r));
	}
	return r;
}

static void copy_text(struct injection *injection, uint64_t address, char *text, size_t size)
{
	size_t at = 0;
	while (at + 1 < size && hk_remote_get(injection->remote, address + at, text + at, 1) == 0 &&
	       text[at]) {
		at++;
	}
	text[at] = '\0';
}

/* ---- loading ---- */

/* Finds dlopen and dlerror of the process. */
static int find_loader(const struct hk_target *target, uint64_t *ret_open, uint64_t *ret_error,
		       unsigned *ret_flags)
{
	static bool (*const files[])(const char *) = {hk_map_is_libc, hk_map_is_libdl};
	struct hk_symbols symbols;
	*ret_open = *ret_error = 0;
	*ret_flags = RTLD_NOW | RTLD_LOCAL;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !*ret_open; i++) {
		const struct hk_map *map = hk_maps_file(&target->maps, files[i]);
		if (map && hk_symbols_read(target->pid, map, &symbols) == 0) {
			*ret_open = hk_symbols_address(&symbols, "dlopen");
			*ret_error = hk_symbols_address(&symbols, "dlerror");
			if (!*ret_open && i == 0 && !hk_maps_file(&target->maps, hk_map_is_libdl)) {
				/* Before glibc 2.34 libc has the inner part only. */
				*ret_open = hk_symbols_address(&symbols, "__libc_dlopen_mode");
				*ret_flags |= OPEN_FOR_LIBC;
			}
			hk_symbols_free(&symbols);
		}
	}
	return *ret_open ? 0 : -ENOENT;
}

static int load(struct injection *injection, const char *agent, char why[HK_ATTACH_WHY_BYTES])
{
	uint64_t open, error, handle = 0, text = 0;
	char reason[REASON_BYTES] = "";
	unsigned flags;
	int pid = (int)injection->target->pid;

	if (find_loader(injection->target, &open, &error, &flags) < 0) {
		snprintf(why, HK_ATTACH_WHY_BYTES, "process %d: its libc has no dlopen", pid);
		return -ENOENT;
	}
	uint64_t path = hk_remote_put(injection->remote, agent, strlen(agent) + 1);
	int r = path ? call(injection, open, path, flags, 0, &handle, why) : -ENOMEM;
	if (r == 0 && !handle) {
		if (error && call(injection, error, 0, 0, 0, &text, why) == 0 && text) {
			copy_text(injection, text, reason, sizeof(reason));
		}
		snprintf(why, HK_ATTACH_WHY_BYTES, "process %d cannot load the agent: %s", pid,
			 *reason ? reason : agent);
		return -ENOENT;
	}
	return r;
}

/* Returns the address of NAME in the agent of the process, or 0. */
static uint64_t find_in_agent(struct hk_target *target, const char *name)
{
	struct hk_symbols symbols;

	if (!target->agent || hk_symbols_read(target->pid, target->agent, &symbols) < 0) {
		return 0;
	}
	uint64_t address = hk_symbols_address(&symbols, name);
	hk_symbols_free(&symbols);
	return address;
}

/* Calls FUNCTION of the agent, whose last arguments are a buffer and its size. FIRST: the one
 * before them, if HAS_FIRST. Returns what it returned, or -errno. */
static int call_agent(struct injection *injection, const char *function, bool has_first,
		      uint64_t first, char why[HK_ATTACH_WHY_BYTES])
{
	static const char empty[REASON_BYTES];
	char reason[REASON_BYTES] = "";
	uint64_t result = 0, address = find_in_agent(injection->target, function);
	uint64_t buffer = hk_remote_put(injection->remote, empty, sizeof(empty));
	int r = 0;

	if (!address || !buffer) {
		snprintf(why, HK_ATTACH_WHY_BYTES,
			 "process %d: its agent is of another version, which cannot be attached",
			 (int)injection->target->pid);
		return -ENOENT;
	}
	r = has_first ? call(injection, address, first, buffer, sizeof(reason), &result, why)
		      : call(injection, address, buffer, sizeof(reason), 0, &result, why);
	if (r < 0) {
		return r;
	}
	r = (int32_t)result;
	if (r != 0) {
		copy_text(injection, buffer, reason, sizeof(reason));
		snprintf(why, HK_ATTACH_WHY_BYTES, "process %d: %s", (int)injection->target->pid,
			 *reason ? reason
			 : r > 0 ? "nothing is to be done"
				 : "the agent refuses");
	}
	return r < 0 ? -EAGAIN : r;
}

/* Copies SETTINGS into the process. Returns the address of their list, or 0. */
static uint64_t put_settings(struct hk_remote *remote, const char *const *settings)
{
	uint64_t list[SETTINGS_MAX + 1] = {0};
	size_t count = 0;

	for (; settings[count] && count < SETTINGS_MAX; count++) {
		list[count] = hk_remote_put(remote, settings[count], strlen(settings[count]) + 1);
		if (!list[count]) {
			return 0;
		}
	}
	return hk_remote_put(remote, list, (count + 1) * sizeof(list[0]));
}

int hk_inject_start(struct hk_target *target, const char *agent, const char *const *settings,
		    char why[HK_ATTACH_WHY_BYTES])
{
	struct injection injection;
	int r = begin(&injection, target, why);

	if (r < 0) {
		return r;
	}
	if (!target->agent) {
		r = load(&injection, agent, why);
		if (r == 0 && (hk_target_refresh(target) < 0 || !target->agent)) {
			snprintf(why, HK_ATTACH_WHY_BYTES, "process %d has not loaded %s",
				 (int)target->pid, agent);
			r = -ENOENT;
		}
	}
	if (r == 0) {
		uint64_t list = put_settings(injection.remote, settings);
		snprintf(why, HK_ATTACH_WHY_BYTES, "the settings are too long");
		r = list ? call_agent(&injection, "hk_start_late", true, list, why) : -E2BIG;
	}
	end(&injection);
	return r;
}

int hk_inject_stop(struct hk_target *target, char why[HK_ATTACH_WHY_BYTES])
{
	struct injection injection;
	int r = begin(&injection, target, why);

	if (r < 0) {
		return r;
	}
	r = call_agent(&injection, "hk_stop_late", false, 0, why);
	end(&injection);
	return r;
}
