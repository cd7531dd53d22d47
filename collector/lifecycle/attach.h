/* attach.h: takes over the segment of a process and files the process under its job.
 *
 * The one place that chooses the job of a new process, and opens it if need be. A process belongs
 * to its job for ever. One thread.
 */
#ifndef HK_COLLECTOR_LIFECYCLE_ATTACH_H
#define HK_COLLECTOR_LIFECYCLE_ATTACH_H

struct hk_collector;
struct hk_process;
struct hk_reader;

/* Takes over READER (on success) and files the process under its job, which is opened if need be.
 * -EEXIST: known already; -errno: job directory or chunk file could not be had, try again later. */
int hk_process_attach(struct hk_collector *collector, int dirfd, struct hk_reader *reader,
		      struct hk_process **ret_process);

#endif
