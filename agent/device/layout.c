#include "agent/device/layout.h"

#include <stddef.h>

/* CUPTI: offsets of cupti_activity.h and cupti_activity_deprecated.h of CUDA 13.0 and 13.2,
 * compiled (tests/unit/agent/device compares them where the header is). From CUpti_ActivityKernel3
 * to
 * ...Kernel11, CUpti_ActivityMemcpy to ...Memcpy6, MemcpyPtoP to ...PtoP4 and Memset to ...Memset4
 * these fields never moved; new ones were appended. Version 12 is CUDA 10; from 13.0 on versions
 * are MMmmpp. */
#define CUPTI_RECORDS                                                    \
	{                                                                \
		{.kind = 10, /* CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL */ \
		 .class = HK_DEVICE_CLASS_KERNEL,                        \
		 .correlation_bytes = 4,                                 \
		 .start = 16,                                            \
		 .end = 24,                                              \
		 .device = 40,                                           \
		 .stream = 48,                                           \
		 .correlation = 92,                                      \
		 .name = 104,                                            \
		 .least = 112},                                          \
		    {.kind = 3, /* CUPTI_ACTIVITY_KIND_KERNEL */         \
		     .class = HK_DEVICE_CLASS_KERNEL,                    \
		     .correlation_bytes = 4,                             \
		     .start = 16,                                        \
		     .end = 24,                                          \
		     .device = 40,                                       \
		     .stream = 48,                                       \
		     .correlation = 92,                                  \
		     .name = 104,                                        \
		     .least = 112},                                      \
		    {.kind = 1, /* CUPTI_ACTIVITY_KIND_MEMCPY */         \
		     .class = HK_DEVICE_CLASS_COPY,                      \
		     .correlation_bytes = 4,                             \
		     .direction = 4,                                     \
		     .bytes = 8,                                         \
		     .start = 16,                                        \
		     .end = 24,                                          \
		     .device = 32,                                       \
		     .stream = 40,                                       \
		     .correlation = 44,                                  \
		     .least = 48},                                       \
		    {.kind = 22, /* CUPTI_ACTIVITY_KIND_MEMCPY2 */       \
		     .class = HK_DEVICE_CLASS_COPY,                      \
		     .correlation_bytes = 4,                             \
		     .direction = 4,                                     \
		     .bytes = 8,                                         \
		     .start = 16,                                        \
		     .end = 24,                                          \
		     .device = 32,                                       \
		     .stream = 40,                                       \
		     .correlation = 60,                                  \
		     .least = 64},                                       \
		    {.kind = 2, /* CUPTI_ACTIVITY_KIND_MEMSET */         \
		     .class = HK_DEVICE_CLASS_SET,                       \
		     .correlation_bytes = 4,                             \
		     .bytes = 8,                                         \
		     .start = 16,                                        \
		     .end = 24,                                          \
		     .device = 32,                                       \
		     .stream = 40,                                       \
		     .correlation = 44,                                  \
		     .least = 48},                                       \
		    {.kind = 4, /* CUPTI_ACTIVITY_KIND_DRIVER */         \
		     .class = HK_DEVICE_CLASS_API,                       \
		     .correlation_bytes = 4,                             \
		     .start = 8,                                         \
		     .end = 16,                                          \
		     .thread = 28,                                       \
		     .correlation = 32,                                  \
		     .least = 40},                                       \
		    {.kind = 5, /* CUPTI_ACTIVITY_KIND_RUNTIME */        \
		     .class = HK_DEVICE_CLASS_API,                       \
		     .correlation_bytes = 4,                             \
		     .start = 8,                                         \
		     .end = 16,                                          \
		     .thread = 28,                                       \
		     .correlation = 32,                                  \
		     .least = 40},                                       \
	}

const struct hk_device_layout hk_device_layouts_cupti[] = {
    {.from = 12, .to = 99, .count = 7, .records = CUPTI_RECORDS},
    {.from = 130000, .to = 139999, .count = 7, .records = CUPTI_RECORDS},
    {0},
};

/* MSPTI: mspti_activity.h of Ascend's pytorch (third_party/mspti, commit 0aa0aced), and
 * MindStudio's reference for the records that it lacks: packed, each a multiple of 8 bytes. It has
 * no version. */
const struct hk_device_layout hk_device_layouts_mspti[] = {
    {.from = 0,
     .to = 0,
     .count = 5,
     .records =
	 {
	     {.kind = 2, /* MSPTI_ACTIVITY_KIND_KERNEL */
	      .class = HK_DEVICE_CLASS_KERNEL,
	      .correlation_bytes = 8,
	      .start = 4,
	      .end = 12,
	      .device = 20,
	      .stream = 24,
	      .correlation = 28,
	      .name = 44,
	      .least = 52},
	     {.kind = 9, /* MSPTI_ACTIVITY_KIND_COMMUNICATION */
	      .class = HK_DEVICE_CLASS_KERNEL,
	      .correlation_bytes = 8,
	      .device = 16,
	      .stream = 20,
	      .start = 24,
	      .end = 32,
	      .name = 48,
	      .correlation = 64,
	      .least = 72},
	     {.kind = 7, /* MSPTI_ACTIVITY_KIND_MEMCPY */
	      .class = HK_DEVICE_CLASS_COPY,
	      .correlation_bytes = 8,
	      .bytes = 8,
	      .start = 16,
	      .end = 24,
	      .device = 32,
	      .stream = 36,
	      .correlation = 40,
	      .least = 48},
	     {.kind = 6, /* MSPTI_ACTIVITY_KIND_MEMSET */
	      .class = HK_DEVICE_CLASS_SET,
	      .correlation_bytes = 8,
	      .bytes = 8,
	      .start = 16,
	      .end = 24,
	      .device = 32,
	      .stream = 36,
	      .correlation = 40,
	      .least = 48},
	     {.kind = 3, /* MSPTI_ACTIVITY_KIND_API */
	      .class = HK_DEVICE_CLASS_API,
	      .correlation_bytes = 8,
	      .start = 4,
	      .end = 12,
	      .thread = 24,
	      .correlation = 28,
	      .least = 36},
	 }},
    {0},
};

const struct hk_device_record *hk_device_layout_find(const struct hk_device_layout *layout,
						     uint32_t kind)
{
	for (uint32_t i = 0; i < layout->count; i++) {
		if (layout->records[i].kind == kind) {
			return &layout->records[i];
		}
	}
	return NULL;
}

const char *hk_device_copy_name(uint32_t direction)
{
	/* CUpti_ActivityMemcpyKind */
	static const char names[][12] = {"Memcpy",	"Memcpy HtoD", "Memcpy DtoH", "Memcpy HtoA",
					 "Memcpy AtoH", "Memcpy AtoA", "Memcpy AtoD", "Memcpy DtoA",
					 "Memcpy DtoD", "Memcpy HtoH", "Memcpy PtoP"};
	return names[direction < sizeof(names) / sizeof(names[0]) ? direction : 0];
}
