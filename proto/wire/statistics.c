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
#include <uthash.h>
#include <xxhash.h>

#define FRAME_MAGIC 0x53464b48u /* "HKFS" */
#define UID_BYTES 16u
#define COMPACT_FLOOR_BYTES (256u << 10)
/* A foreign or hostile file may hold the magic everywhere: give up after this many false starts. */
#define FALSE_STARTS_MAX 256u

enum frame_kind {
	FRAME_PROCESS = 1,
	FRAME_JOB = 2,
};

struct frame {
	uint32_t magic;
	uint32_t length; /* of the body that follows */
	uint64_t hash;	 /* XXH3-64 of everything after this field */
	uint32_t kind;	 /* enum frame_kind */
	uint32_t reserved;
	uint8_t uid[UID_BYTES]; /* zero for the job */
};
static_assert(sizeof(struct frame) == 40, "frame header");
#define HASHED_FROM 16u

struct frame_key {
	uint32_t kind;
	uint8_t uid[UID_BYTES];
};

/* Where the newest frame of a key lies in the file. */
struct entry {
	struct frame_key key;
	uint64_t offset;
	uint32_t bytes; /* header included */
	UT_hash_handle hh;
};

struct hk_statistics {
	int fd;
	int dirfd;
	uint64_t file_bytes;
	uint64_t live_bytes;
	struct entry *entries; /* key -> newest frame */
};

struct scan {
	const uint8_t *bytes;
	size_t size;
	size_t position;
	size_t valid_end; /* end of the last valid frame */
	unsigned false_starts;
	bool damaged;
};

static bool frame_valid(const uint8_t *bytes, size_t left, struct frame *ret_frame)
{
	struct frame frame;
	if (left < sizeof(frame)) {
		return false;
	}
	memcpy(&frame, bytes, sizeof(frame));
	if (frame.magic != FRAME_MAGIC || frame.length > HK_STATISTICS_FRAME_MAX ||
	    frame.length > left - sizeof(frame) ||
	    XXH3_64bits(bytes + HASHED_FROM, sizeof(frame) - HASHED_FROM + frame.length) !=
		frame.hash) {
		return false;
	}
	*ret_frame = frame;
	return true;
}

/* 1 and the next valid frame with its offset; 0 at the end. Skips what is no frame and remembers
 * that it did. */
static int scan_next(struct scan *scan, struct frame *ret_frame, size_t *ret_offset)
{
	const uint32_t magic = FRAME_MAGIC;
	while (scan->position < scan->size) {
		const uint8_t *at = scan->bytes + scan->position;
		if (frame_valid(at, scan->size - scan->position, ret_frame)) {
			*ret_offset = scan->position;
			scan->position += sizeof(*ret_frame) + ret_frame->length;
			scan->valid_end = scan->position;
			return 1;
		}
		scan->damaged = true;
		const uint8_t *next = NULL;
		if (scan->false_starts++ < FALSE_STARTS_MAX) {
			next =
			    memmem(at + 1, scan->size - scan->position - 1, &magic, sizeof(magic));
		}
		scan->position = next ? (size_t)(next - scan->bytes) : scan->size;
	}
	return 0;
}

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

/* Makes the frame at OFFSET the newest of its key. */
static int index_frame(struct entry **entries, const struct frame *frame, uint64_t offset,
		       uint64_t *live_bytes)
{
	struct frame_key key = {.kind = frame->kind};
	memcpy(key.uid, frame->uid, UID_BYTES);
	struct entry *entry;
	HASH_FIND(hh, *entries, &key, sizeof(key), entry);
	if (!entry) {
		if (HASH_COUNT(*entries) > HK_STATISTICS_PROCESSES_MAX) {
			return -EFBIG;
		}
		entry = calloc(1, sizeof(*entry));
		if (!entry) {
			return -ENOMEM;
		}
		entry->key = key;
		HASH_ADD(hh, *entries, key, sizeof(entry->key), entry);
	}
	*live_bytes -= entry->bytes;
	entry->offset = offset;
	entry->bytes = (uint32_t)sizeof(*frame) + frame->length;
	*live_bytes += entry->bytes;
	return 0;
}

static void free_entries(struct entry **entries)
{
	struct entry *entry, *next;
	HASH_ITER (hh, *entries, entry, next) {
		HASH_DEL(*entries, entry);
		free(entry);
	}
}

/* Indexes every valid frame. 0, or -EBADMSG if something between or after them was no frame. */
static int index_bytes(const uint8_t *bytes, size_t size, struct entry **entries,
		       uint64_t *ret_live, uint64_t *ret_valid_end)
{
	struct scan scan = {.bytes = bytes, .size = size};
	struct frame frame;
	size_t offset;
	int result = 0;
	*ret_live = 0;
	while (scan_next(&scan, &frame, &offset) > 0) {
		int r = index_frame(entries, &frame, offset, ret_live);
		if (r == -ENOMEM) {
			return r;
		}
		if (r < 0) {
			result = -EBADMSG;
		}
	}
	*ret_valid_end = scan.valid_end;
	return scan.damaged ? -EBADMSG : result;
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
	r = index_bytes(bytes, size, &statistics->entries, &statistics->live_bytes,
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
	free_entries(&statistics->entries);
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
			/* A tail left behind would be cut at the next open anyway. */
			return ftruncate(fd, (off_t)offset) < 0 ? r : r;
		}
		done += (size_t)n;
	}
	return 0;
}

/* Copies the frame of ENTRY from FROM to the end of TO. */
static int copy_frame(int from, int to, const struct entry *entry, uint64_t to_offset)
{
	uint8_t *bytes = malloc(entry->bytes);
	if (!bytes) {
		return -ENOMEM;
	}
	ssize_t n = pread(from, bytes, entry->bytes, (off_t)entry->offset);
	int r = n == (ssize_t)entry->bytes ? write_all(to, bytes, entry->bytes, to_offset) : -EIO;
	free(bytes);
	return r;
}

/* Rewrites the file with live frames only. On failure the old file stays as it is. */
static int compact(struct hk_statistics *statistics)
{
	const char *name = HK_STATISTICS_FILE ".new";
	int fd = openat(statistics->dirfd, name,
			O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0) {
		return -errno;
	}
	uint64_t size = 0;
	int r = 0;
	struct entry *entry, *next;
	HASH_ITER (hh, statistics->entries, entry, next) {
		r = copy_frame(statistics->fd, fd, entry, size);
		if (r < 0) {
			break;
		}
		size += entry->bytes;
	}
	if (r == 0 &&
	    renameat(statistics->dirfd, name, statistics->dirfd, HK_STATISTICS_FILE) < 0) {
		r = -errno;
	}
	if (r < 0) {
		close(fd);
		unlinkat(statistics->dirfd, name, 0);
		return r;
	}
	uint64_t offset = 0;
	HASH_ITER (hh, statistics->entries, entry, next) {
		entry->offset = offset;
		offset += entry->bytes;
	}
	close(statistics->fd);
	statistics->fd = fd;
	statistics->file_bytes = size;
	return 0;
}

static int put(struct hk_statistics *statistics, uint32_t kind, const uint8_t *uid,
	       const ProtobufCMessage *message)
{
	size_t length = protobuf_c_message_get_packed_size(message);
	if (length > HK_STATISTICS_FRAME_MAX) {
		return -EMSGSIZE;
	}
	if (statistics->file_bytes + sizeof(struct frame) + length > HK_STATISTICS_FILE_MAX) {
		int r = compact(statistics);
		if (r < 0) {
			return r;
		}
	}
	uint8_t *bytes = malloc(sizeof(struct frame) + length);
	if (!bytes) {
		return -ENOMEM;
	}
	struct frame frame = {.magic = FRAME_MAGIC, .length = (uint32_t)length, .kind = kind};
	if (uid) {
		memcpy(frame.uid, uid, UID_BYTES);
	}
	memcpy(bytes, &frame, sizeof(frame));
	protobuf_c_message_pack(message, bytes + sizeof(frame));
	frame.hash = XXH3_64bits(bytes + HASHED_FROM, sizeof(frame) - HASHED_FROM + length);
	memcpy(bytes, &frame, sizeof(frame));
	int r = write_all(statistics->fd, bytes, sizeof(frame) + length, statistics->file_bytes);
	free(bytes);
	if (r < 0) {
		return r;
	}
	r = index_frame(&statistics->entries, &frame, statistics->file_bytes,
			&statistics->live_bytes);
	statistics->file_bytes += sizeof(frame) + length;
	if (r == 0 && statistics->file_bytes > COMPACT_FLOOR_BYTES &&
	    statistics->file_bytes - statistics->live_bytes > 2 * statistics->live_bytes) {
		/* The frame is in the file either way; a full disk only postpones this. */
		compact(statistics);
	}
	return r;
}

int hk_statistics_put_process(struct hk_statistics *statistics, const Hk__Process *process)
{
	if (process->uid.len != UID_BYTES) {
		return -EINVAL;
	}
	return put(statistics, FRAME_PROCESS, process->uid.data, &process->base);
}

int hk_statistics_put_job(struct hk_statistics *statistics, const Hk__Job *job)
{
	return put(statistics, FRAME_JOB, NULL, &job->base);
}

uint64_t hk_statistics_file_bytes(const struct hk_statistics *statistics)
{
	return statistics->file_bytes;
}

uint64_t hk_statistics_live_bytes(const struct hk_statistics *statistics)
{
	return statistics->live_bytes;
}

/* Adds the message of ENTRY to SNAPSHOT, whose process array has room. */
static int add_entry(Hk__Snapshot *snapshot, const struct entry *entry, const uint8_t *bytes)
{
	const uint8_t *body = bytes + entry->offset + sizeof(struct frame);
	size_t length = entry->bytes - sizeof(struct frame);
	const ProtobufCMessageDescriptor *descriptor =
	    entry->key.kind == FRAME_JOB ? &hk__job__descriptor : &hk__process__descriptor;
	ProtobufCMessage *message;
	int r = hk_message_unpack(descriptor, body, length, &message);
	if (r < 0) {
		return r;
	}
	if (entry->key.kind == FRAME_JOB && !snapshot->job) {
		snapshot->job = (Hk__Job *)message;
		return 0;
	}
	Hk__Process *process = (Hk__Process *)message;
	if (entry->key.kind != FRAME_PROCESS || process->uid.len != UID_BYTES ||
	    memcmp(process->uid.data, entry->key.uid, UID_BYTES) != 0) {
		protobuf_c_message_free_unpacked(message, NULL);
		return -EBADMSG;
	}
	snapshot->processes[snapshot->n_processes++] = process;
	return 0;
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

/* The job as its directory alone tells it, where frames said nothing; the directory is always the
 * one looked into. */
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

/* Builds the snapshot from BYTES; -EBADMSG with a snapshot when a part was damaged. */
static int build(const uint8_t *bytes, size_t size, Hk__Snapshot **ret_snapshot)
{
	struct entry *entries = NULL;
	uint64_t live, end;
	int result = index_bytes(bytes, size, &entries, &live, &end);
	Hk__Snapshot *snapshot = NULL;
	if (result == 0 || result == -EBADMSG) {
		snapshot = malloc(sizeof(*snapshot));
	}
	if (!snapshot) {
		free_entries(&entries);
		return -ENOMEM;
	}
	hk__snapshot__init(snapshot);
	snapshot->processes = calloc(HASH_COUNT(entries) + 1, sizeof(*snapshot->processes));
	if (!snapshot->processes) {
		result = -ENOMEM;
	}
	struct entry *entry, *next;
	HASH_ITER (hh, entries, entry, next) {
		if (result == -ENOMEM) {
			break;
		}
		if (add_entry(snapshot, entry, bytes) < 0) {
			result = -EBADMSG;
		}
	}
	free_entries(&entries);
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
