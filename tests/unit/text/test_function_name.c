/* Names of MPI's functions as the languages spell them, and names of ranges that are steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "text/mpi_name.h"
#include "text/step_name.h"

static void names_of_mpi_are_the_same_in_all_languages(void **state)
{
	static const char *const spelled[] = {"MPI_Init_thread", "mpi_init_thread",
					      "mpi_init_thread_", "MPI_INIT_THREAD",
					      "mpi_init_thread_f08_"};
	char name[HK_MPI_NAME_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(spelled) / sizeof(spelled[0]); i++) {
		assert_true(hk_mpi_name(spelled[i], name));
		assert_string_equal(name, "init_thread");
	}
	assert_false(hk_mpi_name("PMPI_Send", name));
	assert_string_equal(name, "");
	assert_true(hk_mpi_name("MPI_", name));
	assert_string_equal(name, "");
	assert_true(hk_mpi_name("MPI__f08_", name));
	assert_string_equal(name, "_f08");
	assert_true(hk_mpi_name("MPI_a_name_that_is_longer_than_the_room_for_it", name));
	assert_string_equal(name, "a_name_that_is_longer_than_the");
}

static void names_of_steps_are_known(void **state)
{
	(void)state;
	assert_true(hk_is_step_name("step"));
	assert_true(hk_is_step_name("Step 12"));
	assert_true(hk_is_step_name("ProfilerStep#7"));
	assert_false(hk_is_step_name("stepping stone"));
	assert_false(hk_is_step_name("optimizer step"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_of_mpi_are_the_same_in_all_languages),
	    cmocka_unit_test(names_of_steps_are_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
