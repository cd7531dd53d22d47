/* kineto_file.h: rows of a Kineto file. Errors stay in its stream until they are checked. One
 * owner, no locking. */
#ifndef HK_CLI_EXPORT_KINETO_KINETO_FILE_H
#define HK_CLI_EXPORT_KINETO_KINETO_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "text/json_stream.h"

struct hk_kineto_file {
	struct hk_json json;
	uint64_t base_ns; /* Unix time of time 0; no event is earlier */
	bool whole_us;
};

/* Checks the stream. Returns 0, or -errno of a failed write. */
int hk_kineto_check(const struct hk_kineto_file *file);

/* Begins a row of kind KIND ("X", "i", ...); CATEGORY may be NULL. Its time, `args` and
 * hk_kineto_row_end, which closes both, must follow. */
void hk_kineto_row(struct hk_kineto_file *file, const char *kind, const char *category,
		   const char *name, uint64_t pid, uint64_t tid);
void hk_kineto_row_end(struct hk_kineto_file *file);

/* Write members of a row: a Unix time, and `ts` with `dur`. */
void hk_kineto_time(struct hk_kineto_file *file, const char *key, uint64_t time_ns);
void hk_kineto_span(struct hk_kineto_file *file, uint64_t start_ns, uint64_t end_ns);

/* Write rows that name and sort processes and threads. */
void hk_kineto_text(struct hk_kineto_file *file, const char *name, uint64_t pid, uint64_t tid,
		    const char *key, const char *text);
void hk_kineto_index(struct hk_kineto_file *file, const char *name, uint64_t pid, uint64_t tid,
		     uint64_t index);

/* Writes one end of the arrow from a call ("s") to its activity on the device ("f"). */
void hk_kineto_flow(struct hk_kineto_file *file, const char *kind, uint64_t correlation,
		    uint64_t pid, uint64_t tid, uint64_t time_ns);

#endif
