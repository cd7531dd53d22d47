/* What one account may take: bytes of requests, directories, values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "collector/server/quota.h"

#define SECOND_NS UINT64_C(1000000000)
#define MIB (UINT64_C(1) << 20)

struct world {
	struct hk_policy *policy;
	struct hk_rejections *refusals;
	struct hk_quota *quota;
	struct hk_account *account;
};

static void world_open(struct world *world)
{
	const struct hk_collector_options options = {0};
	char problem[HK_ACCESS_PROBLEM_BYTES];
	assert_int_equal(hk_policy_open(&options, &world->policy, problem), 0);
	world->refusals = hk_rejections_new();
	world->quota = hk_quota_new(world->policy, world->refusals);
	assert_non_null(world->quota);
	world->account = &world->quota->accounts[HK_ACCOUNT_OPEN];
}

static void world_close(struct world *world)
{
	hk_quota_free(world->quota);
	hk_rejections_free(world->refusals);
	hk_policy_free(world->policy);
}

static bool take(struct world *world, const void *owner, enum hk_held kind, size_t bytes)
{
	bool fits = hk_quota_fits(world->quota, world->account, owner, kind, bytes);
	if (fits) {
		hk_quota_hold(world->quota, world->account, kind, bytes);
	}
	return fits;
}

static void test_one_owner_leads_beyond_the_limit_until_it_lets_go(void **state)
{
	struct world world;
	int first, second, third;
	(void)state;
	world_open(&world);
	assert_true(take(&world, &first, HK_HELD_LONG, 40 * MIB));
	assert_true(take(&world, &second, HK_HELD_LONG, 40 * MIB)); /* beyond: it leads */
	assert_true(take(&world, &second, HK_HELD_LONG, 20 * MIB));
	assert_false(take(&world, &first, HK_HELD_LONG, 1));
	assert_false(take(&world, &third, HK_HELD_LONG, 1));
	hk_quota_release(world.quota, world.account, &second, HK_HELD_LONG, 60 * MIB);
	assert_true(take(&world, &third, HK_HELD_LONG, 8 * MIB));
	hk_quota_release(world.quota, world.account, &first, HK_HELD_LONG, 40 * MIB);
	hk_quota_release(world.quota, world.account, &third, HK_HELD_LONG, 8 * MIB);
	assert_int_equal(world.quota->held_all, 0);
	world_close(&world);
}

static void test_short_requests_pass_long_ones_up_to_their_own_limit(void **state)
{
	struct world world;
	int first, second;
	(void)state;
	world_open(&world);
	assert_true(take(&world, &first, HK_HELD_LONG, 48 * MIB));
	assert_true(take(&world, &first, HK_HELD_LONG, 48 * MIB));
	assert_true(take(&world, &second, HK_HELD_SHORT, 32 * MIB));
	assert_false(take(&world, &second, HK_HELD_SHORT, 1));
	world_close(&world);
}

static void test_directories_come_at_once_and_then_one_a_second(void **state)
{
	struct world world;
	uint64_t now_ns = 1000 * SECOND_NS;
	(void)state;
	world_open(&world);
	for (uint32_t i = 0; i < HK_QUOTA_DIRECTORIES; i++) {
		assert_true(hk_quota_directory(world.account, now_ns));
	}
	assert_false(hk_quota_directory(world.account, now_ns));
	assert_false(hk_quota_directory(world.account, now_ns + SECOND_NS - 1));
	assert_true(hk_quota_directory(world.account, now_ns + SECOND_NS));
	assert_false(hk_quota_directory(world.account, now_ns + SECOND_NS));
	world_close(&world);
}

static void test_values_end_at_the_limit_and_the_refusal_is_counted(void **state)
{
	struct world world;
	(void)state;
	world_open(&world);
	assert_int_equal(hk_quota_values(world.quota, world.account, world.quota->values_max), 0);
	assert_int_equal(world.account->refused, 0);
	assert_int_equal(hk_quota_values(world.quota, world.account, 1), -EDQUOT);
	assert_int_equal(world.account->refused, 1);
	assert_int_equal(hk_rejections_total(world.refusals), 1);
	world_close(&world);
}

static void test_texts_are_cut_between_characters(void **state)
{
	char text[] = "abc\xc3\xa4\xc3\xb6";
	(void)state;
	hk_quota_cut(text, 7);
	assert_string_equal(text, "abc\xc3\xa4\xc3\xb6");
	hk_quota_cut(text, 6);
	assert_string_equal(text, "abc\xc3\xa4");
	hk_quota_cut(text, 4);
	assert_string_equal(text, "abc");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_one_owner_leads_beyond_the_limit_until_it_lets_go),
	    cmocka_unit_test(test_short_requests_pass_long_ones_up_to_their_own_limit),
	    cmocka_unit_test(test_directories_come_at_once_and_then_one_a_second),
	    cmocka_unit_test(test_values_end_at_the_limit_and_the_refusal_is_counted),
	    cmocka_unit_test(test_texts_are_cut_between_characters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
