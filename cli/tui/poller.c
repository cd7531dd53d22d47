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

enum task { NOTHING, LOOK, LEVEL, END };

struct hk_lookout {
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t wake;
	enum task task;
	bool answered;
	struct hk_lookout_answer answer;
	int fd;
	/* Of the task: the thread's while there is one. */
	struct hk_picture_request request;
	struct hk_job job; /* its URL only */
	char id[256], function[HK_RULE_PATTERN_BYTES];
	uint32_t level;
	uint64_t for_ns;
};

static void set_level(struct hk_lookout *lookout, struct hk_lookout_answer *answer)
{
	Hk__Request request = HK__REQUEST__INIT;
	Hk__ControlRequest control = HK__CONTROL_REQUEST__INIT;
	Hk__Rule rule = HK__RULE__INIT, *rules[] = {&rule};
	Hk__Response *response;

	rule.pattern = lookout->function;
	rule.level = lookout->level;
	control.job = lookout->id;
	control.rules = rules;
	control.n_rules = 1;
	control.for_ns = lookout->for_ns;
	request.what_case = HK__REQUEST__WHAT_CONTROL;
	request.control = &control;
	answer->is_level = true;
	answer->code = hk_client_ask(lookout->job.url, &request, &response);
	if (answer->code == HK_EXIT_DONE) {
		if (response->control) {
			answer->sites = response->control->sites;
			answer->processes = response->control->processes;
		}
		hk__response__free_unpacked(response, NULL);
	}
}

static void answer_set(struct hk_lookout *lookout, const struct hk_lookout_answer *answer)
{
	const uint64_t one = 1;

	lookout->answer = *answer;
	lookout->answered = true;
	lookout->task = NOTHING;
	if (write(lookout->fd, &one, sizeof(one)) < 0) {
		lookout->answer.code = HK_EXIT_FAILED; /* seen at the next look around */
	}
}

static void *run(void *context)
{
	struct hk_lookout *lookout = context;

	pthread_mutex_lock(&lookout->lock);
	while (lookout->task != END) {
		if (lookout->task == NOTHING) {
			pthread_cond_wait(&lookout->wake, &lookout->lock);
			continue;
		}
		struct hk_lookout_answer answer = {.picture = NULL};
		enum task task = lookout->task;
		pthread_mutex_unlock(&lookout->lock);
		if (task == LOOK) {
			answer.code = hk_picture_take(&lookout->request, &answer.picture);
			hk_pick_fini(&lookout->request.pick);
		} else {
			set_level(lookout, &answer);
		}
		pthread_mutex_lock(&lookout->lock);
		answer_set(lookout, &answer);
	}
	pthread_mutex_unlock(&lookout->lock);
	return NULL;
}

int hk_lookout_new(struct hk_lookout **ret_lookout)
{
	struct hk_lookout *lookout = calloc(1, sizeof(*lookout));
	sigset_t all, before;

	if (!lookout) {
		return -ENOMEM;
	}
	lookout->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (lookout->fd < 0) {
		free(lookout);
		return -errno;
	}
	pthread_mutex_init(&lookout->lock, NULL);
	pthread_cond_init(&lookout->wake, NULL);
	/* Signals are the screen's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = pthread_create(&lookout->thread, NULL, run, lookout);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r != 0) {
		close(lookout->fd);
		free(lookout);
		return -r;
	}
	*ret_lookout = lookout;
	return 0;
}

bool hk_lookout_free(struct hk_lookout *lookout)
{
	pthread_mutex_lock(&lookout->lock);
	bool busy = lookout->task != NOTHING;
	if (!busy) {
		lookout->task = END;
		pthread_cond_signal(&lookout->wake);
	}
	pthread_mutex_unlock(&lookout->lock);
	if (busy) {
		return false;
	}
	pthread_join(lookout->thread, NULL);
	if (lookout->answered) {
		hk_picture_free(lookout->answer.picture);
	}
	pthread_mutex_destroy(&lookout->lock);
	pthread_cond_destroy(&lookout->wake);
	close(lookout->fd);
	free(lookout);
	return true;
}

int hk_lookout_fd(const struct hk_lookout *lookout)
{
	return lookout->fd;
}

bool hk_lookout_is_busy(struct hk_lookout *lookout)
{
	pthread_mutex_lock(&lookout->lock);
	bool busy = lookout->task != NOTHING || lookout->answered;
	pthread_mutex_unlock(&lookout->lock);
	return busy;
}

static void start(struct hk_lookout *lookout, enum task task)
{
	pthread_mutex_lock(&lookout->lock);
	lookout->task = task;
	pthread_cond_signal(&lookout->wake);
	pthread_mutex_unlock(&lookout->lock);
}

bool hk_lookout_look(struct hk_lookout *lookout, const struct hk_picture_request *request)
{
	if (hk_lookout_is_busy(lookout)) {
		return false;
	}
	lookout->request = *request;
	if (hk_pick_copy(&lookout->request.pick, &request->pick) < 0) {
		return false;
	}
	start(lookout, LOOK);
	return true;
}

bool hk_lookout_level(struct hk_lookout *lookout, const struct hk_picture *picture,
		      const char *function, uint32_t level, unsigned seconds)
{
	if (hk_lookout_is_busy(lookout)) {
		return false;
	}
	snprintf(lookout->job.url, sizeof(lookout->job.url), "%s", picture->job.url);
	snprintf(lookout->id, sizeof(lookout->id), "%s", picture->job.snapshot->job->id);
	snprintf(lookout->function, sizeof(lookout->function), "%s", function);
	lookout->level = level;
	lookout->for_ns = seconds * SECOND_NS;
	start(lookout, LEVEL);
	return true;
}

bool hk_lookout_take(struct hk_lookout *lookout, struct hk_lookout_answer *ret_answer)
{
	uint64_t count;

	pthread_mutex_lock(&lookout->lock);
	bool answered = lookout->answered;
	if (answered) {
		*ret_answer = lookout->answer;
		lookout->answer.picture = NULL;
		lookout->answered = false;
	}
	pthread_mutex_unlock(&lookout->lock);
	if (answered && read(lookout->fd, &count, sizeof(count)) < 0) {
		return true; /* it was not announced */
	}
	return answered;
}
