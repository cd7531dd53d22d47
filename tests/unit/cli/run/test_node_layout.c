/* What launchers say of the ranks on a node, and of other nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/run/node_layout.h"

static struct hk_node_layout world_of(const char *const *variables)
{
	struct hk_identity identity;
	struct hk_node_layout world;

	hk_identity_read((char *const *)(uintptr_t)variables, &identity);
	hk_node_layout_read((char *const *)(uintptr_t)variables, &identity, &world);
	return world;
}

static void expect(const char *const *variables, int local_size, bool many_nodes)
{
	struct hk_node_layout world = world_of(variables);

	assert_int_equal(world.local_size, local_size);
	assert_int_equal(world.many_nodes, many_nodes);
}

static void test_world_without_a_launcher(void **state)
{
	(void)state;
	const char *const none[] = {"PATH=/bin", NULL};
	const char *const size[] = {"LOCAL_WORLD_SIZE=2", NULL};
	expect(none, 0, false);
	expect(size, 2, false);
}

static void test_world_of_mpirun(void **state)
{
	(void)state;
	const char *const one[] = {"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=4",
				   "OMPI_COMM_WORLD_LOCAL_SIZE=4", NULL};
	const char *const three[] = {"OMPI_COMM_WORLD_RANK=11", "OMPI_COMM_WORLD_SIZE=12",
				     "OMPI_COMM_WORLD_LOCAL_SIZE=4", NULL};
	expect(one, 4, false);
	expect(three, 4, true);
}

static void test_world_of_torchrun(void **state)
{
	(void)state;
	const char *const two[] = {
	    "RANK=2", "WORLD_SIZE=4", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=2", "MASTER_ADDR=10.0.0.1",
	    NULL};
	expect(two, 2, true);
}

static void test_world_of_srun(void **state)
{
	(void)state;
	const char *const second[] = {"SLURM_STEP_ID=0",
				      "SLURM_PROCID=5",
				      "SLURM_NTASKS=14",
				      "SLURM_NODEID=1",
				      "SLURM_STEP_TASKS_PER_NODE=4(x3),2",
				      NULL};
	const char *const last[] = {"SLURM_STEP_ID=0",
				    "SLURM_PROCID=13",
				    "SLURM_NTASKS=14",
				    "SLURM_NODEID=3",
				    "SLURM_STEP_TASKS_PER_NODE=4(x3),2",
				    NULL};
	const char *const only[] = {"SLURM_STEP_ID=0",
				    "SLURM_PROCID=1",
				    "SLURM_NTASKS=4",
				    "SLURM_NODEID=0",
				    "SLURM_STEP_TASKS_PER_NODE=4",
				    NULL};
	expect(second, 4, true);
	expect(last, 2, true);
	expect(only, 4, false);
}

/* A list that is not as it should be says nothing. */
static void test_world_of_bad_lists(void **state)
{
	(void)state;
	static const char *const lists[] = {
	    "SLURM_STEP_TASKS_PER_NODE=",      "SLURM_STEP_TASKS_PER_NODE=x",
	    "SLURM_STEP_TASKS_PER_NODE=4(x0)", "SLURM_STEP_TASKS_PER_NODE=4(x",
	    "SLURM_STEP_TASKS_PER_NODE=0,4",   "SLURM_STEP_TASKS_PER_NODE=4,",
	};
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		const char *const variables[] = {"SLURM_STEP_ID=0", "SLURM_PROCID=5",
						 "SLURM_NTASKS=8",  "SLURM_NODEID=1",
						 lists[i],	    NULL};
		expect(variables, 0, false);
	}
}

/* srun starts one daemon of mpirun's on each node: the ranks are mpirun's. */
static void test_world_of_mpirun_in_an_allocation(void **state)
{
	(void)state;
	const char *const variables[] = {"OMPI_COMM_WORLD_RANK=3",
					 "OMPI_COMM_WORLD_SIZE=8",
					 "OMPI_COMM_WORLD_LOCAL_SIZE=4",
					 "SLURM_STEP_ID=0",
					 "SLURM_PROCID=0",
					 "SLURM_NTASKS=2",
					 "SLURM_NODEID=0",
					 "SLURM_STEP_TASKS_PER_NODE=1(x2)",
					 NULL};
	expect(variables, 4, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_world_without_a_launcher),
	    cmocka_unit_test(test_world_of_mpirun),
	    cmocka_unit_test(test_world_of_torchrun),
	    cmocka_unit_test(test_world_of_srun),
	    cmocka_unit_test(test_world_of_bad_lists),
	    cmocka_unit_test(test_world_of_mpirun_in_an_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
