/* numbers.h: adds up the statistics of call sites into one row's numbers, exactly where they are
 * exact.
 *
 * Zero-initialise, add any number of cells and rows, then finish once: means and quantiles come
 * from the merged histogram. Locked by the caller.
 */
#ifndef HK_REPORT_MODEL_NUMBERS_H
#define HK_REPORT_MODEL_NUMBERS_H

#include "report/model/report.h"
#include "wire/columns.h"

/* Adds the cell of one site of one process. `site` says at what level it was measured. -ENOMEM. */
int hk_report_numbers_add_cell(struct hk_report_numbers *numbers, const struct hk_columns_row *cell,
			       const Hk__Site *site);

/* The same without the cell's buckets, whose counts have the sum COUNTED: the caller keeps
 * those. */
void hk_report_numbers_add_values(struct hk_report_numbers *numbers,
				  const struct hk_columns_row *cell, const Hk__Site *site,
				  uint64_t counted);

/* Counts the calls of ascending buckets; those out of range and behind are left out. -ENOMEM. */
int hk_report_numbers_add_buckets(struct hk_report_numbers *numbers, const uint32_t *bucket,
				  const uint64_t *count, size_t used);

/* Adds another row's numbers. -ENOMEM. */
int hk_report_numbers_add(struct hk_report_numbers *numbers, const struct hk_report_numbers *from);

/* Fills in mean and quantiles (ns). */
void hk_report_numbers_finish(struct hk_report_numbers *numbers);

/* Frees the buckets. */
void hk_report_numbers_fini(struct hk_report_numbers *numbers);

#endif
