#include "agent/nccl_profiler.h"

#include <string.h>
#include <unistd.h>

#include "agent/annotate.h"
#include "agent/nccl_event.h"
#include "agent/nccl_interface.h"
#include "agent/record/process.h"
#include "base/identity.h"
#include "ring/kernel.h"

#define EXPORTED __attribute__((visibility("default")))
#define CALLER ((uintptr_t)__builtin_return_address(0))
#define KNOWN_TYPES ((HK_NCCL_CE_BATCH << 1) - 1)
/* Operations with their calls, kernel channels and proxy operations. */
#define OPERATIONS \
	(HK_NCCL_COLL | HK_NCCL_P2P | HK_NCCL_COLL_API | HK_NCCL_P2P_API | HK_NCCL_CE_COLL)
#define CHANNELS (OPERATIONS | HK_NCCL_KERNEL_CH)
#define PROXY (CHANNELS | HK_NCCL_PROXY_OP)
#define ALL (PROXY | HK_NCCL_PROXY_STEP | HK_NCCL_NET_PLUGIN)

static int mask;

void hk_nccl_profiler_start(char *const *environment, const char *hooks)
{
	static const struct {
		const char *word;
		int mask;
	} words[] = {
	    {"none", 0},  {"operations", OPERATIONS}, {"channels", CHANNELS}, {"proxy", PROXY},
	    {"all", ALL},
	};
	const char *chosen = hk_identity_variable(environment, "HOOK_NCCL_EVENTS");
	mask = strstr(hooks, "nccl") || strstr(hooks, "auto") ? PROXY : 0;
	bool wanted = mask;
	for (size_t i = 0; wanted && chosen && i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(chosen, words[i].word) == 0) {
			mask = words[i].mask;
		}
	}
}

/* ---- communicators ---- */

static int open_comm(void **context, int *ret_mask, uint64_t hash, int ranks, int rank)
{
	if (context) {
		*context = (void *)hk_nccl_comm_open(hash, ranks, rank);
	}
	if (ret_mask) {
		*ret_mask = hk_process.on ? mask : 0;
	}
	return 0;
}

static int init_v1(void **context, int *ret_mask)
{
	return open_comm(context, ret_mask, 0, 0, -1);
}

static int init_v4(void **context, int *ret_mask, const char *name, uint64_t comm, int nodes,
		   int ranks, int rank, void *log)
{
	(void)name;
	(void)nodes;
	(void)log;
	return open_comm(context, ret_mask, comm, ranks, rank);
}

static int init_v5(void **context, uint64_t comm, int *ret_mask, const char *name, int nodes,
		   int ranks, int rank, void *log)
{
	return init_v4(context, ret_mask, name, comm, nodes, ranks, rank, log);
}

static int finalize(void *context)
{
	hk_nccl_comm_close((uintptr_t)context);
	return 0;
}

/* ---- descriptors ---- */

/* Numbers of functions and datatypes in version 1. */
static const char *const functions[] = {"Broadcast", "Reduce",	 "AllGather", "ReduceScatter",
					"AllReduce", "SendRecv", "Send",      "Recv"};
static const uint8_t widths[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

static const char *function_of(uint8_t number)
{
	return number < sizeof(functions) / sizeof(functions[0]) ? functions[number] : NULL;
}

static uint32_t width_of_number(uint8_t datatype)
{
	return datatype < sizeof(widths) ? widths[datatype] : 0;
}

/* "ncclFloat32", "ncclBfloat16", "ncclFloat8e4m3": the bits are the first number. */
static uint32_t width_of(const char *datatype)
{
	uint32_t bits = 0;
	const char *at = datatype ? datatype + strcspn(datatype, "0123456789") : "";
	for (; *at >= '0' && *at <= '9' && bits < 1000; at++) {
		bits = bits * 10 + (uint32_t)(*at - '0');
	}
	return bits == 8 || bits == 16 || bits == 32 || bits == 64 ? bits / 8 : 0;
}

static bool is_here(int32_t pid)
{
	return pid == (int32_t)hk_kernel(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

static void read_proxy_op(const struct hk_nccl_proxy_op *op, struct hk_nccl_start *start)
{
	/* The parent's handle is another process's if the proxy works for that one. */
	start->parent = hk_process.sealed || !is_here(op->pid) ? 0 : start->parent;
	start->channel = op->channel;
	start->is_send = op->is_send;
	start->bytes =
	    op->steps > 0 && op->chunk > 0 ? (uint64_t)op->steps * (uint64_t)op->chunk : 0;
}

static void read_v1(const union hk_nccl_v1 *of, struct hk_nccl_start *start)
{
	if (start->type == HK_NCCL_COLL) {
		start->comm = of->coll.comm;
		start->func = function_of(of->coll.func);
		start->count = of->coll.count;
		start->width = width_of_number(of->coll.datatype);
	} else if (start->type == HK_NCCL_P2P) {
		start->comm = of->p2p.comm;
		start->func = function_of(of->p2p.func);
		start->count = of->p2p.count;
		start->width = width_of_number(of->p2p.datatype);
	} else if (start->type == HK_NCCL_PROXY_OP) {
		read_proxy_op(&of->proxy_op, start);
	}
}

/* Versions 2 and 3 differ in one member behind these, except for the channels. */
#define READ_TEXTS(of, start)                                           \
	do {                                                            \
		if ((start)->type == HK_NCCL_COLL) {                    \
			(start)->func = (of)->coll.func;                \
			(start)->count = (of)->coll.count;              \
			(start)->width = width_of((of)->coll.datatype); \
		} else if ((start)->type == HK_NCCL_P2P) {              \
			(start)->func = (of)->p2p.func;                 \
			(start)->count = (of)->p2p.count;               \
			(start)->width = width_of((of)->p2p.datatype);  \
		} else if ((start)->type == HK_NCCL_PROXY_OP) {         \
			read_proxy_op(&(of)->proxy_op, (start));        \
		}                                                       \
	} while (0)

static void read_v2(const union hk_nccl_v2 *of, struct hk_nccl_start *start)
{
	READ_TEXTS(of, start);
	start->comm = start->type == HK_NCCL_COLL  ? of->coll.comm
		      : start->type == HK_NCCL_P2P ? of->p2p.comm
						   : 0;
}

static void read_v3(const union hk_nccl_v3 *of, struct hk_nccl_start *start)
{
	READ_TEXTS(of, start);
	start->comm = start->type == HK_NCCL_COLL  ? of->coll.comm
		      : start->type == HK_NCCL_P2P ? of->p2p.comm
						   : 0;
	if (start->type == HK_NCCL_KERNEL_CH) {
		start->channel = of->kernel_ch.channel;
	} else if (start->type == HK_NCCL_COLL && (mask & HK_NCCL_KERNEL_CH)) {
		start->channels = of->coll.channels;
	}
}

static void read_v4(const union hk_nccl_v4 *of, struct hk_nccl_start *start)
{
	bool channels = mask & HK_NCCL_KERNEL_CH;
	READ_TEXTS(of, start);
	if (start->type == HK_NCCL_COLL) {
		start->channels = channels ? of->coll.channels : 0;
	} else if (start->type == HK_NCCL_P2P) {
		start->channels = channels ? of->p2p.channels : 0;
	} else if (start->type == HK_NCCL_KERNEL_CH) {
		start->channel = of->kernel_ch.channel;
		start->gpu_ns = of->kernel_ch.timer;
	} else if (start->type == HK_NCCL_CE_COLL) {
		start->func = of->ce_coll.func;
		start->count = of->ce_coll.count;
		start->width = width_of(of->ce_coll.datatype);
	}
}

/* ---- events ---- */

/* NCCL may report parents of what was asked for, and types that are younger than this. */
static bool is_wanted(uint64_t type, uintptr_t caller)
{
	if (!type || (type & (type - 1)) || type > KNOWN_TYPES) {
		hk_annotate_count("NCCL event of unknown type", caller);
		return false;
	}
	return type & (uint64_t)(uint32_t)mask;
}

#define START(version, type_of, read)                                                      \
	static int start_##version(void *context, void **handle, const void *descriptor)   \
	{                                                                                  \
		const struct hk_nccl_descriptor_##type_of *from = descriptor;              \
		struct hk_nccl_start start = {.channel = 0xffff, .caller = CALLER};        \
		if (!handle) {                                                             \
			return 0;                                                          \
		}                                                                          \
		*handle = NULL;                                                            \
		if (from && is_wanted(from->type, start.caller)) {                         \
			start.type = from->type;                                           \
			start.parent = (uintptr_t)from->parent;                            \
			read(&from->of, &start);                                           \
			*handle = (void *)hk_nccl_event_start((uintptr_t)context, &start); \
		}                                                                          \
		return 0;                                                                  \
	}

START(v1, v1, read_v1)
START(v2, v2, read_v2)
START(v3, v3, read_v3)
START(v4, v4, read_v4)
START(v5, v5, read_v4)

static int stop(void *handle)
{
	hk_nccl_event_stop((uintptr_t)handle);
	return 0;
}

/* Before version 4 states have no argument that is of use. */
static int record_old(void *handle, int state, const void *argument)
{
	(void)handle;
	(void)state;
	(void)argument;
	return 0;
}

static int record(void *handle, int state, const void *argument)
{
	const union hk_nccl_state *of = argument;
	if (of && state == HK_NCCL_KERNEL_CH_STOP) {
		hk_nccl_event_gpu((uintptr_t)handle, of->timer);
	} else if (of && (state == HK_NCCL_STEP_SEND_WAIT || state == HK_NCCL_STEP_RECV_WAIT)) {
		hk_nccl_event_moved((uintptr_t)handle, of->moved);
	}
	return 0;
}

#define NAME "hooktrace"
EXPORTED const struct hk_nccl_table_v1 ncclProfiler_v1 = {NAME, init_v1,    start_v1,
							  stop, record_old, finalize};
EXPORTED const struct hk_nccl_table_v1 ncclProfiler_v2 = {NAME, init_v1,    start_v2,
							  stop, record_old, finalize};
EXPORTED const struct hk_nccl_table_v1 ncclProfiler_v3 = {NAME, init_v1,    start_v3,
							  stop, record_old, finalize};
EXPORTED const struct hk_nccl_table_v4 ncclProfiler_v4 = {NAME, init_v4, start_v4,
							  stop, record,	 finalize};
EXPORTED const struct hk_nccl_table_v5 ncclProfiler_v5 = {NAME, init_v5, start_v5,
							  stop, record,	 finalize};
EXPORTED const struct hk_nccl_table_v5 ncclProfiler_v6 = {NAME, init_v5, start_v5,
							  stop, record,	 finalize};
