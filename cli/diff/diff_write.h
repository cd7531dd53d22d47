/* diff_write.h: writes a comparison of two jobs as text, as JSON and as a page. */
#ifndef HK_CLI_DIFF_DIFF_WRITE_H
#define HK_CLI_DIFF_DIFF_WRITE_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/diff/threshold.h"
#include "report/compare/compare.h"

struct hk_diff {
	const struct hk_report *a, *b;
	struct hk_compare compare;
	const struct hk_thresholds *thresholds; /* NULL: not requested */
	size_t rows;				/* most rows of text; 0: all */
	bool colour;
};

/* Writes all of DIFF to OUTPUT. Returns 0, -ENOMEM or -EIO. */
int hk_diff_write_text(const struct hk_diff *diff, FILE *output);
int hk_diff_write_json(const struct hk_diff *diff, FILE *output);
int hk_diff_write_html(const struct hk_diff *diff, FILE *output);

/* Writes FOUND to SENTENCE, for example "p99 of MPI_Send: 31us, now 45us: +45.2 % (at least +40.1
 * %)". */
#define HK_DIFF_SENTENCE_BYTES 512
const char *hk_diff_sentence(char sentence[HK_DIFF_SENTENCE_BYTES],
			     const struct hk_exceeded *found);

#endif
