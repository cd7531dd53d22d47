#include "exporters/sync.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <xxhash.h>

/* Calls of a group that are open at one time: by so many one rank may be ahead of another. */
#define INSTANCES 256u

/* One end of a call: who was the last to enter, or the first to leave. */
struct edge {
	int64_t ns;
	uint64_t bound_ns;
	uint32_t node;
};

/* One call of all ranks. */
struct instance {
	uint32_t calls;
	bool empty, many_nodes;
	struct edge enter, exit;
};

struct member {
	uint32_t process;
	uint64_t calls;
	UT_hash_handle hh;
};

struct group_key {
	uint64_t comm, function;
};

/* The calls of one function on one communicator. */
struct group {
	struct group_key key;
	struct instance instances[INSTANCES]; /* of numbers first to next - 1, by number */
	uint64_t first, next;
	struct member *members;
	bool doubtful; /* their numbers do not fit */
	struct hk_sync_result result;
	UT_hash_handle hh;
};

struct hk_sync {
	struct group *groups;
};

int hk_sync_new(struct hk_sync **ret_sync)
{
	*ret_sync = calloc(1, sizeof(**ret_sync));
	return *ret_sync ? 0 : -ENOMEM;
}

struct hk_sync *hk_sync_free(struct hk_sync *sync)
{
	struct group *group, *next_group;
	struct member *member, *next_member;
	if (!sync) {
		return NULL;
	}
	HASH_ITER (hh, sync->groups, group, next_group) {
		HASH_ITER (hh, group->members, member, next_member) {
			HASH_DEL(group->members, member);
			free(member);
		}
		HASH_DEL(sync->groups, group);
		free(group);
	}
	free(sync);
	return NULL;
}

static struct group *group_of(struct hk_sync *sync, const struct hk_sync_call *call)
{
	struct group *group;
	struct group_key key = {call->comm, XXH3_64bits(call->function, strlen(call->function))};
	HASH_FIND(hh, sync->groups, &key, sizeof(key), group);
	if (!group && (group = calloc(1, sizeof(*group))) != NULL) {
		group->key = key;
		HASH_ADD(hh, sync->groups, key, sizeof(key), group);
	}
	return group;
}

static struct member *member_of(struct group *group, uint32_t process)
{
	struct member *member;
	HASH_FIND(hh, group->members, &process, sizeof(process), member);
	if (!member && (member = calloc(1, sizeof(*member))) != NULL) {
		member->process = process;
		HASH_ADD(hh, group->members, process, sizeof(process), member);
	}
	return member;
}

static void judge(struct group *group, const struct instance *instance)
{
	if (instance->calls < 2 || instance->empty) {
		return;
	}
	const struct edge *enter = &instance->enter, *exit = &instance->exit;
	__int128 early = (__int128)enter->ns - exit->ns;
	if (early > 0 && enter->node == exit->node) {
		group->doubtful = true; /* one clock cannot contradict itself */
	}
	group->result.checks += instance->many_nodes;
	group->result.violations +=
	    early > (__int128)enter->bound_ns + exit->bound_ns && enter->node != exit->node;
}

static void judge_oldest(struct group *group)
{
	judge(group, &group->instances[group->first % INSTANCES]);
	group->first++;
}

static void take(struct instance *instance, const struct hk_sync_call *call)
{
	const struct edge enter = {call->enter_ns, call->bound_ns, call->node};
	const struct edge exit = {call->exit_ns, call->bound_ns, call->node};
	if (instance->calls == 0 || enter.ns > instance->enter.ns) {
		instance->many_nodes |= instance->calls > 0 && enter.node != instance->enter.node;
		instance->enter = enter;
	}
	if (instance->calls == 0 || exit.ns < instance->exit.ns) {
		instance->exit = exit;
	}
	instance->many_nodes |= call->node != instance->enter.node;
	instance->empty |= call->empty;
	instance->calls++;
}

int hk_sync_add(struct hk_sync *sync, const struct hk_sync_call *call)
{
	if (call->comm == 0) {
		return 0;
	}
	struct group *group = group_of(sync, call);
	struct member *member = group ? member_of(group, call->process) : NULL;
	if (!member) {
		return -ENOMEM;
	}
	uint64_t number = member->calls++;
	if (number < group->first) {
		group->doubtful = true; /* the others are far ahead */
		return 0;
	}
	/* A rank is one call further at a time, but its first may be late. */
	while (number >= group->next) {
		if (group->next - group->first == INSTANCES) {
			judge_oldest(group);
		}
		group->instances[group->next % INSTANCES] = (struct instance){0};
		group->next++;
	}
	take(&group->instances[number % INSTANCES], call);
	return 0;
}

static bool all_alike(const struct group *group)
{
	const struct member *member;
	for (member = group->members; member; member = member->hh.next) {
		if (member->calls != group->members->calls) {
			return false;
		}
	}
	return true;
}

struct hk_sync_result hk_sync_finish(struct hk_sync *sync)
{
	struct hk_sync_result sum = {0};
	struct group *group, *next;
	HASH_ITER (hh, sync->groups, group, next) {
		while (group->first < group->next) {
			judge_oldest(group);
		}
		if (!group->doubtful && all_alike(group)) {
			sum.checks += group->result.checks;
			sum.violations += group->result.violations;
		}
	}
	return sum;
}
