/* diff_write.h: how a comparison of two jobs looks, as text, as JSON and as a page. */
#ifndef HK_CLI_DIFF_DIFF_WRITE_H
#define HK_CLI_DIFF_DIFF_WRITE_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/diff/threshold.h"
#include "report/build/compare.h"

struct hk_diff {
	const struct hk_report *a, *b;
	struct hk_compare compare;
	const struct hk_thresholds *thresholds; /* NULL: none asked for */
	size_t rows;				/* most rows of text; 0: all */
	bool colour;
};

/* All of DIFF to OUTPUT. 0; -ENOMEM; -EIO. */
int hk_diff_write_text(const struct hk_diff *diff, FILE *output);
int hk_diff_write_json(const struct hk_diff *diff, FILE *output);
int hk_diff_write_html(const struct hk_diff *diff, FILE *output);

/* "p99 of MPI_Send: 31us, now 45us: +45.2 % (at least +40.1 %)" as FOUND has it. */
#define HK_DIFF_SENTENCE_BYTES 512
const char *hk_diff_sentence(char sentence[HK_DIFF_SENTENCE_BYTES],
			     const struct hk_exceeded *found);

#endif
