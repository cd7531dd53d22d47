/* What an export says of its arrows adds up, wherever it begins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/flow/flow.h"
#include "hooks/hook.h"

#define REQUEST 0x7f0000001000u
#define TAG 5

static const struct hk_export_site send_site = {
    .function = "MPI_Send",
    .domain = "mpi",
    .meaning = HK_MEANING_SEND,
    .key_count = 3,
    .keys = {HK_KEY_COMM, HK_KEY_PEER, HK_KEY_TAG},
};
static const struct hk_export_site receive_site = {
    .function = "MPI_Irecv",
    .domain = "mpi",
    .meaning = HK_MEANING_RECV,
    .key_count = 4,
    .keys = {HK_KEY_COMM, HK_KEY_PEER, HK_KEY_TAG, HK_KEY_REQUEST},
};
static const struct hk_export_site wait_site = {
    .function = "MPI_Wait",
    .domain = "mpi",
    .meaning = HK_MEANING_WAIT,
    .key_count = 1,
    .keys = {HK_KEY_REQUEST},
};
static const struct hk_export_process ranks[] = {{.index = 0, .rank = 0, .role = "main"},
						 {.index = 1, .rank = 1, .role = "main"}};
static const struct hk_export_thread threads[] = {{.process = &ranks[0]}, {.process = &ranks[1]}};

/* The message of rank 1 to rank 0, whose receive was posted before it was sent. RECEIVE_SHOWN: the
 * export has begun when the receive is posted. */
static struct hk_export_flows exchange(bool receive_shown)
{
	struct hk_slice receive = {.start_ns = 10,
				   .end_ns = 12,
				   .site = &receive_site,
				   .word_count = 4,
				   .words = {HK_COMM_WORLD, 1, TAG, REQUEST}};
	struct hk_slice send = {.start_ns = 20,
				.end_ns = 22,
				.site = &send_site,
				.word_count = 3,
				.words = {HK_COMM_WORLD, 0, TAG}};
	struct hk_slice wait = {
	    .start_ns = 30, .end_ns = 32, .site = &wait_site, .word_count = 1, .words = {REQUEST}};
	struct hk_flows *flows = hk_flows_new(2);
	struct hk_export_flows result;

	assert_non_null(flows);
	assert_int_equal(hk_flows_open(flows, &threads[0], &receive, receive_shown), 0);
	assert_int_equal(hk_flows_open(flows, &threads[1], &send, true), 0);
	assert_int_equal(hk_flows_open(flows, &threads[0], &wait, true), 0);
	assert_int_equal(hk_flows_close(flows, &wait), 0);
	assert_int_equal(wait.arrival_count, 1);
	assert_int_equal(wait.arrivals[0].id, send.flow_out);
	result = hk_flows_result(flows);
	hk_flows_free(flows);
	return result;
}

static void test_receive_in_the_export_counts_once(void **state)
{
	struct hk_export_flows result = exchange(true);

	(void)state;
	assert_int_equal(result.receives, 1);
	assert_int_equal(result.messages, 1);
}

static void test_receive_before_the_export_counts_where_it_ends(void **state)
{
	struct hk_export_flows result = exchange(false);

	(void)state;
	assert_int_equal(result.receives, 1);
	assert_int_equal(result.messages, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_receive_in_the_export_counts_once),
	    cmocka_unit_test(test_receive_before_the_export_counts_where_it_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
