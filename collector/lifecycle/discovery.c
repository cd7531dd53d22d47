#include "collector/lifecycle/discovery.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/log.h"
#include "collector/lifecycle/attach.h"
#include "collector/model/collector.h"
#include "collector/model/process.h"
#include "ring/reader.h"

#define NAME_HEX (2 * HK_UID_BYTES)

struct found {
	struct hk_reader *reader;
	int dirfd;
	uint64_t start_ns;
};

struct batch {
	struct found *list;
	uint32_t count, room;
};

void hk_discovery_open(struct hk_collector *collector)
{
	collector->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (collector->inotify_fd < 0) {
		hk_warning("cannot watch directories: %s (new processes are found once a second; "
			   "fs.inotify.max_user_instances limits the watches of a user)",
			   strerror(errno));
	}
}

void hk_discovery_clear(struct hk_collector *collector)
{
	char events[4096];
	while (read(collector->inotify_fd, events, sizeof(events)) > 0) {
	}
}

/* Opens the candidate run directories. Agents that started before any collector may create the
 * others later. */
static void open_candidates(struct hk_collector *collector)
{
	for (int i = 0; i < HK_RUNDIR_CANDIDATES; i++) {
		char path[PATH_MAX];
		if (i > 0 && collector->dirfd[i] < 0 && hk_rundir_path(i, path) == 0 &&
		    strcmp(path, collector->run_directory) != 0) {
			int fd = hk_rundir_open(path, 0);
			collector->dirfd[i] = fd < 0 ? -1 : fd;
		}
		if (collector->dirfd[i] >= 0) {
			snprintf(path, sizeof(path), "/proc/self/fd/%d", collector->dirfd[i]);
			/* An existing watch stays as it is. */
			inotify_add_watch(collector->inotify_fd, path, IN_CREATE | IN_MOVED_TO);
		}
	}
}

static int nibble(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_name(const char *name, uint8_t uid[HK_UID_BYTES])
{
	if (strlen(name) != NAME_HEX + strlen(HK_SEGMENT_SUFFIX) ||
	    strcmp(name + NAME_HEX, HK_SEGMENT_SUFFIX) != 0) {
		return false;
	}
	for (unsigned i = 0; i < HK_UID_BYTES; i++) {
		int high = nibble(name[2 * i]), low = nibble(name[2 * i + 1]);
		if (high < 0 || low < 0) {
			return false;
		}
		uid[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static int batch_add(struct batch *batch, const struct found *found)
{
	if (batch->count == batch->room) {
		uint32_t room = batch->room ? 2 * batch->room : 64;
		struct found *list = reallocarray(batch->list, room, sizeof(*list));
		if (!list) {
			return -ENOMEM;
		}
		batch->list = list;
		batch->room = room;
	}
	batch->list[batch->count++] = *found;
	return 0;
}

static void check_file(struct hk_collector *collector, int dirfd, const char *name,
		       struct batch *batch)
{
	uint8_t uid[HK_UID_BYTES];
	struct hk_process *known;
	struct hk_reader *reader;
	if (!parse_name(name, uid)) {
		return;
	}
	HASH_FIND(hh, collector->processes, uid, HK_UID_BYTES, known);
	if (known) {
		return;
	}
	if (HASH_COUNT(collector->processes) + batch->count >= HK_COLLECTOR_SEGMENTS_MAX) {
		collector->waiting++;
		return;
	}
	int r = hk_reader_open(dirfd, name, &reader);
	if (r == -EPROTONOSUPPORT) {
		collector->incompatible++;
	} else if (r == -EAGAIN) {
		collector->unfinished++;
	} else if (r < 0 && r != -ENOENT) {
		collector->refused++;
	}
	if (r < 0) {
		return;
	}
	const struct found found = {reader, dirfd, hk_reader_identity(reader)->start.monotonic_ns};
	if (batch_add(batch, &found) < 0) {
		hk_reader_free(reader);
		collector->refused++;
	}
}

/* Returns 0, or -errno if entries are left to a later scan. */
static int read_directory(struct hk_collector *collector, int dirfd, struct batch *batch)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	if (!directory) {
		int r = -errno;
		if (fd >= 0) {
			close(fd);
		}
		return r;
	}
	while ((entry = readdir(directory)) != NULL) {
		check_file(collector, dirfd, entry->d_name, batch);
	}
	closedir(directory);
	return 0;
}

/* A missing directory is no error, because run_directory.h makes it again. */
static void note_error(struct hk_collector *collector, int error)
{
	error = error == -ENOENT ? 0 : error;
	if (error != 0 && error != collector->scan_error) {
		hk_warning("processes not looked for error=%s", strerror(-error));
	}
	collector->scan_error = error;
}

static int by_start(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

void hk_discovery_run(struct hk_collector *collector)
{
	struct batch batch = {.list = NULL};
	uint32_t incompatible = collector->incompatible, refused = collector->refused;
	collector->incompatible = collector->refused = collector->unfinished = 0;
	collector->waiting = 0;
	open_candidates(collector);
	int error = 0;
	for (int i = 0; i < HK_RUNDIR_CANDIDATES; i++) {
		if (collector->dirfd[i] >= 0) {
			int r = read_directory(collector, collector->dirfd[i], &batch);
			error = r < 0 ? r : error;
		}
	}
	note_error(collector, error);
	/* Parents come before children: the role of a process depends on the processes known before
	 * it. */
	if (batch.count > 0) {
		qsort(batch.list, batch.count, sizeof(batch.list[0]), by_start);
	}
	for (uint32_t i = 0; i < batch.count; i++) {
		struct hk_process *process;
		int r = hk_process_attach(collector, batch.list[i].dirfd, batch.list[i].reader,
					  &process);
		if (r < 0) {
			hk_reader_free(batch.list[i].reader);
			collector->refused++;
			hk_debug("segment not attached error=%s", strerror(-r));
		}
	}
	free(batch.list);
	if (collector->incompatible > incompatible) {
		hk_warning("segments of another version are ignored count=%u",
			   collector->incompatible);
	}
	if (collector->refused > refused) {
		hk_warning("segments that cannot be read or stored count=%u", collector->refused);
	}
}
