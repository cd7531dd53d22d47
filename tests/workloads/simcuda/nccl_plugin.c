#include "nccl_plugin.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "nccl_layouts.h"

#define VISIBLE __attribute__((visibility("default")))
#define SUCCESS 0

enum {
	GROUP = 1,
	COLL = 2,
	P2P = 4,
	PROXY_OP = 8,
	PROXY_STEP = 16,
	KERNEL_CH = 64,
	NET = 128,
	GROUP_API = 256,
	COLL_API = 512,
	P2P_API = 1024
};
enum { STEP_SEND_WAIT = 9, KERNEL_CH_STOP = 22 };

static struct {
	pthread_mutex_t lock;
	void *library;
	const struct table *table;
	int version, mask, users;
	bool failed;
} plugin = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the plugin ---- */

static void *open_library(const char *name)
{
	char path[255];

	if (name && strcasecmp(name, "none") == 0) {
		return NULL;
	}
	snprintf(path, sizeof(path), "%s", name && *name ? name : "libnccl-profiler.so");
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library && name && *name && !strchr(name, '/')) {
		snprintf(path, sizeof(path), "libnccl-profiler-%s.so", name);
		library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
	return library;
}

/* SIM_NCCL_NEWEST: the newest version that this NCCL knows. */
static void load(void)
{
	const char *newest = getenv("SIM_NCCL_NEWEST");
	char symbol[32];

	plugin.library = open_library(getenv("NCCL_PROFILER_PLUGIN"));
	for (int version = newest ? atoi(newest) : 6; plugin.library && version >= 1; version--) {
		snprintf(symbol, sizeof(symbol), "ncclProfiler_v%d", version);
		plugin.table = dlsym(plugin.library, symbol);
		if (plugin.table) {
			plugin.version = version;
			return;
		}
	}
	plugin.failed = true;
}

static int check(int result, const char *what)
{
	if (result != SUCCESS) {
		fprintf(stderr, "plugin failed: %s\n", what);
		abort();
	}
	return result;
}

void sim_plugin_open(struct sim_plugin_comm *comm)
{
	pthread_mutex_lock(&plugin.lock);
	if (!plugin.table && !plugin.failed) {
		load();
	}
	if (plugin.table) {
		plugin.users++;
		int result =
		    plugin.version >= 5
			? ((init_5 *)plugin.table->init)(&comm->context, comm->hash, &plugin.mask,
							 "sim", 1, comm->ranks, comm->rank, NULL)
		    : plugin.version == 4
			? ((init_4 *)plugin.table->init)(&comm->context, &plugin.mask, "sim",
							 comm->hash, 1, comm->ranks, comm->rank,
							 NULL)
			: ((init_1 *)plugin.table->init)(&comm->context, &plugin.mask);
		check(result, "init");
	}
	pthread_mutex_unlock(&plugin.lock);
}

/* ---- starts, in the version's layout ---- */

struct event {
	uint64_t type;
	void *parent, *group;
	const char *func;
	uint8_t func_number;
	size_t count;
	int datatype, peer, channel, pid;
	uint64_t timer, hash, sequence;
};

static const char *const datatypes[] = {"ncclInt8",    "ncclUint8",   "ncclInt32",   "ncclUint32",
					"ncclInt64",   "ncclUint64",  "ncclFloat16", "ncclFloat32",
					"ncclFloat64", "ncclBfloat16"};
static const char *const funcs[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
				    "AllReduce", "SendRecv", "Send",	  "Recv"};

#define COMMON(d, e)                                                   \
	do {                                                           \
		(d).type = (e)->type;                                  \
		(d).parentObj = (e)->parent;                           \
		if ((e)->type == PROXY_OP) {                           \
			(d).proxyOp.pid = (e)->pid;                    \
			(d).proxyOp.channelId = (uint8_t)(e)->channel; \
			(d).proxyOp.nSteps = 2;                        \
			(d).proxyOp.chunkSize = 1024;                  \
			(d).proxyOp.isSend = 1;                        \
		}                                                      \
	} while (0)

#define OLD_OPERATION(d, e, func_of, type_of, channels)     \
	do {                                                \
		if ((e)->type == COLL) {                    \
			(d).coll.commHash = (e)->hash;      \
			(d).coll.seqNumber = (e)->sequence; \
			(d).coll.func = (func_of);          \
			(d).coll.count = (e)->count;        \
			(d).coll.datatype = (type_of);      \
			(d).coll.nMaxChannels = (channels); \
		} else if ((e)->type == P2P) {              \
			(d).p2p.commHash = (e)->hash;       \
			(d).p2p.func = (func_of);           \
			(d).p2p.count = (e)->count;         \
			(d).p2p.datatype = (type_of);       \
			(d).p2p.peer = (e)->peer;           \
		}                                           \
	} while (0)

#define NEW_OPERATION(d, e)                                             \
	do {                                                            \
		if ((e)->type == COLL) {                                \
			(d).coll.seqNumber = (e)->sequence;             \
			(d).coll.func = (e)->func;                      \
			(d).coll.count = (e)->count;                    \
			(d).coll.datatype = datatypes[(e)->datatype];   \
			(d).coll.nChannels = SIM_NCCL_CHANNELS;         \
			(d).coll.parentGroup = (e)->group;              \
		} else if ((e)->type == P2P) {                          \
			(d).p2p.func = (e)->func;                       \
			(d).p2p.count = (e)->count;                     \
			(d).p2p.datatype = datatypes[(e)->datatype];    \
			(d).p2p.peer = (e)->peer;                       \
			(d).p2p.nChannels = SIM_NCCL_CHANNELS;          \
		} else if ((e)->type == KERNEL_CH) {                    \
			(d).kernelCh.channelId = (uint8_t)(e)->channel; \
			(d).kernelCh.pTimer = (e)->timer;               \
		}                                                       \
	} while (0)

static void *start(void *context, const struct event *event)
{
	void *handle = NULL, *descriptor;
	struct v1 v1 = {0};
	struct v2 v2 = {0};
	struct v3 v3 = {0};
	struct v4 v4 = {0};
	struct v5 v5 = {0};

	COMMON(v1, event);
	OLD_OPERATION(v1, event, event->func_number, (uint8_t)event->datatype, SIM_NCCL_CHANNELS);
	COMMON(v2, event);
	OLD_OPERATION(v2, event, event->func, datatypes[event->datatype], SIM_NCCL_CHANNELS);
	COMMON(v3, event);
	OLD_OPERATION(v3, event, event->func, datatypes[event->datatype], SIM_NCCL_CHANNELS);
	if (event->type == KERNEL_CH) {
		v3.kernelCh.channelId = (uint8_t)event->channel;
	}
	COMMON(v4, event);
	NEW_OPERATION(v4, event);
	COMMON(v5, event);
	NEW_OPERATION(v5, event);
	descriptor = plugin.version == 1   ? (void *)&v1
		     : plugin.version == 2 ? (void *)&v2
		     : plugin.version == 3 ? (void *)&v3
		     : plugin.version == 4 ? (void *)&v4
					   : (void *)&v5;
	check(plugin.table->startEvent(context, &handle, descriptor), "startEvent");
	return handle;
}

static bool wants(int types)
{
	return plugin.mask & types;
}

/* ---- the proxy thread ---- */

struct work {
	struct work *next;
	struct sim_plugin_comm *comm;
	void *operation;
	const char *func;
	uint64_t bytes;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct work *first, **last;
	size_t pending;
	pthread_t thread;
	bool running, stopped;
} proxy = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *start_proxy_op(const struct work *work, int channel, int pid)
{
	const struct event event = {
	    .type = PROXY_OP, .parent = work->operation, .channel = channel, .pid = pid};

	return wants(PROXY_OP | PROXY_STEP | NET) ? start(work->comm->context, &event) : NULL;
}

static void play_steps(const struct work *work, void *op)
{
	union state moved = {.transSize = 4096};

	for (int i = 0; i < 2 && wants(PROXY_STEP | NET); i++) {
		const struct event step = {.type = PROXY_STEP, .parent = op};
		const struct event net = {.type = NET};
		struct event below = net;
		void *handle = start(work->comm->context, &step);
		below.parent = handle;
		void *inside = wants(NET) ? start(work->comm->context, &below) : NULL;
		if (inside) {
			check(plugin.table->stopEvent(inside), "stopEvent");
		}
		if (handle) {
			check(plugin.table->recordEventState(handle, STEP_SEND_WAIT, &moved),
			      "record");
			check(plugin.table->stopEvent(handle), "stopEvent");
		}
	}
}

/* Channels start in order and end in the opposite order. */
static void play(const struct work *work)
{
	void *channels[SIM_NCCL_CHANNELS] = {NULL}, *op = start_proxy_op(work, 0, getpid());
	uint64_t began = 1000000007;

	for (int i = 0; i < SIM_NCCL_CHANNELS; i++) {
		const struct event event = {.type = KERNEL_CH,
					    .parent = work->operation,
					    .channel = i,
					    .timer = began + (uint64_t)i * SIM_NCCL_SKEW_NS};
		channels[i] = wants(KERNEL_CH) && plugin.version >= 3
				  ? start(work->comm->context, &event)
				  : NULL;
	}
	play_steps(work, op);
	if (op) {
		check(plugin.table->stopEvent(op), "stopEvent");
	}
	for (int i = SIM_NCCL_CHANNELS; i-- > 0;) {
		union state end = {.pTimer =
				       began + SIM_NCCL_NS(work->bytes) -
				       (uint64_t)(SIM_NCCL_CHANNELS - 1 - i) * SIM_NCCL_SKEW_NS};
		if (channels[i]) {
			check(plugin.table->recordEventState(channels[i], KERNEL_CH_STOP, &end),
			      "record");
			check(plugin.table->stopEvent(channels[i]), "stopEvent");
		}
	}
}

static void *serve(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&proxy.lock);
	while (!proxy.stopped) {
		struct work *work = proxy.first;
		if (!work) {
			pthread_cond_wait(&proxy.changed, &proxy.lock);
			continue;
		}
		proxy.first = work->next;
		pthread_mutex_unlock(&proxy.lock);
		play(work);
		free(work);
		pthread_mutex_lock(&proxy.lock);
		proxy.pending--;
		pthread_cond_broadcast(&proxy.changed);
	}
	pthread_mutex_unlock(&proxy.lock);
	return NULL;
}

static void enqueue(struct work *work)
{
	pthread_mutex_lock(&proxy.lock);
	if (!proxy.running) {
		proxy.stopped = false;
		proxy.running = pthread_create(&proxy.thread, NULL, serve, NULL) == 0;
	}
	if (!proxy.first) {
		proxy.last = &proxy.first;
	}
	*proxy.last = work;
	proxy.last = &work->next;
	proxy.pending++;
	pthread_cond_broadcast(&proxy.changed);
	pthread_mutex_unlock(&proxy.lock);
}

/* The library may be closed next: no code of it may run then. */
static void end_proxy(void)
{
	pthread_mutex_lock(&proxy.lock);
	bool running = proxy.running;
	proxy.stopped = true;
	proxy.running = false;
	pthread_cond_broadcast(&proxy.changed);
	pthread_mutex_unlock(&proxy.lock);
	if (running) {
		pthread_join(proxy.thread, NULL);
	}
}

void sim_plugin_close(struct sim_plugin_comm *comm)
{
	pthread_mutex_lock(&proxy.lock);
	while (proxy.pending > 0) {
		pthread_cond_wait(&proxy.changed, &proxy.lock);
	}
	pthread_mutex_unlock(&proxy.lock);
	pthread_mutex_lock(&plugin.lock);
	if (plugin.table) {
		check(comm->context ? plugin.table->finalize(comm->context) : SUCCESS, "finalize");
		if (--plugin.users == 0) {
			end_proxy();
			dlclose(plugin.library);
			plugin.table = NULL;
		}
	}
	pthread_mutex_unlock(&plugin.lock);
}

/* ---- operations ---- */

static uint8_t number_of(const char *func)
{
	for (uint8_t i = 0; i < sizeof(funcs) / sizeof(funcs[0]); i++) {
		if (strcmp(funcs[i], func) == 0) {
			return i;
		}
	}
	return 255;
}

void sim_plugin_operation(struct sim_plugin_comm *comm, const char *func, size_t count, int type,
			  int peer)
{
	static const uint8_t widths[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
	bool all = strcmp(func, "AllGather") == 0 || strcmp(func, "ReduceScatter") == 0;
	void *api = NULL, *group = NULL;

	if (!plugin.table || !wants(COLL | P2P | PROXY_OP | KERNEL_CH | COLL_API | P2P_API) ||
	    (size_t)type >= sizeof(widths)) {
		return;
	}
	struct event event = {.func = func,
			      .func_number = number_of(func),
			      .count = count,
			      .datatype = type,
			      .peer = peer,
			      .hash = comm->hash,
			      .sequence = comm->sequence++};
	if (plugin.version >= 5) {
		struct event outer = {.type = GROUP_API};
		outer.parent = start(comm->context, &outer);
		outer.type = peer < 0 ? COLL_API : P2P_API;
		api = start(comm->context, &outer);
		if (api) {
			check(plugin.table->stopEvent(api), "stopEvent");
		}
	}
	const struct event plan = {.type = GROUP};
	group = start(comm->context, &plan);
	event.type = peer < 0 ? COLL : P2P;
	event.parent = plugin.version >= 5 ? api : group;
	event.group = group;
	void *operation = start(comm->context, &event);
	struct work *work = malloc(sizeof(*work));
	if (work) {
		*work =
		    (struct work){.comm = comm,
				  .operation = operation,
				  .func = func,
				  .bytes = count * widths[type] * (all ? (size_t)comm->ranks : 1)};
		enqueue(work);
	}
	if (operation) {
		check(plugin.table->stopEvent(operation), "stopEvent");
	}
	if (group) {
		check(plugin.table->stopEvent(group), "stopEvent");
	}
}

/* COUNT times what no plugin may fail at: events without a stop, of unknown types, parents of
 * another process, stops twice, handles of no event. */
VISIBLE void sim_plugin_mischief(int count)
{
	struct sim_plugin_comm comm = {.hash = 77, .ranks = 2};
	const struct event unknown = {.type = plugin.version >= 5 ? UINT64_C(1) << 40 : 3};
	union state state = {.pTimer = 1};

	sim_plugin_open(&comm);
	for (int i = 0; plugin.table && i < count; i++) {
		struct event event = {.type = COLL,
				      .func = "Reduce",
				      .func_number = 1,
				      .count = 1,
				      .datatype = 7,
				      .hash = 77};
		void *operation = start(comm.context, &event);
		struct work work = {.comm = &comm, .operation = operation};
		void *foreign = start_proxy_op(&work, 1, getpid() + 1);
		start(comm.context, &unknown);
		check(plugin.table->stopEvent(foreign), "stopEvent");
		check(plugin.table->stopEvent(foreign), "stopEvent");
		check(plugin.table->stopEvent(
			  (void *)(uintptr_t)(0x123456789abcdefULL * (unsigned)i)),
		      "stopEvent");
		check(plugin.table->stopEvent(NULL), "stopEvent");
		check(plugin.table->recordEventState((void *)~(uintptr_t)0, KERNEL_CH_STOP, &state),
		      "record");
		check(plugin.table->recordEventState(operation, 12345, NULL), "record");
		check(plugin.table->startEvent(comm.context, NULL, NULL), "startEvent");
		check(plugin.table->startEvent((void *)(uintptr_t)99999, &foreign, NULL),
		      "startEvent");
	}
	sim_plugin_close(&comm);
}
