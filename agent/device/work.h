/* work.h: one piece of work of a device, as its library reported it and the agent joined it. */
#ifndef HK_AGENT_DEVICE_WORK_H
#define HK_AGENT_DEVICE_WORK_H

#include <stdint.h>

#define HK_DEVICE_SITES 3u /* calls around one submission: runtime, driver, one more */

enum hk_device_work_kind {
	HK_DEVICE_WORK_KERNEL,
	HK_DEVICE_WORK_COPY,
	HK_DEVICE_WORK_SET,
};

struct hk_device_work {
	const char *name;
	enum hk_device_work_kind kind;
	uintptr_t library; /* an address in the library that reported it */
	int32_t device;
	uint64_t
	    stream; /* handle given to the call, or the library's number if that is not known */
	uint64_t bytes;
	uint64_t start_ticks;
	uint64_t duration_ns;
	uint64_t submitted_ticks; /* within the call; 0: not known */
	uint64_t thread;	  /* uid of the caller; 0: not known */
	uint32_t sites[HK_DEVICE_SITES];
	uint32_t site_count;
};

#endif
