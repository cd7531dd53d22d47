/*
 * What the simulated runtimes of HIP, ACL and XPU have in common: two devices whose memory is the
 * host's and limited, and streams that finish later. Work on a stream waits until its stream, its
 * device or an event behind it is synchronized; each query does one piece of it. So nothing depends
 * on speed. Any thread. Results are 0 or -errno.
 */
#ifndef HK_WORKLOADS_DEVICE_H
#define HK_WORKLOADS_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_DEVICES 2
#define SIM_DEVICE_BYTES ((size_t)64 << 20) /* an allocation beyond it fails */
#define SIM_HOST (-1)
#define SIM_PITCH 512u

struct sim_stream;
struct sim_event;

/* One launch of a kernel, which is a host function. */
struct sim_launch {
	uint32_t grid[3], block[3];
	uint32_t shared;
	void *arguments[4]; /* values of up to eight bytes, or addresses */
};
typedef void sim_kernel(const struct sim_launch *launch);

/* The calling thread's device, 0 at first. -ENODEV. */
int sim_set_device(int device);
int sim_device(void);

/* Memory of DEVICE, or of the host. -EINVAL, -ENOMEM. */
int sim_alloc(void **ret_pointer, size_t size, int device);
int sim_release(void *pointer);

/* -ENOMEM: NULL. */
struct sim_stream *sim_stream_new(void);
int sim_stream_delete(struct sim_stream *stream);
int sim_stream_device(const struct sim_stream *stream);

/* Number of STREAM, from 1 on. */
uint32_t sim_stream_number(const struct sim_stream *stream);

/* Simulated time: books NS on STREAM, from NOW_NS on or behind what is booked. Returns the end.
 * Work does not wait for it. */
uint64_t sim_stream_book(struct sim_stream *stream, uint64_t now_ns, uint64_t ns);

/* Work on STREAM, or at once if that is NULL. */
int sim_copy(struct sim_stream *stream, void *to, const void *from, size_t bytes);
int sim_set(struct sim_stream *stream, void *to, int value, size_t bytes);
int sim_run(struct sim_stream *stream, sim_kernel *kernel, const struct sim_launch *launch);

/* Does one piece of work. Returns whether there was one. */
bool sim_step(struct sim_stream *stream);
void sim_drain(struct sim_stream *stream);
void sim_drain_device(int device);

struct sim_event *sim_event_new(void);
int sim_event_delete(struct sim_event *event);
int sim_event_record(struct sim_event *event, struct sim_stream *stream);
bool sim_event_done(const struct sim_event *event);
int sim_event_wait(struct sim_event *event);
int sim_stream_wait(struct sim_stream *stream, struct sim_event *event);

#endif
