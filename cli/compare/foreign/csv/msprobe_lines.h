/* msprobe_lines.h: a comparison as the lines of msprobe's file: one for each tensor and value of A,
 * with what B has in its place, and msprobe's verdict of it. One owner. */
#ifndef HK_CLI_COMPARE_FOREIGN_CSV_MSPROBE_LINES_H
#define HK_CLI_COMPARE_FOREIGN_CSV_MSPROBE_LINES_H

#include "cli/compare/comparison.h"
#include "cli/compare/foreign/csv/msprobe_figure.h"
#include "cli/compare/foreign/csv/msprobe_metrics.h"

/* What msprobe objects to. */
enum hk_msprobe_objection {
	HK_OBJECTION_INF_NAN = 1,
	HK_OBJECTION_RELATIVE = 2,
	HK_OBJECTION_THOUSANDTH = 4,
	HK_OBJECTION_REQUIRES_GRAD = 8,
	HK_OBJECTION_SCALAR = 16,
	HK_OBJECTION_DTYPE = 32,
	HK_OBJECTION_SHAPE = 64,
	HK_OBJECTION_RELATIVE_WARNING = 128,
	HK_OBJECTION_COSINE_WARNING = 256,
};

enum hk_metrics_state {
	HK_METRICS_UNSUPPORTED, /* a side has no elements */
	HK_METRICS_SHAPES,	/* the shapes differ */
	HK_METRICS_APART,	/* NaN or Inf are at other elements */
	HK_METRICS_NUMBER,	/* no dimension: the largest differences only */
	HK_METRICS_ALL
};

struct hk_msprobe_line {
	char *name, *b_name;	   /* malloc'd; b_name NULL: B has no such row */
	char *a_scalar, *b_scalar; /* malloc'd; NULL: a tensor, or no row */
	size_t origin;		   /* bytes of NAME that name the call */
	bool is_output, is_first;  /* of the call's lines */
	struct hk_dump_row a, b;   /* b only with b_name */
	enum hk_metrics_state state;
	struct hk_msprobe_metrics metrics;
	double norm_relative; /* a share, NaN */
	unsigned objections;  /* enum hk_msprobe_objection */
};

struct hk_msprobe_lines {
	struct hk_msprobe_line *list;
	size_t count, room;
};

/* Fills LINES for PAIR; ELEMENTS: with their metrics. Returns 0, or -ENOMEM; LINES is to be
 * finished in both cases. */
int hk_msprobe_lines_init(struct hk_msprobe_lines *lines, const struct hk_rank_pair *pair,
			  bool elements);
void hk_msprobe_lines_fini(struct hk_msprobe_lines *lines);

#endif
