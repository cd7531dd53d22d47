/* The digest of a process's sites: the same for the same, another one for any difference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "wire/sites.h"

#define SITES 2u

struct table {
	Hk__Process process;
	Hk__Site sites[SITES], *list[SITES];
	uint32_t keys[2];
	char function[16];
};

static void make(struct table *table)
{
	hk__process__init(&table->process);
	table->keys[0] = 3;
	table->keys[1] = 4;
	for (uint32_t i = 0; i < SITES; i++) {
		Hk__Site *site = table->list[i] = &table->sites[i];
		hk__site__init(site);
		site->id = i;
		/* Equal texts at different places are equal. */
		snprintf(table->function, sizeof(table->function), "read");
		site->function = table->function;
		site->library = (char *)(uintptr_t) "/lib/a.so";
		site->domain = (char *)(uintptr_t) "io";
		site->level = 4;
		site->keys = table->keys;
		site->n_keys = 1;
	}
	table->process.sites = table->list;
	table->process.n_sites = SITES;
}

static void test_same_sites_have_the_same_digest(void **state)
{
	(void)state;
	struct table a, b;
	make(&a);
	make(&b);
	b.process.rank = 7;
	b.sites[1].pinned = true;
	assert_int_equal(hk_sites_digest(&a.process), hk_sites_digest(&b.process));
	a.process.n_sites = 0;
	assert_int_not_equal(hk_sites_digest(&a.process), 0);
}

static void test_any_difference_has_another_digest(void **state)
{
	(void)state;
	struct table table;
	uint64_t seen[10];
	for (size_t i = 0; i < 10; i++) {
		make(&table);
		Hk__Site *site = &table.sites[1];
		site->id += i == 1;
		site->flags += i == 2;
		site->meaning += i == 3;
		site->level += i == 4;
		site->n_keys += i == 5;
		site->function = i == 6 ? (char *)(uintptr_t) "rea" : site->function;
		/* The same bytes one after the other. */
		site->library = i == 6 ? (char *)(uintptr_t) "d/lib/a.so" : site->library;
		site->library = i == 7 ? (char *)(uintptr_t) "/lib/b.so" : site->library;
		site->domain = i == 8 ? (char *)(uintptr_t) "mpi" : site->domain;
		table.process.n_sites -= i == 9;
		seen[i] = hk_sites_digest(&table.process);
		for (size_t k = 0; k < i; k++) {
			assert_int_not_equal(seen[k], seen[i]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_same_sites_have_the_same_digest),
	    cmocka_unit_test(test_any_difference_has_another_digest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
