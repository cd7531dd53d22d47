/* rank_files.h: an export that is a directory with a file per rank, rank<N>.json or
 * rank<N>.json.gz.
 *
 * Rank by rank the timeline of what is the rank's own goes through an exporter of its own, so
 * memory and open files do not grow with the ranks; processes that are no rank's own (helpers,
 * launchers) have no file. Files appear under their names once all are whole, and then those of an
 * earlier export go: readers take whatever lies in the directory for one job. A rank of which
 * nothing was recorded has none. A directory that holds anything else is not touched.
 */
#ifndef HK_CLI_TIMELINE_RANK_FILES_H
#define HK_CLI_TIMELINE_RANK_FILES_H

#include "cli/timeline/timeline.h"

struct hk_rank_files_result {
	struct hk_timeline_result sum;
	size_t files;
	size_t empty;	/* ranks that were asked for and have none */
	size_t strange; /* processes with records that are no rank's own */
};

/* Exports as hk_timeline_export does, to the directory TARGET->path, which is made if need be.
 * GZIP: compressed. *ret_result is set on success. -ENOTEMPTY: it holds other things; -ENOTDIR;
 * else as hk_timeline_export: then nothing in it has changed. */
int hk_rank_files_export(const Hk__Snapshot *snapshot, const char *directory,
			 const struct hk_exporter_ops *ops, const struct hk_export_target *target,
			 bool gzip, const struct hk_timeline_options *options,
			 struct hk_rank_files_result *ret_result);

#endif
