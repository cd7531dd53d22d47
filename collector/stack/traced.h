/* traced.h: asks `hookcollector unwind` for the stacks of threads, without waiting for it. One
 * thread. */
#ifndef HK_COLLECTOR_STACK_TRACED_H
#define HK_COLLECTOR_STACK_TRACED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/stack/unwind.h"

struct hk_traced;

struct hk_traced_answer {
	uint32_t tid;
	uint64_t address[HK_UNWIND_FRAMES];
	size_t count;
	uint32_t end;
	char missing[160]; /* why there is no stack; "": there is one */
};

/* Starts it for the threads TIDS of process PID. Returns 0 or -errno. */
int hk_traced_open(uint32_t pid, const uint32_t *tids, size_t count, struct hk_traced **ret_traced);

/* Ends it, and lets every thread run on that it has stopped. Accepts NULL, returns NULL. */
struct hk_traced *hk_traced_free(struct hk_traced *traced);

/* Waits for those programs that have ended since they were told to. */
void hk_traced_reap(void);

/* Takes the next answer. Returns 1; 0 if there is none yet; -ENODATA behind the last. */
int hk_traced_next(struct hk_traced *traced, struct hk_traced_answer *ret_answer);

#endif
