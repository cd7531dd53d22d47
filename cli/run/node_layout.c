#include "cli/run/node_layout.h"

#include <stdlib.h>
#include <string.h>

#define RANKS_MAX 65535

/* Returns the value of variable NAME, or 0 if NAME is unset, no decimal number, or above
 * RANKS_MAX. */
static int number(char *const *environment, const char *name)
{
	const char *text = hk_identity_variable(environment, name);
	char *end;

	if (!text || *text < '0' || *text > '9') {
		return 0;
	}
	long value = strtol(text, &end, 10);
	return *end || value > RANKS_MAX ? 0 : (int)value;
}

/* Returns number NODE of a list such as "4(x3),2": four on each of the first three nodes, then two.
 * Returns 0 if the list has no such number. */
static int slurm_tasks(const char *list, int node)
{
	while (list && *list >= '0' && *list <= '9') {
		char *end;
		long tasks = strtol(list, &end, 10), times = 1;
		if (strncmp(end, "(x", 2) == 0) {
			times = strtol(end + 2, &end, 10);
			end += *end == ')';
		}
		if (tasks <= 0 || tasks > RANKS_MAX || times <= 0) {
			return 0;
		}
		if (node < times) {
			return (int)tasks;
		}
		node -= (int)times;
		list = *end == ',' ? end + 1 : NULL;
	}
	return 0;
}

static int slurm_local_size(char *const *environment)
{
	const char *node = hk_identity_variable(environment, "SLURM_NODEID");
	const char *list = hk_identity_variable(environment, "SLURM_STEP_TASKS_PER_NODE");

	if (!list) {
		list = hk_identity_variable(environment, "SLURM_TASKS_PER_NODE");
	}
	return node ? slurm_tasks(list, number(environment, "SLURM_NODEID")) : 0;
}

void hk_node_layout_read(char *const *environment, const struct hk_identity *identity,
			 struct hk_node_layout *ret_world)
{
	static const char *const sizes[] = {"HOOK_LOCAL_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
					    "LOCAL_WORLD_SIZE", "MPI_LOCALNRANKS"};
	struct hk_node_layout world = {0};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && world.local_size == 0; i++) {
		world.local_size = number(environment, sizes[i]);
	}
	/* Ranks of mpirun in an allocation inherit the variables of the step of mpirun's daemons,
	 * one on each node: these do not describe the ranks. */
	if (world.local_size == 0 && strncmp(identity->rank_source, "SLURM_", 6) == 0) {
		world.local_size = slurm_local_size(environment);
	}
	world.many_nodes =
	    identity->rank >= 0 && world.local_size > 0 && identity->world_size > world.local_size;
	*ret_world = world;
}
