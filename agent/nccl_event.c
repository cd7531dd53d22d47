#include "agent/nccl_event.h"

#include <sys/mman.h>

#include <stdatomic.h>
#include <string.h>

#define HOOKTRACE_AGENT
#include "agent/annotate.h"
#include "agent/hooktrace.h"
#include "agent/memory/mapping.h"
#include "agent/nccl_interface.h"
#include "base/clock.h"

#define FUNC_BYTES 24u
#define INDEX_BITS 12u
#define TRIES 8u /* places in the ring that are looked at for a free one */
#define TEXT_BYTES 64u
#define CHANNELS_NONE 0xffffu
/* Rows of events: devices below 0, as PROTOCOL.md has them; the stream is the communicator's hash
 * with the channel in the low 16 bits. */
#define DEVICE_OPERATION (-2)
#define DEVICE_CHANNEL (-3)
#define DEVICE_PROXY (-4)
#define DEVICE_NETWORK (-5)

enum event_state { EVENT_FREE, EVENT_OPEN, EVENT_STOPPED };

/* An operation stays until it was stopped and all its channels have ended: NCCL stops it as soon as
 * it is enqueued. */
struct event {
	_Atomic uint32_t generation; /* of its handle */
	_Atomic uint32_t state;	     /* enum event_state */
	_Atomic uint32_t channels_left;
	uint64_t type;
	uintptr_t parent, caller;
	uint64_t comm, bytes, start_ns, submitted_ns;
	_Atomic uint64_t moved, gpu_first, gpu_last, end_ns;
	int32_t ranks;
	uint32_t channel;
	bool is_send;
	char func[FUNC_BYTES];
};

struct comm {
	_Atomic uint64_t hash; /* 0: free */
	int32_t ranks, rank;
};

static struct event *events; /* HK_NCCL_EVENTS of them, from the first communicator on */
static _Atomic uint32_t next_event;
static struct comm comms[HK_NCCL_COMMS];

_Static_assert(HK_NCCL_EVENTS == 1u << INDEX_BITS, "an index fits into a handle");

/* ---- communicators ---- */

/* Makes room for events. Processes without NCCL need none. Returns false without memory. */
static bool make_events(void)
{
	struct event *none = NULL, *made;
	uint64_t bytes = HK_NCCL_EVENTS * sizeof(*made);

	if (__atomic_load_n(&events, __ATOMIC_ACQUIRE)) {
		return true;
	}
	made = (struct event *)(void *)hk_mapping_make(0, bytes, PROT_READ | PROT_WRITE);
	if (made && !__atomic_compare_exchange_n(&events, &none, made, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE)) {
		hk_mapping_remove((char *)made, bytes);
	}
	return made != NULL;
}

uintptr_t hk_nccl_comm_open(uint64_t hash, int ranks, int rank)
{
	if (!make_events()) {
		return 0;
	}
	for (uint32_t i = 0; i < HK_NCCL_COMMS; i++) {
		uint64_t none = 0;
		if (atomic_compare_exchange_strong(&comms[i].hash, &none, hash ? hash : 1)) {
			comms[i].ranks = ranks;
			comms[i].rank = rank;
			return i + 1;
		}
	}
	return 0;
}

static struct comm *comm_of(uintptr_t context)
{
	return context >= 1 && context <= HK_NCCL_COMMS ? &comms[context - 1] : NULL;
}

/* ---- handles ---- */

static uintptr_t handle_of(const struct event *event)
{
	uint32_t generation = atomic_load_explicit(&event->generation, memory_order_relaxed);
	return (uintptr_t)generation << (INDEX_BITS + 1) | (uintptr_t)(event - events) << 1 | 1;
}

static struct event *event_of(uintptr_t handle)
{
	if (!events) {
		return NULL;
	}
	struct event *event = &events[handle >> 1 & (HK_NCCL_EVENTS - 1)];
	bool valid = (handle & 1) &&
		     atomic_load_explicit(&event->state, memory_order_acquire) != EVENT_FREE &&
		     handle_of(event) == handle;
	return valid ? event : NULL;
}

/* Returns the event of HANDLE, ended or not: what a part inherits stays until the event is taken
 * again. */
static struct event *parent_of(uintptr_t handle)
{
	if (!events) {
		return NULL;
	}
	struct event *event = &events[handle >> 1 & (HK_NCCL_EVENTS - 1)];
	return (handle & 1) && handle_of(event) == handle ? event : NULL;
}

/* ---- what is left of them ---- */

static const char *name_of(const struct event *event, char text[TEXT_BYTES])
{
	const char *end = event->type == HK_NCCL_KERNEL_CH ? " channel"
			  : event->type == HK_NCCL_PROXY_OP
			      ? (event->is_send ? " proxy send" : " proxy receive")
			  : event->type == HK_NCCL_PROXY_STEP ? " proxy step"
			  : event->type == HK_NCCL_NET_PLUGIN ? " network"
							      : "";
	size_t length = strlen(event->func);
	memcpy(text, event->func, length);
	memcpy(text + length, end, strlen(end) + 1);
	return text;
}

static int32_t device_of(uint64_t type)
{
	switch (type) {
	case HK_NCCL_KERNEL_CH:
		return DEVICE_CHANNEL;
	case HK_NCCL_PROXY_OP:
	case HK_NCCL_PROXY_STEP:
		return DEVICE_PROXY;
	case HK_NCCL_NET_PLUGIN:
		return DEVICE_NETWORK;
	default:
		return DEVICE_OPERATION;
	}
}

/* The GPU's times have another origin, so only their difference is used. */
static void record(const struct event *event, uint64_t end_ns)
{
	char text[TEXT_BYTES];
	if (event->type == HK_NCCL_COLL_API || event->type == HK_NCCL_P2P_API) {
		return; /* the call itself is hooked */
	}
	uint64_t first = atomic_load_explicit(&event->gpu_first, memory_order_relaxed);
	uint64_t last = atomic_load_explicit(&event->gpu_last, memory_order_relaxed);
	uint64_t moved = atomic_load_explicit(&event->moved, memory_order_relaxed);
	bool by_gpu = first && last > first && last - first < end_ns;
	const struct hk_activity activity = {
	    .name = name_of(event, text),
	    .device = device_of(event->type),
	    .stream = (event->comm & ~(uint64_t)0xffff) | (event->channel & 0xffff),
	    .bytes = moved ? moved : event->bytes,
	    .submitted_ns = event->submitted_ns,
	    .start_ns = by_gpu ? end_ns - (last - first) : event->start_ns,
	    .end_ns = end_ns,
	};
	hk_annotate_nccl(&activity, event->caller);
	if (device_of(event->type) == DEVICE_OPERATION && event->ranks > 0) {
		hk_annotate_transfer(event->func, event->comm, event->ranks,
				     activity.end_ns - activity.start_ns, event->bytes);
	}
}

/* Ends EVENT once: of several threads that see it complete, one records it. */
static void finish(struct event *event, uint64_t end_ns)
{
	uint32_t state = atomic_load_explicit(&event->state, memory_order_acquire);
	if (state != EVENT_FREE &&
	    atomic_compare_exchange_strong(&event->state, &state, EVENT_FREE)) {
		record(event, end_ns);
	}
}

/* Takes a free event near the ring's next place, or the one there, which has waited longest. */
static struct event *take(uintptr_t caller)
{
	uint32_t first = atomic_fetch_add_explicit(&next_event, 1, memory_order_relaxed);
	struct event *event = &events[first % HK_NCCL_EVENTS];
	for (uint32_t i = 0; i < TRIES; i++) {
		struct event *other = &events[(first + i) % HK_NCCL_EVENTS];
		if (atomic_load_explicit(&other->state, memory_order_relaxed) == EVENT_FREE) {
			event = other;
			break;
		}
	}
	uint32_t state = atomic_load_explicit(&event->state, memory_order_acquire);
	if (state == EVENT_STOPPED) { /* its channels were not reported */
		finish(event, atomic_load(&event->end_ns));
	} else if (state == EVENT_OPEN) {
		hk_annotate_count("NCCL event without an end", caller);
	}
	atomic_store_explicit(&event->state, EVENT_FREE, memory_order_relaxed);
	atomic_fetch_add_explicit(&event->generation, 1, memory_order_acq_rel);
	return event;
}

static bool is_operation(const struct event *event)
{
	return event->type == HK_NCCL_COLL || event->type == HK_NCCL_P2P;
}

/* ---- starts ---- */

static uint64_t traffic_of(const struct hk_nccl_start *start, int ranks)
{
	uint64_t bytes;
	bool all = start->func && (strcmp(start->func, "AllGather") == 0 ||
				   strcmp(start->func, "AllGatherV") == 0 ||
				   strcmp(start->func, "ReduceScatter") == 0);
	if (__builtin_mul_overflow(start->count, (uint64_t)start->width, &bytes)) {
		return 0;
	}
	return all && __builtin_mul_overflow(bytes, (uint64_t)(ranks > 0 ? ranks : 0), &bytes)
		   ? 0
		   : bytes;
}

static void copy_func(char func[FUNC_BYTES], const char *from)
{
	size_t length = from ? strnlen(from, FUNC_BYTES - 1) : 0;
	memcpy(func, from ? from : "", length);
	func[length] = '\0';
}

/* A part of an operation has the operation's name, communicator and call. */
static void inherit(struct event *event, const struct event *parent)
{
	event->comm = parent->comm;
	event->ranks = parent->ranks;
	event->submitted_ns = parent->submitted_ns;
	if (!event->func[0]) {
		memcpy(event->func, parent->func, FUNC_BYTES);
	}
	if (event->channel == CHANNELS_NONE) {
		event->channel = parent->channel;
	}
}

uintptr_t hk_nccl_event_start(uintptr_t context, const struct hk_nccl_start *start)
{
	if (!make_events()) {
		return 0;
	}
	const struct comm *comm = comm_of(context);
	struct event *event = take(start->caller), *parent = parent_of(start->parent);
	uint64_t now = hk_clock_monotonic_ns();
	event->type = start->type;
	event->parent = start->parent;
	event->caller = start->caller;
	event->comm = start->comm ? start->comm : comm ? atomic_load(&comm->hash) : 0;
	event->ranks = comm ? comm->ranks : 0;
	event->start_ns = event->submitted_ns = now;
	event->channel = start->channel;
	event->is_send = start->is_send;
	event->bytes = start->bytes ? start->bytes : traffic_of(start, event->ranks);
	copy_func(event->func, start->func);
	atomic_store_explicit(&event->moved, 0, memory_order_relaxed);
	atomic_store_explicit(&event->end_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&event->gpu_first, start->gpu_ns, memory_order_relaxed);
	atomic_store_explicit(&event->gpu_last, 0, memory_order_relaxed);
	atomic_store_explicit(&event->channels_left, start->channels, memory_order_relaxed);
	if (parent) {
		inherit(event, parent);
	}
	if (!event->func[0]) {
		copy_func(event->func, "NCCL");
	}
	atomic_store_explicit(&event->state, EVENT_OPEN, memory_order_release);
	return handle_of(event);
}

/* ---- ends ---- */

/* The first start and the last end of the channels, by the GPU's timer, are the operation's. */
static void join_channel(struct event *operation, const struct event *channel, uint64_t end_ns)
{
	uint64_t first = atomic_load_explicit(&channel->gpu_first, memory_order_relaxed);
	uint64_t last = atomic_load_explicit(&channel->gpu_last, memory_order_relaxed);
	uint64_t now = atomic_load_explicit(&operation->gpu_first, memory_order_relaxed);
	while (first && (!now || first < now) &&
	       !atomic_compare_exchange_weak(&operation->gpu_first, &now, first)) {
	}
	now = atomic_load_explicit(&operation->gpu_last, memory_order_relaxed);
	while (last > now && !atomic_compare_exchange_weak(&operation->gpu_last, &now, last)) {
	}
	now = atomic_load_explicit(&operation->end_ns, memory_order_relaxed);
	while (end_ns > now && !atomic_compare_exchange_weak(&operation->end_ns, &now, end_ns)) {
	}
	uint32_t left = atomic_load(&operation->channels_left);
	while (left && !atomic_compare_exchange_weak(&operation->channels_left, &left, left - 1)) {
	}
	if (left == 1 &&
	    atomic_load_explicit(&operation->state, memory_order_acquire) == EVENT_STOPPED) {
		finish(operation, atomic_load(&operation->end_ns));
	}
}

void hk_nccl_event_stop(uintptr_t handle)
{
	struct event *event = event_of(handle);
	uint64_t now = hk_clock_monotonic_ns();
	if (!event) {
		return;
	}
	uint32_t open = EVENT_OPEN;
	if (is_operation(event) && atomic_load(&event->channels_left) > 0) {
		uint64_t none = 0;
		atomic_compare_exchange_strong(&event->end_ns, &none, now);
		/* The last channel may end between these two. */
		if (atomic_compare_exchange_strong(&event->state, &open, EVENT_STOPPED) &&
		    atomic_load(&event->channels_left) == 0) {
			finish(event, atomic_load(&event->end_ns));
		}
		return;
	}
	struct event *parent = event->type == HK_NCCL_KERNEL_CH ? event_of(event->parent) : NULL;
	uint64_t end_ns = atomic_load(&event->end_ns);
	end_ns = is_operation(event) && end_ns ? end_ns : now;
	if (parent && is_operation(parent)) {
		join_channel(parent, event, now);
	}
	finish(event, end_ns);
}

void hk_nccl_event_gpu(uintptr_t handle, uint64_t gpu_ns)
{
	struct event *event = event_of(handle);
	if (event && event->type == HK_NCCL_KERNEL_CH) {
		atomic_store_explicit(&event->gpu_last, gpu_ns, memory_order_relaxed);
	}
}

void hk_nccl_event_moved(uintptr_t handle, uint64_t bytes)
{
	struct event *event = event_of(handle);
	if (event) {
		atomic_store_explicit(&event->moved, bytes, memory_order_relaxed);
	}
}

void hk_nccl_comm_close(uintptr_t context)
{
	struct comm *comm = comm_of(context);
	uint64_t hash = comm ? atomic_load(&comm->hash) : 0;
	for (uint32_t i = 0; hash && events && i < HK_NCCL_EVENTS; i++) {
		struct event *event = &events[i];
		if (atomic_load_explicit(&event->state, memory_order_acquire) == EVENT_STOPPED &&
		    event->comm == hash) {
			finish(event, atomic_load(&event->end_ns));
		}
	}
	if (comm) {
		atomic_store(&comm->hash, 0);
	}
}
