/* spread.h: figures of each rank in the summary, and their spread over many ranks.
 *
 * Figures are doubles in ns, bytes or shares of 1. NAN stands for a value that was not measured.
 * Pure functions of the report, any thread.
 */
#ifndef HK_REPORT_FINDINGS_SPREAD_H
#define HK_REPORT_FINDINGS_SPREAD_H

#include "report/model/report.h"
#include "text/quantity.h"

enum hk_figure {
	HK_FIGURE_WALL = 0,	 /* ns */
	HK_FIGURE_MPI = 1,	 /* ns inside outermost MPI calls */
	HK_FIGURE_MPI_SHARE = 2, /* of the wall time */
	HK_FIGURE_SENT = 3,	 /* bytes given to MPI */
	HK_FIGURE_HEAP = 4,	 /* bytes at the heap's peak */
	HK_FIGURE_DEVICE = 5,	 /* bytes at the highest peak of a device */
	HK_FIGURE_RSS = 6,	 /* bytes of resident memory at its peak */
	HK_FIGURES = 7,
};

struct hk_rank_figures {
	int32_t rank;
	double value[HK_FIGURES];
};

struct hk_spread {
	double median, min, max;
	int32_t min_rank, max_rank;
	char outliers[96]; /* "rank 3: 1.20, ..." or empty */
};

/* Returns the figures of each rank, in the order of report->ranks, or NULL if out of memory. The
 * caller frees them with free(). */
struct hk_rank_figures *hk_figures_new(const struct hk_report *report);

/* Returns the mean over the ranks that have the figure, or NAN if none has it. The mean of a share
 * is weighted by wall time: it equals the share of all the ranks' time, as in hk_domain_share_of.
 */
double hk_figure_mean(const struct hk_rank_figures *figures, size_t count, enum hk_figure figure);

/* Writes VALUE of FIGURE to TEXT ("-" for NAN) and returns it; returns the title of FIGURE with its
 * unit. */
const char *hk_figure_text(char text[HK_QUANTITY_BYTES], enum hk_figure figure, double value);
const char *hk_figure_title(enum hk_figure figure);

/* Sets *RET_SPREAD to the median, the extremes and the outliers of FIGURE. An outlier differs from
 * the median by more than five median absolute deviations and by more than 5 % of the median.
 * Returns 0 or -ENOMEM. */
int hk_spread_of(const struct hk_rank_figures *figures, size_t count, enum hk_figure figure,
		 struct hk_spread *ret_spread);

#endif
