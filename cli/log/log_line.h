/* log_line.h: one call as one line of `hookcli log`:
 *
 *     0.015190390 0 4711 solver read(fd=3, buf=0x7ffc10, count=4) = 4 <1.692us>
 *
 * Seconds since the job's start, rank ("-" without one; "0/helper" where it is not the rank's main
 * process), thread, calling library, call. Fit for a terminal whatever the names hold.
 */
#ifndef HK_CLI_LOG_LOG_LINE_H
#define HK_CLI_LOG_LOG_LINE_H

#include "cli/export/exporter.h"

#define HK_LOG_LINE_BYTES 8192

struct hk_log_style {
	uint64_t origin_ns; /* Unix time of the job's start */
	bool colour;
};

/* Writes the line of SLICE on THREAD, with its newline. Returns its length. */
size_t hk_log_line_call(const struct hk_log_style *style, const struct hk_export_thread *thread,
			const struct hk_slice *slice, char line[HK_LOG_LINE_BYTES]);

/* Writes the line about missing records of PROCESS, noticed at TIME_NS. Returns its length. */
size_t hk_log_line_gap(const struct hk_log_style *style, const struct hk_export_process *process,
		       uint64_t time_ns, const struct hk_export_gap *gap,
		       char line[HK_LOG_LINE_BYTES]);

#endif
