#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/log.h"
#include "chunk/codec/header.h"
#include "collector/job/jobdir.h"
#include "collector/link/outbox.h"
#include "collector/model/process.h"
#include "collector/process/ancestry.h"

int hk_outbox_chunk_path(const struct hk_outbox_process *process, char path[PATH_MAX])
{
	return hk_jobdir_chunks(hk_outbox_state(process->job)->directory, process->uid, path);
}

bool hk_outbox_has_chunk(const struct hk_outbox_process *process)
{
	return process->walk.at < process->written_bytes;
}

void hk_outbox_rewind(struct hk_outbox_process *process)
{
	if (process->sent != process->acknowledged) {
		process->sent = process->acknowledged;
		process->walk = HK_CHUNK_WALK(-1);
	}
}

void hk_outbox_begin(struct hk_outbox_process *process, uint64_t last)
{
	process->known = true;
	process->acknowledged = process->sent = last;
	process->kept_bytes = 0;
	process->walk = HK_CHUNK_WALK(-1);
}

void hk_outbox_acknowledge(const struct hk_collector *collector, struct hk_outbox_process *process,
			   uint64_t last)
{
	if (last <= process->acknowledged) {
		return;
	}
	process->acknowledged = last;
	if (last >= process->sent) {
		process->kept_bytes =
		    last == process->sent ? process->walk.at : process->kept_bytes;
		process->sent = last;
	} else if (process->sent - last < HK_UPLINK_CHUNKS) {
		process->kept_bytes = process->ends[last % HK_UPLINK_CHUNKS];
	}
	struct hk_process *open = hk_ancestry_by_uid(collector, process->uid);
	if (open) {
		open->upload.acknowledged = last;
	}
}

/* Reads the chunk with HEADER at OFFSET into BUFFER, or only the header of a tombstone. Returns 1,
 * 0 if it is damaged and no root would accept it, or -errno. */
static int read_chunk(int fd, uint64_t offset, const struct hk_chunk_header *header,
		      struct hk_chunk_buffer *buffer, size_t *ret_size)
{
	struct hk_chunk_header sound;
	bool evicted = hk_chunk_is_evicted(header);
	*ret_size = evicted ? HK_CHUNK_HEADER_BYTES : header->total_bytes;
	int r = hk_chunk_file_read(fd, offset, *ret_size, buffer);
	if (r == 0 && evicted) {
		hk_chunk_header_tombstone(header, 0, buffer->bytes);
	}
	return r < 0 ? r : hk_chunk_header_verify(buffer->bytes, *ret_size, &sound) == 0;
}

/* Advances to the next chunk that can be sent. Returns 1, 0 if there is none, or -errno. */
static int next_chunk(struct hk_outbox_process *process, struct hk_chunk_header *ret_header,
		      struct hk_chunk_buffer *buffer, size_t *ret_size)
{
	uint64_t offset;
	int r;
	while ((r = hk_chunk_walk_next(&process->walk, ret_header, &offset)) > 0) {
		if (ret_header->number <= process->sent) {
			process->kept_bytes = process->walk.at;
			continue;
		}
		r = read_chunk(process->walk.fd, offset, ret_header, buffer, ret_size);
		if (r != 0) {
			break;
		}
		hk_warning("damaged chunk stays here job=%s number=%" PRIu64,
			   hk_outbox_state(process->job)->id, ret_header->number);
	}
	return r;
}

int hk_outbox_chunk(struct hk_outbox_process *process, struct hk_chunk_buffer *buffer,
		    size_t *ret_size)
{
	struct hk_chunk_header header;
	char path[PATH_MAX];
	int r = hk_outbox_chunk_path(process, path);
	int fd = r < 0 ? r : open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0) {
		process->written_bytes = process->walk.at;
		return r < 0 ? r : -errno;
	}
	process->walk.fd = fd;
	r = next_chunk(process, &header, buffer, ret_size);
	if (r > 0) {
		process->gap = hk_chunk_first_number(&header) > process->sent + 1;
		process->sent = header.number;
		process->ends[process->sent % HK_UPLINK_CHUNKS] = process->walk.at;
	} else if (r == 0) {
		/* What lies behind the last chunk is none. */
		process->written_bytes = process->walk.at;
	} else {
		/* Not to be passed over: it may be readable another time. */
		process->walk = HK_CHUNK_WALK(-1);
	}
	process->walk.fd = -1;
	close(fd);
	return r;
}
