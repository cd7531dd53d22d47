/* process_list.h: the list of a job's processes: makes, restores and frees them.
 *
 * A process is in its job's list and in the tables of process/ancestry.h, or in neither. One
 * thread.
 */
#ifndef HK_COLLECTOR_LIFECYCLE_PROCESS_LIST_H
#define HK_COLLECTOR_LIFECYCLE_PROCESS_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_collector;
struct hk_job;
struct hk_process;

/* Makes a process with STATE that is in no list. ATTACHED: with the fields of an attached segment.
 * Returns NULL without memory, and the caller keeps STATE. */
struct hk_process *hk_process_new(const uint8_t *uid, Hk__Process *state, bool attached);

/* Frees PROCESS, which is in no list, with its state. */
void hk_process_free(struct hk_process *process);

/* Frees the parts of PROCESS that exist only while its segment is attached. */
void hk_process_detach(struct hk_process *process);

/* Files PROCESS under JOB. */
void hk_process_add(struct hk_collector *collector, struct hk_job *job, struct hk_process *process);

/* Adds a process of which only the frame STATE is left, which it takes over on success. Returns 0,
 * -EFBIG if there are too many, -ENOMEM, or another -errno if its chunks cannot be read now. */
int hk_process_restore(struct hk_collector *collector, struct hk_job *job, Hk__Process *state);

/* Returns whether PROCESS has a segment: an attached one, or one that the last scans until NOW_NS
 * found and did not attach. */
bool hk_process_has_segment(const struct hk_process *process, uint64_t now_ns);

/* Marks PROCESS as ended at the time it was last read, by an end that was not seen. NOTE is the
 * reason for the report, or "". */
void hk_process_vanish(struct hk_process *process, const char *note);

/* Counts the lost records of a process without a segment: those that it committed and that its file
 * never got, or that were in a file that was removed. */
void hk_process_account(struct hk_process *process);

/* Removes PROCESS from all lists and frees it. Its segment stays. */
void hk_process_forget(struct hk_collector *collector, struct hk_process *process);

#endif
