/* Fortran forms: everything by address, handles as ints, ierror last, one hidden length per
 * character argument. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hooks/language/parser.h"

static char memory[16 * sizeof(struct hk_hook)];

static struct hk_hook_file parse(const char *text, uint32_t bad)
{
	struct hk_hook_arena arena;
	struct hk_hook_file file;

	hk_hook_arena_init(&arena, memory, sizeof(memory));
	assert_int_equal(hk_hooks_parse(&arena, "f", text, strlen(text), NULL, &file), bad);
	return file;
}

static void test_one_line_makes_every_name(void **state)
{
	struct hk_hook_file file = parse("fortran _ _f08_\nint MPI_Send_X(int a)\n"
					 "int MPI_Y() fortran=off\nint MPI_Z() fortran=only\n"
					 "fortran off\nint MPI_W()\nfortran on\n*:MPI_V\nint U()\n",
					 0);
	static const char *const names[] = {"MPI_Send_X", "mpi_send_x_", "mpi_send_x_f08_", "MPI_Y",
					    "mpi_z_",	  "mpi_z_f08_",	 "MPI_W",	    "MPI_V",
					    "U",	  "u_"};

	(void)state;
	assert_int_equal(file.hook_count, sizeof(names) / sizeof(names[0]));
	for (unsigned i = 0; i < file.hook_count; i++) {
		bool fortran = names[i][strlen(names[i]) - 1] == '_';
		assert_string_equal(file.hooks[i].symbol, names[i]);
		assert_int_equal((file.hooks[i].flags & HK_HOOK_FORTRAN) != 0, fortran);
	}
}

static void test_arguments_go_by_address(void **state)
{
	static const struct {
		const char *name;
		uint8_t type;
		uint8_t reference;
		uint8_t place;
		uint8_t index;
	} expected[] = {
	    {"comm", HK_TYPE_MPI_COMM, 1, HK_PLACE_INTEGER, 0},
	    {"filename", HK_TYPE_PTR, 0, HK_PLACE_INTEGER, 1},
	    {"mode", HK_TYPE_INT, 1, HK_PLACE_INTEGER, 2},
	    {"info", HK_TYPE_INT, 1, HK_PLACE_INTEGER, 3},
	    {"at", HK_TYPE_LONG, 1, HK_PLACE_INTEGER, 4},
	    {"type", HK_TYPE_MPI_DATATYPE, 1, HK_PLACE_INTEGER, 5},
	    {"x", HK_TYPE_DOUBLE, 1, HK_PLACE_STACK, 0},
	    {"buf", HK_TYPE_PTR, 0, HK_PLACE_STACK, 1},
	    {"out", HK_TYPE_PTR, 0, HK_PLACE_STACK, 2},
	    {"flag", HK_TYPE_INT, 1, HK_PLACE_STACK, 3},
	    {"ierror", HK_TYPE_INT, 1, HK_PLACE_STACK, 4},
	};
	struct hk_hook_file file =
	    parse("fortran _\ndefault error=nonzero\n"
		  "int F(comm comm, str filename, int mode, handle info, long at, datatype type,"
		  " double x, ptr buf, chars out, int *flag) io bytes=mode*sizeof(type)",
		  0);

	(void)state;
	assert_int_equal(file.hook_count, 2);
	const struct hk_hook *c = &file.hooks[0];
	const struct hk_hook *fortran = &file.hooks[1];
	assert_int_equal(c->error, HK_ERROR_NONZERO);
	assert_int_equal(c->result, HK_TYPE_INT);
	assert_int_equal(c->args[1].type, HK_TYPE_STR);
	assert_int_equal(c->args[3].type, HK_TYPE_PTR);
	assert_int_equal(c->args[6].place, HK_PLACE_FLOAT);
	assert_int_equal(c->stack_words, 3);
	assert_int_equal(fortran->error, HK_ERROR_IERR);
	assert_int_equal(fortran->result, HK_TYPE_VOID);
	assert_int_equal(fortran->meaning, HK_MEANING_IO);
	assert_int_equal(fortran->stack_words, 5 + 2);
	assert_int_equal(fortran->arg_count, sizeof(expected) / sizeof(expected[0]));
	for (unsigned i = 0; i < fortran->arg_count; i++) {
		assert_string_equal(fortran->args[i].name, expected[i].name);
		assert_int_equal(fortran->args[i].type, expected[i].type);
		assert_int_equal(fortran->args[i].reference, expected[i].reference);
		assert_int_equal(fortran->args[i].place, expected[i].place);
		assert_int_equal(fortran->args[i].index, expected[i].index);
	}
	assert_memory_equal(c->values, fortran->values, sizeof(c->values));
}

static void test_a_line_without_fortran_form_leaves_nothing(void **state)
{
	struct hk_hook_file file = parse("fortran _\nlong F(int a) bytes=result\nint G()\n", 1);

	(void)state;
	assert_int_equal(file.hook_count, 2);
	assert_string_equal(file.hooks[0].symbol, "G");
	assert_string_equal(file.hooks[1].symbol, "g_");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_one_line_makes_every_name),
	    cmocka_unit_test(test_arguments_go_by_address),
	    cmocka_unit_test(test_a_line_without_fortran_form_leaves_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
