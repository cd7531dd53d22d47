/* ancestry.h: relates processes: ancestors, images of one pid, ranks, roles.
 *
 * Has tables by uid and by pid of every process of every open job, ended ones too, so a look-up
 * takes the same time for any number. Pids are those of the collector's pid namespace. Images of
 * one process are related in any pid namespace.
 */
#ifndef HK_COLLECTOR_PROCESS_ANCESTRY_H
#define HK_COLLECTOR_PROCESS_ANCESTRY_H

#include <stdbool.h>
#include <stdint.h>

struct hk_collector;
struct hk_process;
struct hk_segment_identity;

/* Adds PROCESS, whose uid and state are set, or removes it. Called when its job's list changes. */
void hk_ancestry_add(struct hk_collector *collector, struct hk_process *process);
void hk_ancestry_remove(struct hk_collector *collector, struct hk_process *process);

/* Returns process image UID of an open job, living or ended, or NULL. */
struct hk_process *hk_ancestry_by_uid(const struct hk_collector *collector, const uint8_t *uid);

/* Returns the newest image with PID, living ones first, or NULL. */
struct hk_process *hk_ancestry_by_pid(const struct hk_collector *collector, uint32_t pid);

/* Returns the nearest known process at or above pid PPID that began before MONOTONIC_NS, or NULL.
 * Skips untraced processes while they live. */
struct hk_process *hk_ancestry_nearest(const struct hk_collector *collector, uint32_t ppid,
				       uint64_t monotonic_ns);

/* Returns the newest other image of IDENTITY's process, which is the one before exec, or NULL. */
struct hk_process *hk_ancestry_previous_image(const struct hk_collector *collector,
					      const struct hk_segment_identity *identity);

/* Sets role and rank of PROCESS, which is in its job's list, from its ANCESTOR and the image that
 * it REPLACED (or NULL). FORKED: it began without exec. May turn processes into launchers that were
 * mains before any rank was known. */
void hk_ancestry_settle(const struct hk_collector *collector, struct hk_process *process,
			const struct hk_process *ancestor, const struct hk_process *replaced,
			bool forked);

#endif
