/* segment_kernels.h: the items of blocks of kind HK_BLOCK_KERNELS. */
#ifndef HK_RING_SEGMENT_KERNELS_H
#define HK_RING_SEGMENT_KERNELS_H

#include <assert.h>
#include <stdint.h>

/* A kernel that was launched, or requested from a driver's module. An item takes several units of 8
 * bytes. Numbered from 1 on in order. Immutable. Since 1.4. */
struct hk_kernel {
	uint64_t hash;	     /* of the whole name, so that cut names differ */
	uint32_t name_bytes; /* of the whole name; 0: it has none */
	/* Without a name: where the host's function that launches it lies, as in struct
	 * hk_stack_frame. */
	uint32_t object;
	uint64_t address;
	char name[]; /* the first HK_KERNEL_NAME_BYTES at most, as the program spells it; padded
			with NULs */
};
static_assert(sizeof(struct hk_kernel) == 24, "kernel");
#define HK_KERNEL_UNIT 8u
#define HK_KERNEL_NAME_BYTES 8192u
#define HK_KERNELS_MAX 16384u
#define HK_KERNEL_BLOCKS_MAX 256u     /* of the names of a process; and one in 16 of its blocks */
#define HK_KERNEL_UNKNOWN 0xffffffffu /* as a value of a call: a kernel without a number */

static inline uint32_t hk_kernel_kept(uint32_t name_bytes)
{
	return name_bytes < HK_KERNEL_NAME_BYTES ? name_bytes : HK_KERNEL_NAME_BYTES;
}

/* Units of a kernel with a name of NAME_BYTES. */
static inline uint32_t hk_kernel_units(uint32_t name_bytes)
{
	return ((uint32_t)sizeof(struct hk_kernel) + hk_kernel_kept(name_bytes) + HK_KERNEL_UNIT -
		1) /
	       HK_KERNEL_UNIT;
}

#endif
