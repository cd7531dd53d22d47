/* hooktrace's dumps: a directory with a file rank<R>-<pid>.hkv for each process. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare/source.h"
#include "dump/reader.h"

struct own {
	struct hk_values values;
	struct hk_dump_file *file;
};

/* Parses "rank<R>-<pid>.hkv". Returns whether NAME has this form. */
static bool rank_of(const char *name, uint32_t *ret_rank)
{
	unsigned rank, pid;
	int end = 0;

	if (sscanf(name, "rank%9u-%9u.hkv%n", &rank, &pid, &end) < 2 || end == 0 || name[end]) {
		return false;
	}
	*ret_rank = rank;
	return true;
}

static bool recognises(const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	uint32_t rank;
	bool found = false;

	while (directory && !found && (entry = readdir(directory))) {
		found = rank_of(entry->d_name, &rank);
	}
	if (directory) {
		closedir(directory);
	}
	return found;
}

static int file_add(const char *directory, const char *name, struct hk_source_parts *parts)
{
	char path[PATH_MAX];
	uint32_t rank;

	if (!rank_of(name, &rank)) {
		return 0;
	}
	int length = snprintf(path, sizeof(path), "%s/%s", directory, name);
	if (length < 0 || (size_t)length >= sizeof(path)) {
		return -ENAMETOOLONG;
	}
	return hk_source_parts_add(parts, rank, path);
}

static int list(const char *path, struct hk_source_parts *parts,
		char reason[HK_SOURCE_REASON_BYTES])
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	int r = directory ? 0 : -errno;

	while (r == 0 && (entry = readdir(directory))) {
		r = file_add(path, entry->d_name, parts);
	}
	if (directory) {
		closedir(directory);
	}
	if (r < 0) {
		snprintf(reason, HK_SOURCE_REASON_BYTES, "%s", strerror(-r));
	}
	return r;
}

static void row(const struct hk_values *values, size_t index, struct hk_dump_row *row)
{
	hk_dump_file_row(((const struct own *)values)->file, index, row);
}

static const void *elements(struct hk_values *values, size_t index, const char **reason)
{
	return hk_dump_file_elements(((struct own *)values)->file, index, reason);
}

static uint32_t stack(struct hk_values *values, uint32_t stack, const char *const **ret_frames)
{
	return hk_dump_file_stack(((struct own *)values)->file, stack, ret_frames);
}

static void own_close(struct hk_values *values)
{
	struct own *own = (struct own *)values;

	hk_dump_file_close(own->file);
	free(own);
}

static const struct hk_values_ops ops = {
    .row = row, .elements = elements, .stack = stack, .close = own_close};

static struct hk_values *own_open(const struct hk_source_part *part,
				  char reason[HK_SOURCE_REASON_BYTES])
{
	struct own *own = calloc(1, sizeof(*own));
	bool complete;

	if (!own) {
		snprintf(reason, HK_SOURCE_REASON_BYTES, "%s", strerror(ENOMEM));
		return NULL;
	}
	own->file = hk_dump_file_open(part->path, reason, HK_SOURCE_REASON_BYTES);
	if (!own->file) {
		free(own);
		return NULL;
	}
	own->values = (struct hk_values){.ops = &ops,
					 .count = hk_dump_file_rows(own->file),
					 .rank = part->rank,
					 .about = hk_dump_file_about(own->file)};
	hk_dump_file_counts(own->file, &complete, &own->values.damage);
	return &own->values;
}

const struct hk_source hk_source_own = {"hooktrace", recognises, list, own_open};
