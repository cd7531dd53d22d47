/* The kernel's tables of TCP connections. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/proc/connections.h"

static void test_a_row_of_each_family_is_read(void **state)
{
	struct hk_connection connection;
	(void)state;
	assert_int_equal(hk_connection_parse("   1: 0400630A:8888 0300630A:8925 01 "
					     "00000060:00000000 01:0000010C 0000000A     0        "
					     "0 17470904 2 0000000090e6d326 326 0 0 1 -1",
					     &connection),
			 0);
	assert_string_equal(connection.local, "10.99.0.4");
	assert_string_equal(connection.peer, "10.99.0.3");
	assert_int_equal(connection.peer_port, 0x8925);
	assert_true(connection.established);
	assert_int_equal(connection.unanswered, 0x60);
	assert_int_equal(connection.retries, 10);
	assert_int_equal(connection.inode, 17470904);
	assert_int_equal(
	    hk_connection_parse("   0: B80D0120000000000000000001000000:0016 "
				"0000000000000000FFFF00000300630A:C350 0A 00000000:00000000 "
				"04:00000000 00000003     0        0 7 1 0 100 0 0 10 0",
				&connection),
	    0);
	assert_string_equal(connection.local, "2001:db8::1");
	assert_string_equal(connection.peer, "10.99.0.3");
	assert_false(connection.established);
	assert_int_equal(connection.retries, 0); /* another timer than that of retransmission */
}

static void test_lines_of_another_form_are_refused(void **state)
{
	static const char *const lines[] = {
	    "",
	    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid",
	    "   1: 0400630A:8888 0300630A:8925 01 00000060",
	    "   1: 0400630A0:8888 0300630A:8925 01 0:0 01:0 A 0 0 1",
	    "   1: 0400630A:18888 0300630A:8925 01 0:0 01:0 A 0 0 1",
	    "   1: 04:8888 0300630A:8925 01 0:0 01:0 A 0 0 1",
	    "   1: 0400630A0400630A:8888 0300630A:8925 01 0:0 01:0 A 0 0 1",
	};
	struct hk_connection connection;
	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_equal(hk_connection_parse(lines[i], &connection), -EBADMSG);
	}
}

static void test_a_process_without_connections_to_elsewhere_has_none(void **state)
{
	struct hk_connections connections;
	(void)state;
	assert_int_equal(hk_connections_find((uint32_t)getpid(), &connections), 0);
	assert_int_equal(connections.stalled_count, 0);
	assert_int_equal(connections.address_count, 0);
	assert_int_equal(hk_connections_find(UINT32_MAX, &connections), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_row_of_each_family_is_read),
	    cmocka_unit_test(test_lines_of_another_form_are_refused),
	    cmocka_unit_test(test_a_process_without_connections_to_elsewhere_has_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
