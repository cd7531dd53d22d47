/* msprobe's dumps: <path>/step<N>/rank<R> or proc<pid>, each with dump.json. A path may be any of
 * the three levels. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/compare/foreign/msprobe_rows.h"
#include "cli/compare/foreign/rows.h"
#include "cli/compare/source.h"

#define DUMP_FILE "dump.json"

/* Whether NAME is PREFIX and a number. */
static bool is_numbered(const char *name, const char *prefix, uint64_t *ret_number)
{
	size_t length = strlen(prefix);
	char *end;

	if (strncmp(name, prefix, length) != 0 || name[length] < '0' || name[length] > '9') {
		return false;
	}
	errno = 0;
	*ret_number = strtoull(name + length, &end, 10);
	return !*end && errno == 0;
}

/* Whether NAME is a rank's directory; proc<pid> is that of a process without ranks. */
static bool is_rank(const char *name, uint32_t *ret_rank)
{
	uint64_t number;
	bool has_rank = is_numbered(name, "rank", &number) && number <= UINT32_MAX;

	*ret_rank = has_rank ? (uint32_t)number : 0;
	return has_rank || is_numbered(name, "proc", &number) || !strcmp(name, "rank");
}

static bool join(char path[PATH_MAX], const char *directory, const char *name)
{
	int length = snprintf(path, PATH_MAX, "%s/%s", directory, name);

	return length > 0 && length < PATH_MAX;
}

static bool has_dump(const char *directory)
{
	char path[PATH_MAX];

	return join(path, directory, DUMP_FILE) && access(path, F_OK) == 0;
}

/* ---- walking ---- */

/* Calls FOUND with the name of each entry of DIRECTORY, in their order, until it returns non-zero,
 * which is returned. */
static int entries_walk(const char *directory,
			int (*found)(void *context, const char *directory, const char *name),
			void *context)
{
	struct dirent **entries;
	int count = scandir(directory, &entries, NULL, versionsort);
	int r = count < 0 ? -errno : 0;

	for (int i = 0; i < count; i++) {
		if (r == 0 && entries[i]->d_name[0] != '.') {
			r = found(context, directory, entries[i]->d_name);
		}
		free(entries[i]);
	}
	if (count >= 0) {
		free(entries);
	}
	return r;
}

static int rank_found(void *context, const char *directory, const char *name)
{
	char path[PATH_MAX];
	uint32_t rank;

	(void)context;
	return is_rank(name, &rank) && join(path, directory, name) && has_dump(path);
}

static int step_found(void *context, const char *directory, const char *name)
{
	char path[PATH_MAX];
	uint64_t step;

	return is_numbered(name, "step", &step) && join(path, directory, name)
		   ? entries_walk(path, rank_found, context) == 1
		   : 0;
}

static bool recognises(const char *path)
{
	return has_dump(path) || entries_walk(path, rank_found, NULL) == 1 ||
	       entries_walk(path, step_found, NULL) == 1;
}

/* ---- parts ---- */

struct listing {
	struct hk_source_parts *parts;
	const char *root; /* of steps; a part is ROOT/rank<R> then, which need not exist */
};

static int part_add(struct listing *listing, uint32_t rank, const char *path)
{
	for (size_t i = 0; i < listing->parts->count; i++) {
		if (!strcmp(listing->parts->list[i].path, path)) {
			return 0;
		}
	}
	return hk_source_parts_add(listing->parts, rank, path);
}

static int rank_list(void *context, const char *directory, const char *name)
{
	struct listing *listing = context;
	char path[PATH_MAX];
	uint32_t rank;

	if (!is_rank(name, &rank) || !join(path, directory, name) || !has_dump(path)) {
		return 0;
	}
	if (listing->root && !join(path, listing->root, name)) {
		return -ENAMETOOLONG;
	}
	return part_add(listing, rank, path);
}

static int step_list(void *context, const char *directory, const char *name)
{
	char path[PATH_MAX];
	uint64_t step;

	return is_numbered(name, "step", &step) && join(path, directory, name)
		   ? entries_walk(path, rank_list, context)
		   : 0;
}

static int list(const char *path, struct hk_source_parts *parts,
		char reason[HK_SOURCE_REASON_BYTES])
{
	struct listing listing = {.parts = parts};
	char real[PATH_MAX];
	uint32_t rank = 0;
	int r = realpath(path, real) ? 0 : -errno;

	if (r == 0 && has_dump(real)) {
		is_rank(strrchr(real, '/') + 1, &rank);
		r = hk_source_parts_add(parts, rank, real);
	} else if (r == 0) {
		r = entries_walk(real, rank_list, &listing);
		listing.root = real;
		if (r == 0 && parts->count == 0) {
			r = entries_walk(real, step_list, &listing);
		}
	}
	if (r < 0) {
		snprintf(reason, HK_SOURCE_REASON_BYTES, "%s", strerror(-r));
	}
	return r;
}

/* ---- rows ---- */

struct opening {
	struct hk_foreign_rows *rows;
	const char *rank; /* the name of the rank's directory */
	uint64_t sequence;
	char reason[HK_ARRAY_REASON_BYTES];
};

static int directory_read(struct opening *opening, const char *directory, uint64_t step)
{
	return hk_msprobe_rows_read(opening->rows, directory, step, &opening->sequence,
				    opening->reason);
}

/* A step that cannot be read costs its own rows only. */
static int step_read(void *context, const char *directory, const char *name)
{
	struct opening *opening = context;
	char path[PATH_MAX], rank[PATH_MAX];
	char damage[HK_ARRAY_REASON_BYTES + NAME_MAX + 8];
	uint64_t step;

	if (!is_numbered(name, "step", &step) || !join(path, directory, name) ||
	    !join(rank, path, opening->rank) || !has_dump(rank)) {
		return 0;
	}
	int r = directory_read(opening, rank, step);
	if (r == -EINVAL) {
		snprintf(damage, sizeof(damage), "%s: %s", name, opening->reason);
		hk_foreign_rows_damaged(opening->rows, damage);
		r = 0;
	}
	return r;
}

/* PATH is a rank's directory, or stands for those of its steps beside it. */
static int part_read(struct opening *opening, const char *path)
{
	char copy[PATH_MAX];
	uint64_t step = 0;

	snprintf(copy, sizeof(copy), "%s", path);
	char *slash = strrchr(copy, '/');
	if (!slash) {
		return -EINVAL;
	}
	*slash = 0;
	opening->rank = slash + 1;
	if (!has_dump(path)) {
		return entries_walk(copy, step_read, opening);
	}
	const char *parent = strrchr(copy, '/');
	if (parent && !is_numbered(parent + 1, "step", &step)) {
		step = 0;
	}
	return directory_read(opening, path, step);
}

static struct hk_values *msprobe_open(const struct hk_source_part *part,
				      char reason[HK_SOURCE_REASON_BYTES])
{
	struct opening opening = {.rows =
				      hk_foreign_rows_new(part->rank, "{\"tool\": \"msprobe\"}")};

	if (!opening.rows) {
		snprintf(reason, HK_SOURCE_REASON_BYTES, "%s", strerror(ENOMEM));
		return NULL;
	}
	struct hk_values *values = hk_foreign_rows_values(opening.rows);
	int r = part_read(&opening, part->path);
	if (r == 0 && values->count == 0 && values->damage) {
		snprintf(reason, HK_SOURCE_REASON_BYTES, "%s", values->damage);
		r = -EINVAL;
	} else if (r < 0) {
		snprintf(reason, HK_SOURCE_REASON_BYTES, "%s",
			 opening.reason[0] ? opening.reason : strerror(-r));
	}
	if (r < 0) {
		values->ops->close(values);
		return NULL;
	}
	return values;
}

const struct hk_source hk_source_msprobe = {"msprobe", recognises, list, msprobe_open};
