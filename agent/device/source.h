/* source.h: what the segment says of the process's device time (struct hk_device_source). */
#ifndef HK_AGENT_DEVICE_SOURCE_H
#define HK_AGENT_DEVICE_SOURCE_H

#include <stdatomic.h>
#include <stdint.h>

#include "agent/record/process.h"
#include "ring/segment.h"

/* The process's own. A forked child without a segment writes to one without a reader. */
static inline struct hk_device_source *hk_device_source(void)
{
	static struct hk_device_source none;
	bool own = hk_process.on && !hk_process_forked();
	return own ? (struct hk_device_source *)(void *)((char *)hk_process.writer.header +
							 HK_DEVICE_OFFSET)
		   : &none;
}

static inline void hk_device_source_add(_Atomic uint64_t *counter, uint64_t number)
{
	atomic_fetch_add_explicit(counter, number, memory_order_relaxed);
}

static inline void hk_device_source_set(enum hk_device_state state)
{
	atomic_store_explicit(&hk_device_source()->state, state, memory_order_release);
}

#endif
