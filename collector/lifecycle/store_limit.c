#include "collector/lifecycle/store_limit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utlist.h>

#include "base/log.h"
#include "collector/job/jobdir.h"
#include "collector/lifecycle/job_list.h"
#include "collector/model/collector.h"
#include "collector/model/job.h"

#define SHARE 4u /* the default limit is 1 / SHARE of the file system */
#define JOB_JSON_MAX (64u << 10)
#define BLOCK_BYTES 512u

/* A directory of the store. */
struct entry {
	char name[NAME_MAX + 1];
	uint64_t bytes;
	uint64_t end_ns; /* unix */
	bool is_job;	 /* a job.json exists */
	bool finished;	 /* every job.json has the state closed */
};

struct entries {
	struct entry *list;
	size_t count, capacity;
};

/* ---- what there is ---- */

/* Returns the number of bytes read, or -errno. A text longer than any job.json is not of hooktrace.
 */
static ssize_t read_text(int directory, const char *name, char *text, size_t size)
{
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0) {
		return -errno;
	}
	ssize_t length = read(fd, text, size);
	close(fd);
	return length == (ssize_t)size ? -EFBIG : length;
}

static void read_job(int directory, struct entry *entry)
{
	char *text = malloc(JOB_JSON_MAX);
	ssize_t length = text ? read_text(directory, "job.json", text, JOB_JSON_MAX) : -ENOMEM;
	json_t *job = length > 0 ? json_loadb(text, (size_t)length, 0, NULL) : NULL;
	const char *state = json_string_value(json_object_get(job, "state"));
	json_int_t end = json_integer_value(json_object_get(job, "end_unix_ns"));
	entry->is_job = true;
	entry->finished &= state && strcmp(state, "closed") == 0;
	if (end > 0 && (uint64_t)end > entry->end_ns) {
		entry->end_ns = (uint64_t)end;
	}
	json_decref(job);
	free(text);
}

/* Adds the sizes of DIRECTORY and, with NODES, of the nodes' directories in it to ENTRY. Closes
 * DIRECTORY. */
static void measure(int directory, struct entry *entry, bool nodes)
{
	DIR *stream = directory < 0 ? NULL : fdopendir(directory);
	const struct dirent *item;
	struct stat status;
	if (!stream) {
		if (directory >= 0) {
			close(directory);
		}
		return;
	}
	while ((item = readdir(stream)) != NULL) {
		if (item->d_name[0] == '.' ||
		    fstatat(directory, item->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
			continue;
		}
		entry->bytes += (uint64_t)status.st_blocks * BLOCK_BYTES;
		if (strcmp(item->d_name, "job.json") == 0 && S_ISREG(status.st_mode)) {
			read_job(directory, entry);
		} else if (nodes && S_ISDIR(status.st_mode)) {
			measure(openat(directory, item->d_name,
				       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
				entry, false);
		}
	}
	closedir(stream);
}

static int add(struct entries *entries, const struct entry *entry)
{
	if (entries->count == entries->capacity) {
		size_t capacity = entries->capacity ? entries->capacity * 2 : 64;
		struct entry *list = realloc(entries->list, capacity * sizeof(*list));
		if (!list) {
			return -ENOMEM;
		}
		entries->list = list;
		entries->capacity = capacity;
	}
	entries->list[entries->count++] = *entry;
	return 0;
}

static void list(const char *store, struct entries *entries)
{
	int fd = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *item;
	if (!stream) {
		if (fd >= 0) {
			close(fd);
		}
		return;
	}
	while ((item = readdir(stream)) != NULL) {
		struct entry entry = {.finished = true};
		if (item->d_name[0] == '.') {
			continue;
		}
		snprintf(entry.name, sizeof(entry.name), "%s", item->d_name);
		measure(openat(fd, item->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
			&entry, true);
		if (entry.is_job && add(entries, &entry) < 0) {
			break;
		}
	}
	closedir(stream);
}

/* ---- what may go ---- */

static bool is_open(const struct hk_collector *collector, const char *path)
{
	const struct hk_job *job;
	size_t length = strlen(path);
	DL_FOREACH (collector->jobs, job) {
		const char *directory = job->state->directory;
		/* The open directory may be a node's directory inside PATH. */
		if (!job->state->closed && strncmp(directory, path, length) == 0 &&
		    (directory[length] == '\0' || directory[length] == '/')) {
			return true;
		}
	}
	return false;
}

static void remove_nodes(const char *path)
{
	DIR *stream = opendir(path);
	const struct dirent *item;
	char node[PATH_MAX];
	while (stream && (item = readdir(stream)) != NULL) {
		int length = snprintf(node, sizeof(node), "%s/%s", path, item->d_name);
		if (item->d_name[0] != '.' && length > 0 && (size_t)length < sizeof(node)) {
			hk_jobdir_remove(node);
		}
	}
	if (stream) {
		closedir(stream);
	}
}

/* Removes the job of ENTRY. Returns whether its directory no longer exists. */
static bool remove_job(struct hk_collector *collector, const struct entry *entry)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof(path), "%s/%s", collector->store, entry->name);
	if (length < 0 || (size_t)length >= sizeof(path) || is_open(collector, path)) {
		return false;
	}
	hk_job_drop(collector, path);
	remove_nodes(path);
	if (hk_jobdir_remove(path) < 0) {
		return false;
	}
	hk_info("job removed to make room id=%s bytes=%" PRIu64, entry->name, entry->bytes);
	return true;
}

static int by_end(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static uint64_t limit_of(const struct hk_collector *collector)
{
	struct statvfs space;
	if (collector->options.keep_store != 0) {
		return collector->options.keep_store;
	}
	return statvfs(collector->store, &space) < 0
		   ? UINT64_MAX
		   : (uint64_t)space.f_blocks * space.f_frsize / SHARE;
}

unsigned hk_store_trim(struct hk_collector *collector)
{
	struct entries entries = {0};
	uint64_t limit = limit_of(collector), bytes = 0;
	unsigned removed = 0;
	if (limit == UINT64_MAX) {
		return 0;
	}
	list(collector->store, &entries);
	for (size_t i = 0; i < entries.count; i++) {
		bytes += entries.list[i].bytes;
	}
	if (entries.count > 0) {
		qsort(entries.list, entries.count, sizeof(*entries.list), by_end);
	}
	for (size_t i = 0; i < entries.count && bytes > limit; i++) {
		if (entries.list[i].finished && remove_job(collector, &entries.list[i])) {
			bytes -= entries.list[i].bytes;
			removed++;
		}
	}
	free(entries.list);
	return removed;
}
