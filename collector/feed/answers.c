#include "collector/feed/answers.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uthash.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"
#include "collector/engine/answer.h"
#include "wire/message.h"

#define SECOND_NS UINT64_C(1000000000)
/* Again before the engine forgets it. */
#define AGAIN_NS (HK_ANSWER_SECONDS * SECOND_NS / 4)
#define PAUSE_NS (SECOND_NS / 2)
#define ANSWERS_MAX 65536u

/* The last answer of a key. */
struct answer {
	char key[HK_ANSWER_KEY_BYTES];
	UT_hash_handle hh;
	uint8_t *bytes;
	size_t size;
	uint64_t given_ns; /* monotonic */
	bool due;	   /* to be sent */
};

struct hk_answers {
	struct hk_engine *engine;
	pthread_t thread;
	bool begun;
	pthread_mutex_t lock; /* of the rest */
	pthread_cond_t given;
	bool ending;
	unsigned due;
	struct answer *all;
};

/* ---- on the thread ---- */

/* Copies an answer that is due. Returns false if there is none. */
static bool take(struct hk_answers *answers, struct answer *ret_copy)
{
	struct answer *answer, *next;
	HASH_ITER (hh, answers->all, answer, next) {
		if (answer->due) {
			*ret_copy = *answer;
			ret_copy->bytes = malloc(answer->size + 1);
			if (!ret_copy->bytes) {
				return false;
			}
			memcpy(ret_copy->bytes, answer->bytes, answer->size);
			answer->due = false;
			answers->due--;
			return true;
		}
	}
	return false;
}

static void put_back(struct hk_answers *answers, const char *key)
{
	struct answer *answer;
	HASH_FIND_STR(answers->all, key, answer);
	if (answer && !answer->due) {
		answer->due = true;
		answers->due++;
	}
}

static void pause_for(struct hk_answers *answers, uint64_t ns)
{
	const uint64_t until = hk_clock_monotonic_ns() + ns;
	const struct timespec at = {(time_t)(until / SECOND_NS), (long)(until % SECOND_NS)};
	pthread_cond_timedwait(&answers->given, &answers->lock, &at);
}

static void *run(void *data)
{
	struct hk_answers *answers = data;
	struct answer copy;
	pthread_mutex_lock(&answers->lock);
	while (!answers->ending) {
		if (answers->due == 0 || !take(answers, &copy)) {
			pause_for(answers, AGAIN_NS);
			continue;
		}
		pthread_mutex_unlock(&answers->lock);
		char problem[HK_ENGINE_PROBLEM_BYTES] = "";
		int r = hk_answer_put(answers->engine, copy.key, copy.bytes, copy.size, problem);
		free(copy.bytes);
		pthread_mutex_lock(&answers->lock);
		if (r < 0) {
			hk_debug("answer not sent why=%s", problem);
			put_back(answers, copy.key);
			pause_for(answers, PAUSE_NS);
		}
	}
	pthread_mutex_unlock(&answers->lock);
	return NULL;
}

/* ---- for the collector's thread ---- */

int hk_answers_open(struct hk_engine *engine, struct hk_answers **ret_answers)
{
	struct hk_answers *answers = calloc(1, sizeof(*answers));
	if (!answers) {
		return -ENOMEM;
	}
	answers->engine = engine;
	pthread_mutex_init(&answers->lock, NULL);
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&answers->given, &monotonic);
	pthread_condattr_destroy(&monotonic);
	int r = -pthread_create(&answers->thread, NULL, run, answers);
	answers->begun = r == 0;
	if (r < 0) {
		hk_answers_free(answers);
		return r;
	}
	*ret_answers = answers;
	return 0;
}

static void forget(struct hk_answers *answers, struct answer *answer)
{
	answers->due -= answer->due;
	HASH_DEL(answers->all, answer);
	free(answer->bytes);
	free(answer);
}

struct hk_answers *hk_answers_free(struct hk_answers *answers)
{
	struct answer *answer, *next;
	if (!answers) {
		return NULL;
	}
	pthread_mutex_lock(&answers->lock);
	answers->ending = true;
	pthread_cond_broadcast(&answers->given);
	pthread_mutex_unlock(&answers->lock);
	if (answers->begun) {
		pthread_join(answers->thread, NULL);
	}
	HASH_ITER (hh, answers->all, answer, next) {
		forget(answers, answer);
	}
	pthread_cond_destroy(&answers->given);
	pthread_mutex_destroy(&answers->lock);
	free(answers);
	return NULL;
}

/* Puts BYTES, taken over, in place of the answer of KEY, unless it is the same. */
static int replace(struct hk_answers *answers, const char *key, uint8_t *bytes, size_t size)
{
	struct answer *answer;
	uint64_t now = hk_clock_monotonic_ns();
	HASH_FIND_STR(answers->all, key, answer);
	bool same = answer && answer->size == size && memcmp(answer->bytes, bytes, size) == 0 &&
		    now - answer->given_ns < AGAIN_NS;
	if (!answer && (answer = calloc(1, sizeof(*answer))) != NULL) {
		memcpy(answer->key, key, strlen(key) + 1);
		HASH_ADD_STR(answers->all, key, answer);
	}
	if (same || !answer) {
		free(bytes);
		return same ? 0 : -ENOMEM;
	}
	free(answer->bytes);
	answer->bytes = bytes;
	answer->size = size;
	answer->given_ns = now;
	answers->due += !answer->due;
	answer->due = true;
	if (HASH_COUNT(answers->all) > ANSWERS_MAX) {
		forget(answers, answers->all); /* the oldest: at worst it is sent once more */
	}
	pthread_cond_broadcast(&answers->given);
	return 0;
}

int hk_answers_give(struct hk_answers *answers, const uint8_t node[HK_NODE_ID_BYTES],
		    const Hk__LeafJobReply *answer)
{
	char key[HK_ANSWER_KEY_BYTES];
	uint8_t *bytes;
	size_t size;
	Hk__LeafJobReply sent = *answer;
	hk_answer_key(node, answer->key, answer->opened_unix_ns, key);
	sent.saved = false; /* the engine has it: that is for the leaf to say */
	int r = hk_message_pack(&sent.base, &bytes, &size);
	if (r < 0) {
		return r;
	}
	pthread_mutex_lock(&answers->lock);
	r = replace(answers, key, bytes, size);
	pthread_mutex_unlock(&answers->lock);
	return r;
}
