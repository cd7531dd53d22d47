/* stream.h: the records of a job, of all its processes, in order of their starts. It opens the
 * chunk files of a job directory and converts times to the job's clock. Memory is bounded by the
 * number of processes, threads and sites, never by the length of the job. Damaged parts are skipped
 * and counted. One thread at a time. The snapshot and the tracks must outlive the stream. */
#ifndef HK_TIMELINE_STREAM_H
#define HK_TIMELINE_STREAM_H

#include "chunk/codec/record.h"
#include "schema/wire.pb-c.h"
#include "timeline/tracks.h"

struct hk_stream;

/* The chunk file of one process. */
struct hk_stream_source;

struct hk_stream_stats {
	uint64_t total;	    /* records in the files by their headers */
	uint64_t lost;	    /* records that the processes had no room for */
	uint64_t shed;	    /* records that were evicted since */
	uint64_t elsewhere; /* records that only the root has */
	uint64_t damaged;   /* unreadable stretches of chunk files */
	size_t newer;	    /* files that a newer hooktrace wrote */
	size_t unrecorded;  /* processes without a chunk file */
};

/* One record. `record` and `source` are valid until the next one. */
struct hk_stream_record {
	const struct hk_record *record;
	const struct hk_stream_source *source;
	int64_t start_ns, end_ns; /* since the job's start */
};

enum hk_stream_gap_kind {
	HK_GAP_DOUBT, /* records from here on may be missing; `records` is 0 */
	HK_GAP_LOST,  /* records were never stored */
	HK_GAP_SHED,  /* records were evicted by --keep since */
};

struct hk_stream_gap {
	enum hk_stream_gap_kind kind;
	const struct hk_export_process *process;
	int64_t since_ns; /* since the job's start */
	uint64_t records;
};

/* Returns 0, or a negative result that ends hk_stream_gaps. */
typedef int hk_stream_gap_fn(void *context, const struct hk_stream_gap *gap);

/* Opens the files of the processes of TRACKS in DIRECTORY. FROM_NS, in ns since the job's start,
 * allows to leave out chunks whose records all end before it; INT64_MIN: all records. Returns 0,
 * -ENOMEM, -EMFILE or -ENFILE. Files that cannot be read are counted and left out. */
int hk_stream_new(const Hk__Snapshot *snapshot, const char *directory, struct hk_tracks *tracks,
		  int64_t from_ns, struct hk_stream **ret_stream);

/* Frees STREAM and returns NULL; accepts NULL. */
struct hk_stream *hk_stream_free(struct hk_stream *stream);

/* Finds missing records by the headers of the chunks, counts them, and passes each gap to GAP,
 * which may be NULL. To be called once, before the first record. Returns 0, -errno of reading, or a
 * negative result of GAP. */
int hk_stream_gaps(struct hk_stream *stream, hk_stream_gap_fn *gap, void *context);

/* Sets *RET_RECORD to the next record. Returns 1, 0 at the end, -ENOMEM,
 * -EMFILE or -ENFILE, or -errno of reading the first records of a file. */
int hk_stream_next(struct hk_stream *stream, struct hk_stream_record *ret_record);

/* Converts RECORD, the last one of hk_stream_next, to a call: its thread, and all of *RET_SLICE.
 * Returns 0 or -ENOMEM. */
int hk_stream_call(struct hk_stream *stream, const struct hk_stream_record *record,
		   struct hk_tracks_thread **ret_thread, struct hk_slice *ret_slice);

/* Converts times since the job's start to Unix time; a damaged clock's times are clamped. */
uint64_t hk_stream_unix_ns(const struct hk_stream *stream, int64_t since_ns);

/* Unix time of the job's start, time 0 of the report. */
uint64_t hk_stream_origin_ns(const struct hk_stream *stream);

/* Unix time of the earliest process's start: no time of the stream is earlier. */
uint64_t hk_stream_start_ns(const struct hk_stream *stream);

/* Counts so far. */
struct hk_stream_stats hk_stream_stats(const struct hk_stream *stream);

#endif
