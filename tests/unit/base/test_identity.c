/* Every launcher's variables in a table: what is set, who that makes us. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/identity.h"

#define SLURM "SLURM_JOB_ID=77", "SLURM_PROCID=3", "SLURM_NTASKS=8", "SLURM_LOCALID=1"
#define OMPI "OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_LOCAL_RANK=0"
#define TORCH "RANK=5", "WORLD_SIZE=16", "LOCAL_RANK=1"

struct launch {
	const char *environment[16];
	int rank, world_size, local_rank;
	const char *job, *job_source, *rank_source;
};

static const struct launch launches[] = {
    {{NULL}, -1, -1, -1, "", "", ""},
    {{"PATH=/bin", "HOME=/root"}, -1, -1, -1, "", "", ""},
    {{"HOOK_RANK=0", "HOOK_WORLD_SIZE=2", "HOOK_LOCAL_RANK=0", "HOOK_JOB=my job/../x"},
     0,
     2,
     0,
     "my_job_.._x",
     "HOOK_JOB",
     "HOOK_RANK"},
    {{"HOOK_JOB=..", NULL}, -1, -1, -1, "_.", "HOOK_JOB", ""},
    {{"HOOK_RANK=1", OMPI}, 1, -1, -1, "", "", "HOOK_RANK"},
    {{"HOOK_RANK=2", OMPI}, 2, 4, 0, "", "", "HOOK_RANK"},
    {{"HOOK_WORLD_SIZE=9", OMPI}, 2, 9, 0, "", "", "OMPI_COMM_WORLD_RANK"},
    /* torchrun's names alone are anybody's: they count if they fit each other and no launcher
     * says otherwise */
    {{TORCH}, 5, 16, 1, "", "", "RANK"},
    {{"RANK=5"}, -1, -1, -1, "", "", ""},
    {{"RANK=5", "WORLD_SIZE=5"}, -1, -1, -1, "", "", ""},
    {{"RANK=first", "WORLD_SIZE=5"}, -1, -1, -1, "", "", ""},
    {{TORCH, OMPI}, 2, 4, 0, "", "", "OMPI_COMM_WORLD_RANK"},
    {{TORCH, "MASTER_ADDR=n1", "MASTER_PORT=29500"},
     5,
     16,
     1,
     "torch-n1_29500",
     "MASTER_ADDR",
     "RANK"},
    {{TORCH, "TORCHELASTIC_RUN_ID=abc", "MASTER_ADDR=fe80::1", "MASTER_PORT=1",
      "TORCHELASTIC_RESTART_COUNT=2"},
     5,
     16,
     1,
     "abc-fe80__1_1-2",
     "TORCHELASTIC_RUN_ID",
     "RANK"},
    {{OMPI}, 2, 4, 0, "", "", "OMPI_COMM_WORLD_RANK"},
    {{OMPI, "PMIX_NAMESPACE=3226992641", "PMIX_RANK=2"},
     2,
     4,
     0,
     "3226992641",
     "PMIX_NAMESPACE",
     "OMPI_COMM_WORLD_RANK"},
    {{"PMIX_RANK=6", "PMIX_NAMESPACE=slurm.pmix.5.0"},
     6,
     -1,
     -1,
     "slurm.pmix.5.0",
     "PMIX_NAMESPACE",
     "PMIX_RANK"},
    {{"PMIX_RANK=6"}, -1, -1, -1, "", "", ""},
    {{"PMI_RANK=1", "PMI_SIZE=2", "MPI_LOCALRANKID=1"}, 1, 2, 1, "", "", "PMI_RANK"},
    {{SLURM, "SLURM_STEP_ID=0"}, 3, 8, 1, "77.0", "SLURM_STEP_ID", "SLURM_PROCID"},
    /* a batch script is no rank, whether it has no step or Slurm's number for itself */
    {{SLURM}, -1, -1, -1, "", "", ""},
    {{SLURM, "SLURM_STEP_ID=4294967291"}, -1, -1, -1, "", "", ""},
    /* pmix under srun: the size comes from Slurm, which agrees on the rank */
    {{SLURM, "SLURM_STEP_ID=1", "PMIX_RANK=3", "PMIX_NAMESPACE=slurm.pmix.77.1"},
     3,
     8,
     1,
     "77.1",
     "SLURM_STEP_ID",
     "PMIX_RANK"},
    /* mpirun inside an allocation: first node without a step, others with that of the daemon */
    {{SLURM, OMPI, "PMIX_NAMESPACE=42"}, 2, 4, 0, "42", "PMIX_NAMESPACE", "OMPI_COMM_WORLD_RANK"},
    {{SLURM, "SLURM_STEP_ID=0", OMPI, "PMIX_NAMESPACE=42"},
     2,
     4,
     0,
     "42",
     "PMIX_NAMESPACE",
     "OMPI_COMM_WORLD_RANK"},
    /* no numbers, or out of range */
    {{"HOOK_RANK=", "OMPI_COMM_WORLD_RANK=1x"}, -1, -1, -1, "", "", ""},
    {{"HOOK_RANK=-1", "PMI_RANK=0"}, 0, -1, -1, "", "", "PMI_RANK"},
    {{"HOOK_RANK=2147483647"}, -1, -1, -1, "", "", ""},
    {{"HOOK_RANK=99999999999999999999999999"}, -1, -1, -1, "", "", ""},
    {{"HOOK_RANK=2147483646", "HOOK_WORLD_SIZE=2147483647"},
     2147483646,
     2147483647,
     -1,
     "",
     "",
     "HOOK_RANK"},
    {{"HOOK_RANK=4", "HOOK_WORLD_SIZE=4"}, 4, -1, -1, "", "", "HOOK_RANK"},
    {{"HOOK_RANK=0", "HOOK_WORLD_SIZE=0"}, 0, -1, -1, "", "", "HOOK_RANK"},
    /* names that only begin alike */
    {{"HOOK_RANKS=1", "XHOOK_RANK=1", "HOOK_RANK"}, -1, -1, -1, "", "", ""},
};

static void test_launchers_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(launches) / sizeof(launches[0]); i++) {
		const struct launch *launch = &launches[i];
		char *environment[16];
		struct hk_identity identity;

		memcpy(environment, launch->environment, sizeof(environment));
		memset(&identity, 0xaa, sizeof(identity));
		hk_identity_read(environment, &identity);
		print_message("launch %zu\n", i);
		assert_int_equal(identity.rank, launch->rank);
		assert_int_equal(identity.world_size, launch->world_size);
		assert_int_equal(identity.local_rank, launch->local_rank);
		assert_string_equal(identity.job, launch->job);
		assert_string_equal(identity.job_source, launch->job_source);
		assert_string_equal(identity.rank_source, launch->rank_source);
	}
}

static void test_long_job_is_cut(void **state)
{
	char variable[400];
	char *environment[] = {variable, NULL};
	struct hk_identity identity;

	(void)state;
	int length = snprintf(variable, sizeof(variable), "HOOK_JOB=");
	memset(variable + length, 'j', 300);
	variable[length + 300] = '\0';
	hk_identity_read(environment, &identity);
	assert_int_equal(strlen(identity.job), sizeof(identity.job) - 1);
	assert_int_equal(strspn(identity.job, "j"), sizeof(identity.job) - 1);
}

static void test_variable_finds_first_exact_name(void **state)
{
	char *environment[] = {"AB=1", "A=2", "A=3", "EMPTY=", NULL};

	(void)state;
	assert_string_equal(hk_identity_variable(environment, "A"), "2");
	assert_string_equal(hk_identity_variable(environment, "EMPTY"), "");
	assert_null(hk_identity_variable(environment, "B"));
	assert_null(hk_identity_variable(NULL, "A"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_launchers_table),
	    cmocka_unit_test(test_long_job_is_cut),
	    cmocka_unit_test(test_variable_finds_first_exact_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
