/* symbols.h: exported functions of a file that a process has loaded. Main thread only. */
#ifndef HK_CLI_ATTACH_SYMBOLS_H
#define HK_CLI_ATTACH_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/attach/maps.h"

struct hk_symbol {
	uint64_t start, bytes; /* in the process */
	char *name;
};

struct hk_symbols {
	struct hk_symbol *list;
	size_t count;
};

/* Reads the exported functions and variables of the file of MAP, which is its first part in PID.
 * Returns 0, -ESTALE if the file was replaced since it was loaded, -ENOMEM, or -errno. Free with
 * hk_symbols_free. */
int hk_symbols_read(pid_t pid, const struct hk_map *map, struct hk_symbols *ret_symbols);
void hk_symbols_free(struct hk_symbols *symbols);

/* Returns the address of NAME, or 0. */
uint64_t hk_symbols_address(const struct hk_symbols *symbols, const char *name);

/* Returns the name of the function that holds ADDRESS, or NULL. */
const char *hk_symbols_name(const struct hk_symbols *symbols, uint64_t address);

#endif
