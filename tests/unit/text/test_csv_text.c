/* Fields of CSV from names that may hold anything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "text/csv_text.h"

#define BAD "\xef\xbf\xbd"

static void test_texts(void **state)
{
	static const struct {
		const char *text, *field;
	} cases[] = {
	    {"", "\"\""},
	    {"MPI_Send", "\"MPI_Send\""},
	    {"a,b;c d", "\"a,b;c d\""},
	    {"say \"no\"", "\"say \"\"no\"\"\""},
	    {"two\nlines", "\"two\nlines\""},
	    {"back\rtab\tend", "\"back" BAD "tab" BAD "end\""},
	    {"\x1b[2J", "\"" BAD "[2J\""},
	    {"\xc2\x9b"
	     "2J",
	     "\"" BAD "2J\""},
	    {"\xc3\xa9\xff\xc3", "\"\xc3\xa9" BAD BAD "\""},
	    /* What a spreadsheet would calculate. */
	    {"=1+1", "\"'=1+1\""},
	    {"+1", "\"'+1\""},
	    {"-1", "\"'-1\""},
	    {"@SUM(A1)", "\"'@SUM(A1)\""},
	    {"a=1", "\"a=1\""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = NULL;
		size_t bytes = 0;
		FILE *output = open_memstream(&text, &bytes);

		assert_non_null(output);
		hk_csv_text(output, cases[i].text);
		assert_int_equal(fclose(output), 0);
		assert_string_equal(text, cases[i].field);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
