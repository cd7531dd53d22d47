/* process.h: the life of a traced process as seen from outside: attached, watched, ended,
 * finalised.
 *
 * A process is found by its segment and belongs to one job for ever. It is gone when the kernel
 * says so or when another program runs under its pid. Finalising drains what is left, writes its
 * last frame and only then removes the segment, so that a collector killed anywhere in between can
 * do it all again.
 */
#ifndef HK_COLLECTOR_LIFECYCLE_PROCESS_H
#define HK_COLLECTOR_LIFECYCLE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_collector;
struct hk_job;
struct hk_process;
struct hk_reader;

/* Takes over READER (on success) and files the process under its job, which is opened if need be.
 * -EEXIST: known already; -errno: job directory or chunk file could not be had, try again later. */
int hk_process_attach(struct hk_collector *collector, int dirfd, struct hk_reader *reader,
		      struct hk_process **ret_process);

/* Adds a process that only its frame tells of; takes over STATE on success. -EFBIG: too many;
 * -ENOMEM; other -errno: its chunks cannot be read now. */
int hk_process_restore(struct hk_collector *collector, struct hk_job *job, Hk__Process *state);

/* Marks PROCESS as one whose end was not seen, at the time it was last read. NOTE says why, in
 * words for the report, or is empty. */
void hk_process_vanish(struct hk_process *process, const char *note);

/* Of a process without segment: records that it committed and that its file was not given, or has
 * no more because somebody removed it, are lost. */
void hk_process_account(struct hk_process *process);

/* Takes PROCESS out of everything and frees it; its segment stays. */
void hk_process_forget(struct hk_collector *collector, struct hk_process *process);

/* Whether PROCESS has a segment, taken up or, at the last scans until NOW_NS, not. */
bool hk_process_has_segment(const struct hk_process *process, uint64_t now_ns);

/* Looks whether the process still lives, sets `gone` and how it ended. */
void hk_process_check(struct hk_process *process);

/* Keeps everything of a process that is gone, then removes its segment. -errno: something could not
 * be written; call again later. */
int hk_process_finalise(struct hk_collector *collector, struct hk_process *process);

/* A parent saw a process end. */
void hk_process_notice(struct hk_collector *collector, const Hk__ExitNotice *notice);

#endif
