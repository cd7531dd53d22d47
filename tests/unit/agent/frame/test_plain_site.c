/* Sites without a thunk: one for each text, also if threads define it at once, until there is no
 * room; and their numbers in the segment. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/frame/plain_site.h"
#include "agent/record/process.h"

#define THREADS 4
#define SHARED 2000u

static const struct hk_hook *hook, *other_hook;

static struct hk_plain_text text_of(const char *text)
{
	return (struct hk_plain_text){text, strlen(text)};
}

static uint32_t define(const char *function, const char *library, const struct hk_hook *of)
{
	const struct hk_plain_request request = {.hook = of,
						 .function = text_of(function),
						 .library = text_of(library),
						 .level = HK_LEVEL_RECORD};
	return hk_plain_site_define(&request);
}

static int start(void **state)
{
	static char directory[] = "/tmp/hk-plain-XXXXXX";
	char *argv[] = {directory, NULL}, reason[256];

	(void)state;
	assert_non_null(mkdtemp(directory));
	setenv("HOOK_RUN_DIR", directory, 1);
	assert_int_equal(hk_process_start(1, argv, environ, "", HK_LEVEL_RECORD, reason), 0);
	hook = hk_plain_site_hook(text_of("python"), HK_ERROR_NEVER);
	other_hook = hk_plain_site_hook(text_of("torch"), HK_ERROR_NEVER);
	return 0;
}

static int end(void **state)
{
	(void)state;
	unlink(hk_process.writer.path);
	return rmdir(getenv("HOOK_RUN_DIR"));
}

static void equal_texts_have_one_site(void **state)
{
	uint32_t first = define("f", "a.py", hook);

	(void)state;
	assert_int_not_equal(first, HK_PLAIN_NONE);
	assert_int_equal(define("f", "a.py", hook), first);
	assert_int_not_equal(define("fa", ".py", hook), first);
	assert_int_not_equal(define("f", "a.p", hook), first);
	assert_int_not_equal(define("f", "a.py", other_hook), first);
	assert_int_not_equal(define("", "", hook), HK_PLAIN_NONE);
	assert_ptr_equal(hk_plain_site_hook(text_of("python"), HK_ERROR_NEVER), hook);
	assert_ptr_not_equal(hk_plain_site_hook(text_of("python"), HK_ERROR_NULL), hook);
	assert_string_equal(hook->domain, "python");
}

static void a_text_counts_as_far_as_its_length(void **state)
{
	const struct hk_plain_request request = {
	    .hook = hook, .function = {"cut here", 3}, .library = {"b.py", 4}};
	uint32_t site = hk_plain_site_define(&request);

	(void)state;
	assert_int_equal(define("cut", "b.py", hook), site);
	assert_string_equal(hk_site_table_item(site)->function, "cut");
}

static void sites_are_numbered_in_the_order_of_their_creation(void **state)
{
	uint32_t count = hk_site_table_count();
	uint32_t site = define("numbered", "c.py", hook);
	const struct hk_site_hot *hot = hk_plain_site(site);

	(void)state;
	assert_int_equal(hk_site_table_count(), count + 1);
	assert_int_equal(hk_hot_number(hot), count);
	assert_ptr_equal(hk_site_table_find(count), hot);
	assert_int_equal(hot->index, site);
	assert_int_equal(hot->control, HK_CONTROL_FRAME);
	assert_null(hk_site_table_find(count + 1));
	assert_null(hk_site_table_find(HK_OPEN_UNKNOWN));
	assert_null(hk_plain_site(HK_PLAIN_NONE));
	assert_null(hk_plain_site(0));
	assert_null(hk_plain_site(HK_INDEX_BOUND));
}

static void *define_all(void *found)
{
	for (uint32_t i = 0; i < SHARED; i++) {
		char name[32];
		snprintf(name, sizeof(name), "shared %u", i);
		((uint32_t *)found)[i] = define(name, "d.py", hook);
	}
	return NULL;
}

static void threads_that_define_the_same_get_the_same(void **state)
{
	static uint32_t found[THREADS][SHARED];
	uint32_t count = hk_site_table_count();
	pthread_t thread[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_create(&thread[i], NULL, define_all, found[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
	}
	assert_int_equal(hk_site_table_count(), count + SHARED);
	for (int i = 1; i < THREADS; i++) {
		assert_memory_equal(found[i], found[0], sizeof(found[0]));
	}
}

/* What exists is found where nothing can be made. */
static void nothing_is_made_inside_of_the_agent_or_in_a_sandbox(void **state)
{
	uint32_t site = define("before", "e.py", hook);

	(void)state;
	hk_in_agent = 1;
	assert_int_equal(define("before", "e.py", hook), site);
	assert_int_equal(define("inside", "e.py", hook), HK_PLAIN_NONE);
	assert_null(hk_plain_site_hook(text_of("inside"), HK_ERROR_NEVER));
	hk_in_agent = 0;
	hk_process.sealed = true;
	assert_int_equal(define("before", "e.py", hook), site);
	assert_int_equal(define("sealed", "e.py", hook), HK_PLAIN_NONE);
	hk_process.sealed = false;
	assert_int_not_equal(define("sealed", "e.py", hook), HK_PLAIN_NONE);
}

static void a_full_table_keeps_what_it_has(void **state)
{
	char name[32];
	uint32_t made = 0, last = HK_PLAIN_NONE, site;

	(void)state;
	do {
		snprintf(name, sizeof(name), "many %u", made++);
		site = define(name, "f.py", hook);
		last = site == HK_PLAIN_NONE ? last : site;
	} while (site != HK_PLAIN_NONE);
	assert_int_equal(last, HK_INDEX_BOUND - 1);
	assert_int_equal(hk_site_table_count(), HK_PLAIN_SITES);
	assert_int_equal(define("f", "a.py", hook), HK_PLAIN_FIRST);
	assert_int_equal(define("more", "f.py", hook), HK_PLAIN_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(equal_texts_have_one_site),
	    cmocka_unit_test(a_text_counts_as_far_as_its_length),
	    cmocka_unit_test(sites_are_numbered_in_the_order_of_their_creation),
	    cmocka_unit_test(threads_that_define_the_same_get_the_same),
	    cmocka_unit_test(nothing_is_made_inside_of_the_agent_or_in_a_sandbox),
	    cmocka_unit_test(a_full_table_keeps_what_it_has),
	};
	return cmocka_run_group_tests(tests, start, end);
}
