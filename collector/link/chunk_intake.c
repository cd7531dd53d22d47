#include "collector/link/chunk_intake.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chunk/codec/header.h"
#include "chunk/read/file.h"
#include "collector/job/disk_reserve.h"
#include "collector/job/job_nodes.h"
#include "collector/job/jobdir.h"
#include "collector/lifecycle/job_room.h"
#include "collector/model/collector.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/model/remote.h"
#include "collector/process/ancestry.h"

/* Finds the last chunk of the file and cuts off a torn one after it. */
static int read_tail(struct hk_process *process, int fd)
{
	struct hk_chunk_walk walk = HK_CHUNK_WALK(fd);
	struct hk_chunk_buffer buffer = {0};
	struct hk_chunk_header header, sound;
	uint64_t offset;
	int r;
	process->remote->last_chunk = process->remote->chunk_end = 0;
	while ((r = hk_chunk_walk_next(&walk, &header, &offset)) > 0) {
		if (offset + header.total_bytes < (uint64_t)lseek(fd, 0, SEEK_END)) {
			process->remote->last_chunk = header.number;
			process->remote->chunk_end = walk.at;
			continue;
		}
		/* The last chunk may be incomplete if its writer died. */
		r = hk_chunk_file_read(fd, offset, header.total_bytes, &buffer);
		if (r == 0 &&
		    hk_chunk_header_verify(buffer.bytes, header.total_bytes, &sound) == 0) {
			process->remote->last_chunk = header.number;
			process->remote->chunk_end = walk.at;
		}
	}
	free(buffer.bytes);
	if (r == 0 && ftruncate(fd, (off_t)process->remote->chunk_end) < 0) {
		r = -errno;
	}
	return r;
}

/* Opens the chunk file of PROCESS and finds its end, if that is unknown. Returns the descriptor, or
 * -errno: -ENOENT if the file does not exist and CREATE is false. */
static int open_chunks(struct hk_process *process, bool create)
{
	char path[PATH_MAX];
	int r = hk_jobdir_chunks(process->job->state->directory, process->uid, path);
	if (r < 0) {
		return r;
	}
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (create ? O_CREAT : 0), 0644);
	if (fd < 0) {
		return -errno;
	}
	r = process->remote->tailed ? 0 : read_tail(process, fd);
	if (r < 0) {
		close(fd);
		return r;
	}
	process->remote->tailed = true;
	process->stored_bytes = process->remote->chunk_end;
	return fd;
}

int hk_chunk_intake_last(struct hk_process *process, uint64_t *ret_last)
{
	int fd = process->remote->tailed ? 0 : open_chunks(process, false);
	if (fd > 0) {
		close(fd);
	} else if (fd == -ENOENT) {
		process->remote->tailed = true;
		fd = 0;
	}
	*ret_last = process->remote->last_chunk;
	return fd < 0 ? fd : 0;
}

/* Returns whether PUT holds a chunk of PROCESS, or a tombstone of one or several chunks. */
static bool is_chunk(const struct hk_process *process, const Hk__ChunkPut *put,
		     struct hk_chunk_header *ret_header)
{
	return hk_chunk_header_verify(put->chunk.data, put->chunk.len, ret_header) == 0 &&
	       memcmp(ret_header->process, process->uid, HK_UID_BYTES) == 0 &&
	       ret_header->number == put->number && ret_header->span == put->chunk.len;
}

static void note_evicted(struct hk_process *process, const struct hk_chunk_header *header)
{
	uint64_t records = hk_chunk_evicted_records(header);
	uint64_t at_source = hk_chunk_evicted_at_source(header);
	if (records > 0) {
		process->state->records_shed += records;
		process->remote->evicted_at_source += at_source;
		process->changed = true;
		hk_job_add_evicted(process->job, process->state->node.data, at_source);
	}
}

static int store(struct hk_process *process, const Hk__ChunkPut *put,
		 const struct hk_chunk_header *header)
{
	int fd = open_chunks(process, true);
	if (fd < 0) {
		return fd;
	}
	uint64_t at = hk_chunk_file_location(process->remote->chunk_end);
	int r = hk_chunk_file_append(fd, at, put->chunk.data, put->chunk.len);
	close(fd);
	if (r < 0) {
		/* The file was cut back as far as possible, so its end is unknown. */
		process->remote->tailed = false;
		return r;
	}
	process->remote->last_chunk = put->number;
	process->stored_bytes = process->remote->chunk_end = at + put->chunk.len;
	process->held_bytes += put->chunk.len;
	process->file_records += hk_chunk_is_evicted(header)
				     ? hk_chunk_evicted_records(header)
				     : (uint64_t)header->records + header->long_records;
	process->job->grown = true;
	note_evicted(process, header);
	return 1;
}

int hk_chunk_intake_put(struct hk_collector *collector, const char *user, const Hk__ChunkPut *put,
			uint64_t *ret_last)
{
	struct hk_process *process = put->process.len == HK_UID_BYTES
					 ? hk_ancestry_by_uid(collector, put->process.data)
					 : NULL;
	struct hk_chunk_header header;
	if (!process || !process->remote || process->job->state->closed ||
	    strcmp(process->job->state->user, user) != 0) {
		return -ENOENT;
	}
	int r = hk_chunk_intake_last(process, ret_last);
	if (r < 0) {
		return r;
	}
	if (put->number <= process->remote->last_chunk) {
		return 1;
	}
	if (!is_chunk(process, put, &header)) {
		return -EBADMSG;
	}
	if (hk_chunk_first_number(&header) > process->remote->last_chunk + 1 && !put->gap) {
		return 0;
	}
	/* The reserve of a full disk is for statistics. Tombstones are accepted all the same. */
	bool evicted = hk_chunk_is_evicted(&header);
	bool full = hk_reserve_is_full(process->job->full_error) && !evicted;
	r = full ? process->job->full_error : store(process, put, &header);
	if (hk_reserve_is_full(r)) {
		hk_job_is_full(process->job, r);
	} else if (r > 0 && !evicted) {
		hk_job_has_room(process->job);
	}
	*ret_last = process->remote->last_chunk;
	/* The directory was removed. The process is known, so this is not -ENOENT for the leaf. */
	return r == -ENOENT ? -EIO : r;
}
