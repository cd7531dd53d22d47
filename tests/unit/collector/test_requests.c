/* Which right each request needs: the requests that change nothing are named here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/requests.h"

static void test_what_only_looks_needs_to_read(void **state)
{
	(void)state;
	for (int what = 0; what < 64; what++) {
		bool looks = what == HK__REQUEST__WHAT__NOT_SET ||
			     what == HK__REQUEST__WHAT_STATUS || what == HK__REQUEST__WHAT_LIST ||
			     what == HK__REQUEST__WHAT_SNAPSHOT || what == HK__REQUEST__WHAT_PROBE;
		assert_int_equal(hk_requests_right((Hk__Request__WhatCase)what),
				 looks ? HK_RIGHT_READ : HK_RIGHT_CONTROL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_what_only_looks_needs_to_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
