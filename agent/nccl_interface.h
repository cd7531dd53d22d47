/* nccl_interface.h: NCCL's profiler plugin, versions 1 to 6: the names, types and numbers that NCCL
 * and a plugin agree on (NCCL, src/include/plugin; RCCL has the same). Layouts are the public
 * interface's; results are ncclResult_t, of which 0 is success.
 *
 * A descriptor's union begins behind type, parent and rank in every version.
 */
#ifndef HK_AGENT_NCCL_INTERFACE_H
#define HK_AGENT_NCCL_INTERFACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Types of events: bits of the activation mask. */
enum hk_nccl_type {
	HK_NCCL_GROUP = 1 << 0,
	HK_NCCL_COLL = 1 << 1,
	HK_NCCL_P2P = 1 << 2,
	HK_NCCL_PROXY_OP = 1 << 3,
	HK_NCCL_PROXY_STEP = 1 << 4,
	HK_NCCL_PROXY_CTRL = 1 << 5,
	HK_NCCL_KERNEL_CH = 1 << 6,  /* since 3 */
	HK_NCCL_NET_PLUGIN = 1 << 7, /* since 3 */
	HK_NCCL_GROUP_API = 1 << 8,  /* since 5, as the next three */
	HK_NCCL_COLL_API = 1 << 9,
	HK_NCCL_P2P_API = 1 << 10,
	HK_NCCL_KERNEL_LAUNCH = 1 << 11,
	HK_NCCL_CE_COLL = 1 << 12, /* since 6, as the next two */
	HK_NCCL_CE_SYNC = 1 << 13,
	HK_NCCL_CE_BATCH = 1 << 14,
};

/* State of a kernel channel that has ended: its argument is the GPU's time. Since 4. */
#define HK_NCCL_KERNEL_CH_STOP 22
/* States of a proxy step that say how many bytes it moved. Since 4. */
#define HK_NCCL_STEP_SEND_WAIT 9
#define HK_NCCL_STEP_RECV_WAIT 10

/* Members that versions 1 to 4 share, and those of 5 and 6. */
struct hk_nccl_proxy_op {
	int32_t pid;
	uint8_t channel;
	int32_t peer, steps, chunk, is_send;
};
struct hk_nccl_kernel_ch {
	uint8_t channel;
	uint64_t timer; /* since 4: GPU's globaltimer, ns */
};

/* The union, by type. */
union hk_nccl_v1 {
	struct {
		const char *name;
		uint64_t comm, sequence;
		uint8_t func;
		const void *send;
		void *receive;
		size_t count;
		int32_t root;
		uint8_t datatype;
		uint32_t op;
		size_t traffic;
		uint8_t channels, warps, algorithm, protocol;
		int32_t is_collnet, is_nvls;
	} coll;
	struct {
		const char *name;
		uint64_t comm;
		uint8_t func;
		void *buffer;
		uint8_t datatype;
		size_t count;
		int32_t peer;
	} p2p;
	struct hk_nccl_proxy_op proxy_op;
};

union hk_nccl_v2 {
	struct {
		const char *name;
		uint64_t comm, sequence;
		const char *func;
		const void *send;
		void *receive;
		size_t count;
		int32_t root;
		const char *datatype;
		size_t traffic;
		uint8_t channels, warps;
		const char *algorithm, *protocol;
	} coll;
	struct {
		const char *name;
		uint64_t comm;
		const char *func;
		void *buffer;
		const char *datatype;
		size_t count;
		int32_t peer;
	} p2p;
	struct hk_nccl_proxy_op proxy_op;
};

union hk_nccl_v3 {
	struct {
		const char *name;
		uint64_t comm, sequence;
		const char *func;
		const void *send;
		void *receive;
		size_t count;
		int32_t root;
		const char *datatype;
		uint8_t channels, warps;
		const char *algorithm, *protocol;
	} coll;
	struct {
		const char *name;
		uint64_t comm;
		const char *func;
		void *buffer;
		const char *datatype;
		size_t count;
		int32_t peer;
	} p2p;
	struct hk_nccl_proxy_op proxy_op;
	struct {
		uint8_t channel;
	} kernel_ch;
};

/* Of 4, 5 and 6; 5 and 6 have a group's handle behind `coll` and `p2p`, and more members. */
union hk_nccl_v4 {
	struct {
		uint64_t sequence;
		const char *func;
		const void *send;
		void *receive;
		size_t count;
		int32_t root;
		const char *datatype;
		uint8_t channels, warps;
		const char *algorithm, *protocol;
	} coll;
	struct {
		const char *func;
		void *buffer;
		const char *datatype;
		size_t count;
		int32_t peer;
		uint8_t channels;
	} p2p;
	struct hk_nccl_proxy_op proxy_op;
	struct hk_nccl_kernel_ch kernel_ch;
	struct { /* since 6 */
		uint64_t sequence;
		const char *func;
		const void *send;
		void *receive;
		size_t count;
		int32_t root;
		const char *datatype;
	} ce_coll;
};

/* `type` has 8 bits before version 5, and 64 from then on. */
#define HK_NCCL_DESCRIPTOR(version, width)    \
	struct hk_nccl_descriptor_##version { \
		width type;                   \
		void *parent;                 \
		int32_t rank;                 \
		union hk_nccl_##version of;   \
	}
HK_NCCL_DESCRIPTOR(v1, uint8_t);
HK_NCCL_DESCRIPTOR(v2, uint8_t);
HK_NCCL_DESCRIPTOR(v3, uint8_t);
HK_NCCL_DESCRIPTOR(v4, uint8_t);
struct hk_nccl_descriptor_v5 {
	uint64_t type;
	void *parent;
	int32_t rank;
	union hk_nccl_v4 of;
};

union hk_nccl_state {	/* since 4 */
	size_t moved;	/* by a proxy step */
	uint64_t timer; /* of a kernel channel */
};

/* The table of a version. `start` and `record` get the version's own structs. */
#define HK_NCCL_TABLE(version, init_type)                                 \
	struct hk_nccl_table_##version {                                  \
		const char *name;                                         \
		init_type *init;                                          \
		int (*start)(void *context, void **handle, const void *); \
		int (*stop)(void *handle);                                \
		int (*record)(void *handle, int state, const void *);     \
		int (*finalize)(void *context);                           \
	}
typedef int hk_nccl_init_v1(void **context, int *mask);
typedef int hk_nccl_init_v4(void **context, int *mask, const char *name, uint64_t comm, int nodes,
			    int ranks, int rank, void *log);
typedef int hk_nccl_init_v5(void **context, uint64_t comm, int *mask, const char *name, int nodes,
			    int ranks, int rank, void *log);
HK_NCCL_TABLE(v1, hk_nccl_init_v1);
HK_NCCL_TABLE(v4, hk_nccl_init_v4);
HK_NCCL_TABLE(v5, hk_nccl_init_v5);

#endif
