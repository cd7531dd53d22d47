#include "collector/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chunk/file.h"
#include "collector/replay.h"

#define UID_BYTES 16

struct hk_spool {
	char path[PATH_MAX];
	int fd; /* -1 until the first chunk */
	uint8_t uid[UID_BYTES];
	struct hk_chunk_writer *writer;
	struct hk_ledger *ledger;
	bool begun; /* the writer has a chunk open */
	uint64_t end_bytes;
	uint64_t number; /* of the last chunk in the file */
	uint64_t records, dropped;
	int error;
};

/* ---- after a restart ---- */

static int recover(struct hk_spool *spool, struct hk_reader *reader)
{
	struct hk_chunk_scan scan;
	int r = hk_chunk_file_scan(spool->fd, &scan);
	if (r < 0) {
		return r;
	}
	if (scan.chunks > 0 && memcmp(scan.process, spool->uid, UID_BYTES) != 0) {
		r = -EBADMSG;
	} else if (scan.file_bytes > scan.valid_bytes &&
		   ftruncate(spool->fd, (off_t)scan.valid_bytes) < 0) {
		r = -errno;
	}
	for (size_t i = 0; r == 0 && i < scan.position_count; i++) {
		const struct hk_chunk_position *position = &scan.positions[i];
		hk_reader_seek(reader, position->slot, position->stream, position->position);
	}
	spool->end_bytes = scan.valid_bytes;
	spool->number = scan.last_number;
	spool->records = scan.records;
	hk_chunk_scan_fini(&scan);
	return r < 0 ? r : hk_replay_file(spool->ledger, spool->fd);
}

int hk_spool_open(const struct hk_spool_options *options, struct hk_spool **ret_spool)
{
	struct hk_spool *spool = calloc(1, sizeof(*spool));
	if (!spool) {
		return -ENOMEM;
	}
	int r = -ENOMEM, length;
	spool->ledger = options->ledger;
	spool->dropped = options->dropped;
	memcpy(spool->uid, options->uid, UID_BYTES);
	struct hk_chunk_options chunk_options = {.ticks_per_ns = options->ticks_per_ns,
						 .names = options->names};
	spool->fd = -1;
	spool->writer = hk_chunk_writer_new(&chunk_options);
	if (!spool->writer) {
		goto error;
	}
	length = snprintf(spool->path, sizeof(spool->path), "%s/", options->job_directory);
	if (length < 0 ||
	    (size_t)length + 2 * UID_BYTES + sizeof(".chunks") > sizeof(spool->path)) {
		r = -ENAMETOOLONG;
		goto error;
	}
	for (int i = 0; i < UID_BYTES; i++) {
		length += snprintf(spool->path + length, 3, "%02x", spool->uid[i]);
	}
	memcpy(spool->path + length, ".chunks", sizeof(".chunks"));
	spool->fd = open(spool->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	r = 0;
	if (spool->fd >= 0) {
		r = recover(spool, options->reader);
	} else if (errno != ENOENT) {
		r = -errno;
	}
	if (r < 0) {
		goto error;
	}
	*ret_spool = spool;
	return 0;
error:
	hk_spool_free(spool);
	return r;
}

struct hk_spool *hk_spool_free(struct hk_spool *spool)
{
	if (!spool) {
		return NULL;
	}
	if (spool->fd >= 0) {
		close(spool->fd);
	}
	hk_chunk_writer_free(spool->writer);
	free(spool);
	return NULL;
}

/* ---- records into chunks ---- */

static int append(struct hk_spool *spool, const void *bytes, size_t size, uint64_t room)
{
	if (size > room) {
		return -EDQUOT;
	}
	if (spool->fd < 0) {
		spool->fd = open(spool->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
		if (spool->fd < 0) {
			return -errno;
		}
	}
	return hk_chunk_file_append(spool->fd, spool->end_bytes, bytes, size);
}

int hk_spool_flush(struct hk_spool *spool, uint64_t lost, uint64_t room)
{
	const void *bytes;
	size_t size;
	if (!spool->begun) {
		return 0;
	}
	uint32_t records = hk_chunk_writer_records(spool->writer);
	int r = hk_chunk_writer_finish(spool->writer, lost + spool->dropped, &bytes, &size);
	if (r < 0) {
		return r;
	}
	spool->begun = false;
	r = append(spool, bytes, size, room);
	if (r < 0) {
		/* A full disk must not stop the job's statistics: the records are gone and counted,
		 * and the next chunk that fits tells how many. */
		spool->dropped += records;
		spool->error = r;
		return 0;
	}
	spool->end_bytes += size;
	spool->records += records;
	spool->number++;
	return 0;
}

static void begin(struct hk_spool *spool)
{
	if (!spool->begun) {
		hk_chunk_writer_begin(spool->writer, spool->uid, spool->number + 1);
		spool->begun = true;
	}
}

static int put_chunked(struct hk_spool *spool, const struct hk_run *run, uint64_t lost,
		       uint64_t room)
{
	const uint64_t bytes = (uint64_t)run->word_count * sizeof(uint64_t);
	const uint64_t allowed_end = spool->end_bytes + room;
	struct hk_chunk_position chain = {
	    .slot = run->slot,
	    .stream = run->stream,
	    .position = run->end_position - bytes,
	    .thread = run->thread,
	    .tid = run->tid,
	};
	size_t done = 0;
	while (done < run->word_count) {
		size_t consumed = 0;
		begin(spool);
		uint32_t before = hk_chunk_writer_records(spool->writer);
		int r = hk_chunk_writer_add(spool->writer, &chain, run->words + done,
					    run->word_count - done, &consumed);
		done += consumed;
		if (r == 0) {
			break;
		}
		if (r == -ENOSPC && (consumed > 0 || before > 0)) {
			r = hk_spool_flush(
			    spool, lost,
			    allowed_end > spool->end_bytes ? allowed_end - spool->end_bytes : 0);
			if (r < 0) {
				return r;
			}
			continue;
		}
		if (r == -ENOMEM) {
			return r;
		}
		/* What follows is no record: the rest of the run is skipped. */
		spool->dropped++;
		chain.position = run->end_position;
		hk_chunk_writer_mark(spool->writer, &chain);
		break;
	}
	return 0;
}

/* ---- records into the ledger ---- */

static int show_ledger(struct hk_spool *spool, const struct hk_run *run)
{
	struct hk_chunk_thread thread = {
	    .uid = run->thread, .tid = run->tid, .stream = run->stream};
	size_t at = 0;
	while (run->word_count - at >= HK_RECORD_HEADER_WORDS) {
		uint64_t word1 = run->words[at + 1];
		size_t payload = word1 >> HK_RECORD_WORDS_SHIFT;
		if (payload > HK_RECORD_WORDS_MAX ||
		    payload > run->word_count - at - HK_RECORD_HEADER_WORDS) {
			break;
		}
		struct hk_record record = {
		    .start_ticks = run->words[at],
		    .duration_ns = (uint32_t)word1,
		    .words = run->words + at + HK_RECORD_HEADER_WORDS,
		    .thread = &thread,
		    .site = (uint32_t)(word1 >> HK_RECORD_SITE_SHIFT) & (HK_SITES_MAX - 1),
		    .kind = (uint8_t)(word1 >> HK_RECORD_KIND_SHIFT) & 0xf,
		    .word_count = (uint8_t)payload,
		};
		at += HK_RECORD_HEADER_WORDS + payload;
		if ((uint32_t)word1 == HK_DURATION_ESCAPE) {
			if (payload == 0) {
				break;
			}
			record.duration_ns = *record.words++;
			record.word_count--;
		}
		int r = hk_ledger_add(spool->ledger, &record);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

int hk_spool_put(struct hk_spool *spool, const struct hk_run *run, uint64_t lost, uint64_t room)
{
	/* Calls that are not about memory never go to the memory stream, and the other way round;
	 * what a signal handler does in the middle of a record may be anything. */
	if (run->stream != HK_STREAM_CALLS) {
		int r = show_ledger(spool, run);
		if (r < 0) {
			return r;
		}
	}
	return put_chunked(spool, run, lost, room);
}

uint64_t hk_spool_bytes(const struct hk_spool *spool)
{
	return spool->end_bytes;
}

uint64_t hk_spool_records(const struct hk_spool *spool)
{
	return spool->records;
}

uint64_t hk_spool_dropped(const struct hk_spool *spool)
{
	return spool->dropped;
}

uint64_t hk_spool_number(const struct hk_spool *spool)
{
	return spool->number;
}

int hk_spool_error(const struct hk_spool *spool)
{
	return spool->error;
}
