#include "cli/stacks/groups.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "hooks/pattern.h"
#include "report/model/domains.h"
#include "report/model/role.h"

#define WAIT_FRAMES 8u /* innermost ones, in which an idle thread's wait is looked for */

/* Functions by which the threads of pools and of event loops wait. Waits for locks are not among
 * them. */
static const char *const waits[] = {
    "*futex_wait*",
    "*futex_abstimed_wait*",
    "*pthread_cond_*wait*",
    "*sem_*wait*",
    "epoll_*wait*",
    "*poll",
    "*select",
    "*sigtimedwait",
    "sigwait*",
    "*nanosleep",
    "accept*",
    "gomp_*wait*",
    "__kmp_*suspend*",
    "*sched_yield",
};

/* Functions of CPython by which a thread that has work waits for the interpreter lock. */
static const char *const lock_waits[] = {
    "take_gil",
    "eval_frame_handle_pending",
    "_Py_HandlePending",
    "PyEval_RestoreThread",
    "PyEval_AcquireThread",
    "PyGILState_Ensure",
};

struct member {
	UT_hash_handle hh;
	char *key;
	struct hk_stack_group group;
	size_t room;
};

/* ---- threads ---- */

static const char *role_of(const Hk__Process *process)
{
	return hk_report_role_of(process);
}

static bool is_first(const Hk__Process *process, const Hk__ThreadStack *thread)
{
	return thread->tid == process->pid;
}

void hk_stack_groups_label(const Hk__Process *process, const Hk__ThreadStack *thread, char *text,
			   size_t size)
{
	const char *name = is_first(process, thread) ? "main" : *thread->name ? thread->name : "-";
	bool is_main = process->role == HK__ROLE__ROLE_MAIN;

	snprintf(text, size, "%s%s%s", is_main ? "" : role_of(process), is_main ? "" : " ", name);
}

static const Hk__Site *site_of(const Hk__Process *process, uint32_t id)
{
	for (size_t i = 0; i < process->n_sites; i++) {
		if (process->sites[i]->id == id) {
			return process->sites[i];
		}
	}
	return NULL;
}

/* Returns the innermost hooked call that THREAD is in, or NULL. Sets *RET_SITE to its function. */
static const Hk__OpenCall *innermost_call(const Hk__Process *process, const Hk__ThreadStack *thread,
					  const Hk__Site **ret_site)
{
	const Hk__OpenCall *found = NULL;

	*ret_site = NULL;
	for (size_t i = 0; i < process->n_open_calls; i++) {
		const Hk__OpenCall *call = process->open_calls[i];
		const Hk__Site *site =
		    call->tid == thread->tid && (!found || call->depth > found->depth)
			? site_of(process, call->site)
			: NULL;
		if (site) {
			found = call;
			*ret_site = site;
		}
	}
	return found;
}

uint64_t hk_stack_groups_age(const Hk__Process *process, const Hk__OpenCall *call)
{
	const Hk__Anchor *seen = process->seen;

	if (!seen || seen->ticks <= call->start_ticks) {
		return 0;
	}
	unsigned __int128 ns = (unsigned __int128)(seen->ticks - call->start_ticks);
	return (uint64_t)((ns * process->tick_ns_q32) >> 32);
}

size_t hk_stack_groups_frames(const Hk__Process *process, const Hk__ThreadStack *thread,
			      uint32_t numbers[HK_GROUPS_FRAMES])
{
	struct hk_stacks_frame frame;
	uint32_t number = thread->stack;
	size_t count = 0;

	while (count < HK_GROUPS_FRAMES && hk_stacks_frame(process, number, &frame)) {
		numbers[count++] = number;
		number = frame.caller;
	}
	return count;
}

static bool is_one_of(const char *const *patterns, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (hk_pattern_match(patterns[i], name)) {
			return true;
		}
	}
	return false;
}

/* Returns whether a function of THREAD waits for work, from the innermost to the first Python
 * function. */
static bool waits_for_work(const Hk__Process *process, const Hk__ThreadStack *thread)
{
	uint32_t numbers[HK_GROUPS_FRAMES];
	struct hk_stacks_frame frame;
	size_t count = hk_stack_groups_frames(process, thread, numbers);
	bool found = false;

	for (size_t i = 0; i < count && i < WAIT_FRAMES; i++) {
		hk_stacks_frame(process, numbers[i], &frame);
		if (hk_stacks_is_python(&frame)) {
			break;
		}
		if (is_one_of(lock_waits, sizeof(lock_waits) / sizeof(lock_waits[0]), frame.name)) {
			return false;
		}
		found |= is_one_of(waits, sizeof(waits) / sizeof(waits[0]), frame.name);
	}
	return found;
}

bool hk_stack_groups_is_idle(const Hk__Process *process, const Hk__ThreadStack *thread)
{
	const Hk__Site *site;

	if (process->role == HK__ROLE__ROLE_LAUNCHER) {
		return true;
	}
	if (is_first(process, thread) ||
	    (innermost_call(process, thread, &site) && !hk_domain_is_idle(site->domain))) {
		return false;
	}
	return waits_for_work(process, thread);
}

/* ---- groups ---- */

/* Writes what the threads of a group have in common. Returns NULL without memory. */
static char *key_of(const Hk__Process *process, const Hk__ThreadStack *thread, const Hk__Site *call)
{
	uint32_t numbers[HK_GROUPS_FRAMES];
	struct hk_stacks_frame frame;
	char label[96], *key = NULL;
	size_t size;
	FILE *text = open_memstream(&key, &size);

	if (!text) {
		return NULL;
	}
	hk_stack_groups_label(process, thread, label, sizeof(label));
	fprintf(text, "%s\n%s\n%s\n", label, call ? call->function : "", thread->missing);
	size_t count = hk_stack_groups_frames(process, thread, numbers);
	for (size_t i = 0; i < count; i++) {
		hk_stacks_frame(process, numbers[i], &frame);
		fprintf(text, "%s\t%s\t%" PRIx64 "\n", frame.path, frame.name,
			*frame.name && !hk_stacks_is_python(&frame) ? 0 : frame.address);
	}
	if (fclose(text) != 0) {
		free(key);
		return NULL;
	}
	return key;
}

static struct member *member_of(struct member **members, const Hk__Process *process,
				const Hk__ThreadStack *thread, const Hk__Site *call)
{
	char *key = key_of(process, thread, call);
	struct member *member = NULL;

	if (!key) {
		return NULL;
	}
	HASH_FIND_STR(*members, key, member);
	if (member) {
		free(key);
		return member;
	}
	member = calloc(1, sizeof(*member));
	if (!member) {
		free(key);
		return NULL;
	}
	member->key = key;
	member->group = (struct hk_stack_group){
	    .process = process,
	    .thread = thread,
	    .call = call,
	    .least_ns = UINT64_MAX,
	    .is_main = process->role == HK__ROLE__ROLE_MAIN && is_first(process, thread),
	    .idle = hk_stack_groups_is_idle(process, thread),
	};
	HASH_ADD_KEYPTR(hh, *members, member->key, strlen(member->key), member);
	if (!member->hh.tbl) {
		free(key);
		free(member);
		return NULL;
	}
	return member;
}

static int add_rank(struct member *member, int32_t rank)
{
	struct hk_stack_group *group = &member->group;

	/* Processes come in the order of their ranks. */
	if (rank < 0 || (group->rank_count > 0 && group->ranks[group->rank_count - 1] == rank)) {
		return 0;
	}
	if (group->rank_count == member->room) {
		size_t room = member->room ? 2 * member->room : 4;
		int32_t *larger = reallocarray(group->ranks, room, sizeof(*larger));
		if (!larger) {
			return -ENOMEM;
		}
		group->ranks = larger;
		member->room = room;
	}
	group->ranks[group->rank_count++] = rank;
	return 0;
}

static int add_thread(struct member **members, const Hk__Process *process,
		      const Hk__ThreadStack *thread)
{
	const Hk__Site *site;
	const Hk__OpenCall *call = innermost_call(process, thread, &site);
	struct member *member = member_of(members, process, thread, site);

	if (!member) {
		return -ENOMEM;
	}
	if (call) {
		uint64_t age = hk_stack_groups_age(process, call);
		struct hk_stack_group *group = &member->group;
		group->least_ns = age < group->least_ns ? age : group->least_ns;
		group->most_ns = age > group->most_ns ? age : group->most_ns;
	}
	member->group.threads++;
	return add_rank(member, hk_report_rank_of(process));
}

/* ---- order ---- */

static int place_of(const struct hk_stack_group *group)
{
	bool missing = group->thread->stack == 0;

	return group->idle ? 3 : group->is_main ? 0 : missing ? 2 : 1;
}

static int32_t first_rank(const struct hk_stack_group *group)
{
	return group->rank_count > 0 ? group->ranks[0] : INT32_MAX;
}

static int by_size(const void *a, const void *b)
{
	const struct hk_stack_group *x = a, *y = b;

	if (place_of(x) != place_of(y)) {
		return place_of(x) - place_of(y);
	}
	if (x->rank_count != y->rank_count) {
		return x->rank_count > y->rank_count ? -1 : 1;
	}
	if (first_rank(x) != first_rank(y)) {
		return first_rank(x) < first_rank(y) ? -1 : 1;
	}
	return x->threads != y->threads ? (x->threads > y->threads ? -1 : 1)
					: strcmp(x->thread->name, y->thread->name);
}

static int by_rank(const void *a, const void *b)
{
	const Hk__Process *x = *(Hk__Process *const *)a, *y = *(Hk__Process *const *)b;
	int32_t x_rank = hk_report_rank_of(x), y_rank = hk_report_rank_of(y);

	return x_rank != y_rank ? (x_rank < y_rank ? -1 : 1) : x->pid < y->pid ? -1 : 1;
}

/* Moves MEMBERS to GROUPS. */
static int make_list(struct hk_stack_groups *groups, struct member *members)
{
	struct member *member, *next;

	groups->groups = calloc(HASH_COUNT(members) + 1, sizeof(*groups->groups));
	HASH_ITER (hh, members, member, next) {
		if (groups->groups) {
			groups->groups[groups->count++] = member->group;
		} else {
			free(member->group.ranks);
		}
		HASH_DEL(members, member);
		free(member->key);
		free(member);
	}
	if (!groups->groups) {
		return -ENOMEM;
	}
	qsort(groups->groups, groups->count, sizeof(*groups->groups), by_size);
	return 0;
}

int hk_stack_groups_init(struct hk_stack_groups *groups, const Hk__StacksReply *reply)
{
	struct member *members = NULL;
	int32_t last = -1;
	int r = 0;

	*groups = (struct hk_stack_groups){.groups = NULL};
	if (reply->n_processes > 0) {
		qsort(reply->processes, reply->n_processes, sizeof(reply->processes[0]), by_rank);
	}
	for (size_t i = 0; i < reply->n_processes && r == 0; i++) {
		const Hk__Process *process = reply->processes[i];
		int32_t rank = hk_report_rank_of(process);
		groups->ranks += rank >= 0 && rank != last;
		last = rank;
		r = hk_unread_add(&groups->unread, process);
		for (size_t k = 0;
		     k < process->n_thread_stacks && hk_stacks_valid(process) && r == 0; k++) {
			r = add_thread(&members, process, process->thread_stacks[k]);
			groups->threads++;
		}
	}
	int made = make_list(groups, members);
	if (r < 0 || made < 0) {
		hk_stack_groups_fini(groups);
	}
	return r < 0 ? r : made;
}

void hk_stack_groups_fini(struct hk_stack_groups *groups)
{
	for (size_t i = 0; i < groups->count; i++) {
		free(groups->groups[i].ranks);
	}
	free(groups->groups);
	hk_unread_fini(&groups->unread);
	*groups = (struct hk_stack_groups){.groups = NULL};
}
