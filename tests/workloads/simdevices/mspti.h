/* What the simulated libmspti declares: functions, numbers and records of MSPTI's that tests use
 * (mspti_activity.h). Copies have no correlation number, as MSPTI documents. */
#ifndef HK_WORKLOADS_MSPTI_H
#define HK_WORKLOADS_MSPTI_H

#include <stddef.h>
#include <stdint.h>

#define SIM_ACL_BLOCK_NS 2000u /* what a kernel takes per block, and a copy */

#pragma GCC visibility push(default)

/* Not MSPTI's: work as acl.c passes it on. Times are CLOCK_REALTIME. */
struct sim_acl_work {
	const char *name; /* NULL: a copy */
	const char *function;
	uint64_t bytes, call_start, call_end, start, end, correlation;
	uint32_t stream, thread;
};
/* Has WITH called for each launch and copy on a stream. */
void sim_acl_watch(void (*with)(const struct sim_acl_work *work));

#define SIM_MSPTI_PACKED __attribute__((packed, aligned(8)))

enum { SIM_MSPTI_KERNEL = 2, SIM_MSPTI_API = 3, SIM_MSPTI_MEMCPY = 7, SIM_MSPTI_KINDS = 16 };

struct SIM_MSPTI_PACKED sim_mspti_kernel {
	int kind;
	uint64_t start, end;
	uint32_t device, stream;
	uint64_t correlation;
	const char *type, *name;
};

struct SIM_MSPTI_PACKED sim_mspti_api {
	int kind;
	uint64_t start, end;
	uint32_t process, thread;
	uint64_t correlation;
	const char *name;
};

struct SIM_MSPTI_PACKED sim_mspti_memcpy {
	int kind, copy_kind;
	uint64_t bytes, start, end;
	uint32_t device, stream;
	uint64_t correlation;
	uint8_t is_async;
};

typedef void sim_mspti_requested(uint8_t **buffer, size_t *size, size_t *most);
typedef void sim_mspti_completed(uint8_t *buffer, size_t size, size_t valid);

int msptiActivityRegisterCallbacks(sim_mspti_requested *requested, sim_mspti_completed *completed);
int msptiActivityEnable(int kind);
int msptiActivityDisable(int kind);
int msptiActivityFlushAll(uint32_t flag);
int msptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);

#pragma GCC visibility pop

#endif
