#include "collector/job/jobdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "report/build/build.h"
#include "report/model/report.h"
#include "report/write/write.h"
#include "trigger/plan.h"

#define SUFFIX_MAX 99999
#define FORMAT_VERSION 1
#define UID_BYTES 16u
#define TAKE_UP_PATIENCE_NS UINT64_C(5000000000)
#define TAKE_UP_PAUSE_NS 50000000

int hk_jobdir_store(char path[PATH_MAX])
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int length;
	if (state && *state == '/') {
		length = snprintf(path, PATH_MAX, "%s/hooktrace", state);
	} else if (home && *home == '/') {
		length = snprintf(path, PATH_MAX, "%s/.local/state/hooktrace", home);
	} else {
		return -ENOENT;
	}
	return length < 0 || length >= PATH_MAX ? -ENAMETOOLONG : 0;
}

static bool id_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("._:+=@-", c));
}

void hk_jobdir_id(const char *key, char id[HK_JOBDIR_ID_BYTES])
{
	size_t length = 0;
	/* Room is left for a number at the end. */
	for (; key[length] && length < HK_JOBDIR_ID_BYTES - 16; length++) {
		bool first = length == 0 && (key[0] == '.' || key[0] == '-');
		id[length] = id_byte(key[length]) && !first ? key[length] : '_';
	}
	if (length == 0) {
		id[length++] = '_';
	}
	id[length] = '\0';
}

int hk_jobdir_make(const char *path)
{
	char part[PATH_MAX];
	size_t length = strlen(path);
	if (length >= sizeof(part)) {
		return -ENAMETOOLONG;
	}
	memcpy(part, path, length + 1);
	for (size_t i = 1; i < length; i++) {
		if (part[i] == '/') {
			part[i] = '\0';
			if (mkdir(part, 0755) < 0 && errno != EEXIST) {
				return -errno;
			}
			part[i] = '/';
		}
	}
	return mkdir(part, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

int hk_jobdir_create(const char *store, char id[HK_JOBDIR_ID_BYTES], char path[PATH_MAX])
{
	size_t id_length = strlen(id);
	int r = hk_jobdir_make(store);
	for (int number = 1; r == 0 && number <= SUFFIX_MAX; number++) {
		if (number > 1) {
			snprintf(id + id_length, HK_JOBDIR_ID_BYTES - id_length, "-%d", number);
		}
		int length = snprintf(path, PATH_MAX, "%s/%s", store, id);
		if (length < 0 || length >= PATH_MAX) {
			return -ENAMETOOLONG;
		}
		if (mkdir(path, 0755) == 0) {
			return 0;
		}
		r = errno == EEXIST ? 0 : -errno;
	}
	return r < 0 ? r : -EEXIST;
}

/* ---- files replaced as a whole: written under another name, then renamed ---- */

/* The name of a file while it is written holds the host and the process: other processes may write
 * the same file at the same time, on other nodes too. */
static int file_begin(const char *directory, const char *name, char path[PATH_MAX], FILE **ret_file)
{
	char host[HOST_NAME_MAX + 1] = "";
	gethostname(host, sizeof(host) - 1);
	int length = snprintf(path, PATH_MAX, "%s/%s.%s-%d", directory, name, host, (int)getpid());
	if (length < 0 || length >= PATH_MAX) {
		return -ENAMETOOLONG;
	}
	*ret_file = fopen(path, "we");
	return *ret_file ? 0 : -errno;
}

static int file_end(FILE *file, const char *name, char path[PATH_MAX], int r)
{
	char final[PATH_MAX];
	int length = (int)(strrchr(path, '/') - path);
	if (ferror(file) && r == 0) {
		r = -EIO;
	}
	if (fclose(file) != 0 && r == 0) {
		r = -errno;
	}
	snprintf(final, sizeof(final), "%.*s/%s", length, path, name);
	if (r == 0 && rename(path, final) < 0) {
		r = -errno;
	}
	if (r < 0) {
		unlink(path);
	}
	return r;
}

/* A process's text may hold any bytes; JSON needs UTF-8. */
static json_t *json_text(const char *text)
{
	json_t *value = json_string(text);
	if (!value) {
		char plain[256];
		size_t i = 0;
		for (; text[i] && i < sizeof(plain) - 1; i++) {
			plain[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
		}
		plain[i] = '\0';
		value = json_string(plain);
	}
	return value;
}

int hk_jobdir_write(const Hk__Job *job, const char *host)
{
	char path[PATH_MAX];
	FILE *file;
	json_t *root = json_object();
	if (!root) {
		return -ENOMEM;
	}
	uint64_t end = job->start_unix_ns + job->duration_ns;
	int failed = json_object_set_new(root, "format", json_integer(FORMAT_VERSION));
	failed |= json_object_set_new(root, "id", json_text(job->id));
	failed |= json_object_set_new(root, "name", json_text(job->name));
	failed |= json_object_set_new(root, "command", json_text(job->command));
	failed |= json_object_set_new(root, "host", json_text(host));
	failed |= json_object_set_new(root, "start_unix_ns",
				      json_integer((json_int_t)job->start_unix_ns));
	failed |= json_object_set_new(root, "end_unix_ns",
				      job->closed ? json_integer((json_int_t)end) : json_null());
	failed |= json_object_set_new(root, "world_size", json_integer(job->world_size));
	failed |=
	    json_object_set_new(root, "state", json_string(job->closed ? "closed" : "running"));
	failed |= json_object_set_new(
	    root, "triggers", json_integer(job->triggers ? (json_int_t)job->triggers->n_fired : 0));
	failed |= json_object_set_new(root, "exit", json_text(job->exit));
	int r = failed ? -ENOMEM : file_begin(job->directory, "job.json", path, &file);
	if (r == 0) {
		r = json_dumpf(root, file, JSON_INDENT(1)) < 0 ? -EIO : 0;
		fputc('\n', file);
		r = file_end(file, "job.json", path, r);
	}
	json_decref(root);
	return r;
}

int hk_jobdir_report(const Hk__Snapshot *snapshot)
{
	char path[PATH_MAX];
	FILE *file;
	struct hk_report *report;
	int r = hk_report_new(snapshot, &report);
	if (r < 0) {
		return r;
	}
	r = file_begin(snapshot->job->directory, "report.json", path, &file);
	if (r == 0) {
		r = file_end(file, "report.json", path, hk_report_write_json(report, NULL, file));
	}
	if (r == 0) {
		r = file_begin(snapshot->job->directory, "summary.txt", path, &file);
	}
	if (r == 0) {
		const struct hk_report_style style = {.colour = false};
		r = file_end(file, "summary.txt", path,
			     hk_report_write_summary(report, file, &style));
	}
	hk_report_free(report);
	return r;
}

/* ---- links of open jobs ---- */

int hk_jobdir_link(int dirfd, const char *prefix, const char *id, const char *path)
{
	char name[NAME_MAX + 1];
	snprintf(name, sizeof(name), "%s%s", prefix, id);
	unlinkat(dirfd, name, 0);
	return symlinkat(path, dirfd, name) < 0 ? -errno : 0;
}

void hk_jobdir_unlink(int dirfd, const char *prefix, const char *id)
{
	char name[NAME_MAX + 1];
	snprintf(name, sizeof(name), "%s%s", prefix, id);
	unlinkat(dirfd, name, 0);
}

/* Returns whether ERROR means that there is no job to continue, and not that it cannot be read now.
 */
static bool is_no_job(int error)
{
	return error == -EBADMSG || error == -ENOENT || error == -EPROTO;
}

/* Calls TAKE for every note. Returns 0, or -errno if a job cannot be continued now. */
static int take_up(int dirfd, const char *prefix, int (*take)(void *context, const char *path),
		   void *context)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int result = 0;
	if (!directory) {
		return -errno;
	}
	while ((entry = readdir(directory)) != NULL) {
		char path[PATH_MAX];
		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0) {
			continue;
		}
		ssize_t length = readlinkat(fd, entry->d_name, path, sizeof(path) - 1);
		if (length <= 0) {
			continue;
		}
		path[length] = '\0';
		int r = take(context, path);
		if (r < 0 && is_no_job(r)) {
			hk_warning("job not taken up again directory=%s error=%s", path,
				   strerror(-r));
			unlinkat(fd, entry->d_name, 0);
		} else if (r < 0) {
			result = r;
		}
	}
	closedir(directory);
	return result;
}

void hk_jobdir_take_up(int dirfd, const char *prefix, int (*take)(void *context, const char *path),
		       void *context)
{
	const struct timespec pause = {.tv_nsec = TAKE_UP_PAUSE_NS};
	const uint64_t until_ns = hk_clock_monotonic_ns() + TAKE_UP_PATIENCE_NS;
	int r;
	while ((r = take_up(dirfd, prefix, take, context)) < 0 &&
	       hk_clock_monotonic_ns() < until_ns) {
		nanosleep(&pause, NULL);
	}
	if (r < 0) {
		hk_warning("jobs left to the next collector notes=%s error=%s", prefix,
			   strerror(-r));
	}
}

int hk_jobdir_chunks(const char *directory, const uint8_t *uid, char path[PATH_MAX])
{
	char name[2 * UID_BYTES + 1];
	for (unsigned i = 0; i < UID_BYTES; i++) {
		snprintf(name + (size_t)2 * i, 3, "%02x", uid[i]);
	}
	int length = snprintf(path, PATH_MAX, "%s/%s.chunks", directory, name);
	return length < 0 || length >= PATH_MAX ? -ENAMETOOLONG : 0;
}

static bool is_ours(const char *name)
{
	static const char *const begins[] = {"job.json",    "statistics",  "report.json",
					     "report.html", "summary.txt", "reserve"};
	const char *dot = strrchr(name, '.');
	bool ours = dot && (strcmp(dot, ".chunks") == 0 || strcmp(dot, ".ledger") == 0);
	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]) && !ours; i++) {
		size_t length = strlen(begins[i]);
		ours = strncmp(name, begins[i], length) == 0 &&
		       (name[length] == '\0' || name[length] == '.');
	}
	return ours;
}

/* Removes the directory NAME of a trigger, below PATH. */
static void remove_trigger(const char *path, const char *name)
{
	char below[PATH_MAX];
	int length = snprintf(below, sizeof(below), "%s/%s", path, name);
	if (length > 0 && length < PATH_MAX) {
		hk_jobdir_remove(below);
	}
}

int hk_jobdir_remove(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	if (!directory) {
		int r = -errno;
		if (fd >= 0) {
			close(fd);
		}
		return r;
	}
	while ((entry = readdir(directory)) != NULL) {
		if (is_ours(entry->d_name)) {
			unlinkat(fd, entry->d_name, 0);
		} else if (strncmp(entry->d_name, HK_TRIGGER_DIRECTORY,
				   strlen(HK_TRIGGER_DIRECTORY)) == 0) {
			remove_trigger(path, entry->d_name);
		}
	}
	closedir(directory);
	rmdir(path);
	return 0;
}
