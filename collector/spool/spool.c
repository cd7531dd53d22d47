#include "collector/spool/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "chunk/read/file.h"
#include "collector/job/jobdir.h"
#include "collector/memory/checkpoint.h"
#include "collector/spool/replay.h"
#include "collector/spool/step_times.h"
#include "ring/reader.h"

#define UID_BYTES 16
#define CHUNKS_SUFFIX ".chunks"
#define CHECKPOINT_SPACING 50u /* checkpoints take at most 1/50 of the time */

struct hk_spool {
	char path[PATH_MAX];
	int fd;		/* -1 until the first chunk */
	uint32_t files; /* number of files removed while they were open */
	uint8_t uid[UID_BYTES];
	struct hk_chunk_writer *writer;
	struct hk_reader *reader;
	struct hk_ledger *ledger;
	struct hk_rows *rows;
	struct hk_arrivals *arrivals;
	struct hk_step_times steps;
	bool begun;	/* a chunk is being written */
	bool accounted; /* `dropped` is known already */
	uint64_t end_bytes, held_bytes;
	uint64_t number; /* number of the last chunk in the file */
	uint64_t records, shed_records, elsewhere_records, dropped;
	struct hk_chunk_front front;
	char checkpoint[PATH_MAX];
	uint64_t checkpoint_number; /* last chunk that the stored checkpoint includes */
	uint64_t checkpoint_due_ns; /* monotonic; earliest time of the next checkpoint */
};

/* ---- after a restart ---- */

/* Restores the ledger from its checkpoint and the chunks after it. Evicted records after the
 * checkpoint are unknown to the ledger. */
static int recover_ledger(struct hk_spool *spool)
{
	uint64_t missing = 0;
	int r = hk_checkpoint_read(spool->checkpoint, spool->uid, spool->number, spool->ledger,
				   &spool->checkpoint_number);
	if (r == -ENOMEM) {
		return r;
	}
	if (r < 0 && r != -ENOENT) {
		hk_warning("checkpoint not usable file=%s error=%s", spool->checkpoint,
			   r == -EPROTO ? "written by another hooktrace" : strerror(-r));
	}
	r = hk_replay_file(spool->ledger, spool->fd, spool->checkpoint_number, &missing);
	if (r == 0 && missing > 0) {
		hk_ledger_note_gap(spool->ledger, missing);
	}
	return r;
}

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
	spool->held_bytes = scan.stored_bytes;
	spool->number = scan.last_number;
	spool->shed_records = scan.shed_records;
	spool->elsewhere_records = scan.elsewhere_records;
	spool->records = scan.records + scan.shed_records + scan.elsewhere_records;
	hk_chunk_scan_fini(&scan);
	r = r < 0 ? r : recover_ledger(spool);
	if (r == 0 && hk_chunk_front_find(&spool->front) >= 0) {
		hk_chunk_front_sweep(&spool->front);
	}
	return r;
}

/* Begins a new file: the file of an earlier collector was removed, or there was none. */
static void begin_again(struct hk_spool *spool, bool brought)
{
	spool->number = hk_reader_noted(spool->reader);
	if (spool->number > 0 && brought) {
		hk_reader_resume(spool->reader);
		spool->records = spool->elsewhere_records = hk_reader_records(spool->reader);
		hk_ledger_note_gap(spool->ledger, spool->records);
	}
}

static int name_files(struct hk_spool *spool, const char *job_directory)
{
	int r = hk_jobdir_chunks(job_directory, spool->uid, spool->path);
	size_t length = r < 0 ? 0 : strlen(spool->path) - strlen(CHUNKS_SUFFIX);
	if (r < 0 || length + sizeof(HK_CHECKPOINT_SUFFIX) > sizeof(spool->checkpoint)) {
		return r < 0 ? r : -ENAMETOOLONG;
	}
	memcpy(spool->checkpoint, spool->path, length);
	memcpy(spool->checkpoint + length, HK_CHECKPOINT_SUFFIX, sizeof(HK_CHECKPOINT_SUFFIX));
	return 0;
}

int hk_spool_open(const struct hk_spool_options *options, struct hk_spool **ret_spool)
{
	struct hk_spool *spool = calloc(1, sizeof(*spool));
	if (!spool) {
		return -ENOMEM;
	}
	int r = -ENOMEM;
	spool->reader = options->reader;
	spool->ledger = options->ledger;
	spool->rows = options->rows;
	spool->arrivals = options->arrivals;
	memcpy(spool->uid, options->uid, UID_BYTES);
	struct hk_chunk_options chunk_options = {.ticks_per_ns = options->ticks_per_ns,
						 .names = options->names};
	spool->fd = -1;
	spool->writer = hk_chunk_writer_new(&chunk_options);
	if (!spool->writer) {
		goto error;
	}
	r = name_files(spool, options->job_directory);
	if (r < 0) {
		goto error;
	}
	spool->fd = open(spool->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	r = 0;
	if (spool->fd >= 0) {
		spool->front = HK_CHUNK_FRONT(spool->fd);
		r = recover(spool, options->reader);
	} else if (errno == ENOENT) {
		begin_again(spool, options->brought);
	} else {
		r = -errno;
	}
	if (r < 0) {
		goto error;
	}
	if (spool->records > 0 || hk_reader_records(spool->reader) > 0) {
		hk_arrivals_doubt(spool->arrivals, HK_DOUBT_RESTART);
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
	hk_step_times_fini(&spool->steps);
	free(spool);
	return NULL;
}

/* ---- what is lost ---- */

void hk_spool_account(struct hk_spool *spool)
{
	uint64_t delivered = hk_reader_records(spool->reader);
	uint64_t kept = spool->records + hk_spool_waiting(spool);
	spool->dropped = delivered > kept ? delivered - kept : 0;
	/* This collector's ledger has not seen the losses of an earlier collector. */
	if (!spool->accounted && spool->dropped > 0) {
		hk_ledger_note_gap(spool->ledger, spool->dropped);
	}
	spool->accounted = true;
}

/* ---- records into chunks ---- */

/* Returns whether the file or its directory was removed. */
static bool is_removed(const struct hk_spool *spool)
{
	struct stat held, named;
	if (fstat(spool->fd, &held) < 0) {
		return false;
	}
	if (stat(spool->path, &named) < 0) {
		return errno == ENOENT;
	}
	return held.st_ino != named.st_ino || held.st_dev != named.st_dev;
}

static void leave_file(struct hk_spool *spool)
{
	close(spool->fd);
	spool->fd = -1;
	spool->files++;
	spool->end_bytes = spool->held_bytes = 0;
	spool->records = spool->shed_records + spool->elsewhere_records;
	spool->checkpoint_number = 0;
	hk_warning("chunk file was removed file=%s", spool->path);
}

static int append(struct hk_spool *spool, const void *bytes, size_t size, uint64_t room)
{
	if (size > room) {
		return -ENOBUFS;
	}
	if (spool->fd >= 0 && is_removed(spool)) {
		leave_file(spool);
	}
	if (spool->fd < 0) {
		spool->fd = open(spool->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
		if (spool->fd < 0) {
			return -errno;
		}
		spool->front = HK_CHUNK_FRONT(spool->fd);
	}
	uint64_t at = hk_chunk_file_location(spool->end_bytes);
	int r = hk_chunk_file_append(spool->fd, at, bytes, size);
	if (r == 0) {
		spool->end_bytes = at + size;
		spool->held_bytes += size;
		spool->number++;
	}
	return r;
}

/* Writes the open chunk. After an error it stays open. */
static int seal(struct hk_spool *spool, uint64_t lost, uint64_t room)
{
	const void *bytes;
	size_t size;
	uint32_t records = hk_chunk_writer_records(spool->writer);
	int r = hk_chunk_writer_finish(spool->writer, lost + spool->dropped, &bytes, &size);
	r = r < 0 ? r : append(spool, bytes, size, room);
	if (r == 0) {
		spool->begun = false;
		spool->records += records;
	}
	return r;
}

int hk_spool_flush(struct hk_spool *spool, uint64_t lost, uint64_t room)
{
	return spool->begun ? seal(spool, lost, room) : 0;
}

void hk_spool_drop(struct hk_spool *spool, uint64_t lost)
{
	if (spool->begun) {
		hk_chunk_writer_drop(spool->writer);
		hk_spool_account(spool);
		/* This chunk takes some hundred bytes, for which there may be room. */
		seal(spool, lost, UINT64_MAX);
	}
}

static void begin(struct hk_spool *spool)
{
	if (!spool->begun) {
		hk_chunk_writer_begin(spool->writer, spool->uid, spool->number + 1);
		spool->begun = true;
	}
}

static int put_chunked(struct hk_spool *spool, const struct hk_run *run, uint64_t lost,
		       uint64_t room, size_t *ret_taken)
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
	int r = 0;
	*ret_taken = 0;
	while (done < run->word_count) {
		size_t consumed = 0;
		begin(spool);
		uint32_t before = hk_chunk_writer_records(spool->writer);
		r = hk_chunk_writer_add(spool->writer, &chain, run->words + done,
					run->word_count - done, &consumed);
		done += consumed;
		*ret_taken = done;
		if (r == -ENOSPC && (consumed > 0 || before > 0)) {
			r = hk_spool_flush(
			    spool, lost,
			    allowed_end > spool->end_bytes ? allowed_end - spool->end_bytes : 0);
		} else if (r < 0 && r != -ENOMEM) {
			/* The next words are no record, so the rest of the run is skipped. */
			chain.position = run->end_position;
			hk_chunk_writer_mark(spool->writer, &chain);
			*ret_taken = done = run->word_count;
			r = 0;
		}
		if (r < 0) {
			break;
		}
	}
	return r;
}

/* ---- records into ledger, rows and arrivals ---- */

/* The parts that a run is of interest to. */
struct wants {
	bool ledger, rows, arrivals, steps;
	uint64_t lost; /* records of the process so far */
};

/* Passes the first COUNT words of RUN to the parts of WANTS. */
static int show(struct hk_spool *spool, const struct hk_run *run, size_t count,
		const struct wants *wants)
{
	struct hk_chunk_thread thread = {
	    .uid = run->thread, .tid = run->tid, .stream = run->stream};
	size_t at = 0;
	while (count - at >= HK_RECORD_HEADER_WORDS) {
		uint64_t word1 = run->words[at + 1];
		size_t payload = word1 >> HK_RECORD_WORDS_SHIFT;
		if (payload > HK_RECORD_WORDS_MAX ||
		    payload > count - at - HK_RECORD_HEADER_WORDS) {
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
		hk_record_take_stack(&record);
		int r = wants->ledger ? hk_ledger_add(spool->ledger, &record) : 0;
		r = r < 0 || !wants->rows ? r : hk_rows_add(spool->rows, &record);
		if (r < 0) {
			return r;
		}
		if (wants->arrivals) {
			hk_arrivals_add(spool->arrivals, &record);
		}
		if (wants->steps) {
			hk_step_times_add(&spool->steps, &record,
					  hk_reader_identity(spool->reader)->tick_ns_q32,
					  wants->lost);
		}
	}
	return 0;
}

int hk_spool_put(struct hk_spool *spool, const struct hk_run *run, uint64_t lost, uint64_t room,
		 size_t *ret_taken)
{
	int r = put_chunked(spool, run, lost, room, ret_taken);
	/* The calls stream never holds memory calls, and the memory stream holds no others. The
	 * nested stream may hold either. */
	const struct wants wants = {
	    .ledger = run->stream != HK_STREAM_CALLS,
	    .rows = run->stream != HK_STREAM_MEMORY && hk_rows_wanted(spool->rows),
	    .arrivals = run->stream == HK_STREAM_CALLS && hk_arrivals_wanted(spool->arrivals),
	    .steps = run->stream == HK_STREAM_CALLS &&
		     hk_step_times_wanted(&spool->steps, spool->reader),
	    .lost = lost,
	};
	if (wants.ledger || wants.rows || wants.arrivals || wants.steps) {
		int shown = show(spool, run, *ret_taken, &wants);
		r = r < 0 ? r : shown;
	}
	return r;
}

/* ---- out of the file ---- */

int hk_spool_oldest(struct hk_spool *spool, const struct hk_chunk_location **ret_oldest)
{
	int r = spool->fd < 0 ? 0 : hk_chunk_front_find(&spool->front);
	*ret_oldest = &spool->front.oldest;
	return r;
}

/* All records that were put must be in a chunk, because the ledger has seen them. */
static int write_checkpoint(struct hk_spool *spool)
{
	uint64_t now = hk_clock_monotonic_ns();
	if (spool->begun && hk_chunk_writer_records(spool->writer) == 0) {
		return -ENOSPC; /* even the positions of the dropped records found no room */
	}
	if (spool->begun || now < spool->checkpoint_due_ns) {
		return -EAGAIN;
	}
	int r = hk_checkpoint_write(spool->checkpoint, spool->uid, spool->number, spool->ledger);
	if (r == 0) {
		spool->checkpoint_number = spool->number;
	}
	uint64_t spent = hk_clock_monotonic_ns() - now;
	spool->checkpoint_due_ns = now + spent * CHECKPOINT_SPACING;
	return r;
}

int hk_spool_evict(struct hk_spool *spool, uint32_t flags, bool merge, uint64_t *ret_bytes)
{
	const struct hk_chunk_header header = spool->front.oldest.header;
	*ret_bytes = 0;
	if (header.number > spool->checkpoint_number) {
		int r = write_checkpoint(spool);
		/* On a full disk, eviction makes room, and the next checkpoint succeeds. */
		if (r < 0 && r != -ENOSPC && r != -EDQUOT) {
			return r;
		}
	}
	int r = hk_chunk_front_evict(&spool->front, flags, merge, ret_bytes);
	if (r < 0 && spool->front.found) {
		return r;
	}
	uint64_t records = (uint64_t)header.records + header.long_records;
	spool->held_bytes -= *ret_bytes;
	spool->shed_records += flags & HK_CHUNK_ELSEWHERE ? 0 : records;
	spool->elsewhere_records += flags & HK_CHUNK_ELSEWHERE ? records : 0;
	return r;
}

void hk_spool_retire(struct hk_spool *spool)
{
	unlink(spool->checkpoint);
}

/* ---- what is there ---- */

uint64_t hk_spool_bytes(const struct hk_spool *spool)
{
	return spool->end_bytes;
}

uint64_t hk_spool_held(const struct hk_spool *spool)
{
	return spool->held_bytes;
}

uint64_t hk_spool_evicted_records(const struct hk_spool *spool)
{
	return spool->shed_records;
}

uint64_t hk_spool_elsewhere_records(const struct hk_spool *spool)
{
	return spool->elsewhere_records;
}

uint64_t hk_spool_records(const struct hk_spool *spool)
{
	return spool->records;
}

uint64_t hk_spool_waiting(const struct hk_spool *spool)
{
	return spool->begun ? hk_chunk_writer_records(spool->writer) : 0;
}

uint64_t hk_spool_dropped(const struct hk_spool *spool)
{
	return spool->dropped;
}

uint32_t hk_spool_files(const struct hk_spool *spool)
{
	return spool->files;
}

uint64_t hk_spool_number(const struct hk_spool *spool)
{
	return spool->number;
}

int hk_spool_steps(struct hk_spool *spool, Hk__StepTimes **state)
{
	return hk_step_times_write(&spool->steps, state);
}
