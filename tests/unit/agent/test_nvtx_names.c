/* Texts of NVTX's events, and what is kept of domains and registered strings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/nvtx_names.h"

static const char *text_of(const struct hk_nvtx_name *domain, int32_t type, const void *message,
			   uint16_t size)
{
	static char text[HK_NVTX_TEXT_BYTES];
	const struct hk_nvtx_event event = {.size = size, .message_type = type, .message = message};

	hk_nvtx_text(domain, &event, text);
	return text;
}

static void test_every_kind_of_message(void **state)
{
	const uint16_t whole = sizeof(struct hk_nvtx_event);
	struct hk_nvtx_name *domain = hk_nvtx_domain("NCCL");

	(void)state;
	assert_string_equal(text_of(NULL, HK_NVTX_ASCII, "plain", whole), "plain");
	assert_string_equal(text_of(NULL, HK_NVTX_WIDE, L"w\u00ef\u03bb\U0001f600", whole),
			    "w\xc3\xaf\xce\xbb\xf0\x9f\x98\x80");
	assert_string_equal(text_of(domain, HK_NVTX_REGISTERED, hk_nvtx_string("kept"), whole),
			    "NCCL: kept");
	assert_string_equal(text_of(domain, 0, "none", whole), "NCCL: (range)");
	assert_string_equal(text_of(NULL, HK_NVTX_ASCII, NULL, whole), "(range)");
	/* An event of another version, too short to have a message. */
	assert_string_equal(text_of(NULL, HK_NVTX_ASCII, "short", 16), "(range)");
}

static void test_long_texts_are_cut(void **state)
{
	char longest[1000];
	wchar_t wide[1000];
	char narrow[HK_NVTX_TEXT_BYTES];

	(void)state;
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	const char *text =
	    text_of(hk_nvtx_domain(longest), HK_NVTX_ASCII, longest, sizeof(struct hk_nvtx_event));
	assert_int_equal(strlen(text), HK_NVTX_TEXT_BYTES - 1);
	for (size_t i = 0; i < 999; i++) {
		wide[i] = L'\u03bb';
	}
	wide[999] = L'\0';
	hk_nvtx_narrow(wide, narrow);
	/* No character is cut in two. */
	assert_int_equal(strlen(narrow), HK_NVTX_TEXT_BYTES - 2);
	hk_nvtx_narrow((const wchar_t[]){0x7fffffff, 0xd800, 0}, narrow);
	assert_string_equal(narrow, "\xef\xbf\xbd\xef\xbf\xbd");
	hk_nvtx_narrow(NULL, narrow);
	assert_string_equal(narrow, "");
}

static void test_equal_names_are_one_and_there_are_not_too_many(void **state)
{
	struct hk_nvtx_name *first = hk_nvtx_domain("once");

	(void)state;
	assert_ptr_equal(hk_nvtx_domain("once"), first);
	assert_ptr_not_equal(hk_nvtx_string("once"), first);
	for (int i = 0; i < 1000; i++) {
		char text[16];
		snprintf(text, sizeof(text), "domain %d", i);
		assert_non_null(hk_nvtx_domain(text));
	}
	assert_string_equal(hk_nvtx_domain("one too many")->text, "(more names)");
	assert_string_equal(hk_nvtx_domain("another one")->text, "(more names)");
	assert_ptr_equal(hk_nvtx_domain("once"), first);
	assert_non_null(hk_nvtx_string(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_kind_of_message),
	    cmocka_unit_test(test_long_texts_are_cut),
	    cmocka_unit_test(test_equal_names_are_one_and_there_are_not_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
