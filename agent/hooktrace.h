/* hooktrace.h: lets a program write on its own timeline.
 *
 * Include it, and link nothing. Without the agent every call costs one comparison. With the agent,
 * ranges are counted and shown like calls (domain "user"), marks and counters as instants and
 * curves, and a device's activities in rows of their own (domain "device"). NAME is any text, of
 * which the first 127 bytes count. It may be freed after the call. A process may use 4,096 names;
 * further ones are "(more names)". Safe on any thread and in signal handlers. Compile files that
 * include it with -fPIC or -fPIE, as most compilers do by default: otherwise the linker decides for
 * good that there is no agent.
 */
#ifndef HOOKTRACE_H
#define HOOKTRACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOOKTRACE_WEAK __attribute__((weak, visibility("default")))

/* What a device did, as measured by the caller: a runtime, a simulator, or an observer of either.
 * hooktrace itself measures the host's calls only. */
enum hk_activity_kind { HK_ACTIVITY_KERNEL = 0, HK_ACTIVITY_COPY = 1, HK_ACTIVITY_SET = 2 };

struct hk_activity {
	const char
	    *name; /* as for a range; for copies and sets preferably "Memcpy HtoD", "Memset", ... */
	int32_t kind;	 /* enum hk_activity_kind; none of another kind is kept */
	int32_t device;	 /* its number, from 0 */
	uint64_t stream; /* as the call that asked for it was given it */
	uint64_t bytes;	 /* copied or set */
	/* On CLOCK_MONOTONIC, in ns: any moment within the call that requested it (0: unknown), its
	 * start and its end on the device. */
	uint64_t submitted_ns, start_ns, end_ns;
};

/* A function of a language or a framework that no slot of a library leads to. It has the
 * statistics, levels and records of a hooked function. The texts are copied. */
struct hk_site_text {
	const char *function; /* its name; the first 4,095 bytes count */
	const char *library;  /* the file or module that defines it; the first 1,023 bytes count */
	const char *domain;   /* "python", "torch", ...; the first 15 bytes count */
};

/* What one tensor, or any other value that every rank should have, holds now. */
struct hk_agreed {
	const char *name; /* the first 1,023 bytes count */
	uint64_t digest;  /* equal if the values are equal */
};

#define HK_NO_SITE (~0u)

/* An open call of a site, in memory of the caller's until hk_leave. */
struct hk_open {
	uint64_t state[6];
};

#ifndef HOOKTRACE_AGENT /* whose the functions are */

/* Begins a range on this thread. */
void hk_range_push(const char *name) HOOKTRACE_WEAK;

/* Ends the range that began last on this thread, if there is one. */
void hk_range_pop(void) HOOKTRACE_WEAK;

/* Something happened now. */
void hk_mark(const char *name) HOOKTRACE_WEAK;

/* Step number STEP of the program's main loop begins. HK_NO_STEP ends the last one without a next
 * one. */
#define HK_NO_STEP (~(uint64_t)0)
void hk_step(uint64_t step) HOOKTRACE_WEAK;

/* Counter NAME has VALUE from now on. */
void hk_counter(const char *name, double value) HOOKTRACE_WEAK;

/* The COUNT values of GROUP ("parameters") are these at step STEP. The collector compares them with
 * those of the other ranks, and reports the first rank, step and value that differ. The ranks of
 * GROUP are all ranks of the job, unless its text ends in " of ranks 0,4-7". All ranks give the
 * same values in the same order at the same steps. A step that is not above the last one of GROUP
 * begins a new series, which is compared with the other ranks' new series. Of more than 1,024
 * values, those behind the first 1,023 are compared as one. Records carry the values: at levels
 * that record nothing, nothing is compared. Of a process's groups the first 64 count. One thread
 * per GROUP. */
void hk_agree(const char *group, uint64_t step, const struct hk_agreed *values,
	      size_t count) HOOKTRACE_WEAK;

/* Adds an activity of a device after its end, from any thread. An activity that ends before its
 * start, or in the future, is kept without duration. */
void hk_activity(const struct hk_activity *activity) HOOKTRACE_WEAK;

/* PAUSED: calls of this process are only counted from now on, without times and records, whatever
 * their levels. Otherwise their levels are in force again. Calls that allocate or free memory or
 * make communicators keep their levels, and so does device work, which is reported after it was
 * done. Forked children begin as their parent was. */
void hk_pause(int paused) HOOKTRACE_WEAK;

/* Records what the devices finished until now, which otherwise comes up to half a second later, or
 * is lost when the process ends by _exit. It waits for no device. Returns 1 if this process records
 * device work, else 0. Not in signal handlers. */
int hk_flush(void) HOOKTRACE_WEAK;

/* Starts the agent in a process that runs already, which dlopen loaded it into. Until then it does
 * nothing. SETTINGS, if not NULL, are "HOOK_X=value" texts, the last of them NULL, which come
 * before the process's environment. Returns 0 if the process is traced from now on, 1 if it was
 * already, or -1 with the REASON in BYTES. Patches the slots of all loaded libraries: to be called
 * outside of signal handlers, and not under the loader's lock. */
int hk_start_late(const char *const *settings, char *reason, size_t bytes) HOOKTRACE_WEAK;

/* Ends tracing, however it began: gives all slots back what they would hold without the agent, and
 * closes the process's part of the job. Calls that run return as usual. The agent stays in memory
 * and does nothing; hk_start_late may start it again. Returns 0 if it ended now, 1 if the process
 * was not traced, or -1 with the REASON in BYTES. To be called as hk_start_late. */
int hk_stop_late(char *reason, size_t bytes) HOOKTRACE_WEAK;

/* Returns the site for TEXT, the same for equal texts, or HK_NO_SITE if there is no room for it or
 * the process is not traced. Takes microseconds. */
uint32_t hk_site_define(const struct hk_site_text *text) HOOKTRACE_WEAK;

/* Returns whether calls of SITE are wanted at its level now: 0 or 1. */
int hk_is_on(uint32_t site) HOOKTRACE_WEAK;

/* A call of SITE begins on this thread, and ends. OPEN is written by the first, whatever happens,
 * and read by the second. Calls of a thread end in the reverse order of their beginnings; hk_leave
 * of an outer call ends those that began after it, calls of hooked functions too. A call of
 * HK_NO_SITE counts as one that found no room. FAILED: it ended with an error. */
void hk_enter(struct hk_open *open, uint32_t site) HOOKTRACE_WEAK;
void hk_leave(struct hk_open *open, int failed) HOOKTRACE_WEAK;

/* Replaces the function at *SLOT by one that counts its calls for TEXT and calls it. It has up to
 * six arguments in general registers, and fails if it returns 0. Returns 1 if *SLOT is hooked, also
 * if it was already, or 0. */
int hk_hook_pointer(void **slot, const struct hk_site_text *text) HOOKTRACE_WEAK;

/* Redirects calls of the function SYMBOL that libraries matching the glob FROM make ("": the
 * program; NULL: all but libc and the loader) to REPLACEMENT, from now on and in libraries loaded
 * later; to the original again if it is NULL. REPLACEMENT has the same type and stays until then.
 * *ORIGINAL, if ORIGINAL is not NULL, gets the function's address before the first redirected call,
 * and stays too. Calls of REPLACEMENT's own library are not redirected, nor are those that do not
 * go through a slot of their library: within one library, or by an address taken before. Whether
 * calls are counted does not change. Returns how many slots are redirected now, or -1: the process
 * is not traced, the function may not be replaced (dlopen, execve and others that the agent wraps),
 * or there is no memory. Not in signal handlers. */
int hk_replace(const char *from, const char *symbol, void *replacement,
	       void **original) HOOKTRACE_WEAK;

/* A macro's name is no macro within its own definition: the calls below are of the functions. */
#define hk_range_push(name) (hk_range_push ? hk_range_push(name) : (void)0)
#define hk_range_pop() (hk_range_pop ? hk_range_pop() : (void)0)
#define hk_mark(name) (hk_mark ? hk_mark(name) : (void)0)
#define hk_step(step) (hk_step ? hk_step(step) : (void)0)
#define hk_pause(paused) (hk_pause ? hk_pause(paused) : (void)0)
#define hk_flush() (hk_flush ? hk_flush() : 0)
#define hk_counter(name, value) (hk_counter ? hk_counter(name, value) : (void)0)
#define hk_agree(group, step, values, count) \
	(hk_agree ? hk_agree(group, step, values, count) : (void)0)
#define hk_activity(...) (hk_activity ? hk_activity(__VA_ARGS__) : (void)0)

#endif

#ifdef __cplusplus
}

/* A range as long as the block it stands in. */
struct hk_range {
	explicit hk_range(const char *name)
	{
		hk_range_push(name);
	}
	~hk_range()
	{
		hk_range_pop();
	}
	hk_range(const hk_range &) = delete;
	hk_range &operator=(const hk_range &) = delete;
};
#endif

#endif
