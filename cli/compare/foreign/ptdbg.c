/* ptdbg_ascend's dumps: a text file of records, by its users named .pkl, and beside it a directory
 * of .npy files. A path is such a file, the directory that has it, or one with those of ranks. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/compare/array/file_bytes.h"
#include "cli/compare/foreign/ptdbg_records.h"
#include "cli/compare/foreign/rows.h"
#include "cli/compare/source.h"

#define SUFFIX ".pkl"

static bool has_suffix(const char *name)
{
	size_t length = strlen(name);

	return length > strlen(SUFFIX) && !strcmp(name + length - strlen(SUFFIX), SUFFIX);
}

/* Whether the file begins as a record does: ["... */
static bool has_records(const char *path)
{
	char start[2] = "";
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool found = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
		     read(fd, start, 2) == 2 && start[0] == '[' && start[1] == '"';

	if (fd >= 0) {
		close(fd);
	}
	return found;
}

static bool join(char path[PATH_MAX], const char *directory, const char *name)
{
	int length = snprintf(path, PATH_MAX, "%s/%s", directory, name);

	return length > 0 && length < PATH_MAX;
}

/* Calls FOUND with each file of records in DIRECTORY, until it returns non-zero. */
static int files_walk(const char *directory, int (*found)(void *context, const char *path),
		      void *context)
{
	struct dirent **entries;
	char path[PATH_MAX];
	int count = scandir(directory, &entries, NULL, versionsort);
	int r = count < 0 ? -errno : 0;

	for (int i = 0; i < count; i++) {
		if (r == 0 && has_suffix(entries[i]->d_name) &&
		    join(path, directory, entries[i]->d_name) && has_records(path)) {
			r = found(context, path);
		}
		free(entries[i]);
	}
	if (count >= 0) {
		free(entries);
	}
	return r;
}

/* As files_walk, over the directories rank<R> in DIRECTORY. */
static int ranks_walk(const char *directory, int (*found)(void *context, const char *path),
		      void *context)
{
	struct dirent **entries;
	char path[PATH_MAX];
	int count = scandir(directory, &entries, NULL, versionsort);
	int r = count < 0 ? -errno : 0;

	for (int i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;
		if (r == 0 && !strncmp(name, "rank", 4) && isdigit((unsigned char)name[4]) &&
		    join(path, directory, name)) {
			r = files_walk(path, found, context);
		}
		free(entries[i]);
	}
	if (count >= 0) {
		free(entries);
	}
	return r;
}

static int any_found(void *context, const char *path)
{
	(void)context;
	(void)path;
	return 1;
}

static bool recognises(const char *path)
{
	return (has_suffix(path) && has_records(path)) || files_walk(path, any_found, NULL) == 1 ||
	       ranks_walk(path, any_found, NULL) == 1;
}

/* The rank in the path: the number of the last directory rank<R>, else 0. */
static uint32_t rank_of(const char *path)
{
	uint32_t rank = 0;

	for (const char *at = path; (at = strstr(at, "/rank")); at += 5) {
		char *end;
		unsigned long number = strtoul(at + 5, &end, 10);
		if (isdigit((unsigned char)at[5]) && *end == '/' && number <= UINT32_MAX) {
			rank = (uint32_t)number;
		}
	}
	return rank;
}

static int part_add(void *context, const char *path)
{
	return hk_source_parts_add(context, rank_of(path), path);
}

static int list(const char *path, struct hk_source_parts *parts,
		char reason[HK_SOURCE_REASON_BYTES])
{
	char real[PATH_MAX];
	int r = realpath(path, real) ? 0 : -errno;

	if (r == 0 && has_suffix(real)) {
		r = part_add(parts, real);
	} else if (r == 0) {
		r = files_walk(real, part_add, parts);
		if (r == 0 && parts->count == 0) {
			r = ranks_walk(real, part_add, parts);
		}
	}
	if (r < 0) {
		snprintf(reason, HK_SOURCE_REASON_BYTES, "%s", strerror(-r));
	}
	return r;
}

/* Whether NAME is the directory of the elements of the file BODY.pkl: BODY, or with the time at
 * which the dump was switched on, BODY_<date>_<time>. */
static bool is_directory_of(const char *name, const char *body, size_t length)
{
	if (strncmp(name, body, length) != 0) {
		return false;
	}
	name += length;
	if (!strncmp(name, SUFFIX, strlen(SUFFIX))) {
		name += strlen(SUFFIX);
	}
	return !*name || (*name == '_' && strspn(name + 1, "0123456789_") == strlen(name + 1));
}

/* The latest directory of elements beside the file PATH. Returns false without. */
static bool elements_directory(const char *path, char directory[PATH_MAX])
{
	char parent[PATH_MAX];
	struct dirent **entries;
	bool found = false;

	snprintf(parent, sizeof(parent), "%s", path);
	char *body = strrchr(parent, '/');
	*body++ = 0;
	int count = scandir(*parent ? parent : "/", &entries, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		char candidate[PATH_MAX];
		struct stat status;
		if (is_directory_of(entries[i]->d_name, body, strlen(body) - strlen(SUFFIX)) &&
		    join(candidate, parent, entries[i]->d_name) && stat(candidate, &status) == 0 &&
		    S_ISDIR(status.st_mode)) {
			memcpy(directory, candidate, sizeof(candidate));
			found = true;
		}
		free(entries[i]);
	}
	if (count >= 0) {
		free(entries);
	}
	return found;
}

static int rows_read(struct hk_foreign_rows *rows, const char *path)
{
	char directory[PATH_MAX];
	struct hk_file_bytes file;
	int r = hk_file_bytes_read(&file, path);

	if (r < 0) {
		return r;
	}
	r = hk_ptdbg_records_read(rows, file.bytes, file.size,
				  elements_directory(path, directory) ? directory : NULL);
	free(file.bytes);
	return r;
}

static struct hk_values *ptdbg_open(const struct hk_source_part *part,
				    char reason[HK_SOURCE_REASON_BYTES])
{
	struct hk_foreign_rows *rows =
	    hk_foreign_rows_new(part->rank, "{\"tool\": \"ptdbg_ascend\"}");
	int r = rows ? rows_read(rows, part->path) : -ENOMEM;

	if (r < 0) {
		snprintf(reason, HK_SOURCE_REASON_BYTES, "%s", strerror(-r));
		if (rows) {
			struct hk_values *values = hk_foreign_rows_values(rows);
			values->ops->close(values);
		}
		return NULL;
	}
	return hk_foreign_rows_values(rows);
}

const struct hk_source hk_source_ptdbg = {"ptdbg_ascend", recognises, list, ptdbg_open};
