#include "cli/flow/sync.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <xxhash.h>

/* Most open calls of a group: the number of calls that one rank may be ahead of another. */
#define INSTANCES 256u

/* Most memory for windows: further groups add no knowledge about clocks. */
#define SLACKS_MAX (64u * 1024 * 1024 / sizeof(struct hk_clock_slack))

/* A node's part in one call. */
struct edge {
	bool there;
	int64_t enter_ns, exit_ns; /* time when its last rank entered, and its first one left */
	uint64_t bound_ns;
};

/* One call of all ranks. */
struct instance {
	uint32_t calls;
	bool empty;
	struct edge *edges; /* indexed by node of the group */
	size_t room;
};

struct node {
	struct hk_sync_result result;
	struct hk_clock_slack *slack;
};

/* A node that has ranks in a group. */
struct group_node {
	uint32_t number;
	struct node known;
};

struct member {
	uint32_t process;
	size_t node; /* index in the group's `nodes` */
	uint64_t calls;
	UT_hash_handle hh;
};

struct group_key {
	uint64_t comm, function;
};

/* The calls of one function on one communicator. */
struct group {
	struct group_key key;
	struct instance
	    instances[INSTANCES]; /* a ring of the instances numbered first to next - 1 */
	uint64_t first, next;
	struct member *members;
	struct group_node *nodes;
	size_t node_count;
	bool doubtful; /* calls of equal numbers do not belong together */
	struct hk_sync_result result;
	UT_hash_handle hh;
};

struct hk_sync {
	struct hk_sync_options options;
	struct group *groups;
	struct node *nodes;
	size_t slacks;
};

int hk_sync_new(const struct hk_sync_options *options, struct hk_sync **ret_sync)
{
	struct hk_sync *sync = calloc(1, sizeof(*sync));
	if (sync) {
		sync->options = *options;
		sync->nodes = calloc(options->nodes + 1, sizeof(*sync->nodes));
	}
	if (!sync || !sync->nodes) {
		free(sync);
		return -ENOMEM;
	}
	*ret_sync = sync;
	return 0;
}

static void group_free(struct group *group)
{
	struct member *member, *next;
	HASH_ITER (hh, group->members, member, next) {
		HASH_DEL(group->members, member);
		free(member);
	}
	for (size_t i = 0; i < INSTANCES; i++) {
		free(group->instances[i].edges);
	}
	for (size_t i = 0; i < group->node_count; i++) {
		free(group->nodes[i].known.slack);
	}
	free(group->nodes);
	free(group);
}

struct hk_sync *hk_sync_free(struct hk_sync *sync)
{
	struct group *group, *next;
	if (!sync) {
		return NULL;
	}
	HASH_ITER (hh, sync->groups, group, next) {
		HASH_DEL(sync->groups, group);
		group_free(group);
	}
	for (size_t i = 0; i < sync->options.nodes; i++) {
		free(sync->nodes[i].slack);
	}
	free(sync->nodes);
	free(sync);
	return NULL;
}

static struct group *group_of(struct hk_sync *sync, const struct hk_sync_call *call)
{
	struct group *group;
	struct group_key key = {call->comm, XXH3_64bits(call->function, strlen(call->function))};
	HASH_FIND(hh, sync->groups, &key, sizeof(key), group);
	if (group || !(group = calloc(1, sizeof(*group)))) {
		return group;
	}
	group->key = key;
	HASH_ADD(hh, sync->groups, key, sizeof(key), group);
	if (!group->hh.tbl) {
		free(group);
		return NULL;
	}
	return group;
}

/* Returns the index of node NUMBER in GROUP, or -ENOMEM. */
static int node_of(struct group *group, uint32_t number)
{
	for (size_t i = 0; i < group->node_count; i++) {
		if (group->nodes[i].number == number) {
			return (int)i;
		}
	}
	struct group_node *grown =
	    realloc(group->nodes, (group->node_count + 1) * sizeof(*group->nodes));
	if (!grown) {
		return -ENOMEM;
	}
	group->nodes = grown;
	grown[group->node_count] = (struct group_node){.number = number};
	return (int)group->node_count++;
}

static struct member *member_of(struct group *group, const struct hk_sync_call *call)
{
	struct member *member;
	HASH_FIND(hh, group->members, &call->process, sizeof(call->process), member);
	if (member) {
		return member;
	}
	int node = node_of(group, call->node);
	member = node < 0 ? NULL : calloc(1, sizeof(*member));
	if (!member) {
		return NULL;
	}
	member->process = call->process;
	member->node = (size_t)node;
	HASH_ADD(hh, group->members, process, sizeof(member->process), member);
	if (!member->hh.tbl) {
		free(member);
		return NULL;
	}
	return member;
}

static struct hk_clock_slack *slack_of(struct hk_sync *sync, struct node *node)
{
	if (!node->slack && sync->slacks < SLACKS_MAX &&
	    (node->slack = malloc(sizeof(*node->slack))) != NULL) {
		sync->slacks++;
		hk_clock_slack_init(node->slack, sync->options.from_ns, sync->options.to_ns);
	}
	return node->slack;
}

static int64_t minus(int64_t a, int64_t b)
{
	int64_t less;
	return __builtin_sub_overflow(a, b, &less) ? (a < b ? INT64_MIN : INT64_MAX) : less;
}

/* Narrows the ranges of the clock errors of GROUP's nodes by INSTANCE. INDEX is the reference's
 * edge. */
static void learn(struct hk_sync *sync, struct group *group, const struct instance *instance,
		  size_t index)
{
	const struct edge *reference = &instance->edges[index];
	for (size_t i = 0; i < instance->room; i++) {
		const struct edge *edge = &instance->edges[i];
		struct hk_clock_slack *slack =
		    edge->there && i != index ? slack_of(sync, &group->nodes[i].known) : NULL;
		if (slack) {
			hk_clock_slack_low(slack, edge->enter_ns,
					   minus(edge->enter_ns, reference->exit_ns));
			hk_clock_slack_high(slack, edge->exit_ns,
					    minus(edge->exit_ns, reference->enter_ns));
		}
	}
}

static void judge_nodes(struct hk_sync *sync, struct group *group, const struct instance *instance,
			size_t enter, size_t exit)
{
	const struct edge *entered = &instance->edges[enter], *left = &instance->edges[exit];
	__int128 early = (__int128)entered->enter_ns - left->exit_ns;
	bool violated = enter != exit && early > (__int128)entered->bound_ns + left->bound_ns;
	group->result.checks++;
	group->result.violations += violated;
	for (size_t i = 0; i < instance->room; i++) {
		struct hk_sync_result *result = &group->nodes[i].known.result;
		result->checks += instance->edges[i].there;
		result->violations += violated && (i == enter || i == exit);
		if (instance->edges[i].there && group->nodes[i].number == sync->options.reference) {
			learn(sync, group, instance, i);
		}
	}
}

static void judge(struct hk_sync *sync, struct group *group, const struct instance *instance)
{
	size_t enter = 0, exit = 0, nodes = 0;
	if (instance->calls < 2 || instance->empty) {
		return;
	}
	for (size_t i = 0; i < instance->room; i++) {
		const struct edge *edge = &instance->edges[i];
		if (!edge->there) {
			continue;
		}
		if (edge->enter_ns > edge->exit_ns) {
			group->doubtful = true; /* calls on one clock contradict each other */
		}
		enter = nodes == 0 || edge->enter_ns > instance->edges[enter].enter_ns ? i : enter;
		exit = nodes == 0 || edge->exit_ns < instance->edges[exit].exit_ns ? i : exit;
		nodes++;
	}
	if (nodes > 1) {
		judge_nodes(sync, group, instance, enter, exit);
	}
}

static void judge_oldest(struct hk_sync *sync, struct group *group)
{
	judge(sync, group, &group->instances[group->first % INSTANCES]);
	group->first++;
}

static int take(struct instance *instance, const struct hk_sync_call *call, size_t node)
{
	if (node >= instance->room) {
		struct edge *grown = realloc(instance->edges, (node + 1) * sizeof(*grown));
		if (!grown) {
			return -ENOMEM;
		}
		memset(grown + instance->room, 0, (node + 1 - instance->room) * sizeof(*grown));
		instance->edges = grown;
		instance->room = node + 1;
	}
	struct edge *edge = &instance->edges[node];
	if (!edge->there || call->enter_ns > edge->enter_ns) {
		edge->enter_ns = call->enter_ns;
	}
	if (!edge->there || call->exit_ns < edge->exit_ns) {
		edge->exit_ns = call->exit_ns;
	}
	if (call->bound_ns > edge->bound_ns) {
		edge->bound_ns = call->bound_ns;
	}
	edge->there = true;
	instance->empty |= call->empty;
	instance->calls++;
	return 0;
}

static void clear(struct instance *instance)
{
	instance->calls = 0;
	instance->empty = false;
	if (instance->room > 0) {
		memset(instance->edges, 0, instance->room * sizeof(*instance->edges));
	}
}

int hk_sync_add(struct hk_sync *sync, const struct hk_sync_call *call)
{
	if (call->comm == 0 || call->node >= sync->options.nodes) {
		return 0;
	}
	struct group *group = group_of(sync, call);
	struct member *member = group ? member_of(group, call) : NULL;
	if (!member) {
		return -ENOMEM;
	}
	uint64_t number = member->calls++;
	if (number < group->first) {
		group->doubtful = true; /* the other ranks are far ahead */
		return 0;
	}
	/* A rank gets one call ahead at a time, but its first call may come late. */
	while (number >= group->next) {
		if (group->next - group->first == INSTANCES) {
			judge_oldest(sync, group);
		}
		clear(&group->instances[group->next % INSTANCES]);
		group->next++;
	}
	return take(&group->instances[number % INSTANCES], call, member->node);
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

static void count(struct hk_sync_result *sum, const struct hk_sync_result *more)
{
	sum->checks += more->checks;
	sum->violations += more->violations;
}

/* Adds the results of GROUP, which are consistent. */
static void believe(struct hk_sync *sync, struct group *group)
{
	for (size_t i = 0; i < group->node_count; i++) {
		struct node *from = &group->nodes[i].known;
		struct node *to = &sync->nodes[group->nodes[i].number];
		count(&to->result, &from->result);
		if (from->slack && !to->slack) {
			to->slack = from->slack;
			from->slack = NULL;
		} else if (from->slack) {
			hk_clock_slack_join(to->slack, from->slack);
		}
	}
}

struct hk_sync_result hk_sync_finish(struct hk_sync *sync)
{
	struct hk_sync_result sum = {0};
	struct group *group, *next;
	HASH_ITER (hh, sync->groups, group, next) {
		while (group->first < group->next) {
			judge_oldest(sync, group);
		}
		if (!group->doubtful && all_alike(group)) {
			count(&sum, &group->result);
			believe(sync, group);
		}
	}
	return sum;
}

struct hk_sync_result hk_sync_node(const struct hk_sync *sync, uint32_t node)
{
	return sync->nodes[node].result;
}

struct hk_clock_slack *hk_sync_slack(struct hk_sync *sync, uint32_t node)
{
	return sync->nodes[node].slack;
}
