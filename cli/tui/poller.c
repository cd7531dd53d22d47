#include "cli/tui/poller.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/job/collector_client.h"
#include "ring/segment.h"

#define SECOND_NS UINT64_C(1000000000)

enum task { NOTHING, SNAPSHOT, LEVEL, END };

struct hk_poller {
	pthread_t thread;
	pthread_mutex_t lock; /* protects the following fields */
	pthread_cond_t wake;
	enum task task;
	bool answered;
	struct hk_poller_result answer;
	int fd;
	/* The task; owned by the thread while it runs. */
	struct hk_top_snapshot_request request;
	struct hk_job job; /* holds only its URL */
	char id[256], function[HK_RULE_PATTERN_BYTES];
	uint32_t level;
	uint64_t for_ns;
};

static void set_level(struct hk_poller *poller, struct hk_poller_result *answer)
{
	Hk__Request request = HK__REQUEST__INIT;
	Hk__ControlRequest control = HK__CONTROL_REQUEST__INIT;
	Hk__Rule rule = HK__RULE__INIT, *rules[] = {&rule};
	Hk__Response *response;

	rule.pattern = poller->function;
	rule.level = poller->level;
	control.job = poller->id;
	control.rules = rules;
	control.n_rules = 1;
	control.for_ns = poller->for_ns;
	request.what_case = HK__REQUEST__WHAT_CONTROL;
	request.control = &control;
	answer->is_level = true;
	answer->code = hk_client_request(poller->job.url, &request, &response);
	if (answer->code == HK_EXIT_DONE) {
		if (response->control) {
			answer->sites = response->control->sites;
			answer->processes = response->control->processes;
		}
		hk__response__free_unpacked(response, NULL);
	}
}

static void answer_set(struct hk_poller *poller, const struct hk_poller_result *answer)
{
	const uint64_t one = 1;

	poller->answer = *answer;
	poller->answered = true;
	poller->task = NOTHING;
	if (write(poller->fd, &one, sizeof(one)) < 0) {
		poller->answer.code = HK_EXIT_FAILED; /* visible from the next poll on */
	}
}

static void *run(void *context)
{
	struct hk_poller *poller = context;

	pthread_mutex_lock(&poller->lock);
	while (poller->task != END) {
		if (poller->task == NOTHING) {
			pthread_cond_wait(&poller->wake, &poller->lock);
			continue;
		}
		struct hk_poller_result answer = {.snapshot = NULL};
		enum task task = poller->task;
		pthread_mutex_unlock(&poller->lock);
		if (task == SNAPSHOT) {
			answer.code = hk_top_snapshot_take(&poller->request, &answer.snapshot);
			hk_pick_fini(&poller->request.pick);
		} else {
			set_level(poller, &answer);
		}
		pthread_mutex_lock(&poller->lock);
		answer_set(poller, &answer);
	}
	pthread_mutex_unlock(&poller->lock);
	return NULL;
}

int hk_poller_new(struct hk_poller **ret_poller)
{
	struct hk_poller *poller = calloc(1, sizeof(*poller));
	sigset_t all, before;

	if (!poller) {
		return -ENOMEM;
	}
	poller->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (poller->fd < 0) {
		free(poller);
		return -errno;
	}
	pthread_mutex_init(&poller->lock, NULL);
	pthread_cond_init(&poller->wake, NULL);
	/* Signals are for the screen's thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = pthread_create(&poller->thread, NULL, run, poller);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r != 0) {
		close(poller->fd);
		free(poller);
		return -r;
	}
	*ret_poller = poller;
	return 0;
}

bool hk_poller_free(struct hk_poller *poller)
{
	pthread_mutex_lock(&poller->lock);
	bool busy = poller->task != NOTHING;
	if (!busy) {
		poller->task = END;
		pthread_cond_signal(&poller->wake);
	}
	pthread_mutex_unlock(&poller->lock);
	if (busy) {
		return false;
	}
	pthread_join(poller->thread, NULL);
	if (poller->answered) {
		hk_top_snapshot_free(poller->answer.snapshot);
	}
	pthread_mutex_destroy(&poller->lock);
	pthread_cond_destroy(&poller->wake);
	close(poller->fd);
	free(poller);
	return true;
}

int hk_poller_fd(const struct hk_poller *poller)
{
	return poller->fd;
}

bool hk_poller_is_busy(struct hk_poller *poller)
{
	pthread_mutex_lock(&poller->lock);
	bool busy = poller->task != NOTHING || poller->answered;
	pthread_mutex_unlock(&poller->lock);
	return busy;
}

static void start(struct hk_poller *poller, enum task task)
{
	pthread_mutex_lock(&poller->lock);
	poller->task = task;
	pthread_cond_signal(&poller->wake);
	pthread_mutex_unlock(&poller->lock);
}

bool hk_poller_request(struct hk_poller *poller, const struct hk_top_snapshot_request *request)
{
	if (hk_poller_is_busy(poller)) {
		return false;
	}
	poller->request = *request;
	if (hk_pick_copy(&poller->request.pick, &request->pick) < 0) {
		return false;
	}
	start(poller, SNAPSHOT);
	return true;
}

bool hk_poller_level(struct hk_poller *poller, const struct hk_top_snapshot *snapshot,
		     const char *function, uint32_t level, unsigned seconds)
{
	if (hk_poller_is_busy(poller)) {
		return false;
	}
	snprintf(poller->job.url, sizeof(poller->job.url), "%s", snapshot->job.url);
	snprintf(poller->id, sizeof(poller->id), "%s", snapshot->job.snapshot->job->id);
	snprintf(poller->function, sizeof(poller->function), "%s", function);
	poller->level = level;
	poller->for_ns = seconds * SECOND_NS;
	start(poller, LEVEL);
	return true;
}

bool hk_poller_take(struct hk_poller *poller, struct hk_poller_result *ret_answer)
{
	uint64_t count;

	pthread_mutex_lock(&poller->lock);
	bool answered = poller->answered;
	if (answered) {
		*ret_answer = poller->answer;
		poller->answer.snapshot = NULL;
		poller->answered = false;
	}
	pthread_mutex_unlock(&poller->lock);
	if (answered && read(poller->fd, &count, sizeof(count)) < 0) {
		return true; /* it was not announced */
	}
	return answered;
}
