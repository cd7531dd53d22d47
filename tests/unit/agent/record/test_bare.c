/* Programs that are started without the agent: entries are shared, bounded, and withdrawn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/record/bare.h"

static _Alignas(4096) char block[HK_BLOCK_BYTES];

static struct hk_segment_header *header(void)
{
	return (struct hk_segment_header *)(void *)block;
}

static struct hk_bare_table *table(void)
{
	return (struct hk_bare_table *)(void *)(block + HK_BARE_OFFSET);
}

/* Each test begins with an empty table. */
static void clear(void)
{
	memset(block, 0, sizeof(block));
}

static void equal_starts_share_an_entry(void **state)
{
	(void)state;
	clear();
	struct hk_bare *first = hk_bare_enter(header(), HK_BARE_STATIC, "a");
	assert_ptr_equal(hk_bare_enter(header(), HK_BARE_STATIC, "a"), first);
	assert_ptr_not_equal(hk_bare_enter(header(), HK_BARE_RIGHTS, "a"), first);
	assert_ptr_not_equal(hk_bare_enter(header(), HK_BARE_STATIC, "ab"), first);
	assert_int_equal(table()->asked, 3);
	assert_int_equal(first->times, 2);
	hk_bare_withdraw(first);
	hk_bare_withdraw(NULL);
	assert_int_equal(first->times, 1);
}

static void a_long_name_keeps_its_end(void **state)
{
	char name[300];
	(void)state;
	clear();
	memset(name, 'x', sizeof(name));
	memcpy(name + sizeof(name) - 5, "/end", 5);
	struct hk_bare *entry = hk_bare_enter(header(), HK_BARE_STATIC, name);
	assert_int_equal(strlen(entry->program), HK_BARE_PROGRAM_BYTES - 1);
	assert_string_equal(entry->program + strlen(entry->program) - 4, "/end");
	assert_ptr_equal(hk_bare_enter(header(), HK_BARE_STATIC, name), entry);
}

static void a_full_table_counts(void **state)
{
	char name[8];
	(void)state;
	clear();
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "%u", i);
		struct hk_bare *entry = hk_bare_enter(header(), HK_BARE_STATIC, name);
		assert_int_equal(entry != NULL, i < HK_BARE_MAX);
	}
	assert_int_equal(table()->asked, 1000);
	/* Nothing beyond the block. */
	assert_string_equal(table()->entry[HK_BARE_MAX - 1].program, "23");
}

/* Names without an end come from another process that writes into the same file. */
static void a_damaged_table_does_no_harm(void **state)
{
	(void)state;
	clear();
	memset(block + HK_BARE_OFFSET, 0xff, HK_BLOCK_BYTES - HK_BARE_OFFSET);
	assert_null(hk_bare_enter(header(), HK_BARE_STATIC, "a"));
	table()->asked = HK_BARE_MAX;
	table()->entry[0].reason = HK_BARE_STATIC;
	assert_null(hk_bare_enter(header(), HK_BARE_STATIC, "a"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(equal_starts_share_an_entry),
	    cmocka_unit_test(a_long_name_keeps_its_end),
	    cmocka_unit_test(a_full_table_counts),
	    cmocka_unit_test(a_damaged_table_does_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
