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

#include "wire/change.h"
#include "wire/columns.h"

#define FRAME_MAGIC 0x53464b48u /* "HKFS" */
#define UID_BYTES 16u
#define COMPACT_FLOOR_BYTES (256u << 10)
/* A foreign or hostile file may hold the magic everywhere: give up after this many false starts. */
#define FALSE_STARTS_MAX 256u

enum frame_kind {
	FRAME_PROCESS = 1,
	FRAME_JOB = 2,
	FRAME_CHANGE = 3, /* of a process, since its last frame of either kind */
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

struct place {
	uint64_t offset;
	uint32_t bytes; /* header included */
};

/* Where the newest whole frame of a key lies in the file, and the changes behind it. */
struct entry {
	struct frame_key key;
	struct place whole; /* bytes 0: none was found */
	struct place *changes;
	size_t change_count, change_room;
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

static int find_entry(struct entry **entries, const struct frame *frame, struct entry **ret_entry)
{
	bool job = frame->kind == FRAME_JOB;
	struct frame_key key = {.kind = job ? FRAME_JOB : FRAME_PROCESS};
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
	*ret_entry = entry;
	return 0;
}

static int add_change(struct entry *entry, struct place place)
{
	if (entry->change_count == entry->change_room) {
		size_t room = entry->change_room ? 2 * entry->change_room : 8;
		struct place *changes = realloc(entry->changes, room * sizeof(*changes));
		if (!changes) {
			return -ENOMEM;
		}
		entry->changes = changes;
		entry->change_room = room;
	}
	entry->changes[entry->change_count++] = place;
	return 0;
}

/* Makes the frame at OFFSET the newest of its key. Kinds of later versions are left alone. */
static int index_frame(struct entry **entries, const struct frame *frame, uint64_t offset,
		       uint64_t *live_bytes)
{
	const struct place place = {offset, (uint32_t)sizeof(*frame) + frame->length};
	struct entry *entry;
	if (frame->kind < FRAME_PROCESS || frame->kind > FRAME_CHANGE) {
		return 0;
	}
	int r = find_entry(entries, frame, &entry);
	if (r < 0 || frame->kind == FRAME_CHANGE) {
		return r < 0 ? r : add_change(entry, place);
	}
	*live_bytes += place.bytes;
	*live_bytes -= entry->whole.bytes;
	entry->whole = place;
	entry->change_count = 0;
	return 0;
}

static void free_entries(struct entry **entries)
{
	struct entry *entry, *next;
	HASH_ITER (hh, *entries, entry, next) {
		HASH_DEL(*entries, entry);
		free(entry->changes);
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

/* ---- what frames say ---- */

/* Files written before cells were columns have them one by one. */
static int take_old_cells(Hk__Process *process)
{
	int r = 0;
	if (!process->cells) {
		r = hk_columns_from_cells(process->old_cells, process->n_old_cells,
					  &process->cells);
	}
	for (size_t i = 0; i < process->n_old_cells; i++) {
		hk__cell__free_unpacked(process->old_cells[i], NULL);
	}
	free(process->old_cells);
	process->old_cells = NULL;
	process->n_old_cells = 0;
	return r;
}

/* Leaves unsound columns out: -EBADMSG. */
static int settle_cells(Hk__Process *process)
{
	int r = process->n_old_cells > 0 ? take_old_cells(process) : 0;
	if (r < 0 || hk_columns_valid(process->cells)) {
		return r;
	}
	hk__cells__free_unpacked(process->cells, NULL);
	process->cells = NULL;
	return -EBADMSG;
}

/* The process in a frame's BODY, of the uid that the frame names. */
static int unpack_process(const struct frame_key *key, const uint8_t *body, size_t size,
			  Hk__Process **ret_process)
{
	ProtobufCMessage *message;
	int r = hk_message_unpack(&hk__process__descriptor, body, size, &message);
	if (r < 0) {
		return r;
	}
	Hk__Process *process = (Hk__Process *)message;
	if (process->uid.len != UID_BYTES || memcmp(process->uid.data, key->uid, UID_BYTES) != 0) {
		hk__process__free_unpacked(process, NULL);
		return -EBADMSG;
	}
	*ret_process = process;
	return 0;
}

/* Bodies of frames: in memory, or read from the file one at a time. */
struct source {
	const uint8_t *bytes; /* of the whole file; NULL: read from `fd` */
	int fd;
	uint8_t *buffer;
	size_t room;
};

static int body_at(struct source *source, struct place place, const uint8_t **ret_body)
{
	size_t size = place.bytes - sizeof(struct frame);
	if (source->bytes) {
		*ret_body = source->bytes + place.offset + sizeof(struct frame);
		return 0;
	}
	if (size > source->room) {
		uint8_t *buffer = realloc(source->buffer, size);
		if (!buffer) {
			return -ENOMEM;
		}
		source->buffer = buffer;
		source->room = size;
	}
	off_t offset = (off_t)(place.offset + sizeof(struct frame));
	*ret_body = source->buffer;
	return pread(source->fd, source->buffer, size, offset) == (ssize_t)size ? 0 : -EIO;
}

static int read_process(struct source *source, const struct frame_key *key, struct place place,
			Hk__Process **ret_process)
{
	const uint8_t *body;
	int r = body_at(source, place, &body);
	return r < 0 ? r
		     : unpack_process(key, body, place.bytes - sizeof(struct frame), ret_process);
}

/* Merges the change at PLACE into *PROCESS, which is made if there was no whole frame. */
static int read_change(struct source *source, const struct frame_key *key, struct place place,
		       Hk__Process **process)
{
	Hk__Process *change;
	int r = read_process(source, key, place, &change);
	if (r < 0) {
		return r;
	}
	r = *process ? 0 : hk_change_begin(change, process);
	r = r < 0 ? r : hk_change_apply(*process, change);
	hk__process__free_unpacked(change, NULL);
	return r;
}

/* The process of ENTRY with its changes. -EBADMSG: with *RET_PROCESS, if not NULL, some frame was
 * damaged; other errors come without it. */
static int merge_entry(struct source *source, const struct entry *entry, Hk__Process **ret_process)
{
	Hk__Process *process = NULL;
	int result = 0;
	if (entry->whole.bytes > 0) { /* else the first change tells all there was */
		result = read_process(source, &entry->key, entry->whole, &process);
	}
	int r = process ? settle_cells(process) : 0;
	result = r < 0 ? r : result;
	for (size_t i = 0; i < entry->change_count && (result == 0 || result == -EBADMSG); i++) {
		r = read_change(source, &entry->key, entry->changes[i], &process);
		if (r < 0) {
			result = r == -ENOMEM || r == -EIO ? r : -EBADMSG;
		}
	}
	if (result < 0 && result != -EBADMSG && process) {
		hk__process__free_unpacked(process, NULL);
		process = NULL;
	}
	*ret_process = process;
	return result;
}

/* ---- writing ---- */

/* Makes a frame of MESSAGE at BYTES, which has room for both. */
static struct frame make_frame(uint32_t kind, const uint8_t *uid, const ProtobufCMessage *message,
			       size_t length, uint8_t *bytes)
{
	struct frame frame = {.magic = FRAME_MAGIC, .length = (uint32_t)length, .kind = kind};
	if (uid) {
		memcpy(frame.uid, uid, UID_BYTES);
	}
	memcpy(bytes, &frame, sizeof(frame));
	protobuf_c_message_pack(message, bytes + sizeof(frame));
	frame.hash = XXH3_64bits(bytes + HASHED_FROM, sizeof(frame) - HASHED_FROM + length);
	memcpy(bytes, &frame, sizeof(frame));
	return frame;
}

/* Writes a frame of MESSAGE at OFFSET; its header goes to *RET_FRAME. */
static int write_frame(int fd, uint64_t offset, uint32_t kind, const uint8_t *uid,
		       const ProtobufCMessage *message, struct frame *ret_frame)
{
	size_t length = protobuf_c_message_get_packed_size(message);
	if (length > HK_STATISTICS_FRAME_MAX) {
		return -EMSGSIZE;
	}
	uint8_t *bytes = malloc(sizeof(struct frame) + length);
	if (!bytes) {
		return -ENOMEM;
	}
	*ret_frame = make_frame(kind, uid, message, length, bytes);
	int r = write_all(fd, bytes, sizeof(struct frame) + length, offset);
	free(bytes);
	return r;
}

/* Copies the frame at PLACE from FROM to the end of TO. */
static int copy_frame(int from, int to, struct place place, uint64_t to_offset)
{
	uint8_t *bytes = malloc(place.bytes);
	if (!bytes) {
		return -ENOMEM;
	}
	ssize_t n = pread(from, bytes, place.bytes, (off_t)place.offset);
	int r = n == (ssize_t)place.bytes ? write_all(to, bytes, place.bytes, to_offset) : -EIO;
	free(bytes);
	return r;
}

/* Writes ENTRY as one whole frame at OFFSET of TO, without what is damaged in it; its bytes, or
 * -errno. */
static int64_t rewrite(struct hk_statistics *statistics, struct source *source,
		       const struct entry *entry, int to, uint64_t offset)
{
	Hk__Process *process;
	struct frame frame;
	if (entry->change_count == 0) {
		int r = copy_frame(statistics->fd, to, entry->whole, offset);
		return r < 0 ? r : (int64_t)entry->whole.bytes;
	}
	int r = merge_entry(source, entry, &process);
	if (!process) {
		return r == -EBADMSG ? 0 : r; /* nothing of it can be read: it goes */
	}
	r = write_frame(to, offset, FRAME_PROCESS, entry->key.uid, &process->base, &frame);
	hk__process__free_unpacked(process, NULL);
	return r < 0 ? r : (int64_t)(sizeof(frame) + frame.length);
}

/* Rewrites the file with one whole frame for each key. On failure the old file stays as it is; a
 * crash leaves either. */
static int compact(struct hk_statistics *statistics)
{
	const char *name = HK_STATISTICS_FILE ".new";
	struct source source = {.fd = statistics->fd};
	uint64_t size = 0, live;
	int64_t r = 0;
	struct entry *entry, *next, *entries = NULL;
	int fd = openat(statistics->dirfd, name,
			O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0) {
		return -errno;
	}
	HASH_ITER (hh, statistics->entries, entry, next) {
		r = rewrite(statistics, &source, entry, fd, size);
		if (r <= 0) {
			if (r < 0) {
				break;
			}
			continue;
		}
		struct frame frame = {.kind = entry->key.kind,
				      .length = (uint32_t)(r - (int64_t)sizeof(frame))};
		memcpy(frame.uid, entry->key.uid, UID_BYTES);
		live = 0;
		int indexed = index_frame(&entries, &frame, size, &live);
		size += (uint64_t)r;
		if (indexed < 0) {
			r = indexed;
			break;
		}
	}
	free(source.buffer);
	if (r >= 0 &&
	    renameat(statistics->dirfd, name, statistics->dirfd, HK_STATISTICS_FILE) < 0) {
		r = -errno;
	}
	if (r < 0) {
		close(fd);
		unlinkat(statistics->dirfd, name, 0);
		free_entries(&entries);
		return (int)r;
	}
	close(statistics->fd);
	free_entries(&statistics->entries);
	statistics->fd = fd;
	statistics->entries = entries;
	statistics->file_bytes = statistics->live_bytes = size;
	return 0;
}

static int put(struct hk_statistics *statistics, uint32_t kind, const uint8_t *uid,
	       const ProtobufCMessage *message)
{
	struct frame frame;
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
	r = index_frame(&statistics->entries, &frame, statistics->file_bytes,
			&statistics->live_bytes);
	statistics->file_bytes += sizeof(frame) + frame.length;
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

int hk_statistics_put_change(struct hk_statistics *statistics, const Hk__Process *change)
{
	if (change->uid.len != UID_BYTES) {
		return -EINVAL;
	}
	return put(statistics, FRAME_CHANGE, change->uid.data, &change->base);
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
static int add_entry(Hk__Snapshot *snapshot, const struct entry *entry, struct source *source)
{
	Hk__Process *process;
	if (entry->key.kind == FRAME_JOB) {
		ProtobufCMessage *message;
		int r =
		    hk_message_unpack(&hk__job__descriptor,
				      source->bytes + entry->whole.offset + sizeof(struct frame),
				      entry->whole.bytes - sizeof(struct frame), &message);
		if (r == 0) {
			snapshot->job = (Hk__Job *)message;
		}
		return r;
	}
	int r = merge_entry(source, entry, &process);
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
	struct source source = {.bytes = bytes, .fd = -1};
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
		int r = add_entry(snapshot, entry, &source);
		if (r < 0) {
			result = r == -ENOMEM ? r : -EBADMSG;
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
