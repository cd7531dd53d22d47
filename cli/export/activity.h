/* activity.h: activities of devices by their records (PROTOCOL.md, "Activities"), their streams,
 * and the host's calls that submitted them. Calls that may submit work are noted as they begin, in
 * the order of their starts. The newest HK_LAUNCHES_MAX of all processes are remembered, so that
 * late activities still find their call. One owner, no locking. */
#ifndef HK_CLI_EXPORT_ACTIVITY_H
#define HK_CLI_EXPORT_ACTIVITY_H

#include <uthash.h>

#include "cli/export/exporter.h"

#define HK_LAUNCHES_MAX 65536u

struct hk_device_activity {
	uint8_t meaning; /* HK_MEANING_DEVICE_* */
	int32_t device;
	uint64_t stream; /* handle as given to the call */
	uint64_t bytes;
	uint64_t thread;       /* uid of the caller; 0: unknown */
	uint64_t submitted_ns; /* 0: unknown. All times: Unix, as those of slices */
	uint64_t start_ns, end_ns;
};

/* Reads the activity in SLICE. Returns false if SLICE is no activity, or lacks a value. */
bool hk_activity_read(const struct hk_slice *slice, struct hk_device_activity *ret_activity);

/* A stream of a device that a process submitted work to. */
struct hk_stream {
	struct {
		uint64_t handle; /* 0: the default one */
		uint32_t show_pid;
		int32_t device;
	} key;
	uint32_t number; /* displayed number: 7 the default one, as CUPTI has it, then 8, 9, ... */
	uint64_t reached_ns; /* end of the last activity */
	UT_hash_handle hh;
};

/* Finds the stream of ACTIVITY of process SHOW_PID among *STREAMS (NULL: none yet), or creates it
 * and sets *RET_NEW to true. Returns 0 or -ENOMEM. */
int hk_streams_find(struct hk_stream **streams, uint32_t show_pid,
		    const struct hk_device_activity *activity, struct hk_stream **ret_stream,
		    bool *ret_new);
void hk_streams_free(struct hk_stream *streams);

/* Writes a name such as "GPU 0 stream 7". */
#define HK_STREAM_NAME_BYTES 48
void hk_stream_name(const struct hk_stream *stream, char name[HK_STREAM_NAME_BYTES]);

/* Writes the name of a row of NCCL's events: DEVICE is negative (PROTOCOL.md, "Activities").
 * Returns false for a device. */
bool hk_stream_nccl_name(int32_t device, uint64_t handle, char name[HK_STREAM_NAME_BYTES]);

/* A call that may have submitted work to a device. */
struct hk_launch {
	uint64_t start_ns, end_ns;
	uint64_t stream;
	bool any_stream; /* the call names no stream */
	uint32_t show_pid, show_tid;
	uint64_t thread;      /* uid */
	uint64_t correlation; /* the owner's number for it */
};

/* The newest calls; empty if all bytes are 0. */
struct hk_launches {
	struct hk_launch *ring;
	uint64_t count; /* number of all calls so far */
};

void hk_launches_fini(struct hk_launches *launches);

/* Adds a call, which starts no earlier than the last one. Returns 0 or -ENOMEM. */
int hk_launches_add(struct hk_launches *launches, const struct hk_launch *launch);

/* Returns the call of process SHOW_PID during which ACTIVITY was submitted. If the activity does
 * not say by which thread: of several calls one of thread SHOW_TID, else the latest. Returns NULL
 * if there is no such call. The call is valid until the next one is added. */
const struct hk_launch *hk_launches_find(const struct hk_launches *launches,
					 const struct hk_device_activity *activity,
					 uint32_t show_pid, uint32_t show_tid);

#endif
