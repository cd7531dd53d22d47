/* Which leaves a root remembers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "collector/link/peers.h"
#include "collector/model/collector.h"
#include "collector/model/job.h"

#define MANY 5000u

static void name(Hk__Node *node, uint8_t id[HK_NODE_ID_BYTES], uint32_t number)
{
	hk__node__init(node);
	memset(id, 0, HK_NODE_ID_BYTES);
	memcpy(id, &number, sizeof(number));
	node->id = (ProtobufCBinaryData){HK_NODE_ID_BYTES, id};
}

/* Takes leaf NUMBER, which reports at NOW. */
static int take(struct hk_collector *collector, uint32_t number, uint64_t now_ns)
{
	uint8_t id[HK_NODE_ID_BYTES];
	struct hk_peer *peer;
	Hk__Node node;
	name(&node, id, number);
	int r = hk_peers_take(collector, &node, NULL, &peer);
	if (r == 0) {
		peer->seen_ns = now_ns;
	}
	return r;
}

/* A leaf of one job's own has a new id each time: a root sees many of them over months. */
static void test_peers_that_are_long_gone_make_room(void **state)
{
	(void)state;
	struct hk_collector *collector = calloc(1, sizeof(*collector));
	assert_non_null(collector);
	uint64_t now_ns = hk_clock_monotonic_ns();
	for (uint32_t i = 0; i < MANY; i++) {
		assert_int_equal(take(collector, i, now_ns - 2 * HK_PEERS_LOST_NS + i), 0);
	}
	hk_peers_free_all(collector);
	free(collector);
}

static void test_peers_that_are_there_stay(void **state)
{
	(void)state;
	struct hk_collector *collector = calloc(1, sizeof(*collector));
	assert_non_null(collector);
	uint64_t now_ns = hk_clock_monotonic_ns();
	uint32_t count = 0;
	int r = 0;
	for (; r == 0 && count < MANY; count++) {
		r = take(collector, count, now_ns);
	}
	assert_int_equal(r, -ENOSPC);
	assert_int_equal(take(collector, 0, now_ns), 0); /* a known leaf is accepted */
	assert_int_equal(HASH_COUNT(collector->peers), count - 1);
	hk_peers_free_all(collector);
	free(collector);
}

/* Leaf NUMBER of HOST reports at NOW with a token of USER. */
static struct hk_peer *hear(struct hk_collector *collector, uint32_t number, const char *host,
			    const char *user, uint64_t now_unix_ns)
{
	uint8_t id[HK_NODE_ID_BYTES];
	uint64_t bounds[2] = {5, 7000 + number};
	Hk__ClockMap clock = HK__CLOCK_MAP__INIT;
	Hk__LeafReport report = HK__LEAF_REPORT__INIT;
	struct hk_peer *peer;
	Hk__Node node;
	name(&node, id, number);
	node.host = (char *)(uintptr_t)host;
	node.spooled_bytes = 100 + number;
	node.shed_records = number;
	node.clock = &clock;
	clock.bound_ns = bounds;
	clock.n_bound_ns = 2;
	report.node = &node;
	report.n_jobs = 3;
	assert_int_equal(hk_peers_take(collector, &node, NULL, &peer), 0);
	hk_peers_record_report(peer, &report, user, now_unix_ns);
	return peer;
}

static void test_leaves_are_listed_for_whom_they_concern(void **state)
{
	struct hk_collector *collector = calloc(1, sizeof(*collector));
	Hk__Leaf **list;
	size_t count;
	(void)state;
	assert_non_null(collector);
	hear(collector, 1, "b", "", 1000);
	struct hk_peer *silent = hear(collector, 2, "a", "ann", 2000);
	hear(collector, 3, "c", "bob", 3000);
	struct hk_peer *gone = hear(collector, 4, "d", "", 4000);
	silent->seen_ns -= HK_PEERS_SILENT_NS;
	gone->seen_ns -= HK_PEERS_LOST_NS;
	assert_int_equal(hk_peers_list(collector, "", &list, &count), 0);
	assert_int_equal(count, 3);
	assert_string_equal(list[0]->host, "a");
	assert_false(list[0]->connected);
	assert_string_equal(list[1]->host, "b");
	assert_true(list[1]->connected);
	assert_int_equal(list[1]->since_unix_ns, 1000);
	assert_int_equal(list[1]->unsent_bytes, 101);
	assert_int_equal(list[1]->shed_records, 1);
	assert_int_equal(list[1]->clock_bound_ns, 7001);
	assert_int_equal(list[1]->jobs, 3);
	free(list);
	assert_int_equal(hk_peers_list(collector, "bob", &list, &count), 0);
	assert_int_equal(count, 1);
	assert_string_equal(list[0]->host, "c");
	free(list);
	hk_peers_free_all(collector);
	free(collector);
}

static void test_a_silence_begins_a_new_connection(void **state)
{
	struct hk_collector *collector = calloc(1, sizeof(*collector));
	(void)state;
	assert_non_null(collector);
	struct hk_peer *peer = hear(collector, 1, "a", "", 1000);
	hear(collector, 1, "a", "", 2000);
	assert_int_equal(peer->since_unix_ns, 1000);
	assert_int_equal(peer->seen_unix_ns, 2000);
	peer->seen_ns -= HK_PEERS_SILENT_NS;
	hear(collector, 1, "a", "", 3000);
	assert_int_equal(peer->since_unix_ns, 3000);
	hk_peers_free_all(collector);
	free(collector);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_peers_that_are_long_gone_make_room),
	    cmocka_unit_test(test_peers_that_are_there_stay),
	    cmocka_unit_test(test_leaves_are_listed_for_whom_they_concern),
	    cmocka_unit_test(test_a_silence_begins_a_new_connection),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
