/* The lines of `hookcli env` mean to a shell what they say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/target/run_capture.h"
#include "settings/settings.h"

#define HOOKS "mpi,my file's $HOME `x` \"q\" \\ *"

static char directory[64], agent[PATH_MAX], output[PATH_MAX];

/* Runs the command with its stdout in a file. */
static int run_env(char *launcher)
{
	char *arguments[] = {"hookcli env", launcher, NULL};
	int kept = dup(STDOUT_FILENO), rc;

	fflush(stdout);
	assert_non_null(freopen(output, "w", stdout));
	rc = hk_command_env.run(launcher ? 2 : 1, arguments);
	fflush(stdout);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	return rc;
}

static void ask_shell(const char *script, char *text, size_t size)
{
	const char *const arguments[] = {"sh", "-c", script, "sh", output, NULL};

	assert_int_equal(hk_capture(arguments, environ, 60000, text, size), 0);
}

static int setup(void **state)
{
	FILE *file;

	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/hk-env-XXXXXX");
	if (!mkdtemp(directory)) {
		return -1;
	}
	snprintf(agent, sizeof(agent), "%s/libhookagent.so", directory);
	snprintf(output, sizeof(output), "%s/lines", directory);
	file = fopen(agent, "w");
	hk_settings_set(hk_command_settings(), "agent", agent);
	hk_settings_set(hk_command_settings(), "hooks", HOOKS);
	unsetenv("LD_PRELOAD");
	unsetenv("HOOK_RUN_DIR");
	return file ? fclose(file) : -1;
}

static int teardown(void **state)
{
	(void)state;
	unlink(agent);
	unlink(output);
	return rmdir(directory);
}

static void test_shell_lines_read_back(void **state)
{
	char text[PATH_MAX + 256], expected[PATH_MAX + 256];

	(void)state;
	assert_int_equal(run_env(NULL), HK_EXIT_DONE);
	/* The empty file is no library, so it is looked at only, not loaded. */
	ask_shell("unset HOOK_HOOKS HOOK_LEVEL; eval \"$(sed 's/ LD_PRELOAD/ PRELOAD/' \"$1\")\"; "
		  "printf '%s|%s|%s' \"$PRELOAD\" \"$HOOK_HOOKS\" \"$HOOK_LEVEL\"",
		  text, sizeof(text));
	snprintf(expected, sizeof(expected), "%s|%s|", agent, HOOKS);
	assert_string_equal(text, expected);
}

static void test_mpirun_gets_each_variable_as_one_word(void **state)
{
	char text[4 * PATH_MAX], expected[4 * PATH_MAX];

	(void)state;
	assert_int_equal(run_env("mpirun"), HK_EXIT_DONE);
	ask_shell("mpirun() { printf '%s|' \"$@\"; }; eval \"$(grep '^mpirun.* COMMAND$' \"$1\")\"",
		  text, sizeof(text));
	snprintf(expected, sizeof(expected),
		 "-x|LD_PRELOAD=%s|-x|NVTX_INJECTION64_PATH=%s|-x|HOOK_HOOKS=%s|-x|"
		 "HOOK_ON_FULL=drop|-x|HOOK_BUDGET=2|-x|NCCL_PROFILER_PLUGIN=%s|COMMAND|",
		 agent, agent, HOOKS, agent);
	assert_string_equal(text, expected);
}

static void test_path_that_ld_preload_would_cut_is_refused(void **state)
{
	char spaced[PATH_MAX];

	(void)state;
	snprintf(spaced, sizeof(spaced), "%s/a b.so", directory);
	FILE *file = fopen(spaced, "w");

	assert_non_null(file);
	fclose(file);
	hk_settings_set(hk_command_settings(), "agent", spaced);
	assert_int_equal(run_env(NULL), HK_EXIT_FAILED);
	unlink(spaced);
	assert_int_equal(run_env(NULL), HK_EXIT_FAILED);
	hk_settings_set(hk_command_settings(), "agent", agent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_shell_lines_read_back),
	    cmocka_unit_test(test_mpirun_gets_each_variable_as_one_word),
	    cmocka_unit_test(test_path_that_ld_preload_would_cut_is_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
