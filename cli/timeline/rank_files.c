#include "cli/timeline/rank_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/export/gzip.h"
#include "cli/span.h"
#include "report/model/report.h"
#include "report/model/role.h"

#define BUFFER_BYTES (1u << 20)
#define NAME_BYTES 64u
#define BEGIN_BYTES 256u
#define PART ".part" /* suffix of an unfinished file */
#define PROGRESS_STEPS 1000u

struct rank {
	int32_t rank;
	bool written; /* as an unfinished or a finished file */
};

struct rank_files {
	const Hk__Snapshot *snapshot;
	const struct hk_exporter_ops *ops;
	const struct hk_timeline_options *options;
	const char *ending; /* ".json.gz" */
	bool gzip;
	int directory;
	bool made; /* this export made the directory */
	struct rank *ranks;
	size_t count, at;
	struct hk_rank_files_result result;
};

/* ---- ranks ---- */

static bool is_own(const Hk__Process *process)
{
	return process->role != HK__ROLE__ROLE_HELPER && process->role != HK__ROLE__ROLE_LAUNCHER;
}

static int compare_ranks(const void *left, const void *right)
{
	const struct rank *a = left, *b = right;

	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* Lists the requested ranks, each once. */
static int list_ranks(struct rank_files *files)
{
	const Hk__Snapshot *snapshot = files->snapshot;
	size_t distinct = 0;

	files->ranks = calloc(snapshot->n_processes + 1, sizeof(*files->ranks));
	if (!files->ranks) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < snapshot->n_processes; i++) {
		const Hk__Process *process = snapshot->processes[i];
		int32_t rank = hk_report_rank_of(process);

		if (!hk_span_has_rank(files->options->ranks, files->options->rank_count, rank)) {
			continue;
		}
		if (is_own(process)) {
			files->ranks[files->count++].rank = rank;
		} else {
			files->result.strange += process->last_chunk > 0;
		}
	}
	qsort(files->ranks, files->count, sizeof(*files->ranks), compare_ranks);
	for (size_t i = 0; i < files->count; i++) {
		if (distinct == 0 || files->ranks[distinct - 1].rank != files->ranks[i].rank) {
			files->ranks[distinct++] = files->ranks[i];
		}
	}
	files->count = distinct;
	return 0;
}

static void name_file(const struct rank_files *files, int32_t rank, const char *more,
		      char name[NAME_BYTES])
{
	snprintf(name, NAME_BYTES, "rank%" PRId32 "%s%s", rank, files->ending, more);
}

/* ---- the directory ---- */

/* Returns the part of a file's name behind "rank<N>", or NULL if the name has another form. */
static const char *ending_of(const char *name)
{
	size_t digits;

	if (strncmp(name, "rank", 4) != 0) {
		return NULL;
	}
	digits = strspn(name + 4, "0123456789");
	return digits ? name + 4 + digits : NULL;
}

static bool is_part(const char *name)
{
	const char *ending = ending_of(name);

	return ending &&
	       (strcmp(ending, ".json" PART) == 0 || strcmp(ending, ".json.gz" PART) == 0);
}

static bool is_whole(const char *name)
{
	const char *ending = ending_of(name);

	return ending && (strcmp(ending, ".json") == 0 || strcmp(ending, ".json.gz") == 0);
}

/* Returns whether the file NAME is of an earlier export. */
static bool is_ours(const struct rank_files *files, const char *name)
{
	const char *begin = files->ops->rank_file_begin;
	size_t length = strlen(begin);
	char found[BEGIN_BYTES];
	struct stat status;
	int fd;

	if ((!is_part(name) && !is_whole(name)) ||
	    fstatat(files->directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(status.st_mode)) {
		return false;
	}
	if (is_part(name)) {
		return true; /* an earlier export may have left it empty */
	}
	fd = openat(files->directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	return fd >= 0 && hk_gzip_begin(fd, found, sizeof(found)) >= (long)length &&
	       memcmp(found, begin, length) == 0;
}

/* Calls VISIT for every name in the directory until one returns other than 0. */
static int for_each_name(struct rank_files *files,
			 int (*visit)(struct rank_files *files, const char *name))
{
	int fd = openat(files->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!list) {
		rc = -errno;
		if (fd >= 0) {
			close(fd);
		}
		return rc;
	}
	while (rc == 0 && (entry = readdir(list))) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
			rc = visit(files, entry->d_name);
		}
	}
	closedir(list);
	return rc;
}

static int refuse_others(struct rank_files *files, const char *name)
{
	return is_ours(files, name) ? 0 : -ENOTEMPTY;
}

static int open_directory(struct rank_files *files, const char *path)
{
	files->made = mkdir(path, 0777) == 0;
	if (!files->made && errno != EEXIST) {
		return -errno;
	}
	files->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (files->directory < 0) {
		return -errno;
	}
	return for_each_name(files, refuse_others);
}

static bool is_new(const struct rank_files *files, const char *name)
{
	char wanted[NAME_BYTES];

	for (size_t i = 0; i < files->count; i++) {
		name_file(files, files->ranks[i].rank, "", wanted);
		if (files->ranks[i].written && strcmp(wanted, name) == 0) {
			return true;
		}
	}
	return false;
}

static int remove_old(struct rank_files *files, const char *name)
{
	if (!is_new(files, name) && is_ours(files, name)) {
		unlinkat(files->directory, name, 0);
	}
	return 0;
}

/* Renames all parts, which are complete, and removes the files of an earlier export. */
static int publish(struct rank_files *files)
{
	char part[NAME_BYTES], name[NAME_BYTES];

	for (size_t i = 0; i < files->count; i++) {
		name_file(files, files->ranks[i].rank, PART, part);
		name_file(files, files->ranks[i].rank, "", name);
		if (files->ranks[i].written &&
		    renameat(files->directory, part, files->directory, name) < 0) {
			return -errno;
		}
	}
	return for_each_name(files, remove_old);
}

static void discard(struct rank_files *files, const char *path)
{
	char part[NAME_BYTES];

	for (size_t i = 0; i < files->count; i++) {
		if (files->ranks[i].written) {
			name_file(files, files->ranks[i].rank, PART, part);
			unlinkat(files->directory, part, 0);
		}
	}
	if (files->made) {
		rmdir(path);
	}
}

/* ---- one rank ---- */

static void add_result(struct hk_timeline_result *sum, const struct hk_timeline_result *result)
{
	sum->records += result->records;
	sum->calls += result->calls;
	sum->instants += result->instants;
	sum->activities += result->activities;
	sum->lost += result->lost;
	sum->shed += result->shed;
	sum->elsewhere += result->elsewhere;
	sum->newer += result->newer;
	sum->damaged += result->damaged;
	sum->too_deep += result->too_deep;
	sum->processes += result->processes;
	sum->unrecorded += result->unrecorded;
}

/* Reports progress over all ranks, as if all were of equal length. */
static void tell_progress(void *context, uint64_t done, uint64_t total)
{
	const struct rank_files *files = context;
	uint64_t of_rank = total ? done * PROGRESS_STEPS / total : 0;

	of_rank = of_rank < PROGRESS_STEPS ? of_rank : PROGRESS_STEPS;
	files->options->progress(files->options->context, files->at * PROGRESS_STEPS + of_rank,
				 files->count * PROGRESS_STEPS);
}

static FILE *open_part(const struct rank_files *files, int32_t rank)
{
	char name[NAME_BYTES];
	FILE *output;
	int fd;

	name_file(files, rank, PART, name);
	unlinkat(files->directory, name, 0); /* a part of an interrupted export */
	fd = openat(files->directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0) {
		return NULL;
	}
	output = files->gzip ? hk_gzip_write(fd) : fdopen(fd, "w");
	if (output) {
		setvbuf(output, NULL, _IOFBF, BUFFER_BYTES);
	} else if (!files->gzip) {
		close(fd);
	}
	return output;
}

static int export_rank(struct rank_files *files, const char *directory,
		       const struct hk_export_target *target)
{
	struct rank *rank = &files->ranks[files->at];
	const struct hk_span_ranks span = {rank->rank, rank->rank};
	struct hk_timeline_options options = *files->options;
	struct hk_export_target part = *target;
	struct hk_timeline_result result;
	char name[NAME_BYTES];
	int rc;

	options.ranks = &span;
	options.rank_count = 1;
	options.ranks_own = true;
	options.progress = files->options->progress ? tell_progress : NULL;
	options.context = files;
	part.rank = rank->rank;
	part.output = open_part(files, rank->rank);
	if (!part.output) {
		return -errno;
	}
	rank->written = true;
	rc = hk_timeline_export(files->snapshot, directory, files->ops, &part, &options, &result);
	if (fclose(part.output) != 0 && rc == 0) {
		rc = errno > 0 ? -errno : -EIO;
	}
	if (rc < 0) {
		return rc;
	}
	add_result(&files->result.sum, &result);
	files->result.files++;
	if (result.calls == result.instants) {
		name_file(files, rank->rank, PART, name);
		unlinkat(files->directory, name, 0);
		rank->written = false;
		files->result.files--;
		files->result.empty++;
	}
	return 0;
}

int hk_rank_files_export(const Hk__Snapshot *snapshot, const char *directory,
			 const struct hk_exporter_ops *ops, const struct hk_export_target *target,
			 bool gzip, const struct hk_timeline_options *options,
			 struct hk_rank_files_result *ret_result)
{
	struct rank_files files = {
	    .snapshot = snapshot,
	    .ops = ops,
	    .options = options,
	    .gzip = gzip,
	    .ending = gzip ? ".json.gz" : ".json",
	    .directory = -1,
	};
	int rc = open_directory(&files, target->path);

	rc = rc == 0 ? list_ranks(&files) : rc;
	for (; rc == 0 && files.at < files.count; files.at++) {
		rc = export_rank(&files, directory, target);
	}
	rc = rc == 0 ? publish(&files) : rc;
	if (rc < 0) {
		discard(&files, target->path);
	} else {
		*ret_result = files.result;
	}
	if (files.directory >= 0) {
		close(files.directory);
	}
	free(files.ranks);
	return rc;
}
