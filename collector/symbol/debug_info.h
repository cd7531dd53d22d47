/* debug_info.h: source lines and inlined functions of one file, read with libdw.
 *
 * Nothing is fetched from a server. Not thread-safe.
 */
#ifndef HK_COLLECTOR_SYMBOL_DEBUG_INFO_H
#define HK_COLLECTOR_SYMBOL_DEBUG_INFO_H

#include "collector/symbol/places.h"
#include "elf/elf_file.h"

struct hk_debug_info;

/* Returns whether FILE has debug information. */
_Bool hk_debug_info_is_in(const struct hk_elf *file);

/* Opens the debug information in FILE, which has to stay open. Returns 0, -ENOENT if there is none,
 * or -ENOMEM. */
int hk_debug_info_open(const struct hk_elf *file, struct hk_debug_info **ret_info);

/* Accepts NULL, returns NULL. */
struct hk_debug_info *hk_debug_info_free(struct hk_debug_info *info);

/* Appends the functions at ADDRESS to PLACES. Appends nothing if no function is known there. */
void hk_debug_info_find(struct hk_debug_info *info, uint64_t address, struct hk_places *places);

#endif
