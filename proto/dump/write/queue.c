#include "dump/write/queue.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define WAIT_NS 5000000000ull /* for one job to be done, before something is left out */
#define IDLE_NS 3600000000000ull

void hk_queue_init(struct hk_queue *queue, size_t bytes_max)
{
	*queue = (struct hk_queue){.bytes_max = bytes_max};
	queue->last = &queue->head;
	pthread_mutex_init(&queue->lock, NULL);
}

void hk_queue_fini(struct hk_queue *queue)
{
	pthread_mutex_destroy(&queue->lock);
}

void hk_queue_wait(atomic_uint *word, unsigned seen, uint64_t ns)
{
	const struct timespec time = {.tv_sec = (time_t)(ns / 1000000000u),
				      .tv_nsec = (long)(ns % 1000000000u)};

	(void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, &time, NULL, 0);
}

void hk_queue_wake(atomic_uint *word)
{
	atomic_fetch_add(word, 1);
	(void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static bool try_put(struct hk_queue *queue, struct hk_job *job)
{
	bool fits;

	pthread_mutex_lock(&queue->lock);
	/* What is larger than the whole queue goes through alone. */
	fits = job->cost == 0 || queue->bytes == 0 ||
	       (queue->bytes < queue->bytes_max && job->cost <= queue->bytes_max - queue->bytes);
	if (fits) {
		job->next = NULL;
		*queue->last = job;
		queue->last = &job->next;
		queue->bytes += job->cost;
	}
	pthread_mutex_unlock(&queue->lock);
	return fits;
}

/* Waits until something is done. Returns false if it takes too long, now or since an earlier wait.
 */
static bool wait_room(struct hk_queue *queue, unsigned room)
{
	const uint64_t start = hk_clock_monotonic_ns();
	uint64_t waited = 0;

	if (queue->stuck && room == queue->stuck_room) {
		return false;
	}
	while (atomic_load(&queue->room) == room && waited < WAIT_NS) {
		hk_queue_wait(&queue->room, room, WAIT_NS - waited);
		waited = hk_clock_monotonic_ns() - start;
	}
	queue->wait_ns += waited;
	queue->stuck = atomic_load(&queue->room) == room;
	queue->stuck_room = room;
	return !queue->stuck;
}

bool hk_queue_put(struct hk_queue *queue, struct hk_job *job)
{
	unsigned room = atomic_load(&queue->room);

	while (!try_put(queue, job)) {
		if (!wait_room(queue, room)) {
			return false;
		}
		room = atomic_load(&queue->room);
	}
	hk_queue_wake(&queue->work);
	return true;
}

struct hk_job *hk_queue_take(struct hk_queue *queue)
{
	for (;;) {
		unsigned work = atomic_load(&queue->work);
		struct hk_job *job;
		pthread_mutex_lock(&queue->lock);
		job = queue->head;
		if (job) {
			queue->head = job->next;
			queue->last = queue->head ? queue->last : &queue->head;
		}
		pthread_mutex_unlock(&queue->lock);
		if (job) {
			return job;
		}
		hk_queue_wait(&queue->work, work, IDLE_NS);
	}
}

void hk_queue_done(struct hk_queue *queue, size_t cost)
{
	pthread_mutex_lock(&queue->lock);
	queue->bytes -= cost;
	pthread_mutex_unlock(&queue->lock);
	hk_queue_wake(&queue->room);
}
