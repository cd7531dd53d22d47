#include "collector/stack/code_map.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RANGES_MAX 65536u
#define HEADERS_MAX 64u
#define NOTES_BYTES 4096u

/* ---- files ---- */

struct image {
	Elf64_Phdr header[HEADERS_MAX];
	size_t headers;
};

/* Reads the program headers of the ELF file FD. */
static bool read_headers(int fd, struct image *image)
{
	Elf64_Ehdr elf;

	if (pread(fd, &elf, sizeof(elf), 0) != (ssize_t)sizeof(elf) ||
	    memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
	    elf.e_phentsize != sizeof(Elf64_Phdr) || elf.e_phnum > HEADERS_MAX ||
	    elf.e_phoff > INT64_MAX) {
		return false;
	}
	size_t bytes = elf.e_phnum * sizeof(Elf64_Phdr);
	image->headers = elf.e_phnum;
	return pread(fd, image->header, bytes, (off_t)elf.e_phoff) == (ssize_t)bytes;
}

static void find_build_id(const uint8_t *notes, size_t bytes, struct hk_code_range *range)
{
	size_t at = 0;

	while (bytes - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		memcpy(&note, notes + at, sizeof(note));
		size_t name = at + sizeof(note);
		size_t content = name + (((size_t)note.n_namesz + 3) & ~(size_t)3);
		size_t next = content + (((size_t)note.n_descsz + 3) & ~(size_t)3);
		if (content + note.n_descsz > bytes) {
			return;
		}
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp(notes + name, "GNU", 4) == 0 && note.n_descsz <= HK_CODE_MAP_BUILD_ID) {
			memcpy(range->build_id, notes + content, note.n_descsz);
			range->build_id_bytes = note.n_descsz;
			return;
		}
		if (next > bytes) {
			return;
		}
		at = next;
	}
}

static void read_build_id(int fd, const struct image *image, struct hk_code_range *range)
{
	uint8_t notes[NOTES_BYTES];

	for (size_t i = 0; i < image->headers && range->build_id_bytes == 0; i++) {
		const Elf64_Phdr *header = &image->header[i];
		if (header->p_type != PT_NOTE || header->p_offset > INT64_MAX) {
			continue;
		}
		size_t wanted = header->p_filesz < NOTES_BYTES ? header->p_filesz : NOTES_BYTES;
		ssize_t got = pread(fd, notes, wanted, (off_t)header->p_offset);
		if (got > 0) {
			find_build_id(notes, (size_t)got, range);
		}
	}
}

/* Sets the address in the file of RANGE. */
static void translate(const struct image *image, struct hk_code_range *range)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < image->headers; i++) {
		const Elf64_Phdr *header = &image->header[i];
		uint64_t first = header->p_offset & ~(page - 1);
		if (header->p_type == PT_LOAD && header->p_flags & PF_X && range->offset >= first &&
		    range->offset - first < header->p_filesz + page) {
			range->file = header->p_vaddr + range->offset - header->p_offset;
			return;
		}
	}
}

static int open_file(const char *root, const char *path)
{
	char whole[PATH_MAX];
	struct stat st;

	if (snprintf(whole, sizeof(whole), "%s%s", root, path) >= (int)sizeof(whole)) {
		return -1;
	}
	int fd = open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}

static void read_file(const char *root, struct hk_code_range *range)
{
	struct image image;
	int fd = *range->path == '/' ? open_file(root, range->path) : -1;

	range->known = true;
	range->file = range->offset;
	if (fd >= 0 && read_headers(fd, &image)) {
		translate(&image, range);
		read_build_id(fd, &image, range);
	}
	if (fd >= 0) {
		close(fd);
	}
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
