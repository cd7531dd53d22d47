#include "collector/symbol/debug_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define DIRECTORY "/usr/lib/debug"
#define CRC_BYTES (1u << 16) /* read at a time */

/* ---- is it the right one? ---- */

static bool has_crc(const struct hk_elf *file, GElf_Word wanted)
{
	unsigned char bytes[CRC_BYTES];
	uLong crc = crc32(0, NULL, 0);
	off_t at = 0;
	ssize_t got;

	while ((got = pread(file->fd, bytes, sizeof(bytes), at)) > 0) {
		crc = crc32(crc, bytes, (uInt)got);
		at += got;
	}
	return got == 0 && crc == wanted;
}

static bool has_build_id(const struct hk_elf *file, const uint8_t *wanted, size_t bytes)
{
	uint8_t build_id[HK_ELF_BUILD_ID_MOST];

	return hk_elf_build_id(file, build_id) == bytes && memcmp(build_id, wanted, bytes) == 0;
}

/* How the right debug file is recognised. */
struct mark {
	uint8_t build_id[HK_ELF_BUILD_ID_MOST];
	size_t bytes; /* 0: by the checksum */
	GElf_Word crc;
};

/* Opens the file at PATH if MARK fits it. */
static bool open_marked(const char *path, const struct mark *mark, struct hk_elf *ret_debug)
{
	if (hk_elf_open(path, ret_debug) < 0) {
		return false;
	}
	if (mark->bytes ? has_build_id(ret_debug, mark->build_id, mark->bytes)
			: has_crc(ret_debug, mark->crc)) {
		return true;
	}
	hk_elf_close(ret_debug);
	return false;
}

/* ---- where may it be? ---- */

static bool by_build_id(const struct mark *mark, const char *root, char path[PATH_MAX],
			struct hk_elf *ret_debug)
{
	char digits[2 * HK_ELF_BUILD_ID_MOST + 1];

	for (size_t i = 0; i < mark->bytes; i++) {
		snprintf(digits + 2 * i, 3, "%02x", mark->build_id[i]);
	}
	return mark->bytes >= 2 &&
	       snprintf(path, PATH_MAX, "%s" DIRECTORY "/.build-id/%.2s/%s.debug", root, digits,
			digits + 2) < PATH_MAX &&
	       open_marked(path, mark, ret_debug);
}

static bool by_link(const struct mark *mark, const char *root, const char *file, const char *link,
		    char path[PATH_MAX], struct hk_elf *ret_debug)
{
	/* FILE lies below ROOT, and is absolute there. */
	size_t skipped = strncmp(file, root, strlen(root)) == 0 ? strlen(root) : 0;
	const char *inside = file + skipped, *slash = strrchr(inside, '/');
	int length = slash ? (int)(slash - inside) : 0;
	static const char *const places[][2] = {{"", "/"}, {"", "/.debug/"}, {DIRECTORY, "/"}};

	for (size_t i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++) {
		if (snprintf(path, PATH_MAX, "%s%s%.*s%s%s", root, places[i][0], length, inside,
			     places[i][1], link) < PATH_MAX &&
		    strcmp(path, file) != 0 && open_marked(path, mark, ret_debug)) {
			return true;
		}
	}
	return false;
}

int hk_debug_file_open(const struct hk_elf *file, const char *root, const char *path,
		       char ret_path[PATH_MAX], struct hk_elf *ret_debug)
{
	struct mark mark;

	mark.bytes = hk_elf_build_id(file, mark.build_id);
	const char *link = dwelf_elf_gnu_debuglink(file->elf, &mark.crc);
	bool linked = link && *link && !strchr(link, '/');
	if (by_build_id(&mark, root, ret_path, ret_debug) ||
	    (*root && by_build_id(&mark, "", ret_path, ret_debug)) ||
	    (linked && by_link(&mark, root, path, link, ret_path, ret_debug))) {
		return 0;
	}
	return -ENOENT;
}
