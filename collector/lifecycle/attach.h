/* attach.h: attaches the segment of a process and adds the process to its job.
 *
 * The one place that chooses the job of a new process, and opens that job if it is new. A process
 * never changes its job. One thread.
 */
#ifndef HK_COLLECTOR_LIFECYCLE_ATTACH_H
#define HK_COLLECTOR_LIFECYCLE_ATTACH_H

struct hk_collector;
struct hk_process;
struct hk_reader;

/* Takes over READER on success, and adds the process to its job, which it opens if it is new.
 * Returns 0, -EEXIST if the process is known already, or -errno if the job directory or the chunk
 * file failed: the caller tries again later. */
int hk_process_attach(struct hk_collector *collector, int dirfd, struct hk_reader *reader,
		      struct hk_process **ret_process);

#endif
