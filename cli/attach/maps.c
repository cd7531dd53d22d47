#include "cli/attach/maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/name.h"

#define SEGMENT_DIGITS 32u

static int add(struct hk_maps *maps, const struct hk_map *map)
{
	struct hk_map *list = reallocarray(maps->list, maps->count + 1, sizeof(*list));

	if (!list) {
		return -ENOMEM;
	}
	maps->list = list;
	list[maps->count] = *map;
	list[maps->count].path = strdup(map->path);
	if (!list[maps->count].path) {
		return -ENOMEM;
	}
	maps->count++;
	return 0;
}

/* Adds LINE: "start-end rwxp offset device inode   path". */
static int add_line(struct hk_maps *maps, char *line)
{
	struct hk_map map = {0};
	char flags[5] = "";
	int at = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %" SCNu64 " %n", &map.start,
		   &map.end, flags, &map.offset, &map.inode, &at) < 5) {
		return 0;
	}
	map.executable = flags[2] == 'x';
	map.path = line + at;
	return add(maps, &map);
}

int hk_maps_read(pid_t pid, struct hk_maps *ret_maps)
{
	char path[64], *line = NULL;
	size_t room = 0;
	int r = 0;

	*ret_maps = (struct hk_maps){0};
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	FILE *file = fopen(path, "re");
	if (!file) {
		return -errno;
	}
	while (r == 0 && getline(&line, &room, file) > 0) {
		r = add_line(ret_maps, line);
	}
	free(line);
	fclose(file);
	if (r < 0) {
		hk_maps_free(ret_maps);
	}
	return r;
}

void hk_maps_free(struct hk_maps *maps)
{
	for (size_t i = 0; i < maps->count; i++) {
		free(maps->list[i].path);
	}
	free(maps->list);
	*maps = (struct hk_maps){0};
}

const struct hk_map *hk_maps_find(const struct hk_maps *maps, uint64_t address)
{
	for (size_t i = 0; i < maps->count; i++) {
		if (address >= maps->list[i].start && address < maps->list[i].end) {
			return &maps->list[i];
		}
	}
	return NULL;
}

const char *hk_map_base(const struct hk_map *map)
{
	return hk_name_base(map->path);
}

const struct hk_map *hk_maps_file(const struct hk_maps *maps, bool (*is)(const char *base))
{
	for (size_t i = 0; i < maps->count; i++) {
		if (maps->list[i].path[0] == '/' && is(hk_map_base(&maps->list[i]))) {
			return &maps->list[i];
		}
	}
	return NULL;
}

/* ---- kinds ---- */

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

bool hk_map_is_libc(const char *base)
{
	return begins(base, "libc.so.6") || (begins(base, "libc-2.") && strstr(base, ".so"));
}

bool hk_map_is_libdl(const char *base)
{
	return begins(base, "libdl.so.2") || (begins(base, "libdl-2.") && strstr(base, ".so"));
}

bool hk_map_is_loader(const char *base)
{
	return (begins(base, "ld-linux") || begins(base, "ld-2.") || begins(base, "ld64.so") ||
		begins(base, "ld.so")) &&
	       strstr(base, ".so");
}

bool hk_map_is_musl(const char *base)
{
	return begins(base, "ld-musl") || begins(base, "libc.musl") || strcmp(base, "libc.so") == 0;
}

bool hk_map_is_agent(const char *base)
{
	return begins(base, "libhookagent") && strstr(base, ".so");
}

bool hk_map_is_segment(const char *base)
{
	return strspn(base, "0123456789abcdef") == SEGMENT_DIGITS &&
	       begins(base + SEGMENT_DIGITS, ".seg");
}
