/* modules.h: the rows of a comparison by module. */
#ifndef HK_CLI_COMPARE_MODULES_H
#define HK_CLI_COMPARE_MODULES_H

#include "cli/compare/comparison.h"

struct hk_module_levels {
	char *path; /* "" for rows outside of modules */
	size_t levels[HK_MATCH_LEVELS];
	double error; /* the largest of rows that differ; 0 without one */
	size_t order; /* in which modules were first seen */
};

/* The path of the module that ROW belongs to, LENGTH bytes of a text of ROW: the module itself, the
 * caller of an API, or the owner of a parameter. */
const char *hk_module_path(const struct hk_dump_row *row, size_t *ret_length);

/* Counts the rows of each module, without the modules inside it, of all ranks and steps. The caller
 * frees the list by hk_modules_free. Returns NULL without memory. */
struct hk_module_levels *hk_modules_count(const struct hk_comparison *comparison,
					  size_t *ret_count);
void hk_modules_free(struct hk_module_levels *list, size_t count);

#endif
