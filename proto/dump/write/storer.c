#include "dump/write/storer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "dump/write/bytes.h"

void hk_storer_leave_rows(struct hk_storer *storer, uint64_t rows, enum hk_dump_reason reason)
{
	pthread_mutex_lock(&storer->lock);
	storer->counts.rows_left_out += rows;
	storer->counts.rows_left[reason] += rows;
	pthread_mutex_unlock(&storer->lock);
}

void hk_storer_leave_payload(struct hk_storer *storer, const struct hk_job_payload *payload,
			     enum hk_dump_reason reason)
{
	pthread_mutex_lock(&storer->lock);
	if (payload->attempt != storer->failed) {
		storer->counts.payloads_left_out++;
		storer->counts.payloads_left[reason]++;
		storer->counts.payload_bytes_left_out +=
		    payload->count * hk_dtype_bytes((enum hk_dtype)payload->dtype);
		hk_seen_remove(storer->seen, payload->digest, payload->count, payload->dtype);
		storer->failed = payload->attempt;
	}
	pthread_mutex_unlock(&storer->lock);
}

static bool has_failed(struct hk_storer *storer, const struct hk_job_payload *payload)
{
	pthread_mutex_lock(&storer->lock);
	const bool failed = payload->attempt == storer->failed;
	pthread_mutex_unlock(&storer->lock);
	return failed;
}

void hk_job_free(struct hk_storer *storer, struct hk_job *job)
{
	if (job->kind == HK_JOB_ROWS) {
		hk_pool_give(&storer->pool, job->rows.batch.cells, job->rows.cells_cost);
		free(job->rows.batch.shapes);
		free(job->rows.batch.scalars);
		hk_bytes_free(&job->rows.texts);
		hk_bytes_free(&job->rows.stacks);
	} else if (job->kind == HK_JOB_PAYLOAD) {
		hk_pool_give(&storer->pool, job->payload.bytes, job->cost);
	}
	free(job);
}

/* Appends a block. Returns 0, HK_OUTPUT_FULL or -errno, which is kept. After an error all that is
 * like it is left out until the next step: of a payload, payloads, which need most room; else all.
 */
static int append(struct hk_storer *storer, struct hk_dump_block *block, const void *body,
		  size_t size)
{
	const bool payload = block->type == HK_DUMP_BLOCK_PAYLOAD;
	const size_t width =
	    payload ? hk_dtype_bytes((enum hk_dtype)(block->argument[2] & 0xff)) : 1;
	const void *stored = hk_shrink_body(&storer->shrink, block, body, size, width);
	int rc = hk_output_append(&storer->output, block, stored);

	pthread_mutex_lock(&storer->lock);
	storer->counts.bytes = storer->output.at;
	if (rc < 0) {
		storer->counts.error = -rc;
	}
	pthread_mutex_unlock(&storer->lock);
	if (rc < 0) {
		storer->failing |= !payload;
		atomic_store(&storer->shut, HK_DUMP_LEFT_DISK + 1);
	}
	return rc;
}

/* Writes what is not yet in the file. Returns as append. */
static int write_definitions(struct hk_storer *storer, struct hk_definitions *definitions,
			     uint16_t type)
{
	struct hk_dump_block block = {.type = type,
				      .argument = {definitions->first, definitions->count}};
	int rc;

	if (definitions->count == 0) {
		return 0;
	}
	rc = append(storer, &block, definitions->bytes.bytes, definitions->bytes.size);
	if (rc == 0) {
		definitions->first += definitions->count;
		definitions->count = 0;
		definitions->bytes.size = 0;
	}
	return rc;
}

static bool take_definitions(struct hk_definitions *definitions, const struct hk_bytes *bytes,
			     uint32_t count)
{
	if (count > 0 && !hk_bytes_add(&definitions->bytes, bytes->bytes, bytes->size)) {
		return false;
	}
	definitions->count += count;
	return true;
}

static int write_batch(struct hk_storer *storer, const struct hk_dump_batch *batch)
{
	struct hk_dump_block block = {.type = HK_DUMP_BLOCK_ROWS, .argument = {batch->rows}};
	const size_t size = hk_dump_columns_bytes(batch);
	void *body = malloc(size);
	int rc = -ENOMEM;

	if (body) {
		hk_dump_columns_write(batch, body);
		rc = append(storer, &block, body, size);
	}
	free(body);
	return rc;
}

static int write_all_definitions(struct hk_storer *storer)
{
	int rc = write_definitions(storer, &storer->texts, HK_DUMP_BLOCK_TEXTS);

	return rc == 0 ? write_definitions(storer, &storer->stacks, HK_DUMP_BLOCK_STACKS) : rc;
}

static enum hk_dump_reason reason_of(int rc)
{
	return rc == HK_OUTPUT_FULL ? HK_DUMP_LEFT_LIMIT
	       : rc == -ENOMEM	    ? HK_DUMP_LEFT_MEMORY
				    : HK_DUMP_LEFT_DISK;
}

static void store_rows(struct hk_storer *storer, const struct hk_job_rows *rows)
{
	int rc = -EIO;

	/* Without a definition all later ones would have wrong numbers. */
	if (!take_definitions(&storer->texts, &rows->texts, rows->text_count) ||
	    !take_definitions(&storer->stacks, &rows->stacks, rows->stack_count)) {
		storer->output.limit = 0;
		rc = -ENOMEM;
	} else if (!storer->failing) {
		rc = write_all_definitions(storer);
		if (rc == 0 && rows->batch.rows > 0) {
			rc = write_batch(storer, &rows->batch);
		}
	}
	if (rc != 0) {
		hk_storer_leave_rows(storer, rows->batch.rows, reason_of(rc));
		return;
	}
	pthread_mutex_lock(&storer->lock);
	storer->counts.rows += rows->batch.rows;
	pthread_mutex_unlock(&storer->lock);
}

static void store_payload(struct hk_storer *storer, const struct hk_job_payload *payload)
{
	struct hk_dump_block block = {
	    .type = HK_DUMP_BLOCK_PAYLOAD,
	    .argument = {payload->digest, payload->count, payload->offset << 8 | payload->dtype}};
	const int shut = atomic_load(&storer->shut);
	int rc = shut == HK_DUMP_LEFT_LIMIT + 1 ? HK_OUTPUT_FULL : -EIO;

	if (has_failed(storer, payload)) {
		return;
	}
	if (!shut) {
		rc = append(storer, &block, payload->bytes, payload->size);
	}
	if (rc != 0) {
		if (rc == HK_OUTPUT_FULL) {
			atomic_store(&storer->shut, HK_DUMP_LEFT_LIMIT + 1);
		}
		hk_storer_leave_payload(storer, payload, reason_of(rc));
	} else if (payload->last) {
		pthread_mutex_lock(&storer->lock);
		storer->counts.payloads++;
		pthread_mutex_unlock(&storer->lock);
	}
}

static void write_counts(struct hk_storer *storer, uint16_t type)
{
	struct hk_dump_block block = {.type = type, .argument = {storer->step}};
	struct hk_dump_counts counts;
	uint64_t body[9 + 2 * HK_DUMP_REASONS];

	pthread_mutex_lock(&storer->lock);
	counts = storer->counts;
	pthread_mutex_unlock(&storer->lock);
	const uint64_t head[9] = {counts.rows,
				  counts.payloads,
				  counts.duplicates,
				  counts.bytes,
				  counts.rows_left_out,
				  counts.payloads_left_out,
				  counts.payload_bytes_left_out,
				  counts.wait_ns,
				  (uint64_t)counts.error};
	memcpy(body, head, sizeof(head));
	memcpy(body + 9, counts.rows_left, sizeof(counts.rows_left));
	memcpy(body + 9 + HK_DUMP_REASONS, counts.payloads_left, sizeof(counts.payloads_left));
	(void)append(storer, &block, body, sizeof(body));
}

static void store_step(struct hk_storer *storer, uint64_t step)
{
	int rc = hk_output_check(&storer->output);

	storer->step = step;
	storer->failing = false;
	if (atomic_load(&storer->shut) == HK_DUMP_LEFT_DISK + 1) {
		atomic_store(&storer->shut, 0);
	}
	if (rc == 0 && write_all_definitions(storer) >= 0 && !storer->failing) {
		write_counts(storer, HK_DUMP_BLOCK_STEP);
	} else if (rc != 0) {
		pthread_mutex_lock(&storer->lock);
		storer->counts.error = -rc;
		pthread_mutex_unlock(&storer->lock);
		storer->failing = true;
		atomic_store(&storer->shut, HK_DUMP_LEFT_DISK + 1);
	}
}

void *hk_storer_run(void *argument)
{
	struct hk_storer *storer = argument;
	bool ended = false;

	(void)prctl(PR_SET_NAME, "hook-dump");
	while (!ended) {
		struct hk_job *job = hk_queue_take(&storer->queue);
		const size_t cost = job->cost;
		switch (job->kind) {
		case HK_JOB_ROWS:
			store_rows(storer, &job->rows);
			break;
		case HK_JOB_PAYLOAD:
			store_payload(storer, &job->payload);
			break;
		case HK_JOB_STEP:
			store_step(storer, job->step);
			break;
		case HK_JOB_CLOSE:
			write_counts(storer, HK_DUMP_BLOCK_END);
			ended = true;
			break;
		}
		hk_job_free(storer, job);
		hk_queue_done(&storer->queue, cost);
	}
	atomic_store(&storer->ended, 1);
	hk_queue_wake(&storer->ended);
	return NULL;
}
