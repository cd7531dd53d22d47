/* Rights of clients: tokens, addresses, requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/server/policy.h"

#define READ "read-read-read-read"
#define CONTROL "control-control-1"
#define ALICE "alice-alice-alice"

static char file[] = "/tmp/hk-policy-XXXXXX";

/* 0 or a negative errno of a policy of a token file that holds TEXT. */
static int open_with(const char *text, const char *listen, struct hk_policy **ret_policy)
{
	struct hk_collector_options options = {.token_file = file, .listen = listen};
	char problem[HK_ACCESS_PROBLEM_BYTES];
	FILE *stream = fopen(file, "w");
	assert_non_null(stream);
	fputs(text, stream);
	fclose(stream);
	int r = hk_policy_open(&options, ret_policy, problem);
	assert_true((r == 0) == (*problem == '\0'));
	assert_null(strstr(problem, "read-read")); /* a token is never shown */
	return r;
}

static enum hk_right right_of(const struct hk_policy *policy, const char *token, const char **user)
{
	size_t account;
	return hk_policy_right(policy, (const uint8_t *)token, strlen(token), user, &account);
}

static void test_tokens_give_rights_to_users(void **state)
{
	struct hk_policy *policy;
	const char *user;
	(void)state;
	assert_int_equal(open_with("# who\n\nread " READ "\ncontrol " CONTROL "\r\ncontrol " ALICE
				   " alice\nread " ALICE " another\n",
				   NULL, &policy),
			 0);
	assert_int_equal(right_of(policy, READ, &user), HK_RIGHT_READ);
	assert_string_equal(user, "");
	assert_int_equal(right_of(policy, CONTROL, &user), HK_RIGHT_CONTROL);
	assert_string_equal(user, "");
	/* The first line of a token counts. */
	assert_int_equal(right_of(policy, ALICE, &user), HK_RIGHT_CONTROL);
	assert_string_equal(user, "alice");
	static const char *const wrong[] = {"", "read", READ "x", "read-read-read-rea", "alice"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(right_of(policy, wrong[i], &user), HK_RIGHT_NONE);
		assert_string_equal(user, "");
	}
	hk_policy_free(policy);
}

static void test_tokens_of_one_user_are_one_account(void **state)
{
	static const char *const tokens[] = {READ, ALICE, CONTROL, "another-of-alice"};
	static const size_t wanted[] = {0, 1, 2, 1};
	static const char *const names[] = {"token 1", "alice", "token 3", "alice"};
	struct hk_policy *policy;
	char name[HK_ACCESS_USER_MAX + 1];
	const char *user;
	(void)state;
	assert_int_equal(open_with("read " READ "\ncontrol " ALICE " alice\ncontrol " CONTROL
				   "\nread another-of-alice alice\n",
				   NULL, &policy),
			 0);
	assert_int_equal(hk_policy_accounts(policy), 4);
	for (size_t i = 0; i < 4; i++) {
		size_t account = 99;
		assert_true(hk_policy_right(policy, (const uint8_t *)tokens[i], strlen(tokens[i]),
					    &user, &account) > HK_RIGHT_NONE);
		assert_int_equal(account, wanted[i]);
		hk_policy_account_name(policy, account, name, sizeof(name));
		assert_string_equal(name, names[i]);
	}
	hk_policy_free(policy);
}

static void test_files_that_make_no_sense_are_refused(void **state)
{
	static const char *const texts[] = {
	    "",
	    "read short\n",
	    "write " READ "\n",
	    "read\n",
	    "read " READ " user more\n",
	    READ "\n",
	    "read " READ "\nread\n",
	};
	struct hk_policy *policy;
	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_true(open_with(texts[i], NULL, &policy) < 0);
	}
}

static void test_addresses(void **state)
{
	struct hk_policy *policy;
	(void)state;
	assert_true(open_with("read " READ, "tcp://0.0.0.0:1", &policy) < 0);
	assert_true(open_with("read " READ, "tcp://[::]:1", &policy) < 0);
	assert_true(open_with("read " READ, "tls+tcp://[::1]:1", &policy) < 0); /* no key */
	assert_int_equal(open_with("read " READ, "tcp://[::1]:1", &policy), 0);
	assert_int_equal(hk_policy_default_right(policy, "ipc:///x"), HK_RIGHT_CONTROL);
	assert_int_equal(hk_policy_default_right(policy, "tcp://[::1]:1"), HK_RIGHT_NONE);
	assert_int_equal(hk_policy_default_right(policy, "tcp://127.0.0.1:1"), HK_RIGHT_NONE);
	hk_policy_free(policy);
	const struct hk_collector_options open = {.listen = "tcp://[::1]:1"};
	char problem[HK_ACCESS_PROBLEM_BYTES];
	assert_int_equal(hk_policy_open(&open, &policy, problem), 0);
	assert_int_equal(hk_policy_default_right(policy, "tcp://[::1]:1"), HK_RIGHT_CONTROL);
	assert_int_equal(hk_policy_default_right(policy, "tls+tcp://192.0.2.1:1"), HK_RIGHT_NONE);
	hk_policy_free(policy);
}

static void test_the_token_is_found_in_a_packed_request(void **state)
{
	Hk__Request request = HK__REQUEST__INIT;
	Hk__SnapshotRequest snapshot = HK__SNAPSHOT_REQUEST__INIT;
	const uint8_t *token;
	uint8_t *bytes;
	size_t size;
	(void)state;
	request.version = (char *)"1";
	snapshot.job = (char *)"a job";
	request.what_case = HK__REQUEST__WHAT_SNAPSHOT;
	request.snapshot = &snapshot;
	request.token = (ProtobufCBinaryData){strlen(READ), (uint8_t *)READ};
	assert_int_equal(hk_message_pack(&request.base, &bytes, &size), 0);
	assert_int_equal(hk_policy_find_token(bytes, size, &token), strlen(READ));
	assert_memory_equal(token, READ, strlen(READ));
	/* Cut short anywhere: there is none, and nothing behind the end is looked at. */
	for (size_t left = 0; left < size; left++) {
		uint8_t *part = malloc(left + !left);
		memcpy(part, bytes, left);
		assert_int_equal(hk_policy_find_token(part, left, &token), 0);
		free(part);
	}
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_tokens_give_rights_to_users),
	    cmocka_unit_test(test_tokens_of_one_user_are_one_account),
	    cmocka_unit_test(test_files_that_make_no_sense_are_refused),
	    cmocka_unit_test(test_addresses),
	    cmocka_unit_test(test_the_token_is_found_in_a_packed_request),
	};
	int fd = mkstemp(file);
	if (fd < 0) {
		return 1;
	}
	close(fd);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(file);
	return failed;
}
