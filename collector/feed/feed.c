#include "collector/feed/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"
#include "collector/engine/source.h"
#include "collector/engine/stream.h"
#include "collector/feed/answers.h"
#include "collector/feed/closed_jobs.h"
#include "collector/feed/taking.h"
#include "collector/feed/tenure.h"
#include "collector/lifecycle/job_close.h"
#include "collector/lifecycle/job_list.h"
#include "collector/lifecycle/job_save.h"
#include "collector/link/peers.h"
#include "collector/model/collector.h"
#include "collector/model/job.h"
#include "wire/access.h"

#define SECOND_NS UINT64_C(1000000000)
#define TURN_NS (SECOND_NS / 50) /* longest work before other descriptors are looked at */
#define SAVE_NS SECOND_NS	 /* readers of the files see what is new */
#define SAVE_SPACING 20u	 /* saving takes at most 1/20 of the time */
#define SAVE_MAX_NS (10 * SECOND_NS)
#define HOLD_NS SECOND_NS /* pause before a message is tried again that there was no room for */
#define FIRST_WAIT_MS 10000u
/* A sender stores all parts within far less, or begins again. */
#define PARTS_NS (180 * SECOND_NS)
#define CLOSING_NS (4 * SECOND_NS) /* longest try to close a replayed job */

struct hk_feed {
	struct hk_engine *engine;
	struct hk_tenure *tenure;
	struct hk_source *source;
	unsigned partition;
	int event_fd, store_fd;
	struct hk_taking taking;
	struct hk_closed_jobs closed;
	uint64_t handled;	  /* sequence number of the last message taken in */
	uint64_t pending;	  /* messages behind it when it came */
	uint64_t due_ns, save_ns; /* monotonic */
	int64_t created;	  /* of the stream */
	const char *replay;	  /* key of the only job; NULL: all, and the partition is ours */
	uint64_t replay_end;	  /* sequence number of the last message to be taken in */
	uint64_t end_ns;	  /* monotonic: when it was; 0: not yet */
	bool done;
	int held_error; /* why the oldest message waits; 0: none does */
	char problem[HK_ENGINE_PROBLEM_BYTES];
};

static void wake(void *context)
{
	const struct hk_feed *feed = context;
	uint64_t one = 1;
	(void)!write(feed->event_fd, &one, sizeof(one));
}

/* ---- begin and end ---- */

static int open_engine(const struct hk_collector_options *options, struct hk_feed *feed)
{
	const struct hk_access access = {
	    .token_file = options->credentials,
	    .authorities = options->tls_authorities,
	    .certificate = options->tls_certificate,
	    .key = options->tls_key,
	};
	char problem[HK_ACCESS_PROBLEM_BYTES] = "";
	int r = hk_engine_open(options->from, &access, NULL, NULL, &feed->engine, problem);
	if (r < 0) {
		hk_error("cannot read from %s: %s", options->from,
			 *problem ? problem : strerror(-r));
	}
	return r;
}

static int take_partition(const struct hk_collector_options *options, struct hk_feed *feed,
			  unsigned *ret_partitions)
{
	char owner[128] = "root", problem[HK_ENGINE_PROBLEM_BYTES] = "";
	gethostname(owner, 64);
	snprintf(owner + strlen(owner), 32, ":%d", (int)getpid());
	(void)hk_engine_await(feed->engine, FIRST_WAIT_MS);
	int r = hk_stream_partitions(feed->engine, ret_partitions, problem);
	r = r < 0 || feed->replay ? r
				  : hk_tenure_open(feed->engine, feed->partition, owner, wake, feed,
						   &feed->tenure, problem);
	if (r == -EBUSY) {
		hk_info("partition=%u is read by %s", feed->partition, problem);
	} else if (r < 0) {
		hk_error("cannot read from %s: %s", options->from,
			 *problem ? problem : strerror(-r));
	}
	return r;
}

int hk_feed_open(struct hk_collector *collector, struct hk_feed **ret_feed,
		 unsigned *ret_partitions)
{
	struct hk_feed *feed = calloc(1, sizeof(*feed));
	if (!feed) {
		return -ENOMEM;
	}
	feed->partition = feed->taking.partition = collector->options.partition;
	feed->replay = feed->taking.replay = collector->options.replay;
	feed->store_fd = -1;
	feed->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int r = feed->event_fd < 0 ? -errno : open_engine(&collector->options, feed);
	r = r < 0 ? r : take_partition(&collector->options, feed, ret_partitions);
	if (r < 0) {
		hk_feed_free(collector, feed);
		return r;
	}
	if (!feed->replay) {
		feed->handled = feed->taking.begin = hk_tenure_begin(feed->tenure, &feed->created);
	}
	*ret_feed = feed;
	return 0;
}

static int observe(struct hk_collector *collector, struct hk_job *job, enum hk_job_event event)
{
	struct hk_feed *feed = collector->feed;
	return event == HK_JOB_ENDING && feed
		   ? hk_closed_jobs_add(&feed->closed, collector, job, feed->handled)
		   : 0;
}

/* A replay ends with the message that is the partition's last one now. */
static int find_end(struct hk_feed *feed)
{
	char problem[HK_ENGINE_PROBLEM_BYTES] = "";
	int r = hk_stream_last(feed->engine, feed->partition, &feed->replay_end, problem);
	if (r < 0) {
		hk_error("the stream cannot be read: %s", *problem ? problem : strerror(-r));
	}
	return r;
}

int hk_feed_start(struct hk_collector *collector, struct hk_feed *feed)
{
	feed->store_fd = open(collector->store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (feed->store_fd < 0) {
		return -errno;
	}
	hk_closed_jobs_restore(&feed->closed, collector);
	hk_job_observe(collector, observe);
	feed->save_ns = hk_clock_monotonic_ns() + SAVE_NS;
	hk_info("partition taken number=%u from=%" PRIu64, feed->partition, feed->handled);
	int r =
	    feed->replay ? find_end(feed) : hk_answers_open(feed->engine, &feed->taking.answers);
	return r < 0 ? r
		     : hk_source_open(feed->engine, feed->partition, feed->handled, feed->created,
				      wake, feed, &feed->source);
}

/* A job that is only read has no tenure, and its files are for one reader. */
static bool holds(const struct hk_feed *feed)
{
	return feed->replay || hk_tenure_holds(feed->tenure);
}

/* ---- messages ---- */

static void hold(struct hk_feed *feed, int error, uint64_t now_ns)
{
	if (error != feed->held_error) {
		hk_warning("what the stream has is not stored yet partition=%u error=%s",
			   feed->partition, strerror(-error));
	}
	feed->held_error = error;
	feed->due_ns = now_ns + HOLD_NS;
}

/* A stream that was made again counts from 1. */
static void see_stream(struct hk_collector *collector, struct hk_feed *feed, int64_t created)
{
	struct hk_job *job;
	if (feed->created != 0 && feed->created != created) {
		DL_FOREACH (collector->jobs, job) {
			for (size_t i = 0; i < job->state->n_nodes; i++) {
				job->state->nodes[i]->arrivals_sequence = 0;
			}
		}
		feed->taking.begin = feed->handled = 0;
	}
	feed->created = created;
}

/* Takes in what has come, for a turn. */
static void take_messages(struct hk_collector *collector, struct hk_feed *feed, uint64_t now_ns)
{
	struct hk_source_message message;
	uint64_t at = now_ns;
	while (at - now_ns < TURN_NS && holds(feed) && hk_source_next(feed->source, &message)) {
		see_stream(collector, feed, message.created);
		int r = hk_taking_take(&feed->taking, collector, &message, now_ns);
		if (r < 0) {
			hold(feed, r, now_ns);
			return;
		}
		feed->held_error = 0;
		if (r == HK_TAKING_SEARCH) {
			hk_source_search(feed->source, feed->taking.subject, feed->taking.behind,
					 feed->taking.before);
			continue;
		}
		feed->handled = message.found ? feed->handled : message.sequence;
		feed->pending = message.pending;
		if (message.pending == 0) {
			hk_closed_jobs_seen(&feed->closed, message.sequence);
		}
		hk_source_drop(feed->source);
		at = hk_clock_monotonic_ns();
	}
	feed->due_ns = hk_source_next(feed->source, &message) ? at : UINT64_MAX;
}

/* ---- position ---- */

static void tell_problem(struct hk_feed *feed)
{
	char problem[HK_ENGINE_PROBLEM_BYTES];
	hk_source_problem(feed->source, problem);
	if (*problem && strcmp(problem, feed->problem) != 0) {
		hk_warning("nothing comes from the engine partition=%u why=%s", feed->partition,
			   problem);
	}
	memcpy(feed->problem, problem, sizeof(problem));
}

/* Saves all jobs. Then what was taken in is on disk soon. */
static void save(struct hk_collector *collector, struct hk_feed *feed)
{
	uint64_t oldest = hk_taking_oldest(&feed->taking);
	uint64_t reached = oldest <= feed->handled ? oldest - 1 : feed->handled;
	struct hk_job *job;
	int r = 0;
	DL_FOREACH (collector->jobs, job) {
		int saved = job->state->closed ? 0 : hk_job_save(collector, job);
		/* A directory that was removed has nothing to be saved. */
		bool removed = saved < 0 && access(job->state->directory, F_OK) < 0 &&
			       errno == ENOENT && access(collector->store, F_OK) == 0;
		r = r < 0 || removed ? r : saved;
	}
	if (r == 0 && !feed->replay && reached != hk_tenure_position(feed->tenure)) {
		hk_tenure_reach(feed->tenure, reached, feed->created, feed->store_fd);
	}
}

/* Closes what is complete. Returns whether nothing is left to be closed. */
static bool close_all(struct hk_collector *collector)
{
	struct hk_job *job, *next;
	bool all = true;
	DL_FOREACH_SAFE(collector->jobs, job, next)
	{
		bool complete = !job->state->closed && hk_peers_missing(collector, job) == 0;
		all &= !complete || hk_job_close(collector, job) == 0;
	}
	return all;
}

/* A replay is done after its last message. A job that is not complete then is still running. */
static void see_end(struct hk_collector *collector, struct hk_feed *feed, uint64_t now_ns)
{
	if (feed->replay && feed->handled >= feed->replay_end) {
		feed->end_ns = feed->end_ns ? feed->end_ns : now_ns;
		feed->done = close_all(collector) || now_ns - feed->end_ns >= CLOSING_NS;
		feed->due_ns = now_ns + HOLD_NS / 10;
	}
}

/* While messages wait, nodes and jobs that say nothing are not silent: what they say is there. */
static void keep_alive(struct hk_collector *collector, const struct hk_feed *feed, uint64_t now_ns)
{
	struct hk_job *job;
	if (feed->held_error == 0 && feed->pending == 0 && !*feed->problem) {
		return;
	}
	hk_peers_hear(collector, now_ns);
	DL_FOREACH (collector->jobs, job) {
		job->alive_ns = job->state->closed ? job->alive_ns : now_ns;
	}
}

bool hk_feed_is_done(const struct hk_feed *feed)
{
	return feed->done;
}

int hk_feed_run(struct hk_collector *collector, struct hk_feed *feed, uint64_t now_ns)
{
	uint64_t count = 0;
	(void)!read(feed->event_fd, &count, sizeof(count));
	if (!holds(feed)) {
		hk_warning("partition=%u may be another root's: nothing more is written",
			   feed->partition);
		return -ESTALE;
	}
	see_end(collector, feed, now_ns);
	keep_alive(collector, feed, now_ns);
	if (now_ns >= feed->due_ns || (count && feed->held_error == 0)) {
		take_messages(collector, feed, now_ns);
	}
	if (now_ns >= feed->save_ns) {
		tell_problem(feed);
		hk_taking_expire(&feed->taking, collector,
				 now_ns > PARTS_NS ? now_ns - PARTS_NS : 0);
		save(collector, feed);
		uint64_t end = hk_clock_monotonic_ns(), wait = (end - now_ns) * SAVE_SPACING;
		wait = wait < SAVE_NS ? SAVE_NS : wait;
		feed->save_ns = end + (wait < SAVE_MAX_NS ? wait : SAVE_MAX_NS);
	}
	if (!feed->replay) {
		hk_closed_jobs_pass(&feed->closed, collector, hk_tenure_position(feed->tenure));
	}
	return holds(feed) ? 0 : -ESTALE;
}

struct hk_feed *hk_feed_free(struct hk_collector *collector, struct hk_feed *feed)
{
	if (!feed) {
		return NULL;
	}
	hk_answers_free(feed->taking.answers);
	hk_source_free(feed->source);
	if (feed->source && !feed->replay && hk_tenure_holds(feed->tenure)) {
		save(collector, feed);
	}
	hk_tenure_free(feed->tenure);
	hk_engine_free(feed->engine);
	hk_taking_fini(&feed->taking);
	hk_closed_jobs_free(&feed->closed);
	if (feed->store_fd >= 0) {
		close(feed->store_fd);
	}
	if (feed->event_fd >= 0) {
		close(feed->event_fd);
	}
	free(feed);
	return NULL;
}

int hk_feed_fd(const struct hk_feed *feed)
{
	return feed->event_fd;
}

uint64_t hk_feed_due(const struct hk_feed *feed)
{
	return feed->due_ns < feed->save_ns ? feed->due_ns : feed->save_ns;
}
