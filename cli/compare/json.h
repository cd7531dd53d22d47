/* json.h: a comparison as one JSON document, the contract of `--format json` and of the page. */
#ifndef HK_CLI_COMPARE_JSON_H
#define HK_CLI_COMPARE_JSON_H

#include <stdio.h>

#include "cli/compare/comparison.h"

/* Writes COMPARISON with at most ROWS rows, the worst first; 0: all. Returns 0, -ENOMEM or -EIO. */
int hk_comparison_json(const struct hk_comparison *comparison, size_t rows, FILE *output);

#endif
