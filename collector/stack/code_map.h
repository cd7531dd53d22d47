/* code_map.h: which file's code lies at an address of a process (/proc/<pid>/maps).
 *
 * Paths and files are of the process's making: they are opened without waiting, read within bounds,
 * and only if they are regular files. One thread.
 */
#ifndef HK_COLLECTOR_STACK_CODE_MAP_H
#define HK_COLLECTOR_STACK_CODE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

/* A range of code. */
struct hk_code_range {
	uint64_t start, end;
	uint64_t offset; /* of START in the file */
	char *path;	 /* as loaded; "[vdso]", "/x (deleted)" and the like; "": of no file */
	/* Once an address in it was looked up: */
	bool known;
	uint64_t file; /* START in the addresses of the file */
	uint8_t build_id[HK_ELF_BUILD_ID_MOST];
	size_t build_id_bytes; /* 0: none, or the file cannot be read */
};

struct hk_code_map {
	struct hk_code_range *ranges; /* by address */
	size_t count;
	char root[32]; /* root directory of the process, as a path here */
};

/* Reads the map of process PID. Returns 0, -ENOMEM, or -errno: -EACCES without permission, -ESRCH
 * if it has ended. */
int hk_code_map_read(uint32_t pid, struct hk_code_map *ret_map);

/* Parses LINE of /proc/<pid>/maps. Returns false if it is not executable, or no such line. The
 * range's path points into LINE, whose end is cut. */
bool hk_code_map_parse(char *line, struct hk_code_range *ret_range);

void hk_code_map_free(struct hk_code_map *map);

/* Finds the code at ADDRESS, and reads its file the first time. Returns NULL if there is none. */
const struct hk_code_range *hk_code_map_find(struct hk_code_map *map, uint64_t address);

#endif
