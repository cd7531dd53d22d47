/* Roles by table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "collector/job/jobdir.h"
#include "collector/proc/procfs.h"
#include "collector/process/role.h"

#define MAIN HK__ROLE__ROLE_MAIN
#define HELPER HK__ROLE__ROLE_HELPER
#define LAUNCHER HK__ROLE__ROLE_LAUNCHER
#define NONE HK__ROLE__ROLE_UNKNOWN

static void test_role_table(void **state)
{
	(void)state;
	static const struct {
		struct hk_role_facts facts;
		Hk__Role role;
	} rows[] = {
	    {{"/usr/bin/lmp", "lmp -in x", 0, NONE, false, false, false}, MAIN},
	    {{"/usr/bin/lmp", "lmp -in x", -1, NONE, false, false, false}, MAIN},
	    {{"/usr/bin/mpirun", "mpirun -n 4 lmp", -1, NONE, false, false, false}, LAUNCHER},
	    {{"/usr/bin/mpiexec.openmpi", "mpiexec lmp", -1, NONE, false, false, false}, LAUNCHER},
	    {{"/usr/bin/orted", "orted", -1, NONE, false, false, false}, LAUNCHER},
	    {{"/usr/bin/dash", "sh -c lmp", 3, NONE, false, false, false}, LAUNCHER},
	    {{"/usr/bin/sort", "sort", 3, NONE, false, false, false}, MAIN},
	    {{"/usr/bin/environment", "environment", 0, NONE, false, false, false}, MAIN},
	    {{"/usr/bin/python3", "python3 -m torch.distributed.run t.py", -1, NONE, false, false,
	      false},
	     LAUNCHER},
	    {{"/usr/bin/python3", "python3 -m torch.distributed.run t.py", 1, NONE, false, false,
	      false},
	     MAIN},
	    {{"/usr/bin/python3", "python3 /opt/bin/torchrun t.py", -1, NONE, false, false, false},
	     LAUNCHER},
	    /* below or beside a main */
	    {{"/usr/bin/lmp", "lmp", 0, NONE, true, true, false}, HELPER},
	    {{"/usr/bin/bash", "bash -c ls", 0, NONE, true, true, false}, HELPER},
	    {{"/usr/bin/gzip", "gzip", 0, NONE, false, true, false}, HELPER},
	    {{"/usr/bin/lmp", "lmp", 0, NONE, true, false, false}, HELPER},
	    /* the next image of a process */
	    {{"/usr/bin/lmp", "lmp", 0, MAIN, false, true, false}, MAIN},
	    {{"/usr/bin/bash", "bash", 0, MAIN, false, false, false}, MAIN},
	    {{"/usr/bin/lmp", "lmp", 0, HELPER, false, false, false}, HELPER},
	    {{"/usr/bin/lmp", "lmp", 0, LAUNCHER, false, false, false}, MAIN},
	    {{"/usr/bin/lmp", "lmp", 0, LAUNCHER, false, true, false}, HELPER},
	    /* forked, whatever is known of the parent */
	    {{"/usr/bin/lmp", "lmp", 0, NONE, false, false, true}, HELPER},
	    {{"/usr/bin/lmp", "lmp", -1, NONE, false, false, true}, HELPER},
	    {{"/usr/bin/bash", "bash -c ls", 0, NONE, false, false, true}, LAUNCHER},
	    {{"/usr/bin/lmp", "lmp", 0, HELPER, false, false, true}, HELPER},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (hk_role_decide(&rows[i].facts) != rows[i].role) {
			fail_msg("row %zu: %s", i, rows[i].facts.command);
		}
	}
}

static void test_role_job_id_is_a_file_name(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
	    {"48213.0", "48213.0"},
	    {"a/b c", "a_b_c"},
	    {"", "_"},
	    {"..", "_."},
	    {"-rf", "_rf"},
	    {"x\n\x1b[31m", "x__31m"},
	    {"pmix@1234:5", "pmix@1234:5"},
	};
	char id[HK_JOBDIR_ID_BYTES], longest[400];
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		hk_jobdir_id(rows[i][0], id);
		if (i != 5) {
			assert_string_equal(id, rows[i][1]);
		}
		assert_null(strpbrk(id, "/\n\x1b ["));
	}
	memset(longest, 'y', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	hk_jobdir_id(longest, id);
	assert_true(strlen(id) < HK_JOBDIR_ID_BYTES - 10);
}

static void test_role_stat_line_of_a_hostile_name(void **state)
{
	(void)state;
	struct hk_procfs_stat stat;
	assert_int_equal(
	    hk_procfs_parse_stat("17 (a) Z 9 (b) S 4 17 17 0 -1 4194304 100 0 0 0 50 25 "
				 "0 0 20 0 3 0 98765 1 1",
				 &stat),
	    0);
	assert_int_equal(stat.state, 'S');
	assert_int_equal(stat.ppid, 4);
	assert_int_equal(stat.threads, 3);
	assert_int_equal(stat.start_ticks, 98765);
	assert_int_equal(stat.cpu_ns, 750000000);
	assert_true(hk_procfs_parse_stat("17 (a", &stat) < 0);
	assert_true(hk_procfs_parse_stat("17 (a) S 4 5", &stat) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_role_table),
	    cmocka_unit_test(test_role_job_id_is_a_file_name),
	    cmocka_unit_test(test_role_stat_line_of_a_hostile_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
