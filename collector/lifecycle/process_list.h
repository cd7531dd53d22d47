/* process_list.h: the processes of a job: made, restored from a file, forgotten.
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

/* A process with STATE that is in no list. ATTACHED: with room for what a segment needs. NULL
 * without memory: STATE stays the caller's. */
struct hk_process *hk_process_new(const uint8_t *uid, Hk__Process *state, bool attached);

/* Frees PROCESS, which is in no list, with its state. */
void hk_process_free(struct hk_process *process);

/* Frees what PROCESS has only while its segment is attached. */
void hk_process_detach(struct hk_process *process);

/* Files PROCESS under JOB. */
void hk_process_add(struct hk_collector *collector, struct hk_job *job, struct hk_process *process);

/* Adds a process that only its frame tells of; takes over STATE on success. -EFBIG: too many;
 * -ENOMEM; other -errno: its chunks cannot be read now. */
int hk_process_restore(struct hk_collector *collector, struct hk_job *job, Hk__Process *state);

/* Whether PROCESS has a segment, taken up or, at the last scans until NOW_NS, not. */
bool hk_process_has_segment(const struct hk_process *process, uint64_t now_ns);

/* Marks PROCESS as one whose end was not seen, at the time it was last read. NOTE says why, in
 * words for the report, or is empty. */
void hk_process_vanish(struct hk_process *process, const char *note);

/* Of a process without segment: records that it committed and that its file was not given, or has
 * no more because somebody removed it, are lost. */
void hk_process_account(struct hk_process *process);

/* Takes PROCESS out of everything and frees it; its segment stays. */
void hk_process_forget(struct hk_collector *collector, struct hk_process *process);

#endif
