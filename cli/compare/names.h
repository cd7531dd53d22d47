/* names.h: the names of both sides as numbers, equal where the names mean the same: prefixes of
 * frameworks and tools ("torch.nn.functional.conv2d", "Functional.conv2d"), wrappers of modules
 * ("module.", "_orig_mod."), and what the user's mapping says. One owner, no locking. */
#ifndef HK_CLI_COMPARE_NAMES_H
#define HK_CLI_COMPARE_NAMES_H

#include "cli/compare/mapping.h"
#include "dump/dump.h"

#define HK_NAMES_BYTES 512 /* of a name, longer ones are cut */

struct hk_names;

/* Returns NULL without memory. MAPPING outlives the names. */
struct hk_names *hk_names_new(const struct hk_mapping *mapping);
struct hk_names *hk_names_free(struct hk_names *names);

/* The number of NAME as SIDE (A or B) has it for rows of KIND; UINT32_MAX without memory. */
uint32_t hk_names_number(struct hk_names *names, enum hk_mapping_side side, enum hk_dump_kind kind,
			 const char *name);

/* Writes the common form of NAME to TEXT. */
void hk_names_normal(enum hk_dump_kind kind, const char *name, char text[HK_NAMES_BYTES]);

#endif
