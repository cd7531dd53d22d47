/* capture.h: copies the chunks of all processes of a job around a moment into a directory below the
 * job's, which readers open like a job.
 *
 * A capture is fed in steps while the job runs, so that no step takes long. Until a chunk is
 * copied, the job's `held_from_ns` keeps it from being evicted. What finds no room,
 * or is more than the plan allows, is counted. The directory gets the job's and the processes'
 * messages when the capture ends; until then it is no job. One thread.
 */
#ifndef HK_COLLECTOR_TRIGGER_CAPTURE_H
#define HK_COLLECTOR_TRIGGER_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_capture;
struct hk_collector;
struct hk_job;

/* Makes the directory of TRIGGER and begins with its records. AGAIN: an earlier collector began,
 * and the copy continues behind the last chunk in it. TRIGGER is borrowed until the capture is
 * freed. Returns 0, or -errno: -ENOTDIR or -ELOOP if something else is in the directory's place. */
int hk_capture_begin(struct hk_job *job, Hk__Trigger *trigger, bool again, uint64_t most_bytes,
		     struct hk_capture **ret_capture);
/* Frees; accepts NULL, returns NULL. */
struct hk_capture *hk_capture_free(struct hk_capture *capture);

/* Copies chunks for a while, process by process. Returns true if the step was over before the
 * newest chunk of the last process. */
bool hk_capture_step(struct hk_capture *capture, const struct hk_job *job);

/* Returns whether each process of another node that may still send records has sent one that began
 * after the end of the capture. */
bool hk_capture_has_all(const struct hk_capture *capture, const struct hk_job *job);

/* Copies the rest, and writes the messages. */
void hk_capture_end(struct hk_capture *capture, struct hk_collector *collector, struct hk_job *job);

#endif
