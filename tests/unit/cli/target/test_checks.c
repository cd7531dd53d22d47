/* The checks of `hookcli doctor` on a machine arranged to be wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/target/checks.h"
#include "settings/settings.h"

static char directory[64];

static struct hk_check_result look(const char *name)
{
	struct hk_check_result result = {.state = HK_CHECK_OK};

	for (size_t i = 0; i < hk_check_count; i++) {
		if (strcmp(hk_checks[i].name, name) == 0) {
			hk_checks[i].check(&result);
			assert_true(*result.detail);
			return result;
		}
	}
	fail_msg("no check '%s'", name);
	return result;
}

static int setup(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/hk-checks-XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(directory);
}

static void test_missing_agent_is_told(void **state)
{
	(void)state;
	hk_settings_set(hk_command_settings(), "agent", "/nowhere/libhookagent.so");
	struct hk_check_result result = look("agent");

	assert_int_equal(result.state, HK_CHECK_FAILED);
	assert_true(*result.fix);
}

static void test_library_that_does_not_load_is_told(void **state)
{
	char path[PATH_MAX];
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/libhookagent.so", directory);
	file = fopen(path, "w");
	fputs("not a library", file);
	fclose(file);
	hk_settings_set(hk_command_settings(), "agent", path);
	struct hk_check_result result = look("agent");

	assert_int_equal(result.state, HK_CHECK_FAILED);
	assert_non_null(strstr(result.detail, "does not load"));
	unlink(path);
}

static void test_kill_switch_is_told(void **state)
{
	(void)state;
	setenv("HOOK_DISABLE", "1", 1);
	assert_int_equal(look("preload").state, HK_CHECK_WARNING);
	unsetenv("HOOK_DISABLE");
}

static void test_run_directory_of_others_is_refused(void **state)
{
	(void)state;
	chmod(directory, 0777);
	setenv("HOOK_RUN_DIR", directory, 1);
	assert_int_equal(look("run directory").state, HK_CHECK_FAILED);
	chmod(directory, 0700);
	assert_true(look("run directory").state < HK_CHECK_FAILED);
	unsetenv("HOOK_RUN_DIR");
}

static void test_program_without_mpi_is_no_fault(void **state)
{
	char *path = strdup(getenv("PATH"));

	(void)state;
	setenv("PATH", directory, 1);
	assert_int_equal(look("mpirun").state, HK_CHECK_NOTE);
	setenv("PATH", path, 1);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_missing_agent_is_told),
	    cmocka_unit_test(test_library_that_does_not_load_is_told),
	    cmocka_unit_test(test_kill_switch_is_told),
	    cmocka_unit_test(test_run_directory_of_others_is_refused),
	    cmocka_unit_test(test_program_without_mpi_is_no_fault),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
