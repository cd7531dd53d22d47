#include "dump/writer.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "dump/write/bytes.h"
#include "dump/write/gather.h"
#include "dump/write/intern.h"
#include "dump/write/storer.h"

#define QUEUE_BYTES (256u << 20)
#define BATCH_ROWS 1024u
#define BATCH_NS 100000000 /* older rows are handed over with the next one */
#define TEXT_MAX 65535u
#define SCALARS_BYTES (4u << 20) /* of a batch */
#define TEXTS_BYTES (24u << 20)	 /* so that all of them, with their ends, fit into one block */
#define STACK_FRAMES_MAX 1024u
#define THREAD_STACK (256u << 10)
#define CLOSE_SECONDS 30u
#define HEAP_BLOCK (8u << 20) /* glibc then keeps twice as much that is free at the heap's top */

struct hk_dump_writer {
	struct hk_storer storer;
	pthread_t thread;
	pid_t process;
	struct hk_intern texts, stacks;
	struct hk_job *batch;	     /* being filled, or NULL */
	uint64_t attempts;	     /* to store a payload */
	bool inert;		     /* a forked child's */
	struct hk_dump_counts child; /* of a forked child */
};

/* True in a forked child, whose writer has no thread. */
static bool is_inert(struct hk_dump_writer *writer)
{
	if (!writer->inert && getpid() != writer->process) {
		writer->inert = true;
	}
	return writer->inert;
}

static struct hk_job *new_batch(struct hk_dump_writer *writer)
{
	struct hk_job *job = calloc(1, sizeof(*job));

	if (!job) {
		return NULL;
	}
	job->kind = HK_JOB_ROWS;
	job->rows.batch.cells =
	    hk_pool_take(&writer->storer.pool, BATCH_ROWS * sizeof(job->rows.batch.cells[0]),
			 &job->rows.cells_cost);
	if (!job->rows.batch.cells) {
		free(job);
		return NULL;
	}
	return job;
}

/* Hands the batch over. Where the queue has no room its rows are left out, its definitions not. */
static void flush(struct hk_dump_writer *writer)
{
	struct hk_job *job = writer->batch;
	struct hk_job_rows *rows = job ? &job->rows : NULL;

	if (!job || (rows->batch.rows == 0 && rows->text_count == 0 && rows->stack_count == 0)) {
		return;
	}
	job->cost = sizeof(*job) + rows->cells_cost + rows->shape_room * sizeof(uint64_t) +
		    rows->scalar_room + rows->texts.room + rows->stacks.room;
	if (hk_queue_put(&writer->storer.queue, job)) {
		writer->batch = NULL;
		return;
	}
	hk_storer_leave_rows(&writer->storer, rows->batch.rows, HK_DUMP_LEFT_SLOW);
	rows->batch.rows = rows->batch.shape_count = rows->batch.scalar_bytes = 0;
}

/* The number of SIZE bytes of TEXT; a new one is defined with the batch. */
static uint32_t number_text(struct hk_dump_writer *writer, const char *text)
{
	struct hk_job_rows *rows = &writer->batch->rows;
	const uint32_t count = writer->texts.count;
	size_t size;
	uint32_t number;

	text = text ? text : "";
	size = strlen(text);
	size = size < TEXT_MAX ? size : TEXT_MAX;
	/* Room first: what has a number must be defined. */
	if (!hk_bytes_room(&rows->texts, size + 1)) {
		return HK_DUMP_NONE;
	}
	number = hk_intern_number(&writer->texts, text, size);
	if (number == count && number != HK_DUMP_NONE) {
		(void)hk_bytes_add(&rows->texts, text, size);
		(void)hk_bytes_add(&rows->texts, "", 1);
		rows->text_count++;
	}
	return number;
}

static bool add_shape(struct hk_job_rows *rows, const struct hk_dump_row *row)
{
	struct hk_dump_batch *batch = &rows->batch;

	if (row->dimensions > rows->shape_room - batch->shape_count) {
		size_t room = 2 * rows->shape_room + BATCH_ROWS * 4;
		uint64_t *larger = realloc(batch->shapes, room * sizeof(*larger));
		if (!larger) {
			return false;
		}
		batch->shapes = larger;
		rows->shape_room = room;
	}
	if (row->dimensions > 0) {
		memcpy(batch->shapes + batch->shape_count, row->shape,
		       row->dimensions * sizeof(row->shape[0]));
	}
	return true;
}

static bool add_scalar(struct hk_job_rows *rows, const char *scalar, size_t size)
{
	struct hk_dump_batch *batch = &rows->batch;

	if (size > rows->scalar_room - batch->scalar_bytes) {
		size_t room = 2 * (rows->scalar_room + size) + BATCH_ROWS;
		char *larger = realloc(batch->scalars, room);
		if (!larger) {
			return false;
		}
		batch->scalars = larger;
		rows->scalar_room = room;
	}
	if (size > 0) {
		memcpy(batch->scalars + batch->scalar_bytes, scalar, size);
	}
	return true;
}

static void fill_cells(struct hk_dump_cells *cells, const struct hk_dump_row *row)
{
	*cells = (struct hk_dump_cells){
	    .sequence = row->sequence,
	    .forward_sequence = row->forward_sequence,
	    .step = row->step,
	    .count = row->statistics.count,
	    .nans = row->statistics.nans,
	    .positive_infs = row->statistics.positive_infs,
	    .negative_infs = row->statistics.negative_infs,
	    .zeros = row->statistics.zeros,
	    .min = row->statistics.min,
	    .max = row->statistics.max,
	    .mean = row->statistics.mean,
	    .l2 = row->statistics.l2,
	    .deviation = row->statistics.deviation,
	    .digest = row->statistics.digest,
	    .storage = row->storage,
	    .version = row->version,
	    .offset = row->offset,
	    .thread = row->thread,
	    .begin_ns = row->begin_ns,
	    .number = row->number,
	    .flags = row->flags,
	    .stack = row->stack,
	    .kind = (uint8_t)row->kind,
	    .phase = (uint8_t)row->phase,
	    .role = (uint8_t)row->role,
	    .dtype = (uint8_t)row->dtype,
	    .dimensions = (uint8_t)row->dimensions,
	};
}

static void add_row(struct hk_dump_writer *writer, const struct hk_dump_row *row)
{
	struct hk_job_rows *rows;
	struct hk_dump_batch *batch;
	size_t scalar = row->scalar ? strlen(row->scalar) : 0;

	writer->batch = writer->batch ? writer->batch : new_batch(writer);
	scalar = scalar < TEXT_MAX ? scalar : TEXT_MAX;
	rows = writer->batch ? &writer->batch->rows : NULL;
	if (!rows || row->dimensions > HK_TENSOR_DIMENSIONS || !add_shape(rows, row) ||
	    !add_scalar(rows, row->scalar, scalar)) {
		hk_storer_leave_rows(&writer->storer, 1, HK_DUMP_LEFT_MEMORY);
		return;
	}
	batch = &rows->batch;
	struct hk_dump_cells *cells = &batch->cells[batch->rows];
	fill_cells(cells, row);
	cells->name = number_text(writer, row->name);
	cells->of = number_text(writer, row->of);
	cells->slot = number_text(writer, row->slot);
	cells->device = number_text(writer, row->device);
	cells->scalar_bytes = row->scalar ? (uint32_t)scalar : HK_DUMP_NONE;
	batch->rows++;
	batch->shape_count += row->dimensions;
	batch->scalar_bytes += scalar;
	if (batch->rows == BATCH_ROWS || batch->scalar_bytes > SCALARS_BYTES ||
	    (int64_t)(row->begin_ns - batch->cells[0].begin_ns) > BATCH_NS) {
		flush(writer);
	}
}

/* A job with the next part of the elements. NULL: no memory. */
static struct hk_job *new_part(struct hk_dump_writer *writer, struct hk_gather *gather,
			       const struct hk_job_payload *payload)
{
	const uint64_t left = gather->count - gather->done,
		       most = HK_DUMP_PART_BYTES / gather->width;
	const uint64_t count = left < most ? left : most;
	struct hk_job *job = calloc(1, sizeof(*job));

	if (!job) {
		return NULL;
	}
	job->kind = HK_JOB_PAYLOAD;
	job->payload = *payload;
	job->payload.offset = gather->done * gather->width;
	job->payload.size = count * gather->width;
	job->payload.last = count == left;
	job->payload.bytes = hk_pool_take(&writer->storer.pool, job->payload.size, &job->cost);
	if (!job->payload.bytes) {
		free(job);
		return NULL;
	}
	hk_gather_copy(gather, job->payload.bytes, count);
	return job;
}

static void queue_parts(struct hk_dump_writer *writer, struct hk_gather *gather,
			const struct hk_job_payload *payload)
{
	struct hk_storer *storer = &writer->storer;

	do {
		struct hk_job *job = new_part(writer, gather, payload);
		if (!job) {
			hk_storer_leave_payload(storer, payload, HK_DUMP_LEFT_MEMORY);
			return;
		}
		if (!hk_queue_put(&storer->queue, job)) {
			hk_job_free(storer, job);
			hk_storer_leave_payload(storer, payload, HK_DUMP_LEFT_SLOW);
			return;
		}
	} while (gather->done < gather->count);
}

static void add_elements(struct hk_dump_writer *writer, const struct hk_dump_row *row,
			 const struct hk_tensor *elements)
{
	struct hk_storer *storer = &writer->storer;
	const int shut = atomic_load(&storer->shut);
	struct hk_job_payload payload = {.attempt = ++writer->attempts,
					 .digest = row->statistics.digest,
					 .dtype = (uint32_t)elements->dtype};
	struct hk_gather gather;
	bool is_new;

	if (hk_gather_begin(&gather, elements) != 0 || row->flags & HK_DUMP_NO_STATISTICS ||
	    payload.digest == 0) {
		hk_storer_leave_payload(storer, &payload, HK_DUMP_LEFT_UNKNOWN);
		return;
	}
	payload.count = gather.count;
	pthread_mutex_lock(&storer->lock);
	is_new = hk_seen_add(storer->seen, payload.digest, payload.count, payload.dtype);
	storer->counts.duplicates += !is_new;
	pthread_mutex_unlock(&storer->lock);
	if (!is_new) {
		return;
	}
	if (shut) {
		hk_storer_leave_payload(storer, &payload, (enum hk_dump_reason)(shut - 1));
		return;
	}
	queue_parts(writer, &gather, &payload);
}

void hk_dump_writer_add(struct hk_dump_writer *writer, const struct hk_dump_row *row,
			const struct hk_tensor *elements)
{
	if (is_inert(writer)) {
		writer->child.rows_left_out++;
		writer->child.rows_left[HK_DUMP_LEFT_FORK]++;
		writer->child.payloads_left_out += elements != NULL;
		writer->child.payloads_left[HK_DUMP_LEFT_FORK] += elements != NULL;
		return;
	}
	if (elements) {
		add_elements(writer, row, elements);
	}
	add_row(writer, row);
}

uint32_t hk_dump_writer_stack(struct hk_dump_writer *writer, const char *const *frames,
			      uint32_t many)
{
	uint32_t numbers[STACK_FRAMES_MAX + 1];
	uint32_t number, count;

	if (is_inert(writer)) {
		return HK_DUMP_NONE;
	}
	writer->batch = writer->batch ? writer->batch : new_batch(writer);
	many = many < STACK_FRAMES_MAX ? many : STACK_FRAMES_MAX;
	const size_t size = (many + 1) * sizeof(numbers[0]);
	if (!writer->batch || !hk_bytes_room(&writer->batch->rows.stacks, size)) {
		return HK_DUMP_NONE;
	}
	numbers[0] = many;
	for (uint32_t i = 0; i < many; i++) {
		numbers[i + 1] = number_text(writer, frames[i]);
	}
	count = writer->stacks.count;
	number = hk_intern_number(&writer->stacks, numbers, size);
	if (number == count && number != HK_DUMP_NONE) {
		(void)hk_bytes_add(&writer->batch->rows.stacks, numbers, size);
		writer->batch->rows.stack_count++;
	}
	return number;
}

/* What the program waited is a count that the thread writes. */
static void note_wait(struct hk_dump_writer *writer)
{
	pthread_mutex_lock(&writer->storer.lock);
	writer->storer.counts.wait_ns = writer->storer.queue.wait_ns;
	pthread_mutex_unlock(&writer->storer.lock);
}

void hk_dump_writer_step(struct hk_dump_writer *writer, uint64_t step)
{
	struct hk_job *job;

	if (is_inert(writer)) {
		return;
	}
	flush(writer);
	note_wait(writer);
	job = calloc(1, sizeof(*job));
	if (job) {
		job->kind = HK_JOB_STEP;
		job->step = step;
		(void)hk_queue_put(&writer->storer.queue, job);
	}
}

struct hk_dump_counts hk_dump_writer_counts(const struct hk_dump_writer *writer)
{
	/* The lock is no part of what the caller sees. */
	struct hk_dump_writer *own = (struct hk_dump_writer *)(uintptr_t)writer;
	struct hk_dump_counts counts;

	if (is_inert(own)) {
		return writer->child;
	}
	pthread_mutex_lock(&own->storer.lock);
	counts = writer->storer.counts;
	pthread_mutex_unlock(&own->storer.lock);
	counts.wait_ns = writer->storer.queue.wait_ns;
	return counts;
}

/* Starts the thread with signals blocked: the program's handlers are not for it. */
static int start_thread(struct hk_dump_writer *writer)
{
	static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
	pthread_attr_t attributes;
	sigset_t blocked, before;
	int rc;

	sigfillset(&blocked);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		sigdelset(&blocked, own[i]);
	}
	/* pthread_sigmask has a new version in newer versions of glibc; on Linux this is the same.
	 */
	sigprocmask(SIG_SETMASK, &blocked, &before);
	pthread_attr_init(&attributes);
	(void)pthread_attr_setstacksize(&attributes, THREAD_STACK);
	rc = pthread_create(&writer->thread, &attributes, hk_storer_run, &writer->storer);
	if (rc == EINVAL) {
		/* The program's thread-local variables do not fit into a small stack. */
		rc = pthread_create(&writer->thread, NULL, hk_storer_run, &writer->storer);
	}
	pthread_attr_destroy(&attributes);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return -rc;
}

/* Frees all but what the thread may still use. */
static void free_writer(struct hk_dump_writer *writer)
{
	struct hk_storer *storer = &writer->storer;

	if (writer->batch) {
		hk_job_free(storer, writer->batch);
	}
	hk_intern_fini(&writer->texts);
	hk_intern_fini(&writer->stacks);
	hk_bytes_free(&storer->texts.bytes);
	hk_bytes_free(&storer->stacks.bytes);
	hk_shrink_fini(&storer->shrink);
	hk_pool_fini(&storer->pool);
	hk_queue_fini(&storer->queue);
	hk_seen_free(storer->seen);
	pthread_mutex_destroy(&storer->lock);
	if (storer->output.fd >= 0) {
		close(storer->output.fd);
	}
	free(writer);
}

static int write_about(struct hk_dump_writer *writer, const struct hk_dump_settings *settings)
{
	struct timespec now;
	struct hk_dump_block block = {.type = HK_DUMP_BLOCK_ABOUT};
	const void *stored;
	int rc;

	clock_gettime(CLOCK_REALTIME, &now);
	block.argument[0] = settings->rank;
	block.argument[1] = (uint64_t)writer->process;
	block.argument[2] = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	stored = hk_shrink_body(&writer->storer.shrink, &block, settings->about,
				strlen(settings->about), 1);
	rc = hk_output_append(&writer->storer.output, &block, stored);
	writer->storer.counts.bytes = writer->storer.output.at;
	return rc == HK_OUTPUT_FULL ? -EFBIG : rc;
}

/* The same without the signal of a limit of the process, which would end the program. */
static int write_about_quietly(struct hk_dump_writer *writer,
			       const struct hk_dump_settings *settings)
{
	const struct timespec now = {0};
	sigset_t signals, before;
	int rc;

	sigemptyset(&signals);
	sigaddset(&signals, SIGXFSZ);
	sigprocmask(SIG_BLOCK, &signals, &before);
	rc = write_about(writer, settings);
	if (rc == -EFBIG) {
		(void)sigtimedwait(&signals, NULL, &now);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return rc;
}

/* A dump holds tensors a little longer than the program does, so the heap's top comes and goes with
 * each step. glibc gives it back to the kernel above a size that it learns from the largest block
 * freed so far, and then each step has hundreds of page faults. So it learns from one block here. A
 * program with larger tensors has taught it already. */
static void settle_heap(void)
{
	void *volatile block = malloc(HEAP_BLOCK);

	free(block);
}

static struct hk_dump_writer *new_writer(const struct hk_dump_settings *settings)
{
	struct hk_dump_writer *writer = calloc(1, sizeof(*writer));

	if (!writer) {
		return NULL;
	}
	settle_heap();
	writer->process = getpid();
	hk_intern_init(&writer->texts, TEXTS_BYTES);
	hk_intern_init(&writer->stacks, TEXTS_BYTES);
	hk_queue_init(&writer->storer.queue,
		      settings->queue_bytes ? settings->queue_bytes : QUEUE_BYTES);
	hk_pool_init(&writer->storer.pool);
	hk_shrink_init(&writer->storer.shrink, settings->compression);
	pthread_mutex_init(&writer->storer.lock, NULL);
	writer->storer.output.fd = -1;
	writer->storer.seen = hk_seen_new();
	if (!writer->storer.seen) {
		free_writer(writer);
		return NULL;
	}
	return writer;
}

struct hk_dump_writer *hk_dump_writer_open(const struct hk_dump_settings *settings, char *reason,
					   size_t bytes)
{
	struct hk_dump_writer *writer = new_writer(settings);
	const char *what = NULL;
	int rc;

	if (!writer) {
		snprintf(reason, bytes, "no memory");
		return NULL;
	}
	rc = hk_output_open(&writer->storer.output, settings->directory, settings->rank,
			    settings->limit_bytes, &what);
	if (rc != 0) {
		snprintf(reason, bytes, "cannot make %s %s: %s", what, settings->directory,
			 strerror(-rc));
	} else if ((rc = write_about_quietly(writer, settings)) != 0) {
		snprintf(reason, bytes, "cannot write to the directory %s: %s", settings->directory,
			 strerror(-rc));
	} else if ((rc = start_thread(writer)) != 0) {
		snprintf(reason, bytes, "cannot start the thread that writes: %s", strerror(-rc));
	} else {
		return writer;
	}
	free_writer(writer);
	return NULL;
}

/* Waits until the thread has ended. Returns false if it does nothing for CLOSE_SECONDS. */
static bool wait_end(struct hk_storer *storer)
{
	unsigned done = atomic_load(&storer->queue.room), seconds = 0;

	while (!atomic_load(&storer->ended)) {
		hk_queue_wait(&storer->ended, 0, 1000000000u);
		seconds = atomic_load(&storer->queue.room) == done ? seconds + 1 : 0;
		done = atomic_load(&storer->queue.room);
		if (seconds > CLOSE_SECONDS) {
			return false;
		}
	}
	return true;
}

/* In a forked child: what the thread used may be half changed, and stays. */
static void close_child(struct hk_dump_writer *writer)
{
	close(writer->storer.output.fd);
	writer->storer.output.fd = -1;
	hk_intern_fini(&writer->texts);
	hk_intern_fini(&writer->stacks);
}

int hk_dump_writer_close(struct hk_dump_writer *writer, struct hk_dump_counts *counts)
{
	struct hk_job *job;
	int rc = -ETIMEDOUT;

	if (is_inert(writer)) {
		*counts = writer->child;
		close_child(writer);
		return 0;
	}
	flush(writer);
	note_wait(writer);
	job = calloc(1, sizeof(*job));
	if (job) {
		job->kind = HK_JOB_CLOSE;
		(void)hk_queue_put(&writer->storer.queue, job);
	}
	if (job && wait_end(&writer->storer)) {
		pthread_join(writer->thread, NULL);
		*counts = hk_dump_writer_counts(writer);
		rc = -counts->error;
		free_writer(writer);
	} else {
		*counts = hk_dump_writer_counts(writer);
	}
	return rc;
}
