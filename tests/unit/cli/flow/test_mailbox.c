/* Messages find their receives by MPI's rule, and none finds another's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cli/flow/mailbox.h"
#include "hooks/hook.h"

#define COMM 77
#define RANKS 3
#define TAGS 3

struct post {
	struct hk_mailboxes *boxes;
	uint64_t now;
};

static int setup(void **state)
{
	struct post *post = calloc(1, sizeof(*post));

	post->boxes = hk_mailboxes_new();
	*state = post;
	return post->boxes ? 0 : -1;
}

static int teardown(void **state)
{
	struct post *post = *state;

	hk_mailboxes_free(post->boxes);
	free(post);
	return 0;
}

/* The next call of rank OWN, by the only thread of its process. */
static struct hk_mail_call next_call(struct post *post, int32_t own, int32_t peer, int32_t tag)
{
	static const char threads[RANKS];
	uint64_t now = post->now += 10;

	return (struct hk_mail_call){.comm = COMM,
				     .own = own,
				     .peer = peer,
				     .tag = tag,
				     .process = (uint32_t)own,
				     .thread = &threads[own],
				     .start_ns = now,
				     .end_ns = now + 5};
}

static int send(struct post *post, int32_t from, int32_t to, int32_t tag, uint64_t id)
{
	struct hk_mail_call call = next_call(post, from, to, tag);
	struct hk_message message = {.id = id, .sent_ns = call.start_ns, .source = from};

	return hk_mailboxes_send(post->boxes, &call, &message);
}

static struct hk_mail *receive(struct post *post, int32_t at, int32_t from, int32_t tag)
{
	struct hk_mail_call call = next_call(post, at, from, tag);
	struct hk_mail *mail;

	assert_int_equal(hk_mailboxes_receive(post->boxes, &call, &mail), 0);
	return mail;
}

/* Which message MAIL got: 0 none. */
static uint64_t take(struct post *post, struct hk_mail *mail)
{
	struct hk_message message;

	return mail && hk_mail_take(post->boxes, mail, post->now + 5, &message) ? message.id : 0;
}

static void test_messages_do_not_overtake(void **state)
{
	struct post *post = *state;
	struct hk_mail *first = receive(post, 1, 0, 5);

	send(post, 0, 1, 5, 1);
	send(post, 0, 1, 5, 2);
	assert_int_equal(take(post, receive(post, 1, 0, 5)), 2);
	assert_int_equal(take(post, first), 1);
}

static void test_tags_and_senders_keep_messages_apart(void **state)
{
	struct post *post = *state;

	send(post, 0, 1, 5, 1);
	send(post, 2, 1, 6, 2);
	send(post, 0, 1, 6, 3);
	assert_int_equal(take(post, receive(post, 1, 0, 6)), 3);
	assert_int_equal(take(post, receive(post, 1, 2, HK_MAIL_ANY_TAG)), 2);
	assert_int_equal(take(post, receive(post, 1, 0, HK_MAIL_ANY_TAG)), 1);
}

static void test_a_receive_nobody_asks_for_takes_its_message_all_the_same(void **state)
{
	struct post *post = *state;

	assert_int_equal(take(post, receive(post, 1, 0, 5)), 0);
	assert_int_equal(send(post, 0, 1, 5, 1), 0);
	send(post, 0, 1, 5, 2);
	assert_int_equal(take(post, receive(post, 1, 0, 5)), 2);
	assert_int_equal(hk_mailboxes_early(post->boxes), 1);
}

static void test_behind_a_receive_from_any_rank_its_tag_is_anybodys(void **state)
{
	struct post *post = *state;

	send(post, 0, 1, 5, 1);
	send(post, 0, 1, 6, 2);
	assert_null(receive(post, 1, HK_PEER_ANY, 5));
	assert_int_equal(send(post, 2, 1, 5, 3), 0);
	assert_null(receive(post, 1, 0, 5));
	assert_int_equal(take(post, receive(post, 1, 0, 6)), 2);
	assert_null(receive(post, 1, 0, HK_MAIL_ANY_TAG));
}

static void test_of_two_threads_at_once_nobody_knows_which_was_first(void **state)
{
	struct post *post = *state;
	struct hk_mail_call calls[] = {next_call(post, 0, 1, 5), next_call(post, 0, 1, 5)};
	struct hk_message message = {.id = 1};

	calls[0].end_ns = calls[1].start_ns + 1;
	calls[1].thread = calls;
	assert_int_equal(hk_mailboxes_send(post->boxes, &calls[0], &message), 1);
	assert_int_equal(hk_mailboxes_send(post->boxes, &calls[1], &message), 0);
	assert_null(receive(post, 1, 0, 5));
}

static void test_another_process_in_a_ranks_place_gets_none_of_its_messages(void **state)
{
	struct post *post = *state;
	struct hk_mail_call call;
	struct hk_mail *mail;

	send(post, 0, 1, 5, 1);
	assert_int_equal(take(post, receive(post, 1, 2, 5)), 0); /* rank 1 is there */
	call = next_call(post, 1, 0, 5);
	call.process = 9;
	assert_int_equal(hk_mailboxes_receive(post->boxes, &call, &mail), 0);
	assert_int_equal(take(post, mail), 0);
	/* The first one is still there: two at once. */
	assert_null(receive(post, 1, 0, 5));
}

/* Any order of calls: each pair of ranks and tag is a queue. */
static void test_as_a_model_has_it(void **state)
{
	struct post *post = *state;
	uint64_t sent[RANKS][RANKS][TAGS] = {0}, got[RANKS][RANKS][TAGS] = {0}, seed = 42;
	struct hk_mail *held[2000];
	uint64_t wanted[2000];
	size_t count = 0;

	for (int i = 0; i < 4000; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		int32_t from = (int32_t)(seed >> 33) % RANKS, to = (int32_t)(seed >> 41) % RANKS;
		int32_t tag = (int32_t)(seed >> 49) % TAGS;
		uint64_t kind = (uint64_t)(from * RANKS * TAGS + to * TAGS + tag + 1) << 32;

		if (seed >> 63) {
			send(post, from, to, tag, kind | sent[from][to][tag]++);
		} else if (count < 2000) {
			held[count] = receive(post, to, from, tag);
			wanted[count++] = kind | got[from][to][tag]++;
		}
	}
	for (size_t i = 0; i < count; i++) {
		uint64_t number = wanted[i] & UINT32_MAX, kind = (wanted[i] >> 32) - 1;
		bool there = number < sent[kind / (RANKS * TAGS)][kind / TAGS % RANKS][kind % TAGS];

		assert_int_equal(take(post, held[i]), there ? wanted[i] : 0);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	    TEST(test_messages_do_not_overtake),
	    TEST(test_tags_and_senders_keep_messages_apart),
	    TEST(test_a_receive_nobody_asks_for_takes_its_message_all_the_same),
	    TEST(test_behind_a_receive_from_any_rank_its_tag_is_anybodys),
	    TEST(test_of_two_threads_at_once_nobody_knows_which_was_first),
	    TEST(test_another_process_in_a_ranks_place_gets_none_of_its_messages),
	    TEST(test_as_a_model_has_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
