#include "collector/feed/tenure.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "collector/engine/lease.h"

#define SECOND_NS UINT64_C(1000000000)
#define RENEW_NS (HK_LEASE_SECONDS * SECOND_NS / 4)
/* Shorter than the lease by what a stopped thread may need to notice. */
#define HOLD_NS (HK_LEASE_SECONDS * SECOND_NS * 8 / 10)
#define AGAIN_NS (SECOND_NS / 2)

/* A position, and the stream that it is of. */
struct point {
	uint64_t sequence;
	int64_t created;
};

struct hk_tenure {
	struct hk_lease lease; /* the first thread's own, once it runs */
	struct point begin;
	void (*wake)(void *context);
	void *context;
	pthread_t renewing, syncing;
	bool renews, syncs; /* the threads have begun */
	pthread_mutex_t lock;
	pthread_cond_t told;
	/* Guarded by the lock. */
	bool ending, over;
	uint64_t until_ns;			     /* by now() */
	struct point wanted, synced, tried, written; /* one that fails comes again with the next */
	int store_fd;
};

/* Time that also counts while the machine sleeps, as the engine's does. */
static uint64_t now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_BOOTTIME, &time);
	return (uint64_t)time.tv_sec * SECOND_NS + (uint64_t)time.tv_nsec;
}

static void end(struct hk_tenure *tenure, const char *why)
{
	pthread_mutex_lock(&tenure->lock);
	bool first = !tenure->over;
	tenure->over = true;
	pthread_cond_broadcast(&tenure->told);
	pthread_mutex_unlock(&tenure->lock);
	if (first) {
		hk_warning("partition lost number=%u why=%s", tenure->lease.partition, why);
	}
	tenure->wake(tenure->context);
}

/* Renews the lease. Returns when to do so again. */
static uint64_t renew(struct hk_tenure *tenure)
{
	char problem[HK_ENGINE_PROBLEM_BYTES] = "";
	uint64_t begin = now();
	int r = hk_lease_renew(&tenure->lease, problem);
	if (r == -ESTALE) {
		end(tenure, problem);
	}
	if (r < 0) {
		return now() + AGAIN_NS;
	}
	pthread_mutex_lock(&tenure->lock);
	tenure->until_ns = begin + HOLD_NS;
	pthread_mutex_unlock(&tenure->lock);
	return begin + RENEW_NS;
}

static bool same(struct point a, struct point b)
{
	return a.sequence == b.sequence && a.created == b.created;
}

/* Writes the position that the disk has. */
static void write_position(struct hk_tenure *tenure)
{
	char problem[HK_ENGINE_PROBLEM_BYTES] = "";
	pthread_mutex_lock(&tenure->lock);
	struct point point = tenure->tried = tenure->synced;
	pthread_mutex_unlock(&tenure->lock);
	int r = hk_tenure_holds(tenure)
		    ? hk_lease_position(&tenure->lease, point.sequence, point.created, problem)
		    : -EAGAIN;
	if (r == -ESTALE) {
		end(tenure, problem);
	}
	if (r < 0) {
		return;
	}
	pthread_mutex_lock(&tenure->lock);
	tenure->written = point;
	pthread_mutex_unlock(&tenure->lock);
	tenure->wake(tenure->context);
}

/* Waits for the disk, which may take long while others write. */
static void *sync_all(void *data)
{
	struct hk_tenure *tenure = data;
	pthread_mutex_lock(&tenure->lock);
	while (!tenure->ending && !tenure->over) {
		if (same(tenure->wanted, tenure->synced)) {
			pthread_cond_wait(&tenure->told, &tenure->lock);
			continue;
		}
		struct point point = tenure->wanted;
		int fd = tenure->store_fd;
		pthread_mutex_unlock(&tenure->lock);
		bool good = syncfs(fd) == 0;
		if (!good) {
			hk_warning("what was stored is not on disk error=%s", strerror(errno));
		}
		pthread_mutex_lock(&tenure->lock);
		if (good) {
			tenure->synced = point;
			pthread_cond_broadcast(&tenure->told);
		} else if (same(tenure->wanted, point)) {
			pthread_cond_wait(&tenure->told, &tenure->lock);
		}
	}
	pthread_mutex_unlock(&tenure->lock);
	return NULL;
}

/* Waits until DUE, the end, or a new position. The lock is held. */
static void wait_until(struct hk_tenure *tenure, uint64_t due)
{
	uint64_t at = now(), wait = due > at ? due - at : 0;
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	uint64_t ns = (uint64_t)until.tv_nsec + wait;
	until.tv_sec += (time_t)(ns / SECOND_NS);
	until.tv_nsec = (long)(ns % SECOND_NS);
	if (!tenure->ending && !tenure->over) {
		pthread_cond_timedwait(&tenure->told, &tenure->lock, &until);
	}
}

static void *run(void *data)
{
	struct hk_tenure *tenure = data;
	uint64_t due = now() + RENEW_NS;
	pthread_mutex_lock(&tenure->lock);
	while (!tenure->ending && !tenure->over) {
		bool writes = !same(tenure->synced, tenure->tried);
		uint64_t at = now();
		bool late = at >= tenure->until_ns;
		pthread_mutex_unlock(&tenure->lock);
		if (late) {
			end(tenure, "the engine could not be reached for as long as a lease lasts");
		} else if (at >= due) {
			due = renew(tenure);
		}
		if (writes && !late) {
			write_position(tenure);
		}
		pthread_mutex_lock(&tenure->lock);
		if (same(tenure->synced, tenure->tried)) {
			wait_until(tenure, due);
		}
	}
	pthread_mutex_unlock(&tenure->lock);
	return NULL;
}

int hk_tenure_open(struct hk_engine *engine, unsigned partition, const char *owner,
		   void (*wake)(void *context), void *context, struct hk_tenure **ret_tenure,
		   char problem[HK_ENGINE_PROBLEM_BYTES])
{
	struct hk_tenure *tenure = calloc(1, sizeof(*tenure));
	if (!tenure) {
		return -ENOMEM;
	}
	uint64_t begin = now();
	int r = hk_lease_take(engine, partition, owner, &tenure->lease, problem);
	if (r < 0) {
		free(tenure);
		return r;
	}
	tenure->wake = wake;
	tenure->context = context;
	tenure->until_ns = begin + HOLD_NS;
	tenure->begin = (struct point){tenure->lease.position, tenure->lease.created};
	tenure->wanted = tenure->synced = tenure->tried = tenure->written = tenure->begin;
	tenure->store_fd = -1;
	pthread_mutex_init(&tenure->lock, NULL);
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&tenure->told, &monotonic);
	pthread_condattr_destroy(&monotonic);
	r = -pthread_create(&tenure->renewing, NULL, run, tenure);
	tenure->renews = r == 0;
	r = r < 0 ? r : -pthread_create(&tenure->syncing, NULL, sync_all, tenure);
	tenure->syncs = tenure->renews && r == 0;
	if (r < 0) {
		hk_tenure_free(tenure);
		return r;
	}
	*ret_tenure = tenure;
	return 0;
}

/* Writes what was reached last. The disk may take longer than the lease lasts. */
static void finish(struct hk_tenure *tenure)
{
	if (!same(tenure->wanted, tenure->synced) && syncfs(tenure->store_fd) == 0) {
		tenure->synced = tenure->wanted;
	}
	if (hk_tenure_holds(tenure) && !same(tenure->synced, tenure->written)) {
		write_position(tenure);
	}
	if (hk_tenure_holds(tenure)) {
		hk_lease_release(&tenure->lease);
	}
}

struct hk_tenure *hk_tenure_free(struct hk_tenure *tenure)
{
	if (!tenure) {
		return NULL;
	}
	pthread_mutex_lock(&tenure->lock);
	tenure->ending = true;
	pthread_cond_broadcast(&tenure->told);
	pthread_mutex_unlock(&tenure->lock);
	if (tenure->renews) {
		pthread_join(tenure->renewing, NULL);
	}
	if (tenure->syncs) {
		pthread_join(tenure->syncing, NULL);
	}
	finish(tenure);
	pthread_cond_destroy(&tenure->told);
	pthread_mutex_destroy(&tenure->lock);
	free(tenure);
	return NULL;
}

bool hk_tenure_holds(struct hk_tenure *tenure)
{
	pthread_mutex_lock(&tenure->lock);
	bool holds = !tenure->over && now() < tenure->until_ns;
	pthread_mutex_unlock(&tenure->lock);
	return holds;
}

uint64_t hk_tenure_begin(const struct hk_tenure *tenure, int64_t *ret_created)
{
	*ret_created = tenure->begin.created;
	return tenure->begin.sequence;
}

void hk_tenure_reach(struct hk_tenure *tenure, uint64_t sequence, int64_t created, int store_fd)
{
	pthread_mutex_lock(&tenure->lock);
	tenure->wanted = (struct point){sequence, created};
	tenure->store_fd = store_fd;
	pthread_cond_broadcast(&tenure->told);
	pthread_mutex_unlock(&tenure->lock);
}

uint64_t hk_tenure_position(struct hk_tenure *tenure)
{
	pthread_mutex_lock(&tenure->lock);
	uint64_t written = tenure->written.sequence;
	pthread_mutex_unlock(&tenure->lock);
	return written;
}
