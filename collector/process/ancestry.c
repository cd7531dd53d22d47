#include "collector/process/ancestry.h"

#include <string.h>
#include <utlist.h>

#include "collector/model/collector.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/proc/procfs.h"
#include "collector/process/role.h"
#include "ring/reader.h"

#define GENERATIONS_MAX 64

static bool newer(const struct hk_process *a, const struct hk_process *b)
{
	uint64_t start_a = a->state->start ? a->state->start->monotonic_ns : 0;
	uint64_t start_b = b->state->start ? b->state->start->monotonic_ns : 0;
	return a->exited != b->exited ? !a->exited : start_a >= start_b;
}

static struct hk_process *first_of_pid(const struct hk_collector *collector, uint32_t pid)
{
	struct hk_process *first;
	HASH_FIND(hh_pid, collector->pids, &pid, sizeof(pid), first);
	return first;
}

static void put_first(struct hk_collector *collector, struct hk_process *process)
{
	HASH_ADD_KEYPTR(hh_pid, collector->pids, &process->state->pid, sizeof(process->state->pid),
			process);
}

void hk_ancestry_add(struct hk_collector *collector, struct hk_process *process)
{
	struct hk_process *first = first_of_pid(collector, process->state->pid);
	HASH_ADD(hh_uid, collector->images, uid, HK_UID_BYTES, process);
	if (!first) {
		put_first(collector, process);
	}
	DL_APPEND2(first, process, pid_prev, pid_next);
}

void hk_ancestry_remove(struct hk_collector *collector, struct hk_process *process)
{
	struct hk_process *first = first_of_pid(collector, process->state->pid);
	bool was_first = first == process;
	HASH_DELETE(hh_uid, collector->images, process);
	if (was_first) {
		HASH_DELETE(hh_pid, collector->pids, process);
	}
	DL_DELETE2(first, process, pid_prev, pid_next);
	if (was_first && first) {
		put_first(collector, first);
	}
}

struct hk_process *hk_ancestry_by_uid(const struct hk_collector *collector, const uint8_t *uid)
{
	struct hk_process *process;
	HASH_FIND(hh_uid, collector->images, uid, HK_UID_BYTES, process);
	return process;
}

struct hk_process *hk_ancestry_by_pid(const struct hk_collector *collector, uint32_t pid)
{
	struct hk_process *process, *found = NULL;
	DL_FOREACH2(first_of_pid(collector, pid), process, pid_next)
	{
		if (!process->foreign && (!found || newer(process, found))) {
			found = process;
		}
	}
	return found;
}

struct hk_process *hk_ancestry_nearest(const struct hk_collector *collector, uint32_t ppid,
				       uint64_t monotonic_ns)
{
	struct hk_procfs_stat stat;
	for (int i = 0; i < GENERATIONS_MAX && ppid > 1; i++) {
		struct hk_process *process = hk_ancestry_by_pid(collector, ppid);
		if (process && process->state->start &&
		    process->state->start->monotonic_ns <= monotonic_ns) {
			return process;
		}
		if (hk_procfs_stat(ppid, &stat) < 0) {
			return NULL;
		}
		ppid = stat.ppid;
	}
	return NULL;
}

/* Returns whether pids of PROCESS and of NAMESPACE can be compared. Of a process without a segment,
 * only membership in the collector's namespace is known. */
static bool counts_in(const struct hk_collector *collector, const struct hk_process *process,
		      uint64_t namespace)
{
	return process->foreign ? !process->remote && process->pid_namespace == namespace
				: namespace == collector->pid_namespace;
}

struct hk_process *hk_ancestry_previous_image(const struct hk_collector *collector,
					      const struct hk_segment_identity *identity)
{
	struct hk_process *process, *found = NULL;
	DL_FOREACH2(first_of_pid(collector, identity->pid), process, pid_next)
	{
		if (process->state->pid_start == identity->pid_start &&
		    memcmp(process->uid, identity->uid, HK_UID_BYTES) != 0 &&
		    counts_in(collector, process, identity->pid_namespace) &&
		    (!found || newer(process, found))) {
			found = process;
		}
	}
	return found;
}

/* Returns whether A and B have the same rank, named by the launcher for both, or for neither. */
static bool same_rank(const Hk__Process *a, const Hk__Process *b)
{
	return a->rank_known == b->rank_known && (!a->rank_known || a->rank == b->rank);
}

static bool below_main(const struct hk_process *process, const struct hk_process *ancestor)
{
	const Hk__Process *own = process->state;
	if (!ancestor || ancestor->job != process->job) {
		return false;
	}
	const Hk__Process *above = ancestor->state;
	if (above->role != HK__ROLE__ROLE_MAIN && above->role != HK__ROLE__ROLE_HELPER) {
		return false;
	}
	return !own->rank_known || same_rank(own, above);
}

static bool main_lives(const struct hk_collector *collector, const struct hk_process *process,
		       const struct hk_process *replaced)
{
	const struct hk_process *other, *next;
	HASH_ITER (hh, collector->processes, other, next) {
		if (other->job == process->job && other != process && other != replaced &&
		    !other->exited && other->state->role == HK__ROLE__ROLE_MAIN &&
		    same_rank(other->state, process->state)) {
			return true;
		}
	}
	return false;
}

/* PROCESS is the first main with a rank: mains without a rank have started it, and become
 * launchers. */
static void demote_unranked(struct hk_process *process)
{
	struct hk_process *other;
	DL_FOREACH (process->job->processes, other) {
		if (other != process && !other->state->rank_known &&
		    other->state->role == HK__ROLE__ROLE_MAIN) {
			other->state->role = HK__ROLE__ROLE_LAUNCHER;
			other->state->rank = -1;
			other->changed = true;
		}
	}
}

void hk_ancestry_settle(const struct hk_collector *collector, struct hk_process *process,
			const struct hk_process *ancestor, const struct hk_process *replaced,
			bool forked)
{
	Hk__Process *state = process->state;
	const struct hk_role_facts facts = {
	    .program = state->program,
	    .command = state->command,
	    .rank = state->rank,
	    .predecessor = replaced ? replaced->state->role : HK__ROLE__ROLE_UNKNOWN,
	    .below_main = below_main(process, ancestor),
	    .main_lives = main_lives(collector, process, replaced),
	    .forked = forked,
	};
	state->role = hk_role_decide(&facts);
	if (state->rank_known) {
		if (state->role == HK__ROLE__ROLE_MAIN && !process->job->ranked) {
			demote_unranked(process);
			process->job->ranked = true;
		}
		return;
	}
	if (facts.below_main || facts.predecessor == HK__ROLE__ROLE_HELPER) {
		state->rank = facts.below_main ? ancestor->state->rank : replaced->state->rank;
	} else if (state->role != HK__ROLE__ROLE_LAUNCHER) {
		/* Without a launcher there is one rank; beside ranks it is whatever prepares or
		 * collects them. */
		bool beside = process->job->ranked;
		state->role = beside ? HK__ROLE__ROLE_LAUNCHER : state->role;
		state->rank = beside ? -1 : 0;
	}
}
