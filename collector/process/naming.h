/* naming.h: names the functions of frames on stacks, and kernels whose names the process did not
 * know. Another process reads the names from files (symbol/symbols.h).
 *
 * No call waits, and no record or chunk waits for a name: frames get names later. Only a job that
 * ends waits for names, and not for long. One thread.
 */
#ifndef HK_COLLECTOR_PROCESS_NAMING_H
#define HK_COLLECTOR_PROCESS_NAMING_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_collector;
struct hk_job;
struct hk_naming;
struct hk_process;

/* Returns NULL without memory. */
struct hk_naming *hk_naming_new(void);
struct hk_naming *hk_naming_free(struct hk_naming *naming);

/* Returns a descriptor that is readable when hk_naming_run has something to do, or -1. */
int hk_naming_fd(const struct hk_naming *naming);

/* Requests names for the new frames and kernels of PROCESS. Returns 0 or -ENOMEM. */
int hk_naming_add(struct hk_naming *naming, struct hk_process *process);

/* Requests names for the frames of MESSAGE before those of processes. Its files lie below the root
 * directory of process PID, which is 0 if not known. MESSAGE stays valid until hk_naming_end.
 * Returns its ticket, or 0 if no name is missing. */
uint64_t hk_naming_begin(struct hk_naming *naming, Hk__Process *message, uint32_t pid);

/* Returns whether the message with TICKET still waits for names. */
bool hk_naming_is_pending(struct hk_naming *naming, uint64_t ticket);

/* Ends the wait of the message with TICKET, and notes in it which files were not read. Accepts 0.
 */
void hk_naming_end(struct hk_naming *naming, uint64_t ticket);

/* Takes names that were read, and requests the next ones. */
void hk_naming_run(struct hk_collector *collector, uint64_t now_ns);

/* Returns whether JOB, which is about to end, waits for no more names. After some seconds the files
 * that were not read are noted in its processes. */
bool hk_naming_settled(struct hk_collector *collector, struct hk_job *job, uint64_t now_ns);

#endif
