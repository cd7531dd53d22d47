/* collective.h: the parts of collective calls, kept until their waits are known.
 *
 * Parts come in the order of their starts. How many ranks a communicator has is not known, so a
 * collective is taken as complete once HK_COLLECTIVES later ones have begun, or at the end. One
 * thread.
 */
#ifndef HK_CLI_WAITS_COLLECTIVE_H
#define HK_CLI_WAITS_COLLECTIVE_H

#include <stddef.h>
#include <stdint.h>

#include "report/wait/collective_wait.h"

#define HK_COLLECTIVES 4096u /* that are kept at once */

struct hk_collective {
	uint64_t id, comm;
	const char *function;
	enum hk_wait_pattern pattern;
	struct hk_wait_part *parts;
	size_t count;
};

struct hk_collectives;

/* Takes the parts of a collective. Returns 0 or -errno. */
typedef int hk_collective_fn(void *context, const struct hk_collective *collective);

/* Returns NULL without memory. DONE gets each collective; with one part alone it is not whole. */
struct hk_collectives *hk_collectives_new(hk_collective_fn *done, void *context);
/* Frees COLLECTIVES. Accepts NULL, returns NULL. */
struct hk_collectives *hk_collectives_free(struct hk_collectives *collectives);

/* Which collective a call belongs to. */
struct hk_collective_call {
	uint64_t id, comm;
	const char *function;
};

/* Adds PART to the collective of CALL. Returns 0, -ENOMEM or a result of DONE. */
int hk_collectives_enter(struct hk_collectives *collectives, const struct hk_collective_call *call,
			 const struct hk_wait_part *part);
/* Takes what is left. Returns 0 or a result of DONE. */
int hk_collectives_finish(struct hk_collectives *collectives);

#endif
