/* here.h: what a test of walks needs: the registers of a function, and the objects of this program.
 */
#ifndef HK_UNIT_AGENT_STACK_HERE_H
#define HK_UNIT_AGENT_STACK_HERE_H

#include <link.h>
#include <stdlib.h>

#include "agent/stack/code.h"
#include "agent/stack/walk.h"

/* The registers of the function that uses it. */
static inline __attribute__((always_inline)) struct hk_frame here(void)
{
	struct hk_frame frame = {.exact = true};
#if defined(__aarch64__)
	__asm__ volatile("adr %0, .; mov %1, sp; mov %2, x29"
			 : "=r"(frame.pc), "=r"(frame.sp), "=r"(frame.fp));
#else
	__asm__ volatile("leaq 0f(%%rip), %0; 0: movq %%rsp, %1; movq %%rbp, %2"
			 : "=r"(frame.pc), "=r"(frame.sp), "=r"(frame.fp));
#endif
	return frame;
}

static inline int here_add(struct dl_phdr_info *info, size_t size, void *data)
{
	struct hk_object object;

	(void)size;
	(void)data;
	if (hk_object_read(info, &object) == 0 && !hk_code_add(&object, info->dlpi_name)) {
		abort();
	}
	return 0;
}

#endif
