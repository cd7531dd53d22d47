/* spread.h: what the summary says of each rank, and of many ranks together.
 *
 * Figures are doubles in ns, bytes or shares of 1; NAN where nothing was measured. Pure functions
 * of the report, any thread.
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
	HK_FIGURE_DEVICE = 5,	 /* bytes on the device where their peak is the highest */
	HK_FIGURE_RSS = 6,	 /* bytes */
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

/* The figures of each rank, in the order of report->ranks; the caller calls free(). NULL without
 * memory. */
struct hk_rank_figures *hk_figures_new(const struct hk_report *report);

/* Mean over the ranks that have the figure, else NAN. That of a share is weighted by the wall time
 * it is a share of: the share of all the ranks' time, as hk_domain_share_of. */
double hk_figure_mean(const struct hk_rank_figures *figures, size_t count, enum hk_figure figure);

/* How a figure is written, "-" for NAN, and its title with the unit. */
const char *hk_figure_text(char text[HK_QUANTITY_BYTES], enum hk_figure figure, double value);
const char *hk_figure_title(enum hk_figure figure);

/* Median, extremes and ranks beyond five median absolute deviations (and 5 %) of `figure`. -ENOMEM.
 */
int hk_spread_of(const struct hk_rank_figures *figures, size_t count, enum hk_figure figure,
		 struct hk_spread *ret_spread);

#endif
