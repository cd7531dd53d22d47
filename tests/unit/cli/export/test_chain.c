/* Chains of collective calls are begun once, ended once, and have their parts between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/export/chain.h"

#define TEXT_BYTES 256u

static void append(void *context, const char *kind, uint64_t id, const struct hk_chain_part *part)
{
	char *text = context;
	size_t used = strlen(text);

	snprintf(text + used, TEXT_BYTES - used, "%s%u@%u ", kind, (unsigned)id,
		 (unsigned)part->time_ns);
}

static struct hk_chain_part at(uint64_t time_ns)
{
	return (struct hk_chain_part){.time_ns = time_ns};
}

static void begin(struct hk_chains *chains, uint64_t id, uint64_t time_ns)
{
	const struct hk_chain_part part = at(time_ns);

	assert_int_equal(hk_chains_begin(chains, id, &part), 0);
}

static void add(struct hk_chains *chains, uint64_t id, bool first, uint64_t time_ns)
{
	const struct hk_chain_part part = at(time_ns);

	hk_chains_add(chains, id, first, &part);
}

static void test_calls_end_in_any_order(void **state)
{
	char text[TEXT_BYTES] = "";
	struct hk_chains chains = {.write = append, .context = text};
	(void)state;

	begin(&chains, 1, 10);
	add(&chains, 1, true, 10);
	assert_string_equal(text, "");
	add(&chains, 1, false, 40);
	add(&chains, 1, false, 20);
	add(&chains, 1, false, 30);
	hk_chains_finish(&chains);
	assert_string_equal(text, "s1@10 t1@20 t1@30 f1@40 ");
	assert_null(chains.list);

	*text = '\0';
	begin(&chains, 3, 10); /* ends last */
	add(&chains, 3, false, 11);
	add(&chains, 3, true, 10);
	assert_string_equal(text, "s3@10 ");
	hk_chains_finish(&chains);
	assert_string_equal(text, "s3@10 f3@11 ");
}

static void test_a_call_that_nobody_joins_has_no_arrow(void **state)
{
	char text[TEXT_BYTES] = "";
	struct hk_chains chains = {.write = append, .context = text};
	(void)state;

	begin(&chains, 1, 10);
	add(&chains, 1, true, 10);
	hk_chains_finish(&chains);
	add(&chains, 1, false, 20); /* of one that is over */
	hk_chains_finish(&chains);
	hk_chains_free(&chains);
	assert_string_equal(text, "");
}

static void test_the_oldest_is_ended_when_there_are_too_many(void **state)
{
	char text[TEXT_BYTES] = "";
	struct hk_chains chains = {.write = append, .context = text};
	(void)state;

	begin(&chains, 1, 10);
	add(&chains, 1, false, 15);
	for (uint64_t id = 2; id <= HK_CHAINS_MOST + 1; id++) {
		begin(&chains, id, 20);
	}
	assert_string_equal(text, "s1@10 f1@15 ");
	add(&chains, 1, true, 10);
	add(&chains, 1, false, 16);
	hk_chains_finish(&chains);
	assert_string_equal(text, "s1@10 f1@15 ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_calls_end_in_any_order),
	    cmocka_unit_test(test_a_call_that_nobody_joins_has_no_arrow),
	    cmocka_unit_test(test_the_oldest_is_ended_when_there_are_too_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
