/* source.h: converts records in the chunk file of one process to slices. Pure functions except for
 * hk_source_open and hk_source_raise_file_limit. */
#ifndef HK_TIMELINE_SOURCE_H
#define HK_TIMELINE_SOURCE_H

#include "chunk/codec/record.h"
#include "chunk/read/block.h"
#include "report/clock/job_clock.h"
#include "schema/wire.pb-c.h"
#include "timeline/call.h"

/* Opens the chunk file of PROCESS of JOB, whose directory is DIRECTORY, for reading. Returns a
 * descriptor or -errno. */
int hk_source_open(const Hk__Job *job, const char *directory, const Hk__Process *process);

/* Returns the end of the call in RECORD, in ns since the job's start. Begin and end go through the
 * same CLOCK, so that calls that nest in ticks nest in ns. TICK_NS_Q32 is the process's own
 * conversion of durations. */
int64_t hk_source_end_ns(const struct hk_report_clock *clock, uint64_t tick_ns_q32,
			 const struct hk_record *record);

/* Raises the limit of open files: an export needs one descriptor per process, large jobs more than
 * the usual 1,024. */
void hk_source_raise_file_limit(void);

/* Sets everything of *slice but its times. */
void hk_source_slice(const struct hk_record *record, const struct hk_export_site *site,
		     struct hk_slice *slice);

/* Returns whether a record of this kind (enum hk_chunk_kind) is a call. */
bool hk_source_is_call(uint8_t kind);

/* Returns whether SITE's records are instants. */
bool hk_source_is_instant(const struct hk_export_site *site);

#endif
