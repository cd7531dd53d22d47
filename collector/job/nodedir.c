#include "collector/job/nodedir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/model/job.h"
#include "wire/nodes.h"
#include "wire/statistics.h"

#define BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"
#define NUMBER_MAX 99999u
#define TRIES_MAX 1000u /* other nodes may begin runs of the same name meanwhile */
#define MARK_LINES 5

/* ---- the mark ---- */

static void read_line(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "re");
	if (!file || !fgets(line, (int)size, file)) {
		line[0] = '\0';
	}
	line[strcspn(line, "\n")] = '\0';
	if (file) {
		fclose(file);
	}
}

void hk_nodedir_mark(struct hk_nodedir_mark *mark, const char *id, const char *host,
		     const char *place, int dirfd)
{
	struct stat status = {0};
	fstat(dirfd, &status);
	snprintf(mark->id, sizeof(mark->id), "%s", id);
	snprintf(mark->host, sizeof(mark->host), "%s", *host ? host : "node");
	read_line(BOOT_ID_FILE, mark->boot, sizeof(mark->boot));
	snprintf(mark->place, sizeof(mark->place), "%s", place);
	snprintf(mark->instance, sizeof(mark->instance), "%" PRIu64 ":%" PRIu64,
		 (uint64_t)status.st_dev, (uint64_t)status.st_ino);
}

static int mark_path(const char *directory, char path[PATH_MAX])
{
	int length = snprintf(path, PATH_MAX, "%s/" HK_NODES_MARK, directory);
	return length < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int mark_write(const char *directory, const struct hk_nodedir_mark *mark)
{
	char path[PATH_MAX];
	int r = mark_path(directory, path);
	FILE *file = r < 0 ? NULL : fopen(path, "we");
	if (!file) {
		return r < 0 ? r : -errno;
	}
	fprintf(file, "%s\n%s\n%s\n%s\n%s\n", mark->id, mark->host, mark->boot, mark->place,
		mark->instance);
	r = ferror(file) ? -EIO : 0;
	return fclose(file) != 0 && r == 0 ? -errno : r;
}

/* Reads the mark in DIRECTORY. Missing lines read as empty. */
static void mark_read(const char *directory, struct hk_nodedir_mark *mark)
{
	char path[PATH_MAX];
	char *const texts[MARK_LINES] = {mark->id, mark->host, mark->boot, mark->place,
					 mark->instance};
	const size_t sizes[MARK_LINES] = {sizeof(mark->id), sizeof(mark->host), sizeof(mark->boot),
					  sizeof(mark->place), sizeof(mark->instance)};
	*mark = (struct hk_nodedir_mark){0};
	FILE *file = mark_path(directory, path) < 0 ? NULL : fopen(path, "re");
	for (size_t i = 0; file && i < MARK_LINES && fgets(texts[i], (int)sizes[i], file); i++) {
		texts[i][strcspn(texts[i], "\n")] = '\0';
	}
	if (file) {
		fclose(file);
	}
}

int hk_nodedir_is(const char *path)
{
	char file[PATH_MAX];
	return mark_path(path, file) == 0 && access(file, F_OK) == 0;
}

/* ---- is a run that is there this one? ---- */

/* Returns whether A and B are marks of the same run directory, of any of its collectors. */
static bool same_place(const struct hk_nodedir_mark *a, const struct hk_nodedir_mark *b)
{
	return strcmp(a->host, b->host) == 0 && strcmp(a->boot, b->boot) == 0 &&
	       strcmp(a->place, b->place) == 0;
}

enum finding {
	ANOTHERS, /* the run belongs to another job of the same name */
	OVER,
	GOES_ON,
};

static bool touched_lately(const char *directory)
{
	struct stat status;
	return stat(directory, &status) == 0 && time(NULL) - status.st_mtime <= HK_NODES_SILENT_S;
}

/* Judges a run by the marks of its nodes. */
static enum finding judge_marks(const char *run, const struct hk_nodes *nodes,
				const struct hk_nodedir_mark *mine)
{
	for (size_t i = 0; i < nodes->count; i++) {
		const struct hk_node_part *part = &nodes->parts[i];
		struct hk_nodedir_mark mark;
		char path[PATH_MAX];
		if (snprintf(path, sizeof(path), "%s/%s", run, part->name) >= PATH_MAX) {
			continue;
		}
		mark_read(path, &mark);
		if (*mark.id && strcmp(mark.id, mine->id) != 0) {
			return ANOTHERS;
		}
		if (same_place(&mark, mine) &&
		    (!part->open || strcmp(mark.instance, mine->instance) == 0)) {
			return OVER;
		}
	}
	return GOES_ON;
}

static enum finding judge(const char *run, const struct hk_nodedir_mark *mine)
{
	struct hk_nodes nodes;
	Hk__Snapshot *whole = NULL;
	if (hk_nodes_find(run, &nodes) < 0) {
		return touched_lately(run)
			   ? GOES_ON
			   : OVER; /* its first node has not made its directory yet */
	}
	int r = hk_nodes_load(run, &nodes, &whole);
	enum finding finding = judge_marks(run, &nodes, mine);
	bool fresh = false;
	for (size_t i = 0; i < nodes.count; i++) {
		fresh = fresh || nodes.parts[i].fresh;
	}
	if (finding == GOES_ON &&
	    (!fresh || (r == 0 && whole->job->closed && hk_nodes_ranks_came(whole)))) {
		finding = OVER;
	}
	if (whole) {
		hk__snapshot__free_unpacked(whole, NULL);
	}
	hk_nodes_fini(&nodes);
	return finding;
}

/* ---- this node's directory in a run ---- */

/* Sets PATH to the NUMBERth directory of HOST in RUN. */
static int own_path(const char *run, const char *host, uint32_t number, char path[PATH_MAX])
{
	int length = number == 1 ? snprintf(path, PATH_MAX, "%s/%s", run, host)
				 : snprintf(path, PATH_MAX, "%s/%s-%" PRIu32, run, host, number);
	return length < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static bool is_closed(const char *directory)
{
	Hk__Snapshot *snapshot = NULL;
	hk_statistics_load(directory, &snapshot);
	bool closed = snapshot && snapshot->job && snapshot->job->closed;
	if (snapshot) {
		hk__snapshot__free_unpacked(snapshot, NULL);
	}
	return closed;
}

/* Finds in RUN a directory of this collector or of one before it that ended without closing it or
 * noting it in the run directory. Returns whether there is one, and its PATH. */
static bool find_unfinished(const char *run, const struct hk_nodedir_mark *mine,
			    const struct hk_nodedir_open *open, char path[PATH_MAX])
{
	for (uint32_t number = 1; number <= NUMBER_MAX; number++) {
		struct hk_nodedir_mark mark;
		if (own_path(run, mine->host, number, path) < 0 || access(path, F_OK) < 0) {
			return false;
		}
		mark_read(path, &mark);
		if (strcmp(mark.id, mine->id) == 0 && same_place(&mark, mine) &&
		    strcmp(mark.instance, mine->instance) == 0 && !is_closed(path) &&
		    !open->has(open->context, path)) {
			return true;
		}
	}
	return false;
}

/* Makes this node's directory in RUN. The mark is written into a directory with a name of its own,
 * which then gets its final name in one step. A collector that was killed in between finds the
 * directory by that name again. */
static int make_own(const char *run, const struct hk_nodedir_mark *mark, char path[PATH_MAX])
{
	char new[PATH_MAX];
	int length =
	    snprintf(new, sizeof(new), "%s/.%s.%s.%s", run, mark->host, mark->boot, mark->instance);
	if (length >= PATH_MAX) {
		return -ENAMETOOLONG;
	}
	int r = mkdir(new, 0755) < 0 && errno != EEXIST ? -errno : mark_write(new, mark);
	for (uint32_t number = 1; r == 0 && number <= NUMBER_MAX; number++) {
		r = own_path(run, mark->host, number, path);
		if (r < 0 || access(path, F_OK) == 0) {
			continue;
		}
		if (rename(new, path) == 0) {
			return 0;
		}
		r = errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR ? 0 : -errno;
	}
	hk_jobdir_remove(new);
	return r < 0 ? r : -EEXIST;
}

/* ---- runs of a name ---- */

/* Returns 1 for NAME, n for NAME-n, or 0 for any other entry. */
static uint32_t number_of(const char *entry, const char *name)
{
	size_t length = strlen(name);
	if (strncmp(entry, name, length) != 0) {
		return 0;
	}
	if (!entry[length]) {
		return 1;
	}
	char *end;
	unsigned long number =
	    entry[length] == '-' && entry[length + 1] >= '1' && entry[length + 1] <= '9'
		? strtoul(entry + length + 1, &end, 10)
		: 0;
	return number >= 2 && number <= NUMBER_MAX && !*end ? (uint32_t)number : 0;
}

/* Returns the highest existing number below LIMIT, or 0 if there is none. */
static uint32_t highest(const char *parent, const char *name, uint32_t limit)
{
	uint32_t found = 0;
	DIR *directory = opendir(parent);
	for (struct dirent *entry; directory && (entry = readdir(directory));) {
		uint32_t number = number_of(entry->d_name, name);
		found = number > found && number < limit ? number : found;
	}
	if (directory) {
		closedir(directory);
	}
	return found;
}

static int run_path(const char *parent, const char *name, uint32_t number, char path[PATH_MAX])
{
	int length = number == 1 ? snprintf(path, PATH_MAX, "%s/%s", parent, name)
				 : snprintf(path, PATH_MAX, "%s/%s-%" PRIu32, parent, name, number);
	return length < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* Finds the run to join, else makes the next one, and this node's directory in it. The run's number
 * goes to *ret_number, the directory to PATH. Returns 0, -EAGAIN if another node was faster, or
 * -errno. */
static int take_run(const char *parent, const char *name, const struct hk_nodedir_mark *mine,
		    const struct hk_nodedir_open *open, uint32_t *ret_number, char path[PATH_MAX])
{
	uint32_t last = highest(parent, name, UINT32_MAX), number = last;
	enum finding finding = ANOTHERS;
	char run[PATH_MAX];
	int r = 0;
	for (; number > 0 && finding == ANOTHERS; number = highest(parent, name, number)) {
		r = run_path(parent, name, number, run);
		if (r == 0 && find_unfinished(run, mine, open, path)) {
			*ret_number = number;
			return 0;
		}
		finding = r < 0 ? OVER : judge(run, mine);
		if (finding != ANOTHERS) {
			break;
		}
	}
	if (r == 0 && finding != GOES_ON) {
		number = last + 1;
		r = run_path(parent, name, number, run);
		if (r == 0 && mkdir(run, 0755) < 0) {
			r = errno == EEXIST ? -EAGAIN : -errno;
		}
	}
	*ret_number = number;
	return r < 0 ? r : make_own(run, mine, path);
}

int hk_nodedir_create(const char *parent, char name[HK_JOBDIR_ID_BYTES],
		      const struct hk_nodedir_mark *mark, const struct hk_nodedir_open *open,
		      char path[PATH_MAX])
{
	uint32_t number = 1;
	int r = hk_jobdir_make(parent);
	for (uint32_t tries = 0; r == 0 && tries < TRIES_MAX; tries++) {
		r = take_run(parent, name, mark, open, &number, path);
		if (r != -EAGAIN) {
			break;
		}
		r = tries + 1 < TRIES_MAX ? 0 : r;
	}
	size_t length = strlen(name);
	if (r == 0 && number > 1) {
		snprintf(name + length, HK_JOBDIR_ID_BYTES - length, "-%" PRIu32, number);
	}
	return r;
}

/* ---- afterwards ---- */

int hk_nodedir_beat(const char *directory)
{
	char path[PATH_MAX];
	if (snprintf(path, sizeof(path), "%s/job.json", directory) >= PATH_MAX) {
		return -ENAMETOOLONG;
	}
	return utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

/* Whether job.json of a part that is touched still says that the part is open. Reading the whole
 * job to learn that takes long where it has many ranks. */
static bool some_open(const char *run, const struct hk_nodes *nodes)
{
	bool any = false;
	for (size_t i = 0; i < nodes->count && !any; i++) {
		char path[PATH_MAX];
		int length =
		    snprintf(path, sizeof(path), "%s/%s/job.json", run, nodes->parts[i].name);
		json_t *part = nodes->parts[i].fresh && length < PATH_MAX
				   ? json_load_file(path, 0, NULL)
				   : NULL;
		const char *state = json_string_value(json_object_get(part, "state"));
		any = state && strcmp(state, "running") == 0;
		json_decref(part);
	}
	return any;
}

int hk_nodedir_report(const char *directory)
{
	char run[PATH_MAX];
	struct hk_nodes nodes;
	Hk__Snapshot *whole;
	snprintf(run, sizeof(run), "%s", directory);
	char *slash = strrchr(run, '/');
	if (!slash || slash == run) {
		return -EINVAL;
	}
	*slash = '\0';
	int r = hk_nodes_find(run, &nodes);
	if (r < 0) {
		return r;
	}
	if (some_open(run, &nodes)) {
		hk_nodes_fini(&nodes);
		return 0;
	}
	r = hk_nodes_load(run, &nodes, &whole);
	if (r == 0) {
		r = whole->job->closed ? hk_jobdir_report(whole) : 0;
		hk__snapshot__free_unpacked(whole, NULL);
	}
	hk_nodes_fini(&nodes);
	return r;
}
