/* ancestry.h: which processes belong together: ancestors, images of one pid, ranks, roles.
 *
 * Knows every process of every open job, ended ones too, by uid and by pid: looking one up takes
 * the same time however many there were. Pids are those of the collector's own pid namespace, but
 * for images, which follow each other in any.
 */
#ifndef HK_COLLECTOR_PROCESS_ANCESTRY_H
#define HK_COLLECTOR_PROCESS_ANCESTRY_H

#include <stdbool.h>
#include <stdint.h>

struct hk_collector;
struct hk_process;
struct hk_segment_identity;

/* Files PROCESS, whose uid and state are set, or takes it out again; both when its job's list
 * changes. */
void hk_ancestry_add(struct hk_collector *collector, struct hk_process *process);
void hk_ancestry_remove(struct hk_collector *collector, struct hk_process *process);

/* The process image UID, living or ended, of a job that is open; NULL. */
struct hk_process *hk_ancestry_by_uid(const struct hk_collector *collector, const uint8_t *uid);

/* The newest process image known under PID, living ones first; NULL. */
struct hk_process *hk_ancestry_by_pid(const struct hk_collector *collector, uint32_t pid);

/* The nearest known process at or above pid PPID that began before MONOTONIC_NS, looking through
 * processes that are not traced as long as they live; NULL. */
struct hk_process *hk_ancestry_nearest(const struct hk_collector *collector, uint32_t ppid,
				       uint64_t monotonic_ns);

/* The newest other image of the process that IDENTITY is one of: what it was before exec; NULL. */
struct hk_process *hk_ancestry_previous_image(const struct hk_collector *collector,
					      const struct hk_segment_identity *identity);

/* Concludes role and rank of PROCESS, which is in its job's list, from its ANCESTOR and the image
 * it REPLACED (or NULL); FORKED: it began without exec. May make a launcher of a process that was
 * taken for a main before any rank was known. */
void hk_ancestry_settle(const struct hk_collector *collector, struct hk_process *process,
			const struct hk_process *ancestor, const struct hk_process *replaced,
			bool forked);

#endif
