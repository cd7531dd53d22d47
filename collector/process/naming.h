/* naming.h: gives frames of stacks, and kernels whose names the process did not know, the names of
 * functions, which another process reads from files (symbol/symbols.h).
 *
 * No call waits: a frame gets its name when that is read, and no record or chunk waits for it. Only
 * a job that ends waits for names, and not for long. One thread.
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

/* Readable when hk_naming_run has something to do; -1: nothing is under way. */
int hk_naming_fd(const struct hk_naming *naming);

/* Has the new frames and kernels of PROCESS named. Returns 0 or -ENOMEM. */
int hk_naming_add(struct hk_naming *naming, struct hk_process *process);

/* Has the frames of MESSAGE, which is no process of the collector, named before others: its files
 * lie below the root directory of process PID; 0: not known. MESSAGE lives until hk_naming_end.
 * Returns a number for it, or 0 if no name is to be waited for. */
uint64_t hk_naming_begin(struct hk_naming *naming, Hk__Process *message, uint32_t pid);

/* Returns whether the message with number TICKET still waits for names. */
bool hk_naming_is_pending(struct hk_naming *naming, uint64_t ticket);

/* Waits no longer: files that were not read are noted in the message. Accepts 0. */
void hk_naming_end(struct hk_naming *naming, uint64_t ticket);

/* Takes names that were read, and asks for the next ones. */
void hk_naming_run(struct hk_collector *collector, uint64_t now_ns);

/* Returns whether JOB, which is about to end, has to wait for names no longer. After some seconds
 * the files that were not read are noted in its processes. */
bool hk_naming_settled(struct hk_collector *collector, struct hk_job *job, uint64_t now_ns);

#endif
