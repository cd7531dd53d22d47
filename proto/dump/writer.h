/* writer.h: writes a process's part of a dump.
 *
 * One writer belongs to one thread at a time (the GIL protects it). A thread of its own compresses
 * and writes, so that the program waits only when more than `queue_bytes` are unwritten. After fork
 * the child's writer drops everything and counts it.
 */
#ifndef HK_DUMP_WRITER_H
#define HK_DUMP_WRITER_H

#include "dump/dump.h"

struct hk_dump_writer;

/* Activations shrink by a sixth (float32) to a half (bfloat16, or many zeros) at several hundred
 * MB/s. Payloads that shrink less than a sixteenth are stored as they are. */
#define HK_DUMP_COMPRESSION 1

struct hk_dump_settings {
	const char *directory; /* made if it is missing; its parent exists */
	const char
	    *about; /* a JSON object: framework, version, rank, world, host, job, level ... */
	uint32_t rank;
	uint64_t limit_bytes; /* of the file; then payloads, and at last rows, are left out and
				 counted. 0: none */
	uint64_t queue_bytes; /* 0: 256 MiB */
	int compression; /* of zstd for payloads: HK_DUMP_COMPRESSION, or another level; 0: none */
};

/* Why rows and payloads were left out. The numbers are part of the format. */
enum hk_dump_reason {
	HK_DUMP_LEFT_LIMIT = 0,	  /* limit_bytes is reached */
	HK_DUMP_LEFT_DISK = 1,	  /* the last write failed */
	HK_DUMP_LEFT_SLOW = 2,	  /* nothing was written for seconds while the queue was full */
	HK_DUMP_LEFT_MEMORY = 3,  /* no memory for a copy */
	HK_DUMP_LEFT_FORK = 4,	  /* in a forked child */
	HK_DUMP_LEFT_UNKNOWN = 5, /* elements without a digest, or of an unknown dtype */
	HK_DUMP_REASONS
};

/* What the file got and did not get. Each number is also in the file, at each step's end. */
struct hk_dump_counts {
	uint64_t rows, payloads, duplicates; /* duplicates: payloads that were there already */
	uint64_t bytes;			     /* of the file */
	uint64_t rows_left_out, payloads_left_out, payload_bytes_left_out; /* of all reasons */
	uint64_t wait_ns; /* that the program waited for the writer */
	uint64_t rows_left[HK_DUMP_REASONS], payloads_left[HK_DUMP_REASONS];
	int error; /* errno of the last write that failed, or 0 */
};

/* Returns NULL with the REASON in BYTES. */
struct hk_dump_writer *hk_dump_writer_open(const struct hk_dump_settings *settings, char *reason,
					   size_t bytes);

/* Adds a row; texts are copied. ELEMENTS, if not NULL: the tensor's elements are stored unless
 * those of its digest are there; then the row's statistics have the digest. Never fails: what has
 * no room is counted. */
void hk_dump_writer_add(struct hk_dump_writer *writer, const struct hk_dump_row *row,
			const struct hk_tensor *elements);

/* The number of the stack with these FRAMES, innermost first, each "path:line function": the same
 * for equal stacks. HK_DUMP_NONE if there is no room. */
uint32_t hk_dump_writer_stack(struct hk_dump_writer *writer, const char *const *frames,
			      uint32_t many);

/* Step STEP has ended: its rows go to the file, with the counts. Does not wait for the disk. After
 * a write that failed, writing is tried again from here. */
void hk_dump_writer_step(struct hk_dump_writer *writer, uint64_t step);

struct hk_dump_counts hk_dump_writer_counts(const struct hk_dump_writer *writer);

/* Writes the rest, marks the file as complete and frees WRITER. Returns 0, the last error as
 * -errno, or -ETIMEDOUT: the disk took nothing for half a minute, and the thread is left behind. */
int hk_dump_writer_close(struct hk_dump_writer *writer, struct hk_dump_counts *counts);

#endif
