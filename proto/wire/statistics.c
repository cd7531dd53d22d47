#include "wire/statistics.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/frames.h"
#include "wire/parts.h"

#define COMPACT_FLOOR_BYTES (256u << 10)
#define PIECE_BYTES (1u << 20)

struct hk_statistics {
	int fd;
	int dirfd;
	uint64_t file_bytes;
	uint64_t live_bytes;
	uint64_t compact_bytes;		/* size of the file after its last rewriting */
	struct hk_frame_entry *entries; /* key -> newest frame */
};

/* Reads the whole file; 0 and memory the caller frees. */
static int read_all(int fd, uint8_t **ret_bytes, size_t *ret_size)
{
	struct stat st;
	if (fstat(fd, &st) < 0) {
		return -errno;
	}
	if (!S_ISREG(st.st_mode)) {
		return -EBADMSG;
	}
	if (st.st_size > (off_t)HK_STATISTICS_FILE_MAX) {
		return -EFBIG;
	}
	size_t size = (size_t)st.st_size;
	size_t done = 0;
	uint8_t *bytes = malloc(size + 1);
	if (!bytes) {
		return -ENOMEM;
	}
	while (done < size) {
		ssize_t n = pread(fd, bytes + done, size - done, (off_t)done);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0) {
			int r = -errno;
			free(bytes);
			return r;
		}
		if (n == 0) {
			break;
		}
		done += (size_t)n;
	}
	*ret_bytes = bytes;
	*ret_size = done;
	return 0;
}

int hk_statistics_open(const char *job_dir, struct hk_statistics **ret_statistics)
{
	uint8_t *bytes = NULL;
	size_t size;
	int r = -ENOMEM;
	struct hk_statistics *statistics = calloc(1, sizeof(*statistics));
	if (!statistics) {
		return r;
	}
	statistics->fd = -1;
	statistics->dirfd = open(job_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (statistics->dirfd >= 0) {
		statistics->fd = openat(statistics->dirfd, HK_STATISTICS_FILE,
					O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	}
	if (statistics->fd < 0) {
		r = -errno;
		goto error;
	}
	r = read_all(statistics->fd, &bytes, &size);
	if (r < 0) {
		goto error;
	}
	r = hk_frames_scan(bytes, size, &statistics->entries, &statistics->live_bytes,
			   &statistics->file_bytes);
	free(bytes);
	if (r < 0 && r != -EBADMSG) {
		goto error;
	}
	if (size > statistics->file_bytes &&
	    ftruncate(statistics->fd, (off_t)statistics->file_bytes) < 0) {
		r = -errno;
		goto error;
	}
	*ret_statistics = statistics;
	return 0;
error:
	hk_statistics_free(statistics);
	return r;
}

struct hk_statistics *hk_statistics_free(struct hk_statistics *statistics)
{
	if (!statistics) {
		return NULL;
	}
	if (statistics->fd >= 0) {
		close(statistics->fd);
	}
	if (statistics->dirfd >= 0) {
		close(statistics->dirfd);
	}
	hk_frames_free(&statistics->entries);
	free(statistics);
	return NULL;
}

/* Writes all of BYTES at OFFSET, or cuts the file back to OFFSET. */
static int write_all(int fd, const uint8_t *bytes, size_t size, uint64_t offset)
{
	size_t done = 0;
	while (done < size) {
		ssize_t n = pwrite(fd, bytes + done, size - done, (off_t)(offset + done));
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n <= 0) {
			int r = n < 0 ? -errno : -ENOSPC;
			/* A remaining tail is cut at the next open anyway. */
			return ftruncate(fd, (off_t)offset) < 0 ? r : r;
		}
		done += (size_t)n;
	}
	return 0;
}

/* ---- writing ---- */

/* Writes a frame of MESSAGE at OFFSET; its header goes to *RET_FRAME. */
static int write_frame(int fd, uint64_t offset, enum hk_frame_kind kind, const uint8_t *uid,
		       const ProtobufCMessage *message, struct hk_frame *ret_frame)
{
	size_t length = protobuf_c_message_get_packed_size(message);
	if (length > HK_STATISTICS_FRAME_MAX) {
		return -EMSGSIZE;
	}
	uint8_t *bytes = malloc(sizeof(struct hk_frame) + length);
	if (!bytes) {
		return -ENOMEM;
	}
	*ret_frame = hk_frame_make(kind, uid, message, length, bytes);
	int r = write_all(fd, bytes, sizeof(struct hk_frame) + length, offset);
	free(bytes);
	return r;
}

/* The file that will replace another. */
struct rewriting {
	int fd;
	uint64_t size;
	struct hk_frame_entry *entries;
};

static int index_frame(struct rewriting *to, const struct hk_frame *frame)
{
	uint64_t live = 0;
	int r = hk_frames_index(&to->entries, frame, to->size, &live);
	to->size += sizeof(*frame) + frame->length;
	return r;
}

/* Copies the frame at PLACE from FROM to the end of TO. */
static int copy_frame(int from, struct hk_frame_location place, struct rewriting *to)
{
	uint8_t *bytes = malloc(place.bytes);
	struct hk_frame frame;
	if (!bytes) {
		return -ENOMEM;
	}
	ssize_t n = pread(from, bytes, place.bytes, (off_t)place.offset);
	int r = n == (ssize_t)place.bytes ? write_all(to->fd, bytes, place.bytes, to->size) : -EIO;
	memcpy(&frame, bytes, sizeof(frame));
	free(bytes);
	return r < 0 ? r : index_frame(to, &frame);
}

/* Writes the whole PROCESS to the end of TO, in pieces if necessary. */
static int rewrite_process(const Hk__Process *process, struct rewriting *to)
{
	struct hk_parts parts = {.whole = process, .most_bytes = PIECE_BYTES};
	const Hk__Process *piece = process;
	enum hk_frame_kind kind = HK_FRAME_PROCESS;
	struct hk_frame frame;
	bool single = hk__process__get_packed_size(process) <= HK_STATISTICS_FRAME_MAX;
	int r = 0;
	for (; r == 0 && (single || (piece = hk_parts_next(&parts)) != NULL);
	     kind = HK_FRAME_CHANGE) {
		r = write_frame(to->fd, to->size, kind, process->uid.data, &piece->base, &frame);
		r = r < 0 ? r : index_frame(to, &frame);
		if (single) {
			break;
		}
	}
	return r;
}

/* Writes ENTRY to the end of TO with its changes merged, without damaged parts. */
static int rewrite(struct hk_statistics *statistics, struct hk_frame_source *source,
		   struct hk_frame_entry *entry, struct rewriting *to)
{
	Hk__Process *process;
	struct hk_frame_entry *written;
	if (entry->change_count == 0) {
		return copy_frame(statistics->fd, entry->whole, to);
	}
	int r = hk_frames_process(source, entry, &process);
	if (!process) {
		return r == -EBADMSG ? 0 : r; /* unreadable as a whole: dropped */
	}
	bool whole = r == 0;
	r = rewrite_process(process, to);
	hk__process__free_unpacked(process, NULL);
	HASH_FIND(hh, to->entries, &entry->key, sizeof(entry->key), written);
	if (r == 0 && written && whole) {
		written->digests = entry->digests;
		written->digest_count = entry->digest_count;
		entry->digests = NULL;
		entry->digest_count = 0;
	}
	return r;
}

/* Rewrites the file with the newest state of each key, its changes merged. On failure the old file
 * stays; a crash leaves either. */
static int compact(struct hk_statistics *statistics)
{
	const char *name = HK_STATISTICS_FILE ".new";
	struct hk_frame_source source = {.fd = statistics->fd};
	struct hk_frame_entry *entry, *next;
	struct rewriting to = {.fd = openat(statistics->dirfd, name,
					    O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
					    0644)};
	int r = 0;
	if (to.fd < 0) {
		return -errno;
	}
	HASH_ITER (hh, statistics->entries, entry, next) {
		r = rewrite(statistics, &source, entry, &to);
		if (r < 0) {
			break;
		}
	}
	free(source.buffer);
	if (r >= 0 &&
	    renameat(statistics->dirfd, name, statistics->dirfd, HK_STATISTICS_FILE) < 0) {
		r = -errno;
	}
	if (r < 0) {
		close(to.fd);
		unlinkat(statistics->dirfd, name, 0);
		hk_frames_free(&to.entries);
		return r;
	}
	close(statistics->fd);
	hk_frames_free(&statistics->entries);
	statistics->fd = to.fd;
	statistics->entries = to.entries;
	statistics->file_bytes = statistics->live_bytes = statistics->compact_bytes = to.size;
	return 0;
}

/* Whether most of the file is obsolete. Live bytes are those of whole frames. */
static bool is_loose(const struct hk_statistics *statistics)
{
	uint64_t file = statistics->file_bytes, live = statistics->live_bytes;
	return file > COMPACT_FLOOR_BYTES && file - live > 2 * live &&
	       file > 2 * statistics->compact_bytes;
}

static int put(struct hk_statistics *statistics, enum hk_frame_kind kind, const uint8_t *uid,
	       const ProtobufCMessage *message)
{
	struct hk_frame frame;
	if (statistics->file_bytes + HK_STATISTICS_FRAME_MAX > HK_STATISTICS_FILE_MAX) {
		int r = compact(statistics);
		if (r < 0) {
			return r;
		}
	}
	int r = write_frame(statistics->fd, statistics->file_bytes, kind, uid, message, &frame);
	if (r < 0) {
		return r;
	}
	r = hk_frames_index(&statistics->entries, &frame, statistics->file_bytes,
			    &statistics->live_bytes);
	statistics->file_bytes += sizeof(frame) + frame.length;
	if (r == 0 && is_loose(statistics)) {
		/* The frame is in the file either way; a full disk only delays the rewriting. */
		compact(statistics);
	}
	return r;
}

static struct hk_frame_entry *find_process(const struct hk_statistics *statistics,
					   const Hk__Process *process)
{
	struct hk_frame_key key = {.kind = HK_FRAME_PROCESS};
	struct hk_frame_entry *entry;
	memcpy(key.uid, process->uid.data, HK_FRAME_UID_BYTES);
	HASH_FIND(hh, statistics->entries, &key, sizeof(key), entry);
	return entry;
}

static struct hk_piece_digest *find_digest(const struct hk_frame_entry *entry, uint64_t key)
{
	for (size_t i = 0; entry && i < entry->digest_count; i++) {
		if (entry->digests[i].key == key) {
			return &entry->digests[i];
		}
	}
	return NULL;
}

/* Notes that the file has the piece KEY of ENTRY with digest DIGEST. */
static int note_told(struct hk_frame_entry *entry, uint64_t key, uint64_t digest)
{
	struct hk_piece_digest *digests = entry->digests, *known = find_digest(entry, key);
	if (!known) {
		digests = reallocarray(digests, entry->digest_count + 1, sizeof(*digests));
		if (!digests) {
			return -ENOMEM;
		}
		entry->digests = digests;
		known = &digests[entry->digest_count++];
	}
	*known = (struct hk_piece_digest){key, digest};
	return 0;
}

/* Appends the first piece, which has all numbers, and the pieces that differ from the file's. As
 * changes they remove no values. */
static int put_pieces(struct hk_statistics *statistics, const Hk__Process *process)
{
	struct hk_parts parts = {.whole = process, .most_bytes = PIECE_BYTES};
	const Hk__Process *piece;
	int r = 0;
	while (r == 0 && (piece = hk_parts_next(&parts)) != NULL) {
		struct hk_frame_entry *entry = find_process(statistics, process);
		const struct hk_piece_digest *known = find_digest(entry, parts.key);
		uint64_t digest = 0;
		r = hk_parts_digest(&parts, &digest);
		if (r < 0 || (parts.key != 0 && known && known->digest == digest)) {
			continue;
		}
		r = put(statistics, entry ? HK_FRAME_CHANGE : HK_FRAME_PROCESS, process->uid.data,
			&piece->base);
		/* The call may have rewritten the file. */
		entry = r < 0 ? NULL : find_process(statistics, process);
		r = entry ? note_told(entry, parts.key, digest) : r;
	}
	return r;
}

int hk_statistics_put_process(struct hk_statistics *statistics, const Hk__Process *process)
{
	if (process->uid.len != HK_FRAME_UID_BYTES) {
		return -EINVAL;
	}
	return hk__process__get_packed_size(process) <= HK_STATISTICS_FRAME_MAX
		   ? put(statistics, HK_FRAME_PROCESS, process->uid.data, &process->base)
		   : put_pieces(statistics, process);
}

int hk_statistics_put_change(struct hk_statistics *statistics, const Hk__Process *change)
{
	if (change->uid.len != HK_FRAME_UID_BYTES) {
		return -EINVAL;
	}
	return put(statistics, HK_FRAME_CHANGE, change->uid.data, &change->base);
}

int hk_statistics_put_job(struct hk_statistics *statistics, const Hk__Job *job)
{
	return put(statistics, HK_FRAME_JOB, NULL, &job->base);
}

uint64_t hk_statistics_file_bytes(const struct hk_statistics *statistics)
{
	return statistics->file_bytes;
}

/* Adds the message of ENTRY to SNAPSHOT, whose process array has room. */
static int add_entry(Hk__Snapshot *snapshot, const struct hk_frame_entry *entry,
		     struct hk_frame_source *source)
{
	Hk__Process *process;
	if (entry->key.kind == HK_FRAME_JOB) {
		ProtobufCMessage *message;
		int r =
		    hk_message_unpack(&hk__job__descriptor,
				      source->bytes + entry->whole.offset + sizeof(struct hk_frame),
				      entry->whole.bytes - sizeof(struct hk_frame), &message);
		if (r == 0) {
			snapshot->job = (Hk__Job *)message;
		}
		return r;
	}
	int r = hk_frames_process(source, entry, &process);
	if (process) {
		snapshot->processes[snapshot->n_processes++] = process;
	}
	return r;
}

static bool replace_string(char **string, const char *text)
{
	char *copy = strdup(text);
	if (!copy) {
		return false;
	}
	if (*string != protobuf_c_empty_string) {
		free(*string);
	}
	*string = copy;
	return true;
}

/* Completes the job from its directory's name where frames are missing; `directory` is always the
 * one read. */
static int complete_job(Hk__Snapshot *snapshot, const char *job_dir)
{
	char path[PATH_MAX], name[PATH_MAX];
	if (!realpath(job_dir, path)) {
		return -errno;
	}
	memcpy(name, path, sizeof(name));
	if (!snapshot->job) {
		snapshot->job = malloc(sizeof(*snapshot->job));
		if (!snapshot->job) {
			return -ENOMEM;
		}
		hk__job__init(snapshot->job);
		snapshot->job->world_size = -1;
		if (!replace_string(&snapshot->job->id, basename(name))) {
			return -ENOMEM;
		}
	}
	snapshot->now_unix_ns = snapshot->job->start_unix_ns + snapshot->job->duration_ns;
	return replace_string(&snapshot->job->directory, path) ? 0 : -ENOMEM;
}

/* Builds the snapshot from BYTES. Returns -EBADMSG with a snapshot if a part was damaged. */
static int build(const uint8_t *bytes, size_t size, Hk__Snapshot **ret_snapshot)
{
	struct hk_frame_entry *entries = NULL;
	uint64_t live, end;
	int result = hk_frames_scan(bytes, size, &entries, &live, &end);
	struct hk_frame_source source = {.bytes = bytes, .fd = -1};
	Hk__Snapshot *snapshot = NULL;
	if (result == 0 || result == -EBADMSG) {
		snapshot = malloc(sizeof(*snapshot));
	}
	if (!snapshot) {
		hk_frames_free(&entries);
		return -ENOMEM;
	}
	hk__snapshot__init(snapshot);
	snapshot->processes = calloc(HASH_COUNT(entries) + 1, sizeof(*snapshot->processes));
	if (!snapshot->processes) {
		result = -ENOMEM;
	}
	struct hk_frame_entry *entry, *next;
	HASH_ITER (hh, entries, entry, next) {
		if (result == -ENOMEM) {
			break;
		}
		int r = add_entry(snapshot, entry, &source);
		if (r < 0) {
			result = r == -ENOMEM ? r : -EBADMSG;
		}
	}
	hk_frames_free(&entries);
	if (result == -ENOMEM) {
		hk__snapshot__free_unpacked(snapshot, NULL);
		return result;
	}
	*ret_snapshot = snapshot;
	return result;
}

int hk_statistics_load(const char *job_dir, Hk__Snapshot **ret_snapshot)
{
	int dirfd = open(job_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dirfd < 0) {
		return errno == ENOTDIR ? -ENOENT : -errno;
	}
	int fd = openat(dirfd, HK_STATISTICS_FILE, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int r = fd < 0 ? -errno : 0;
	close(dirfd);
	if (r < 0) {
		return r;
	}
	uint8_t *bytes;
	size_t size;
	r = read_all(fd, &bytes, &size);
	close(fd);
	if (r < 0) {
		return r;
	}
	Hk__Snapshot *snapshot = NULL;
	int result = build(bytes, size, &snapshot);
	free(bytes);
	if (!snapshot) {
		return result;
	}
	r = complete_job(snapshot, job_dir);
	if (r < 0) {
		hk__snapshot__free_unpacked(snapshot, NULL);
		return r;
	}
	*ret_snapshot = snapshot;
	return result;
}
