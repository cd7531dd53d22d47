#include "collector/stack/code_map.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RANGES_MAX 65536u

/* ---- files ---- */

/* Sets the address in the file of RANGE. */
static void translate(const struct hk_elf *file, struct hk_code_range *range)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	GElf_Phdr header;
	size_t count;

	if (elf_getphdrnum(file->elf, &count) < 0) {
		return;
	}
	for (size_t i = 0; i < count && i <= INT32_MAX; i++) {
		if (!gelf_getphdr(file->elf, (int)i, &header)) {
			return;
		}
		uint64_t first = header.p_offset & ~(page - 1);
		if (header.p_type == PT_LOAD && header.p_flags & PF_X && range->offset >= first &&
		    range->offset - first < header.p_filesz + page) {
			range->file = header.p_vaddr + range->offset - header.p_offset;
			return;
		}
	}
}

static void read_file(const char *root, struct hk_code_range *range)
{
	char whole[PATH_MAX];
	struct hk_elf file;

	range->known = true;
	range->file = range->offset;
	if (*range->path != '/' ||
	    snprintf(whole, sizeof(whole), "%s%s", root, range->path) >= (int)sizeof(whole) ||
	    hk_elf_open_copied(whole, &file) < 0) {
		return;
	}
	translate(&file, range);
	range->build_id_bytes = hk_elf_build_id(&file, range->build_id);
	hk_elf_close(&file);
}

/* ---- the map ---- */

bool hk_code_map_parse(char *line, struct hk_code_range *ret_range)
{
	struct hk_code_range range = {.path = NULL};
	char access[5];
	int path = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &range.start,
		   &range.end, access, &range.offset, &path) != 4 ||
	    path == 0 || range.start >= range.end || access[2] != 'x') {
		return false;
	}
	range.path = line + path;
	*ret_range = range;
	return true;
}

static int add(struct hk_code_map *map, const struct hk_code_range *range)
{
	/* The capacity is the next power of two. */
	if ((map->count & (map->count - 1)) == 0) {
		size_t room = map->count ? 2 * map->count : 1;
		struct hk_code_range *larger =
		    reallocarray(map->ranges, room, sizeof(*map->ranges));
		if (!larger) {
			return -ENOMEM;
		}
		map->ranges = larger;
	}
	struct hk_code_range *added = &map->ranges[map->count];
	*added = *range;
	added->path = strdup(range->path);
	if (!added->path) {
		return -ENOMEM;
	}
	map->count++;
	return 0;
}

int hk_code_map_read(uint32_t pid, struct hk_code_map *ret_map)
{
	struct hk_code_map map = {.ranges = NULL};
	struct hk_code_range range;
	char path[64], line[PATH_MAX + 128];
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
	FILE *file = fopen(path, "re");
	if (!file) {
		return -errno;
	}
	while (r == 0 && map.count < RANGES_MAX && fgets(line, sizeof(line), file)) {
		r = hk_code_map_parse(line, &range) ? add(&map, &range) : 0;
	}
	fclose(file);
	/* A process that ends loses its memory before its pid. */
	r = r == 0 && map.count == 0 ? -ESRCH : r;
	if (r < 0) {
		hk_code_map_free(&map);
		return r;
	}
	snprintf(map.root, sizeof(map.root), "/proc/%" PRIu32 "/root", pid);
	*ret_map = map;
	return 0;
}

void hk_code_map_free(struct hk_code_map *map)
{
	for (size_t i = 0; i < map->count; i++) {
		free(map->ranges[i].path);
	}
	free(map->ranges);
	*map = (struct hk_code_map){.ranges = NULL};
}

const struct hk_code_range *hk_code_map_find(struct hk_code_map *map, uint64_t address)
{
	size_t first = 0, count = map->count;

	while (count > 0) {
		const struct hk_code_range *middle = &map->ranges[first + count / 2];
		if (address >= middle->end) {
			first += count / 2 + 1;
			count -= count / 2 + 1;
		} else {
			count /= 2;
		}
	}
	struct hk_code_range *range = first < map->count ? &map->ranges[first] : NULL;
	if (!range || address < range->start) {
		return NULL;
	}
	if (!range->known) {
		read_file(map->root, range);
	}
	return range;
}
