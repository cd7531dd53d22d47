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
	int r = hk_peers_take(collector, &node, &peer);
	if (r == 0) {
		peer->seen_ns = now_ns;
	}
	return r;
}

/* A leaf of one job's own has a new id each time: a root that goes on for months has seen many. */
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
	assert_int_equal(take(collector, 0, now_ns), 0); /* who is known is let in */
	assert_int_equal(HASH_COUNT(collector->peers), count - 1);
	hk_peers_free_all(collector);
	free(collector);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_peers_that_are_long_gone_make_room),
	    cmocka_unit_test(test_peers_that_are_there_stay),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
