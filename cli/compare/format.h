/* format.h: how a comparison is written. A format is one file with one `const struct
 * hk_comparison_format hk_comparison_format_<name>`; HK_COMPARISON_FORMATS lists them. Main thread
 * only. */
#ifndef HK_CLI_COMPARE_FORMAT_H
#define HK_CLI_COMPARE_FORMAT_H

#include <stdio.h>

#include "cli/compare/comparison.h"

struct hk_comparison_format {
	const char *name;
	/* Writes all of COMPARISON to OUTPUT. Returns 0, -ENOMEM or -EIO. */
	int (*write)(const struct hk_comparison *comparison, FILE *output);
};

#define HK_COMPARISON_FORMATS(X) \
	X(text)                  \
	X(csv)                   \
	X(json)                  \
	X(html)                  \
	X(msprobe_csv)           \
	X(ptdbg_csv)             \
	X(ptdbg_csv_any_shape)

#define HK_COMPARISON_FORMAT_DECLARE(name) \
	extern const struct hk_comparison_format hk_comparison_format_##name;
HK_COMPARISON_FORMATS(HK_COMPARISON_FORMAT_DECLARE)

#endif
