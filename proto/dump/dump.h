/* dump.h: the rows of a dump, as its writer takes and its reader gives them.
 *
 * A dump is a directory with one file for each process: `rank<R>-<pid>.hkv`, appended only. A row
 * is one tensor (or scalar) at one moment: an argument or result of an API's call, a gradient, a
 * parameter. Its tensor's elements may be in the file too, once for each digest.
 */
#ifndef HK_DUMP_DUMP_H
#define HK_DUMP_DUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor/statistics.h"

/* The numbers are part of the format and never change. */
enum hk_dump_kind { HK_DUMP_API = 0, HK_DUMP_MODULE = 1, HK_DUMP_STATE = 2 };
enum hk_dump_phase {
	HK_DUMP_FORWARD = 0,
	HK_DUMP_BACKWARD = 1,
	HK_DUMP_PARAMETER = 2, /* of kind STATE, as the next three */
	HK_DUMP_GRADIENT = 3,
	HK_DUMP_OPTIMIZER = 4,
	HK_DUMP_BROADCAST = 5
};
enum hk_dump_role { HK_DUMP_INPUT = 0, HK_DUMP_KEYWORD = 1, HK_DUMP_OUTPUT = 2 };

#define HK_DUMP_REQUIRES_GRAD 1u
#define HK_DUMP_NOT_CONTIGUOUS 2u
#define HK_DUMP_VIEW 4u
#define HK_DUMP_ON_DEVICE 8u	  /* the statistics were taken by the framework on the device */
#define HK_DUMP_RECOMPUTED 16u	  /* by a checkpoint's second forward pass */
#define HK_DUMP_NO_STATISTICS 32u /* only name, dtype and shape are known */
#define HK_DUMP_LOSS_SCALED 64u	  /* a gradient before it was divided by the loss scale */

#define HK_DUMP_NONE (~0u) /* no stack, no such text */

struct hk_dump_row {
	uint64_t sequence; /* number of the call among the process's calls, from 0; rows of one call
			      have the same. A backward call has a number of its own. */
	uint64_t forward_sequence; /* BACKWARD: the call it belongs to; else the same as sequence */
	uint64_t step;
	enum hk_dump_kind kind;
	enum hk_dump_phase phase;
	enum hk_dump_role role;
	const char *name; /* the API "torch.nn.functional.conv2d", the module's path
			     "layers.3.attn", the parameter "layers.3.attn.weight" */
	const char *of;	  /* MODULE: its class "Linear"; API: path of the module that called it, or
			     "" */
	uint32_t number;  /* MODULE, API: of calls of this name in this step and phase, from 0 */
	const char *slot; /* "0", "1.0", "weight": position or keyword, and places within lists */
	const char *device; /* "cpu", "cuda:0" */
	const char *scalar; /* a value that is no tensor, as text: then dtype is NONE; else NULL */
	uint32_t flags;
	enum hk_dtype dtype;
	uint32_t dimensions;
	const uint64_t *shape;
	struct hk_statistics statistics;
	uint64_t storage,
	    version;	   /* identity of the memory, and the framework's number of changes */
	uint64_t offset;   /* of the first element within the storage, in elements */
	uint32_t stack;	   /* of the call, or HK_DUMP_NONE */
	uint64_t thread;   /* the kernel's thread id */
	uint64_t begin_ns; /* the call's, CLOCK_MONOTONIC */
	bool has_payload;  /* reader only: the elements can be read */
};

#endif
