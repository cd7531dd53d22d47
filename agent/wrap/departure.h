/* departure.h: a process that leaves the place where its segment can be made and can grow.
 *
 * The segment is opened by its path. A process that changes its user, its root directory or its
 * mount namespace may not reach that path any more. So what the agent needs from there is taken
 * just before: a forked child that has made no hooked call yet gets its segment then, and every
 * process gets room in its file. A process that locks its address space pays for each page of it:
 * there the mapping is cut to what the process may lock.
 */
#ifndef HK_AGENT_WRAP_DEPARTURE_H
#define HK_AGENT_WRAP_DEPARTURE_H

#include <stdbool.h>

/* Gives this process a segment, this thread its state, and the file HK_DEPARTURE_BYTES, as far as
 * there is room. FIXED: the file never grows again. Keeps errno. Nothing where the agent is busy.
 */
#define HK_DEPARTURE_BYTES (4u << 20)
void hk_departure_provide(bool fixed);

/* Called before the host changes its user, root directory or mount namespace. Does nothing if no
 * collector reads the run directory and no collector is wanted: no process could remove the segment
 * at exit. */
void hk_departure_begin(void);

/* Called after the host tried to. From here on it is known whether the file can grow. Keeps errno.
 */
void hk_departure_end(void);

/* The host is about to lock all its memory. Where it may lock only so much, the agent's address
 * space shrinks first. */
void hk_departure_lock(void);

/* The host has locked it, as FLAGS of mlockall say: the agent unlocks its own part. */
void hk_departure_locked(int flags);

#endif
