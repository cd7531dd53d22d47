#include "collector/memory/group.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_BYTES 4096
/* Version 1 has a limit near the end of the range for "none". */
#define NO_LIMIT (1ULL << 60)
/* A process that is killed may take so long to give its memory back. */
#define DYING_NS 10000000000u

struct hk_memory_group {
	char *path;
	size_t root_length; /* of the part of PATH that is the root */
	uint64_t seen;	    /* kills at the last look */
	uint64_t seen_ns;   /* when their number was seen first */
	uint64_t reported;  /* kills */
};

static int read_text(const char *path, char text[TEXT_BYTES])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return -errno;
	}
	ssize_t n = read(fd, text, TEXT_BYTES - 1);
	int r = n < 0 ? -errno : 0;
	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return r;
}

/* Reads file NAME of DIRECTORY. */
static int read_file(const char *directory, const char *name, char text[TEXT_BYTES])
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", directory, name);
	return n < (int)sizeof(path) ? read_text(path, text) : -ENAMETOOLONG;
}

/* Whether LIST, names separated by commas, has the memory controller. */
static bool has_memory(const char *list, size_t length)
{
	static const char name[] = "memory";
	for (const char *end = list + length; list < end;) {
		const char *comma = memchr(list, ',', (size_t)(end - list));
		size_t size = (size_t)((comma ? comma : end) - list);
		if (size == sizeof(name) - 1 && memcmp(list, name, size) == 0) {
			return true;
		}
		list += size + 1;
	}
	return false;
}

/* A line is "number:controllers:path". Version 2 has number 0 and no controllers. */
int hk_memory_group_path(const char *text, const char *root, char *path, size_t size)
{
	int r = -ENOENT;
	for (const char *line = text; *line;) {
		const char *end = strchrnul(line, '\n'), *names = strchr(line, ':');
		const char *at = names && names < end ? strchr(names + 1, ':') : NULL;
		if (!at || at > end) {
			return -EBADMSG;
		}
		bool second = strncmp(line, "0::", 3) == 0;
		bool first = has_memory(names + 1, (size_t)(at - names - 1));
		if (first || (second && r < 0)) {
			int length = (int)(end - at - 1);
			length -= length == 1; /* "/" */
			int n = snprintf(path, size, "%s%s%.*s", root, first ? "/memory" : "",
					 length, at + 1);
			if (n < 0 || (size_t)n >= size) {
				return -ENAMETOOLONG;
			}
			r = 0;
			if (first) {
				return 0;
			}
		}
		line = *end ? end + 1 : end;
	}
	return r;
}

/* Returns the number behind NAME and a blank in file FILE of the group. UINT64_MAX: unknown. */
static uint64_t value_of(const char *directory, const char *file, const char *name)
{
	char text[TEXT_BYTES];
	uint64_t value;
	size_t length = strlen(name);
	if (read_file(directory, file, text) < 0) {
		return UINT64_MAX;
	}
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, length) == 0 && line[length] == ' ' &&
		    sscanf(line + length, " %" SCNu64, &value) == 1) {
			return value;
		}
	}
	return UINT64_MAX;
}

/* Returns the processes that were killed, UINT64_MAX if that is unknown. */
static uint64_t kills_of(const struct hk_memory_group *group)
{
	uint64_t kills = value_of(group->path, "memory.events", "oom_kill");
	return kills != UINT64_MAX ? kills
				   : value_of(group->path, "memory.oom_control", "oom_kill");
}

struct hk_memory_group *hk_memory_group_new(const char *path, const char *root)
{
	struct hk_memory_group *group = calloc(1, sizeof(*group));
	if (!group) {
		return NULL;
	}
	group->path = strdup(path);
	if (!group->path) {
		free(group);
		return NULL;
	}
	group->root_length = strlen(root);
	group->reported = group->seen = kills_of(group);
	return group;
}

struct hk_memory_group *hk_memory_group_of(uint32_t pid)
{
	char name[64], text[TEXT_BYTES], path[PATH_MAX];
	snprintf(name, sizeof(name), "/proc/%" PRIu32 "/cgroup", pid);
	if (read_text(name, text) < 0 ||
	    hk_memory_group_path(text, HK_CGROUP_ROOT, path, sizeof(path)) < 0) {
		return NULL;
	}
	return hk_memory_group_new(path, HK_CGROUP_ROOT);
}

/* Returns the limit of one directory, UINT64_MAX without one. */
static uint64_t limit_of(const char *directory)
{
	char text[TEXT_BYTES];
	uint64_t limit;
	if (read_file(directory, "memory.max", text) < 0 &&
	    read_file(directory, "memory.limit_in_bytes", text) < 0) {
		return UINT64_MAX;
	}
	return sscanf(text, "%" SCNu64, &limit) == 1 && limit < NO_LIMIT ? limit : UINT64_MAX;
}

uint64_t hk_memory_group_limit(const struct hk_memory_group *group)
{
	char directory[PATH_MAX];
	uint64_t least = UINT64_MAX;
	int n = snprintf(directory, sizeof(directory), "%s", group->path);
	if (n < 0 || n >= (int)sizeof(directory)) {
		return 0;
	}
	for (;;) {
		uint64_t limit = limit_of(directory);
		least = limit < least ? limit : least;
		char *slash = strrchr(directory, '/');
		if (!slash || slash < directory + group->root_length) {
			return least == UINT64_MAX ? 0 : least;
		}
		*slash = '\0';
	}
}

bool hk_memory_group_killed(const struct hk_memory_group *group)
{
	uint64_t kills = kills_of(group);
	return kills != UINT64_MAX && group->reported != UINT64_MAX && kills > group->reported;
}

void hk_memory_group_mark_reported(struct hk_memory_group *group)
{
	uint64_t kills = kills_of(group);
	group->reported += kills != UINT64_MAX && group->reported < kills;
}

void hk_memory_group_alive(struct hk_memory_group *group, uint64_t now_ns)
{
	uint64_t kills = kills_of(group);
	if (kills == UINT64_MAX || group->reported == UINT64_MAX) {
		return;
	}
	if (kills != group->seen) {
		group->seen = kills;
		group->seen_ns = now_ns;
	} else if (kills > group->reported && now_ns - group->seen_ns >= DYING_NS) {
		group->reported = kills;
	}
}

bool hk_memory_group_same(const struct hk_memory_group *a, const struct hk_memory_group *b)
{
	return a && b && strcmp(a->path, b->path) == 0;
}

void hk_memory_group_free(struct hk_memory_group *group)
{
	if (group) {
		free(group->path);
		free(group);
	}
}
