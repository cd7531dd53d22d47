/* Requests in several messages: as senders store them, in another attempt too, and hostile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/engine/subject.h"
#include "collector/feed/assembly.h"
#include "wire/message.h"

#define ONE "hooktrace.data.0.one"
#define OTHER "hooktrace.data.0.other"

struct fixture {
	struct hk_assemblies assemblies;
	uint64_t sequence, now_ns, attempt;
	uint8_t *bytes; /* of the last whole request */
	size_t size;
};

static int add(struct fixture *fixture, const char *subject, unsigned part, unsigned parts,
	       const char *text, size_t size)
{
	const struct hk_source_message message = {
	    .sequence = ++fixture->sequence,
	    .subject = subject,
	    .bytes = text,
	    .size = size,
	    .part = part,
	    .parts = parts,
	    .attempt = fixture->attempt,
	};
	const void *whole = NULL;
	free(fixture->bytes);
	fixture->bytes = NULL;
	fixture->size = 0;
	int r = hk_assembly_add(&fixture->assemblies, &message, ++fixture->now_ns, &whole,
				&fixture->size);
	if (r > 0) {
		fixture->bytes = malloc(fixture->size + 1);
		assert_non_null(fixture->bytes);
		memcpy(fixture->bytes, whole, fixture->size);
		hk_assembly_done(&fixture->assemblies, &message);
	}
	return r;
}

static int add_text(struct fixture *fixture, const char *subject, unsigned part, unsigned parts,
		    const char *text)
{
	return add(fixture, subject, part, parts, text, strlen(text));
}

static void assert_whole(const struct fixture *fixture, const char *text)
{
	assert_int_equal(fixture->size, strlen(text));
	assert_memory_equal(fixture->bytes, text, fixture->size);
}

static void assert_none_waits(const struct fixture *fixture)
{
	assert_true(hk_assembly_oldest(&fixture->assemblies) == UINT64_MAX);
}

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	hk_assembly_free_all(&fixture->assemblies);
	free(fixture->bytes);
	free(fixture);
	return 0;
}

static void parts_become_a_whole(void **state)
{
	struct fixture *fixture = *state;
	assert_int_equal(add_text(fixture, ONE, 1, 3, "ab"), 0);
	assert_int_equal(add_text(fixture, ONE, 2, 3, ""), 0);
	assert_int_equal(add_text(fixture, ONE, 3, 3, "c"), 1);
	assert_whole(fixture, "abc");
	assert_none_waits(fixture);
}

static void a_whole_may_be_empty(void **state)
{
	struct fixture *fixture = *state;
	assert_int_equal(add_text(fixture, ONE, 1, 2, ""), 0);
	assert_int_equal(add_text(fixture, ONE, 2, 2, ""), 1);
	assert_non_null(fixture->bytes);
	assert_whole(fixture, "");
}

static void subjects_do_not_mix(void **state)
{
	struct fixture *fixture = *state;
	assert_int_equal(add_text(fixture, ONE, 1, 2, "a"), 0);
	assert_int_equal(add_text(fixture, OTHER, 1, 2, "x"), 0);
	assert_int_equal(add_text(fixture, ONE, 2, 2, "b"), 1);
	assert_whole(fixture, "ab");
	assert_int_equal(add_text(fixture, OTHER, 2, 2, "y"), 1);
	assert_whole(fixture, "xy");
}

static void a_part_without_the_first_is_refused(void **state)
{
	struct fixture *fixture = *state;
	assert_int_equal(add_text(fixture, ONE, 2, 2, "b"), -EBADMSG);
	assert_none_waits(fixture);
	/* What comes behind it is as good as ever. */
	assert_int_equal(add_text(fixture, ONE, 1, 2, "a"), 0);
	assert_int_equal(add_text(fixture, ONE, 2, 2, "b"), 1);
	assert_whole(fixture, "ab");
}

static void parts_out_of_order_are_forgotten(void **state)
{
	struct fixture *fixture = *state;
	assert_int_equal(add_text(fixture, ONE, 1, 3, "a"), 0);
	assert_int_equal(add_text(fixture, ONE, 3, 3, "c"), -EBADMSG);
	assert_none_waits(fixture);
	assert_int_equal(add_text(fixture, ONE, 2, 3, "b"), -EBADMSG);
	assert_int_equal(add_text(fixture, ONE, 3, 3, "c"), -EBADMSG);
}

static void a_part_that_comes_twice_is_refused(void **state)
{
	struct fixture *fixture = *state;
	assert_int_equal(add_text(fixture, ONE, 1, 3, "a"), 0);
	assert_int_equal(add_text(fixture, ONE, 2, 3, "b"), 0);
	assert_int_equal(add_text(fixture, ONE, 2, 3, "b"), -EBADMSG);
	assert_none_waits(fixture);
}

static void another_number_of_parts_is_refused(void **state)
{
	struct fixture *fixture = *state;
	assert_int_equal(add_text(fixture, ONE, 1, 2, "a"), 0);
	assert_int_equal(add_text(fixture, ONE, 2, 3, "b"), -EBADMSG);
	assert_none_waits(fixture);
}

static void part_numbers_that_are_none_are_refused(void **state)
{
	struct fixture *fixture = *state;
	assert_int_equal(add_text(fixture, ONE, 0, 2, "a"), -EBADMSG);
	assert_int_equal(add_text(fixture, ONE, UINT32_MAX, UINT32_MAX, "a"), -EBADMSG);
	assert_int_equal(add_text(fixture, ONE, 1, 2, "a"), 0);
	assert_int_equal(add_text(fixture, ONE, 0, 2, "a"), -EBADMSG);
	assert_none_waits(fixture);
}

static void attempts_do_not_mix(void **state)
{
	struct fixture *fixture = *state;
	assert_int_equal(add_text(fixture, ONE, 1, 3, "o"), 0);
	assert_int_equal(add_text(fixture, ONE, 2, 3, "l"), 0);
	fixture->attempt = 1;
	assert_int_equal(add_text(fixture, ONE, 1, 2, "a"), 0);
	fixture->attempt = 0;
	assert_int_equal(add_text(fixture, ONE, 3, 3, "d"), 1);
	assert_whole(fixture, "old");
	fixture->attempt = 1;
	assert_int_equal(add_text(fixture, ONE, 2, 2, "b"), 1);
	assert_whole(fixture, "ab");
	assert_none_waits(fixture);
}

/* Its last part comes again until there is room. */
static void what_could_not_be_taken_stays(void **state)
{
	struct fixture *fixture = *state;
	const struct hk_source_message last = {
	    .sequence = 7, .subject = ONE, .bytes = "b", .size = 1, .part = 2, .parts = 2};
	const void *bytes;
	size_t size;
	assert_int_equal(add_text(fixture, ONE, 1, 2, "a"), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(hk_assembly_add(&fixture->assemblies, &last, 9, &bytes, &size), 1);
		assert_int_equal(size, 2);
		assert_memory_equal(bytes, "ab", 2);
		assert_int_equal(hk_assembly_oldest(&fixture->assemblies), 1);
		assert_int_equal(hk_assembly_expire(&fixture->assemblies, UINT64_MAX), 0);
	}
	hk_assembly_done(&fixture->assemblies, &last);
	assert_none_waits(fixture);
}

static void what_no_message_may_have_is_refused(void **state)
{
	struct fixture *fixture = *state;
	/* So large a part is refused before a byte of it is read. */
	assert_int_equal(add(fixture, ONE, 1, 2, "a", (size_t)HK_MESSAGE_BYTES_MAX + 1), -EBADMSG);
	assert_none_waits(fixture);
	assert_int_equal(add(fixture, ONE, 1, 2, "a", SIZE_MAX), -EBADMSG);
	assert_int_equal(add_text(fixture, ONE, 1, 2, "a"), 0);
	assert_int_equal(add(fixture, ONE, 2, 2, "b", HK_MESSAGE_BYTES_MAX), -EBADMSG);
	assert_none_waits(fixture);
	assert_int_equal(add_text(fixture, ONE, 1, 2, "a"), 0);
	assert_int_equal(add(fixture, ONE, 2, 2, "b", SIZE_MAX), -EBADMSG);
	assert_none_waits(fixture);
}

static void the_largest_message_is_taken(void **state)
{
	struct fixture *fixture = *state;
	char *text = calloc(1, HK_MESSAGE_BYTES_MAX);
	assert_non_null(text);
	assert_int_equal(add(fixture, ONE, 1, 2, text, HK_MESSAGE_BYTES_MAX - 1), 0);
	assert_int_equal(add(fixture, ONE, 2, 2, "z", 1), 1);
	assert_int_equal(fixture->size, HK_MESSAGE_BYTES_MAX);
	assert_int_equal(fixture->bytes[HK_MESSAGE_BYTES_MAX - 1], 'z');
	free(text);
}

static void a_subject_that_is_too_long_is_refused(void **state)
{
	struct fixture *fixture = *state;
	char subject[HK_SUBJECT_BYTES + 1];
	memset(subject, 's', HK_SUBJECT_BYTES);
	subject[HK_SUBJECT_BYTES] = '\0';
	assert_int_equal(add_text(fixture, subject, 1, 2, "a"), -EBADMSG);
	assert_none_waits(fixture);
	subject[HK_SUBJECT_BYTES - 1] = '\0';
	assert_int_equal(add_text(fixture, subject, 1, 2, "a"), 0);
	assert_int_equal(add_text(fixture, subject, 2, 2, "b"), 1);
	assert_whole(fixture, "ab");
}

static void the_oldest_part_that_waits_is_known(void **state)
{
	struct fixture *fixture = *state;
	assert_none_waits(fixture);
	fixture->sequence = 10;
	assert_int_equal(add_text(fixture, ONE, 1, 2, "a"), 0);
	assert_int_equal(add_text(fixture, OTHER, 1, 2, "x"), 0);
	assert_int_equal(hk_assembly_oldest(&fixture->assemblies), 11);
	assert_int_equal(add_text(fixture, ONE, 2, 2, "b"), 1);
	assert_int_equal(hk_assembly_oldest(&fixture->assemblies), 12);
	assert_int_equal(add_text(fixture, OTHER, 2, 2, "y"), 1);
	assert_none_waits(fixture);
}

static void requests_that_stay_incomplete_expire(void **state)
{
	struct fixture *fixture = *state;
	assert_int_equal(add_text(fixture, OTHER, 1, 2, "x"), 0); /* at 1 */
	assert_int_equal(add_text(fixture, ONE, 1, 3, "a"), 0);	  /* at 2 */
	assert_int_equal(add_text(fixture, ONE, 2, 3, "b"), 0);
	assert_int_equal(hk_assembly_expire(&fixture->assemblies, 1), 0);
	assert_int_equal(hk_assembly_expire(&fixture->assemblies, 2), 1);
	assert_int_equal(add_text(fixture, OTHER, 2, 2, "y"), -EBADMSG);
	assert_int_equal(add_text(fixture, ONE, 3, 3, "c"), 1);
	assert_whole(fixture, "abc");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(parts_become_a_whole),
	    TEST(a_whole_may_be_empty),
	    TEST(subjects_do_not_mix),
	    TEST(a_part_without_the_first_is_refused),
	    TEST(parts_out_of_order_are_forgotten),
	    TEST(a_part_that_comes_twice_is_refused),
	    TEST(another_number_of_parts_is_refused),
	    TEST(part_numbers_that_are_none_are_refused),
	    TEST(attempts_do_not_mix),
	    TEST(what_could_not_be_taken_stays),
	    TEST(what_no_message_may_have_is_refused),
	    TEST(the_largest_message_is_taken),
	    TEST(a_subject_that_is_too_long_is_refused),
	    TEST(the_oldest_part_that_waits_is_known),
	    TEST(requests_that_stay_incomplete_expire),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
