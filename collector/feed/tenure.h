/* tenure.h: the time for which this collector has a partition of the stream.
 *
 * A thread renews the lease and writes positions; another one waits for the disk. When the
 * engine cannot be reached for most of a lease's time, the tenure is over: another root may have
 * begun one. Nothing may be written then.
 */
#ifndef HK_COLLECTOR_FEED_TENURE_H
#define HK_COLLECTOR_FEED_TENURE_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/engine/connection.h"

struct hk_tenure;

/* Takes the lease of PARTITION for OWNER; waits for the engine. WAKE(CONTEXT) is called, on another
 * thread, when the tenure is over or the position was written. Returns 0, -EBUSY if another has the
 * lease, whose name is then in PROBLEM, or another -errno of hk_lease_take. */
int hk_tenure_open(struct hk_engine *engine, unsigned partition, const char *owner,
		   void (*wake)(void *context), void *context, struct hk_tenure **ret_tenure,
		   char problem[HK_ENGINE_PROBLEM_BYTES]);
/* Writes the position that was reached, and gives the lease back. Accepts NULL, returns NULL. */
struct hk_tenure *hk_tenure_free(struct hk_tenure *tenure);

/* Whether the lease is certainly this collector's still. */
bool hk_tenure_holds(struct hk_tenure *tenure);

/* The position with which the tenure began, and in *RET_CREATED when the stream was made that it is
 * of; 0: none. */
uint64_t hk_tenure_begin(const struct hk_tenure *tenure, int64_t *ret_created);

/* Everything up to message SEQUENCE of the stream that was made at CREATED is in the files of the
 * file system of STORE_FD. It becomes the position when the disk has them. */
void hk_tenure_reach(struct hk_tenure *tenure, uint64_t sequence, int64_t created, int store_fd);

/* The position as it was written last. */
uint64_t hk_tenure_position(struct hk_tenure *tenure);

#endif
