#include "cli/compare/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SOURCE(name) &hk_source_##name,
static const struct hk_source *const sources[] = {HK_SOURCES(SOURCE)};
#define SOURCE_COUNT (sizeof(sources) / sizeof(sources[0]))

int hk_source_parts_add(struct hk_source_parts *parts, uint32_t rank, const char *path)
{
	struct hk_source_part *list =
	    reallocarray(parts->list, parts->count + 1, sizeof(*parts->list));

	if (!list) {
		return -ENOMEM;
	}
	parts->list = list;
	list[parts->count] = (struct hk_source_part){.rank = rank, .path = strdup(path)};
	if (!list[parts->count].path) {
		return -ENOMEM;
	}
	parts->count++;
	return 0;
}

void hk_source_parts_fini(struct hk_source_parts *parts)
{
	for (size_t i = 0; i < parts->count; i++) {
		free(parts->list[i].path);
	}
	free(parts->list);
	*parts = (struct hk_source_parts){0};
}

/* Parts of one rank keep a fixed order: that of their paths. */
static int by_rank(const void *left, const void *right)
{
	const struct hk_source_part *a = left, *b = right;

	return a->rank != b->rank ? (a->rank > b->rank) - (a->rank < b->rank)
				  : strcmp(a->path, b->path);
}

static const struct hk_source *source_of(const char *path)
{
	for (size_t i = 0; i < SOURCE_COUNT; i++) {
		if (sources[i]->recognises(path)) {
			return sources[i];
		}
	}
	return NULL;
}

static int parts_read(struct hk_dump_set *set, char reason[HK_SOURCE_REASON_BYTES])
{
	int r = set->source->list(set->path, &set->parts, reason);

	if (r < 0) {
		return r;
	}
	qsort(set->parts.list, set->parts.count, sizeof(*set->parts.list), by_rank);
	set->values = calloc(set->parts.count, sizeof(struct hk_values *));
	if (!set->values) {
		snprintf(reason, HK_SOURCE_REASON_BYTES, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	return 0;
}

int hk_dump_set_open(struct hk_dump_set *set, const char *path, char reason[HK_SOURCE_REASON_BYTES])
{
	struct stat status;

	*set = (struct hk_dump_set){.path = path};
	if (stat(path, &status) < 0) {
		snprintf(reason, HK_SOURCE_REASON_BYTES, "%s", strerror(errno));
		return -errno;
	}
	set->source = source_of(path);
	if (!set->source) {
		snprintf(reason, HK_SOURCE_REASON_BYTES,
			 "no format of dumps is recognised (expected hooktrace's "
			 "rank<R>-<pid>.hkv files, msprobe's dump.json or ptdbg_ascend's .pkl)");
		return -EINVAL;
	}
	int r = parts_read(set, reason);
	if (r < 0) {
		hk_dump_set_close(set);
	}
	return r;
}

void hk_dump_set_close(struct hk_dump_set *set)
{
	for (size_t i = 0; set->values && i < set->parts.count; i++) {
		if (set->values[i]) {
			set->values[i]->ops->close(set->values[i]);
		}
	}
	free(set->values);
	set->values = NULL;
	hk_source_parts_fini(&set->parts);
}

struct hk_values *hk_dump_set_values(struct hk_dump_set *set, size_t index,
				     char reason[HK_SOURCE_REASON_BYTES])
{
	if (!set->values[index]) {
		set->values[index] = set->source->open(&set->parts.list[index], reason);
	}
	return set->values[index];
}
