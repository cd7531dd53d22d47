/* exposition.h: writes metrics for Prometheus, in its text format 0.0.4 or OpenMetrics 1.0.
 *
 * The formats differ in the head of a family, in the name of a counter's family, and in their end.
 * Samples are alike. Names are literals; label values may be any valid UTF-8. Locked by the caller.
 */
#ifndef HK_COLLECTOR_METRICS_EXPOSITION_H
#define HK_COLLECTOR_METRICS_EXPOSITION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum hk_exposition_format {
	HK_EXPOSITION_TEXT = 0,
	HK_EXPOSITION_OPENMETRICS = 1,
};

enum hk_metric_type {
	HK_METRIC_GAUGE = 0,
	HK_METRIC_COUNTER,   /* its samples end in _total, its name does not */
	HK_METRIC_INFO,	     /* its samples end in _info and are 1 */
	HK_METRIC_HISTOGRAM, /* its samples: hk_exposition_suffix */
};

enum hk_metric_unit {
	HK_METRIC_NONE = 0, /* a number of things */
	HK_METRIC_SECONDS,  /* values are given in ns */
	HK_METRIC_BYTES,
};

struct hk_exposition {
	FILE *output;
	enum hk_exposition_format format;
	bool labelled;	/* the sample under way has a label */
	uint64_t lines; /* samples so far */
};

/* The content type to answer with. */
const char *hk_exposition_content_type(enum hk_exposition_format format);

/* Returns the format for an Accept header (NULL: none): OpenMetrics if the header has it with at
 * least the weight of plain text, else text. */
enum hk_exposition_format hk_exposition_choose(const char *accept);

/* Announces a family; all its samples follow. */
void hk_exposition_family(const struct hk_exposition *exposition, const char *name,
			  enum hk_metric_type type, enum hk_metric_unit unit, const char *help);

/* Writes a sample: its name with the ending of its type, or with SUFFIX for a histogram, its labels
 * without those of empty value, and its value. */
void hk_exposition_sample(struct hk_exposition *exposition, const char *name,
			  enum hk_metric_type type, const char *suffix);
void hk_exposition_label(struct hk_exposition *exposition, const char *name, const char *value);
void hk_exposition_value(struct hk_exposition *exposition, enum hk_metric_unit unit,
			 uint64_t value);

/* Writes NS as exact seconds, such as "0.000512", into TEXT of 32 bytes. Returns TEXT. */
const char *hk_exposition_seconds(char text[32], uint64_t ns);

/* Ends the page. */
void hk_exposition_end(const struct hk_exposition *exposition);

#endif
