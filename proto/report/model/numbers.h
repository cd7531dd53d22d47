/* numbers.h: sums the statistics of call sites into the numbers of one row.
 *
 * Zero-initialise, add any number of cells and rows, then finish once. Sums stop at UINT64_MAX. The
 * mean comes from summed latencies, quantiles come from the merged histogram. Locked by the caller.
 */
#ifndef HK_REPORT_MODEL_NUMBERS_H
#define HK_REPORT_MODEL_NUMBERS_H

#include "report/model/report.h"
#include "wire/columns.h"

/* Adds CELL, the statistics of SITE in one process. The level of SITE says which values are
 * measured. Returns 0 or -ENOMEM. */
int hk_report_numbers_add_cell(struct hk_report_numbers *numbers, const struct hk_columns_row *cell,
			       const Hk__Site *site);

/* Adds CELL without its buckets, which the caller keeps. COUNTED is the sum of their counts. */
void hk_report_numbers_add_values(struct hk_report_numbers *numbers,
				  const struct hk_columns_row *cell, const Hk__Site *site,
				  uint64_t counted);

/* Adds USED buckets with ascending numbers. The first number that is out of range or does not
 * ascend ends the list. Returns 0 or -ENOMEM. */
int hk_report_numbers_add_buckets(struct hk_report_numbers *numbers, const uint32_t *bucket,
				  const uint64_t *count, size_t used);

/* Adds the numbers of another row. Returns 0 or -ENOMEM. */
int hk_report_numbers_add(struct hk_report_numbers *numbers, const struct hk_report_numbers *from);

/* Sets mean and quantiles, in ns. */
void hk_report_numbers_finish(struct hk_report_numbers *numbers);

/* Frees the buckets. */
void hk_report_numbers_fini(struct hk_report_numbers *numbers);

#endif
