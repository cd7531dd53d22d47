/* hooktrace.h: what a program can say of itself on its timeline.
 *
 * Include it, and link nothing: without the agent every line costs one comparison; with it, ranges
 * are counted and shown like calls (domain "user"), marks and counters as instants and curves.
 * NAME is any text, of which the first 127 bytes count; it may be gone after the call. A process
 * may use 4,096 names, further ones are "(more names)". Safe on any thread and in signal handlers.
 * Files that include it are to be compiled with -fPIC or -fPIE, as most compilers do anyway: in
 * others the linker decides for good that there is no agent.
 */
#ifndef HOOKTRACE_H
#define HOOKTRACE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOOKTRACE_WEAK __attribute__((weak, visibility("default")))

/* Begins a range on this thread. */
void hk_range_push(const char *name) HOOKTRACE_WEAK;

/* Ends the range begun last on this thread; nothing if there is none. */
void hk_range_pop(void) HOOKTRACE_WEAK;

/* Something happened now. */
void hk_mark(const char *name) HOOKTRACE_WEAK;

/* Step number STEP of the program's main loop begins. */
void hk_step(uint64_t step) HOOKTRACE_WEAK;

/* Counter NAME has VALUE from now on. */
void hk_counter(const char *name, double value) HOOKTRACE_WEAK;

/* Within its own definition a name is no macro: what is called below is the function. */
#define hk_range_push(name) (hk_range_push ? hk_range_push(name) : (void)0)
#define hk_range_pop() (hk_range_pop ? hk_range_pop() : (void)0)
#define hk_mark(name) (hk_mark ? hk_mark(name) : (void)0)
#define hk_step(step) (hk_step ? hk_step(step) : (void)0)
#define hk_counter(name, value) (hk_counter ? hk_counter(name, value) : (void)0)

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
