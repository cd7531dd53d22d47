/* share.h: the tracing library is used by the agent, another tool, or both.
 *
 * A library has one set of callbacks and one list of enabled kinds per process. As soon as another
 * tool uses the library, the agent takes its own kinds back, has its own buffers delivered, and
 * from then on reads the other's buffers before the other gets them. Once the other has disabled
 * its kinds and flushed, or has finalized the library, the agent may begin again. The wrappers
 * (wrap/tracing.c) tell of the other's calls; the agent's own go to the library directly.
 */
#ifndef HK_AGENT_DEVICE_SHARE_H
#define HK_AGENT_DEVICE_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/device/library.h"

/* A use of one library by another tool. Index of all functions: enum hk_device_which. */
enum hk_device_which { HK_DEVICE_CUPTI, HK_DEVICE_MSPTI, HK_DEVICE_LIBRARIES };

/* Begins with WHICH, opened as OPENED: registers the agent's callbacks and enables its kinds, or
 * rides along if another tool has done so before. Returns the library's status. */
int hk_device_share_begin(enum hk_device_which which, const struct hk_device_opened *opened);

/* Begins again if the other tool has left the library. */
void hk_device_share_resume(void);

/* Has all records delivered that are complete (FORCED: all). Only while the agent owns it. */
void hk_device_share_flush(bool forced);

/* The other tool is about to register callbacks: what to register in their place. */
void hk_device_share_register(enum hk_device_which which, hk_device_requested **requested,
			      void **completed);

/* The other tool is about to enable KIND, or did disable it. */
void hk_device_share_enable(enum hk_device_which which, uint32_t kind);
void hk_device_share_disable(enum hk_device_which which, uint32_t kind);

/* The other tool flushed. */
void hk_device_share_flushed(enum hk_device_which which);

/* The other tool's clock is in records from now on; NULL: the library's own. */
void hk_device_share_clock(uint64_t (*now)(void));

/* The other tool subscribes to CUPTI, or no longer does. */
void hk_device_share_subscribe(bool on);

/* A subscriber registers callbacks that are for its records alone: CUPTI is its own until it
 * unsubscribes. */
void hk_device_share_apart(void);

/* The other tool is about to finalize CUPTI: its callbacks and kinds are gone, and the agent's. */
void hk_device_share_finalize(void);

#endif
