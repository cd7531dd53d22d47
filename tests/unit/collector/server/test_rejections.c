/* What the log hears of those who were turned away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/server/rejections.h"

#define SECOND UINT64_C(1000000000)
#define LOG_BYTES 65536

/* What hk_rejections_log at NOW_NS writes to standard error. */
static void told(struct hk_rejections *refusals, uint64_t now_ns, char log[LOG_BYTES])
{
	FILE *file = tmpfile();
	int before = dup(STDERR_FILENO);
	assert_non_null(file);
	fflush(stderr);
	dup2(fileno(file), STDERR_FILENO);
	hk_rejections_log(refusals, now_ns);
	fflush(stderr);
	dup2(before, STDERR_FILENO);
	close(before);
	rewind(file);
	size_t size = fread(log, 1, LOG_BYTES - 1, file);
	log[size] = '\0';
	fclose(file);
}

static unsigned lines(const char *log)
{
	unsigned count = 0;
	for (; *log; log++) {
		count += *log == '\n';
	}
	return count;
}

static void test_once_with_a_reason_then_counted(void **state)
{
	struct hk_rejections *refusals = hk_rejections_new();
	char log[LOG_BYTES];
	(void)state;
	assert_non_null(refusals);
	hk_rejections_add(refusals, "peer", "wrong");
	told(refusals, 100 * SECOND, log);
	assert_non_null(strstr(log, "peer=peer count=1 why=wrong"));
	for (unsigned i = 0; i < 1000; i++) {
		hk_rejections_add(refusals, "peer", "wrong");
	}
	hk_rejections_add(refusals, "peer", "another");
	told(refusals, 101 * SECOND, log);
	assert_int_equal(lines(log), 1);
	assert_non_null(strstr(log, "why=another"));
	told(refusals, 159 * SECOND, log);
	assert_int_equal(lines(log), 0);
	told(refusals, 160 * SECOND, log);
	assert_int_equal(lines(log), 1);
	assert_non_null(strstr(log, "count=1000 why=wrong"));
	told(refusals, 1000 * SECOND, log);
	assert_int_equal(lines(log), 0);
	assert_int_equal(hk_rejections_total(refusals), 1002);
	hk_rejections_free(refusals);
}

/* For any number of peers the log stays short, and every peer is counted. */
static void test_a_crowd_is_counted_together(void **state)
{
	struct hk_rejections *refusals = hk_rejections_new();
	char log[LOG_BYTES], name[HK_REJECTIONS_PEER_BYTES];
	(void)state;
	assert_non_null(refusals);
	for (unsigned i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "peer %u", i);
		hk_rejections_add(refusals, name, "wrong");
	}
	told(refusals, 100 * SECOND, log);
	unsigned count = lines(log);
	assert_in_range(count, 2, 100);
	assert_non_null(strstr(log, "peer=others"));
	snprintf(name, sizeof(name), "count=%u ", 10000 - (count - 1));
	assert_non_null(strstr(log, name));
	assert_int_equal(hk_rejections_total(refusals), 10000);
	/* Those who have been quiet make room. */
	told(refusals, 200 * SECOND, log);
	hk_rejections_add(refusals, "a new one", "wrong");
	told(refusals, 201 * SECOND, log);
	assert_non_null(strstr(log, "peer=a new one count=1 "));
	hk_rejections_free(refusals);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_once_with_a_reason_then_counted),
	    cmocka_unit_test(test_a_crowd_is_counted_together),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
