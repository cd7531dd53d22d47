/* Connections that end while another thread is about to receive on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <utlist.h>

#include "collector/server/connection.h"
#include "collector/server/connection_receive.h"

/* The lock that comes after so many others finds that ENDING has ended; 0: none does. */
static int locks_until_end;
static struct hk_connection *ending;

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);

/* As the collector's thread does that frees it: out of the hub's list. */
static void take_out(struct hk_connection *connection)
{
	connection->ended = true;
	connection->inflight = UINT32_MAX; /* no room for it */
	DL_DELETE(connection->hub->connections, connection);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	int r = __real_pthread_mutex_lock(mutex);
	if (locks_until_end > 0 && --locks_until_end == 0) {
		take_out(ending);
	}
	return r;
}

static void test_a_connection_that_ended_is_not_parked_again(void **state)
{
	const struct hk_collector_options options = {0};
	struct hk_hub hub = {.lock = PTHREAD_MUTEX_INITIALIZER, .count = 2};
	struct hk_connection ends = {.hub = &hub, .parked = true};
	struct hk_connection stays = {.hub = &hub};
	char problem[HK_ACCESS_PROBLEM_BYTES];
	struct hk_policy *policy;
	(void)state;
	assert_int_equal(hk_policy_open(&options, &policy, problem), 0);
	hub.refusals = hk_rejections_new();
	hub.quota = hk_quota_new(policy, hub.refusals);
	assert_non_null(hub.quota);
	ends.account = stays.account = &hub.quota->accounts[HK_ACCOUNT_UNAUTHENTICATED];
	DL_APPEND(hub.connections, &ends);
	DL_APPEND(hub.connections, &stays);

	/* The first lock finds it parked with room, the second one is the receiver's. */
	ending = &ends;
	locks_until_end = 2;
	hk_connection_resume(&hub);
	assert_int_equal(locks_until_end, 0);
	assert_ptr_equal(hub.connections, &stays);
	assert_null(stays.next);
	assert_false(ends.parked);

	hk_quota_free(hub.quota);
	hk_rejections_free(hub.refusals);
	hk_policy_free(policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_connection_that_ended_is_not_parked_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
