/* Forwarding through Open MPI's launcher, played by scripts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/run/launcher.h"

static char directory[] = "/tmp/hk-launcher-XXXXXX";
static char open_mpi[64], hydra[64], other[64], traced[64];

static void script(char *path, const char *name, const char *says)
{
	snprintf(path, 64, "%s/%s", directory, name);
	FILE *file = fopen(path, "w");
	fprintf(file, "#!/bin/sh\necho \"%s\"\n", says);
	fchmod(fileno(file), 0755);
	fclose(file);
}

/* The arguments that pass VARIABLES through PROGRAM, as one line. */
static const char *joined_of(const char *program, char **arguments, const char *const *variables)
{
	static char text[512];
	char **result;

	assert_int_equal(hk_launcher_forward(program, arguments, variables, "/x/agent.so", &result),
			 0);
	text[0] = '\0';
	for (size_t i = 0, used = 0; result[i]; i++) {
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s ", result[i]);
	}
	hk_launcher_free(result, arguments);
	return text;
}

static const char *joined(const char *program, char **arguments)
{
	const char *const variables[] = {"LD_PRELOAD", "HOOK_JOB", NULL};

	return joined_of(program, arguments, variables);
}

static void test_open_mpi_is_told(void **state)
{
	char *arguments[] = {(char *)"mpirun", (char *)"-n", (char *)"4", (char *)"./a", NULL};
	(void)state;
	assert_string_equal(joined(open_mpi, arguments),
			    "mpirun -x LD_PRELOAD -x HOOK_JOB -n 4 ./a ");
	assert_string_equal(joined(hydra, arguments), "mpirun -n 4 ./a ");
	assert_string_equal(joined(other, arguments), "mpirun -n 4 ./a ");
}

static void test_users_preload_is_kept(void **state)
{
	char *arguments[] = {(char *)"mpirun", (char *)"-x", (char *)"LD_PRELOAD=b.so",
			     (char *)"LD_PRELOAD=c.so", NULL};
	(void)state;
	assert_string_equal(joined(open_mpi, arguments),
			    "mpirun -x HOOK_JOB -x LD_PRELOAD=/x/agent.so:b.so LD_PRELOAD=c.so ");
}

static void test_users_sanitizer_options_are_kept(void **state)
{
	const char *const variables[] = {"ASAN_OPTIONS", "HOOK_JOB", NULL};
	char *arguments[] = {(char *)"mpirun", (char *)"-x", (char *)"ASAN_OPTIONS=detect_leaks=0",
			     (char *)"./a", NULL};
	(void)state;
	assert_string_equal(joined_of(open_mpi, arguments, variables),
			    "mpirun -x HOOK_JOB -x "
			    "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 ./a ");
}

/* What hookcli asks the launcher is no process of the job. */
static void test_question_is_not_traced(void **state)
{
	char *arguments[] = {(char *)"mpirun.x", (char *)"./a", NULL};
	(void)state;
	setenv("LD_PRELOAD", "", 1);
	assert_string_equal(joined(traced, arguments), "mpirun.x -x LD_PRELOAD -x HOOK_JOB ./a ");
	unsetenv("LD_PRELOAD");
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(directory)) {
		return -1;
	}
	script(open_mpi, "mpirun", "mpirun (Open MPI) 4.1.4");
	script(hydra, "mpiexec", "HYDRA build details:");
	script(other, "mpirunner", "Open MPI");
	script(traced, "mpirun.x", "${LD_PRELOAD-Open MPI}");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return unlink(open_mpi) || unlink(hydra) || unlink(other) || unlink(traced) ||
	       rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_open_mpi_is_told),
	    cmocka_unit_test(test_users_preload_is_kept),
	    cmocka_unit_test(test_users_sanitizer_options_are_kept),
	    cmocka_unit_test(test_question_is_not_traced),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
